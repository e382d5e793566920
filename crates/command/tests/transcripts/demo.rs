//! `s3cmtf demo`.

use crate::harness::Folder;

/// The last number of the line that has these words.
fn number(text: &str, words: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(words)).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn the_demo_shows_that_coupling_helps() {
    let folder = Folder::with_ratings();
    folder.run("fit ratings.tns --rank 2 --epochs 1 --quiet --out there").succeeds();
    let before = folder.list("");
    // With the settings that it has by itself, tests/readme.py runs it.
    let shown = folder.run("demo --seed 2 --threads 1 --out there").succeeds();
    let mean = number(&shown.stdout, "the mean rating");
    let offsets = number(&shown.stdout, "an offset per user");
    let plain = number(&shown.stdout, "the tensor alone");
    let coupled = number(&shown.stdout, "the tensor and its coupled matrices");
    let noise = number(&shown.stdout, "the noise");
    assert!(noise < coupled && coupled < plain && plain < offsets && offsets < mean, "{}", shown.stdout);
    shown.prints(&["planted groups recovered (adjusted Rand index)", "(because of ", "there/report.html"]);
    assert!(folder.list("there").contains(&"report.html".to_owned()));
    // It is in the place of the model that was there, and leaves nothing else.
    let words = std::fs::read_to_string(folder.path("there/run.json")).unwrap();
    assert!(words.contains("s3cmtf demo --seed 2"), "{words}");
    assert_eq!(folder.list(""), before);
    folder.run("demo --threads 5000").fails(2, &["threads should be", "5000"]);
}
