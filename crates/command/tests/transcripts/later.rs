//! `s3cmtf fold-in` and `s3cmtf update`.

use std::fmt::Write as _;
use std::fs;

use crate::harness::Folder;

/// A model of named users and films over months, with the films' genres coupled to it.
fn folder() -> Folder {
    let folder = Folder::new();
    let (mut ratings, mut films) = (String::from("user,film,stars,when\n"), String::from("film,genres\n"));
    for user in 0..12 {
        for film in 0..9 {
            if (user * 7 + film * 5) % 4 != 0 {
                let month = 3 + (user + film) % 2;
                writeln!(ratings, "u{user},F{film},{},2017-{month:02}-11", 1 + (user + 2 * film) % 5)
                    .unwrap();
            }
        }
    }
    for film in 0..9 {
        writeln!(films, "F{film},{}", if film % 2 == 0 { "Comedy|Drama" } else { "Drama" }).unwrap();
    }
    folder.write("ratings.csv", ratings);
    folder.write("films.csv", films);
    folder
        .run(
            "fit ratings.csv --modes user,film,month=when:month --value stars \
             --couple film=films.csv:film,genres,split=|,zeros --rank 3 --epochs 12 --out model --quiet",
        )
        .succeeds();
    folder
}

#[test]
fn new_users_films_and_months_become_known() {
    let folder = folder();
    folder.write(
        "new.csv",
        "user,film,stars,when\nzoe,F1,5,2017-03-02\nzoe,F10,4,2017-05-09\nu1,F2,1,2017-03-01\nzoe,F3,2,2017-04-03\n",
    );
    folder.write("more.csv", "film,genres\nF10,Drama\nF11,Comedy\nF2,Comedy\nF12,Western\n");
    let cells = "user,film,when\nzoe,F10,2017-05-30\nzoe,F11,2017-03-01\nu3,F4,2017-03-01\n";
    folder.write("cells.csv", cells);
    let before = folder.run("predict model cells.csv").succeeds().says(&[
        "2 of 3 entries have an id that is not in the model (user zoe, film F10, month 2017-05 and 1 more)",
    ]);
    folder
        .run("fold-in model new.csv --couple film=more.csv:film,genres,split=| --out later")
        .succeeds()
        .says(&[
            "1 of 4 entries have no new id: they change nothing here, update takes them in",
            "film/genres: 1 of 4 cells are in columns that the model does not have",
        ])
        .prints(&[
            "entries       3\n",
            "new rows      user 1, film 3, month 1\n",
            "updated rows  user 0, film 0, month 0\n",
        ]);
    let after = folder.run("predict later cells.csv").succeeds();
    assert_eq!(after.stderr, "");
    // What was known stays as it was, to the last digit.
    assert_eq!(before.stdout.lines().last(), after.stdout.lines().last());
    assert_ne!(before.stdout.lines().nth(1), after.stdout.lines().nth(1));
    folder.run("predict later cells.csv --std").succeeds();
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path("later/run.json")).unwrap()).unwrap();
    assert_eq!(record["data"]["later_entries"], 3);
}

#[test]
fn films_known_from_a_coupled_file_alone_need_no_entries() {
    let folder = folder();
    folder.write("more.csv", "film,genres\nF20,Comedy|Drama\nF21,Drama\n");
    let shown =
        folder.run("fold-in model --couple film=more.csv:film,genres,split=| --out later --json").succeeds();
    assert_eq!(shown.json()[0]["added"], serde_json::json!([0, 2, 0]));
    folder.run("fold-in model --out x").fails(2, &["fold-in needs a TENSOR", "--couple"]);
    folder.run("fold-in model ratings.csv --out x").fails(1, &["the model has all of these ids"]);
    folder
        .run("fold-in model --couple film=more.csv:film,genres,split=|,graph --out x")
        .fails(1, &["film/more: its kind is graph, but that of the model's film/genres is zeros"]);
    folder
        .run("fold-in model --couple user=more.csv:film,genres,split=| --out x")
        .fails(1, &["user/genres: not coupled in the model (its matrices: film/genres)"]);
    folder.run("fold-in model --couple fim=more.csv --out x").fails(2, &["there is no mode fim"]);
    folder.write("bad.csv", "user,film,stars,when\nzoe,F1,five,2017-03-02\n");
    folder.run("fold-in model bad.csv --out x").fails(1, &["bad.csv:2:", "five"]);
    assert!(folder.list("x").is_empty());
}

#[test]
fn updates_move_rows_that_have_new_entries() {
    let folder = folder();
    folder.write("more.csv", "user,film,stars,when\nu1,F2,9,2017-03-01\nzoe,F2,8,2017-03-01\n");
    folder.run("update model more.csv --out model").succeeds().prints(&[
        "entries       2\n",
        "new rows      user 1, film 0, month 0\n",
        "user 1, film 1, month 1\n",
    ]);
    folder.run("evaluate model more.csv").succeeds().prints(&["unknown       0\n", "offsets RMSE"]);
    folder.run("update model --out x").fails(2, &["update needs a TENSOR"]);
}

#[test]
fn numbered_ids_grow_and_models_of_sgd_fold_in_but_do_not_update() {
    let folder = Folder::with_model();
    folder.write("new.tns", "40 1 1 5\n40 2 3 1\n13 8 4 3\n");
    folder.run("fold-in model new.tns --out later").succeeds().prints(&["mode1 2, mode2 0, mode3 0"]);
    folder.run("evaluate later new.tns").succeeds().prints(&["unknown       0\n"]);
    folder.run("fit ratings.tns --rank 2 --algorithm sgd --epochs 5 --out sgd --quiet").succeeds();
    folder.run("fold-in sgd new.tns --out sgd2").succeeds();
    folder.run("update sgd new.tns --out x").fails(1, &["does not know how sure it is of its rows"]);
    folder.run("fit ratings.tns --rank 2 --orthogonal --epochs 5 --out flat --quiet").succeeds();
    folder.run("fold-in flat new.tns --out x").fails(1, &["made orthogonal"]);
}

#[test]
fn the_data_grow_with_the_model() {
    let folder = folder();
    folder.write(
        "new.csv",
        "user,film,stars,when\nzoe,F1,5,2017-03-02\nzoe,F10,4,2017-05-09\nzoe,F3,2,2017-04-03\n",
    );
    folder.write("test.csv", "user,film,stars,when\nzoe,F2,5,2017-03-02\nzoe,F5,1,2017-03-02\n");
    folder.write("more.csv", "user,film,stars,when\nzoe,F2,5,2017-03-02\nu1,F4,5,2017-03-02\n");
    let films = |model: &str| {
        let line = format!("recommend {model} --for user=zoe --mode film --top 20 --json");
        let shown = folder.run(&line).succeeds();
        let name = |item: &serde_json::Value| item["name"].as_str().unwrap().to_owned();
        let list = shown.json()[0]["recommendations"].as_array().unwrap().clone();
        list.iter().map(name).collect::<Vec<String>>()
    };
    // Into a new folder and into the model's own.
    folder.run("fold-in model new.csv --out later").succeeds();
    let before = films("later");
    assert!(before.contains(&"F2".to_owned()) && !before.iter().any(|film| film == "F1" || film == "F10"));
    folder.run("update later more.csv --out later").succeeds();
    let after = films("later");
    assert!(!after.iter().any(|film| film == "F2" || film == "F1"), "{after:?}");
    let shown = folder.run("evaluate later test.csv").succeeds();
    assert!(!shown.stderr.contains("the training data are not"), "{}", shown.stderr);
    folder.run("clusters later --mode user --k 2").succeeds();
    // Who has no data has none afterwards.
    fs::remove_file(folder.path("model/data.s3cmtf")).unwrap();
    folder.run("fold-in model new.csv --out bare").succeeds();
    assert_eq!(folder.list("bare"), ["model.safetensors", "run.json"]);
}
