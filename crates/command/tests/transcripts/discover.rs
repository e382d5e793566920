//! `s3cmtf concepts` and `s3cmtf clusters`, where it is known who likes what.

use std::fs;

use serde_json::Value;

use crate::recommend::{ALGORITHMS, BAYES, eaters};

#[test]
fn places_of_a_kind_are_a_cluster() {
    for flags in ALGORITHMS {
        let folder = eaters(flags);
        let shown = folder.run("clusters model --mode place --k 2 --out places-by-cluster.csv").succeeds();
        shown.prints(&[
            "place: 2 clusters of 16",
            "8 of 16:",
            "place/category  Sushi 100 % (2.0x)",
            "place/category  Burger 100 % (2.0x)",
        ]);
        let table = fs::read_to_string(folder.path("places-by-cluster.csv")).unwrap();
        let clusters: Vec<(&str, &str)> =
            table.lines().skip(1).filter_map(|line| line.split_once(',')).collect();
        assert_eq!(clusters.len(), 16);
        for (a, first) in &clusters {
            for (b, second) in &clusters {
                assert_eq!(a.starts_with("Sushi") == b.starts_with("Sushi"), first == second, "{a} and {b}");
            }
        }
        let json = folder.run("clusters model --mode place --most 5 --json").succeeds().json();
        let gaps = json[0]["gap"]["gaps"].as_array().unwrap();
        assert_eq!((gaps.len(), &gaps[4]["k"]), (5, &Value::from(5)));
        assert_eq!(
            json[0]["clusters"].as_array().unwrap().len() as u64,
            json[0]["gap"]["k"].as_u64().unwrap()
        );
    }
}

#[test]
fn a_concept_is_a_kind_of_place() {
    let folder = eaters(BAYES);
    folder.run("concepts model --mode place --top 3").succeeds().prints(&[
        "place:",
        "P1",
        "place/category: ",
        "strongest interactions",
    ]);
    let json = folder.run("concepts model --top 4 --json").succeeds().json();
    let concepts = json[0]["concepts"].as_array().unwrap();
    let first = concepts.iter().find(|concept| concept["name"] == "P1").unwrap();
    let kind = first["about"].as_str().unwrap();
    assert!(["Sushi", "Burger"].contains(&kind), "{kind}");
    for (end, is_kind) in [("strongest", true), ("weakest", false)] {
        for place in first[end].as_array().unwrap() {
            assert_eq!(place["name"].as_str().unwrap().starts_with(kind), is_kind, "{end}: {place}");
        }
    }
    // Six months, and a number for each.
    assert_eq!(first["times"].as_array().unwrap().len(), 6);
}

#[test]
fn what_cannot_be_told_is_said() {
    let folder = eaters(BAYES);
    folder
        .run("clusters model --mode plcae")
        .fails(2, &["there is no mode plcae", "did you mean \"place\"?"]);
    folder
        .run("clusters model --mode place --k 17")
        .fails(2, &["k should be from 1 to 16, the rows of place"]);
    folder.run("clusters model --mode place --k few").fails(2, &["--k", "should be auto, or 1 or more"]);
    folder.run("clusters model --mode place --k 0").fails(2, &["--k", "should be auto, or 1 or more"]);
    folder.run("clusters model --mode place --k -3").fails(2, &["--k", "should be auto, or 1 or more"]);
    folder.run("clusters model --mode place --seed x").fails(2, &["--seed", "should be a whole number"]);
    folder.run("clusters model --mode place --out c.xlsx").fails(2, &["csv or parquet", "not xlsx"]);
    folder.run("clusters model --mode place=Sushi1").fails(2, &["should be a mode alone, such as place"]);
    for arguments in
        ["clusters model --mode place --top 0", "concepts model --top 0", "concepts model --top -1"]
    {
        folder.run(arguments).fails(2, &["--top", "should be from 1 to 4294967295"]);
    }
    // Places of a kind are hardly told apart: not all of as many clusters as there are places have one.
    let shown = folder.run("clusters model --mode place --k 16").succeeds();
    assert!(!shown.stdout.contains(" 0 of 16"), "{}", shown.stdout);
    folder.run("concepts nowhere").fails(1, &["nowhere"]);
    folder.run("concepts model --mode 9").fails(2, &["there is no mode 9"]);
    fs::remove_file(folder.path("model/data.s3cmtf")).unwrap();
    folder
        .run("clusters model --mode place --k 2")
        .succeeds()
        .says(&["the model was saved without its data: what clusters have in common is not known"]);
}
