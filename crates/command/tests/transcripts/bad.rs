//! What the command says when a model predicts badly.

use std::fmt::Write as _;

use crate::harness::Folder;

/// A folder with `train.tns` and `test.tns`: users and films have offsets, and all else is noise.
fn additive() -> Folder {
    let folder = Folder::new();
    // Numbers that look as if they were by chance, from -1 to 1.
    let chance = |number: u32| {
        let mut mixed = number.wrapping_mul(0x9e37_79b9);
        mixed = (mixed ^ mixed >> 16).wrapping_mul(0x7feb_352d);
        mixed = (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b);
        f64::from((mixed ^ mixed >> 16) >> 8) / f64::from(1 << 23) - 1.0
    };
    let mut tables = [String::new(), String::new()];
    for cell in 0..40 * 30u32 {
        let (user, film) = (cell / 30, cell % 30);
        let value = 3.0 + chance(user + 1) + chance(film + 1000) + 1.5 * chance(cell + 50_000);
        if chance(cell + 7_000) < 0.4 {
            writeln!(tables[usize::from(cell % 4 == 3)], "{} {} {value:.4}", user + 1, film + 1).unwrap();
        }
    }
    folder.write("train.tns", &tables[0]);
    folder.write("test.tns", &tables[1]);
    folder
}

/// Learns every entry by heart.
const BY_HEART: &str =
    "--algorithm sgd --rank 8 --lambda-reg 0 --decay 0 --epochs 100 --threads 1 --modes user,film";

#[test]
fn a_model_that_is_no_better_than_offsets_is_told_of() {
    let folder = additive();
    let words = [
        "note: the model's test RMSE (",
        "is not below that of offsets alone (",
        "an offset per user and film",
    ];
    folder.run(&format!("fit train.tns --test test.tns {BY_HEART} --out model")).succeeds().says(&words);
    folder.run("evaluate model test.tns").succeeds().says(&words);
    folder.run("evaluate model test.tns --json").succeeds().says(&words);
    folder.run(&format!("evaluate train.tns --folds 3 {BY_HEART}")).succeeds().says(&words);
    // What is known by heart is predicted better.
    let shown = folder.run("evaluate model train.tns --plain").succeeds();
    assert_eq!(shown.stderr, "");
}

#[test]
fn a_test_rmse_that_rises_is_told_of() {
    let folder = additive();
    let shown = folder.run(&format!("fit train.tns --test test.tns {BY_HEART}")).succeeds();
    shown.says(&[
        "note: the test RMSE rises: it was ",
        " after epoch ",
        " at the end; fewer epochs, or patience",
    ]);
    // Patience has looked after it, and without a test set nobody knows.
    for flags in ["--holdout 0.2 --patience 3", ""] {
        let shown = folder.run(&format!("fit train.tns {BY_HEART} {flags}")).succeeds();
        assert!(!shown.stderr.contains("rises"), "{}", shown.stderr);
    }
}
