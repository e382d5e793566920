//! `reproduce`: every cell ends somehow, the page comes out of whatever there is, and a run goes on where it stopped.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::harness::Folder;

/// A few cells that take moments: three methods by threads, and five without coupled matrices.
const FEW: &str = "reproduce --only fig5c,fig6 --scale 0.0001 --threads 2 --budget 0.1";

/// The cells in a file of results.
fn cells(folder: &Folder) -> Vec<Value> {
    let text = fs::read_to_string(folder.path("results/cells.jsonl")).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn is_page(folder: &Folder, words: &[&str]) {
    let read = |name: &str| fs::read_to_string(folder.path(&format!("results/{name}"))).unwrap();
    let (page, text) = (read("index.html"), read("reproduce.md"));
    for outside in ["http-equiv", "<link", "<script", "src=", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    for word in words {
        assert!(page.contains(word), "{word} is not in {page}");
        assert!(text.contains(word), "{word} is not in {text}");
    }
    for name in folder.list("results").iter().filter(|name| name.ends_with(".svg")) {
        let svg = read(name);
        roxmltree::Document::parse(&svg).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
    }
}

#[test]
fn a_run_leaves_a_page_and_goes_on_where_a_line_was_cut_off() {
    let folder = Folder::new();
    let shown = folder.run(&format!("{FEW} --out results")).succeeds();
    shown
        .prints(&["results/index.html", "results/reproduce.md", "results/cells.jsonl"])
        .says(&["[1/11] ", "[11/11] ", " left"]);
    let before = cells(&folder);
    assert_eq!(before.len(), 11);
    for cell in &before {
        let key = cell["cell"]["method"].as_str().unwrap();
        // Opponents may not be part of this version; all others are.
        if !key.starts_with("sals") {
            assert_eq!(cell["state"], "done", "{cell}");
            assert!(!cell["epochs"].as_array().unwrap().is_empty(), "{cell}");
            let (peak, computed) = (&cell["peak_bytes"], &cell["computed_bytes"]);
            assert!(computed.as_u64().unwrap() > 30_000_000);
            assert!(peak.is_null() || peak.as_u64().unwrap() > 1_000_000);
        }
    }
    assert_eq!(
        folder.list("results"),
        ["cells.jsonl", "fig5c.svg", "fig6.svg", "index.html", "reproduce.md"]
    );
    is_page(
        &folder,
        &[
            "Figure 5c",
            "Figure 6",
            "made-up data of the same shape at 0.01 % of its size",
            "predict 0",
            "offsets only",
            "11 cells",
        ],
    );

    // A program that was killed may leave a part of a line.
    let path = folder.path("results/cells.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 25]).unwrap();
    folder.run(&format!("{FEW} --out results")).fails(2, &["cells.jsonl", "--resume"]);
    folder
        .run(&format!("{FEW} --out results --resume"))
        .succeeds()
        .says(&["10 of 11 cells are there already", "[11/11] "]);
    let after = cells(&folder);
    assert_eq!((after.len(), &after[..10]), (11, &before[..10]));
    assert_eq!(after[10]["cell"], before[10]["cell"]);
    folder
        .run(&format!("{FEW} --out results --resume"))
        .succeeds()
        .says(&["11 of 11 cells are there already"]);
    assert_eq!(cells(&folder), after);
}

#[test]
fn what_needs_too_much_memory_or_time_is_marked() {
    let folder = Folder::new();
    folder.run(&format!("{FEW} --out results --quiet --memory 5MB")).succeeds();
    let marked = cells(&folder);
    // A method that this version does not have fails before its memory is computed.
    assert!(marked.iter().all(|cell| cell["state"] == "out-of-memory" || cell["state"] == "failed"));
    let why = marked[0]["why"].as_str().unwrap();
    assert!(why.starts_with("about ") && why.ends_with(" would be needed, and there are 5 MB"), "{why}");
    is_page(&folder, &["O.O.M."]);

    let folder = Folder::new();
    folder
        .run("reproduce --only fig5c --scale 0.01 --threads 1 --time 0.000001 --out results --quiet")
        .succeeds();
    assert!(cells(&folder).iter().all(|cell| cell["state"] == "out-of-time"));
    is_page(&folder, &["O.O.T."]);
    folder.run("reproduce --time 0 --out other").fails(2, &["--time"]);
    folder.run("reproduce --only fig2 --out other").fails(2, &["fig2", "fig5a"]);
    folder.run("reproduce").fails(2, &["--out"]);
}

#[test]
fn a_download_is_converted_once_and_labelled_so() {
    let folder = Folder::new();
    fs::create_dir(folder.path("ml")).unwrap();
    let mut ratings = String::from("userId,movieId,rating,timestamp\n");
    for (user, movie) in (1..=30).flat_map(|user| (1..=20).map(move |movie| (user, movie))) {
        if (user * 7 + movie * 5) % 4 != 0 {
            let time = 1_112_486_027 + 400_000 * (user + movie);
            writeln!(ratings, "{user},{movie},{}.0,{time}", 1 + (user + 2 * movie) % 5).unwrap();
        }
    }
    let movies: String = (1..=20).map(|movie| format!("{movie},Film {movie},Drama\n")).collect();
    folder.write("ml/ratings.csv", ratings);
    folder.write("ml/movies.csv", format!("movieId,title,genres\n{movies}"));
    let line = "reproduce --only fig6 --movielens ml --threads 1 --budget 0.1 --out results --quiet";
    folder.run(line).succeeds();
    assert_eq!(folder.list("results/data"), ["movielens-10m.s3cmtf"]);
    is_page(&folder, &["MovieLens: the original downloads.", "MovieLens (the download)"]);
    let first = &cells(&folder)[0];
    assert_eq!(first["cell"]["data"]["ratings"]["original"], true);
    let counted = |key: &str| first["facts"][key].as_u64().unwrap();
    assert_eq!((counted("entries"), counted("test_entries")), (360, 90));
    folder.run("reproduce --only fig6 --movielens nowhere --out other").fails(1, &["nowhere"]);
}

#[test]
fn clusters_and_the_concepts_of_a_user_are_found() {
    let folder = Folder::new();
    folder
        .run("reproduce --only fig7,table5,fig8 --scale 0.0001 --threads 2 --out results --quiet")
        .succeeds();
    let all = cells(&folder);
    assert_eq!(all.len(), 6);
    for cell in &all {
        let found = &cell["found"];
        assert_eq!(found["rows"]["gaps"].as_array().unwrap().len(), 20, "{cell}");
        assert!(found["agreement"].is_number() && found["user"]["name"].is_string());
        let norms = found["user"]["norms"].as_array().unwrap();
        assert!(!norms.is_empty() && norms.iter().all(|norm| norm[0].as_f64().unwrap() >= 0.0));
    }
    is_page(&folder, &["Figure 7", "Table 5", "Figure 8", "Our profile of the same user", "Las Vegas"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_what_was_run() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = Folder::new();
    let mut command = folder.command(crate::harness::BINARY);
    command
        .args("reproduce --only fig1 --scale 0.001 --threads 1 --budget 60 --out results --quiet".split(' '));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let lines =
        || fs::read_to_string(folder.path("results/cells.jsonl")).map_or(0, |text| text.lines().count());
    while lines() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no cell was run");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = cells(&folder).len();
    assert!(run >= 1);
    is_page(&folder, &["Figure 1", &format!("{run} of 33 cells so far")]);
}
