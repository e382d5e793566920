//! Where results go when something is in the way: a full disk, a closed pipe, Ctrl-C.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{BINARY, Folder, Shown};

#[test]
fn a_folder_that_holds_something_else_is_refused_before_training() {
    let folder = Folder::with_ratings();
    fs::create_dir(folder.path("photos")).unwrap();
    folder.write("photos/cat.jpg", "meow");
    folder.run("fit ratings.tns --rank 2 --out photos").fails(1, &["photos"]);
    assert_eq!(folder.list("photos"), ["cat.jpg"]);
    folder.run("fit ratings.tns --rank 2 --out friends.tns").fails(1, &["friends.tns"]);
    folder.run("demo --out photos").fails(1, &["photos"]);
}

#[test]
fn a_model_is_replaced_by_the_next() {
    let folder = Folder::with_model();
    let files = folder.list("model");
    folder.run("fit ratings.tns --rank 3 --epochs 2 --out model").succeeds();
    assert_eq!(folder.list("model"), files);
    folder.run("evaluate model test.tns").succeeds();
}

/// Runs `s3cmtf` where no file may grow beyond a block of 512 bytes: writes fail as they do on a full disk.
#[cfg(unix)]
fn run_without_space(folder: &Folder, arguments: &str) -> Shown {
    run_in_blocks(folder, 1, arguments)
}

/// The same with so many blocks, which some shells take for twice as many.
#[cfg(unix)]
fn run_in_blocks(folder: &Folder, blocks: usize, arguments: &str) -> Shown {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{BINARY}' {arguments}");
    Shown::from(folder.command("sh").args(["-c", &script]).output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = Folder::with_ratings();
    let before = folder.list("");
    let shown = run_without_space(&folder, "fit ratings.tns --rank 8 --epochs 2 --quiet --out model");
    assert_eq!(shown.code, 1, "{}", shown.stderr);
    // What the run found is told all the same.
    shown.says(&["error: ", "model"]).prints(&["train RMSE", "not saved"]);
    assert_eq!(folder.list("model"), [""; 0]);
    let after: Vec<String> = folder.list("").into_iter().filter(|name| name != "model").collect();
    assert_eq!(after, before);
}

#[cfg(unix)]
#[test]
fn checkpoints_that_find_no_room_are_told_once() {
    let folder = Folder::with_ratings();
    let fit = "fit ratings.tns --rank 2 --epochs 300 --quiet --checkpoint-every 0.0001s --out model";
    let shown = run_without_space(&folder, fit);
    assert_eq!(shown.stderr.matches("note: no checkpoint: ").count(), 1, "{}", shown.stderr);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_model_that_was_there() {
    let folder = Folder::with_model();
    let files = folder.list("model");
    let before = folder.run("evaluate model test.tns --json").succeeds().stdout;
    let shown = run_without_space(&folder, "fit ratings.tns --rank 8 --epochs 2 --out model");
    assert_eq!(shown.code, 1, "{}", shown.stderr);
    assert_eq!(folder.list("model"), files);
    assert_eq!(folder.run("evaluate model test.tns --json").succeeds().stdout, before);
}

#[cfg(unix)]
#[test]
fn an_update_whose_data_find_no_room_fails_and_saves_the_model() {
    let folder = Folder::with_model();
    let cells =
        (1..=12).flat_map(|user| (1..=8).flat_map(move |item| (1..=4).map(move |month| [user, item, month])));
    let line = |[user, item, month]: [usize; 3]| format!("{user} {item} {month} 3\n");
    folder.write("all.tns", cells.map(line).collect::<String>());
    // The model takes 2 KB, its data 7.
    let shown = run_in_blocks(&folder, 6, "update model all.tns --out later");
    assert_eq!(shown.code, 1, "{}", shown.stderr);
    shown.says(&["the model is saved without data: "]);
    assert_eq!(folder.list("later"), ["model.safetensors", "run.json"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_predictions() {
    let folder = Folder::with_model();
    folder.write("cells.tns", "1 1 1\n".repeat(1000));
    let before = folder.list("");
    run_without_space(&folder, "predict model cells.tns --out values.txt").fails(1, &["values.txt"]);
    assert_eq!(folder.list(""), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_told() {
    let folder = Folder::with_model();
    for arguments in [
        "predict model test.tns",
        "evaluate model test.tns",
        "check test.tns",
        "fit ratings.tns --rank 2 --json",
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(BINARY).args(arguments.split(' ')).stdout(full).output().unwrap();
        Shown::from(output).fails(1, &["error: stdout: No space left"]);
    }
}

#[test]
fn a_closed_stdout_ends_quietly() {
    let folder = Folder::with_model();
    folder.write("cells.tns", "1 1 1\n".repeat(100_000));
    for arguments in
        ["predict model cells.tns", "check test.tns", "fit ratings.tns --rank 2 --json --out model2"]
    {
        let mut command = folder.command(BINARY);
        command.args(arguments.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let shown = Shown::from(child.wait_with_output().unwrap()).succeeds();
        assert_eq!(shown.stderr, "", "{arguments}");
    }
    // The model is worth saving, whether or not somebody listens.
    folder.run("evaluate model2 test.tns").succeeds();
}

/// Starts a run that only a signal ends, and waits for its first epoch.
#[cfg(unix)]
fn start_long_run(folder: &Folder) -> (Child, BufReader<ChildStdout>) {
    let mut command = folder.command(BINARY);
    command.args("fit ratings.tns --rank 2 --epochs 100000000 --json --out model".split(' '));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    (child, stdout)
}

#[cfg(unix)]
fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Sends a signal to a run after its first epoch; returns its exit code and what else it printed.
#[cfg(unix)]
fn interrupt(folder: &Folder, signal: &str) -> (Option<i32>, String) {
    let (mut child, mut stdout) = start_long_run(folder);
    let mut rest = String::new();
    send(&child, signal);
    stdout.read_to_string(&mut rest).unwrap();
    (child.wait().unwrap().code(), rest)
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_the_model_so_far() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::with_ratings();
        let (code, rest) = interrupt(&folder, signal);
        assert_eq!(code, Some(130));
        assert!(rest.lines().last().unwrap().contains("\"stop\":\"interrupted\""), "{rest}");
        folder.run("evaluate model test.tns").succeeds();
    }
}

#[test]
fn every_verb_says_which_model_was_probably_meant() {
    let folder = Folder::with_model();
    folder.run("fit ratings.tns --rank 2 --epochs 3 --quiet --out another").succeeds();
    for verb in [
        "evaluate modle test.tns",
        "predict modle test.tns",
        "concepts modle",
        "clusters modle --mode 1",
        "recommend modle --for 1=1 --mode 2",
        "similar modle 1=1",
        "fold-in modle test.tns --out out",
        "update modle test.tns --out out",
        "export modle --to csv --out out",
        "report modle -o page.html",
        "fit ratings.tns --init modle",
    ] {
        let words =
            ["modle: there is no such folder, did you mean model?", "a folder with a model.safetensors"];
        folder.run(verb).fails(1, &words);
    }
    folder.run("concepts .").fails(1, &[".: is not a model folder: no model.safetensors in it"]);
    fs::create_dir(folder.path("runs")).unwrap();
    fs::rename(folder.path("another"), folder.path("runs/another")).unwrap();
    folder.run("concepts runs").fails(1, &["no model.safetensors in it, did you mean runs/another?"]);
    folder.run("concepts runs/any").fails(1, &["no such folder, did you mean runs/another?"]);
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_leaves_at_once() {
    let folder = Folder::with_ratings();
    // Nobody reads on, so that the run is stuck as soon as the pipe is full, and cannot stop by itself.
    let (mut child, _unread) = start_long_run(&folder);
    thread::sleep(Duration::from_millis(1500));
    send(&child, "-INT");
    thread::sleep(Duration::from_millis(300));
    send(&child, "-INT");
    for _ in 0..100 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("the run did not leave");
}

#[test]
fn no_verb_writes_over_what_it_reads() {
    let folder = Folder::with_model();
    let table = "user,film,stars\n".to_owned() + &"a,x,1\nb,y,2\nc,z,3\n".repeat(5);
    for name in ["train.csv", "c.csv", "brand.csv"] {
        folder.write(name, &table);
    }
    fs::create_dir(folder.path("ml")).unwrap();
    folder.write("ml/ratings.csv", "userId,movieId,rating,timestamp\n1,1,4.0,964982703\n2,1,3.0,964982703\n");
    folder.write("ml/movies.csv", "movieId,title,genres\n1,Toy Story (1995),Comedy\n");
    fs::hard_link(folder.path("c.csv"), folder.path("link.csv")).unwrap();
    let files =
        ["train.csv", "c.csv", "brand.csv", "ml/ratings.csv", "model/model.safetensors", "model/run.json"];
    let read = || files.map(|name| fs::read(folder.path(name)).unwrap());
    let before = read();
    for (line, name) in [
        ("split train.csv --out .", "train.csv"),
        ("convert c.csv --modes user,film --value stars --out c.csv", "c.csv"),
        ("convert c.csv --modes user,film --value stars --out link.csv", "link.csv"),
        ("import movielens ml --out ml --to csv", "ratings.csv"),
        ("fit c.csv --modes user,film --value stars --report c.csv", "c.csv"),
        (
            "fit c.csv --modes user,film --value stars --couple user=brand.csv:user,film,zeros --report brand.csv",
            "brand.csv",
        ),
        ("fit ratings.tns --test test.tns --report test.tns", "test.tns"),
        ("predict model test.tns --out test.tns", "test.tns"),
        ("report model -o model/model.safetensors", "is a part of a model"),
        ("clusters model --mode 1 --k 2 --out model/run.json", "model/run.json"),
        ("predict model test.tns --out model/run.json", "is a part of a model"),
    ] {
        folder.run(line).fails(1, &[name]);
        assert!(read() == before, "{line}");
    }
    // A page beside the model is nobody else's.
    folder.run("report model -o model/report.html").succeeds();
}

#[test]
fn a_run_that_failed_leaves_the_model_of_before() {
    let folder = Folder::with_model();
    let before = fs::read(folder.path("model/model.safetensors")).unwrap();
    let line = "fit ratings.tns --algorithm sgd --rank 2 --rate 1e30 --out model";
    assert_eq!(folder.run(line).code, 1);
    assert_eq!(fs::read(folder.path("model/model.safetensors")).unwrap(), before);
    folder.run("evaluate model test.tns").succeeds();
}

#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_by_the_system_can_be_resumed() {
    let folder = Folder::with_ratings();
    let flags = "fit ratings.tns --rank 2 --epochs 3000 --json --out";
    let mut command = folder.command(BINARY);
    let words = format!("{flags} model --checkpoint-every 0.001s");
    let mut child =
        command.args(words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    while !folder.path("model/checkpoint.safetensors").exists() {
        stdout.read_line(&mut String::new()).unwrap();
    }
    send(&child, "-TERM");
    stdout.read_to_string(&mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(
        folder.list("model"),
        ["checkpoint.safetensors", "data.s3cmtf", "model.safetensors", "run.json"]
    );
    folder.run(&format!("{flags} model --resume model")).succeeds();
    folder.run(&format!("{flags} whole")).succeeds();
    let model = |name: &str| fs::read(folder.path(name).join("model.safetensors")).unwrap();
    assert!(model("model") == model("whole"));
    assert!(!folder.path("model/checkpoint.safetensors").exists());
}

#[test]
fn data_that_went_away_during_training_are_in_the_model_all_the_same() {
    let folder = Folder::with_ratings();
    folder.run("convert ratings.tns --out ratings.s3cmtf").succeeds();
    folder.run("fit ratings.s3cmtf --rank 2 --epochs 3 --out model").succeeds();
    // Whoever writes into the file later does not write into the model.
    let kept = fs::read(folder.path("model/data.s3cmtf")).unwrap();
    folder.write("ratings.s3cmtf", "something else");
    assert!(fs::read(folder.path("model/data.s3cmtf")).unwrap() == kept);
    folder.run("recommend model --for mode1=1 --mode mode2").succeeds();
}
