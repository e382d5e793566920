//! `s3cmtf recommend`, and what `s3cmtf evaluate` says of recommendations, where it is known who likes what.

use std::fs;

use crate::harness::{BINARY, Folder};

const DATA: &str =
    "--modes user,place,date:month --value stars --couple place=places.csv:place,category,zeros";

/// Six users who like sushi (sue1 to sue6) and six who like burgers (bob1 to bob6), eight places of each kind. Everybody has
/// been to half of the places; the test has the other half.
pub(crate) fn eaters(flags: &str) -> Folder {
    let folder = Folder::new();
    let [mut train, mut test] = [(); 2].map(|()| String::from("user,place,date,stars\n"));
    let mut places = String::from("place,category\n");
    for place in 0..16 {
        let kind = if place < 8 { "Sushi" } else { "Burger" };
        places += &format!("{kind}{},{kind}\n", place % 8 + 1);
        for user in 0..12 {
            let who = if user < 6 { "sue" } else { "bob" };
            let stars = if (user < 6) == (place < 8) { 4.5 } else { 1.5 } + 0.1 * ((user + place) % 3) as f32;
            let line = |month: usize| {
                format!("{who}{},{kind}{},2017-{month:02}-03,{stars:.1}\n", user % 6 + 1, place % 8 + 1)
            };
            // Four of the eight of each kind, others for each user, so that no users and places are apart from all others.
            if matches!((place + 16 - user) % 8, 0 | 1 | 3 | 4) {
                train += &line((user + place) % 6 + 1);
                train += &line((user + place + 3) % 6 + 1);
            } else {
                test += &line(6);
            }
        }
    }
    folder.write("train.csv", train);
    folder.write("test.csv", test);
    folder.write("places.csv", places);
    folder.run(&format!("fit train.csv {DATA} --rank 4 --quiet --out model {flags}")).succeeds();
    folder
}

/// One seed in fifty takes the months for what people like, with so few entries; not this one.
pub(crate) const BAYES: &str = "--seed 2";

/// The second has factors without negative numbers.
pub(crate) const ALGORITHMS: [&str; 2] =
    [BAYES, "--algorithm sgd --nonnegative --epochs 400 --rate 0.1 --decay 0"];

#[test]
fn people_are_recommended_what_they_like_and_have_not_seen() {
    for flags in ALGORITHMS {
        let folder = eaters(flags);
        let seen = fs::read_to_string(folder.path("train.csv")).unwrap();
        for (who, kind) in [("sue1", "Sushi"), ("bob4", "Burger")] {
            let shown = folder
                .run(&format!("recommend model --for user={who} --mode place --top 4 --json"))
                .succeeds();
            let found = &shown.json()[0];
            assert_eq!((&found["for"]["name"], &found["mode"]), (&who.into(), &"place".into()));
            assert!(found["at"][0]["name"].is_null(), "{found}");
            assert_eq!(found["seen_left_out"], 8);
            let list = found["recommendations"].as_array().unwrap();
            assert_eq!(list.len(), 4);
            for one in list {
                let name = one["name"].as_str().unwrap();
                assert!(name.starts_with(kind), "{flags} {who}: {one}");
                assert!(!seen.contains(&format!("{who},{name},")), "{who}: {one}");
                assert!(one["predicted"].as_f64().unwrap() > 3.5, "{one}");
                assert!(one["reason"]["concept"].as_str().unwrap().starts_with('P'), "{one}");
                assert!(one["reason"]["adds"].as_f64().unwrap() > 0.0, "{one}");
            }
            let profile = found["profile"].as_array().unwrap();
            assert!(!profile.is_empty());
            assert!(profile[0]["own_strength"].as_f64().unwrap() > 0.0);
            assert_eq!(profile[0]["times"].as_array().unwrap().len(), 6);
        }
    }
}

#[test]
fn a_person_reads_a_table_and_why() {
    let folder = eaters(BAYES);
    let shown =
        folder.run("recommend model --for user=sue1 --mode place --at date=2017-02 --top 3").succeeds();
    let shown = shown.prints(&[
        "place for user sue1, date 2017-02; 8 seen left out",
        "predicted stars",
        "because of",
        "Concepts of place that matter to sue1:",
    ]);
    assert!(!shown.stdout.contains('\u{1b}') && shown.stderr.is_empty(), "{}", shown.stderr);
    let first = shown.stdout.lines().nth(3).unwrap();
    assert!(first.trim_start().starts_with("1  Sushi"), "{first}");
}

#[test]
fn items_can_be_chosen_and_seen_ones_be_there() {
    let folder = eaters(BAYES);
    let names = |arguments: &str| -> Vec<String> {
        let shown = folder.run(&format!("recommend model --mode place --json {arguments}")).succeeds();
        let list = shown.json()[0]["recommendations"].as_array().unwrap().clone();
        list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let burgers = names("--for user=sue1 --where category=Burger --top 20");
    assert_eq!(burgers.len(), 4);
    assert!(burgers.iter().all(|name| name.starts_with("Burger")));
    assert_eq!(names("--for user=sue1 --include-seen --top 20").len(), 16);
    assert_eq!(names("--for user=sue1 --include-seen --where category=Sushi --top 20").len(), 8);
    fs::remove_file(folder.path("model/data.s3cmtf")).unwrap();
    assert_eq!(names("--for user=sue1 --include-seen --top 20").len(), 16);
    folder.run("recommend model --for user=sue1 --mode place").fails(1, &["--include-seen", "fit again"]);
    folder
        .run("recommend model --for user=sue1 --mode place --include-seen --where category=Sushi")
        .fails(1, &["--where needs", "fit again"]);
}

#[test]
fn all_users_become_a_table() {
    let folder = eaters(BAYES);
    let shown = folder.run("recommend model --for user --mode place --top 3").succeeds();
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(lines[0], "user,rank,place,predicted_stars,reason");
    assert_eq!(lines.len(), 1 + 12 * 3);
    for line in &lines[1..] {
        assert_eq!(line.starts_with("sue"), line.contains(",Sushi"), "{line}");
    }
    folder.run("recommend model --for user --mode place --top 3 --out recs.csv").succeeds();
    assert_eq!(fs::read_to_string(folder.path("recs.csv")).unwrap(), shown.stdout);
    folder.run("recommend model --for user --mode place --top 3 --out recs.parquet").succeeds();
    if cfg!(feature = "arrow") {
        let check = "check recs.parquet --modes user,place --value predicted_stars";
        folder.run(check).succeeds().prints(&["36 entries"]);
    }
    let one = folder.run("recommend model --for user=sue2 --mode place --out one.csv").succeeds();
    assert_eq!(one.stdout, "");
    assert_eq!(fs::read_to_string(folder.path("one.csv")).unwrap().lines().count(), 1 + 8);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_half_table() {
    let folder = Folder::new();
    folder.run("generate --out made --sizes 200000,6000 --entries 250000 --uncoupled --seed 5").succeeds();
    // What is chosen would take a minute to learn.
    let fit = "fit made/tensor.tns --rank 4 --epochs 1 --without choice --no-data --quiet --out model";
    folder.run(fit).succeeds();
    for ending in ["csv", "parquet"] {
        let before = folder.list(".");
        let line = format!("recommend model --for 1 --mode 2 --include-seen --quiet --out recs.{ending}");
        let mut command = folder.command(BINARY);
        command.args(line.split_whitespace()).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        // As soon as there is a half table, which the name of the whole one does not have; before, a folder shows for a moment
        // that something can be written there.
        let is_half = |name: &String| !before.contains(name) && folder.path(name).is_file();
        while !folder.list(".").iter().any(is_half) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let shown = crate::harness::Shown::from(child.wait_with_output().unwrap());
        assert_eq!(shown.code, 130, "{}", shown.stderr);
        shown.says(&["note: interrupted: nothing was written"]);
        assert_eq!(folder.list("."), before);
    }
}

#[test]
fn what_is_typed_wrong_is_answered_with_what_was_meant() {
    let folder = eaters(BAYES);
    let run = |arguments: &str| folder.run(&format!("recommend model {arguments}"));
    run("--for user=sue11 --mode place").fails(2, &["knows no user sue11", "did you mean \"sue1\"?"]);
    run("--for usr=sue1 --mode place").fails(2, &["--for", "usr", "did you mean \"user\"?"]);
    run("--for user=sue1 --mode plaec").fails(2, &["--mode", "did you mean \"place\"?"]);
    run("--for user=sue1 --mode user").fails(2, &["mode should be another one than user"]);
    run("--for sue1 --mode place").fails(2, &["--for: should be MODE=NAME, did you mean user=sue1?"]);
    run("--for user= --mode place").fails(2, &["which user? say user=NAME"]);
    run("--for user=sue1,bob1 --mode place").fails(2, &["--for user without a name is for all of them"]);
    run("--for user=sue1 --mode place=Sushi1").fails(2, &["should be a mode alone, such as place"]);
    run("--for user=sue1 --mode place --at date=2018-01")
        .fails(2, &["knows no date 2018-01 (they go from 2017-01 to 2017-06)"]);
    run("--for user=sue1 --mode place --at 2017-03").fails(2, &["did you mean date=2017-03?"]);
    // A day is in its month.
    run("--for user=sue1 --mode place --at date=2017-03-17").succeeds().prints(&["sue1, date 2017-03;"]);
    run("--for user=sue1 --mode place --at date=2017-01 --at date=2017-02").fails(2, &["--at date:", "two"]);
    run("--for user=sue1 --mode place --at place=Sushi1")
        .fails(2, &["--at place: that is the mode of --mode; --at is for the others: date"]);
    run("--for user=sue1 --mode place --at date").fails(2, &["which date?"]);
    run("--for user=sue1 --mode place --at user=sue2").fails(2, &["--at user: that is the mode of --for"]);
    run("--for user=sue1 --mode place --top 0").fails(2, &["--top", "should be from 1 to"]);
    run("--for user=sue1 --mode place --top -1").fails(2, &["--top", "should be from 1 to"]);
    run("--for user=sue1 --mode place --top 4294967295").succeeds();
    run("--for user=sue1 --mode place --where category=").fails(2, &["MATRIX=COLUMN, such as"]);
    run("--for user=sue1 --mode place --out recs.xlsx").fails(2, &["csv or parquet", "not xlsx"]);
    run("--for user=sue1 --mode place --where category=Sushy").fails(2, &["did you mean \"Sushi\"?"]);
    run("--for user=sue1 --mode place --where categories=Sushi").fails(2, &["did you mean \"category\"?"]);
    run("--for user=sue1 --mode place --where Sushi").fails(2, &["MATRIX=COLUMN"]);
    run("--for user --mode place --json").fails(2, &["--json is for one entity"]);
    run("--for user --mode place --out recs.npz").fails(2, &["csv or parquet"]);
    run("--for user --mode place --out nowhere/recs.csv").fails(1, &["nowhere"]);
}

#[test]
fn where_nothing_is_left_it_is_said_why() {
    let folder = eaters(BAYES);
    let run = |arguments: &str| folder.run(&format!("recommend model {arguments}")).succeeds();
    let nobody = "--where category=Sushi --where category=Burger";
    run(&format!("--for user=sue1 --mode place {nobody}"))
        .prints(&["nothing that was not seen has --where category=Sushi and --where category=Burger"]);
    run(&format!("--for user --mode place {nobody} --include-seen"))
        .prints(&["user,rank,place"])
        .says(&["note: nothing has --where category=Sushi and --where category=Burger"]);
    run("--for date=2017-03 --mode place")
        .prints(&["nothing is left: all of them were seen, and --include-seen"]);
}

/// Models of another make than most: what they say is said, and nothing panics.
#[test]
fn odd_models_say_what_they_can() {
    let folder = eaters(BAYES);
    let data = "train.csv --modes user,place,date:month --value stars --quiet";
    let five: String = (0..300)
        .map(|n: usize| {
            let ids = [6, 5, 4, 3, 3].map(|size| (n * 7919 / (size * 2)) % size + 1);
            format!("{} {} {} {} {} {}\n", ids[0], ids[1], ids[2], ids[3], ids[4], n % 5)
        })
        .collect();
    folder.write("five.tns", five);
    folder.write(
        "two.tns",
        (0..60).map(|n| format!("{} {} {}\n", n % 12 + 1, n * 7 % 9 + 1, n % 4)).collect::<String>(),
    );
    for (name, fit) in [
        ("diagonal", format!("fit {data} --rank 6 --core diagonal")),
        ("diagonal-sgd", format!("fit {data} --rank 3 --core diagonal --algorithm sgd")),
        ("nonnegative", format!("fit {data} --rank 3 --nonnegative")),
        ("one", format!("fit {data} --rank 1")),
        ("bare", format!("fit {data} --rank 2 --no-data")),
        ("two", "fit two.tns --rank 2 --quiet".into()),
        ("one-of-two", "fit two.tns --rank 1 --quiet".into()),
        ("five", "fit five.tns --rank 2 --quiet".into()),
    ] {
        folder.run(&format!("{fit} --out {name}")).succeeds();
        folder.run(&format!("concepts {name}")).succeeds().prints(&["strongest interactions"]);
        folder.run(&format!("concepts {name} --top 4294967295 --json")).succeeds();
        folder.run(&format!("clusters {name} --mode 2")).succeeds().prints(&["cluster"]);
        folder.run(&format!("clusters {name} --mode 2 --k 5")).succeeds().prints(&["cluster"]);
        let first = if name.starts_with("five") || name.contains("two") { "1" } else { "Sushi1" };
        let alike = folder.run(&format!("similar {name} 2={first}")).succeeds().prints(&["likeness"]);
        assert!(alike.stderr.contains("in one direction") || !name.starts_with("one"), "{}", alike.stderr);
        let who = if first == "1" { "1" } else { "sue1" };
        let flags = format!("--for 1={who} --mode 2 --include-seen");
        folder.run(&format!("recommend {name} {flags}")).succeeds().prints(&["that matter to"]);
        folder.run(&format!("recommend {name} --for 1 --mode 2 --include-seen")).succeeds().prints(&["rank"]);
        folder.run(&format!("report {name} -o page.html")).succeeds();
    }
}

#[test]
fn numbers_stand_for_ids_without_names() {
    let folder = Folder::with_ratings();
    folder.run("fit ratings.tns --rank 5 --quiet --out model").succeeds();
    let shown = folder.run("recommend model --for mode1=3 --mode mode2 --top 2").succeeds();
    shown.prints(&["mode2 for mode1 3, the average mode3; ", "as "]);
    let shown = folder.run("recommend model --for 1 --mode 2 --top 2 --include-seen").succeeds();
    assert_eq!(shown.stdout.lines().count(), 1 + 12 * 2);
    folder.run("recommend model --for mode1=99 --mode mode2").fails(2, &["numbers from 1 to 12"]);
}

#[test]
fn recommendations_are_measured() {
    for flags in ALGORITHMS {
        let folder = eaters(flags);
        let shown = folder.run("evaluate model test.csv --relevant 4 --k 8 --json").succeeds();
        let found = &shown.json()[0];
        assert_eq!(found["entries"], 96);
        let ranking = &found["ranking"];
        assert_eq!((&ranking["rank_by"], &ranking["items"]), (&"user".into(), &"place".into()));
        assert_eq!((&ranking["measured"], &ranking["k"]), (&12.into(), &8.into()));
        // Of the eight unseen places four are liked: all are found, and they come first.
        assert_eq!(ranking["recall"], 1.0);
        assert_eq!(ranking["ndcg"], 1.0);
        assert_eq!(ranking["coverage"], 1.0);
        assert!(ranking["popular"]["ndcg"].as_f64().unwrap() < 0.95);
        let segments = found["segments"].as_array().unwrap();
        let names: Vec<&str> = segments.iter().map(|by| by["mode"].as_str().unwrap()).collect();
        assert_eq!(names, ["user", "place", "date"]);
        assert_eq!(segments[0]["segments"][0]["name"], "6-20");
        assert_eq!(segments[2]["segments"][0]["name"], "2017-06");
        assert!(segments.iter().all(|by| by["segments"][0]["entries"] == 96), "{segments:?}");
    }
}

#[test]
fn errors_alone_are_measured_if_asked_for_and_where_nothing_is_new() {
    let folder = eaters(BAYES);
    let shown = folder.run("evaluate model test.csv --plain").succeeds();
    assert_eq!(shown.stderr, "");
    let labels: Vec<&str> = shown.stdout.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(
        labels,
        ["entries", "unknown", "RMSE", "mean RMSE", "offsets RMSE", "MAE", "within std", "within 2 std"]
    );
    let json = folder.run("evaluate model test.csv --plain --json").succeeds().json();
    assert!(json[0]["ranking"].is_null() && json[0]["segments"].is_null());
    // All of it was seen.
    let shown = folder.run("evaluate model train.csv").succeeds();
    assert!(!shown.stdout.contains("recall"), "{}", shown.stdout);
    shown.says(&["note: train.csv: nothing to rank by"]).prints(&["RMSE", "By entries in training of user:"]);
}

#[test]
fn measures_of_recommendations_are_read_as_a_table() {
    let folder = eaters(BAYES);
    let shown = folder.run("evaluate model test.csv").succeeds();
    assert_eq!(shown.stderr, "");
    shown.prints(&[
        "RMSE",
        "Top 10 of place for each user, 12 measured, seen ones left out:",
        "recall@10",
        "NDCG@10",
        "coverage@10",
        "most popular",
        "By entries in training of user:",
        "By time of date:",
    ]);
    let several = folder.run("evaluate model test.csv --k 3,5,10 --baselines").succeeds();
    several.prints(&[
        "Top 3, 5, 10 of place for each user, 12 measured, seen ones left out:",
        "recall@k",
        "novelty@k",
        "item-kNN",
        "EASE",
    ]);
    let measured = |k: &str| {
        let shown = folder.run(&format!("evaluate model test.csv --k {k} --baselines --json")).succeeds();
        let [measured] = &shown.json()[..] else { panic!("{}", shown.stdout) };
        measured.clone()
    };
    let several = measured("3,5,10");
    let each: Vec<_> = ["3", "5", "10"].iter().map(|k| measured(k)["ranking"].clone()).collect();
    assert!(several["ranking"].is_null() && each.iter().all(|one| one["ease"].is_object()));
    assert_eq!(several["rankings"].as_array().unwrap(), &each);
    folder.run("evaluate model test.csv --k 5,0").fails(2, &["k should be 1 or more, but is 0"]);
    folder.run("evaluate model test.csv --k 5,many").fails(2, &["should be a whole number, such as 10"]);
    let turned = folder.run("evaluate model test.csv --rank-by place --k 3").succeeds();
    turned.prints(&["Top 3 of user for each place, 16 measured"]);
    fs::remove_file(folder.path("model/data.s3cmtf")).unwrap();
    let shown = folder.run("evaluate model test.csv --k 10").succeeds();
    let shown = shown
        .says(&["note: model: the training data are not saved with the model, so that what it has seen is"]);
    shown.prints(&["seen ones too"]);
    let shown = folder.run("evaluate model test.csv").succeeds();
    let shown = shown
        .says(&["the training data are not saved with the model, so that recommendations are not measured"]);
    assert!(!shown.stdout.contains("recall") && !shown.stdout.contains("of user:"), "{}", shown.stdout);
    shown.prints(&["RMSE", "By time of date:"]);
    folder.write("model/data.s3cmtf", "no problem");
    let shown = folder.run("evaluate model test.csv").succeeds();
    shown.says(&["note: model/data.s3cmtf: is no problem", "errors alone are measured"]).prints(&["RMSE"]);
    folder.run("evaluate model test.csv --k 10").fails(1, &["error: model/data.s3cmtf: is no problem"]);
    fs::remove_file(folder.path("model/data.s3cmtf")).unwrap();
    folder.run("evaluate model test.csv --k 0").fails(2, &["k should be 1 or more"]);
    folder.run("evaluate model test.csv --relevant 9").fails(1, &["nothing to rank by"]);
    folder.run("evaluate model test.csv --rank-by user --items user").fails(2, &["two modes"]);
    folder.run("evaluate model test.csv --items plac").fails(2, &["did you mean \"place\"?"]);
    folder.run("evaluate train.csv --folds 3 --plain").fails(2, &["--plain", "--folds"]);
    folder.run("evaluate model test.csv --plain --k 3").fails(2, &["--plain", "--k"]);
}
