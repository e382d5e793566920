//! What parts of a problem are effect, where that is known.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use crate::common::Numbers;
use s3cmtf::tune::{Ablated, AblationEvent, Verdict};
use s3cmtf::{Ablation, Absent, Coupled, Entries, LeftOut, Params, Problem};

const USERS: usize = 120;
const FILMS: usize = 300;
const GENRES: usize = 5;

/// Users rate films by their genre, which is all that is known of most films; in months that mean nothing. A matrix has the
/// genres, another one something that has nothing to do with films.
fn problem(noise_weight: Option<f32>) -> Problem {
    let mut numbers = Numbers(5);
    let tastes = numbers.list(USERS * GENRES);
    let mut indices = vec![Vec::new(); 3];
    let mut values = Vec::new();
    for _ in 0..2500 {
        let (user, film) = (numbers.below(USERS), numbers.below(FILMS));
        let noise = numbers.uniform() + numbers.uniform();
        values.push(3.0 + 1.5 * tastes[user * GENRES + film % GENRES] + 0.2 * noise);
        [user, film, numbers.below(8)]
            .into_iter()
            .zip(&mut indices)
            .for_each(|(id, list)| list.push(id as u32));
    }
    let films: Vec<u32> = (0..FILMS as u32).collect();
    let matrix = |columns: Vec<u32>, name: &str| {
        let entries = Entries::new(vec![films.clone(), columns], vec![1.0; FILMS]).unwrap();
        Coupled::new(1, Absent::Zeros, entries).unwrap().named(name)
    };
    let genres = matrix(films.iter().map(|film| film % GENRES as u32).collect(), "genres");
    let colours = matrix(films.iter().map(|_| numbers.below(6) as u32).collect(), "colours");
    let colours = match noise_weight {
        Some(weight) => colours.weighted(weight),
        None => colours,
    };
    Problem::builder(Entries::new(indices, values).unwrap())
        .names(["user", "film", "month"].map(Into::into).into())
        .couple(genres)
        .couple(colours)
        .build()
        .unwrap()
}

fn params() -> Params {
    Params { ranks: vec![10], epochs: 60, threads: 2, ..Params::default() }
}

fn verdict(ablated: &Ablated, name: &str) -> Verdict {
    ablated.parts.iter().find(|effect| effect.left_out.name() == name).unwrap().verdict
}

#[test]
fn what_says_something_helps_and_what_says_nothing_does_not() {
    let ablated = Ablation::new(problem(None), params()).run().unwrap();
    let names: Vec<&str> = ablated.parts.iter().map(|effect| effect.left_out.name()).collect();
    assert_eq!(names, ["genres", "colours", "month"]);
    assert_eq!(verdict(&ablated, "genres"), Verdict::Helps, "{:?}", ablated.parts);
    assert_ne!(verdict(&ablated, "colours"), Verdict::Helps, "{:?}", ablated.parts);
    assert_ne!(verdict(&ablated, "month"), Verdict::Helps, "{:?}", ablated.parts);
    let (rmse, simple) = (ablated.rmse.unwrap(), ablated.simple.unwrap());
    assert!(rmse < simple.offsets_rmse && simple.offsets_rmse < 1.1 * simple.mean_rmse);
    assert_eq!((ablated.held_out, ablated.interrupted, ablated.note()), (249, false, None));
    // The same trainings come to the same.
    let short = || Ablation::new(problem(None), Params { epochs: 8, ..params() }).run().unwrap();
    let (one, again) = (short(), short());
    assert_eq!((one.rmse, one.parts[2].rmse), (again.rmse, again.parts[2].rmse));
}

#[test]
fn what_a_model_is_forced_to_explain_makes_it_worse() {
    // No concept to spare for what has to be explained.
    let params = Params { ranks: vec![7], ..params() };
    let ablated = Ablation::new(problem(Some(100.0)), params).run().unwrap();
    assert_eq!(verdict(&ablated, "colours"), Verdict::Worse, "{:?}", ablated.parts);
    let note = ablated.parts[1].note().unwrap();
    assert!(note.starts_with("colours makes predictions worse: the RMSE on held-out entries is "), "{note}");
}

#[test]
fn an_interrupt_keeps_what_is_known() {
    let flag = AtomicBool::new(false);
    let mut told = Vec::new();
    let params = Params { epochs: 8, ..params() };
    let ablated = Ablation::new(problem(None), params.clone())
        .interrupt(&flag)
        .observe(|event| {
            match event {
                AblationEvent::Start(part, again) => {
                    told.push(format!("{} {again}", part.map_or("all", |_| "less")))
                }
                AblationEvent::Whole(_) => told.push("whole".into()),
                AblationEvent::Effect(effect) => {
                    told.push(effect.left_out.name().to_owned());
                    return ControlFlow::Break(());
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    assert_eq!(told, ["all 0", "all 1", "whole", "less 0", "less 1", "genres"]);
    assert!(ablated.interrupted && ablated.parts.len() == 1 && ablated.rmse.is_some());
    let ablated = Ablation::new(problem(None), params).interrupt(&flag).run().unwrap();
    assert!(ablated.interrupted && ablated.rmse.is_none() && ablated.parts.is_empty());
}

#[test]
fn where_there_is_nothing_to_leave_out_that_is_said() {
    let problem = problem(None).alone().unwrap();
    let month = LeftOut::Mode { place: 2, name: "month".into() };
    let matrix = problem.without(&month).unwrap();
    let error = Ablation::new(matrix, params()).run().unwrap_err().to_string();
    assert_eq!(error, "there is nothing to leave out: no matrix is coupled, and there are two modes");
    let error = Ablation::new(problem, params()).holdout(1.0).run().unwrap_err().to_string();
    assert!(error.starts_with("holdout should be between 0 and 1"), "{error}");
}
