//! A run that goes on from any of its checkpoints ends as if it had never been stopped.

use std::sync::Mutex;
use std::time::Duration;

use s3cmtf::internal::world::{WorldParams, generate};
use s3cmtf::{
    Absent, Algorithm, Checkpoint, CoreKind, Coupled, Entries, Params, Problem, Run, Stop, Training,
};

/// A problem with a matrix of every kind.
fn problem() -> (Problem, Entries) {
    problem_with(|ratings| ratings, true)
}

/// The same with its ratings changed, and a graph or none.
fn problem_with(change: impl FnOnce(Entries) -> Entries, with_graph: bool) -> (Problem, Entries) {
    let world =
        generate(&WorldParams { users: 120, businesses: 80, ratings: 3_000, ..WorldParams::default() });
    let prices = Entries::new(
        vec![(0..60).collect(), (0..60).map(|i| i % 3).collect()],
        (0..60u8).map(|i| f32::from(i % 5)).collect(),
    );
    let mut builder = Problem::builder(change(world.ratings)).sizes(vec![120, 80, 24]);
    if with_graph {
        builder = builder.couple(Coupled::new(0, Absent::Graph, world.friends).unwrap());
    }
    let builder = builder
        .couple(Coupled::new(1, Absent::Zeros, world.categories).unwrap())
        .couple(Coupled::new(1, Absent::Missing, prices.unwrap()).unwrap());
    (builder.build().unwrap(), world.test)
}

fn run(params: &Params, resume: Option<Checkpoint>, kept: &Mutex<Vec<Checkpoint>>) -> Run {
    // Graphs are not for all of them.
    let (problem, test) = problem_with(|ratings| ratings, params.algorithm != Algorithm::Ials);
    let mut training = Training::new(problem, params.clone())
        .test(test)
        .checkpoints(Duration::ZERO, |checkpoint| kept.lock().unwrap().push(checkpoint));
    if let Some(checkpoint) = resume {
        training = training.resume(checkpoint);
    }
    training.run().unwrap()
}

fn every_checkpoint_leads_to_the_same_model(params: &Params) {
    checkpoints_lead_to_the_same_model(params, 1);
}

/// Every so many of them.
fn checkpoints_lead_to_the_same_model(params: &Params, every: usize) {
    let kept = Mutex::new(Vec::new());
    let whole = run(params, None, &kept);
    let kept = kept.into_inner().unwrap();
    assert!(kept.len() >= 3, "{}", kept.len());
    for checkpoint in kept.into_iter().step_by(every) {
        let at = checkpoint.about.history.len();
        let resumed = run(params, Some(checkpoint), &Mutex::new(Vec::new()));
        assert_eq!(resumed.model, whole.model, "resumed behind epoch {at}");
        assert_eq!(resumed.record.summary.epochs, whole.record.summary.epochs);
        let rmses = |run: &Run| run.record.history.iter().map(|epoch| epoch.test_rmse).collect::<Vec<_>>();
        assert_eq!(rmses(&resumed), rmses(&whole));
    }
}

#[test]
fn the_papers_order_goes_on() {
    let params = Params { ranks: vec![3], epochs: 6, threads: 1, ..Params::paper() };
    every_checkpoint_leads_to_the_same_model(&params);
}

#[test]
fn choices_go_on_while_settings_are_tried_and_when_they_are_known() {
    checkpoints_lead_to_the_same_model(&Params { ranks: vec![4], epochs: 44, ..Params::ials() }, 5);
}

#[test]
fn draws_go_on() {
    every_checkpoint_leads_to_the_same_model(&Params { ranks: vec![4], epochs: 10, ..Params::default() });
}

#[test]
fn draws_of_ranks_that_are_found_go_on() {
    // Concepts go behind epochs 20 and 30, and entries that were held out take part behind epoch 30.
    checkpoints_lead_to_the_same_model(&Params { epochs: 44, ..Params::default() }, 5);
}

#[test]
fn draws_that_end_by_a_tolerance_go_on() {
    let params = Params { ranks: vec![4], epochs: 100, tolerance: Some(0.01), ..Params::default() };
    checkpoints_lead_to_the_same_model(&params, 6);
    let ended = run(&params, None, &Mutex::new(Vec::new())).record.summary;
    assert!(ended.stop == Stop::Tolerance && ended.epochs < 100, "{ended:?}");
}

#[test]
fn draws_with_a_diagonal_core_go_on() {
    let params = Params { core: CoreKind::Diagonal, ..Params::default() };
    every_checkpoint_leads_to_the_same_model(&Params { ranks: vec![7], epochs: 10, ..params.clone() });
    checkpoints_lead_to_the_same_model(&Params { epochs: 44, ..params }, 5);
}

#[test]
fn steps_go_on() {
    for threads in [1, 2] {
        let params = Params { ranks: vec![4], epochs: 8, threads, deterministic: true, ..Params::sgd() };
        every_checkpoint_leads_to_the_same_model(&params);
    }
}

#[test]
fn both_parts_of_a_patient_run_go_on() {
    let sgd = Params { deterministic: true, ..Params::sgd() };
    for params in [Params::default(), sgd] {
        let params = Params { ranks: vec![3], epochs: 12, patience: Some(3), ..params };
        every_checkpoint_leads_to_the_same_model(&params);
    }
}

/// What a broken file may hold: a run goes on from it or says why not.
#[test]
fn impossible_numbers_are_refused_or_put_right() {
    let patient =
        |params: Params| Params { ranks: vec![2], epochs: 6, patience: Some(2), threads: 1, ..params };
    for params in [patient(Params::default()), patient(Params { deterministic: true, ..Params::sgd() })] {
        let kept = Mutex::new(Vec::new());
        run(&params, None, &kept);
        let kept = kept.into_inner().unwrap();
        let (problem, _) = problem();
        let go_on = |checkpoint: Checkpoint| {
            let training = Training::new(problem.clone(), params.clone()).holdout(0.1);
            training.resume(checkpoint).run().map_err(|error| error.to_string())
        };
        for checkpoint in [&kept[0], kept.last().unwrap()] {
            for (name, values) in &checkpoint.numbers.doubles {
                let mut broken = checkpoint.clone();
                broken.numbers.doubles.insert(name.clone(), vec![f64::NAN; values.len()]);
                // Some are there at each epoch, but needed only later.
                match go_on(broken) {
                    Err(error) => assert!(error.contains(&format!("no \"{name}\" that fits")), "{error}"),
                    Ok(_) => {
                        assert!(!["watch", "noise", "average", "best"].contains(&name.as_str()), "{name}")
                    }
                }
            }
            // Later epochs, halvings and draws than there can have been.
            for name in ["best", "watch", "average"] {
                let mut broken = checkpoint.clone();
                if let Some(values) = broken.numbers.doubles.get_mut(name) {
                    values.fill(1e300);
                    if let Err(error) = go_on(broken) {
                        let right = ["that fits the run", "too large for 32 bits"];
                        assert!(right.iter().any(|right| error.contains(right)), "{error}");
                    }
                }
            }
        }
        let mut broken = kept[0].clone();
        broken.about.history = vec![broken.about.history[0].clone(); 7];
        let error = go_on(broken).unwrap_err();
        assert_eq!(error, "the run to resume has 7 epochs behind it and the best is 1, but it had 1 to 6");
    }
}

#[test]
fn other_data_and_settings_are_refused() {
    let kept = Mutex::new(Vec::new());
    let params = Params { ranks: vec![2], epochs: 3, ..Params::default() };
    run(&params, None, &kept);
    let checkpoint = kept.into_inner().unwrap().remove(0);
    let (problem, _) = problem();
    let go_on = |problem: Problem, params: Params| {
        Training::new(problem, params).resume(checkpoint.clone()).run().unwrap_err().to_string()
    };
    assert!(go_on(problem.clone(), Params { seed: 9, ..params.clone() }).contains("other settings"));
    let (less, _) = problem.hold_out(0.1, 1).unwrap();
    assert!(go_on(less, params.clone()).contains("other data"));
    let (turned, _) = problem_with(
        |ratings| {
            let turned = |list: &[u32]| list.iter().rev().copied().collect();
            let indices = (0..ratings.order()).map(|mode| turned(ratings.indices(mode))).collect();
            Entries::new(indices, ratings.values().iter().rev().copied().collect()).unwrap()
        },
        true,
    );
    assert!(go_on(turned, params).contains("in another order"));
}
