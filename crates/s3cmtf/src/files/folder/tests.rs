//! Saving and loading, and what broken files lead to.

use super::super::seal;
use super::*;
use crate::files::owned::check_not_owned;
use crate::model::ChoiceWeights;
use crate::table::{Binning, time::Bin};
use crate::{
    Choice, Core, CoupledFactor, DataRecord, Entries, Epoch, Factor, Likelihood, Mode, Naming, Offsets,
    Params, StdScale, Stop, Summary, Uncertainty,
};
use proptest::prelude::*;
use std::path::PathBuf;

fn record() -> Record {
    let epoch = Epoch {
        epoch: 1,
        seconds: 0.1,
        entries_per_second: 1e6,
        train_rmse: 1.0 / 3.0,
        test_rmse: None,
        evaluation_seconds: 0.0,
        rate: Some(0.05),
        validation_rmse: Some(0.1),
    };
    Record {
        version: "0.1.0".into(),
        command: Some("s3cmtf fit 'my data.csv'".into()),
        params: Params { seed: u64::MAX, rate: Some(0.1), ..Params::default() },
        data: DataRecord {
            entries: 3,
            test_entries: 0,
            mean: 3.7,
            fingerprint: "00ff".into(),
            holdout: None,
            later_entries: 0,
            kept: None,
            looks_like: None,
        },
        instructions: "avx2".into(),
        device: "cpu".into(),
        device_note: None,
        threads: 2,
        halvings: 0,
        summary: Summary {
            stop: Stop::Epochs,
            ranks: vec![2, 2],
            epochs: 1,
            best_epoch: 1,
            train_rmse: 1.0 / 3.0,
            test_rmse: Some(0.7),
            mean_rmse: Some(1.1),
            offsets_rmse: Some(0.9),
            seconds: 0.1,
        },
        history: vec![epoch],
        validation: vec![0.1, 0.2],
    }
}

fn naming(column: &str, labels: &[&str]) -> Naming {
    let binning = (column == "time").then_some(Binning::Time(Bin::Month));
    Naming { column: column.into(), binning, labels: labels.iter().collect() }
}

fn factor(rows: usize, rank: usize) -> Factor {
    Factor::new(rank, (0..rows * rank).map(|i| (i as f32).sin() / 3.0).collect())
}

/// A model with everything: a mode with absent ids, and a coupled matrix of each kind.
fn full() -> Model {
    let modes = vec![
        Mode::new("user", 4),
        Mode::with_present("item", 4_000_000_000, vec![3, 8, 3_999_999_999]).unwrap(),
        Mode::new("month", 2).named(naming("time", &["2017-03", "\u{e9}t\u{e9}"])).unwrap(),
    ];
    let coupled = |name: &str, mode, kind, columns: Mode, rank| {
        let rows = columns.rows();
        CoupledFactor {
            name: name.into(),
            mode,
            kind,
            weight: 0.1,
            columns,
            factor: factor(rows, rank),
            effects: None,
        }
    };
    let genres = Mode::with_present("column", 3, vec![0, 2]).unwrap();
    let genres = genres.named(naming("genres", &["Comedy", "", "Drama"])).unwrap();
    let model = Model::new(
        modes,
        Core::full(vec![2, 3, 1], (0..6).map(|i| i as f32 / 7.0).collect()),
        vec![factor(4, 2), factor(3, 3), factor(2, 1)],
        vec![
            coupled("user/friends", 0, Absent::Graph, Mode::new("", 0), 2),
            coupled("item/genre", 1, Absent::Zeros, genres, 3),
            coupled("item/price", 1, Absent::Missing, Mode::new("column", 1), 3),
        ],
        [0.5, 5.1],
    )
    .unwrap()
    .with_uncertainty(Uncertainty {
        noise: 0.3,
        shares: vec![vec![1.0, 0.5, 2.0, 1.5], vec![1.0; 3], vec![0.1; 2]],
        variances: [factor(4, 2), factor(3, 3), factor(2, 1)].map(squared).into(),
        scale: Some(StdScale { points: vec![[1.0, 0.9], [1.0 / 3.0 + 4.0, 1.1]] }),
    })
    .unwrap()
    .with_offsets(Offsets {
        mean: 3.7,
        lambdas: vec![10.0, 0.1, 1000.0],
        rows: vec![vec![0.5, -0.1, 0.0, 1.0 / 3.0], vec![0.2; 3], vec![-0.3; 2]],
    })
    .unwrap()
    .with_choice(Choice::new([factor(4, 2), factor(3, 2)]))
    .unwrap();
    let weights = ChoiceWeights { lambda: 0.1, absent: 0.25, confidence: 0.0, mean: 1.5 };
    Model { choice_weights: Some(weights), absent_weight: Some(0.125), ..model }
}

fn squared(mut factor: Factor) -> Factor {
    factor.values_mut().iter_mut().for_each(|value| *value *= *value);
    factor
}

fn diagonal() -> Model {
    let modes = vec![Mode::new("a", 3), Mode::new("b", 2)];
    Model::new(
        modes,
        Core::Diagonal(vec![1.5, -0.1]),
        vec![factor(3, 2), factor(2, 2)],
        Vec::new(),
        [-1.0, 1.0],
    )
    .unwrap()
}

fn saved(model: Model) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    save(&Run { model, record: record() }, &path).unwrap();
    (folder, path)
}

fn refused(bytes: &[u8]) -> String {
    format!("{:#}", from_bytes(Path::new("model.safetensors"), bytes).unwrap_err())
}

/// The file of a model after a change to its header; the tensors' bytes stay.
fn with_header(model: &Model, change: impl Fn(String) -> String) -> Vec<u8> {
    let bytes = to_bytes(model).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = change(String::from_utf8(bytes[8..8 + length].to_vec()).unwrap());
    let mut bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + length..]].concat();
    reseal(&mut bytes);
    bytes
}

/// Makes the checksum that of the content, so that what is wrong with that is what is found.
fn reseal(bytes: &mut [u8]) {
    let begin = br#"{\"checksum\":\""#;
    if let Some(place) = bytes.windows(begin.len()).position(|window| window == begin) {
        bytes[place + begin.len()..][..16].fill(b'0');
        seal::seal(bytes);
    }
}

fn replaced(model: &Model, from: &str, to: &str) -> String {
    refused(&with_header(model, |header| {
        assert!(header.contains(from), "{from} is not in {header}");
        header.replace(from, to)
    }))
}

#[test]
fn what_is_saved_is_loaded() {
    for model in [full(), diagonal(), diagonal().with_likelihood(Likelihood::Counts)] {
        let (_folder, path) = saved(model.clone());
        let Run { model: loaded, record: read } = load(&path).unwrap();
        assert_eq!(loaded, model);
        assert_eq!(read, record());
        assert_eq!(to_bytes(&loaded).unwrap(), fs::read(path.join(MODEL)).unwrap());
        let json: serde_json::Value = serde_json::from_slice(&fs::read(path.join(RECORD)).unwrap()).unwrap();
        assert_eq!(json["model"]["modes"][0]["rank"], 2);
        assert_eq!(json["format"], 6);
    }
}

#[test]
fn a_model_of_version_1_is_loaded() {
    // What version 2 has more is optional.
    let bytes = with_header(&diagonal(), |header| {
        let old = header.replace(r#"\"format\":6"#, r#"\"format\":1"#);
        assert_ne!(old, header);
        old
    });
    let old = from_bytes(Path::new("model"), &bytes).unwrap();
    assert_eq!(old, diagonal());
    // Nor has it offsets to compare with.
    let entries = Entries::new(vec![vec![0], vec![1]], vec![1.0]).unwrap();
    let errors = old.evaluate(&entries, false).unwrap();
    assert_eq!((old.offsets(), errors.mean_rmse, errors.offsets_rmse), (None, None, None));
    assert_eq!(errors.note(old.modes()), None);
}

#[test]
fn a_record_of_before_instructions_evaluation_seconds_and_offsets_is_loaded() {
    let (_folder, path) = saved(full());
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(path.join(RECORD)).unwrap()).unwrap();
    assert!(json["params"].as_object_mut().unwrap().remove("instructions").is_some());
    let epoch = json["history"][0].as_object_mut().unwrap();
    assert!(epoch.remove("evaluation_seconds").is_some());
    let summary = json["summary"].as_object_mut().unwrap();
    assert!(summary.remove("mean_rmse").is_some() && summary.remove("offsets_rmse").is_some());
    fs::write(path.join(RECORD), json.to_string()).unwrap();
    let mut expected = record();
    (expected.summary.mean_rmse, expected.summary.offsets_rmse) = (None, None);
    assert_eq!(load(&path).unwrap().record, expected);
}

#[test]
fn every_truncation_is_refused() {
    let bytes = to_bytes(&full()).unwrap();
    for end in 0..bytes.len() {
        refused(&bytes[..end]);
    }
    refused(&[&bytes[..], b"x"].concat());
}

#[test]
fn broken_models_say_what_is_wrong() {
    let model = &full();
    for (from, to, what) in [
        (
            r#"\"format\":6"#,
            r#"\"format\":7"#,
            "has format version 7, but this version of s3cmtf reads 1 to 6",
        ),
        (r#"\"format\":6,"#, "", "its \"s3cmtf\" metadata cannot be read: missing field `format`"),
        ("s3cmtf", "other!", "is no model of s3cmtf: no \"s3cmtf\" in its metadata"),
        (
            r#"\"size\":2"#,
            r#"\"size\":-2"#,
            "metadata cannot be read: invalid value: integer `-2`, expected u32",
        ),
        (r#"\"size\":2"#, r#"\"size\":4294967296"#, "metadata cannot be read: invalid value"),
        (r#"\"size\":4}"#, r#"\"size\":4294967295}"#, "mode user is 4 x 2, but the mode has 4294967295 rows"),
        ("factor.2", "factor.9", "has no tensor \"factor.2\""),
        ("[3,3]", "[9,1]", "mode item is 9 x 1, but the mode has 3 rows and the core rank 3"),
        ("[3,3]", "[9]", "tensor \"factor.1\" should have 2 dimensions, but has 1"),
        ("[2,3,1]", "[6,0]", "is not a whole safetensors file"),
        ("[2,3,1]", "[4294967296,4294967296]", "is not a whole safetensors file"),
        (r#""U32""#, r#""I32""#, "should be U32, but is I32"),
        (r#"\"mode\":0"#, r#"\"mode\":9"#, "coupled to mode 9 (counted from 0), but there are 3 modes"),
        ("\"data_offsets\":[0,", "\"data_offsets\":[-1,", "is not a whole safetensors file"),
        (
            "\"data_offsets\":[0,24]",
            "\"data_offsets\":[0,18446744073709551615]",
            "does not lie within the file",
        ),
        ("label_end.2", "label_end.9", "has no tensor \"label_end.2\""),
        (r#"\"time\":\"month\""#, r#"\"time\":\"mnth\""#, "metadata cannot be read: unknown variant `mnth`"),
        ("variance.0", "variance.9", "has no tensor \"variance.0\""),
        ("offset.0", "offset.9", "has no tensor \"offset.0\""),
        ("choice.1", "choice.9", "has no tensor \"choice.1\""),
        (r#",\"choice\":true"#, "", "has a tensor \"choice."),
        (r#"\"absent\":0.25"#, r#"\"absent\":-0.5"#, "has choice_weights that no training gives"),
        (
            r#"\"absent_weight\":0.125"#,
            r#"\"absent_weight\":1.5"#,
            "has an absent_weight that is not above 0",
        ),
        (r#"[10.0,0.1,1000.0]"#, "[10.0,0.0,1000.0]", "the offsets do not fit the model"),
        (r#"[10.0,0.1,1000.0]"#, "[10.0,0.1]", "the offsets do not fit the model"),
        ("\\\"noise\\\":0.3", "\\\"noise\\\":-0.3", "the uncertainty does not fit the model"),
        (r#"[0.5,5.1]"#, "[5.5,5.1]", "numbers that are not finite"),
    ] {
        let message = replaced(model, from, to);
        assert!(message.contains(what) && message.starts_with("model.safetensors: "), "{from}: {message}");
    }
    let short = replaced(&diagonal(), r#"\"core\":\"diagonal\""#, r#"\"core\":\"full\""#);
    assert!(short.contains("2 modes, 2 factors and a core of order 1"), "{short}");
}

#[test]
fn ranks_of_zero_and_numbers_that_are_not_finite_are_refused() {
    let empty = |name: &str| format!(r#""{name}":{{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]}}"#);
    let header = r#"{\"format\":1,\"core\":\"full\",\"modes\":[],\"coupled\":[],\"range\":[0,1]}"#;
    let text = format!(r#"{{"__metadata__":{{"s3cmtf":"{header}"}},{}}}"#, empty("core"));
    let bytes = [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    assert!(refused(&bytes).contains("the core has the ranks [3, 0], but ranks are 1 or more"));

    let mut bytes = to_bytes(&diagonal()).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    reseal(&mut bytes);
    assert!(refused(&bytes).contains("numbers that are not finite"));
    assert!(refused(&[0xff; 64]).contains("its header is longer than the file"));
}

#[test]
fn folders_that_are_no_models_say_so() {
    let (folder, path) = saved(diagonal());
    let message = |path: &Path| format!("{:#}", load(path).unwrap_err());
    assert!(
        message(&path.join(MODEL))
            .ends_with("is a file, but a model is a folder with a model.safetensors in it")
    );
    let none = folder.path().join("none");
    // The only model there is, inside and beside; the nearest of more; and none.
    let only = format!(", did you mean {}?", path.display());
    assert!(
        message(folder.path()).ends_with(&format!("is not a model folder: no model.safetensors in it{only}"))
    );
    let rule = " (a model is a folder with a model.safetensors in it)";
    assert_eq!(message(&none), format!("{}: there is no such folder{only}{rule}", none.display()));
    let second = folder.path().join("other");
    save(&Run { model: diagonal(), record: record() }, &second).unwrap();
    assert_eq!(message(&none), format!("{}: there is no such folder{rule}", none.display()));
    let near = folder.path().join("othre");
    let meant = format!(", did you mean {}?", second.display());
    assert_eq!(message(&near), format!("{}: there is no such folder{meant}{rule}", near.display()));
    assert!(message(folder.path()).ends_with("is not a model folder: no model.safetensors in it"));
    assert!(message(&none.join("deeper")).ends_with(&format!("there is no such folder{rule}")));
    fs::write(path.join(RECORD), "{}").unwrap();
    assert!(message(&path).contains("run.json: is not the record of a run: missing field `version`"));
    fs::remove_file(path.join(RECORD)).unwrap();
    assert!(message(&path).ends_with("is not a whole model folder: no run.json in it"));
}

#[test]
fn a_model_replaces_a_model_and_nothing_else() {
    let (folder, path) = saved(full());
    let run = Run { model: diagonal(), record: record() };
    check_out(&path).unwrap();
    fs::write(path.join("report.html"), "kept").unwrap();
    save(&run, &path).unwrap();
    assert_eq!(load(&path).unwrap().model, run.model);
    assert_eq!(fs::read(path.join("report.html")).unwrap(), b"kept");

    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    save(&run, &empty).unwrap();
    assert_eq!(load(&empty).unwrap().model, run.model);

    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "precious").unwrap();
    for (path, what) in [
        (
            other.clone(),
            "is a folder with other things in it (no model.safetensors of s3cmtf) and will not be replaced",
        ),
        (other.join("thesis.tex"), "is a file and will not be replaced by a model folder"),
        (other.join("none/run"), "does not exist: create this folder first"),
        (PathBuf::from("/"), "is a folder with other things in it"),
    ] {
        assert!(check_out(&path).unwrap_err().to_string().contains(what), "{}", path.display());
        assert!(save(&run, &path).unwrap_err().to_string().contains(what));
    }
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_folder_is_ours_only_if_its_files_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bert");
    fs::create_dir(&path).unwrap();
    // A language model has such a file, too.
    let other = br#"{"__metadata__":{"format":"pt"}}"#;
    fs::write(path.join(MODEL), [&(other.len() as u64).to_le_bytes(), &other[..]].concat()).unwrap();
    fs::write(path.join(RECORD), r#"{"format": "theirs"}"#).unwrap();
    let run = Run { model: diagonal(), record: record() };
    for refused in [check_out(&path), save(&run, &path)] {
        assert!(refused.unwrap_err().to_string().contains("will not be replaced"));
    }
    // A model of ours stays one when it is damaged.
    let (_folder, path) = saved(diagonal());
    fs::write(path.join(MODEL), "damaged").unwrap();
    save(&run, &path).unwrap();
    assert_eq!(load(&path).unwrap().model, run.model);
    let refused = check_not_owned(&path.join(MODEL)).unwrap_err().to_string();
    assert!(refused.contains("is a part of a model"), "{refused}");
    check_not_owned(&path.join("report.html")).unwrap();
}

#[cfg(unix)]
#[test]
fn permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = saved(full());
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&path, 0o700);
    set(&path.join(MODEL), 0o600);
    save(&Run { model: diagonal(), record: record() }, &path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join(MODEL))), (0o700, 0o600));
    let file = path.join("report.html");
    fs::write(&file, "old").unwrap();
    set(&file, 0o640);
    crate::files::atomic::write_atomically(&file, |out| out.write_all(b"new")).unwrap();
    assert_eq!((fs::read(&file).unwrap(), mode(&file)), (b"new".to_vec(), 0o640));
}

#[test]
fn an_interrupted_run_keeps_its_checkpoint_and_a_model_is_saved_without_its_data() {
    let (folder, path) = saved(full());
    fs::write(path.join(CHECKPOINT), "checkpoint").unwrap();
    let mut run = Run { model: diagonal(), record: record() };
    run.record.summary.stop = Stop::Interrupted;
    save(&run, &path).unwrap();
    assert!(path.join(CHECKPOINT).exists());
    run.record.summary.stop = Stop::Epochs;
    save(&run, &path).unwrap();
    assert!(!path.join(CHECKPOINT).exists());
    // What is no file cannot be copied.
    let data = KeptData::there(folder.path()).unwrap();
    let failed = save_with(&run, Some(&data), &path).unwrap();
    assert!(failed.is_some() && !path.join(DATA).exists());
    assert_eq!(load(&path).unwrap().model, run.model);
}

#[test]
fn a_checkpoint_that_a_killed_run_had_begun_goes_with_the_next_model() {
    let (_folder, path) = saved(full());
    let left = path.join(format!(".{CHECKPOINT}.tmp-77"));
    fs::write(&left, "half").unwrap();
    let run = Run { model: full(), record: record() };
    save(&run, &path).unwrap();
    assert!(left.exists(), "somebody may still be at it");
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    fs::File::open(&left).unwrap().set_modified(past).unwrap();
    save(&run, &path).unwrap();
    assert!(!left.exists());
    // In a folder that had just changed places with the model.
    let swapped = path.with_file_name(".run.tmp-78");
    fs::create_dir(&swapped).unwrap();
    let inside = swapped.join(format!(".{CHECKPOINT}.tmp-79"));
    fs::write(&inside, "half").unwrap();
    for left in [&inside, &swapped] {
        fs::File::open(left).unwrap().set_modified(past).unwrap();
    }
    save(&run, &path).unwrap();
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    assert!(!swapped.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn flipped_bits_are_refused(place in any::<prop::sample::Index>(), bit in 0..8) {
        let model = full();
        let mut bytes = to_bytes(&model).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= 1u8 << bit;
        // The only ones that are not are those that do not matter.
        if let Ok(read) = from_bytes(Path::new("model"), &bytes) {
            prop_assert_eq!(read, model);
        }
    }

    #[test]
    fn flipped_bytes_are_refused_or_give_a_model_of_the_same_shape(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let model = full();
        let mut bytes = to_bytes(&model).unwrap();
        for (place, byte) in flips {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        reseal(&mut bytes);
        if let Ok(read) = from_bytes(Path::new("model"), &bytes) {
            for (read, factor) in read.factors().iter().zip(model.factors()) {
                prop_assert_eq!((read.rows(), read.rank()), (factor.rows(), factor.rank()));
            }
        }
    }
}
