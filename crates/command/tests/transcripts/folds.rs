//! `s3cmtf evaluate --folds`.

use crate::harness::Folder;

#[test]
fn a_row_per_fold_and_what_they_have_in_common() {
    let folder = Folder::with_ratings();
    let shown = folder
        .run(
            "evaluate ratings.tns --folds 4 --modes user,item,month --couple user=friends.tns,graph \
             --rank 2 --epochs 5 --threads 1",
        )
        .succeeds();
    let rows: Vec<Vec<&str>> = shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0].join(" "), "fold entries RMSE MAE mean RMSE offsets RMSE seconds");
    let names: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(names, ["1", "2", "3", "4", "mean", "sd"]);
    let entries: Vec<&str> = rows[1..5].iter().map(|row| row[1]).collect();
    assert_eq!(entries, ["38", "38", "37", "37"]);
    let rmse = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    let mean = (1..5).map(|row| rmse(row, 2)).sum::<f64>() / 4.0;
    assert!((mean - rmse(5, 1)).abs() < 1e-3, "{}", shown.stdout);
    let offsets = (1..5).map(|row| rmse(row, 5)).sum::<f64>() / 4.0;
    assert!((offsets - rmse(5, 4)).abs() < 1e-3 && offsets < rmse(5, 3), "{}", shown.stdout);
    shown.says(&["user 12 x item 8 x month 4, 150 entries, user/friends (graph"]);
}

#[test]
fn json_has_a_line_per_fold_and_one_at_the_end() {
    let folder = Folder::with_ratings();
    let run = |flags: &str| {
        let shown = folder.run(&format!("evaluate ratings.tns --folds 3 --rank 2 --epochs 5 --json {flags}"));
        shown.succeeds().json()
    };
    let mut lines = run("");
    let end = lines.pop().unwrap();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines.iter().map(|line| line["entries"].as_u64().unwrap()).sum::<u64>(), 150);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["fold"], number + 1);
        assert!(line["mae"].as_f64().unwrap() <= line["rmse"].as_f64().unwrap());
    }
    assert_eq!(end["folds"], 3);
    for error in ["rmse", "mae", "mean_rmse", "offsets_rmse"] {
        assert!(end[error]["mean"].as_f64().unwrap() > 0.0 && end[error]["sd"].as_f64().unwrap() > 0.0);
    }
    // The seed deals the entries.
    assert_eq!(run("").pop().unwrap(), end);
    assert_ne!(run("--seed 2").pop().unwrap()["rmse"], end["rmse"]);
}

#[test]
fn folds_that_cannot_be() {
    let folder = Folder::with_model();
    for folds in ["0", "1", "151"] {
        let words = format!("folds should be from 2 to 150, the number of entries, but is {folds}");
        folder.run(&format!("evaluate ratings.tns --folds {folds}")).fails(2, &[&words]);
    }
    folder.run("evaluate ratings.tns --folds few").fails(2, &["--folds", "whole number"]);
    folder.run("evaluate ratings.tns --folds 3 --rank 0").fails(2, &["rank should be from 1"]);
    folder
        .run("evaluate ratings.tns --folds 3 --algorithm bayes --l1")
        .fails(2, &["--l1 needs --algorithm sgd"]);
    folder.run("evaluate nowhere.tns --folds 3").fails(1, &["nowhere.tns"]);
}

#[test]
fn a_model_or_folds_and_not_both() {
    let folder = Folder::with_model();
    let forms = ["evaluate <MODEL> <TENSOR>", "evaluate <TENSOR> --folds <K>"];
    folder.run("evaluate ratings.tns").fails(2, &forms);
    folder.run("evaluate model test.tns --folds 3").fails(2, &["--folds"]);
    folder
        .run("evaluate model test.tns --rank 3")
        .fails(2, &["a saved model has its data and settings", "--folds"]);
    folder.run("evaluate model test.tns --modes a,b,c").fails(2, &["--folds"]);
    folder.run("evaluate model --json test.tns --clip").succeeds();
}
