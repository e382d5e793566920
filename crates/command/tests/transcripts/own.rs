//! Data that are the model's own and those that are not: other data in its folder, training entries in a test.

use std::fs;

use crate::harness::Folder;

#[test]
fn data_of_another_run_in_the_folder_are_left_alone() {
    let folder = Folder::with_model();
    // The same modes and sizes, and other values.
    let text = fs::read_to_string(folder.path("ratings.tns")).unwrap();
    folder.write("other.tns", text.replace(" 5\n", " 4\n"));
    folder.run("fit other.tns --rank 2 --epochs 3 --out other").succeeds();
    let said = "model: its data.s3cmtf is not what was saved with the model, and is left alone";
    let about = |verb: &str| folder.run(verb).stderr.contains(said);
    let verbs = [
        "evaluate model test.tns",
        "report model -o page.html",
        "recommend model --for mode1=1 --mode mode2",
        "clusters model --mode mode1",
        "update model test.tns --out later",
    ];
    assert!(!verbs.iter().any(|verb| about(verb)));
    let own = fs::read(folder.path("model/data.s3cmtf")).unwrap();
    fs::copy(folder.path("other/data.s3cmtf"), folder.path("model/data.s3cmtf")).unwrap();
    for verb in verbs {
        assert!(about(verb), "{verb}");
    }
    folder.write("model/data.s3cmtf", own);
    assert!(!about(verbs[0]));
    // What update has saved is its own again.
    folder.run("update model test.tns --out later").succeeds();
    assert!(!folder.run("evaluate later test.tns").succeeds().stderr.contains("is left alone"));
}

#[test]
fn training_entries_in_a_test_are_counted() {
    let folder = Folder::with_ratings();
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    let some: String = read("ratings.tns").lines().take(7).map(|line| format!("{line}\n")).collect();
    folder.write("mixed.tns", read("test.tns") + &some);
    let fit = "fit ratings.tns --rank 2 --epochs 3 --quiet --out model --test";
    let said = "mixed.tns: 7 of 47 test entries are also training entries: errors on them are too optimistic";
    folder.run(&format!("{fit} mixed.tns")).succeeds().says(&[said]);
    folder.run("evaluate model mixed.tns").succeeds().says(&[said]);
    folder
        .run(&format!("{fit} ratings.tns"))
        .succeeds()
        .says(&["ratings.tns: all test entries are also training"]);
    assert!(!folder.run(&format!("{fit} test.tns")).succeeds().stderr.contains("training entries"));
    folder.run("convert ratings.tns --out r.s3cmtf --quiet").succeeds();
    let stored = "fit r.s3cmtf --rank 2 --epochs 3 --quiet --memory 1MB --test mixed.tns";
    folder.run(stored).succeeds().says(&["from disk instead", said]);
}

#[test]
fn rows_in_another_order_are_not_resumed() {
    let folder = Folder::with_ratings();
    let sgd = "--algorithm sgd --deterministic --epochs 20000 --rank 2 --quiet";
    let fit = format!("fit ratings.tns {sgd} --checkpoint-every 0.001s --out model");
    let mut child = folder.command(crate::harness::BINARY).args(fit.split_whitespace()).spawn().unwrap();
    while !folder.path("model/checkpoint.safetensors").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = fs::read_to_string(folder.path("ratings.tns")).unwrap();
    folder.write("turned.tns", text.lines().rev().map(|line| format!("{line}\n")).collect::<String>());
    folder.run("fit turned.tns --resume model").fails(1, &["had its entries in another order"]);
    folder.run("fit ratings.tns --quiet --resume model").succeeds();
}
