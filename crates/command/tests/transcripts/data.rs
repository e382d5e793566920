//! Files that cannot be used, and files that can although they look different.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::harness::Folder;

/// What `fit` says of a tensor with these contents.
#[track_caller]
fn tensor_fails(contents: &str, words: &[&str]) {
    let folder = Folder::new();
    folder.write("bad.tns", contents);
    folder.run("fit bad.tns --rank 2").fails(1, words);
}

/// What `fit` says of a matrix with these contents that is coupled to the first mode.
#[track_caller]
fn matrix_fails(contents: &str, options: &str, words: &[&str]) {
    let folder = Folder::with_ratings();
    folder.write("bad.tns", contents);
    folder.run(&format!("fit ratings.tns --rank 2 --couple 1=bad.tns{options}")).fails(1, words);
}

#[test]
fn a_file_that_is_not_there() {
    Folder::new().run("fit nowhere.tns").fails(1, &["nowhere.tns", "No such file"]);
}

#[test]
fn a_folder_in_place_of_a_file() {
    let folder = Folder::with_ratings();
    fs::create_dir(folder.path("sub")).unwrap();
    folder.run("fit sub").fails(1, &["sub"]);
    folder.run("fit ratings.tns --couple 1=sub").fails(1, &["sub"]);
    folder.run("fit ratings.tns --test sub").fails(1, &["sub"]);
}

#[cfg(unix)]
#[test]
fn a_file_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_ratings();
    let path = folder.path("ratings.tns");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser reads it all the same.
    if fs::read(&path).is_err() {
        folder.run("fit ratings.tns").fails(1, &["ratings.tns", "denied"]);
    }
}

#[test]
fn files_without_entries() {
    tensor_fails("", &["bad.tns"]);
    tensor_fails("# only a comment\n\n", &["bad.tns"]);
    matrix_fails("", "", &["bad.tns"]);
}

#[test]
fn wrong_numbers_of_columns() {
    tensor_fails("1 1 1 5\n1 2 5\n", &["bad.tns:2:"]);
    tensor_fails("1 1 5\n1 2 3 5\n", &["bad.tns:2:"]);
    tensor_fails("5\n", &["bad.tns"]);
    tensor_fails("1 5\n", &["bad.tns"]);
    matrix_fails("1 1 1 1\n", "", &["bad.tns:1:"]);
    matrix_fails("1 1\n", "", &["bad.tns:1:"]);
}

#[test]
fn indices_that_are_not_counted_from_1() {
    tensor_fails("1 1 1 5\n\n0 1 1 5\n", &["bad.tns:3:", "0"]);
    tensor_fails("1 -1 1 5\n", &["bad.tns:1:", "-1"]);
    tensor_fails("1.5 1 1 5\n", &["bad.tns:1:", "1.5"]);
    tensor_fails("1 1 99999999999 5\n", &["bad.tns:1:", "99999999999"]);
    matrix_fails("1 0 1\n", "", &["bad.tns:1:", "0"]);
}

#[test]
fn values_that_are_no_finite_numbers() {
    for value in ["nan", "NaN", "inf", "-inf", "1e39", "five", "0x10"] {
        tensor_fails(&format!("1 1 1 5\n2 1 1 {value}\n"), &["bad.tns:2:"]);
    }
    matrix_fails("1 1 nan\n", ",zeros", &["bad.tns:1:"]);
}

#[test]
fn bytes_that_are_not_text() {
    let folder = Folder::new();
    folder.write("bad.tns", [0xff, 0xfe, 0x00, 0x31]);
    folder.run("fit bad.tns").fails(1, &["bad.tns"]);
    folder.write("cut.tns.gz", [0x1f, 0x8b, 0x08, 0x00]);
    folder.run("fit cut.tns.gz").fails(1, &["cut.tns.gz"]);
}

#[test]
fn an_index_beyond_the_declared_size() {
    let folder = Folder::new();
    folder.write("x.tns", "# user item month value\n1 1 1 5\n\n1 7 1 5\n");
    folder
        .run("fit x.tns --modes user,item,month --sizes 3,6,2")
        .fails(1, &["x.tns:4: index 7 of mode 2 (item) is beyond its declared size 6"]);
}

#[test]
fn a_matrix_whose_rows_do_not_fit_its_mode() {
    matrix_fails("1 1 1\n500 1 1\n", "", &["bad.tns:2: row 500 does not fit mode 1 (mode1)", "12 rows"]);
    matrix_fails("1 500 1\n", ",graph", &["bad.tns:1: row 500 does not fit mode 1"]);
}

#[test]
fn a_graph_with_a_negative_weight() {
    matrix_fails("1 2 1\n2 3 -1\n", ",graph", &["bad.tns:2:", "-1"]);
}

#[test]
fn a_graph_that_connects_nothing() {
    matrix_fails("1 1 1\n", ",graph", &["bad.tns", "connects no two different rows"]);
}

#[test]
fn a_test_set_that_does_not_fit() {
    let folder = Folder::with_ratings();
    folder.write("wrong.tns", "1 1 5\n");
    folder.run("fit ratings.tns --rank 2 --test wrong.tns").fails(1, &["wrong.tns:1:"]);
    folder.write("far.tns", "1 1 1 5\n1 1 900 5\n");
    folder.run("fit ratings.tns --rank 2 --quiet --test far.tns").fails(1, &["far.tns:2:", "900"]);
}

#[test]
fn a_test_set_with_unknown_ids_is_noted() {
    let folder = Folder::with_ratings();
    folder.write("late.tns", "1 1 1 5\n13 1 1 5\n");
    folder.run("fit ratings.tns --rank 2 --epochs 2 --test late.tns").succeeds().says(&[
        "note: late.tns: 1 of 2 entries have an id that is not in the model (mode1 13); the average entity is used",
    ]);
}

#[test]
fn duplicate_entries_are_noted() {
    let folder = Folder::new();
    folder.write("twice.tns", "1 1 1 5\n1 1 1 3\n1 2 1 4\n2 1 2 1\n");
    folder
        .run("fit twice.tns --rank 1 --epochs 2")
        .succeeds()
        .says(&["note: twice.tns: 1 duplicate entry was merged into the mean of the values"]);
}

#[test]
fn gzip_comments_tabs_and_windows_line_ends_are_read() {
    let folder = Folder::with_ratings();
    let plain = folder.run("fit ratings.tns --rank 2 --epochs 2 --threads 1 --json").succeeds();
    let text = fs::read_to_string(folder.path("ratings.tns")).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    folder.write("same.tns.gz", gzip.finish().unwrap());
    folder.write("same.tns", format!("# ratings\r\n\r\n{}", text.replace(' ', "\t").replace('\n', "\r\n")));
    let end = plain.json().pop().unwrap()["train_rmse"].as_f64().unwrap();
    for file in ["same.tns.gz", "same.tns"] {
        let shown = folder.run(&format!("fit {file} --rank 2 --epochs 2 --threads 1 --json")).succeeds();
        assert_eq!(shown.json().pop().unwrap()["train_rmse"].as_f64().unwrap(), end, "{file}");
    }
}
