//! `s3cmtf convert`, and the file that it writes in the place of others.

use crate::harness::Folder;

const DATA: &str = "--modes user,song,time=when:month --value times --couple song=songs.csv,zeros";

/// Plays of songs, and what kind the songs are.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut plays = String::from("user,song,times,when\n");
    for place in 0..60 {
        let (user, song) = (place % 7, place / 7);
        plays += &format!("u{user},\"song, {song}\",{},2020-{:02}-05\n", 1 + place % 4, 1 + place % 12);
    }
    folder.write("plays.csv", plays + "u0,\"song, 0\",9,2020-01-07\n");
    folder.write("songs.csv", "song,kind\n\"song, 1\",slow\n\"song, 8\",fast\n\"song, 99\",slow\n");
    folder
}

#[test]
fn a_converted_file_is_the_same_problem_for_every_verb() {
    let folder = folder();
    let shown = folder.run(&format!("convert plays.csv {DATA} --out plays.s3cmtf")).succeeds();
    shown
        .says(&["1 duplicate entry was merged into the mean", "1 song ids have no entry in the tensor"])
        .prints(&["user 7 x song 10 x time 12, 60 entries, song/songs (zeros, 3 entries)", "plays.s3cmtf"]);
    let settings = "--rank 2 --epochs 4 --seed 3 --json --quiet";
    let direct = folder.run(&format!("fit plays.csv {DATA} {settings} --out a")).succeeds().json();
    let kept = folder.run(&format!("fit plays.s3cmtf {settings} --out b")).succeeds().json();
    assert_eq!(direct.last().unwrap()["train_rmse"], kept.last().unwrap()["train_rmse"]);
    let model = |name: &str| std::fs::read(folder.path(&format!("{name}/model.safetensors"))).unwrap();
    assert!(model("a") == model("b"), "the models differ");
    folder.run("predict b plays.csv").succeeds().prints(&["user,song,when,predicted_times"]);
    folder.run("evaluate plays.s3cmtf --folds 3 --rank 2 --epochs 3 --quiet").succeeds().prints(&["mean"]);
    folder.run("tune plays.s3cmtf --budget 1 --quiet").succeeds();
    folder.run("check plays.s3cmtf").succeeds().prints(&["60", "user", "song", "time"]);
}

#[test]
fn what_a_converted_file_has_said_is_not_said_again() {
    let folder = folder();
    folder.run(&format!("convert plays.csv {DATA} --out plays.s3cmtf --quiet")).succeeds().prints(&[]);
    for flag in ["--modes a,b,c", "--value x", "--sizes 1,2,3", "--couple song=songs.csv", "--format csv"] {
        let name = flag.split(' ').next().unwrap();
        folder.run(&format!("fit plays.s3cmtf {flag}")).fails(2, &["plays.s3cmtf: is a whole problem", name]);
    }
    folder.run("fit plays.s3cmtf plays.csv").fails(2, &["cannot be put together with other files"]);
}

#[test]
fn damaged_files_and_bad_places_are_refused() {
    let folder = folder();
    folder.run(&format!("convert plays.csv {DATA} --out plays.s3cmtf")).succeeds();
    let bytes = std::fs::read(folder.path("plays.s3cmtf")).unwrap();
    folder.write("cut", &bytes[..bytes.len() - 7]);
    folder.run("fit cut").fails(1, &["cut: is cut off or damaged"]);
    let mut changed = bytes.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    folder.write("changed", changed);
    folder.run("fit changed").fails(1, &["changed: is damaged"]);
    folder.run("convert plays.csv --modes user,song --out none/x").fails(1, &["none", "does not exist"]);
    folder.run("convert plays.csv --modes user,song --out .").fails(1, &["is a folder"]);
    folder.run("convert plays.csv --modes user,sogn --out x").fails(1, &["did you mean \"song\""]);
    assert!(!folder.path("x").exists());
}

#[test]
fn a_heading_gives_no_orders_to_whoever_reads_along() {
    let folder = Folder::new();
    folder.write("odd.csv", "us\u{7}er,film,stars\na,x,1\nb,y,2\na,y,3\n");
    let shown = folder.run("convert odd.csv --out odd.s3cmtf").succeeds();
    assert!(!shown.stdout.contains('\u{7}') && shown.stdout.contains("us\\u{7}er"), "{:?}", shown.stdout);
}
