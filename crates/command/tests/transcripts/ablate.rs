//! `s3cmtf evaluate --ablate`.

use std::fmt::Write as _;

use crate::harness::Folder;
#[cfg(unix)]
use crate::harness::{BINARY, interrupted};

/// A folder with `ratings.csv`, `genres.csv`, which says what ratings are about, and `colours.csv`, which does not.
fn with_tables() -> Folder {
    let folder = Folder::new();
    let mut state = 7u64;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let tastes: Vec<f64> = (0..60 * 4).map(|_| below(300) as f64 / 100.0).collect();
    let mut ratings = "user,film,date,stars\n".to_owned();
    for _ in 0..1200 {
        let (user, film, month, noise) = (below(60), below(150), below(6) + 1, below(100) as f64 / 300.0);
        let stars = 1.0 + tastes[(4 * user + film % 4) as usize] + noise;
        writeln!(ratings, "u{user},f{film},2017-{month:02}-03,{stars:.2}").unwrap();
    }
    let (mut genres, mut colours) = ("film,genre\n".to_owned(), "film,colour\n".to_owned());
    for film in 0..150 {
        writeln!(genres, "f{film},g{}", film % 4).unwrap();
        writeln!(colours, "f{film},c{}", below(5)).unwrap();
    }
    folder.write("ratings.csv", ratings);
    folder.write("genres.csv", genres);
    folder.write("colours.csv", colours);
    folder
}

const FIT: &str = "fit ratings.csv --modes user,film,date:month --value stars --couple film=genres.csv,zeros \
                   --couple film=colours.csv,zeros,weight=5 --rank 6 --epochs 40 --threads 1 --quiet --out model";

#[test]
fn a_row_for_each_part_and_a_note_for_what_makes_it_worse() {
    let folder = with_tables();
    folder.run(FIT).succeeds();
    let shown = folder.run("evaluate model --ablate").succeeds();
    let rows: Vec<Vec<&str>> = shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0].join(" "), "left out RMSE difference sd the part");
    assert_eq!((rows[1][0], rows[1].len()), ("nothing", 2));
    let names: Vec<&str> = rows[2..5].iter().map(|row| row[0]).collect();
    assert_eq!(names, ["film/genres", "film/colours", "date"]);
    assert!(rows[2][2].starts_with('+') && rows[2][6..] == ["helps"], "{}", shown.stdout);
    assert!(rows[3][2].starts_with('-'), "{}", shown.stdout);
    assert_ne!(rows[4][6..], ["helps"], "{}", shown.stdout);
    let shown =
        shown.prints(&["makes it worse: leave it out", "held out      ", "mean RMSE", "offsets RMSE"]);
    shown.says(&[
        "8 trainings, on nine tenths of the entries: with everything and without each of film/genres, film/colours, date, twice",
        "note: film/colours makes predictions worse: the RMSE on held-out entries is ",
        "% less: fit without --couple film=colours.csv,zeros,weight=5\n",
    ]);
}

#[test]
fn json_has_a_line_for_each_part_and_one_at_the_end() {
    let folder = with_tables();
    folder.run(FIT).succeeds();
    let shown = folder.run("evaluate model --ablate --json").succeeds();
    let mut lines = shown.json();
    let end = lines.pop().unwrap();
    let names: Vec<&str> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["film/genres", "film/colours", "date"]);
    assert_eq!((&lines[0]["kind"], &lines[2]["kind"]), (&"matrix".into(), &"mode".into()));
    assert_eq!((&lines[0]["verdict"], &lines[0]["words"]), (&"helps".into(), &"helps".into()));
    assert_eq!(lines[1]["words"], "makes it worse: leave it out");
    let number = |of: &serde_json::Value| of.as_f64().unwrap();
    let share = number(&lines[0]["rmse"]) / number(&end["rmse"]) - 1.0;
    assert!((share - number(&lines[0]["difference"])).abs() < 1e-9);
    assert_eq!((&end["interrupted"], &end["worse"]), (&false.into(), &serde_json::json!(["film/colours"])));
    assert!(number(&end["offsets_rmse"]) > 0.0 && number(&end["mean_rmse"]) > 0.0);
    // Notes are on stderr, as they are elsewhere.
    assert_eq!(shown.stderr.lines().count(), 1, "{}", shown.stderr);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_the_rows_so_far() {
    let folder = with_tables();
    folder.run(&FIT.replace("--epochs 40", "--epochs 400")).succeeds();
    let mut command = folder.command(BINARY);
    command.args(["evaluate", "model", "--ablate", "--json"]);
    let rest = interrupted(command);
    assert!(rest.lines().last().unwrap().contains("\"interrupted\":true"), "{rest}");
}

#[test]
fn what_cannot_be_left_out() {
    let folder = Folder::with_model();
    folder.run("evaluate model --ablate --rank 3").fails(2, &["a saved model has its data and settings"]);
    folder.run("evaluate model test.tns --ablate").fails(2, &["--ablate"]);
    folder.run("evaluate ratings.tns --ablate --folds 3").fails(2, &["--ablate"]);
    folder.run("evaluate ratings.tns --ablate").fails(1, &["ratings.tns"]);
    folder.run("evaluate model --ablate").succeeds().prints(&["mode3", "nothing"]);
    folder.run("fit ratings.tns --epochs 3 --rank 2 --no-data --out bare").succeeds();
    let words = ["bare: the training data are not saved with the model", "without --no-data", "--folds"];
    folder.run("evaluate bare --ablate").fails(1, &words);
    let two: String = (0..40).map(|n| format!("{} {} {}\n", n % 8 + 1, n / 8 + 1, n % 5)).collect();
    folder.write("two.tns", two);
    folder.run("fit two.tns --epochs 3 --rank 2 --out two --quiet").succeeds();
    folder.run("evaluate two --ablate --quiet").fails(1, &["there is nothing to leave out"]);
}
