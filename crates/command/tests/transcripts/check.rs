//! `s3cmtf check`.

use crate::harness::Folder;

#[test]
fn a_good_file_is_described() {
    let folder = Folder::new();
    folder.write("x.tns", "1 1 1 5\n1 2 1 3\n1 2 1 3\n4 1 2 1\n");
    let shown = folder.run("check x.tns --modes user,item,month").succeeds();
    assert_eq!(shown.stderr, "");
    assert_eq!(
        shown.stdout,
        "x.tns: 3 indices per entry\n  \
         entries  4, 1 duplicates, density 0.18750\n  \
         user     size 4, 2 ids occur, entries per id: min 1, median 1.5, max 2\n  \
         item     size 2, 2 ids occur, entries per id: min 1, median 1.5, max 2\n  \
         month    size 2, 2 ids occur, entries per id: min 1, median 1.5, max 2\n  \
         values   min 1, mean 3.0000, max 5, sd 1.4142\n"
    );
}

#[test]
fn a_matrix_is_described_beside_a_tensor() {
    let shown =
        Folder::with_ratings().run("check ratings.tns friends.tns --modes user,item,month").succeeds();
    shown.prints(&[
        "ratings.tns: 3 indices",
        "user",
        "friends.tns: 2 indices",
        "row",
        "column",
        "no duplicates",
    ]);
}

#[test]
fn every_file_is_checked_even_after_a_bad_one() {
    let folder = Folder::with_ratings();
    folder.write("bad.tns", "1 1 1 5\n1 0 1 5\n");
    let shown = folder.run("check nowhere.tns bad.tns ratings.tns");
    assert_eq!(shown.code, 1);
    assert_eq!(shown.stderr.matches("error: ").count(), 2, "{}", shown.stderr);
    shown.says(&["nowhere.tns", "bad.tns:2:"]).prints(&["ratings.tns: 3 indices"]);
}

#[test]
fn declared_sizes_are_held_against_the_file() {
    let folder = Folder::with_ratings();
    folder.run("check ratings.tns --sizes 12,8,4").succeeds().prints(&["size 12"]);
    folder.run("check ratings.tns --sizes 12,8,3").fails(1, &["ratings.tns:", "declared size 3"]);
    folder.run("check ratings.tns --sizes 12,8,3,2").fails(1, &["3 indices per entry, but 4 modes"]);
    folder.run("check ratings.tns --sizes 12,8 --modes a,b,c").fails(2, &["--modes", "--sizes"]);
    folder.run("check ratings.tns --modes a,a,b").fails(2, &["distinct names"]);
}

#[test]
fn json_has_an_object_per_file() {
    let folder = Folder::with_ratings();
    folder.write("bad.tns", "");
    let shown = folder.run("check bad.tns ratings.tns --json");
    assert_eq!(shown.code, 1);
    let [bad, good] = &shown.json()[..] else { panic!("{}", shown.stdout) };
    assert!(bad["error"].as_str().unwrap().contains("bad.tns"));
    assert_eq!(good["file"], "ratings.tns");
    assert_eq!(good["entries"], 150);
    assert_eq!(good["modes"][0]["size"], 12);
    for field in ["duplicates", "density"] {
        assert!(good[field].is_number(), "{field}");
    }
    for field in ["min", "mean", "max", "sd"] {
        assert!(good["values"][field].is_number(), "{field}");
    }
    for field in ["ids", "min", "median", "max"] {
        assert!(good["modes"][0][field].is_number(), "{field}");
    }
}
