//! `s3cmtf check`.

use crate::harness::Folder;

#[test]
fn a_good_file_is_described() {
    let folder = Folder::new();
    folder.write("x.tns", "1 1 1 5\n1 2 1 3\n1 2 1 3\n4 1 2 1\n");
    let shown = folder.run("check x.tns --modes user,item,month").succeeds();
    assert_eq!(shown.stderr, "");
    shown.prints(&[
        "x.tns: 3 indices per entry, user 4 x item 2 x month 2, 3 entries\n",
        "  entries  4, 1 duplicates, density 0.18750\n",
        "  user     size 4, 2 ids occur, entries per id: min 1, median 1.5, max 2\n",
        "1  ████████████████████████████████████████ 1\n",
        "  values   min 1, mean 3.0000, max 5, sd 1.4142\n",
        "  fit      s3cmtf fit x.tns --modes user,item,month\n",
    ]);
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

/// Forty ratings, the last of which comes twice.
fn ratings() -> String {
    let line = |n: usize| format!("u{},{},{},{}-03-01,{n}\n", n % 5, n * 7 % 13, 1 + n % 3, 2000 + n % 4);
    String::from("user,item,stars,when,row\n") + &(0..40).map(line).collect::<String>() + &line(39)
}

#[test]
fn a_table_is_described_with_what_is_odd_and_how_to_fit_it() {
    let folder = Folder::new();
    folder.write("r.csv", ratings());
    let shown = folder.run("check r.csv --modes user,item,when:year --value stars").succeeds();
    shown.says(&["1 duplicate entry was merged"]).prints(&[
        "r.csv: user 5 x item 13 x when 4, 40 entries",
        "entries  41, 1 duplicates, density 0.15385",
        "user     size 5, 5 ids occur, entries per id: min 8, median 8, max 8",
        "8 to 15  ████████████████████████████████████████ 5",
        "epoch    less than 0.01 s with ",
        "fit      s3cmtf fit r.csv --modes user,item,when:year --value stars",
    ]);
    let shown = folder.run("check r.csv --modes user,row --value stars --json").succeeds();
    let about = &shown.json()[0];
    assert!(about["odd"][0].as_str().unwrap().contains("row has almost as many ids (40)"), "{about}");
    assert_eq!(about["value_counts"][2]["to"], 3.0);
    assert!(about["epoch"]["seconds"].is_number());
}

#[test]
fn the_line_to_copy_fits() {
    let folder = Folder::new();
    folder.write("r.csv", "user,film,stars\na,x,1\na,y,2\nb,x,5\nb,z,4\nc,z,4\n");
    let shown =
        folder.run("check r.csv --json").succeeds().says(&["inferred: --modes user,film --value stars"]);
    let line = shown.json()[0]["fit"].as_str().unwrap().to_owned();
    assert_eq!(line, "s3cmtf fit r.csv --modes user,film --value stars");
    folder.run(&format!("{} --rank 2 --epochs 2 --quiet", line.strip_prefix("s3cmtf ").unwrap())).succeeds();
}
