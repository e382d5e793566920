//! What is left when something fails, or is not as it has to be.

use super::device::{Failing, Failure, TestDevice};
use super::{Random, forms};
use crate::{Entries, Error, Form, Sampler, Setup, State};

const ALL: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn is_problem<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Problem(_)))
}

/// All failures that there are on the way, until there is none any more.
fn each_failure(mut run: impl FnMut(Failure) -> bool) {
    for for_good in [false, true] {
        let count = (0..10_000).take_while(|&after| run(Failure { after, for_good })).count();
        assert!((3..10_000).contains(&count), "{count}");
    }
}

#[test]
fn a_device_that_fails_has_no_sampler() {
    let problem = Random::new(&[9, 6, 5], &[3, 4, 3], 60, 1);
    for form in forms(3) {
        each_failure(|failure| {
            let device = Failing::default();
            device.set(Some(failure));
            let result = problem.sampler_on(device.clone(), |setup| setup.form = form);
            if device.is_waiting() && !failure.for_good || result.is_ok() {
                result.unwrap();
                return false;
            }
            assert!(matches!(result.err(), Some(Error::OutOfMemory(_) | Error::Driver(..))));
            true
        });
    }
}

#[test]
fn sums_over_tuples_without_room_are_sums_over_entries() {
    // Many entries of few tuples.
    let problem = Random::new(&[40, 3, 3], &[3, 4, 3], 600, 1);
    let on = |device: Failing| problem.sampler_on(device, |_| {});
    assert!(on(Failing::default()).unwrap().tuples.is_some());
    let forms = (0..200).map(|after| {
        let device = Failing::default();
        device.set(Some(Failure { after, for_good: false }));
        on(device).ok().map(|sampler| sampler.tuples.is_some())
    });
    assert!(forms.collect::<Vec<_>>().contains(&Some(false)));
}

/// More entries than those of training, in more places.
fn evaluate<D: crate::Device>(sampler: &mut Sampler<D>) -> Result<f64, Error> {
    let indices: Vec<Vec<u32>> =
        [10, 7, 6].map(|rows| (0..2000).map(|entry| entry * 7 / 3 % rows).collect()).to_vec();
    let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
    let set = sampler.evaluation(Entries { indices: &slices, values: &[0.5; 2000] })?;
    sampler.squared_error(Some(&set), false, ALL)
}

#[test]
fn a_sampler_outlives_an_evaluation_that_has_no_room() {
    let problem = Random::new(&[9, 6, 5], &[3, 4, 3], 60, 1);
    let on = |device: Failing| problem.sampler_on(device, |setup| setup.form = Form::Entries).unwrap();
    let mut other = on(Failing::default());
    let expected = [other.squared_error(None, false, ALL).unwrap(), evaluate(&mut other).unwrap()];
    let mut stayed = false;
    each_failure(|failure| {
        let device = Failing::default();
        let mut sampler = on(device.clone());
        device.set(Some(failure));
        let result = evaluate(&mut sampler);
        let came = if failure.for_good { result.is_err() } else { !device.is_waiting() };
        device.set(None);
        let failed = result.is_err();
        // Entries that have no room stay on the host, where they are added up in another order.
        assert!(result.as_ref().map_or(true, |found| (found / expected[1] - 1.0).abs() < 1e-6));
        stayed |= came && !failed;
        let after = sampler.squared_error(None, false, ALL);
        // What was lost for good is an error, and nothing else.
        assert!(after == Ok(expected[0]) || failure.for_good && failed && is_problem(after));
        assert_eq!(evaluate(&mut sampler), Ok(expected[1]));
        came
    });
    assert!(stayed);
}

#[test]
fn a_sampler_whose_state_is_half_another_has_none() {
    let problem = Random::new(&[9, 6, 5], &[3, 4, 3], 60, 1);
    // A part or a stretch alone: each call takes its turn to fail.
    let change = |setup: &mut Setup<'_>, form: Form| (setup.form, setup.part) = (form, 60);
    for (form, draws) in
        [(Form::Entries, false), (Form::Entries, true), (Form::Tuples, true), (Form::StreamedEntries, true)]
    {
        let mut other = problem.sampler_on(TestDevice, |setup| change(setup, form)).unwrap();
        (4..6).for_each(|epoch| other.epoch(epoch, Some(0.5)).unwrap());
        let state = other.state().unwrap();
        other.epoch(6, Some(0.5)).unwrap();
        let next = other.state().unwrap();
        each_failure(|failure| {
            let device = Failing::default();
            let mut sampler = problem.sampler_on(device.clone(), |setup| change(setup, form)).unwrap();
            if draws {
                sampler.restore(&state).unwrap();
            }
            device.set(Some(failure));
            let result = if draws { sampler.epoch(6, Some(0.5)) } else { sampler.restore(&state) };
            device.set(None);
            if result.is_ok() {
                assert_eq!(sampler.state().as_ref(), Ok(if draws { &next } else { &state }));
                return false;
            }
            if sampler.state().is_err() {
                assert!(is_problem(sampler.draw_rows(0, 6, None)) && is_problem(sampler.draw_core(6, true)));
                assert!(is_problem(sampler.rescale(6)) && is_problem(sampler.draw_shares(0, 6)));
                assert!(
                    is_problem(sampler.average(0.5)) && is_problem(sampler.squared_error(None, false, ALL))
                );
                assert!(
                    is_problem(sampler.rows(0)) && is_problem(sampler.core()) && is_problem(sampler.tau())
                );
            } else if !draws {
                // There was no room for it, and all is as it was.
                assert_eq!(sampler.core().unwrap(), problem.state.core);
            }
            sampler.restore(&state).unwrap();
            sampler.epoch(6, Some(0.5)).unwrap();
            assert_eq!(sampler.state().as_ref(), Ok(&next));
            true
        });
    }
}

#[test]
fn a_sampler_whose_ranks_are_half_others_is_none() {
    let problem = Random::new(&[9, 6, 5], &[3, 4, 3], 60, 1);
    let mut next = Random::new(&[9, 6, 5], &[4, 9, 2], 60, 1);
    let mut other = next.sampler(Form::Entries);
    other.epoch(1, Some(1.0)).unwrap();
    next.state = other.state().unwrap();
    for form in forms(3) {
        let expected = problem.sampler(form).state();
        each_failure(|failure| {
            let device = Failing::default();
            let mut sampler = problem.sampler_on(device.clone(), |setup| setup.form = form).unwrap();
            device.set(Some(failure));
            let result = sampler.resize(&next.ranks, &next.zero, &next.state);
            device.set(None);
            if result.is_ok() {
                assert_eq!(sampler.state().as_ref(), Ok(&next.state));
                return false;
            }
            if sampler.state().is_err() {
                // Either nothing is left, or all but a state.
                let restored = sampler.restore(&next.state);
                assert!(
                    restored.is_ok() || is_problem(restored) && is_problem(sampler.restore(&problem.state))
                );
            } else {
                assert_eq!(sampler.state(), expected);
                sampler.resize(&next.ranks, &next.zero, &next.state).unwrap();
            }
            true
        });
    }
}

#[test]
fn a_mode_that_is_not_there_is_an_error() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut sampler = problem.sampler(Form::Entries);
    assert!(is_problem(sampler.draw_rows(2, 1, None)) && is_problem(sampler.draw_shares(2, 1)));
    assert!(is_problem(sampler.rows(2)) && is_problem(sampler.scales(2)) && is_problem(sampler.sum(2, 1)));
    assert!(is_problem(sampler.set_prior_means(2, None)));
    assert!(is_problem(sampler.set_prior_means(1, Some(&[0.0; 23]))));
    sampler.set_prior_means(1, Some(&[0.0; 24])).unwrap();
    assert!(is_problem(sampler.set_prior_means(1, Some(&[0.0; 25]))));
    for hurdle in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(is_problem(sampler.set_hurdle(hurdle)));
    }
}

#[test]
fn entries_to_evaluate_on_are_those_of_one_sampler() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let (mut one, mut two) = (problem.sampler(Form::Entries), problem.sampler(Form::Entries));
    let slices: Vec<&[u32]> = problem.indices.iter().map(Vec::as_slice).collect();
    let set = one.evaluation(Entries { indices: &slices, values: &problem.values }).unwrap();
    one.squared_error(Some(&set), false, ALL).unwrap();
    assert!(is_problem(two.squared_error(Some(&set), false, ALL)));
    drop(one);
    let mut three = problem.sampler(Form::Entries);
    assert!(is_problem(three.squared_error(Some(&set), false, ALL)));
}

#[test]
fn states_that_are_none_are_not_restored() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut sampler = problem.sampler(Form::Entries);
    sampler.epoch(4, Some(1.0)).unwrap();
    let good = sampler.state().unwrap();
    let changes: [fn(&mut State); 14] = [
        |state| state.tau = 0.0,
        |state| state.tau = f64::NAN,
        |state| state.hurdle = -1.0,
        |state| state.roots[1][2] = f32::INFINITY,
        |state| state.roots[0][0] = 0.0,
        |state| state.nu[1] = f64::NAN,
        |state| state.sets[1] = 0.0,
        |state| state.concepts[1][2] = f64::INFINITY,
        // As many in all.
        |state| state.concepts.swap(0, 1),
        |state| state.factors.swap(0, 1),
        |state| state.sets.push(1.0),
        |state| state.mean.as_mut().unwrap().shares.swap(0, 1),
        |state| state.mean.as_mut().unwrap().variance = f64::NAN,
        |state| state.mean.as_mut().unwrap().core.clear(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut state = good.clone();
        change(&mut state);
        assert!(is_problem(sampler.restore(&state)), "{number}");
        assert_eq!(sampler.state().as_ref(), Ok(&good), "{number}");
    }
}

#[test]
fn zeros_of_the_core_are_those_of_the_setup() {
    let mut problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    problem.zero = crate::zeros(&problem.ranks);
    assert!(problem.state.core.iter().all(|&value| value != 0.0));
    let sampler = problem.sampler(Form::Entries);
    let core = sampler.core().unwrap();
    for (place, (&value, &zero)) in core.iter().zip(&problem.zero).enumerate() {
        assert_eq!(value, if zero { 0.0 } else { problem.state.core[place] });
    }
}

#[test]
fn a_mean_that_was_forgotten_leaves_nothing() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut sampler = problem.sampler(Form::Entries);
    sampler.average(1.0).unwrap();
    assert_eq!((sampler.mean_variance().unwrap(), sampler.state().unwrap().mean), (0.0, None));
    sampler.epoch(4, Some(1.0)).unwrap();
    assert!(sampler.mean_variance().unwrap() > 0.0);
    let last = sampler.state().unwrap();
    sampler.forget_mean();
    assert_eq!(sampler.mean_variance().unwrap(), 0.0);
    // A mean of a half, and zeros.
    sampler.draw_rows(0, 5, Some(0.5)).unwrap();
    sampler.average(0.5).unwrap();
    let half: Vec<f32> = last.core.iter().map(|value| 0.5 * value).collect();
    let mean = sampler.state().unwrap().mean.unwrap();
    assert_eq!((mean.core, mean.variance), (half, 0.5 / last.tau));
}

#[test]
fn failures_are_those_of_the_device_that_tests_run_on() {
    // The other tests here say nothing if none of their calls fails.
    let device = Failing::default();
    device.set(Some(Failure { after: 1, for_good: false }));
    let fails = || crate::Device::alloc(&device, 16).is_err();
    assert_eq!([fails(), fails(), fails()], [false, true, false]);
    assert!(crate::Device::alloc(&TestDevice, 16).is_ok());
}
