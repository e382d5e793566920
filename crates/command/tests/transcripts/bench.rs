//! The benchmarks run, hold their RMSE, and name the machine.

use crate::harness::Folder;

#[test]
fn threads_are_compared_for_every_scheme() {
    let lines = Folder::new().run("bench threads --threads 1,2 --entries 20000").succeeds().json();
    assert!(lines[0]["cores"].as_u64().unwrap() >= 1);
    assert_eq!(lines.len(), 7);
    for pair in lines[1..].chunks(2) {
        assert_eq!(pair[0]["speed_up"], 1.0);
        assert!(pair[1]["speed_up"].as_f64().unwrap() > 0.0);
        assert_eq!(pair[0]["scheme"], pair[1]["scheme"]);
    }
}

#[test]
fn what_cannot_be_measured_is_said() {
    Folder::new().run("bench speed").fails(2, &["speed", "bench"]);
}
