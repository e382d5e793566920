//! Tables as people have them: names, times, side tables.

use std::fmt::Write as _;
use std::fs;

use crate::harness::Folder;

const FIT: &str = "fit ratings.csv --modes user,film,month=when:month --value stars \
                   --couple film=films.csv:film,genres,split=|,zeros --rank 3 --epochs 8 --out model --quiet";

/// Ratings of named users and films over two months, and the films' genres.
fn folder() -> Folder {
    let folder = Folder::new();
    let (mut ratings, mut films) =
        (String::from("user,film,stars,when\n"), String::from("film,title,genres\n"));
    for user in 0..12 {
        for film in 0..9 {
            if (user * 7 + film * 5) % 4 != 0 {
                let stars = 1 + (user + 2 * film) % 5;
                let day = 1 + (user * 3 + film) % 28;
                let month = 3 + (user + film) % 2;
                writeln!(ratings, "\"user, {user}\",F{film},{stars},2017-{month:02}-{day:02}").unwrap();
            }
        }
    }
    for film in 1..11 {
        let genres = if film % 2 == 0 { "Comedy|Drama" } else { "Drama" };
        writeln!(films, "F{film},\"The \"\"{film}\"\"\",{genres}").unwrap();
    }
    folder.write("ratings.csv", ratings);
    folder.write("films.csv", films);
    folder
}

#[test]
fn names_go_in_and_come_out() {
    let folder = folder();
    folder.run(FIT).succeeds().says(&[
        "films.csv: 2 film ids have no entry in the tensor; they are kept, known from this table alone",
        "1 of 9 film ids do not occur in films.csv",
    ]);
    folder.write("cells.csv", "when,film,user\n2017-03-05T10:00:00Z,F2,\"user, 3\"\n2019-01-01,F10,nobody\n");
    let shown = folder.run("predict model cells.csv --std").succeeds();
    shown.says(&["cells.csv: 1 of 2 entries have an id that is not in the model"]);
    let shown = folder.run("predict model cells.csv").succeeds();
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(lines[0], "user,film,when,predicted_stars");
    assert!(lines[1].starts_with("\"user, 3\",F2,2017-03,"), "{}", lines[1]);
    assert!(lines[2].starts_with("nobody,F10,?,"), "{}", lines[2]);
    folder.run("evaluate model ratings.csv").succeeds().prints(&["RMSE"]);
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path("model/run.json")).unwrap()).unwrap();
    assert_eq!(json["model"]["modes"][2]["name"], "month");
}

#[test]
fn predictions_go_to_tables_of_several_formats() {
    let folder = folder();
    folder.run(FIT).succeeds();
    for name in ["p.csv", "p.parquet", "p.npz"] {
        folder.run(&format!("predict model ratings.csv --out {name}")).succeeds();
        // What is written can be read again, the predictions as values.
        let shown = folder.run(&format!("evaluate model {name} --value predicted_stars"));
        shown.succeeds().prints(&["RMSE          0.0000", "unknown       0"]);
    }
    folder
        .run("fit p.parquet --rank 2 --epochs 3 --quiet")
        .succeeds()
        .says(&["inferred: --modes user,film,when:month --value predicted_stars"]);
}

#[cfg(unix)]
#[test]
fn standard_input_is_known_by_its_content() {
    let folder = folder();
    for line in [
        "s3cmtf fit - --rank 2 --epochs 2 --quiet < ratings.csv",
        "gzip -c ratings.csv | s3cmtf fit - --rank 2 --epochs 2 --quiet",
        "cat ratings.csv | s3cmtf fit /dev/stdin --rank 2 --epochs 2 --quiet",
        "s3cmtf check - < ratings.csv",
    ] {
        let line = line.replace("s3cmtf", crate::harness::BINARY);
        let output = folder.command("sh").args(["-c", &line]).output().unwrap();
        let shown = crate::harness::Shown::from(output).succeeds();
        shown.says(&["inferred: --modes user,film,when:month --value stars"]);
    }
    let line = format!("printf '1 1 5\\n2 1 3\\n' | {} check -", crate::harness::BINARY);
    let output = folder.command("sh").args(["-c", &line]).output().unwrap();
    crate::harness::Shown::from(output).succeeds().prints(&["2 indices per entry", "entries  2"]);
}

#[test]
fn the_obvious_columns_need_no_words_and_others_are_listed() {
    let folder = folder();
    folder
        .run("fit ratings.csv --rank 2 --epochs 3 --quiet")
        .succeeds()
        .says(&["inferred: --modes user,film,when:month --value stars"]);
    folder.run("fit films.csv --rank 2").fails(2, &["--modes should say", "title (The \"1\""]);
}

#[test]
fn several_files_and_packed_ones_are_one_table() {
    let folder = folder();
    let text = fs::read_to_string(folder.path("ratings.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (first, second) = lines[1..].split_at(40);
    folder.write("part-1.csv", format!("{}\n{}\n", lines[0], first.join("\n")));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, format!("{}\n{}\n", lines[0], second.join("\n")).as_bytes())
        .unwrap();
    folder.write("part-2.csv.gz", packed.finish().unwrap());
    let rest = "--modes user,film --value stars --rank 2 --epochs 3 --json --quiet";
    let whole = folder.run(&format!("fit ratings.csv {rest}")).succeeds().json();
    for parts in ["part-*", "part-1.csv part-2.csv.gz"] {
        let parts = folder.run(&format!("fit {parts} {rest}")).succeeds().json();
        assert_eq!(parts.last().unwrap()["train_rmse"], whole.last().unwrap()["train_rmse"]);
    }
}

#[test]
fn values_that_are_all_one_say_what_is_missing() {
    let folder = Folder::new();
    folder.write("bought.csv", "user,item\nann,1\nann,2\nbob,2\ncem,1\n");
    let what =
        "every value is 1, so that a model of values predicts 1 everywhere: there are no negative examples";
    folder.run("fit bought.csv --modes user,item --epochs 2").succeeds().says(&[what]);
    folder.write("likes.csv", "user,item,liked\nann,1,1\nann,2,1\nbob,2,1\ncem,1,1\n");
    let shown = folder.run("fit likes.csv --modes user,item --value liked --epochs 2").succeeds();
    shown.says(&["every value of liked is 1"]);
    folder.run("convert bought.csv --modes user,item --out bought.s3cmtf").succeeds().says(&[what]);
    // What is missing is there.
    for zeros in ["--absent zeros", "--absent zeros --algorithm bayes --rank 2"] {
        let shown = folder.run(&format!("fit bought.csv --modes user,item --epochs 2 {zeros}")).succeeds();
        assert!(!shown.stderr.contains("every value"), "{}", shown.stderr);
    }
}

#[test]
fn rows_without_a_value_are_counted_and_duplicates_are_what_is_asked_for() {
    let folder = Folder::new();
    folder.write("plays.csv", "user,song\na,x\na,x\nb,x\nb,y\na,y\na,x\n");
    let fit =
        |flags: &str| folder.run(&format!("fit plays.csv --modes user,song --rank 2 --epochs 3 {flags}"));
    fit("").succeeds().says(&["user 2 x song 2, 4 entries"]);
    fit("--duplicates mean").succeeds().says(&["plays.csv: 2 duplicate entries were merged into the mean"]);
    fit("--duplicates error")
        .fails(1, &["plays.csv:3: the same as entry 1, and duplicates are an error here"]);
    fit("--duplicates most").fails(2, &["should be mean, last, sum or error"]);
}

#[test]
fn errors_name_file_line_column_and_value() {
    let folder = folder();
    let fit = |flags: &str| folder.run(&format!("fit ratings.csv {flags}"));
    fit("--modes user,flim --value stars")
        .fails(1, &["ratings.csv: has no column \"flim\", did you mean \"film\"?"]);
    fit("--modes user,film --value user").fails(1, &["ratings.csv:2:", "user, 0"]);
    fit("--modes user,film:month --value stars").fails(1, &["ratings.csv:2:", "\"F1\"", "film"]);
    fit("--modes user,film:mnth --value stars").fails(2, &["\"mnth\" is none of year, month"]);
    fit("--modes user,film --value stars --couple film=films.csv,graph")
        .fails(2, &["say which columns are the matrix", "film, title, genres"]);
    fit("--modes user,film --value stars --couple flim=films.csv:film,genres")
        .fails(2, &["there is no mode flim", "user, film"]);
    fit("--modes user,film --value stars --sizes 3,4").fails(2, &["--sizes is for files of indices"]);
    fit("--modes user,film --value stars --couple film=films.csv:title,genres").fails(
        1,
        &["films.csv: none of its rows is a film of the tensor: it has ", "the tensor \"F0\" and the like"],
    );
    folder.write("broken.csv", "user,film,stars\na,x,1\nb,y\n");
    folder.run("fit broken.csv --modes user,film --value stars").fails(1, &["broken.csv:3:"]);
}

#[test]
fn a_table_can_be_coupled_to_numbered_modes() {
    let folder = Folder::with_ratings();
    folder.write("side.csv", "item,kind\n1,old\n2,new\n3,old\n");
    folder
        .run("fit ratings.tns --modes user,item,month --couple item=side.csv,zeros --rank 2 --epochs 3 --quiet")
        .succeeds()
        .says(&["ids do not occur in"]);
    folder.write("side.csv", "item,kind\n1,old\nzwei,new\n");
    folder
        .run("fit ratings.tns --modes user,item,month --couple item=side.csv,zeros --rank 2")
        .fails(1, &["side.csv:3:", "\"zwei\" is not an index"]);
}
