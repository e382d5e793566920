//! Problem files. Their checks are put right, since no change of the fuzzer's would.
#![no_main]

use libfuzzer_sys::fuzz_target;
use s3cmtf::internal::files;
use s3cmtf_fuzz::{Parts, file, hash, path};
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    let bytes = checked(data).unwrap_or_else(|| data.to_vec());
    let place = file("problem", &bytes);
    let _ = files::is_problem(&place);
    let Ok(problem) = files::load_problem(&place) else { return };
    let again = path("again");
    files::save_problem(&problem, &again).expect("a file that can be written");
    let back = files::load_problem(&again).expect("what was saved");
    assert_eq!(back.fingerprint(), problem.fingerprint());
    assert_eq!(back.modes(), problem.modes());
    assert_eq!(back.value(), problem.value());
    for mode in 0..problem.order() {
        assert_eq!(problem.counts(mode).len(), problem.modes()[mode].rows());
    }
    let _ = problem.hold_out(0.5, 1);
});

/// The file with the checks that it should have.
fn checked(data: &[u8]) -> Option<Vec<u8>> {
    let parts = Parts::of(data)?;
    let mut header: Value = serde_json::from_str(parts.metadata).ok()?;
    let checks = header.get_mut("checks")?;
    *checks = json!({});
    for (name, tensor) in &parts.tensors {
        let offset = |number: usize| tensor["data_offsets"][number].as_u64().map(|offset| offset as usize);
        let (Some(start), Some(end)) = (offset(0), offset(1)) else { continue };
        let numbers = parts.numbers.get(start..end).unwrap_or_default();
        // The hash of the hashes of pieces, of which short arrays have one and empty ones none.
        let pieces = if numbers.is_empty() { vec![] } else { hash(numbers, 0).to_le_bytes().to_vec() };
        checks[name] = format!("{:016x}", hash(&pieces, 0)).into();
    }
    let header = header.to_string();
    let check = format!("{:016x}", hash(header.as_bytes(), 0));
    Some(parts.file(json!({ "s3cmtf-problem": header, "s3cmtf-problem-check": check })))
}
