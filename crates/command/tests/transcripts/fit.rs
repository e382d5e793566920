//! `s3cmtf fit` when all is well.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Folder;

/// The sorted names of an object's fields.
fn fields(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_summary_is_on_stdout_and_the_rest_on_stderr() {
    let shown = Folder::with_ratings()
        .run(
            "fit ratings.tns --modes user,item,month --couple user=friends.tns,graph \
             --couple 2=genres.tns,zeros,weight=0.5 --ranks 2,3,2 --epochs 4 --threads 1 --test test.tns --out model",
        )
        .succeeds();
    let labels: Vec<&str> = shown.stdout.lines().filter_map(|line| line.split("  ").next()).collect();
    let rmses = ["train RMSE", "test RMSE", "mean RMSE", "offsets RMSE"];
    assert_eq!(labels, [&["stopped", "epochs", "ranks"][..], &rmses, &["seconds", "model"]].concat());
    assert!(shown.stdout.contains("stopped       all epochs were run"), "{}", shown.stdout);
    shown.says(&[
        "user 12 x item 8 x month 4, ",
        "40 test entries",
        "user/friends (graph, 11 entries)",
        "item/genres (zeros, 8 entries)",
        "ranks 2 x 3 x 2, 1 thread\n",
        "epoch 1/4 RMSE train ",
    ]);
}

#[test]
fn nothing_is_saved_without_out() {
    let folder = Folder::with_ratings();
    let before = folder.list("");
    folder.run("fit ratings.tns --rank 2 --epochs 2").succeeds().prints(&["not saved; --out DIR"]);
    assert_eq!(folder.list(""), before);
}

#[test]
fn quiet_shows_no_progress() {
    let shown = Folder::with_ratings().run("fit ratings.tns --rank 2 --epochs 2 --quiet").succeeds();
    assert!(!shown.stderr.contains("epoch"), "{}", shown.stderr);
    shown.prints(&["train RMSE"]);
}

#[test]
fn json_has_a_line_per_epoch_and_one_at_the_end() {
    let shown =
        Folder::with_ratings().run("fit ratings.tns --rank 2 --epochs 3 --json --test test.tns").succeeds();
    let mut lines = shown.json();
    let end = lines.pop().unwrap();
    let rmses = ["test_rmse", "train_rmse"];
    let others = ["best_epoch", "epochs", "mean_rmse", "offsets_rmse", "ranks", "seconds", "stop"];
    assert_eq!(fields(&end), [&others[..], &rmses].concat());
    assert!(end["offsets_rmse"].as_f64().unwrap() < end["mean_rmse"].as_f64().unwrap(), "{end}");
    assert_eq!(end["stop"], "epochs");
    assert_eq!(lines.len(), 3);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(
            fields(line),
            ["entries_per_second", "epoch", "evaluation_seconds", "seconds", "test_rmse", "train_rmse"]
        );
        assert_eq!(line["epoch"], number + 1);
        assert!(line["test_rmse"].is_number());
        assert!(line["evaluation_seconds"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn json_tells_the_rate_of_steps() {
    let shown =
        Folder::with_ratings().run("fit ratings.tns --algorithm sgd --rank 2 --epochs 1 --json").succeeds();
    assert!(shown.json()[0]["rate"].is_number());
}

#[test]
fn a_flag_of_sgd_chooses_it() {
    let folder = Folder::with_ratings();
    for flags in ["--nonnegative", "--rank 1", "--core diagonal --rank 1", "--lambda-reg 1"] {
        let shown = folder.run(&format!("fit ratings.tns {flags} --epochs 1 --json")).succeeds();
        assert!(shown.json()[0]["rate"].is_number(), "{flags}");
    }
    // Goes on as the model was made.
    folder.run("fit ratings.tns --rate 0.01 --rank 2 --epochs 1 --out sgd").succeeds();
    let shown = folder.run("fit ratings.tns --init sgd --epochs 1 --json").succeeds();
    assert!(shown.json()[0]["rate"].is_number());
    let shown = folder.run("fit ratings.tns --init sgd --algorithm bayes --epochs 1");
    shown.fails(2, &["algorithm should be sgd, as in the model to start from, but is bayes"]);
}

#[test]
fn json_has_null_where_there_is_no_test_set() {
    let shown = Folder::with_ratings().run("fit ratings.tns --rank 2 --epochs 2 --json").succeeds();
    for line in shown.json() {
        assert!(line["test_rmse"].is_null() && line["offsets_rmse"].is_null(), "{line}");
    }
}

/// What `run.json` of a model folder says.
fn record(folder: &Folder, model: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.path(model).join("run.json")).unwrap()).unwrap()
}

#[test]
fn a_holdout_is_what_patience_watches() {
    let folder = Folder::with_ratings();
    let watched = |name: &str, flags: &str| -> Vec<f64> {
        folder.run(&format!("fit ratings.tns --rank 2 --epochs 200 {flags} --out {name}")).succeeds();
        let record = record(&folder, name);
        let curve = record["validation"].as_array().unwrap();
        let curve: Vec<f64> = curve.iter().map(|rmse| rmse.as_f64().unwrap()).collect();
        let best = record["summary"]["epochs"].as_u64().unwrap() as usize;
        assert_eq!(record["summary"]["stop"], "patience", "{flags}");
        // It ends three epochs after the best, and all entries are trained on for as many epochs as were best. In bayes
        // single draws, before they are averaged, do not count.
        assert_eq!(curve.len(), best + 3, "{flags}: {curve:?}");
        let first = if flags.contains("bayes") { 151 } else { 1 };
        let before = if best > first { curve[best - 2] } else { f64::INFINITY };
        let is_best = curve[best..].iter().all(|&rmse| rmse >= curve[best - 1]) && before > curve[best - 1];
        assert!(is_best, "{flags}: {best} of {curve:?}");
        assert_eq!(record["data"]["entries"], 150);
        curve
    };
    for algorithm in ["bayes", "sgd"] {
        let flags = format!("--algorithm {algorithm} --patience 3");
        let held_out = watched("held", &format!("{flags} --holdout 0.2"));
        // A test set is not watched, whether or not there is a share to hold out.
        assert_eq!(watched("both", &format!("{flags} --holdout 0.2 --test test.tns")), held_out);
        let tenth = watched("tenth", &flags);
        assert_ne!(tenth, held_out);
        assert_eq!(watched("tested", &format!("{flags} --test test.tns")), tenth);
    }
}

#[test]
fn evaluate_agrees_with_the_end_of_fit() {
    let folder = Folder::with_ratings();
    let fit = folder
        .run("fit ratings.tns --rank 2 --epochs 5 --test test.tns --json --couple 1=friends.tns,graph --out model")
        .succeeds();
    let evaluated = folder.run("evaluate model test.tns --json").succeeds();
    let fitted = fit.json().pop().unwrap()["test_rmse"].as_f64().unwrap();
    let again = evaluated.json()[0]["rmse"].as_f64().unwrap();
    assert!((fitted - again).abs() < 1e-5 * fitted, "{fitted} {again}");
    for name in ["mean_rmse", "offsets_rmse"] {
        assert_eq!(fit.json().pop().unwrap()[name], evaluated.json()[0][name], "{name}");
    }
}

#[test]
fn a_warm_start_goes_on_where_the_model_was() {
    let folder = Folder::with_ratings();
    let first = folder
        .run("fit ratings.tns --modes user,item,month --ranks 2,3,2 --epochs 10 --json --threads 1 --out model")
        .succeeds();
    // Names and ranks are the model's: the coupling finds its mode, and the ranks fit.
    let second = folder
        .run("fit ratings.tns --init model --couple item=genres.tns,zeros --epochs 1 --json --threads 1 --out more")
        .succeeds();
    let rmse = |line: &Value| line["train_rmse"].as_f64().unwrap();
    assert!(rmse(&second.json()[0]) < 1.2 * rmse(&first.json()[0]));
    folder.run("fit ratings.tns --init more --epochs 1 --out more").succeeds();
}

#[test]
fn a_warm_start_from_something_else_is_refused() {
    let folder = Folder::with_model();
    folder.run("fit ratings.tns --init nowhere").fails(1, &["nowhere"]);
    folder.write("matrix.tns", "1 1 5\n2 2 3\n");
    folder.run("fit matrix.tns --init model").fails(1, &["2 indices per entry", "3 modes"]);
}

#[test]
fn every_method_core_scheme_and_preset_runs_and_is_what_was_asked_for() {
    let folder = Folder::with_ratings();
    for (flags, algorithm, name, value) in [
        ("--method fast", "sgd", "/params/method", json!("fast")),
        ("--method opt", "sgd", "/params/method", json!("opt")),
        ("--method naive", "sgd", "/params/method", json!("naive")),
        ("--algorithm sgd --core diagonal", "sgd", "/model/core", json!("diagonal")),
        (
            "--algorithm als --core diagonal --couple 1=friends.tns,missing",
            "als",
            "/model/core",
            json!("diagonal"),
        ),
        ("--core full", "bayes", "/model/core", json!("full")),
        ("--algorithm sgd --scheme blocks", "sgd", "/params/scheme", json!("blocks")),
        ("--algorithm sgd --scheme lock-free --threads 2", "sgd", "/params/scheme", json!("lock-free")),
        ("--preset paper", "sgd", "/params/start", json!("random")),
        ("--preset paper --threads 2", "sgd", "/params/shuffle", json!("every-epoch")),
        ("--preset paper --core-update averaged", "sgd", "/params/core_update", json!("averaged")),
        ("--preset paper --small-modes private", "sgd", "/params/small_modes", json!("private")),
        ("--preset paper --zeros-update implicit", "sgd", "/params/zeros_update", json!("implicit")),
        ("--preset paper --shuffle once --method fast", "sgd", "/params/method", json!("fast")),
        ("--preset paper --nonnegative", "sgd", "/params/orthogonal", json!(false)),
        ("--preset paper --orthogonal=false", "sgd", "/params/orthogonal", json!(false)),
        ("--preset paper-yelp", "sgd", "/params/rate", json!(0.0005)),
        ("--start random", "sgd", "/params/start", json!("random")),
        ("--preset default --lambda-couple 2", "sgd", "/params/lambda_couple", json!(2.0)),
        ("--l1 --lambda-reg 0.5", "sgd", "/params/lambda_reg", json!(0.5)),
        ("--l1 --lambda-reg 0.5", "sgd", "/params/l1", json!(true)),
        ("--nonnegative", "sgd", "/params/nonnegative", json!(true)),
        ("--orthogonal", "bayes", "/params/orthogonal", json!(true)),
        ("--algorithm sgd --tolerance 0.9", "sgd", "/summary/stop", json!("tolerance")),
        ("--tolerance 0.01", "bayes", "/params/tolerance", json!(0.01)),
        ("--rate 0.0078125 --decay 0", "sgd", "/history/2/rate", json!(0.0078125)),
        ("--seed 7 --threads 2", "bayes", "/params/seed", json!(7)),
        ("--sizes 20,8,4", "bayes", "/model/modes/0/size", json!(20)),
    ] {
        let words = format!("fit ratings.tns --rank 2 --epochs 3 --couple 1=friends.tns {flags} --out model");
        folder.run(&words).succeeds();
        let record = record(&folder, "model");
        assert_eq!(record["params"]["algorithm"], algorithm, "{flags}");
        assert_eq!(record.pointer(name), Some(&value), "{flags}: {name}");
    }
}

#[test]
fn a_diagonal_core_is_for_the_default_algorithm_too() {
    let folder = Folder::with_ratings();
    let fit = "fit ratings.tns --core diagonal --quiet --couple 1=friends.tns";
    folder.run(&format!("{fit} --out auto")).succeeds();
    folder.run(&format!("{fit} --rank 6 --epochs 20 --couple 1=friends.tns,weight=2 --out six")).succeeds();
    folder.write("new.tns", "13 1 1 5\n13 2 2 3\n");
    folder.write("cells.tns", "13 3 1 0\n1 2 2 0\n");
    for name in ["auto", "six"] {
        folder.run(&format!("evaluate {name} ratings.tns")).succeeds().prints(&["within"]);
        folder.run(&format!("fold-in {name} new.tns --out {name}-new")).succeeds();
        folder.run(&format!("update {name} new.tns --out {name}-newer")).succeeds();
        folder.run(&format!("predict {name}-new cells.tns --std")).succeeds();
        folder
            .run(&format!("recommend {name}-newer --for 1=1 --mode 2 --include-seen --caution 1"))
            .succeeds();
        folder.run(&format!("export {name} --to csv --out {name}-csv")).succeeds();
        folder.run(&format!("{fit} --init {name} --epochs 3")).succeeds();
    }
    folder.run(&format!("{fit} --rank 4")).fails(
        2,
        &[
            "rank should be auto, or from 5 to 408, for a diagonal core of 3 modes with algorithm bayes",
            "but is 4",
        ],
    );
    folder.run(&format!("{fit} --rank 500")).fails(2, &["from 5 to 408"]);
    // Models that were found otherwise have no columns for offsets.
    folder.run(&format!("{fit} --algorithm als --rank 6 --epochs 3 --out als")).succeeds();
    folder.run(&format!("{fit} --algorithm bayes --init als")).fails(2, &["as in the model to start from"]);
}

#[test]
fn deterministic_runs_do_not_depend_on_the_threads() {
    let folder = Folder::with_ratings();
    // Enough entries for two threads to share.
    let entries: String = (0..4000)
        .map(|n| format!("{} {} {} {}\n", n % 100 + 1, n / 100 + 1, n * 7 % 5 + 1, n % 97 % 5 + 1))
        .collect();
    folder.write("many.tns", entries);
    let model = |threads: usize, flag: &str| {
        let out = format!("model{threads}{flag}");
        let flags = format!("--algorithm sgd --rank 3 --epochs 4 {flag}");
        folder.run(&format!("fit many.tns {flags} --threads {threads} --out {out}")).succeeds();
        assert_eq!(record(&folder, &out)["params"]["deterministic"], !flag.is_empty());
        let numbers = folder.list(&out).into_iter().find(|name| name.ends_with("model.safetensors")).unwrap();
        fs::read(folder.path(&out).join(numbers)).unwrap()
    };
    assert!(
        model(1, "--deterministic") == model(2, "--deterministic"),
        "the models of 1 and 2 threads differ"
    );
    // Nor is that so by itself.
    assert!(model(1, "") != model(2, ""), "the models of 1 and 2 threads are the same without the flag");
}

#[test]
fn two_matrices_of_one_mode_and_file_name_are_told_apart() {
    let folder = Folder::with_ratings();
    let shown = folder
        .run("fit ratings.tns --couple 1=friends.tns --couple mode1=friends.tns,graph --rank 2 --epochs 2 --out model")
        .succeeds();
    shown.says(&["absent cells are taken as zeros", "mode1/friends (zeros", "mode1/friends#2 (graph"]);
}

#[test]
fn a_run_that_learnt_nothing_is_a_failure() {
    let folder = Folder::new();
    folder.write("huge.tns", "1 1 1 3e38\n2 2 2 -3e38\n1 2 2 3e38\n");
    let shown = folder.run("fit huge.tns --algorithm sgd --rank 2 --epochs 3");
    assert_eq!(shown.code, 1, "{}{}", shown.stdout, shown.stderr);
    assert!(shown.stdout.contains("no step size was small enough"), "{}", shown.stdout);
}
