//! What alternating least squares reach, promise and survive.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::common::odd::odd_data;
use crate::common::planted::{Planted, planted};
use s3cmtf::{
    Absent, Algorithm, Checkpoint, CoreKind, Coupled, Entries, Epoch, FoldIn, Params, Problem, Run, Stop,
    Training,
};

fn alone(planted: &Planted) -> Problem {
    Problem::builder(planted.train.clone()).build().unwrap()
}

fn als(ranks: &[usize], diagonal: bool) -> Params {
    let core = if diagonal { CoreKind::Diagonal } else { CoreKind::Full };
    Params { ranks: ranks.to_vec(), core, threads: 2, ..Params::als() }
}

fn fit(planted: &Planted, params: Params) -> Run {
    Training::new(alone(planted), params).test(planted.test.clone()).run().unwrap()
}

fn share(entries: &Entries) -> f64 {
    let squares: f64 = entries.values().iter().map(|&value| f64::from(value).powi(2)).sum();
    (squares / entries.len() as f64).sqrt()
}

#[test]
fn exact_tensors_are_found_to_the_last_digits() {
    for (sizes, ranks, count) in [
        (vec![60, 50], vec![3, 3], 1_200),
        (vec![30, 25, 20], vec![3, 3, 3], 1_500),
        (vec![30, 25, 20], vec![2, 3, 4], 1_500),
        (vec![16, 14, 12, 10], vec![3, 3, 3, 3], 2_700),
    ] {
        for diagonal in [false, true] {
            if diagonal && ranks.iter().any(|&rank| rank != ranks[0]) {
                continue;
            }
            for seed in 1..4 {
                let planted = planted(&sizes, &ranks, diagonal, 0.0, 0.0, count, seed);
                let run = fit(&planted, als(&ranks, diagonal));
                let error = run.record.summary.test_rmse.unwrap() / share(&planted.test);
                assert!(error < 1e-5, "{sizes:?}, diagonal {diagonal}, seed {seed}: {error}");
                assert_eq!(run.record.summary.stop, Stop::Tolerance);
                assert_eq!(run.record.summary.best_epoch, run.record.summary.epochs);
            }
        }
    }
}

#[test]
fn noise_is_where_it_ends_and_a_rank_too_high_does_little_harm() {
    for diagonal in [false, true] {
        for (noise, ranks) in [(1e-3, 3), (0.1, 3), (0.1, 5)] {
            let planted = planted(&[50, 40, 30], &[3, 3, 3], diagonal, 0.0, noise, 9_000, 5);
            let reached = fit(&planted, als(&[ranks], diagonal)).record.summary.test_rmse.unwrap();
            assert!(
                reached < 1.1 * planted.noise,
                "diagonal {diagonal}, rank {ranks}: {reached}, not {noise}"
            );
        }
    }
}

#[test]
fn threads_do_not_change_a_bit_and_the_rmse_is_that_of_the_model() {
    for diagonal in [false, true] {
        let planted = planted(&[40, 30, 12], &[3, 3, 3], diagonal, 1.0, 0.2, 4_000, 7);
        let run = |threads: usize| fit(&planted, Params { threads, epochs: 60, ..als(&[4], diagonal) });
        let one = run(1);
        for threads in [2, 5] {
            assert_eq!(one.model, run(threads).model, "1 and {threads} threads");
        }
        let told = (one.record.summary.train_rmse, one.record.summary.test_rmse.unwrap());
        for (entries, told) in [(&planted.train, told.0), (&planted.test, told.1)] {
            let evaluated = one.model.evaluate(entries, false).unwrap().rmse;
            assert!((evaluated - told).abs() < 1e-5, "{evaluated} and not {told}");
        }
    }
}

/// A tensor of rank 2, a matrix of rank 2 whose rows are the first mode, and a row that the tensor does not know.
fn coupled(kind: Absent) -> (Planted, Coupled, Vec<f32>) {
    let planted = planted(&[40, 30, 12], &[2, 2, 2], true, 0.0, 0.0, 3_000, 9);
    let found = fit(&planted, als(&[2], true)).model;
    let columns: Vec<[f32; 2]> = (0..10).map(|j| [(j as f32).sin(), (j as f32 * 1.7).cos()]).collect();
    let rows: Vec<&[f32]> = (0..40).map(|row| found.factors()[0].row(row)).collect();
    let value = |row: usize, j: usize| rows[row][0] * columns[j][0] + rows[row][1] * columns[j][1];
    let cells: Vec<(u32, u32)> = (0..40).flat_map(|i| (0..10).map(move |j| (i, j))).collect();
    let values = cells.iter().map(|&(i, j)| value(i as usize, j as usize)).collect();
    let cells =
        Entries::new(vec![cells.iter().map(|c| c.0).collect(), cells.iter().map(|c| c.1).collect()], values);
    let truth = found.predict(&planted.train, false).unwrap();
    (planted, Coupled::new(0, kind, cells.unwrap()).unwrap(), truth)
}

#[test]
fn rows_are_found_by_coupled_matrices_alone() {
    for kind in [Absent::Missing, Absent::Zeros] {
        let (planted, matrix, truth) = coupled(kind);
        let entries = &planted.train;
        let known: Vec<usize> = (0..entries.len()).filter(|&place| entries.indices(0)[place] != 7).collect();
        let pick = |mode: usize| known.iter().map(|&place| entries.indices(mode)[place]).collect();
        let values = known.iter().map(|&place| entries.values()[place]).collect();
        let rest = Entries::new((0..3).map(pick).collect(), values).unwrap();
        let problem = Problem::builder(rest).sizes(vec![40, 30, 12]).couple(matrix).build().unwrap();
        let model = Training::new(problem, als(&[2], true)).run().unwrap().model;
        let predictions = model.predict(entries, false).unwrap();
        let apart = predictions.iter().zip(&truth).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-3, "{kind:?}: {apart}");
        assert_eq!(model.coupled()[0].factor.rows(), 10);
    }
}

#[test]
fn what_it_does_not_have_is_refused() {
    let planted = planted(&[20, 15], &[2, 2], false, 0.0, 0.0, 200, 1);
    let refused =
        |params: Params, problem: Problem| Training::new(problem, params).run().unwrap_err().to_string();
    let edges = Entries::new(vec![vec![0, 1], vec![1, 2]], vec![1.0; 2]).unwrap();
    let graph = Coupled::new(0, Absent::Graph, edges).unwrap();
    let with_graph = Problem::builder(planted.train.clone()).couple(graph).build().unwrap();
    let expected = "algorithm should be bayes or sgd when a coupled matrix is a graph, but is als";
    assert_eq!(refused(als(&[2], false), with_graph), expected);
    for params in [
        Params { nonnegative: true, ..als(&[2], false) },
        Params { patience: Some(3), ..als(&[2], false) },
        Params { rate: Some(0.1), ..als(&[2], false) },
    ] {
        let error = refused(params, alone(&planted));
        assert!(error.starts_with("algorithm should be ") && error.ends_with("but is als"), "{error}");
    }
}

#[test]
fn odd_data_neither_diverges_nor_panics() {
    for (name, entries) in odd_data() {
        for diagonal in [false, true] {
            // Rank 12 is above the number of rows of some modes.
            for ranks in [1, 4, 12] {
                let problem = Problem::builder(entries.clone()).build().unwrap();
                let params = Params { epochs: 12, ..als(&[ranks], diagonal) };
                let run = Training::new(problem, params).run().unwrap();
                let rmse = run.record.summary.train_rmse;
                assert!(rmse <= 1.01 * share(&entries), "{name}: RMSE {rmse}, values {}", share(&entries));
                let predictions = run.model.predict(&entries, false).unwrap();
                assert!(predictions.iter().all(|value| value.is_finite()), "{name}");
            }
        }
    }
}

fn until(epoch: &Epoch, last: usize) -> ControlFlow<()> {
    if epoch.epoch >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

#[test]
fn an_interrupt_keeps_the_best_so_far() {
    let planted = planted(&[40, 30, 12], &[3, 3, 3], false, 1.0, 0.3, 3_000, 7);
    for last in [0, 1, 30] {
        let flag = AtomicBool::new(last == 0);
        let training = Training::new(alone(&planted), als(&[3], false)).interrupt(&flag);
        let run = training.observe(|epoch| until(epoch, last)).run().unwrap();
        assert_eq!((run.record.summary.stop, run.record.summary.epochs), (Stop::Interrupted, last));
        let least = run.record.history.iter().map(|epoch| epoch.train_rmse).fold(f64::INFINITY, f64::min);
        assert!(run.record.summary.train_rmse <= 1.001 * least || last == 0);
    }
}

#[test]
fn a_run_goes_on_from_any_checkpoint_and_from_a_model() {
    let planted = planted(&[30, 25, 12], &[3, 3, 3], true, 1.0, 0.2, 2_000, 3);
    let (_, matrix, _) = coupled(Absent::Zeros);
    let problem =
        Problem::builder(planted.train.clone()).sizes(vec![40, 25, 12]).couple(matrix).build().unwrap();
    let params = Params { epochs: 90, ..als(&[3], true) };
    let run = |resume: Option<Checkpoint>, kept: &Mutex<Vec<Checkpoint>>| {
        let mut training = Training::new(problem.clone(), params.clone())
            .checkpoints(Duration::ZERO, |checkpoint| kept.lock().unwrap().push(checkpoint));
        if let Some(checkpoint) = resume {
            training = training.resume(checkpoint);
        }
        training.run()
    };
    let kept = Mutex::new(Vec::new());
    let whole = run(None, &kept).unwrap();
    let kept = kept.into_inner().unwrap();
    for checkpoint in kept.iter().step_by(7) {
        let resumed = run(Some(checkpoint.clone()), &Mutex::new(Vec::new())).unwrap();
        assert_eq!(resumed.model, whole.model, "behind epoch {}", checkpoint.about.history.len());
    }
    for name in kept[kept.len() - 1].numbers.doubles.keys() {
        for number in [f64::NAN, 1e300] {
            let mut broken = kept[kept.len() - 1].clone();
            broken.numbers.doubles.get_mut(name).unwrap().fill(number);
            // Whatever is in a file, a run goes on or says why not.
            if let Err(error) = run(Some(broken), &Mutex::new(Vec::new())) {
                assert!(error.to_string().contains("that fits the run"), "{error}");
            }
        }
    }
    let again = Params { epochs: 3, ..params.clone() };
    let warm = Training::new(problem.clone(), again).warm_start(whole.model.clone()).run().unwrap();
    assert!(warm.record.summary.train_rmse < 1.05 * whole.record.summary.train_rmse);
}

#[test]
fn exact_first_keeps_what_is_exact_and_only_that() {
    let run = |planted: &Planted, params: Params| {
        Training::new(alone(planted), params).test(planted.test.clone()).exact_first().run().unwrap()
    };
    let exact = planted(&[30, 25, 20], &[3, 3, 3], false, 0.0, 0.0, 1_500, 2);
    let bayes = Params { ranks: vec![3], epochs: 4, threads: 2, ..Params::default() };
    let found = run(&exact, bayes.clone());
    assert_eq!(found.record.params.algorithm, Algorithm::Als);
    assert!(found.record.summary.test_rmse.unwrap() < 1e-5 * share(&exact.test));
    let noisy = planted(&[30, 25, 20], &[3, 3, 3], false, 0.0, 0.01, 1_500, 2);
    // As many numbers as entries fit anything.
    let few = planted(&[30, 25, 20], &[3, 3, 3], false, 0.0, 0.0, 250, 2);
    for other in [noisy, few] {
        let found = run(&other, bayes.clone());
        let plain = Training::new(alone(&other), bayes.clone()).run().unwrap();
        assert_eq!((found.record.params.algorithm, found.model), (Algorithm::Bayes, plain.model));
    }
    let constrained = Params { ranks: vec![3], nonnegative: true, epochs: 3, ..Params::sgd() };
    assert_eq!(run(&exact, constrained).record.params.algorithm, Algorithm::Sgd);
}

#[test]
fn rows_that_come_later_are_exact_too() {
    let planted = planted(&[40, 30, 12], &[3, 3, 3], false, 0.0, 0.0, 4_000, 4);
    let entries = &planted.train;
    let part = |late: bool| {
        let places: Vec<usize> =
            (0..entries.len()).filter(|&place| (entries.indices(0)[place] == 39) == late).collect();
        let pick = |mode: usize| places.iter().map(|&place| entries.indices(mode)[place]).collect();
        let values = places.iter().map(|&place| entries.values()[place]).collect();
        Entries::new((0..3).map(pick).collect(), values).unwrap()
    };
    let params = als(&[3], false);
    let problem = Problem::builder(part(false)).sizes(vec![40, 30, 12]).build().unwrap();
    let model = Training::new(problem, params.clone()).run().unwrap().model;
    let folded = FoldIn::new(&model, &params).entries(part(true)).fold_in().unwrap();
    let late = folded.model.evaluate(&part(true), false).unwrap().rmse;
    assert!(late < 1e-4 * share(entries), "{late}");
}
