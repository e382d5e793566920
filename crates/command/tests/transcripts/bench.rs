//! The benchmarks run, hold their RMSE, name the machine, and leave a table and a plot.

use serde_json::Value;

use crate::harness::Folder;

/// The rows of a measurement, of which each has the fields; the machine is named first, and the files have them too.
#[track_caller]
fn rows(arguments: &str, fields: &[&str]) -> Vec<Value> {
    let folder = Folder::new();
    let shown = folder.run(&format!("bench {arguments} --out results --quiet")).succeeds();
    assert_eq!(shown.stderr, "");
    let mut lines = shown.json();
    let machine = lines.remove(0);
    assert!(machine["cores"].as_u64().unwrap() >= 1);
    assert!(machine["processor"].is_string() && machine["instructions"].is_string());
    for line in &lines {
        for field in fields {
            assert!(line.get(field).is_some(), "{field} is not in {line}");
        }
    }
    let name = arguments.split(' ').next().unwrap();
    let read =
        |ending: &str| std::fs::read_to_string(folder.path(&format!("results/{name}.{ending}"))).unwrap();
    assert_eq!(read("jsonl"), shown.stdout);
    let described = format!("{}, {} core", machine["processor"].as_str().unwrap(), machine["cores"]);
    let table = read("md");
    assert!(table.contains(&described), "{table}");
    assert_eq!(
        table.lines().filter(|line| line.starts_with("| ")).count(),
        1 + table_rows(name, lines.len())
    );
    is_plot(&read("svg"), &described);
    lines
}

/// An evaluation has two rows for people: it, and the epoch before. The paper's algorithm and ours have one for the mean.
fn table_rows(name: &str, rows: usize) -> usize {
    match name {
        "evaluation" => 2 * rows,
        "paper" => rows + 1,
        _ => rows,
    }
}

#[track_caller]
fn is_plot(svg: &str, machine: &str) {
    let document = roxmltree::Document::parse(svg).unwrap();
    let has = |class: &str| {
        document
            .descendants()
            .filter(|node| node.attribute("class").is_some_and(|all| all.contains(class)))
            .count()
    };
    assert!(has("mark") > 0 && has("grid") > 0, "{svg}");
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    assert!(texts.filter_map(|node| node.text()).any(|text| text.contains(machine)), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[track_caller]
fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

#[test]
fn methods_are_compared() {
    let fields = ["name", "fast_entries_per_second", "opt_entries_per_second", "fast_rmse", "opt_rmse"];
    // Shapes of which opt does 10,000 entries and more: on a few dozen the order of steps alone makes more than 1 %.
    let rows = rows("methods --only movielens-10m --scale 0.01", &fields);
    assert_eq!(rows.len(), 1);
    assert!(rows.iter().all(|row| number(row, "ratio") > 0.0));
}

#[test]
fn the_default_algorithm_is_compared_with_another_version() {
    let command = env!("CARGO_BIN_EXE_s3cmtf");
    let arguments =
        "bayes --shapes movielens-10m,yelp --ranks 4 --threads 1 --epochs 5 --repeats 1 --scale 0.002";
    let rows = rows(&format!("{arguments} --before {command}"), &["shape", "program", "entries_per_second"]);
    let programs: Vec<&str> = rows.iter().map(|row| row["program"].as_str().unwrap()).collect();
    assert_eq!(programs, ["before", "this", "before", "this"]);
    for pair in rows.chunks(2) {
        // It is the same one here.
        assert_eq!(pair[0]["train_rmse"], pair[1]["train_rmse"]);
        assert!(pair[0]["ratio"].is_null() && number(&pair[1], "ratio") > 0.0);
        let parts = &pair[1]["parts"];
        let all = |name: &str| parts[name].as_array().unwrap().iter().map(|part| part.as_f64().unwrap());
        assert!(pair[0]["parts"].is_null() && all("sums").chain(all("draws")).all(|part| part > 0.0));
        assert!(["core", "matrices", "rest"].iter().all(|name| number(parts, name) > 0.0), "{parts}");
    }
}

#[test]
fn the_default_algorithm_is_measured_with_ranks_and_orders_of_all_kinds() {
    let rows = rows(
        "bayes --shapes order-4 --ranks 3,4x3x3x2 --threads 1 --epochs 5 --repeats 1 --scale 0.002",
        &["ranks", "entries_per_second_per_thread"],
    );
    assert_eq!(rows.len(), 2);
}

#[test]
fn threads_are_compared_for_every_scheme() {
    let rows =
        rows("threads --threads 1,2 --entries 20000 --repeats 2", &["entries", "entries_per_second", "rmse"]);
    let schemes: Vec<&str> = rows.chunks(2).map(|pair| pair[0]["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, ["blocks", "deterministic", "lock-free", "independent"]);
    for pair in rows.chunks(2) {
        assert_eq!(pair[0]["speed_up"], 1.0);
        assert!(number(&pair[1], "speed_up") > 0.0);
        assert_eq!(pair[0]["scheme"], pair[1]["scheme"]);
    }
    assert_eq!(number(&rows[7], "of_independent"), 1.0);
}

#[test]
fn more_entries_are_measured() {
    let fields = ["seconds_per_epoch", "nanoseconds_per_entry", "peak_bytes", "peak_bytes_per_entry", "rmse"];
    let rows = rows("entries --entries 1000000,10000000 --scale 0.01", &fields);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["ratio"], 1.0);
    assert!(number(&rows[1], "entries") > 9.0 * number(&rows[0], "entries"));
    assert!(rows.iter().all(|row| number(row, "rmse") < number(row, "mean_rmse")));
    if cfg!(target_os = "linux") {
        // An entry has four numbers of 32 bits.
        assert!(number(&rows[1], "peak_bytes_per_entry") > 16.0);
    }
}

#[test]
fn larger_modes_are_measured() {
    let rows =
        rows("sizes --sizes 1000,100000000 --scale 0.01", &["seconds_per_epoch", "peak_bytes", "rmse"]);
    assert_eq!(rows[0]["ratio"], 1.0);
    assert_eq!(rows[1]["size"], 100_000_000);
    assert!(rows.iter().all(|row| number(row, "matrix_entries") > 900.0));
}

#[test]
fn the_shape_of_yelp_is_measured() {
    let rows = rows("yelp --scale 0.005 --threads 2", &["sizes", "entries", "matrix_entries", "peak_bytes"]);
    let seconds = rows[0]["seconds"].as_array().unwrap();
    assert!(seconds.iter().all(|each| each.as_f64().unwrap() >= number(&rows[0], "seconds_per_epoch")));
    assert!(number(&rows[0], "rmse") < number(&rows[0], "mean_rmse"));
}

#[test]
fn evaluation_is_measured() {
    let rows = rows("evaluation --scale 0.005 --threads 1", &["seconds_per_epoch", "evaluation_seconds"]);
    assert!((number(&rows[0], "entries") / number(&rows[0], "test_entries") - 4.0).abs() < 0.01);
    assert!(number(&rows[0], "ratio") > 0.0);
}

#[test]
fn what_is_done_with_a_model_is_held_against_training_anew() {
    let rows = rows("after --scale 0.04 --threads 2", &["what", "entries", "seconds", "of_training"]);
    let what: Vec<&str> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["training anew", "fold-in", "update", "clusters, k auto"]);
    assert_eq!(number(&rows[0], "of_training"), 1.0);
    assert!(number(&rows[1], "rmse_new") < 1.05 * number(&rows[0], "rmse_new"));
}

#[test]
fn instructions_are_compared() {
    let rows = rows("instructions --scale 0.003 --repeats 2", &["rank", "entries_per_second", "rmse"]);
    assert_eq!(rows[0]["instructions"], "portable");
    assert!(rows.iter().any(|row| row["ratio"] == 1.0));
    assert_eq!(rows.iter().filter(|row| row["rank"] == 12).count(), rows.len() / 2);
}

#[test]
fn reading_is_measured_for_each_kind_of_file() {
    let rows = rows("data --rows 20000 --repeats 2", &["rows", "file_bytes", "seconds", "peak_bytes"]);
    let kinds: Vec<&str> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["csv", "parquet", "converted"]);
    assert_eq!(rows[0]["ratio"], 1.0);
}

#[test]
fn entries_on_disk_come_to_the_same() {
    let rows = rows(
        "stored --rows 60000 --epochs 3 --repeats 1",
        &["rows", "file_bytes", "seconds", "peak_bytes", "test_rmse"],
    );
    assert_eq!((&rows[0]["what"], &rows[1]["what"]), (&"in memory".into(), &"from disk".into()));
    assert_eq!(rows[0]["test_rmse"], rows[1]["test_rmse"]);
}

#[test]
fn recommending_comes_to_what_predicting_every_cell_does() {
    let fields = ["users", "items", "users_per_second", "predictions_per_second", "peak_bytes"];
    let rows = rows("recommend --users 300 --items 500", &fields);
    assert_eq!((&rows[0]["users"], &rows[0]["items"]), (&300.into(), &500.into()));
    assert!(number(&rows[0], "difference") < 1e-3);
    assert!(number(&rows[0], "ratio") > 0.0);
}

#[test]
fn from_the_papers_algorithm_to_ours_every_change_has_its_time_and_error() {
    let fields = ["data", "change", "threads", "epoch_seconds", "speed_up", "test_rmse", "halvings"];
    let rows = rows("paper --threads 2 --entries 2000 --epochs 3 --repeats 2", &fields);
    assert_eq!(rows.len(), 11);
    assert_eq!(number(&rows[0], "speed_up"), 1.0);
    // QR changes no prediction.
    let last = |back: usize| number(&rows[rows.len() - back], "test_rmse");
    assert!((last(1) - last(2)).abs() < 1e-4, "{} and {}", last(1), last(2));
}

#[test]
fn all_is_each_of_them() {
    let folder = Folder::new();
    let shown = folder.run("bench all --scale 0.001 --out results").succeeds();
    assert_eq!(shown.json().iter().filter(|line| line.get("cores").is_some()).count(), 15);
    shown.says(&["methods: rank 64, opt", "entries: making 100 K entries", "sizes: ", "yelp: "]);
    let names = [
        "accuracy",
        "after",
        "bayes",
        "data",
        "discovery",
        "entries",
        "evaluation",
        "instructions",
        "methods",
        "paper",
        "recommend",
        "sizes",
        "stored",
        "threads",
        "yelp",
    ];
    let files: Vec<String> = names
        .iter()
        .flat_map(|name| ["jsonl", "md", "svg"].map(|ending| format!("{name}.{ending}")))
        .collect();
    assert_eq!(folder.list("results"), files);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let folder = Folder::new();
    folder.run("bench speed").fails(2, &["speed", "bench"]);
    folder.run("bench yelp --scale 2").fails(2, &["--scale", "above 0 and at most 1"]);
    folder.run("bench entries --entries 10,0").fails(2, &["--entries", "1 or more"]);
    folder.run("bench methods --only nothing-like-it").fails(2, &["no shape", "nothing-like-it"]);
    folder.write("file", "");
    folder.run("bench yelp --out file").fails(1, &["file"]);
}

#[test]
fn sets_are_measured_with_each_matrix() {
    let folder = Folder::with_ratings();
    std::fs::create_dir_all(folder.path("sets/small")).unwrap();
    for (from, to) in [
        ("ratings.tns", "train.tns"),
        ("test.tns", "test.tns"),
        ("genres.tns", "2-zeros-genre.tns"),
        ("friends.tns", "1-graph-friends.tns"),
    ] {
        std::fs::copy(folder.path(from), folder.path(&format!("sets/small/{to}"))).unwrap();
    }
    // Whether so few ratings are predicted better than by offsets is left open.
    let shown = folder.run("bench sets sets --seeds 1 --ranks 3 --quiet");
    for coupled in ["nothing", "friends", "genre", "friends + genre"] {
        assert!(shown.stdout.contains(&format!("\"coupled\":\"{coupled}\"")), "{}", shown.stderr);
    }
    folder.run("bench sets sets/small").fails(1, &["no folder in it has a train.tns", "benchmarks/sets.py"]);
}
