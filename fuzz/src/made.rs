//! A problem and a model with everything: absent ids, names, a coupled matrix of each kind, uncertainty, offsets.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use s3cmtf::internal::table::time::Bin;
use s3cmtf::internal::table::{Binning, Labels};
use s3cmtf::{Checkpoint, Core, Coupled, CoupledFactor, Entries, Factor, Absent, Mode, Model, Naming, Offsets, Params, Problem, Run, StdScale, Training, Uncertainty};

use crate::path;

fn naming(column: &str, binning: Option<Binning>, labels: &[&str]) -> Naming {
    Naming { column: column.into(), binning, labels: labels.iter().collect::<Labels>() }
}

fn factor(rows: usize, rank: usize) -> Factor {
    Factor::new(rank, (1..=rows * rank).map(|number| number as f32 / 8.0).collect())
}

/// A small problem.
pub fn problem() -> Problem {
    let entries = Entries::new(
        vec![vec![0, 1, 2, 3, 0, 1], vec![0, 9, 9, 0, 4, 4], vec![0, 0, 1, 1, 1, 0]],
        vec![1.0, 2.0, 3.5, 4.0, 5.0, 0.5],
    );
    let graph = Entries::new(vec![vec![0, 1], vec![1, 3]], vec![1.0, 2.0]).expect("edges");
    let zeros = Entries::new(vec![vec![0, 9], vec![0, 2]], vec![1.0, 1.0]).expect("cells");
    let missing = Entries::new(vec![vec![0, 1, 1], vec![0, 1, 0]], vec![1.0, -1.0, 0.5]).expect("cells");
    let coupled = |mode, kind, entries| Coupled::new(mode, kind, entries).expect("a matrix");
    let genres = naming("genres", None, &["Comedy", "", "Drama"]);
    Problem::builder(entries.expect("entries").named("ratings.csv"))
        .names(["user", "item", "month"].map(String::from).into())
        .namings(vec![
            Some(naming("user", None, &["ann", "bob", "eve", "\u{e9}va"])),
            None,
            Some(naming("time", Some(Binning::Time(Bin::Month)), &["2017-03", "2017-04"])),
        ])
        .value("stars")
        .couple(coupled(0, Absent::Graph, graph).named("friends"))
        .couple(
            coupled(1, Absent::Zeros, zeros).named("genre").weighted(0.5).columns_named(genres).expect("names"),
        )
        .couple(coupled(2, Absent::Missing, missing).named("../weather"))
        .build()
        .expect("a problem")
}

/// A model of three modes.
pub fn model() -> Model {
    let modes = vec![
        Mode::new("user", 3),
        Mode::with_present("item", 4_000_000_000, vec![3, 3_999_999_999]).expect("ascending"),
        Mode::new("month", 2)
            .named(naming("time", Some(Binning::Bounds(vec![0.5])), &["below 0.5", "0.5 and above"]))
            .expect("two names"),
    ];
    let coupled = |name: &str, mode, kind, columns: Mode, rank| {
        let factor = factor(columns.rows(), rank);
        CoupledFactor { name: name.into(), mode, kind, weight: 0.1, columns, factor, effects: None }
    };
    let genres = Mode::with_present("column", 3, vec![0, 2]).expect("ascending");
    let genres = genres.named(naming("genres", None, &["Comedy", "", "Drama"])).expect("three names");
    let parts = vec![
        coupled("user/friends", 0, Absent::Graph, Mode::new("", 0), 2),
        coupled("../genre", 1, Absent::Zeros, genres, 1),
        coupled("price", 1, Absent::Missing, Mode::new("column", 1), 1),
    ];
    let factors = vec![factor(3, 2), factor(2, 1), factor(2, 2)];
    let core = Core::full(vec![2, 1, 2], vec![1.0, 0.5, -0.25, 2.0]);
    Model::new(modes, core, factors.clone(), parts, [0.5, 5.0])
        .expect("parts that fit")
        .with_uncertainty(Uncertainty {
            noise: 0.5,
            shares: vec![vec![1.0, 0.5, 2.0], vec![1.0; 2], vec![0.5; 2]],
            variances: factors,
            scale: Some(StdScale { points: vec![[1.0, 0.5], [4.0, 1.5]] }),
        })
        .expect("an uncertainty that fits")
        .with_offsets(Offsets {
            mean: 3.5,
            lambdas: vec![10.0, 1.0, 0.1],
            rows: vec![vec![0.5, 0.0, -0.5], vec![0.25; 2], vec![-1.0; 2]],
        })
        .expect("offsets that fit")
        .with_value(Some("stars".into()))
}

/// A model whose core is diagonal.
pub fn diagonal() -> Model {
    let modes = vec![Mode::new("a", 3), Mode::new("b", 2)];
    let factors = vec![factor(3, 2), factor(2, 2)];
    Model::new(modes, Core::Diagonal(vec![1.5, -0.5]), factors, Vec::new(), [-1.0, 1.0])
        .expect("parts that fit")
}

/// The settings of short runs.
pub fn settings() -> [Params; 3] {
    let small = |params: Params| Params { ranks: vec![2], epochs: 3, threads: 1, ..params };
    [
        small(Params::default()),
        small(Params { deterministic: true, ..Params::sgd() }),
        Params { patience: Some(2), ..small(Params::default()) },
    ]
}

/// A checkpoint after each epoch of a run, and what comes of it.
pub fn train(params: Params) -> (Vec<Checkpoint>, Run) {
    let kept = Mutex::new(Vec::new());
    let training = Training::new(problem(), params)
        .checkpoints(Duration::ZERO, |checkpoint| kept.lock().expect("one thread").push(checkpoint));
    let run = training.run().expect("a run");
    (kept.into_inner().expect("one thread"), run)
}

/// The two files of a folder with [`model`] in it.
pub fn run() -> &'static (Vec<u8>, Vec<u8>) {
    static RUN: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    RUN.get_or_init(|| {
        let [params, ..] = settings();
        let folder = path("good");
        s3cmtf::internal::files::save(&Run { model: model(), ..train(params).1 }, &folder).expect("a folder");
        let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
        (read("model.safetensors"), read("run.json"))
    })
}
