use proptest::prelude::*;

use super::*;
use crate::files::binary::read as read_binary;
use crate::files::format::Format;
use crate::table::{Column, ColumnType, Selector, Want};
use crate::{Core, CoupledFactor, Factor, Mode, Model};

fn texts(texts: &[String]) -> Data {
    let mut labels = Labels::new();
    let codes = texts.iter().map(|text| labels.id(text)).collect();
    Data::Texts { codes, labels }
}

/// The formats that are also read.
fn both() -> Vec<(OutFormat, Format)> {
    let mut formats = vec![(OutFormat::Npz, Format::Numpy)];
    if cfg!(feature = "arrow") {
        formats.push((OutFormat::Parquet, Format::Parquet));
    }
    formats
}

fn kind_of(data: &Data) -> ColumnType {
    match data {
        Data::Integers(_) | Data::Texts { .. } => ColumnType::Id,
        Data::Numbers(_) => ColumnType::Number,
        Data::Times(_) => ColumnType::Time,
    }
}

fn wants(table: &Table) -> Vec<Want> {
    let want =
        |column: &Column| Want { column: Selector::Name(column.name.clone()), kind: kind_of(&column.data) };
    table.columns.iter().map(want).collect()
}

fn table(columns: Vec<(&str, Data)>) -> Table {
    let columns = columns.into_iter().map(|(name, data)| Column { name: name.into(), data }).collect();
    Table { name: "t".into(), columns }
}

#[test]
fn formats_have_names() {
    for format in OutFormat::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert!("xlsx".parse::<OutFormat>().is_err());
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for format in OutFormat::ALL {
        let twice = table(vec![("a", Data::Numbers(vec![1.0])), ("a", Data::Numbers(vec![1.0]))]);
        let error = write_table(&path, format, &twice).unwrap_err().to_string();
        assert!(error.ends_with("two columns have the name \"a\""), "{error}");
        let uneven = table(vec![("a", Data::Numbers(vec![1.0])), ("b", Data::Numbers(vec![]))]);
        let error = write_table(&path, format, &uneven).unwrap_err().to_string();
        assert!(error.ends_with("column \"a\" has 1 values, but column \"b\" has 0"), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn safetensors_have_codes_and_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let written = table(vec![
        ("who", texts(&["b", "a", "b"].map(str::to_owned))),
        ("value", Data::Numbers(vec![0.5, 1.5, 2.5])),
    ]);
    write_table(&path, OutFormat::Safetensors, &written).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(metadata.metadata().as_ref().unwrap()["labels.who"], "[\"b\",\"a\"]");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("who").unwrap().data(), [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(tensors.tensor("value").unwrap().data()[8..16], 1.5f64.to_le_bytes());
}

fn model(core: Core) -> Model {
    let modes = vec![Mode::with_present("user", 9, vec![1, 8]).unwrap(), Mode::new("a/b", 3)];
    let factors = vec![
        Factor::new(2, vec![0.1, 0.2, 0.3, 0.4]),
        Factor::new(2, (0..6).map(|value| value as f32).collect()),
    ];
    let coupled = vec![CoupledFactor {
        name: "..genres".into(),
        mode: 1,
        kind: crate::Absent::Missing,
        weight: 1.0,
        columns: Mode::new("genre", 1),
        factor: Factor::new(2, vec![7.0, 8.0]),
        effects: None,
    }];
    Model::new(modes, core, factors, coupled, [0.0, 1.0]).unwrap()
}

#[test]
fn a_model_is_tables_of_its_factors() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let model = model(Core::full(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]));
    let files = export_model(&model, OutFormat::Csv, &out).unwrap();
    let names = ["factor.user.csv", "factor.a_b.csv", "coupled.genres.csv", "core.csv"];
    assert_eq!(files, names.map(|name| out.join(name)));
    let text = |name| std::fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(text("factor.user.csv"), "user,concept1,concept2\n2,0.1,0.2\n9,0.3,0.4\n");
    assert_eq!(text("coupled.genres.csv"), "genre,concept1,concept2\n1,7,8\n");
    assert_eq!(text("core.csv"), "user,a/b,value\n1,1,1\n1,2,2\n2,1,3\n2,2,4\n");
}

#[test]
fn a_model_is_arrays_of_its_factors() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(Core::Diagonal(vec![5.0, 6.0]));
    for format in [OutFormat::Npz, OutFormat::Safetensors] {
        let files = export_model(&model, format, folder.path()).unwrap();
        assert_eq!(files, [folder.path().join(format!("factors.{}", format.name()))]);
    }
    let bytes = std::fs::read(folder.path().join("factors.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names = tensors.names();
    names.sort();
    let expected =
        ["core", "coupled.genres", "factor.a_b", "factor.user", "id.a_b", "id.coupled.genres", "id.user"];
    assert_eq!(names, expected);
    assert_eq!(tensors.tensor("core").unwrap().shape(), [2, 2]);
    let want = Want { column: Selector::Name("id.user".into()), kind: ColumnType::Id };
    let table = read_binary(&folder.path().join("factors.npz"), Format::Numpy, &[want]).unwrap();
    assert_eq!(table.columns[0].data, Data::Integers(vec![2, 9]));
    let files = export_model(&model, OutFormat::Csv, folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(&files[3]).unwrap(), "user,a/b,value\n1,1,5\n2,2,6\n");
}

#[cfg(feature = "arrow")]
#[test]
fn a_model_in_parquet_keeps_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(Core::full(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]));
    let files = export_model(&model, OutFormat::Parquet, folder.path()).unwrap();
    let want = |name: &str, kind| Want { column: Selector::Name(name.into()), kind };
    let wants = [want("user", ColumnType::Id), want("concept2", ColumnType::Number)];
    let table = read_binary(&files[0], Format::Parquet, &wants).unwrap();
    assert_eq!(table.columns[0].data, Data::Integers(vec![2, 9]));
    assert_eq!(table.columns[1].data, Data::Numbers([0.2f32, 0.4].map(f64::from).to_vec()));
    let table = read_binary(&files[3], Format::Parquet, &[want("a/b", ColumnType::Id)]).unwrap();
    assert_eq!(table.columns[0].data, Data::Integers(vec![1, 2, 1, 2]));
}

/// A model file of a few bytes may have a core that would fill any memory.
#[test]
fn a_diagonal_core_is_written_out_only_if_it_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let modes = (0..40).map(|number| Mode::new(format!("m{number}"), 1)).collect();
    let factors = vec![Factor::new(4, vec![1.0; 4]); 40];
    let model = Model::new(modes, Core::Diagonal(vec![1.0; 4]), factors, Vec::new(), [0.0, 1.0]).unwrap();
    for format in [OutFormat::Npz, OutFormat::Safetensors] {
        let error = export_model(&model, format, folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("a dense core of 40 modes of rank 4 would have more than 67108864 numbers"),
            "{error}"
        );
    }
    assert_eq!(export_model(&model, OutFormat::Csv, folder.path()).unwrap().len(), 41);
}

#[test]
fn a_table_without_rows_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let empty = table(vec![("id", Data::Integers(vec![])), ("value", Data::Numbers(vec![]))]);
    for (out, format) in both() {
        write_table(&path, out, &empty).unwrap();
        assert_eq!(read_binary(&path, format, &wants(&empty)).unwrap().columns, empty.columns);
    }
    write_table(&path, OutFormat::Csv, &empty).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "id,value\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(
        rows in prop::collection::vec((
            any::<i64>(),
            // NumPy fills texts up with zeros, so those at the end are lost.
            "[^\\x00]{0,6}x",
            prop::num::f64::NORMAL | prop::num::f64::ZERO,
            -1_000_000_000_000i64..1_000_000_000_000,
        ), 1..50),
    ) {
        let written = table(vec![
            ("id", Data::Integers(rows.iter().map(|row| row.0).collect())),
            ("text", texts(&rows.iter().map(|row| row.1.clone()).collect::<Vec<_>>())),
            ("number", Data::Numbers(rows.iter().map(|row| row.2).collect())),
            ("time", Data::Times(rows.iter().map(|row| row.3).collect())),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for (out, format) in both() {
            write_table(&path, out, &written).unwrap();
            let table = read_binary(&path, format, &wants(&written)).unwrap();
            prop_assert_eq!(&table.columns, &written.columns);
        }
    }
}

#[test]
fn parts_are_the_table_that_they_make() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |range: std::ops::Range<i64>| {
        let names: Vec<String> = range.clone().map(|row| format!("n{}", row % 7)).collect();
        table(vec![("id", Data::Integers(range.collect())), ("name", texts(&names))])
    };
    let parts = || [rows(0..5), rows(5..5), rows(5..300)].into_iter().map(Ok);
    let read = |path: &Path| std::fs::read(path).unwrap();
    let (whole, some) = (folder.path().join("whole"), folder.path().join("some"));
    write_table(&whole, OutFormat::Csv, &rows(0..300)).unwrap();
    write_parts(&some, OutFormat::Csv, parts()).unwrap();
    assert_eq!(read(&whole), read(&some));
    if cfg!(feature = "arrow") {
        write_parts(&some, OutFormat::Parquet, parts()).unwrap();
        let found = read_binary(&some, Format::Parquet, &wants(&rows(0..1))).unwrap();
        let expected = rows(0..300);
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            assert_eq!(found.data.len(), 300);
            match (&found.data, &expected.data) {
                (Data::Integers(a), Data::Integers(b)) => assert_eq!(a, b),
                (Data::Texts { codes: a, labels: own }, Data::Texts { codes: b, labels: others }) => {
                    assert!(a.iter().zip(b).all(|(&a, &b)| own.get(a) == others.get(b)));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    // A part that does not come leaves what was there.
    let stopped = || std::io::Error::other("stopped");
    let (old, broken) = (read(&some), || [Ok(rows(0..5)), Err(stopped())].into_iter());
    let parquet = cfg!(feature = "arrow").then_some(OutFormat::Parquet);
    for format in [OutFormat::Csv].into_iter().chain(parquet) {
        let error = format!("{:#}", write_parts(&some, format, broken()).unwrap_err());
        assert!(error.contains("stopped"), "{error}");
    }
    assert_eq!(read(&some), old);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let error = write_parts(&some, OutFormat::Npz, parts()).unwrap_err().to_string();
    assert!(error.ends_with("use csv or parquet"), "{error}");
}
