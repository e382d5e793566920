//! Checkpoints, and the runs that go on from them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use s3cmtf::Training;
use s3cmtf::internal::files;
use s3cmtf_fuzz::made::problem;
use s3cmtf_fuzz::{folder, path, tensor_file};

fuzz_target!(|data: &[u8]| {
    let bytes = tensor_file(data, "s3cmtf-checkpoint");
    let place = folder("run", &[("checkpoint.safetensors", &bytes)]);
    let Ok(checkpoint) = files::load_checkpoint(&place) else { return };
    let again = path("again");
    files::save_checkpoint(&checkpoint, &again).expect("a folder that can be written");
    let back = files::load_checkpoint(&again).expect("what was saved");
    // By their texts, since a number that is none is not even equal to itself.
    assert_eq!(format!("{back:?}"), format!("{checkpoint:?}"));
    let params = checkpoint.about.params.clone();
    if params.epochs > 10 || params.threads > 2 || params.ranks.iter().any(|&rank| rank > 8) {
        return;
    }
    let training = match checkpoint.about.holdout {
        Some(how) => Training::new(problem(), params).holdout_by(how),
        None => Training::new(problem(), params),
    };
    if let Ok(run) = training.resume(checkpoint).run() {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        assert!(finite(run.model.core().values()));
        assert!(run.model.factors().iter().all(|factor| finite(factor.values())));
    }
});
