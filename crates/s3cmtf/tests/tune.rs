//! What a search for settings finds, tells of and keeps to.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::planted::planted;
use s3cmtf::tune::{Becomes, End, Event, Tuned};
use s3cmtf::{Absent, Algorithm, Coupled, Entries, Params, Problem, Training, Tuning};

/// More than any of these searches needs.
const PLENTY: Duration = Duration::from_secs(3600);

/// A matrix of rank 6.
fn matrix() -> Problem {
    Problem::builder(planted(&[60, 50], &[6, 6], true, 2.0, 0.1, 2_000, 3).train).build().unwrap()
}

fn base(rank: usize) -> Params {
    Params { ranks: vec![rank], epochs: 30, threads: 1, ..Params::default() }
}

fn search(tuning: Tuning<'_>) -> Tuned {
    tuning.budget(PLENTY).run().unwrap()
}

#[test]
fn a_rank_that_is_too_small_loses_to_a_larger_one() {
    let tuned = search(Tuning::new(matrix(), base(2)).algorithms(vec![Algorithm::Bayes]));
    assert_eq!(tuned.end, End::Searched);
    assert_eq!(tuned.held_out, 200);
    let (first, chosen) = (&tuned.trials[0], tuned.recommended().unwrap());
    assert_eq!((&first.params, first.difference), (&base(2), 0.0));
    assert!(chosen.params.ranks[0] >= 6, "rank {:?}", chosen.params.ranks);
    assert!(chosen.is_better() && chosen.rmse < 0.8 * first.rmse, "{} {}", chosen.rmse, first.rmse);
    assert!((chosen.rmse - first.rmse - chosen.difference).abs() < 1e-9);
}

#[test]
fn the_algorithm_and_the_weights_of_sgd_are_searched_too() {
    let start = Params { ranks: vec![2], epochs: 20, lambda_reg: 200.0, threads: 1, ..Params::sgd() };
    let tuned = search(Tuning::new(matrix(), start.clone()));
    let has = |algorithm: Algorithm| tuned.trials.iter().any(|trial| trial.params.algorithm == algorithm);
    assert!(has(Algorithm::Bayes) && has(Algorithm::Sgd));
    assert!(tuned.recommended().unwrap().is_better());
    assert!(tuned.trials.iter().any(|trial| trial.params.lambda_reg < start.lambda_reg));
}

#[test]
fn a_matrix_that_does_harm_is_changed() {
    let planted = planted(&[60, 50], &[3, 3], true, 2.0, 0.1, 2_000, 3).train;
    let mut numbers = crate::common::Numbers(8);
    // Rows that have nothing in common are pulled together.
    let mut ends = || (0..200).map(|_| numbers.below(60) as u32).collect::<Vec<u32>>();
    let edges = Entries::new(vec![ends(), ends()], vec![1.0; 200]).unwrap();
    let graph = Coupled::new(0, Absent::Graph, edges).unwrap().named("harm").weighted(1000.0);
    let problem = Problem::builder(planted).couple(graph).build().unwrap();
    let tuning = || Tuning::new(problem.clone(), base(5)).algorithms(vec![Algorithm::Bayes]);
    let tuned = search(tuning().matrices(true));
    let chosen = tuned.recommended().unwrap();
    let changes: Vec<(&str, Becomes)> =
        chosen.changes.iter().map(|change| (change.name.as_str(), change.to)).collect();
    assert!(matches!(changes[..], [("harm", Becomes::LeftOut | Becomes::NoWeight)]), "{changes:?}");
    assert!(chosen.is_better() && tuned.note().is_none());
    // Unless that is asked for, data stay what they are.
    assert!(search(tuning()).trials.iter().all(|trial| trial.changes.is_empty()));
}

#[test]
fn a_budget_too_small_for_more_is_spent_on_the_start() {
    let mut told = Vec::new();
    let tuned = Tuning::new(matrix(), base(4))
        .budget(Duration::ZERO)
        .observe(|event| {
            match event {
                Event::Start(..) => told.push("start"),
                Event::Trial(_) => told.push("trial"),
                Event::Skip(_) => told.push("skip"),
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    assert_eq!(told, ["start", "trial"]);
    assert_eq!((tuned.trials.len(), tuned.end), (1, End::Budget));
    assert_eq!(tuned.recommended(), tuned.trials.first());
}

#[test]
fn an_interrupt_keeps_the_trials_so_far() {
    let flag = AtomicBool::new(false);
    let tuned = Tuning::new(matrix(), base(4))
        .budget(PLENTY)
        .interrupt(&flag)
        .observe(|event| match event {
            Event::Trial(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .run()
        .unwrap();
    assert_eq!((tuned.trials.len(), tuned.end), (1, End::Interrupted));
    assert!(flag.load(Ordering::Relaxed));
    let tuned = Tuning::new(matrix(), base(4)).interrupt(&flag).run().unwrap();
    assert!(tuned.trials.is_empty() && tuned.recommended().is_none());
}

#[test]
fn a_trial_is_a_training_with_the_same_holdout() {
    let tuned = Tuning::new(matrix(), base(4)).budget(Duration::ZERO).holdout(0.2).run().unwrap();
    let run = Training::new(matrix(), base(4)).holdout(0.2).run().unwrap();
    let (tried, trained) = (tuned.trials[0].rmse, run.record.summary.test_rmse.unwrap());
    assert!((tried - trained).abs() < 1e-4 * trained, "{tried} {trained}");
}

#[test]
fn settings_and_shares_out_of_range_are_refused() {
    let error = |tuning: Tuning<'_>| tuning.run().unwrap_err().to_string();
    assert!(error(Tuning::new(matrix(), base(0))).starts_with("rank should be from 1"));
    for share in [0.0, 1.0, f64::NAN] {
        let error = error(Tuning::new(matrix(), base(4)).holdout(share));
        assert!(error.starts_with("holdout should be between 0 and 1"), "{error}");
    }
}
