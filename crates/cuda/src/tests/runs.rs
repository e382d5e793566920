//! Whole runs.

use super::device::TestDevice;
use super::{Random, forms};

use crate::{CudaDevice, Entries, Error, Form, Generator, Sampler, Setup, State, zeros};

const NOISE: f64 = 0.3;

/// Entries of a planted model, and others to test on.
struct Planted {
    rows: Vec<usize>,
    train: (Vec<Vec<u32>>, Vec<f32>),
    test: (Vec<Vec<u32>>, Vec<f32>),
}

impl Planted {
    fn new(rows: &[usize], entries: usize, seed: u64) -> Self {
        let mut generator = Generator(seed);
        let order = rows.len();
        // Offsets, and an interaction of the first two modes and one of the last two.
        let numbers: Vec<Vec<[f64; 3]>> = rows
            .iter()
            .map(|&rows| (0..rows).map(|_| [(); 3].map(|()| generator.normal())).collect())
            .collect();
        let mut some = |count: usize| {
            let mut indices = vec![Vec::new(); order];
            let mut values = Vec::new();
            for _ in 0..count {
                let entry: Vec<usize> =
                    rows.iter().map(|&rows| (rows as f64 * generator.uniform()) as usize).collect();
                let number = |mode: usize, k: usize| numbers[mode][entry[mode]][k];
                let offsets: f64 = (0..order).map(|mode| 0.4 * number(mode, 0)).sum();
                let both = |a: usize, b: usize, k: usize| 0.5 * number(a, k) * number(b, k);
                let linear = 0.2 + offsets + both(0, 1, 1) + both(order - 2, order - 1, 2);
                let value = linear + NOISE * generator.normal();
                indices.iter_mut().zip(&entry).for_each(|(indices, &row)| indices.push(row as u32));
                values.push(value as f32);
            }
            (indices, values)
        };
        let (train, test) = (some(entries), some(500));
        Planted { rows: rows.to_vec(), train, test }
    }

    /// The RMSE of the mean model on other entries, that of training, and the state at the end.
    fn run(&self, ranks: &[usize], form: Form, epochs: u32) -> (f64, f64, State) {
        let train: Vec<&[u32]> = self.train.0.iter().map(Vec::as_slice).collect();
        let test: Vec<&[u32]> = self.test.0.iter().map(Vec::as_slice).collect();
        let zero = zeros(ranks);
        let entries = Entries { indices: &train, values: &self.train.1 };
        let setup = Setup { form, part: 700, ..Setup::new(&self.rows, ranks, entries, &zero, 3) };
        let mut sampler = Sampler::new(TestDevice, &setup, &State::start(&self.rows, ranks, 3)).unwrap();
        let set = sampler.evaluation(Entries { indices: &test, values: &self.test.1 }).unwrap();
        let early = epochs * 3 / 4;
        for epoch in 1..=epochs {
            let share = (epoch > early).then(|| 1.0 / (epoch - early) as f32);
            sampler.epoch(epoch, share).unwrap();
        }
        let range = [f32::NEG_INFINITY, f32::INFINITY];
        let rmse = |squares: f64, count: usize| (squares / count as f64).sqrt();
        let test = rmse(sampler.squared_error(Some(&set), true, range).unwrap(), self.test.1.len());
        let train = rmse(sampler.squared_error(None, true, range).unwrap(), self.train.1.len());
        (test, train, sampler.state().unwrap())
    }
}

#[test]
fn a_planted_model_is_found() {
    let shapes: [(&[usize], &[usize], usize); 4] = [
        (&[50, 40], &[4, 4], 1200),
        (&[50, 25, 5], &[4, 4, 4], 2000),
        (&[5, 10, 50], &[4, 4, 4], 2000),
        (&[20, 15, 6, 5], &[4, 4, 3, 4], 2000),
    ];
    for (rows, ranks, entries) in shapes {
        let planted = Planted::new(rows, entries, 5);
        // What is streamed has the same sums: one shape will do.
        let is_enough = |form: &Form| matches!(form, Form::Entries | Form::Tuples) || rows == [50, 25, 5];
        for form in forms(rows.len()).into_iter().filter(is_enough) {
            let (test, train, state) = planted.run(ranks, form, 32);
            assert!(test < 1.25 * NOISE && train < 1.05 * NOISE, "{rows:?} {form:?}: {test} {train}");
            let noise = 1.0 / state.tau.sqrt();
            assert!((noise / NOISE - 1.0).abs() < 0.15, "{rows:?} {form:?}: {noise}");
        }
    }
}

#[test]
fn runs_are_the_same_to_the_bit() {
    for (rows, ranks) in [(&[30, 20, 5][..], &[4, 3, 4][..]), (&[10, 8, 6, 5], &[3, 4, 3, 3])] {
        let planted = Planted::new(rows, 800, 2);
        for form in forms(rows.len()) {
            let runs = [(); 2].map(|()| planted.run(ranks, form, 7));
            assert_eq!(runs[0], runs[1]);
        }
    }
}

#[test]
fn a_run_goes_on_from_its_state() {
    let problem = Random::new(&[30, 20, 5], &[4, 3, 4], 500, 2);
    for form in forms(3) {
        let mut sampler = problem.sampler(form);
        (1..5).for_each(|epoch| sampler.epoch(epoch, (epoch > 2).then_some(0.5)).unwrap());
        let state = sampler.state().unwrap();
        let mut other = problem.sampler(form);
        other.restore(&state).unwrap();
        assert_eq!(other.state().unwrap(), state);
        for sampler in [&mut sampler, &mut other] {
            (5..7).for_each(|epoch| sampler.epoch(epoch, Some(0.5)).unwrap());
        }
        assert_eq!(sampler.state().unwrap(), other.state().unwrap());
        let mut wrong = state;
        wrong.factors[1].pop();
        assert!(matches!(other.restore(&wrong), Err(Error::Problem(_))));
    }
}

#[test]
fn a_run_with_other_ranks_is_that_of_a_new_sampler() {
    let other = |ranks: &[usize]| Random::new(&[30, 20, 5], ranks, 500, 2);
    let problem = other(&[6, 14, 5]);
    for form in forms(3) {
        let mut sampler = problem.sampler(form);
        // Smaller, and larger again than those before: what is left of others is of no concern.
        for ranks in [[4, 3, 5], [17, 3, 2], [6, 14, 5]] {
            (1..6).for_each(|epoch| sampler.epoch(epoch, (epoch > 2).then_some(0.5)).unwrap());
            let next = other(&ranks);
            let slices: Vec<&[u32]> = problem.indices.iter().map(Vec::as_slice).collect();
            let entries = Entries { indices: &slices, values: &problem.values };
            let old = sampler.evaluation(entries).unwrap();
            sampler.resize(&ranks, &next.zero, &next.state).unwrap();
            assert!(sampler.squared_error(Some(&old), false, [-9.0, 9.0]).is_err());
            let set = sampler.evaluation(entries).unwrap();
            let mut new = next.sampler(form);
            for sampler in [&mut sampler, &mut new] {
                (1..6).for_each(|epoch| sampler.epoch(epoch, (epoch > 2).then_some(0.5)).unwrap());
            }
            assert_eq!(sampler.state().unwrap(), new.state().unwrap(), "{ranks:?} {form:?}");
            let errors = [Some(&set), None].map(|set| sampler.squared_error(set, true, [-9.0, 9.0]).unwrap());
            assert!((errors[0] / errors[1] - 1.0).abs() < 1e-5, "{errors:?}");
        }
        let before = sampler.state().unwrap();
        for ranks in [&[1, 3, 5][..], &[6, 14], &[6, 14, 4]] {
            let wrong = sampler.resize(ranks, &problem.zero, &problem.state);
            assert!(matches!(wrong, Err(Error::Problem(_))), "{ranks:?}");
        }
        assert_eq!(sampler.state().unwrap(), before);
        let wide = other(&[70, 2, 2]);
        let result = sampler.resize(&wide.ranks, &wide.zero, &wide.state);
        assert_eq!(result.is_ok(), matches!(form, Form::Entries | Form::StreamedEntries));
    }
}

#[test]
fn all_ranks_and_empty_problems_run() {
    let shapes: [(&[usize], &[usize], usize); 5] = [
        (&[12, 10, 9], &[13, 5, 20], 200),
        (&[12, 10], &[40, 60], 200),
        (&[12, 10], &[90, 110], 200),
        (&[6, 5, 4, 3, 7], &[3, 2, 3, 2, 3], 300),
        (&[5, 4, 3], &[3, 2, 3], 0),
    ];
    for (rows, ranks, entries) in shapes {
        let mut problem = Random::new(rows, ranks, entries, 1);
        problem.state = State::start(rows, ranks, 1);
        problem.zero = zeros(ranks);
        for form in forms(rows.len()) {
            let mut sampler = problem.sampler(form);
            (1..=5).for_each(|epoch| sampler.epoch(epoch, (epoch > 3).then_some(0.5)).unwrap());
            let state = sampler.state().unwrap();
            let numbers =
                state.factors.iter().flatten().chain(&state.core).chain(state.roots.iter().flatten());
            assert!(numbers.into_iter().all(|number| number.is_finite()), "{rows:?} {ranks:?}");
            let zeros = state.core.iter().zip(&problem.zero).filter(|(_, zero)| **zero);
            assert!(zeros.into_iter().all(|(&value, _)| value == 0.0));
            let error = sampler.squared_error(None, true, [-9.0, 9.0]).unwrap();
            assert!(error.is_finite());
        }
    }
}

#[test]
fn a_machine_without_a_gpu_says_so() {
    match CudaDevice::new(0) {
        // Here is one.
        Ok(device) => assert!(!device.name().unwrap().is_empty()),
        Err(error) => {
            // A driver that does not start says why.
            let is_known = matches!(error, Error::NoDriver | Error::NoDevice(_) | Error::Driver("cuInit", _));
            assert!(is_known || matches!(error, Error::OldDriver(..) | Error::OldDevice(..)), "{error}");
            assert!(error.to_string().contains("NVIDIA") || error.to_string().contains("GPU"), "{error}");
        }
    }
    assert!(CudaDevice::new(1 << 20).is_err());
}

#[test]
fn modes_may_come_last_but_for_the_one_that_tuples_are_of() {
    let problem = Random::new(&[10, 30, 20], &[3, 3, 3], 100, 1);
    let modes = |form: Form| problem.sampler(form).modes_with_last(|mode| mode < 2);
    assert_eq!((modes(Form::Entries), modes(Form::Tuples)), (vec![2, 0, 1], vec![1, 2, 0]));
    assert_eq!(problem.sampler(Form::Tuples).modes(), [1, 0, 2]);
}
