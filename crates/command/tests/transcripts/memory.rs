//! `s3cmtf fit --memory`: entries that stay on disk.

use crate::harness::Folder;

/// A tensor of which the entries would take about 20 MB in memory, as one file of 5 MB.
fn folder() -> Folder {
    let folder = Folder::new();
    folder
        .run("generate --out made --sizes 600,300,20 --entries 300000 --uncoupled --test 0.02 --seed 5")
        .succeeds();
    folder.run("convert made/tensor.tns --out made.s3cmtf --quiet").succeeds();
    folder
}

#[test]
fn little_memory_comes_to_the_same_model() {
    let folder = folder();
    // What is chosen is learnt from entries in memory alone.
    let settings = "--rank 4 --epochs 5 --seed 3 --without choice --json --quiet --test made/test.tns";
    let whole = folder.run(&format!("fit made.s3cmtf {settings} --out a --memory 2GB")).succeeds();
    // What is put aside is put beside the model, and is gone.
    let little = folder.run(&format!("fit made.s3cmtf {settings} --out b --memory 1MB")).succeeds();
    little.says(&[
        "note: --memory 1 MB: about",
        "are needed, though entries stay on disk",
        "note: in memory, entries would take 23 MB: they are read from disk instead, in order in",
    ]);
    let last = |shown: &crate::harness::Shown| shown.json().last().unwrap()["test_rmse"].clone();
    let little =
        folder.run(&format!("fit made.s3cmtf {settings} --out b --memory 1MB --scratch made")).succeeds();
    assert_eq!(last(&whole), last(&little));
    let model = |name: &str| std::fs::read(folder.path(&format!("{name}/model.safetensors"))).unwrap();
    assert!(model("a") == model("b"), "the models differ");
    assert_eq!(folder.list("."), ["a", "b", "made", "made.s3cmtf"]);
    assert_eq!(folder.list("made"), ["tensor.tns", "test.tns"]);
}

#[test]
fn the_report_has_the_data_if_they_fit() {
    let folder = folder();
    let fit = "fit made.s3cmtf --rank 4 --epochs 5 --quiet --report page.html --out model";
    let page = || std::fs::read_to_string(folder.path("page.html")).unwrap();
    let absent = "The training data are not saved with the model";
    // Less than training takes in memory, and enough to read the entries once more.
    let shown = folder.run(&format!("{fit} --memory 45MB")).succeeds();
    let shown = shown.says(&["they are read from disk instead"]);
    assert!(!shown.stderr.contains("left out of the report") && !page().contains(absent), "{}", shown.stderr);
    let shown = folder.run(&format!("{fit} --memory 32MB")).succeeds();
    shown.says(&[
        "note: --memory 32 MB: about 4",
        "to read the data again; what is about single entries is left out of the report",
    ]);
    assert!(page().contains(absent));
    // They are in the folder of the model all the same.
    folder.run("report model -o page.html").succeeds();
    assert!(!page().contains(absent));
}

#[test]
fn what_cannot_be_kept_to_is_said() {
    let folder = folder();
    folder.run("fit made.s3cmtf --memory lots").fails(2, &["--memory", "such as 800MB or 2GB"]);
    folder.run("fit made.s3cmtf --scratch made").fails(2, &["--memory"]);
    folder
        .run("fit made/tensor.tns --rank 4 --memory 20MB")
        .fails(2, &["--memory 20 MB: about 5", "entries can be left on disk", "s3cmtf convert"]);
    folder
        .run("fit made.s3cmtf --rank 4 --memory 1MB --scratch nowhere")
        .fails(1, &["nowhere: No such file"]);
    folder
        .run("fit made.s3cmtf --rank 4 --memory 1MB --algorithm sgd")
        .fails(2, &["--memory 1 MB: about", "--algorithm bayes can leave entries on disk"]);
    // The paper's "out of memory", before anything is taken.
    folder
        .run("fit made/tensor.tns --rank 4 --memory 20MB --algorithm sals")
        .fails(2, &["--memory 20 MB: about", "are needed; --algorithm bayes can leave entries on disk"]);
}
