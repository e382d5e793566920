//! Entries to train on and entries to test with.

use std::collections::HashMap;
use std::fs;

use crate::harness::Folder;

const TABLE: &str = "user,note,stars,when\na,,4.50,2005-01-01\na,\"x, y\",3,2005-01-02\na,,1,2005-01-03\n\
                     b,,2,2005-01-03\nb,,5,2005-01-04\nc,z,3.0,2005-01-05\n";

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).unwrap()
}

#[test]
fn the_latest_rows_are_tested_with_and_stay_as_they_stand() {
    let folder = Folder::new();
    folder.write("in.csv", TABLE);
    let told = folder.run("split in.csv --time when --test 0.3 --out out").succeeds();
    told.prints(&["out/train.csv  4 rows", "out/test.csv  2 rows"]);
    assert_eq!(read(&folder, "out/test.csv"), "user,note,stars,when\nb,,5,2005-01-04\nc,z,3.0,2005-01-05\n");
    assert!(TABLE.starts_with(&read(&folder, "out/train.csv")));
    folder.run("split in.csv --time 4 --after 2005-01-05 --out out").succeeds();
    assert_eq!(read(&folder, "out/test.csv"), "user,note,stars,when\nc,z,3.0,2005-01-05\n");
}

#[test]
fn some_of_each_user_are_left_out() {
    let folder = Folder::new();
    folder.write("in.csv", TABLE);
    folder.run("split in.csv --leave 2 --mode user --out out").succeeds();
    let mut counts: HashMap<char, usize> = HashMap::new();
    for line in read(&folder, "out/train.csv").lines().skip(1) {
        *counts.entry(line.chars().next().unwrap()).or_default() += 1;
    }
    assert_eq!(counts, HashMap::from([('a', 1), ('b', 1), ('c', 1)]));
    assert_eq!(read(&folder, "out/test.csv").lines().count(), 4);
}

#[test]
fn indices_are_split_at_random_by_the_seed_alone() {
    let folder = Folder::with_ratings();
    let split = |flags: &str| {
        folder.run(&format!("split ratings.tns --out out {flags}")).succeeds();
        (read(&folder, "out/train.tns"), read(&folder, "out/test.tns"))
    };
    let (train, test) = split("--test 0.2");
    assert_eq!((train.lines().count(), test.lines().count()), (120, 30));
    let mut all: Vec<&str> = train.lines().chain(test.lines()).collect();
    let text = read(&folder, "ratings.tns");
    let mut whole: Vec<&str> = text.lines().collect();
    all.sort_unstable();
    whole.sort_unstable();
    assert_eq!(all, whole);
    assert_eq!(split("--test 0.2").1, test);
    assert_ne!(split("--test 0.2 --seed 2").1, test);
    folder.run("fit out/train.tns --rank 2 --epochs 2 --test out/test.tns --quiet").succeeds();
    assert!(split("--time 3 --test 0.25").1.lines().all(|line| line.split(' ').nth(2) == Some("4")));
}

#[test]
fn tables_of_types_keep_them() {
    let folder = Folder::new();
    folder.write("in.csv", "user,film,stars\na,x,4.5\na,y,3\nb,x,1\nb,y,2\n");
    folder.run("split in.csv --test 0.5 --to parquet --out one").succeeds();
    folder
        .run("split one/train.parquet --test 0.5 --out two")
        .succeeds()
        .prints(&["two/test.parquet  1 rows"]);
    folder.run("split two/train.parquet --out three").fails(1, &["one entry cannot be split"]);
    folder
        .run("fit one/train.parquet --modes user,film --value stars --rank 2 --epochs 2 --quiet")
        .succeeds();
}

#[test]
fn several_files_are_one_table() {
    let folder = Folder::new();
    folder.write("part-1.csv", "user,film,stars\na,x,4.50\na,y,3\n");
    folder.write("part-2.csv", "user,film,stars\nb,x,1\nb,y,2\n");
    folder
        .run("split part-*.csv --leave 1 --mode user --out out")
        .succeeds()
        .prints(&["out/test.csv  2 rows"]);
    let (train, test) = (read(&folder, "out/train.csv"), read(&folder, "out/test.csv"));
    assert!(train.starts_with("user,film,stars\na,") && test.starts_with("user,film,stars\na,"));
    assert_eq!(train.lines().count() + test.lines().count(), 6);
    // The same seed and rows: what files they stand in does not matter.
    folder.write("all.csv", "user,film,stars\na,x,4.50\na,y,3\nb,x,1\nb,y,2\n");
    folder.run("split all.csv --leave 1 --mode user --out one").succeeds();
    assert_eq!(read(&folder, "one/test.csv"), test);
    // Columns in another order are put together by name.
    folder.write("part-2.csv", "stars;film;user\n1;x;b\n2;y;b\n");
    folder.run("split part-1.csv part-2.csv --leave 1 --mode user --out two").succeeds();
    assert_eq!(read(&folder, "two/test.csv"), test);
    folder.run("split no-*.csv --out out").fails(1, &["no-*.csv: matches no file"]);
}

#[test]
fn every_format_that_is_read_is_split() {
    let folder = Folder::new();
    let mtx = "%%MatrixMarket matrix coordinate real general\n4 3 4\n1 1 4.5\n1 2 3\n2 1 1\n2 3 2\n";
    folder.write("in.mtx", mtx);
    folder.run("split in.mtx --test 0.5 --out mtx").succeeds().prints(&["mtx/test.parquet  2 rows"]);
    folder.run("split in.mtx --test 0.5 --to csv --out text").succeeds();
    let rows = format!("{}{}", read(&folder, "text/train.csv"), read(&folder, "text/test.csv"));
    for row in ["row,column,value\n", "1,1,4.5\n", "1,2,3\n", "2,1,1\n", "2,3,2\n"] {
        assert!(rows.contains(row), "{row} {rows}");
    }
    // A table that the command writes itself, as .npz.
    folder.write("in.csv", "user,film,stars\na,x,4.5\na,y,3\nb,x,1\nb,y,2\n");
    folder.run("fit in.csv --rank 1 --epochs 2 --quiet --out model").succeeds();
    folder.run("predict model in.csv --out in.npz").succeeds();
    let split = folder.run("split in.npz --leave 1 --mode user --to csv --out npz").succeeds();
    split.prints(&["npz/train.csv  2 rows", "npz/test.csv  2 rows"]);
    assert!(read(&folder, "npz/test.csv").starts_with("user,film,predicted_stars\na,"));
    folder.run("convert in.csv --out in.s3cmtf").succeeds();
    folder.run("split in.s3cmtf --out x").fails(2, &["in.s3cmtf: is a whole problem, which is not split"]);
}

#[test]
fn what_cannot_be_split_is_said() {
    let folder = Folder::with_ratings();
    folder.write("in.csv", TABLE);
    let split = |flags: &str| folder.run(&format!("split in.csv --out out {flags}"));
    split("--test 1.5").fails(2, &["--test should be a share between 0 and 1"]);
    split("--leave 2").fails(2, &["--mode"]);
    split("--leave 0 --mode user").fails(2, &["--leave should be 1 or more"]);
    split("--leave 1 --mode user --test 0.1").fails(2, &["cannot be used with"]);
    split("--after 2005-01-01").fails(2, &["--time"]);
    split("--time when --after soon").fails(2, &["--after should be a time"]);
    split("--time user").fails(1, &["in.csv:2:", "\"a\""]);
    split("--time whn").fails(1, &["has no column \"whn\"", "when"]);
    split("--time when --after 2010-01-01").fails(1, &["none of the 6 rows"]);
    folder.run("split ratings.tns --to csv --out out").fails(2, &["--to is for tables"]);
    folder.run("split nothing.csv --out out").fails(1, &["nothing.csv"]);
    folder.run("split - --out out").fails(1, &["cannot be read twice"]);
    assert!(!folder.path("out").exists());
}

#[test]
fn fit_holds_out_the_latest() {
    let folder = Folder::with_ratings();
    let fit = |flags: &str| {
        folder.run(&format!("fit ratings.tns --modes user,item,month --rank 2 --epochs 2 --json {flags}"))
    };
    fit("--holdout-last month --holdout 0.25 --out model").succeeds();
    let run: serde_json::Value = serde_json::from_str(&read(&folder, "model/run.json")).unwrap();
    let text = read(&folder, "ratings.tns");
    let latest = text.lines().filter(|line| line.split(' ').nth(2) == Some("4")).count();
    assert_eq!(run["data"]["test_entries"], latest);
    fit("--holdout-last year").fails(2, &["--holdout-last year: there is no mode year", "user, item, month"]);
}

#[test]
fn fit_holds_out_some_of_each_user() {
    let folder = Folder::with_ratings();
    let fit = |flags: &str| {
        folder.run(&format!("fit ratings.tns --modes user,item,month --rank 2 --epochs 2 --json {flags}"))
    };
    let text = read(&folder, "ratings.tns");
    let mut counts: HashMap<&str, usize> = HashMap::new();
    text.lines().for_each(|line| *counts.entry(line.split(' ').next().unwrap()).or_default() += 1);
    for (flags, each) in [("user=3", 3), ("1=20", 20)] {
        fit(&format!("--holdout-leave {flags} --out model")).succeeds();
        let run: serde_json::Value = serde_json::from_str(&read(&folder, "model/run.json")).unwrap();
        let expected: usize = counts.values().map(|&count| each.min(count - 1)).sum();
        assert_eq!(run["data"]["test_entries"], expected);
    }
    for wrong in ["user", "user=0", "=2", "user=x"] {
        let shown = fit(&format!("--holdout-leave {wrong}"));
        shown.fails(2, &[&format!("'{wrong}'"), "a mode and a whole number, 1 or more, such as user=2"]);
    }
    fit("--holdout-leave year=1").fails(
        2,
        &["--holdout-leave year=1: there is no mode year (the modes are user, item, month, or 1 to 3)"],
    );
    fit("--holdout-leave user=1 --holdout 0.1").fails(2, &["cannot be used with"]);
    fit("--holdout-leave user=1 --holdout-last month").fails(2, &["cannot be used with"]);
}
