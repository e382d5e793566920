//! What setups can leave out, and the prior of the core.

use super::device::TestDevice;
use super::{Random, forms};
use crate::state::concepts;
use crate::{Form, State};

/// The places of a core where only like concepts interact, beside offsets and the mean.
fn diagonal(ranks: &[usize]) -> Vec<bool> {
    let is_zero = |place: usize| {
        let index = concepts(ranks, place);
        let active: Vec<usize> = index.iter().copied().filter(|&k| k > 0).collect();
        match active.as_slice() {
            [] => false,
            [one] => *one != 1,
            several => several.len() < ranks.len() || several.iter().any(|&k| k < 2 || k != several[0]),
        }
    };
    (0..ranks.iter().product()).map(is_zero).collect()
}

/// The parameters of a precision's distribution, given the numbers of the core for which `of` says that they have it, each
/// with the precision that it has otherwise.
fn gamma(problem: &Random, core: &[f32], of: impl Fn(&[usize]) -> Option<f64>) -> (f64, f64) {
    let mut parameters = (1.0, 0.01);
    for (place, &value) in core.iter().enumerate().filter(|(place, _)| !problem.zero[*place]) {
        if let Some(others) = of(&concepts(&problem.ranks, place)) {
            parameters.0 += 0.5;
            parameters.1 += 0.5 * others * f64::from(value).powi(2);
        }
    }
    parameters
}

#[test]
fn precisions_of_the_core_have_the_distribution_that_its_numbers_ask_for() {
    let ranks = [5, 4, 4];
    for (by_set, relevant, zero) in [
        (true, 3, crate::zeros(&ranks)),
        (false, 3, vec![false; 80]),
        (true, 0, vec![false; 80]),
        (false, 1, diagonal(&ranks)),
    ] {
        let mut problem = Random::new(&[20, 15, 10], &ranks, 50, 2);
        problem.zero = zero;
        // Entries say nothing, so that the core has its prior's variance.
        problem.state.tau = 1e-12;
        let mut generator = crate::Generator(4);
        let state = &mut problem.state;
        state.sets.iter_mut().for_each(|set| *set = 0.5 + generator.uniform());
        for concepts in &mut state.concepts {
            concepts.iter_mut().skip(2).for_each(|precision| *precision = 0.5 + generator.uniform());
        }
        let mut sampler = problem
            .sampler_on(TestDevice, |setup| (setup.by_set, setup.relevant) = (by_set, relevant))
            .unwrap();
        let set_of = |index: &[usize]| -> usize {
            let bits = index.iter().enumerate().map(|(mode, &k)| usize::from(by_set && k > 0) << mode);
            bits.sum()
        };
        // For each precision what was drawn by what was to be expected, and the variance of that.
        let (mut ratios, mut variances) = (vec![0.0; 8 + 13], vec![0.0; 8 + 13]);
        let draws = 60;
        for epoch in 1..=draws {
            sampler.restore(&problem.state).unwrap();
            sampler.draw_core(epoch, true).unwrap();
            let State { core, sets, concepts: drawn, .. } = sampler.state().unwrap();
            let mut now = problem.state.concepts.clone();
            let mut take = |place: usize, found: f64, (shape, rate): (f64, f64)| {
                ratios[place] += found * rate / shape / f64::from(draws);
                variances[place] = 1.0 / shape / f64::from(draws);
            };
            let product = |now: &[Vec<f64>], index: &[usize], without: Option<usize>| -> f64 {
                let modes = (0..3).filter(|&mode| Some(mode) != without);
                modes.map(|mode| now[mode][index[mode]]).product()
            };
            for mode in 0..3 {
                for k in 0..ranks[mode] {
                    let place = 8 + ranks[..mode].iter().sum::<usize>() + k;
                    let old = &problem.state.sets;
                    let of = |index: &[usize]| {
                        (index[mode] == k).then(|| old[set_of(index)] * product(&now, index, Some(mode)))
                    };
                    if mode < relevant && k >= 2 {
                        take(place, drawn[mode][k], gamma(&problem, &core, of));
                    } else {
                        assert_eq!(drawn[mode][k], now[mode][k], "{mode} {k}");
                    }
                }
                now[mode].clone_from(&drawn[mode]);
            }
            for (set, &found) in sets.iter().enumerate() {
                let of = |index: &[usize]| (set_of(index) == set).then(|| product(&now, index, None));
                let parameters = gamma(&problem, &core, of);
                if parameters.0 > 1.0 {
                    take(set, found, parameters);
                } else {
                    assert_eq!(found, problem.state.sets[set]);
                }
            }
        }
        let drawn = || ratios.iter().zip(&variances).filter(|(_, variance)| **variance > 0.0);
        for (ratio, variance) in drawn() {
            let off = (ratio - 1.0).abs() / variance.sqrt();
            assert!(off < 4.5, "{by_set} {relevant}: {ratio}, {off} deviations off: {ratios:?}");
        }
        let count = drawn().count() as f64;
        let average = drawn().map(|(ratio, variance)| (ratio - 1.0) / variance.sqrt()).sum::<f64>() / count;
        assert!(average.abs() < 4.5 / count.sqrt(), "{by_set} {relevant}: {average} of {count}");
    }
}

#[test]
fn shares_are_one_without_row_noise() {
    let mut problem = Random::new(&[30, 25], &[4, 4], 2000, 3);
    problem.state.roots.iter_mut().flatten().for_each(|root| *root = 1.0);
    let roots = |row_noise: bool| {
        let sampler = problem.sampler_on(TestDevice, |setup| setup.row_noise = row_noise);
        let mut sampler = sampler.unwrap();
        (4..7).for_each(|epoch| sampler.epoch(epoch, None).unwrap());
        sampler.state().unwrap().roots
    };
    assert_eq!(roots(false), problem.state.roots);
    assert!(roots(true).iter().flatten().all(|&root| root != 1.0));
}

#[test]
fn a_diagonal_core_stays_one() {
    let ranks = [5, 5, 5];
    let problem = Random::new(&[20, 15, 10], &ranks, 600, 2).with_zeros(diagonal(&ranks));
    for form in forms(3) {
        let sampler = problem.sampler_on(TestDevice, |setup| {
            (setup.by_set, setup.relevant, setup.form) = (false, 1, form);
        });
        let mut sampler = sampler.unwrap();
        (4..9).for_each(|epoch| sampler.epoch(epoch, (epoch > 6).then_some(0.5)).unwrap());
        let state = sampler.state().unwrap();
        let (_, mean) = sampler.mean_model().unwrap();
        for (place, &zero) in problem.zero.iter().enumerate() {
            let values = [state.core[place], mean[place]];
            assert!(values.iter().all(|&value| value.is_finite() && (value == 0.0) == zero), "{place}");
        }
        assert_eq!(state.concepts[1..], problem.state.concepts[1..]);
        assert_eq!(state.sets[1..], problem.state.sets[1..]);
        let residual = sampler.squared_error(None, true, [-9.0, 9.0]).unwrap() / 600.0;
        assert!(residual < 1.2, "{form:?}: {residual}");
    }
}

#[test]
fn scales_are_those_of_rows_around_their_means() {
    let mut problem = Random::new(&[400, 300], &[4, 7], 50, 1);
    let mut generator = crate::Generator(9);
    let mut means = Vec::new();
    for (factor, rank) in problem.state.factors.iter_mut().zip([4, 7]) {
        let of: Vec<f32> = (0..factor.len()).map(|place| (place / rank % 13) as f32).collect();
        for (place, (value, mean)) in factor.iter_mut().zip(&of).enumerate() {
            let deviation = 0.1 * (place % rank) as f64;
            *value = if place % rank == 0 { 1.0 } else { mean + (deviation * generator.normal()) as f32 };
        }
        means.push(of);
    }
    let mut sampler = problem.sampler(Form::Auto);
    (0..2).for_each(|mode| sampler.set_prior_means(mode, Some(&means[mode])).unwrap());
    sampler.rescale(1).unwrap();
    for (mode, rank) in [(0, 4), (1, 7)] {
        for (k, scale) in sampler.scales(mode).unwrap().into_iter().enumerate().skip(1).take(rank) {
            let expected = 1.0 / (0.1 * k as f32);
            assert!((scale / expected - 1.0).abs() < 0.25, "{mode} {k}: {scale} and not {expected}");
        }
    }
}
