//! `s3cmtf report` and `fit --report`.

use std::fs;

use serde_json::Value;

use crate::harness::Folder;

const DATA: &str = "model/data.s3cmtf";

/// A small model with the data that it was trained on in its folder, or without.
fn with_model(data: bool) -> Folder {
    let folder = Folder::with_model();
    let _ = fs::remove_file(folder.path(DATA));
    if data {
        folder.run(&format!("convert ratings.tns --out {DATA}")).succeeds();
    }
    folder
}

#[test]
fn a_model_becomes_one_page() {
    let folder = with_model(true);
    let shown = folder.run("report model -o page.html").succeeds();
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    let kilobytes = page.len().div_ceil(1000);
    assert_eq!(shown.stdout, format!("report  page.html\nsize    {kilobytes} kB\n"));
    assert_eq!(shown.stderr, "");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{}", &page[..80]);
    assert!(page.contains("s3cmtf fit ratings.tns --rank 2 --epochs 3 --out model"));
    // Again over the old one, and the same.
    folder.run("report model --out page.html").succeeds();
    assert_eq!(fs::read_to_string(folder.path("page.html")).unwrap(), page);
}

#[test]
fn the_command_line_of_a_run_is_in_its_record() {
    let folder = with_model(true);
    let command = |model: &str| {
        let record = fs::read(folder.path(model).join("run.json")).unwrap();
        serde_json::from_slice::<Value>(&record).unwrap()["command"].as_str().map(str::to_owned)
    };
    let fitted = "s3cmtf fit ratings.tns --rank 2 --epochs 3 --out model";
    assert_eq!(command("model").as_deref(), Some(fitted));
    folder.run("update model test.tns --out more").succeeds();
    assert_eq!(command("more"), Some(format!("{fitted} && s3cmtf update model test.tns --out more")));
    // One that was saved before there was such a line: the page has what does the same.
    let path = folder.path("model/run.json");
    let text = fs::read_to_string(&path).unwrap();
    let old: Vec<&str> = text.lines().filter(|line| !line.contains("\"command\"")).collect();
    fs::write(&path, old.join("\n")).unwrap();
    folder.run("report model -o page.html").succeeds();
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("s3cmtf fit model/data.s3cmtf --rank 2 --epochs 3"));
    folder.run("update model test.tns --out more").succeeds();
    assert_eq!(command("more").as_deref(), Some("s3cmtf update model test.tns --out more"));
}

#[test]
fn without_the_data_a_note_says_what_is_left_out() {
    let folder = with_model(false);
    let shown = folder.run("report model -o page.html").succeeds();
    assert_eq!(shown.stderr, "note: model: no data.s3cmtf in it; what is about single entries is left out\n");
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains(
        "The training data are not saved with the model, so how single predictions err is unknown."
    ));
}

#[test]
fn what_cannot_be_read_or_written_is_told() {
    let folder = with_model(true);
    let says = |arguments: &str, code: i32, error: &str| {
        let shown = folder.run(arguments).fails(code, &[]);
        assert_eq!(shown.stderr, error);
    };
    says(
        "report nowhere -o page.html",
        1,
        "error: nowhere: there is no such folder, did you mean model? (a model is a folder with a model.safetensors in it)\n",
    );
    says(
        "report ratings.tns -o page.html",
        1,
        "error: ratings.tns: is a file, but a model is a folder with a model.safetensors in it\n",
    );
    says("report model -o model", 1, "error: model: is a folder, but a file is to be written\n");
    says("report model -o no/page.html", 1, "error: no: does not exist: create this folder first\n");
    folder.run("report model").fails(2, &["--out <FILE>"]);
    folder.write(DATA, "no problem");
    folder.run("report model -o page.html").fails(1, &["error: model/data.s3cmtf: "]);
    assert!(!folder.path("page.html").exists());
}

#[test]
fn fit_writes_the_page_of_its_run() {
    let folder = Folder::with_ratings();
    folder
        .run("fit ratings.tns --rank 2 --epochs 3 --test test.tns --quiet --report page.html")
        .succeeds()
        .prints(&["train RMSE"]);
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(
        page.contains(
            "s3cmtf fit ratings.tns --rank 2 --epochs 3 --test test.tns --quiet --report page.html"
        )
    );
    assert!(page.contains("test RMSE") && !page.contains("The training data are not saved with the model"));
    // Nothing else is left behind; neither where the model is saved without the data.
    let before = ["friends.tns", "genres.tns", "page.html", "ratings.tns", "test.tns"];
    assert_eq!(folder.list("."), before);
    folder.run("fit ratings.tns --rank 2 --quiet --no-data --out bare --report page.html").succeeds();
    assert_eq!(folder.list("bare"), ["model.safetensors", "run.json"]);
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(!page.contains("The training data are not saved with the model"));
    // Told before the run, not after it.
    let shown = folder.run("fit ratings.tns --rank 2 --epochs 3 --report no/page.html").fails(1, &[]);
    assert_eq!(shown.stderr, "error: no: does not exist: create this folder first\n");
}
