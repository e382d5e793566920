//! Entries of tensors as text, and the problems that they make.
#![no_main]

use libfuzzer_sys::fuzz_target;
use s3cmtf::internal::files;
use s3cmtf::{Cells, Problem};
use s3cmtf_fuzz::{file, path};

fuzz_target!(|data: &[u8]| {
    let text = file("entries.tns", data);
    let _ = files::read_coordinates(&text, 2);
    let entries = files::read_entries(&text, None);
    let Ok(entries) = entries else { return };
    let order = entries.order();
    let same = files::read_entries(&text, Some(order)).expect("the same entries");
    assert_eq!((indices(same.cells()), same.values()), (indices(entries.cells()), entries.values()));
    let cells = files::read_coordinates(&text, order).expect("their cells");
    assert_eq!(indices(&cells), indices(entries.cells()));
    let last = entries.len() - 1;
    assert!(files::line_of(&text, last).expect("its file").is_some());
    assert!(files::line_of(&text, last + 1).expect("its file").is_none());
    if order > 16 {
        return;
    }
    let Ok(problem) = Problem::builder(entries).build() else { return };
    let saved = path("problem");
    files::save_problem(&problem, &saved).expect("a file that can be written");
    assert!(files::is_problem(&saved).expect("its file"));
    let loaded = files::load_problem(&saved).expect("what was saved");
    assert_eq!(loaded.fingerprint(), problem.fingerprint());
});

fn indices(cells: &Cells) -> Vec<&[u32]> {
    (0..cells.order()).map(|mode| cells.indices(mode)).collect()
}
