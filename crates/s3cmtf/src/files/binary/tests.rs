use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::table::{ColumnType, Data, Selector};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn want(name: &str, kind: ColumnType) -> Want {
    Want { column: Selector::Name(name.into()), kind }
}

/// The format of a fixture, by its name.
fn format_of(name: &str) -> Format {
    match name.rsplit_once('.').unwrap().1 {
        "parquet" => Format::Parquet,
        "npy" | "npz" => Format::Numpy,
        _ => Format::Arrow,
    }
}

fn column(name: &str, wanted: Want) -> Result<Data, String> {
    let table = read(&fixture(name), format_of(name), &[wanted]).map_err(|error| error.to_string())?;
    let [column] = <[_; 1]>::try_from(table.columns).unwrap();
    Ok(column.data)
}

fn texts(data: Data) -> Vec<String> {
    let Data::Texts { codes, labels } = data else { panic!("{data:?}") };
    codes.iter().map(|&code| labels.get(code).to_owned()).collect()
}

const TITLES: [&str; 4] = ["Ran", "Alien", "Ran", "Die Büchse"];
const RATINGS: [f64; 4] = [4.5, 3.0, 0.5, 5.0];
const START: i64 = 1_717_163_100;

#[cfg(feature = "arrow")]
#[test]
fn every_type_that_pyarrow_writes() {
    for file in ["plain.parquet", "file.arrow"] {
        let read = |name, kind| column(file, want(name, kind)).unwrap();
        assert_eq!(read("user", ColumnType::Id), Data::Integers(vec![3, 1, 3, 2]));
        assert_eq!(read("whole", ColumnType::Id), Data::Integers(vec![3, 1, 3, 2]));
        assert_eq!(texts(read("large", ColumnType::Id))[1], "9223372036854775809");
        for name in ["title", "view", "coded"] {
            assert_eq!(texts(read(name, ColumnType::Id)), TITLES, "{file} {name}");
        }
        for name in ["rating", "price"] {
            assert_eq!(read(name, ColumnType::Number), Data::Numbers(RATINGS.to_vec()), "{file} {name}");
        }
        assert_eq!(read("seen", ColumnType::Number), Data::Numbers(vec![1.0, 0.0, 1.0, 1.0]));
        assert_eq!(read("when", ColumnType::Time), Data::Times((START..START + 4).collect()));
        assert_eq!(read("day", ColumnType::Time), Data::Times(vec![START / 86_400 * 86_400; 4]));
        // A list may be empty, which is for who asks to say.
        let genres = [want("genres", ColumnType::Id)];
        let (mut table, _) = read_rows(&fixture(file), format_of(file), &genres, Empty::Keep).unwrap();
        assert_eq!(texts(table.columns.remove(0).data), ["Drama|War", "Horror", "Drama|War", ""]);
        let refused = |name, kind| {
            let error = column(file, want(name, kind)).unwrap_err();
            error.rsplit_once(&format!("{file}: ")).unwrap().1.to_owned()
        };
        let holes = "column \"holes\", row 2: the value is missing, as in 1 of 4 rows (skip-empty leaves such rows out)";
        assert_eq!(refused("holes", ColumnType::Number), holes);
        assert_eq!(
            refused("nan", ColumnType::Number),
            holes.replace("holes", "nan").replace("row 2", "row 3")
        );
        assert_eq!(
            refused("title", ColumnType::Number),
            "column \"title\", row 1: \"Ran\" is not a finite number"
        );
    }
}

#[cfg(feature = "arrow")]
#[test]
fn every_packing_and_page_that_pyarrow_writes() {
    let packed = ["snappy", "zstd", "gzip", "lz4", "v2"].map(|name| format!("{name}.parquet"));
    let others = ["stream.arrows", "lz4.feather", "zstd.feather"].map(str::to_owned);
    for file in packed.iter().chain(&others) {
        let wants = [
            want("rating", ColumnType::Number),
            want("title", ColumnType::Id),
            want("coded", ColumnType::Id),
            want("when", ColumnType::Time),
            want("when", ColumnType::Number),
        ];
        let table = read(&fixture(file), format_of(file), &wants).unwrap();
        let [rating, title, coded, when, again] = <[_; 5]>::try_from(table.columns).unwrap();
        assert_eq!(rating.data, Data::Numbers(RATINGS.to_vec()), "{file}");
        assert_eq!(texts(title.data), TITLES, "{file}");
        assert_eq!(texts(coded.data), TITLES, "{file}");
        assert_eq!(when.data, Data::Times((START..START + 4).collect()), "{file}");
        assert_eq!(again.data, Data::Numbers((0..4).map(|second| (START + second) as f64).collect()));
        let place = Want { column: Selector::Place(0), kind: ColumnType::Id };
        assert_eq!(column(file, place).unwrap(), Data::Integers(vec![3, 1, 3, 2]), "{file}");
    }
}

#[test]
fn every_array_that_numpy_writes() {
    let place = |place, kind| Want { column: Selector::Place(place), kind };
    for file in ["matrix.npy", "fortran.npy"] {
        assert_eq!(
            column(file, place(0, ColumnType::Id)).unwrap(),
            Data::Integers(vec![3, 1, 3, 2]),
            "{file}"
        );
        assert_eq!(
            column(file, place(2, ColumnType::Number)).unwrap(),
            Data::Numbers(RATINGS.to_vec()),
            "{file}"
        );
        assert_eq!(
            column(file, want("2", ColumnType::Id)).unwrap(),
            Data::Integers(vec![7, 8, 9, 10]),
            "{file}"
        );
    }
    assert_eq!(column("integers.npy", place(1, ColumnType::Id)).unwrap(), Data::Integers(vec![7, 8, 9, 10]));
    assert_eq!(
        column("records.npy", want("rating", ColumnType::Number)).unwrap(),
        Data::Numbers(RATINGS.to_vec())
    );
    assert_eq!(texts(column("records.npy", want("title", ColumnType::Id)).unwrap()), TITLES);
    for file in ["columns.npz", "deflated.npz"] {
        let read = |name, kind| column(file, want(name, kind)).unwrap();
        assert_eq!(read("user", ColumnType::Id), Data::Integers(vec![3, 1, 3, 2]));
        assert_eq!(texts(read("title", ColumnType::Id)), TITLES);
        // An empty text is no id, in arrays as in text.
        let error = column(file, want("bytes", ColumnType::Id)).unwrap_err();
        assert!(error.contains("row 4: the value is missing"), "{error}");
        let kept = read_rows(&fixture(file), format_of(file), &[want("bytes", ColumnType::Id)], Empty::Keep)
            .unwrap();
        assert_eq!(texts(kept.0.columns[0].data.clone()), ["a", "bc", "a", ""]);
        assert_eq!(read("rating", ColumnType::Number), Data::Numbers(RATINGS.to_vec()));
        assert_eq!(read("when", ColumnType::Time), Data::Times((START..START + 4).collect()));
        assert_eq!(read("seen", ColumnType::Id), Data::Integers(vec![1, 0, 1, 1]));
    }
    for (file, values) in [("coords.npz", "values"), ("transposed.npz", "data")] {
        assert_eq!(
            column(file, place(1, ColumnType::Id)).unwrap(),
            Data::Integers(vec![7, 8, 9, 10]),
            "{file}"
        );
        assert_eq!(
            column(file, want(values, ColumnType::Number)).unwrap(),
            Data::Numbers(RATINGS.to_vec()),
            "{file}"
        );
    }
}

#[test]
fn what_is_no_such_file_is_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::Parquet, Format::Arrow, Format::Numpy, Format::MatrixMarket] {
        let wants = [Want { column: Selector::Place(0), kind: ColumnType::Id }];
        assert!(read(folder.path(), format, &wants).is_err());
        assert!(read(&folder.path().join("none"), format, &wants).is_err());
        for content in ["", "P", "PK", "PAR1", "PAR1PAR1", "ARROW1", "user,movie\n1,2\n"] {
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            let error = read(&path, format, &wants).unwrap_err();
            assert!(
                matches!(error, Error::File { .. } | Error::Line { .. }),
                "{format:?} {content}: {error}"
            );
        }
    }
}

/// Reads all that might be in a file.
fn read_all(path: &Path, format: Format) {
    for place in 0..14 {
        for kind in [ColumnType::Id, ColumnType::Number, ColumnType::Time] {
            let wanted = Want { column: Selector::Place(place), kind };
            if let Ok(table) = read(path, format, &[wanted]) {
                assert_eq!(table.columns.len(), 1);
            }
        }
    }
}

fn fixtures() -> impl Strategy<Value = &'static str> {
    let mut names = vec![
        "matrix.npy",
        "fortran.npy",
        "records.npy",
        "columns.npz",
        "deflated.npz",
        "coords.npz",
        "transposed.npz",
    ];
    if cfg!(feature = "arrow") {
        names.extend([
            "plain.parquet",
            "snappy.parquet",
            "zstd.parquet",
            "gzip.parquet",
            "lz4.parquet",
            "v2.parquet",
            "file.arrow",
            "stream.arrows",
            "lz4.feather",
            "zstd.feather",
        ]);
    }
    prop::sample::select(names)
}

/// Large numbers in the place of any others: those that are lengths must be held against the file before memory is
/// taken for them, since nothing survives that there is none.
#[test]
fn no_declared_length_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    let mut names = vec!["fortran.npy", "coords.npz", "deflated.npz"];
    if cfg!(feature = "arrow") {
        names.extend(["stream.arrows", "lz4.feather", "zstd.feather", "snappy.parquet"]);
    }
    let wants = [0, 1].map(|place| Want { column: Selector::Place(place), kind: ColumnType::Id });
    for name in names {
        let bytes = std::fs::read(fixture(name)).unwrap();
        for start in (0..bytes.len() - 8).step_by(2) {
            for number in [i64::MAX, 1 << 44, 0x7fff_ffff] {
                let mut damaged = bytes.clone();
                damaged[start..start + 8].copy_from_slice(&number.to_le_bytes());
                std::fs::write(&path, damaged).unwrap();
                let _ = read(&path, format_of(name), &wants);
                // A file that is written over waits for the disk on some systems.
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
}

#[test]
fn a_shape_beyond_the_file_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let mut bytes = std::fs::read(fixture("matrix.npy")).unwrap();
    let place = bytes.windows(6).position(|window| window == b"(4, 3)").unwrap();
    bytes.splice(place..place + 20, *b"(1234567890123, 3)} ");
    std::fs::write(&path, bytes).unwrap();
    let wants = [Want { column: Selector::Place(0), kind: ColumnType::Id }];
    let error = read(&path, Format::Numpy, &wants).unwrap_err().to_string();
    assert!(error.ends_with("its array has 29629629362952 bytes, but only 96 are there"), "{error}");
}

#[test]
fn columns_that_take_no_bytes_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let fields: String = (0..20_000).map(|number| format!("('{number}','|S1'),")).collect();
    let header = format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': (0, 65536)}}");
    let length = (header.len() as u32).to_le_bytes();
    std::fs::write(&path, [b"\x93NUMPY\x02\x00", &length[..], header.as_bytes()].concat()).unwrap();
    let wants = [Want { column: Selector::Place(0), kind: ColumnType::Id }];
    let error = read(&path, Format::Numpy, &wants).unwrap_err().to_string();
    assert!(error.ends_with("has the shape [0, 65536], but not as many values"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Broken files are read or refused: no panic, no memory that a declared length asks for.
    #[test]
    fn any_damage_is_survived(
        name in fixtures(),
        cut in prop::option::of(0.0..1.0f64),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(part) = cut {
            bytes.truncate((bytes.len() as f64 * part) as usize);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged");
        std::fs::write(&path, bytes).unwrap();
        read_all(&path, format_of(name));
    }

    #[test]
    fn any_text_is_a_matrix_or_none(lines in prop::collection::vec("[ 0-9.e%-]{0,12}", 0..6)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix");
        let text = format!("%%MatrixMarket matrix coordinate real symmetric\n{}", lines.join("\n"));
        std::fs::write(&path, text).unwrap();
        read_all(&path, Format::MatrixMarket);
    }
}

#[test]
fn an_archive_without_arrays_says_what_it_holds() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("r.csv", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(b"user,item\n1,2\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.csv.zip");
    std::fs::write(&path, archive.finish().unwrap().into_inner()).unwrap();
    let error = head(&path, Format::Numpy).unwrap_err().to_string();
    assert!(
        error.ends_with("is a .zip file without an array of NumPy: unpack it first, it holds \"r.csv\""),
        "{error}"
    );
}
