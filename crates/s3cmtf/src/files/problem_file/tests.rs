use std::fs;

use proptest::prelude::*;

use super::*;
use crate::table::{Binning, time::Bin};

fn entries(indices: &[&[u32]], values: &[f32]) -> Entries {
    Entries::new(indices.iter().map(|ids| ids.to_vec()).collect(), values.to_vec()).unwrap()
}

fn naming(column: &str, binning: Option<Binning>, labels: &[&str]) -> Naming {
    Naming { column: column.into(), binning, labels: labels.iter().collect() }
}

/// A problem with one of everything: names, gaps, bins, and matrices of each kind.
fn full() -> Problem {
    let months = naming("when", Some(Binning::Time(Bin::Month)), &["2017-03", "2017-04"]);
    let graph = Coupled::new(1, Absent::Graph, entries(&[&[4, 0], &[0, 9]], &[1.0, 0.5])).unwrap();
    let zeros =
        Coupled::new(0, Absent::Zeros, entries(&[&[0, 2], &[1, 0]], &[1.0, 1.0])).unwrap().weighted(0.25);
    let zeros = zeros.columns_named(naming("genre", None, &["Comedy", "", "\u{e9}t\u{e9}"])).unwrap();
    let missing = Coupled::new(1, Absent::Missing, entries(&[&[9], &[700]], &[-1.5])).unwrap();
    Problem::builder(entries(&[&[0, 2, 0], &[4, 4, 12], &[1, 0, 0]], &[1.0, 2.5, -3.0]).named("ratings.csv"))
        .names(vec!["user".into(), "item".into(), "month".into()])
        .namings(vec![Some(naming("user", None, &["ann", "never", "bob"])), None, Some(months)])
        .value("stars")
        .couple(graph.named("item/friends"))
        .couple(zeros.named("user/genre"))
        .couple(missing)
        .build()
        .unwrap()
}

fn assert_same(a: &Problem, b: &Problem) {
    assert_eq!(a.fingerprint(), b.fingerprint());
    assert_eq!((a.modes(), a.entries(), a.value()), (b.modes(), b.entries(), b.value()));
    assert_eq!(a.coupled().len(), b.coupled().len());
    for (a, b) in a.coupled().iter().zip(b.coupled()) {
        assert_eq!((a.name(), a.mode(), a.kind(), a.weight()), (b.name(), b.mode(), b.kind(), b.weight()));
        assert_eq!((a.columns(), a.entries()), (b.columns(), b.entries()));
    }
}

fn bytes_of(problem: &Problem) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.s3cmtf");
    save_problem(problem, &path).unwrap();
    assert!(is_problem(&path).unwrap());
    fs::read(path).unwrap()
}

fn load(bytes: &[u8]) -> Result<Problem, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.s3cmtf");
    fs::write(&path, bytes).unwrap();
    load_problem(&path)
}

#[test]
fn a_problem_comes_back_as_it_was() {
    let problem = full();
    assert_same(&load(&bytes_of(&problem)).unwrap(), &problem);
    // Most rows have lost their entries, and are kept all the same.
    let many = entries(&[&(0..50).collect::<Vec<u32>>(), &[1; 50]], &[1.0; 50]);
    let (few, _) = Problem::builder(many).build().unwrap().hold_out(0.9, 1).unwrap();
    assert_same(&load(&bytes_of(&few)).unwrap(), &few);
}

#[test]
fn other_readers_of_safetensors_read_it() {
    let bytes = bytes_of(&full());
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("entry.1").unwrap().shape(), [3]);
    assert_eq!(tensors.tensor("value").unwrap().data()[4..8], 2.5f32.to_le_bytes());
}

#[test]
fn a_file_that_is_cut_off_anywhere_or_has_more_is_refused() {
    let mut bytes = bytes_of(&full());
    for length in 0..bytes.len() {
        assert!(load(&bytes[..length]).is_err(), "{length} bytes");
    }
    bytes.push(0);
    assert!(load(&bytes).unwrap_err().to_string().contains("is cut off or damaged"));
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    let problem = full();
    let bytes = bytes_of(&problem);
    for place in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        // Between the words of the header a blank may as well be a tab.
        if let Ok(found) = load(&flipped) {
            assert_same(&found, &problem);
        }
    }
    let mut value = bytes.clone();
    let place = bytes.windows(4).rposition(|window| window == 2.5f32.to_le_bytes()).unwrap();
    value[place + 2] ^= 1;
    assert!(load(&value).unwrap_err().to_string().contains("array \"value\" is not what was written"));
}

/// The file with another header of the problem, whose check is right.
fn with_header(bytes: &[u8], change: impl Fn(&mut serde_json::Value)) -> Vec<u8> {
    let size = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut file: serde_json::Value = serde_json::from_slice(&bytes[8..8 + size]).unwrap();
    let mut header = serde_json::from_str(file[METADATA][KEY].as_str().unwrap()).unwrap();
    change(&mut header);
    let header = header.to_string();
    file[METADATA][CHECK] = text_check(&header).into();
    file[METADATA][KEY] = header.into();
    let file = file.to_string();
    [&(file.len() as u64).to_le_bytes(), file.as_bytes(), &bytes[8 + size..]].concat()
}

#[test]
fn a_forged_header_is_refused_for_what_it_says() {
    let bytes = bytes_of(&full());
    assert_same(&load(&with_header(&bytes, |_| {})).unwrap(), &full());
    let refused = |change: &dyn Fn(&mut serde_json::Value), what: &str| {
        let error = load(&with_header(&bytes, change)).unwrap_err().to_string();
        assert!(error.contains(what), "{error} does not say {what}");
    };
    refused(&|header| header["format"] = 2.into(), "has format version 2");
    refused(&|header| header["modes"][0]["size"] = 4.into(), "should hold 4 distinct names");
    refused(&|header| header["modes"][1]["size"] = 5.into(), "ascending numbers below 5");
    refused(&|header| header["modes"][1]["name"] = "user".into(), "distinct names");
    refused(&|header| header["coupled"][0]["mode"] = 9.into(), "coupled to mode 10");
    refused(&|header| header["coupled"][0]["kind"] = "zeros".into(), "has columns where it should have none");
    refused(&|header| header["coupled"][1]["weight"] = (-1.0).into(), "weight should be");
    refused(&|header| _ = header["coupled"].as_array_mut().unwrap().pop(), "does not belong to its problem");
    let plain = Problem::builder(entries(&[&[0, 1], &[1, 0]], &[1.0, 2.0])).build().unwrap();
    let huge = with_header(&bytes_of(&plain), |header| header["modes"][0]["size"] = u32::MAX.into());
    assert!(load(&huge).unwrap_err().to_string().contains("has 4294967295 rows, but 2 entries"));
}

#[test]
fn other_files_are_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for bytes in [&b""[..], b"1 2 3\n", b"userId,movieId\n1,2\n", &[0xff; 40]] {
        fs::write(&path, bytes).unwrap();
        assert!(!is_problem(&path).unwrap());
        assert!(load_problem(&path).is_err());
    }
    assert!(!is_problem(Path::new("-")).unwrap());
    assert!(matches!(load_problem(&folder.path().join("none")), Err(Error::Io { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_problem_comes_back(
        cells in prop::collection::vec((0u32..60, 0u32..5, 0u32..u32::MAX, -9.0f32..9.0), 1..200),
        edges in prop::collection::vec((0u32..5, 0u32..5), 0..9),
    ) {
        let pick = |f: fn(&(u32, u32, u32, f32)) -> u32| cells.iter().map(f).collect::<Vec<u32>>();
        let values = cells.iter().map(|cell| cell.3).collect();
        let tensor = Entries::new(vec![pick(|c| c.0), pick(|c| c.1), pick(|c| c.2)], values).unwrap();
        let mut builder = Problem::builder(tensor);
        if edges.iter().any(|(a, b)| a != b) {
            let (from, to): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
            let count = from.len();
            let edges = Entries::new(vec![from, to], vec![1.0; count]).unwrap();
            builder = builder.sizes(vec![60, 5, u32::MAX]).couple(Coupled::new(1, Absent::Graph, edges).unwrap());
        }
        let problem = builder.build().unwrap();
        assert_same(&load(&bytes_of(&problem)).unwrap(), &problem);
    }

    #[test]
    fn any_damage_is_an_error_or_changes_nothing(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let problem = full();
        let mut bytes = bytes_of(&problem);
        for (place, byte) in flips {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(found) = load(&bytes) {
            assert_same(&found, &problem);
        }
    }
}
