//! `s3cmtf tune`.

use std::fmt::Write as _;

#[cfg(unix)]
use crate::harness::interrupted;
use crate::harness::{BINARY, Folder, Shown};

/// A folder with `matrix.tns`, of rank 2 and a constant.
fn with_matrix() -> Folder {
    let folder = Folder::new();
    let mut lines = String::new();
    for row in 1..=30u32 {
        for column in (1..=20u32).filter(|column| (row * 7 + column * 3) % 5 < 4) {
            let wave = |by: f32, at: u32| (by * at as f32).sin();
            let value = 3.0 + wave(1.3, row) * wave(2.1, column) + wave(0.7, row) * wave(1.7, column);
            writeln!(lines, "{row} {column} {value:.4}").unwrap();
        }
    }
    folder.write("matrix.tns", lines);
    folder
}

/// A search among a few settings, to its end.
const SEARCH: &str = "tune matrix.tns --rank 2 --epochs 12 --threads 1 --budget 3600";

#[test]
fn the_table_marks_the_best_and_the_line_below_fits_it() {
    let folder = with_matrix();
    let shown = folder.run(&format!("{SEARCH} --algorithm bayes")).succeeds();
    let shown =
        shown.prints(&["tried, 0 skipped in ", "nothing is left to try", "better than the baseline by "]);
    let rows: Vec<Vec<&str>> = shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["algorithm", "rank", "epochs", "lambda-reg", "RMSE", "difference", "seconds"]);
    assert_eq!((rows[1][..5].to_vec(), rows[1][6]), (vec!["*", "bayes", "2", "12", "-"], "baseline"));
    let best = rows.iter().rfind(|row| row.first() == Some(&"*")).unwrap();
    assert!(best[2].parse::<usize>().unwrap() > 2 && best[6].starts_with('-'), "{}", shown.stdout);
    let simple = |name: &str| {
        let row = shown.stdout.lines().find_map(|line| line.strip_prefix(name));
        row.unwrap().trim().parse::<f64>().unwrap()
    };
    assert!(
        simple("offsets RMSE") > best[5].parse().unwrap() && simple("mean RMSE") > 0.0,
        "{}",
        shown.stdout
    );
    let line = shown.stdout.lines().last().unwrap().strip_prefix("next").unwrap().trim();
    assert_eq!(line, format!("s3cmtf fit matrix.tns --rank {} --epochs 12 --threads 1", best[2]));
    // The same holdout has the same RMSE.
    let arguments = line.split_whitespace().skip(1).chain(["--holdout", "0.1"]);
    let fit = Shown::from(folder.command(BINARY).args(arguments).output().unwrap()).succeeds();
    let reached = fit.stdout.lines().find_map(|line| line.strip_prefix("test RMSE")).unwrap().trim();
    let (reached, told): (f64, f64) = (reached.parse().unwrap(), best[5].parse().unwrap());
    assert!((reached - told).abs() < 1e-3 * told, "{reached} {told}");
}

#[test]
fn json_has_a_line_for_each_of_the_settings_and_one_at_the_end() {
    let shown = with_matrix().run(&format!("{SEARCH} --json")).succeeds();
    assert_eq!(shown.stderr, "");
    let mut lines = shown.json();
    let end = lines.pop().unwrap();
    assert_eq!(lines[0]["params"]["ranks"][0], 2);
    assert_eq!(lines[0]["difference"], 0.0);
    assert_eq!((&end["end"], &end["better"]), (&"searched".into(), &true.into()));
    assert_eq!(end["trials"], lines.len());
    let has = |algorithm: &str| lines.iter().any(|line| line["params"]["algorithm"] == algorithm);
    assert!(has("bayes") && has("sgd"));
    let least = lines.iter().map(|line| line["rmse"].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    assert_eq!(end["rmse"], least);
    assert!(end["offsets_rmse"].as_f64().unwrap() > least && end["mean_rmse"].is_number());
    assert!(lines.iter().any(|line| line["params"] == end["params"]));
    assert!(end["command"].as_str().unwrap().starts_with("s3cmtf fit matrix.tns "));
}

#[test]
fn a_budget_for_the_baseline_alone_recommends_it() {
    let folder = Folder::with_ratings();
    let couple = "--modes user,item,month --couple user=friends.tns,graph";
    let shown = folder.run(&format!("tune ratings.tns {couple} --epochs 3 --budget 0.000001")).succeeds();
    let shown = shown.prints(&[
        "lambda-couple",
        "1 tried, 0 skipped in ",
        "the rest would take more than is left",
        "15 of 150 entries",
        "the baseline, as nothing else was tried",
        &format!("s3cmtf fit ratings.tns {couple} --epochs 3\n"),
    ]);
    assert_eq!(shown.stdout.matches("\n*  ").count(), 1);
    shown.says(&["user 12 x item 8 x month 4, 150 entries"]);
}

/// A folder with `stars.csv`, where tastes change with the year and nothing with the day, and `friends.csv`, who have nothing in
/// common.
fn with_years() -> Folder {
    let folder = Folder::new();
    let mut state = 3u64;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut lines = "user,item,date,stars\n".to_owned();
    for _ in 0..1500 {
        let [user, item, year, month, day] = [40, 30, 4, 12, 28].map(&mut below);
        let taste = ((user * 7 + year * 13) as f64 * 0.7).sin() * ((item * 5) as f64).sin();
        let stars = 3.0 + 1.5 * taste + below(100) as f64 / 400.0;
        writeln!(lines, "u{user},i{item},{}-{:02}-{:02},{stars:.2}", 2014 + year, month + 1, day + 1)
            .unwrap();
    }
    folder.write("stars.csv", lines);
    let mut lines = "user,friend\n".to_owned();
    (0..300).for_each(|_| writeln!(lines, "u{},u{}", below(40), below(40)).unwrap());
    folder.write("friends.csv", lines);
    folder
}

const YEARS: &str = "tune stars.csv --value stars --algorithm bayes --rank 6 --epochs 30 --threads 1 --budget 3600 \
                     --quiet";

#[test]
fn a_matrix_that_does_harm_is_changed_in_the_line() {
    let folder = with_years();
    let search = format!("{YEARS} --modes user,item,date:year --couple user=friends.csv,graph,weight=1000");
    let shown = folder.run(&search).succeeds();
    let shown = shown.prints(&["change\n", "without user/friends\n", "user/friends without a weight\n"]);
    let line = shown.stdout.lines().last().unwrap().strip_prefix("next").unwrap().trim();
    assert!(!line.contains("weight=1000"), "{}", shown.stdout);
    let lines = folder.run(&format!("{search} --json")).succeeds().json();
    let end = lines.last().unwrap();
    assert_eq!((&end["better"], &end["changes"][0]["name"]), (&true.into(), &"user/friends".into()));
    assert_eq!(end["command"], line);
}

#[test]
fn days_that_are_too_short_become_years_in_the_line() {
    let folder = with_years();
    let search = format!("{YEARS} --modes user,item,when=date:day");
    let shown =
        folder.run(&search).succeeds().prints(&["when by week\n", "when by month\n", "when by year\n"]);
    let line = "next          s3cmtf fit stars.csv --modes user,item,when=date:year --value stars ";
    assert!(shown.stdout.lines().last().unwrap().starts_with(line), "{}", shown.stdout);
    // A sum over a year is not one over a day.
    let shown = folder.run(&format!("{search} --duplicates sum")).succeeds();
    assert!(!shown.stdout.contains("by year"), "{}", shown.stdout);
}

#[test]
fn noise_is_no_reason_to_leave_the_baseline() {
    let folder = Folder::new();
    // Values that no index explains; a product alone would be explained by sines of both.
    let mix = |n: u32, by: u32| (n ^ n >> 15).wrapping_mul(by);
    let value = |n: u32| mix(mix(n + 1, 2_654_435_761), 2_246_822_519) >> 16 & 127;
    let lines: String =
        (0..200u32).map(|n| format!("{} {} {}\n", n % 20 + 1, n / 20 + 1, value(n))).collect();
    folder.write("noise.tns", lines);
    let search = "tune noise.tns --algorithm bayes --epochs 10 --threads 1 --budget 3600 --quiet";
    let shown = folder.run(search).succeeds();
    // That offsets do as well may be said, and is true.
    assert!(shown.stderr.lines().all(|line| line.contains("that of offsets alone")), "{}", shown.stderr);
    shown.prints(&["the baseline: nothing is better by more than noise", "s3cmtf fit noise.tns --epochs 10"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_the_table_so_far() {
    let folder = with_matrix();
    let search = "tune matrix.tns --rank 2 --epochs 3000 --threads 1 --budget 3600 --json";
    let mut command = folder.command(BINARY);
    command.args(search.split(' '));
    let rest = interrupted(command);
    let end = rest.lines().last().unwrap();
    assert!(end.contains("\"end\":\"interrupted\"") && end.contains("\"command\":\"s3cmtf fit"), "{rest}");
}

#[test]
fn what_cannot_be_searched() {
    let folder = Folder::with_ratings();
    for budget in ["0", "-1", "nan", "inf", "1e300"] {
        folder.run(&format!("tune ratings.tns --budget {budget}")).fails(2, &["--budget"]);
    }
    folder.run("tune ratings.tns --rank 2 --epochs 2 --budget 0.01m --quiet").succeeds();
    for share in ["0", "1", "nan"] {
        folder.run(&format!("tune ratings.tns --holdout {share}")).fails(2, &["--holdout should be a share"]);
    }
    folder.run("tune").fails(2, &["<TENSOR>"]);
    folder.run("tune ratings.tns --rank 0").fails(2, &["rank should be from 1 to 1024"]);
    folder.run("tune ratings.tns --algorithm bayes --l1").fails(2, &["--l1 needs --algorithm sgd"]);
    folder.run("tune ratings.tns --out model").fails(2, &["--out"]);
    folder.run("tune nowhere.tns").fails(1, &["nowhere.tns"]);
    folder.write("one.tns", "1 1 1 5\n");
    folder.run("tune one.tns --quiet").fails(1, &["one entry cannot be split"]);
}
