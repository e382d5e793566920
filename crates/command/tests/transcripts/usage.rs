//! What cannot be right whatever the files hold: exit code 2, the value, and what would be right.

use crate::harness::Folder;

/// What `fit ratings.tns` says of these flags.
#[track_caller]
fn fit_refuses(flags: &str, words: &[&str]) {
    Folder::with_ratings().run(&format!("fit ratings.tns {flags}")).fails(2, words);
}

#[test]
fn no_verb_an_unknown_verb_an_unknown_flag() {
    let folder = Folder::new();
    assert_eq!(folder.run("").code, 2);
    folder.run("train x.tns").fails(2, &["train"]);
    folder.run("fit x.tns --rnak 3").fails(2, &["--rnak", "--rank"]);
    folder.run("fit").fails(2, &["<TENSOR>"]);
    folder.run("check").fails(2, &["<FILE>"]);
}

#[test]
fn what_was_probably_meant_is_asked() {
    let folder = Folder::with_model();
    folder
        .write("ratings.csv", "user,film,when,stars\na,x,2017-01-01,1\nb,x,2017-01-02,2\na,y,2017-01-03,3\n");
    folder
        .run("fit ratings.csv --rank 1 --epochs 2 --quiet --couple film=ratings.csv:film,user --out named")
        .succeeds();
    for (line, code, said) in [
        ("evalute model test.tns", 2, "a similar subcommand exists: 'evaluate'"),
        ("fit ratings.tns --epoch 3", 2, "a similar argument exists: '--epochs'"),
        ("fit ratings.tns --core diagnal", 2, "a similar value exists: 'diagonal'"),
        ("fit ratings.tns --format tsn", 2, "npz, did you mean \"tns\"?"),
        (
            "fit ratings.tns --duplicates meen",
            2,
            "should be mean, last, sum or error, did you mean \"mean\"?",
        ),
        ("export model --to parket --out x", 2, "safetensors, did you mean \"parquet\"?"),
        ("import movielans x --out y", 2, "yelp, did you mean \"movielens\"?"),
        (
            "generate movielens-10 --out x",
            2,
            "there is no shape \"movielens-10\", did you mean \"movielens-10m\"?",
        ),
        (
            "fit ratings.csv --modes usr,film --value stars",
            1,
            "has no column \"usr\", did you mean \"user\"?",
        ),
        ("fit ratings.csv --modes user,when:mnoth --value stars", 2, "did you mean \"month\"?"),
        ("fit ratings.tns --couple 1=friends.tns,grahp", 2, "did you mean \"graph\"?"),
        ("fit ratings.tns --modes user,item,month --couple itme=genres.tns", 2, "did you mean \"item\"?"),
        ("fit ratings.tns --modes user,item,month --holdout-last moth", 2, "did you mean \"month\"?"),
        (
            "fit rating.tns",
            1,
            "rating.tns: No such file or directory (os error 2), did you mean ratings.tns?",
        ),
        (
            "check rating.csv",
            1,
            "rating.csv: No such file or directory (os error 2), did you mean ratings.csv?",
        ),
        ("fit ratings.tns --test tset.tns", 1, "did you mean test.tns?"),
        ("fit ratings.tns --couple 1=friend.tns", 1, "did you mean friends.tns?"),
        ("predict modle test.tns", 1, "did you mean model?"),
        (
            "fold-in named --couple user=ratings.csv:user,film --out x",
            1,
            "user/film: not coupled in the model",
        ),
    ] {
        folder.run(line).fails(code, &[said]);
    }
}

/// A command that is broken in the middle cannot be copied.
#[test]
fn examples_fit_on_a_line_of_80() {
    let help = Folder::new().run("--help").succeeds().stdout;
    let examples: Vec<&str> = help.lines().filter(|line| line.starts_with("  s3cmtf ")).collect();
    assert!(examples.len() > 5 && examples.iter().all(|line| line.len() < 80), "{examples:?}");
}

#[test]
fn a_flag_that_only_gradient_descent_has_chooses_it_and_says_so() {
    let folder = Folder::with_ratings();
    for (flag, said) in [("--rank 1", "--rank 1"), ("--rate 0.01 --rank 2", "--rate")] {
        let shown = folder.run(&format!("fit ratings.tns --epochs 2 {flag}")).succeeds();
        shown.says(&[&format!("{said} needs --algorithm sgd, which is used")]);
    }
    let shown = folder.run("fit ratings.tns --epochs 2 --rank 1 --algorithm sgd").succeeds();
    assert!(!shown.stderr.contains("which is used"), "{}", shown.stderr);
}

#[test]
fn help_and_version_are_no_failures() {
    let folder = Folder::new();
    folder.run("--version").succeeds().prints(&["s3cmtf "]);
    folder.run("--help").succeeds().prints(&[
        "Usage: s3cmtf <COMMAND>\n\nStart:\n  demo         Factorize made-up",
        "\n\nUse a model:\n  predict      Predict the value of each given cell\n  recommend ",
        "\n\nShell:\n  completions ",
        "\n\nOptions:\n  -h, --help ",
        "\n\nExamples:\n  s3cmtf demo\n",
    ]);
    folder.run("help fit").succeeds().prints(&["Factorize a tensor and the matrices coupled to it"]);
    let flags = [
        "--couple",
        "--modes",
        "--sizes",
        "--rank",
        "--ranks",
        "--core",
        "--method",
        "--scheme",
        "--preset",
        "--epochs",
        "--rate",
        "--decay",
        "--lambda-reg",
        "--lambda-couple",
        "--l1",
        "--nonnegative",
        "--orthogonal",
        "--tolerance",
        "--patience",
        "--threads",
        "--instructions",
        "--device",
        "--seed",
        "--deterministic",
        "--test",
        "--holdout",
        "--init",
        "--out",
        "--json",
        "--quiet",
    ];
    folder.run("fit --help").succeeds().prints(&flags);
}

#[test]
fn ranks_out_of_range() {
    fit_refuses("--rank 0", &["rank should be from 1 to 1024, but is 0"]);
    fit_refuses("--rank 1025", &["rank should be from 1 to 1024, but is 1025"]);
    fit_refuses("--rank -1", &["'-1'", "whole number"]);
    fit_refuses("--rank 2.5", &["'2.5'", "whole number"]);
    fit_refuses("--ranks 2,3", &["ranks should be one number, or 3, one per mode, but is 2,3"]);
    fit_refuses("--ranks 2,,3", &["--ranks", "whole number"]);
    fit_refuses("--rank 1000", &["ranks should be small enough"]);
    fit_refuses("--core diagonal --ranks 2,3,4", &["the same for all modes", "2,3,4"]);
}

#[test]
fn settings_out_of_range() {
    fit_refuses("--epochs 0", &["epochs should be 1 or more, but is 0"]);
    fit_refuses("--rate 0", &["rate should be above 0"]);
    fit_refuses("--rate -0.1", &["rate should be above 0", "-0.1"]);
    fit_refuses("--rate nan", &["rate should be above 0", "NaN"]);
    fit_refuses("--decay -1", &["decay should be 0 or more", "-1"]);
    fit_refuses("--lambda-reg -1", &["lambda-reg should be 0 or more", "-1"]);
    fit_refuses("--lambda-couple inf", &["lambda-couple should be 0 or more and finite", "inf"]);
    fit_refuses("--tolerance -1", &["tolerance should be 0 or more", "-1"]);
    fit_refuses("--threads 2000", &["threads should be from 0", "2000"]);
    // No machine has both.
    let absent = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    fit_refuses(
        &format!("--instructions {absent}"),
        &["instructions should be what this machine has (portable", &format!("but is {absent}")],
    );
    for device in ["gpu", "cuda:", "cuda:-1", "cuda:70000"] {
        fit_refuses(&format!("--device {device}"), &["--device", device]);
    }
    fit_refuses(
        "--device cuda --algorithm sgd",
        &["device should be cpu when the algorithm is sgd, but is cuda:0"],
    );
    fit_refuses(
        "--quiet --device cuda --without averaging",
        &["device should be cpu, where averaging is ablated, but is cuda:0"],
    );
    // No machine has so many.
    let folder = Folder::with_ratings();
    folder.run("fit ratings.tns --quiet --device cuda:999").fails(1, &["device cuda:999 cannot be used: "]);
    fit_refuses("--seed x", &["--seed", "'x'", "whole number"]);
    fit_refuses("--holdout 0.2 --patience 0", &["patience should be 1 or more, but is 0"]);
    for share in ["0", "1", "-0.2", "nan"] {
        fit_refuses(
            &format!("--quiet --rank 2 --holdout {share}"),
            &["--holdout should be a share between 0 and 1"],
        );
    }
}

#[test]
fn flags_that_contradict_each_other() {
    fit_refuses("--rank 2 --ranks 2,2,2", &["--rank", "--ranks"]);
    fit_refuses("--algorithm bayes --nonnegative", &["--nonnegative needs --algorithm sgd"]);
    fit_refuses("--nonnegative --orthogonal", &["orthogonal should be off"]);
    fit_refuses("--deterministic --scheme lock-free --threads 2", &["scheme should be blocks"]);
    fit_refuses("--preset paper --method fast", &["method should be opt or naive", "every epoch"]);
    fit_refuses("--preset paper --scheme blocks", &["scheme should be lock-free when", "every epoch"]);
    fit_refuses("--core-update one-thread", &["scheme should be lock-free when one thread updates the core"]);
    fit_refuses("--small-modes shared", &["scheme should be lock-free when small modes are shared"]);
    fit_refuses("--algorithm als --zeros-update per-cell", &["--zeros-update needs --algorithm sgd"]);
}

#[test]
fn words_that_are_not_among_the_choices() {
    fit_refuses("--core round", &["'round'", "full", "diagonal"]);
    fit_refuses("--method slow", &["'slow'", "fast", "opt", "naive"]);
    fit_refuses("--scheme free", &["'free'", "blocks", "lock-free"]);
    fit_refuses("--instructions sse", &["'sse'", "portable", "avx2", "avx512", "neon"]);
    fit_refuses(
        "--preset mine",
        &["'mine'", "default", "paper", "paper-movielens", "paper-netflix", "paper-yelp"],
    );
    fit_refuses("--shuffle never", &["'never'", "once", "every-epoch"]);
    fit_refuses("--core-update all", &["'all'", "averaged", "one-thread"]);
    fit_refuses("--small-modes large", &["'large'", "private", "shared"]);
    fit_refuses("--zeros-update none", &["'none'", "implicit", "per-cell"]);
    fit_refuses("--start zero", &["'zero'", "mean", "random"]);
}

#[test]
fn names_and_sizes_that_do_not_match_the_tensor() {
    fit_refuses("--modes user,item", &["modes should be 3 names", "user,item"]);
    fit_refuses("--modes user,user,month", &["modes should be distinct names"]);
    fit_refuses("--sizes 12,8", &["sizes should be 3 numbers"]);
    fit_refuses("--sizes 12,8,x", &["--sizes", "whole number"]);
}

#[test]
fn couplings_that_are_malformed() {
    let form = "MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT][,zeros|,graph|,missing][,weight=W]";
    fit_refuses("--couple friends.tns", &["'friends.tns'", form]);
    fit_refuses("--couple 1=", &["'1='", form]);
    fit_refuses("--couple =friends.tns", &["'=friends.tns'", form]);
    fit_refuses("--couple 1=friends.tns,grph", &["\"grph\"", form]);
    fit_refuses("--couple 1=friends.tns,graph,zeros", &["zeros", form]);
    fit_refuses("--couple 1=friends.tns,weight=-1", &["weight should be a number, 0 or more", "-1"]);
    fit_refuses("--couple 1=friends.tns,weight=much", &["weight should be a number, 0 or more", "much"]);
}

#[test]
fn couplings_to_modes_that_do_not_exist() {
    let modes = "--modes user,item,month";
    fit_refuses(
        &format!("{modes} --couple users=friends.tns"),
        &[
            "--couple users=friends.tns: there is no mode users, did you mean \"user\"? (the modes are user, item, month, or \
           1 to 3)",
        ],
    );
    fit_refuses("--couple 4=friends.tns", &["no mode 4", "mode1, mode2, mode3"]);
    fit_refuses("--couple 0=friends.tns", &["no mode 0"]);
    // A mistyped mode is found before any file is opened.
    let shown = Folder::new().run(&format!("fit nowhere.tns {modes} --couple users=friends.tns"));
    shown.fails(2, &["no mode users"]);
}
