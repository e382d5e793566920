//! Model folders. An input that starts with `R` is a record next to a good model, any other a model next to a good record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use s3cmtf::discovery::{self, ClusterParams, K, Recommender};
use s3cmtf::internal::files::{self, OutFormat};
use s3cmtf::report::{self, Known, Options, Report};
use s3cmtf::{CoreKind, Entries, Model, Record, Run};
use s3cmtf_fuzz::made::{model, run};
use s3cmtf_fuzz::{folder, path, tensor_file};

/// Numbers up to this size, and so many concepts, cannot come to more than 32 bits hold.
const SMALL: f32 = 100.0;
const FEW: usize = 8;

fuzz_target!(|data: &[u8]| {
    let (good, record) = run();
    let (tensors, record) = match data.strip_prefix(b"R") {
        Some(record) => (good.clone(), record),
        None => (tensor_file(data, "s3cmtf"), &record[..]),
    };
    let place = folder("model", &[("model.safetensors", &tensors), ("run.json", record)]);
    let Ok(Run { model: read, record }) = files::load(&place) else { return };
    if data.starts_with(b"R") {
        assert_eq!(read, model());
    }
    check_predictions(&read);
    discover(&read, &record);
    let again = path("again");
    files::save(&Run { model: read.clone(), record }, &again).expect("a folder that can be written");
    let back = files::load(&again).expect("what was saved").model;
    assert_eq!(back, read);
    for format in OutFormat::ALL {
        let out = folder("out", &[]);
        if let Ok(written) = files::export_model(&read, format, &out) {
            assert!(written.iter().all(|file| file.parent() == Some(&out) && file.is_file()));
            assert_eq!(out.read_dir().expect("its folder").count(), written.len());
        }
    }
    // Those of trained models are small enough; a diagonal one may be of any size.
    if read.core_kind() == CoreKind::Diagonal && read.modes().len() > 4 {
        return;
    }
    let mut turned = read.clone();
    turned.orthogonalize();
    turned.normalize_columns();
});

/// What a model says can be asked of any that was loaded; numbers that are too large for it come to an error or to words.
fn discover(model: &Model, record: &Record) {
    let modes = model.modes();
    let core = model.core().ranks(modes.len()).iter().try_fold(1usize, |size, &rank| size.checked_mul(rank));
    if modes.len() > FEW || core.is_none_or(|size| size > FEW.pow(4)) {
        return;
    }
    let _ = discovery::concepts(model, None, 3);
    for (number, mode) in modes.iter().enumerate() {
        let params = ClusterParams { k: K::Auto(3), level: number == 0, top: 2, seed: 1 };
        let _ = discovery::clusters(model, None, number, params);
        let Some(last) = mode.rows().checked_sub(1) else { continue };
        let _ = discovery::similar(model, number, mode.id(last), number == 0, 3);
        let other = (number + 1) % modes.len();
        if let Ok(recommender) = Recommender::new(model, number, other, &[]) {
            let best = recommender.best(&[0, last as u32], 3);
            assert!(best.iter().all(|best| best.len() <= 3.min(modes[other].rows())));
        }
    }
    let options = Options { title: "model".into(), command: String::new() };
    if let Ok(report) = Report::new(model, record, Known::default(), &options) {
        report::render(&report).expect("a page of any report");
    }
}

fn check_predictions(model: &Model) {
    let modes = model.modes();
    // The first row and the last, an id that is absent, and one that is new.
    let mut ids: Vec<Vec<u32>> = vec![Vec::new(); modes.len()];
    for (ids, mode) in ids.iter_mut().zip(modes) {
        let rows = mode.rows();
        let known = |row: usize| if row < rows { mode.id(row) } else { 0 };
        ids.extend([known(0), known(rows.saturating_sub(1)), mode.size() / 2, mode.size()]);
        for row in [0, rows.saturating_sub(1)].into_iter().filter(|&row| row < rows) {
            assert_eq!(mode.find(&mode.label(mode.id(row))), Some(mode.id(row)));
        }
    }
    let Ok(cells) = Entries::new(ids, vec![1.0; 4]) else { return };
    let Ok(predictions) = model.predict(&cells, false) else { return };
    let clipped = model.predict(&cells, true).expect("the same cells");
    let [low, high] = model.range();
    assert!(clipped.iter().all(|value| value.is_nan() || (low..=high).contains(value)));
    let std = model.std(&cells);
    model.evaluate(&cells, true).expect("the same cells");
    let small = |values: &[f32]| values.iter().all(|value| value.abs() < SMALL);
    let few = modes.len() <= FEW && model.core().values().len() <= FEW.pow(4);
    if few && small(model.core().values()) && model.factors().iter().all(|factor| small(factor.values())) {
        assert!(predictions.iter().all(|value| value.is_finite()));
        if let Some(uncertainty) = model.uncertainty()
            && uncertainty.shares.iter().flatten().all(|&share| share > 1e-3)
            && uncertainty.variances.iter().all(|variances| small(variances.values()))
        {
            assert!(std.expect("standard deviations").iter().all(|value| value.is_finite()));
        }
    }
}
