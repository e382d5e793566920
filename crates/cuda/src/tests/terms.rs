//! Terms of rows, beside their entries and their prior.

use super::device::{Failing, Failure};
use super::draws::{alike, assert_left, expected, first_row, given};
use super::oracle::{assert_close, assert_moments, solve};
use super::{Random, forms};
use crate::{Error, Form, Generator, RowTerms, Sampler, Setup, natural_len};

/// Which terms there are beside a pull: diagonals, and a shared precision.
const PARTS: [(bool, bool); 4] = [(true, true), (false, false), (true, false), (false, true)];

/// Terms of the rows of a mode.
struct Terms {
    rank: usize,
    pull: Vec<f32>,
    diagonal: Option<Vec<f32>>,
    shared: Option<Vec<f32>>,
}

impl Terms {
    /// Random ones of some size. Of the shared precision, only the lower triangle has numbers.
    fn new(rows: usize, rank: usize, size: f64, (diagonal, shared): (bool, bool)) -> Self {
        let mut generator = Generator(rank as u64);
        let columns: Vec<Vec<f64>> =
            (0..5).map(|_| (0..rank).map(|_| 0.6 * generator.normal()).collect()).collect();
        let product = |k: usize, l: usize| columns.iter().map(|column| column[k] * column[l]).sum::<f64>();
        let number = |k: usize, l: usize| match k.cmp(&l) {
            std::cmp::Ordering::Less => f32::NAN,
            std::cmp::Ordering::Equal => (size * (0.5 + product(k, k))) as f32,
            std::cmp::Ordering::Greater => (size * product(k, l)) as f32,
        };
        Terms {
            rank,
            shared: shared
                .then(|| (0..rank * rank).map(|place| number(place / rank, place % rank)).collect()),
            pull: (0..rows * rank).map(|_| (size * (1.0 + generator.normal())) as f32).collect(),
            diagonal: diagonal.then(|| (0..rows).map(|_| (size * generator.uniform()) as f32).collect()),
        }
    }

    /// The same for each row.
    fn alike(mut self) -> Self {
        let first = self.pull[..self.rank].to_vec();
        self.pull.chunks_exact_mut(self.rank).for_each(|row| row.copy_from_slice(&first));
        self.diagonal.iter_mut().for_each(|diagonal| diagonal.fill(0.7));
        self
    }

    fn get(&self) -> RowTerms<'_> {
        RowTerms { pull: &self.pull, diagonal: self.diagonal.as_deref(), shared: self.shared.as_deref() }
    }

    /// Adds what they are to the precision and the pull of a row, first concept apart.
    fn add(&self, row: usize, precision: &mut [Vec<f64>], pull: &mut [f64]) {
        let shared = |k: usize, l: usize| {
            let place = k.max(l) * self.rank + k.min(l);
            self.shared.as_ref().map_or(0.0, |shared| f64::from(shared[place]))
        };
        let diagonal = self.diagonal.as_ref().map_or(0.0, |diagonal| f64::from(diagonal[row]));
        for k in 1..self.rank {
            precision[k - 1][k - 1] += diagonal;
            (1..self.rank).for_each(|l| precision[k - 1][l - 1] += shared(k, l));
            pull[k - 1] += f64::from(self.pull[row * self.rank + k]) - shared(k, 0);
        }
    }
}

#[test]
fn rows_with_terms_have_the_moments_of_their_distribution() {
    // Ranks of each way to solve systems, with and without padding.
    let all = [
        ([3, 3, 2], 2000),
        ([4, 2, 2], 2000),
        ([7, 2, 2], 1000),
        ([12, 2, 3], 1000),
        ([15, 2, 3], 1000),
        ([40, 2, 2], 300),
        ([64, 2, 2], 200),
        ([70, 2, 2], 300),
        ([107, 2, 2], 100),
    ];
    for (ranks, rows) in all {
        let (problem, rank) = (alike(rows, &ranks), ranks[0]);
        let terms = Terms::new(rows, rank, 1.5, (true, true)).alike();
        let means: Vec<f32> = (0..rows * rank).map(|place| (place % rank) as f32 * 0.3).collect();
        let mut sampler = problem.sampler(Form::Auto);
        sampler.set_prior_means(0, Some(&means)).unwrap();
        sampler.set_row_terms(0, Some(terms.get())).unwrap();
        sampler.draw_rows(0, 1, None).unwrap();
        let (mut precision, mut pull) = expected(&first_row(&problem), 0, 0, Some(&means));
        terms.add(0, &mut precision, &mut pull);
        assert_moments(&sampler.rows(0).unwrap(), &precision, &pull, &format!("{ranks:?}"));
    }
}

#[test]
fn each_row_is_where_its_own_terms_are() {
    // So strong that hardly anything is left to chance.
    for ranks in [[3, 4, 2], [7, 12, 3], [15, 2, 24], [40, 2, 3], [2, 3, 60], [70, 2, 2]] {
        let problem = Random::new(&[9, 7, 12], &ranks, 300, 4);
        for mode in 0..3 {
            let (rows, rank) = (problem.rows[mode], ranks[mode]);
            let sums = problem.sums(mode);
            for parts in PARTS {
                // A pull alone moves rows as far as it is strong.
                let size = if parts == (false, false) { 1e4 } else { 1e6 };
                let terms = Terms::new(rows, rank, size, parts);
                let mut sampler = problem.sampler(Form::Entries);
                sampler.set_row_terms(mode, Some(terms.get())).unwrap();
                sampler.draw_rows(mode, 1, None).unwrap();
                let found = sampler.rows(mode).unwrap();
                for (row, sums) in sums.iter().enumerate() {
                    let (mut precision, mut pull) = given(&problem, mode, row, sums, None);
                    terms.add(row, &mut precision, &mut pull);
                    let (mean, covariance) = solve(&precision, &pull);
                    let scale = mean.iter().fold(1.0f64, |most, value| most.max(value.abs()));
                    for k in 1..rank {
                        let (found, mean) = (f64::from(found[row * rank + k]), mean[k - 1]);
                        let most = 5.5 * covariance[k - 1][k - 1].sqrt() + 2e-4 * scale;
                        let what = format!("{ranks:?} mode {mode} {parts:?} row {row} {k}");
                        assert!((found - mean).abs() < most, "{what}: {found} and not {mean}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_mean_of_distributions_has_their_terms() {
    for ranks in [[3, 12, 5], [6, 3, 17], [40, 2, 3], [2, 3, 60], [70, 2, 2]] {
        let problem = Random::new(&[9, 7, 12], &ranks, 300, 4);
        let is_wide = ranks.iter().any(|&rank| rank > 64);
        for form in forms(3).into_iter().filter(|&form| form == Form::Entries || !is_wide) {
            let mut sampler = problem.sampler(form);
            for (mode, parts) in (0..3).flat_map(|mode| PARTS.map(|parts| (mode, parts))) {
                let (rows, rank) = (problem.rows[mode], ranks[mode]);
                let terms = Terms::new(rows, rank, 1.5, parts);
                sampler.restore(&problem.state).unwrap();
                sampler.prepare(1).unwrap();
                sampler.set_row_terms(mode, Some(terms.get())).unwrap();
                sampler.draw_rows(mode, 1, Some(1.0)).unwrap();
                let found = sampler.state().unwrap().mean.unwrap().natural_params.swap_remove(mode);
                let (found_rows, _) = sampler.mean_model().unwrap();
                let len = natural_len(rank);
                for (row, sums) in problem.sums(mode).iter().enumerate() {
                    let (mut precision, mut pull) = given(&problem, mode, row, sums, None);
                    terms.add(row, &mut precision, &mut pull);
                    let triangle = (0..rank - 1).flat_map(|k| precision[k][..=k].to_vec());
                    let numbers: Vec<f64> = triangle.chain(pull.iter().copied()).collect();
                    let what = format!("{ranks:?} {form:?} mode {mode} {parts:?} row {row}");
                    assert_close(&found[row * len..][..len], &numbers, 3e-5, &what);
                    let expected: Vec<f64> = [1.0].into_iter().chain(solve(&precision, &pull).0).collect();
                    assert_close(&found_rows[mode][row * rank..][..rank], &expected, 3e-3, &what);
                }
                sampler.set_row_terms(mode, None).unwrap();
            }
        }
    }
}

#[test]
fn what_is_left_of_a_row_has_no_terms() {
    for ranks in [[5, 3, 4], [3, 2, 11], [2, 3, 20], [2, 2, 40], [2, 2, 70]] {
        let mut problem = Random::new(&[9, 7, 12], &ranks, 300, 4);
        let is_wide = ranks.iter().any(|&rank| rank > 64);
        for form in forms(3).into_iter().filter(|&form| form == Form::Entries || !is_wide) {
            let mut sampler = problem.sampler(form);
            let mode = sampler.modes()[0];
            let terms = Terms::new(problem.rows[mode], ranks[mode], 3.0, (true, true));
            sampler.set_row_terms(mode, Some(terms.get())).unwrap();
            sampler.draw_rows(mode, 1, None).unwrap();
            assert_left(&sampler, &mut problem, mode, &format!("{ranks:?} {form:?}"));
        }
    }
}

#[test]
fn a_change_of_scale_leaves_terms_alone() {
    let problem = Random::new(&[60, 30], &[5, 4], 600, 6);
    let terms = [(60, 5), (30, 4)].map(|(rows, rank)| Terms::new(rows, rank, 2.0, (true, true)));
    let [mut before, mut after] = [problem.sampler(Form::Auto), problem.sampler(Form::Auto)];
    let set = |sampler: &mut Sampler<_>| {
        (0..2).for_each(|mode| sampler.set_row_terms(mode, Some(terms[mode].get())).unwrap());
    };
    set(&mut before);
    [&mut before, &mut after].into_iter().for_each(|sampler| sampler.rescale(1).unwrap());
    assert_eq!(before.state().unwrap(), after.state().unwrap());
    set(&mut after);
    for sampler in [&mut before, &mut after] {
        (0..2).for_each(|mode| sampler.draw_rows(mode, 1, Some(1.0)).unwrap());
    }
    assert_eq!(before.state().unwrap(), after.state().unwrap());
}

#[test]
fn terms_that_were_taken_away_or_set_anew_leave_nothing() {
    let ranks = [5, 20, 3];
    let problem = Random::new(&[9, 7, 12], &ranks, 300, 4);
    for form in forms(3) {
        let draw = |sampler: &mut Sampler<_>| {
            sampler.restore(&problem.state).unwrap();
            sampler.epoch(4, Some(1.0)).unwrap();
            sampler.state().unwrap()
        };
        let never = draw(&mut problem.sampler(form));
        let of = |mode: usize, size: f64, parts| Terms::new(problem.rows[mode], ranks[mode], size, parts);
        let mut once = problem.sampler(form);
        (0..3).for_each(|mode| once.set_row_terms(mode, Some(of(mode, 1.0, PARTS[mode]).get())).unwrap());
        let once = draw(&mut once);
        assert_ne!(once.factors, never.factors);
        let mut sampler = problem.sampler(form);
        for (size, parts) in [(9.0, PARTS[3]), (5.0, PARTS[0]), (2.0, PARTS[0])] {
            (0..3).for_each(|mode| sampler.set_row_terms(mode, Some(of(mode, size, parts).get())).unwrap());
            assert_ne!(draw(&mut sampler), once);
        }
        (0..3).for_each(|mode| sampler.set_row_terms(mode, Some(of(mode, 1.0, PARTS[mode]).get())).unwrap());
        assert_eq!(draw(&mut sampler), once);
        (0..3).for_each(|mode| sampler.set_row_terms(mode, None).unwrap());
        assert_eq!(draw(&mut sampler), never);
        // Other ranks have none either, even if they are the same.
        (0..3).for_each(|mode| sampler.set_row_terms(mode, Some(of(mode, 1.0, PARTS[0]).get())).unwrap());
        sampler.resize(&ranks, &problem.zero, &problem.state).unwrap();
        assert_eq!(draw(&mut sampler), never);
    }
}

#[test]
fn terms_that_are_set_again_are_where_they_were() {
    let problem = Random::new(&[9, 7], &[5, 3], 60, 4);
    let mut sampler = problem.sampler(Form::Auto);
    let [first, second] = [2.0, 3.0].map(|size| {
        sampler.set_row_terms(0, Some(Terms::new(9, 5, size, (true, true)).get())).unwrap();
        let terms = sampler.terms[0].as_ref().unwrap();
        let arrays = [&terms.pull, terms.diagonal.as_ref().unwrap(), terms.shared.as_ref().unwrap()];
        arrays.map(|array| array.address(&sampler.device))
    });
    assert_eq!(first, second);
}

#[test]
fn terms_that_are_none_are_an_error_and_leave_those_that_were_there() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut sampler = problem.sampler(Form::Entries);
    let good = Terms::new(6, 4, 1.0, (true, true));
    sampler.set_row_terms(1, Some(good.get())).unwrap();
    let changes: [fn(&mut Terms); 11] = [
        |terms| terms.pull.truncate(23),
        |terms| terms.pull.push(0.0),
        |terms| terms.pull[5] = f32::NAN,
        |terms| terms.diagonal.as_mut().unwrap().truncate(5),
        |terms| terms.diagonal.as_mut().unwrap().push(0.0),
        |terms| terms.diagonal.as_mut().unwrap()[3] = -1e-9,
        |terms| terms.diagonal.as_mut().unwrap()[3] = f32::INFINITY,
        |terms| terms.diagonal.as_mut().unwrap()[3] = f32::NAN,
        |terms| terms.shared.as_mut().unwrap().truncate(15),
        |terms| terms.shared.as_mut().unwrap().push(0.0),
        |terms| terms.shared.as_mut().unwrap()[13] = f32::NEG_INFINITY,
    ];
    let refuses = |sampler: &mut Sampler<_>, mode: usize, terms: Option<&Terms>| {
        matches!(sampler.set_row_terms(mode, terms.map(Terms::get)), Err(Error::Problem(_)))
    };
    for (number, change) in changes.into_iter().enumerate() {
        let mut terms = Terms::new(6, 4, 2.0, (true, true));
        change(&mut terms);
        assert!(refuses(&mut sampler, 1, Some(&terms)), "{number}");
    }
    assert!(refuses(&mut sampler, 0, Some(&good)) && refuses(&mut sampler, 2, None));
    let mut other = problem.sampler(Form::Entries);
    other.set_row_terms(1, Some(good.get())).unwrap();
    [&mut sampler, &mut other].into_iter().for_each(|sampler| sampler.draw_rows(1, 1, None).unwrap());
    assert_eq!(sampler.rows(1).unwrap(), other.rows(1).unwrap());
}

#[test]
fn a_device_that_fails_leaves_no_terms() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut other = problem.sampler(Form::Entries);
    other.draw_rows(1, 1, None).unwrap();
    let [old, new] = [1.0, 2.0].map(|size| Terms::new(6, 4, size, (true, true)));
    // Before there are any, each is allocated and copied; after that, only copied.
    for (is_set, calls) in [(false, 6), (true, 3)] {
        for after in 0..calls {
            let device = Failing::default();
            let form = |setup: &mut Setup<'_>| setup.form = Form::Entries;
            let mut sampler = problem.sampler_on(device.clone(), form).unwrap();
            if is_set {
                sampler.set_row_terms(1, Some(old.get())).unwrap();
            }
            device.set(Some(Failure { after, for_good: false }));
            assert!(sampler.set_row_terms(1, Some(new.get())).is_err(), "{is_set} {after}");
            device.set(None);
            sampler.draw_rows(1, 1, None).unwrap();
            assert_eq!(sampler.rows(1).unwrap(), other.rows(1).unwrap());
        }
    }
}
