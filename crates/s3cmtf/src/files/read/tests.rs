//! Files as they are found, and what is said about those that are wrong.

use super::*;
use crate::table::Selector;
use proptest::prelude::*;
use std::io::Write;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> Source {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Source::new(path).unwrap()
    }

    fn message(&self, error: &Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn name(name: &str, kind: ColumnType) -> Want {
    Want { column: Selector::Name(name.into()), kind }
}

fn place(place: usize, kind: ColumnType) -> Want {
    Want { column: Selector::Place(place), kind }
}

fn labels(data: &Data) -> Vec<&str> {
    match data {
        Data::Texts { codes, labels } => codes.iter().map(|&code| labels.get(code)).collect(),
        other => panic!("{other:?}"),
    }
}

const RATINGS: &str = "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n7,1029,3,1260759179\n";

#[test]
fn columns_come_in_the_order_they_are_wanted_in() {
    let wants = [
        name("timestamp", ColumnType::Time),
        name("userId", ColumnType::Id),
        name("rating", ColumnType::Number),
    ];
    let expected = |table: Table| {
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["timestamp", "userId", "rating"]);
        assert_eq!(table.columns[0].data, Data::Times(vec![1_260_759_144, 1_260_759_179]));
        assert_eq!(table.columns[1].data, Data::Integers(vec![1, 7]));
        assert_eq!(table.columns[2].data, Data::Numbers(vec![2.5, 3.0]));
    };
    let folder = Folder::new();
    expected(read_table(&folder.file("a.csv", RATINGS), &wants).unwrap());
    expected(read_table(&folder.file("a.csv", RATINGS.replace(',', ";")), &wants).unwrap());
    expected(read_table(&folder.file("a.csv", RATINGS.replace(',', "::")), &wants).unwrap());
    expected(
        read_table(&folder.file("a.csv", RATINGS.replace(',', "\t").replace('\n', "\r\n")), &wants).unwrap(),
    );
    expected(read_table(&folder.file("a.csv", format!("\u{feff}\n{}", RATINGS.trim_end())), &wants).unwrap());
    let quoted = format!("\"{}\"", RATINGS.trim_end().replace(',', "\",\"").replace('\n', "\"\n\""));
    expected(read_table(&folder.file("a.csv", quoted), &wants).unwrap());
    #[cfg(feature = "zstd")]
    expected(
        read_table(&folder.file("a.csv", zstd::encode_all(RATINGS.as_bytes(), 1).unwrap()), &wants).unwrap(),
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(RATINGS.as_bytes()).unwrap();
    expected(read_table(&folder.file("a", gzip.finish().unwrap()), &wants).unwrap());
}

#[test]
fn a_column_may_be_wanted_twice_and_as_two_kinds() {
    let folder = Folder::new();
    let wants = [
        name("rating", ColumnType::Id),
        name("rating", ColumnType::Number),
        name("rating", ColumnType::Number),
    ];
    let table = read_table(&folder.file("a.csv", RATINGS), &wants).unwrap();
    assert_eq!(labels(&table.columns[0].data), ["2.5", "3"]);
    assert_eq!(table.columns[1].data, Data::Numbers(vec![2.5, 3.0]));
    assert_eq!(table.columns[2], table.columns[1]);
}

#[test]
fn ids_that_are_not_written_as_whole_numbers_are_texts() {
    let folder = Folder::new();
    let read = |text: &str| {
        let table = read_table(&folder.file("a.csv", text), &[name("id", ColumnType::Id)]).unwrap();
        table.columns.into_iter().next().unwrap().data
    };
    assert_eq!(read("id,x\n7,1\n-3,1\n9223372036854775807,1\n"), Data::Integers(vec![7, -3, i64::MAX]));
    for other in ["007", "+7", "-0", "7.0", "x", "9223372036854775808", "Amélie"] {
        let data = read(&format!("id,x\n7,1\n{other},1\n7,1\n"));
        assert_eq!(labels(&data), ["7", other, "7"]);
    }
    let table =
        read_table(&folder.file("a.csv", b"id,x\nAm\xe9lie,1\n"), &[name("id", ColumnType::Id)]).unwrap();
    assert_eq!(labels(&table.columns[0].data), ["Amélie"]);
}

#[test]
fn headings_are_told_from_data() {
    let folder = Folder::new();
    let names = |text: &str, wants: &[Want], header: Option<bool>| {
        let source = Source { header, ..folder.file("a", text) };
        let table = read_table(&source, wants).map_err(|error| folder.message(&error))?;
        Ok::<_, String>((table.columns[0].name.clone(), table.columns[0].data.len()))
    };
    let first = [place(0, ColumnType::Id)];
    assert_eq!(names("user,x\nann,1\n", &first, None), Ok(("user".into(), 1)));
    assert_eq!(names("ann,rome\nbob,oslo\n", &first, None), Ok(("1".into(), 2)));
    assert_eq!(names("ann,rome\nbob,oslo\n", &[name("ann", ColumnType::Id)], None), Ok(("ann".into(), 1)));
    assert_eq!(names("ann,rome\nbob,oslo\n", &first, Some(true)), Ok(("ann".into(), 1)));
    assert_eq!(names("user,x\nann,1\n", &first, Some(false)), Ok(("1".into(), 2)));
    assert_eq!(names("1,rome\n2,oslo\n", &[name("2", ColumnType::Id)], None), Ok(("2".into(), 2)));
    assert_eq!(names(",x\nann,1\n", &first, None), Ok(("1".into(), 1)));
    assert_eq!(
        names("user,x\nann,1\n", &[name("User", ColumnType::Id)], None).unwrap_err(),
        "a: has no column \"User\", did you mean \"user\"? (its columns are user, x)"
    );
    assert_eq!(names("user,x\n", &[name("user", ColumnType::Id)], None).unwrap_err(), "a: has no rows");
}

#[test]
fn rows_with_an_empty_cell_are_left_out_where_that_was_said() {
    let folder = Folder::new();
    let text = "user,note,stars\nann,,4\n\"NULL\",x,3\neve,x,\nbob,\"a\nb\",NA\nbob,x,2\n";
    let wants = [name("user", ColumnType::Id), name("stars", ColumnType::Number)];
    let source = Source { empty: Empty::Skip, ..folder.file("a", text) };
    let (table, skipped) = read_rows(&source, &wants).unwrap();
    assert_eq!(table.columns[1].data, Data::Numbers(vec![4.0, 2.0]));
    // Who is named only in such a row is nobody.
    let Data::Texts { labels, .. } = &table.columns[0].data else { panic!() };
    assert_eq!(labels.iter().collect::<Vec<_>>(), ["ann", "bob"]);
    assert_eq!(skipped, [1, 2, 3]);
    // A broken record is still one.
    let broken = Source { empty: Empty::Skip, ..folder.file("b", "user,stars\n,\n,4,5\n") };
    let error = folder.message(&read_rows(&broken, &wants).unwrap_err());
    assert!(error.contains("b:3"), "{error}");
    let none = Source { empty: Empty::Skip, ..folder.file("c", "user,stars\n,4\n7,\n") };
    let error = folder.message(&read_rows(&none, &wants).unwrap_err());
    assert_eq!(error, "c: has an empty cell in each of its 2 rows, in the columns that are needed");
    // As attributes are read: what is empty is the empty text.
    let kept = Source { empty: Empty::Keep, ..folder.file("d", "user,stars\n7,4\n8,NULL\n") };
    let (table, _) =
        read_rows(&kept, &[name("user", ColumnType::Id), name("stars", ColumnType::Id)]).unwrap();
    let Data::Texts { codes, labels } = &table.columns[1].data else { panic!() };
    assert_eq!(codes.iter().map(|&code| labels.get(code)).collect::<Vec<_>>(), ["4", ""]);
}

#[test]
fn messages_name_the_line_the_column_the_value_and_what_would_be_right() {
    let folder = Folder::new();
    let wants =
        [name("user", ColumnType::Id), name("stars", ColumnType::Number), name("when", ColumnType::Time)];
    for (line, what) in [
        (",4,1", "column \"user\" is empty, but an id is needed (skip-empty leaves such rows out)"),
        ("7,,1", "column \"stars\" is empty, but a number is needed (skip-empty leaves such rows out)"),
        (
            "\\N,4,1",
            "column \"user\" is \"\\N\", which is no value, but an id is needed (skip-empty leaves such rows out)",
        ),
        ("7,four,1", "\"four\" in column \"stars\" is not a finite number"),
        (
            "7,nan,1",
            "column \"stars\" is \"nan\", which is no value, but a number is needed (skip-empty leaves such rows out)",
        ),
        ("7,\"3,5\",1", "\"3,5\" in column \"stars\" is not a number (decimals follow a point)"),
        (
            "7,4,March",
            "\"March\" in column \"when\" is not a point in time (2017-03-04, 2017-03-04T13:05:30Z, or unix time)",
        ),
        ("7,4", "expected 3 fields separated by commas, found 2"),
        ("7,4,1,2", "expected 3 fields separated by commas, found more"),
        (
            "\"7\" x,4,1",
            "column \"user\" goes on behind its closing quote (a quote within quotes is written twice)",
        ),
    ] {
        let text = format!("user,stars,when\n\n\"a\nb\",4,2017-03-04\n{line}\n,,\n");
        let error = read_table(&folder.file("a.csv", text), &wants).unwrap_err();
        assert_eq!(folder.message(&error), format!("a.csv:5: {what}"));
    }
    for (text, what) in [
        ("", "a.csv: has no rows"),
        ("\n \n", "a.csv: has no rows"),
        ("user,stars\n1,2\n", "a.csv: has no column \"when\" (its columns are user, stars)"),
    ] {
        let error = read_table(&folder.file("a.csv", text), &wants).unwrap_err();
        assert_eq!(folder.message(&error), what);
    }
    let error = read_table(&folder.file("a.csv", "1,2\n3,4\n"), &[place(2, ColumnType::Id)]).unwrap_err();
    assert_eq!(folder.message(&error), "a.csv: has no column 3: it has 2 (1, 2)");
    let error = read_table(&folder.file("a.csv", b"\xff\xfea\0,\0"), &wants).unwrap_err();
    assert_eq!(folder.message(&error), "a.csv: is text in UTF-16, but UTF-8 is needed");
    let error = read_table(&folder.file("a.csv", "\n\"a\" b,c\n1,2\n"), &wants).unwrap_err();
    assert!(folder.message(&error).starts_with("a.csv:2: the quotes of this record are wrong"));
}

#[test]
fn several_files_are_one_table() {
    let folder = Folder::new();
    folder.file("part-2.csv", "x,user\n5,bob\n6,ann\n");
    folder.file("part-1.csv", "user,x\nann,1\n7,2\n");
    folder.file("part-3.csv", "");
    folder.file("part-4.csv", "9,8\n");
    let source = Source::new(folder.0.path().join("part-*.csv")).unwrap();
    assert_eq!(source.paths.len(), 4);
    let wants = [name("user", ColumnType::Id), name("x", ColumnType::Number)];
    let table = read_table(&source, &wants).unwrap();
    assert_eq!(labels(&table.columns[0].data), ["ann", "7", "bob", "ann", "9"]);
    assert_eq!(table.columns[1].data, Data::Numbers(vec![1.0, 2.0, 5.0, 6.0, 8.0]));
    assert!(table.name.ends_with("part-1.csv and 3 more"), "{}", table.name);
    for (row, found) in [(0, "part-1.csv:2"), (2, "part-2.csv:2"), (3, "part-2.csv:3"), (4, "part-4.csv:1")] {
        let (path, line) = line_of_row(&source, &wants, row).unwrap().unwrap();
        assert_eq!(format!("{}:{line}", path.file_name().unwrap().display()), found);
    }
    assert_eq!(line_of_row(&source, &wants, 5).unwrap(), None);
    let error = Source::new(folder.0.path().join("none-*.csv")).unwrap_err();
    assert_eq!(folder.message(&error), "none-*.csv: matches no file");
    assert!(Source::new("a[").unwrap_err().to_string().contains("is not a pattern of file names"));
}

#[test]
fn dates_with_slashes_have_one_order_in_all_files_of_a_table() {
    let folder = Folder::new();
    let wants = [name("date", ColumnType::Time)];
    let days = |pattern: &str| {
        let source = Source::new(folder.0.path().join(pattern)).unwrap();
        read_table(&source, &wants).map(|table| table.columns[0].data.clone())
    };
    let iso = |text: &str| crate::table::time::parse(text.as_bytes()).unwrap();
    // Nothing in the first says which number is the month, but the second does.
    folder.file("uk-1.csv", "user,date\n1,04/08/2016\n");
    folder.file("uk-2.csv", "date,user\n20/04/2016,2\n");
    assert_eq!(days("uk-*.csv").unwrap(), Data::Times(vec![iso("2016-08-04"), iso("2016-04-20")]));
    // One country is not two.
    folder.file("mixed-1.csv", "user,date\n1,04/08/2016\n2,20/04/2016\n");
    folder.file("mixed-2.csv", "user,date\n1,04/08/2016\n2,04/20/2016\n");
    let error = folder.message(&days("mixed-*.csv").unwrap_err());
    assert!(error.starts_with("mixed-1.csv:2: \"04/08/2016\" in column \"date\" is month/day"), "{error}");
}

#[test]
fn a_value_that_is_infinite_is_named_with_its_line() {
    let folder = Folder::new();
    let guessed = |source: &Source| {
        let column = |(name, kind): (String, ColumnType)| Want { column: Selector::parse(&name), kind };
        kinds(source).unwrap().into_iter().map(column).collect::<Vec<_>>()
    };
    let source = folder.file("a.csv", "user,film,stars\n1,a,2.5\n2,b,inf\n");
    let error = read_table(&source, &guessed(&source)).unwrap_err();
    assert_eq!(folder.message(&error), "a.csv:3: \"inf\" in column \"stars\" is not a finite number");
    let source = folder.file("a.txt", "1 2 3.5\n1 3 inf\n");
    let error = read_table(&source, &guessed(&source)).unwrap_err();
    assert_eq!(folder.message(&error), "a.txt:2: \"inf\" in column \"3\" is not a finite number");
}

#[test]
fn rows_are_found_behind_blank_lines_and_lines_in_quotes() {
    let folder = Folder::new();
    let source = folder.file("a.csv", "\nuser,x\n\n\"a\n\nb\",1\n\n\nc,2\n");
    let lines: Vec<_> =
        (0..3).map(|row| line_of_row(&source, &[], row).unwrap().map(|(_, line)| line)).collect();
    assert_eq!(lines, [Some(4), Some(9), None]);
    let source = folder.file("a.tns", "# c\n1 2 3\n\n4 5 6 # d\n");
    assert_eq!(line_of_row(&source, &[], 1).unwrap().map(|(_, line)| line), Some(4));
}

#[test]
fn numbers_between_blanks_are_columns_by_place() {
    let folder = Folder::new();
    let source = folder.file("a.tns", "# user item value\n1 02\t3.5\n\n 4  5 6 # last\r\n");
    let wants = [name("2", ColumnType::Id), place(2, ColumnType::Number), place(0, ColumnType::Id)];
    let table = read_table(&source, &wants).unwrap();
    assert_eq!(table.columns[0], Column { name: "2".into(), data: Data::Integers(vec![2, 5]) });
    assert_eq!(table.columns[1].data, Data::Numbers(vec![3.5, 6.0]));
    assert_eq!(table.columns[2].data, Data::Integers(vec![1, 4]));
    let error = read_table(&folder.file("a.tns", "1 2 3\n1 2.5 3\n"), &wants).unwrap_err();
    assert_eq!(folder.message(&error), "a.tns:2: \"2.5\" in column \"2\" is not a whole number");
    let error = read_table(&folder.file("a.tns", "1 2 3\n1 2\n"), &wants).unwrap_err();
    assert_eq!(folder.message(&error), "a.tns:2: expected 3 fields separated by white space, found 2");
}

#[test]
fn samples_show_values_and_guess_kinds() {
    let folder = Folder::new();
    let found = columns(&folder.file("a.csv", RATINGS)).unwrap();
    let summary: Vec<_> = found.iter().map(|column| (column.name.as_str(), column.guess)).collect();
    let expected = [
        ("userId", ColumnType::Id),
        ("movieId", ColumnType::Id),
        ("rating", ColumnType::Number),
        ("timestamp", ColumnType::Time),
    ];
    assert_eq!(summary, expected);
    assert_eq!(found[1].values, ["31", "1029"]);
    let found = columns(&folder.file("a", "1::1193::5::978300760\n1::661::3::978302109\n")).unwrap();
    let kinds: Vec<_> = found.iter().map(|column| column.guess).collect();
    assert_eq!(kinds, [ColumnType::Id, ColumnType::Id, ColumnType::Number, ColumnType::Time]);
    let found = columns(&folder.file("a.tns", "1 1 5\n1 2 5\n")).unwrap();
    assert_eq!(found.last().map(|column| column.guess), Some(ColumnType::Number));
}

#[cfg(feature = "arrow")]
#[test]
fn columns_of_all_formats_are_sampled_and_guessed() {
    use ColumnType::{Id, Number, Time};
    let fixture = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        columns(&Source::new(path).unwrap()).unwrap()
    };
    let all = ["user", "whole", "large", "title", "view", "coded", "rating", "price", "seen", "when", "day"];
    let kinds = [Id, Number, Id, Id, Id, Id, Number, Number, Id, Time, Time];
    for file in ["plain.parquet", "file.arrow", "stream.arrows"] {
        let found = fixture(file);
        for (wanted, kind) in all.iter().zip(kinds) {
            if let Some(column) = found.iter().find(|column| column.name == *wanted) {
                assert_eq!(column.guess, kind, "{file} {wanted} {:?}", column.values);
            }
        }
        let title = found.iter().find(|column| column.name == "title").unwrap();
        assert_eq!(title.values[..3], ["Ran", "Alien", "Ran"], "{file}");
    }
    let guesses = |file: &str| {
        let found = fixture(file);
        found.iter().map(|column| (column.name.clone(), column.guess)).collect::<Vec<_>>()
    };
    let named = |columns: &[(&str, ColumnType)]| {
        columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect::<Vec<_>>()
    };
    assert_eq!(guesses("coords.npz"), named(&[("1", Id), ("2", Id), ("values", Number)]));
    let folder = Folder::new();
    let mtx = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.5\n";
    let found = columns(&folder.file("m.mtx", mtx)).unwrap();
    let found: Vec<_> = found.into_iter().map(|column| (column.name, column.guess)).collect();
    assert_eq!(found, named(&[("row", Id), ("column", Id), ("value", Number)]));
}

#[cfg(unix)]
#[test]
fn a_pipe_can_be_looked_at_and_then_read_whole() {
    let folder = Folder::new();
    let path = folder.0.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let text: String = (0..20_000).map(|row| format!("u{row},i{row},{row}\n")).collect();
    let writer = {
        let (path, text) = (path.clone(), format!("user,item,stars\n{text}"));
        std::thread::spawn(move || std::fs::write(path, text).unwrap())
    };
    let source = Source::new(&path).unwrap();
    assert_eq!(format(&source).unwrap(), Format::Csv);
    assert_eq!(columns(&source).unwrap()[2].name, "stars");
    let table = read_table(&source, &[name("stars", ColumnType::Number)]).unwrap();
    assert_eq!(table.columns[0].data, Data::Numbers((0..20_000).map(f64::from).collect()));
    writer.join().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            prop::collection::vec(prop::sample::select(b"a1.-:,;|\"\n\r\t #\xe9".to_vec()), 0..200),
        ],
        header: Option<bool>,
        format in prop::option::of(prop::sample::select(Format::ALL.to_vec())),
    ) {
        let folder = Folder::new();
        let source = Source { header, format, ..folder.file("a", bytes) };
        let wants = [place(0, ColumnType::Id), place(1, ColumnType::Number), place(0, ColumnType::Time), name("a", ColumnType::Id)];
        for wants in [&wants[..1], &wants[1..2], &wants[2..3], &wants] {
            if let Ok(table) = read_table(&source, wants) {
                let rows = table.columns[0].data.len();
                prop_assert!(table.columns.iter().all(|column| column.data.len() == rows));
                // As many rows are found as were read.
                prop_assert!(line_of_row(&source, wants, rows - 1).unwrap().is_some());
                prop_assert_eq!(line_of_row(&source, wants, rows).unwrap(), None);
            }
        }
        let _ = columns(&source);
    }
}
