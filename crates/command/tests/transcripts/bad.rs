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

#[test]
fn what_is_in_a_file_gives_no_orders_to_a_terminal() {
    let folder = Folder::new();
    let row = |user: &str, stars: &str| format!("{user},film,{stars}\n");
    let head = "user,film,stars\n";
    folder.write("value.csv", format!("{head}{}{}", row("a", "1"), row("b", "\x1b[31mred\x1b]0;title\x07")));
    let shown =
        folder.run("fit value.csv --modes user,film --value stars").fails(1, &["value.csv:3", "31mred"]);
    assert!(!shown.stderr.contains('\x1b'), "{:?}", shown.stderr);
    // A name of a column, and one of a file.
    folder.write("\x1b[2Jname.csv", "\x1b[31muser,film,stars\na,b,1\n");
    let shown = folder.run("fit \x1b[2Jname.csv --modes user,film --value stars");
    assert!(shown.code != 0 && !shown.stderr.contains('\x1b'), "{:?}", shown.stderr);
}

#[test]
fn a_message_is_no_longer_than_somebody_reads() {
    let folder = Folder::new();
    folder.write("wide.csv", format!("user,film,{}\na,b,c\n", "x".repeat(100_000)));
    let shown = folder.run("fit wide.csv");
    assert!(shown.code != 0 && shown.stderr.len() < 6000, "{}", shown.stderr.len());
}

#[test]
fn values_whose_squares_are_too_large_for_32_bits_have_errors_and_deviations() {
    let folder = Folder::new();
    let value = |n: usize| format!("{} {} {}e22\n", n % 7 + 1, n * 3 % 11 + 1, n % 5 + 1);
    folder.write("large.tns", (0..60).map(value).collect::<String>());
    folder.run("fit large.tns --rank 2 --epochs 5 --quiet --out model").succeeds();
    let json = folder.run("evaluate model large.tns --plain --json").succeeds().json();
    let rmse = json[0]["rmse"].as_f64().unwrap();
    assert!(rmse > 1e20 && rmse < 1e24, "{rmse}");
    let shown = folder.run("predict model large.tns --std").succeeds();
    assert!(!shown.stdout.contains("NaN") && !shown.stdout.contains("inf"), "{}", shown.stdout);
}
