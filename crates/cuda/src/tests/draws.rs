//! Draws: of rows, shares, scales, the core, its prior and the precision of entries.

use super::device::TestDevice;
use super::oracle::{RowSums, assert_close, assert_moments, solve};
use super::{Random, forms};
use crate::{Error, Form, Sampler, natural_len};

/// A problem whose rows of the first mode all have the same entries.
pub(super) fn alike(rows: usize, ranks: &[usize]) -> Random {
    let mut problem = Random::new(&[rows, 4, 3], ranks, 1, 3);
    for (first, second) in [(0, 0), (1, 0), (1, 2), (3, 1), (2, 2)] {
        for row in 0..rows {
            problem.indices[0].push(row as u32);
            problem.indices[1].push(first);
            problem.indices[2].push(second);
            problem.values.push(first as f32 - second as f32 + 0.5);
        }
    }
    problem.indices.iter_mut().for_each(|indices| {
        indices.remove(0);
    });
    problem.values.remove(0);
    problem.state.roots[0].fill(1.2);
    problem.state.tau = 2.0;
    problem.state.hurdle = 1.5;
    problem
}

/// The precision and the pull of a row's distribution, first concept apart.
pub(super) fn expected(
    problem: &Random,
    mode: usize,
    row: usize,
    means: Option<&[f32]>,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    given(problem, mode, row, &problem.sums(mode)[row], means)
}

/// The same given the row's sums.
pub(super) fn given(
    problem: &Random,
    mode: usize,
    row: usize,
    (products, pulls, _): &RowSums,
    means: Option<&[f32]>,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let rank = problem.ranks[mode];
    let weight = problem.state.tau * f64::from(problem.state.roots[mode][row]).powi(2);
    let prior = |k: usize| if k > 1 { problem.state.hurdle } else { 1.0 };
    let precision = (1..rank)
        .map(|k| (1..rank).map(|l| weight * products[k][l] + if k == l { prior(k) } else { 0.0 }).collect())
        .collect();
    let mean = |k: usize| means.map_or(0.0, |means| f64::from(means[row * rank + k]));
    let pull = (1..rank).map(|k| weight * (pulls[k] - products[k][0]) + prior(k) * mean(k)).collect();
    (precision, pull)
}

/// The first row of a problem whose rows of the first mode are all alike.
pub(super) fn first_row(problem: &Random) -> Random {
    let mut one = Random::new(&[1, problem.rows[1], problem.rows[2]], &problem.ranks, 0, 1);
    let first: Vec<usize> =
        (0..problem.values.len()).filter(|&entry| problem.indices[0][entry] == 0).collect();
    one.values = first.iter().map(|&entry| problem.values[entry]).collect();
    let of = |indices: &Vec<u32>| first.iter().map(|&entry| indices[entry]).collect();
    one.indices = problem.indices.iter().map(of).collect();
    one.state = problem.state.clone();
    one
}

#[test]
fn rows_have_the_moments_of_their_distribution() {
    // Ranks of each way to solve systems, with and without padding; of the largest, so many that blocks take several in turn.
    let all = [
        ([4, 3, 2], 2000),
        ([15, 2, 3], 1000),
        ([40, 2, 2], 300),
        ([60, 2, 2], 300),
        ([70, 2, 2], 300),
        ([107, 2, 2], 1030),
    ];
    for (ranks, rows) in all {
        let problem = alike(rows, &ranks);
        let rank = ranks[0];
        let mut sampler = problem.sampler(Form::Auto);
        let means: Vec<f32> = (0..rows * rank).map(|place| (place % rank) as f32 * 0.3).collect();
        sampler.set_prior_means(0, Some(&means)).unwrap();
        sampler.draw_rows(0, 1, None).unwrap();
        let (precision, pull) = expected(&first_row(&problem), 0, 0, Some(&means));
        assert_moments(&sampler.rows(0).unwrap(), &precision, &pull, &format!("{ranks:?}"));
    }
}

#[test]
fn the_mean_of_distributions_is_that_of_their_parameters_and_gives_the_rows() {
    for ranks in [[3, 12, 5], [6, 3, 17], [40, 2, 3], [2, 3, 60], [70, 2, 2], [2, 110, 2]] {
        let mut problem = Random::new(&[9, 7, 12], &ranks, 300, 4);
        let is_wide = ranks.iter().any(|&rank| rank > 64);
        for form in forms(3).into_iter().filter(|&form| form == Form::Entries || !is_wide) {
            let mut sampler = problem.sampler(form);
            // Nothing else changes: parameters are the same in all epochs.
            for mode in 0..3 {
                let (rows, rank) = (problem.rows[mode], ranks[mode]);
                problem.state.hurdle = 1.0;
                sampler.restore(&problem.state).unwrap();
                problem.state.hurdle = 2.5;
                sampler.set_hurdle(2.5).unwrap();
                sampler.prepare(1).unwrap();
                for (epoch, share) in [(1, 1.0), (2, 0.5)] {
                    sampler.draw_rows(mode, epoch, Some(share)).unwrap();
                }
                let state = sampler.state().unwrap().mean.unwrap();
                let (found_rows, _) = sampler.mean_model().unwrap();
                let len = natural_len(rank);
                let all = problem.sums(mode);
                for (row, sums) in all.iter().enumerate().take(rows) {
                    let (precision, pull) = given(&problem, mode, row, sums, None);
                    let triangle = (0..rank - 1).flat_map(|k| precision[k][..=k].to_vec());
                    let numbers: Vec<f64> = triangle.chain(pull.iter().copied()).collect();
                    let what = format!("{ranks:?} {form:?} mode {mode} row {row}");
                    assert_close(&state.natural_params[mode][row * len..][..len], &numbers, 3e-5, &what);
                    let expected: Vec<f64> = [1.0].into_iter().chain(solve(&precision, &pull).0).collect();
                    assert_close(&found_rows[mode][row * rank..][..rank], &expected, 3e-3, &what);
                }
            }
        }
    }
}

/// Asserts that what a sampler of a problem has left of the rows of a mode, which it has just drawn, is their squared error.
pub(super) fn assert_left(sampler: &Sampler<TestDevice>, problem: &mut Random, mode: usize, what: &str) {
    let errors = sampler.errors.get(&sampler.device).unwrap();
    let before = std::mem::replace(&mut problem.state, sampler.state().unwrap());
    for (row, &found) in errors.iter().take(problem.rows[mode]).enumerate() {
        let entries = (0..problem.values.len()).filter(|&entry| problem.indices[mode][entry] as usize == row);
        let error = |entry: usize| {
            let rest = f64::from(problem.values[entry]) - problem.prediction(entry);
            problem.share(Some(mode), entry) * rest * rest
        };
        let expected: f64 = entries.map(error).sum();
        assert!((found - expected).abs() < 1e-3 * expected.max(1.0), "{what} {row}: {found} {expected}");
    }
    problem.state = before;
}

#[test]
fn what_is_left_of_a_row_is_its_squared_error() {
    let mut problem = Random::new(&[9, 7, 12], &[5, 3, 4], 300, 4);
    for form in forms(3) {
        let mut sampler = problem.sampler(form);
        let mode = sampler.modes()[0];
        sampler.draw_rows(mode, 1, None).unwrap();
        assert_left(&sampler, &mut problem, mode, &format!("{form:?}"));
    }
}

#[test]
fn a_change_of_scale_changes_no_prediction_and_no_mean() {
    let problem = Random::new(&[60, 30, 12], &[5, 3, 4], 600, 6);
    let mut sampler = problem.sampler(Form::Auto);
    for epoch in 1..3 {
        (0..3).for_each(|mode| sampler.draw_rows(mode, epoch, Some(1.0 / epoch as f32)).unwrap());
        sampler.average(1.0 / epoch as f32).unwrap();
    }
    let range = [f32::NEG_INFINITY, f32::INFINITY];
    let before = [false, true].map(|mean| sampler.squared_error(None, mean, range).unwrap());
    let old = sampler.state().unwrap();
    sampler.rescale(3).unwrap();
    let after = [false, true].map(|mean| sampler.squared_error(None, mean, range).unwrap());
    for (before, after) in before.into_iter().zip(after) {
        assert!((after / before - 1.0).abs() < 1e-4, "{before} {after}");
    }
    let new = sampler.state().unwrap();
    sampler.forget_mean();
    assert!(sampler.squared_error(None, true, range).is_err());
    for mode in 0..3 {
        let scales = sampler.scales(mode).unwrap();
        assert_eq!(scales[0], 1.0);
        let rank = problem.ranks[mode];
        for (place, (old, new)) in old.factors[mode].iter().zip(&new.factors[mode]).enumerate() {
            assert_eq!(old * scales[place % rank], *new);
        }
        // The variance of a concept is about 1 after it.
        for k in 1..rank {
            let squares = new.factors[mode].iter().skip(k).step_by(rank).map(|value| value * value);
            let variance = squares.sum::<f32>() / problem.rows[mode] as f32;
            assert!((0.3..3.0).contains(&variance), "{mode} {k}: {variance}");
        }
    }
}

#[test]
fn means_of_the_prior_follow_a_change_of_scale() {
    // Of a rank that has padding, and one that has none.
    let problem = Random::new(&[60, 30], &[5, 4], 600, 6);
    let mut sampler = problem.sampler(Form::Auto);
    let means: Vec<Vec<f32>> =
        [300, 120].map(|len| (0..len).map(|place| place as f32 * 0.01).collect()).to_vec();
    (0..2).for_each(|mode| sampler.set_prior_means(mode, Some(&means[mode])).unwrap());
    sampler.rescale(1).unwrap();
    let mut other = problem.sampler(Form::Auto);
    other.restore(&sampler.state().unwrap()).unwrap();
    for (mode, means) in means.iter().enumerate() {
        let scales = sampler.scales(mode).unwrap();
        let scaled: Vec<f32> =
            means.iter().zip(scales.iter().cycle()).map(|(mean, scale)| mean * scale).collect();
        other.set_prior_means(mode, Some(&scaled)).unwrap();
        sampler.draw_rows(mode, 1, Some(1.0)).unwrap();
        other.draw_rows(mode, 1, Some(1.0)).unwrap();
    }
    assert_eq!(sampler.state().unwrap(), other.state().unwrap());
}

/// Rows that scatter as `errors` says, around predictions that are all zero.
fn scattered(rows: usize, entries: usize, deviation: impl Fn(usize) -> f64) -> Random {
    let mut problem = Random::new(&[rows, 10], &[3, 3], 0, 1);
    let mut generator = crate::Generator(7);
    problem.state.core.fill(0.0);
    problem.state.roots.iter_mut().flatten().for_each(|root| *root = 1.0);
    for row in 0..rows {
        for entry in 0..entries {
            problem.indices[0].push(row as u32);
            problem.indices[1].push((entry % 10) as u32);
            problem.values.push((deviation(row) * generator.normal()) as f32);
        }
    }
    problem
}

#[test]
fn shares_follow_the_rows_errors_and_are_one_where_rows_are_alike() {
    let shares = |problem: &Random| {
        let mut sampler = problem.sampler(Form::Auto);
        sampler.draw_rows(0, 1, None).unwrap();
        sampler.draw_shares(0, 1).unwrap();
        let state = sampler.state().unwrap();
        (state.roots[0].iter().map(|root| f64::from(*root).powi(2)).collect::<Vec<f64>>(), state.nu[0])
    };
    // Every other row scatters three times as much.
    let (found, _) = shares(&scattered(60, 400, |row| if row % 2 == 0 { 1.0 } else { 3.0 }));
    let average = |first: usize| found.iter().skip(first).step_by(2).sum::<f64>() / 30.0;
    assert!((average(0) / average(1) - 9.0).abs() < 2.5, "{} {}", average(0), average(1));
    let (found, nu) = shares(&scattered(60, 400, |_| 1.0));
    assert!(nu > 100.0 && found.iter().all(|share| (share - 1.0).abs() < 0.4), "{nu} {found:?}");
    // Rows of a few entries have no share of their own.
    let (found, _) = shares(&scattered(300, 3, |row| if row % 2 == 0 { 0.1 } else { 1.0 }));
    assert!(found.iter().all(|&share| share == 1.0));
}

#[test]
fn shares_do_not_follow_offsets() {
    let problem = scattered(200, 40, |row| if row % 2 == 0 { 1.0 } else { 2.0 });
    let mut sampler = problem.sampler(Form::Auto);
    sampler.draw_rows(0, 1, None).unwrap();
    sampler.draw_shares(0, 1).unwrap();
    let state = sampler.state().unwrap();
    let rows = || state.factors[0].chunks_exact(3).zip(&state.roots[0]);
    let mean = rows().map(|(row, _)| f64::from(row[1])).sum::<f64>() / 200.0;
    let of = |row: &[f32]| f64::from(row[1]) - mean;
    let covariance: f64 = rows().map(|(row, root)| of(row) * f64::from(*root).ln()).sum();
    let variance: f64 = rows().map(|(row, _)| of(row).powi(2)).sum();
    assert!((covariance / variance).abs() < 1e-4, "{}", covariance / variance);
}

#[test]
fn the_precision_of_entries_is_that_of_errors() {
    let problem = scattered(50, 100, |_| 0.5);
    let mut sampler = problem.sampler(Form::Auto);
    sampler.draw_core(1, false).unwrap();
    let tau = sampler.state().unwrap().tau;
    assert!((tau / 4.0 - 1.0).abs() < 0.1, "{tau}");
    assert_eq!(sampler.state().unwrap().core, problem.state.core);
}

#[test]
fn the_core_has_the_distribution_that_its_system_asks_for() {
    // Three steps solve a system of a few well conditioned unknowns well: the mean of draws is the solution.
    let mut problem = Random::new(&[40, 30, 20], &[2, 2, 2], 4000, 8);
    problem.state.tau = 2.0;
    problem.state.sets = (0..8).map(|set| 1.0 + f64::from(set)).collect();
    let n = 8;
    let rest = |entry: usize| problem.share(None, entry) * f64::from(problem.values[entry]);
    let side: Vec<f64> = problem.gradient(rest).iter().map(|value| 2.0 * value).collect();
    let sets: Vec<usize> =
        (0..n).map(|place| (place >> 2 & 1) | (place >> 1 & 1) << 1 | (place & 1) << 2).collect();
    let mut unit = Random::new(&problem.rows, &problem.ranks, 1, 1);
    (unit.indices, unit.values) = (problem.indices.clone(), problem.values.clone());
    unit.state = problem.state.clone();
    // The system's matrix is symmetric: its rows are its columns.
    let row = |place: usize| {
        unit.state.core.fill(0.0);
        unit.state.core[place] = 1.0;
        let product = unit.gradient(|entry| unit.share(None, entry) * unit.prediction(entry));
        let mut row: Vec<f64> = product.into_iter().map(|value| 2.0 * value).collect();
        row[place] += problem.state.sets[sets[place]];
        row
    };
    let matrix: Vec<Vec<f64>> = (0..n).map(row).collect();
    let (mean, covariance) = solve(&matrix, &side);
    // With all entries, and with one in eight; and streamed with one in eight alone, since each takes long.
    let ways = forms(3).into_iter().flat_map(|form| [(form, 4000), (form, 500)]);
    let is_streamed = |form: Form| matches!(form, Form::StreamedEntries | Form::StreamedTuples);
    for (form, sample) in ways.filter(|&(form, sample)| sample == 500 || !is_streamed(form)) {
        let sampler = problem.sampler_on(TestDevice, |setup| (setup.form, setup.sample) = (form, sample));
        let mut sampler = sampler.unwrap();
        assert_eq!(sampler.sample.is_some(), sample == 500);
        let (mut sum, mut squares) = (vec![0.0; n], vec![0.0; n]);
        let draws = 50;
        for epoch in 1..=draws {
            sampler.restore(&problem.state).unwrap();
            // Close to the solution, as after many epochs.
            let core: Vec<f32> = mean.iter().map(|&value| value as f32).collect();
            sampler.draw.core.put(&sampler.device, &core).unwrap();
            sampler.prepare(epoch).unwrap();
            sampler.draw_core(epoch, true).unwrap();
            let core = sampler.state().unwrap().core;
            for (place, &value) in core.iter().enumerate() {
                sum[place] += f64::from(value) - mean[place];
                squares[place] += (f64::from(value) - mean[place]).powi(2);
            }
        }
        for place in 0..n {
            let deviation = covariance[place][place].sqrt();
            let (found, count) = (sum[place] / f64::from(draws), f64::from(draws));
            assert!(
                found.abs() < 5.0 * deviation / count.sqrt(),
                "{form:?} {sample} {place}: {found} {deviation}"
            );
            let spread = (squares[place] / count).sqrt() / deviation;
            // Steps with a sample leave a part of it.
            let least = if sample == 500 { 0.4 } else { 0.55 };
            assert!((least..1.5).contains(&spread), "{form:?} {sample} {place}: {spread}");
        }
    }
}

#[test]
fn rows_are_without_their_padding() {
    let mut problem = Random::new(&[30, 20, 7], &[5, 12, 2], 50, 1);
    let sampler = problem.sampler(Form::Entries);
    for (mode, factor) in problem.state.factors.iter_mut().enumerate() {
        assert_eq!(&sampler.rows(mode).unwrap(), factor);
        let mut rows = vec![0.0; factor.len()];
        sampler.rows_into(mode, &mut rows).unwrap();
        assert_eq!(&rows, factor);
        assert!(matches!(sampler.rows_into(mode, &mut rows[1..]), Err(Error::Problem(_))));
    }
}
