//! Graphs over rows, against terms that a host has summed up.

use super::device::{Failing, Failure};
use super::oracle::assert_close;
use super::{Random, forms};
use crate::{Error, Form, Generator, Graph, RowTerms, Setup};

/// Edges between random rows, at both of their ends; the last row has none.
struct Edges {
    starts: Vec<u64>,
    neighbours: Vec<u32>,
    weights: Vec<f32>,
}

impl Edges {
    fn new(rows: usize, count: usize, seed: u64) -> Self {
        let mut generator = Generator(seed);
        let mut of_rows = vec![Vec::new(); rows];
        for _ in 0..count {
            let [a, b] = [(); 2].map(|()| (generator.uniform() * (rows - 1) as f64) as usize);
            let weight = generator.uniform() as f32;
            of_rows[a].push((b as u32, weight));
            of_rows[b].push((a as u32, weight));
        }
        let mut starts = vec![0];
        for row in &of_rows {
            starts.push(starts[starts.len() - 1] + row.len() as u64);
        }
        let (neighbours, weights) = of_rows.into_iter().flatten().unzip();
        Edges { starts, neighbours, weights }
    }

    fn get(&self) -> Graph<'_> {
        Graph { starts: &self.starts, neighbours: &self.neighbours, weights: &self.weights }
    }

    /// The neighbours of a row.
    fn of(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        range.map(|place| (self.neighbours[place] as usize, f64::from(self.weights[place])))
    }
}

/// What is left of a number of a row.
fn rest(rows: &[f32], means: Option<&[f32]>, place: usize) -> f64 {
    f64::from(rows[place]) - means.map_or(0.0, |means| f64::from(means[place]))
}

fn means(rows: usize, rank: usize) -> Vec<f32> {
    (0..rows * rank).map(|place| if place % rank == 0 { 0.0 } else { (place % 7) as f32 * 0.2 }).collect()
}

#[test]
fn distances_are_those_of_plain_loops() {
    for ranks in [[2, 3], [12, 5], [15, 40], [70, 2]] {
        let problem = Random::new(&[41, 300], &ranks, 500, 3);
        let mut sampler = problem.sampler(Form::Auto);
        for (mode, &rank) in ranks.iter().enumerate() {
            let rows = problem.rows[mode];
            let graphs = [Edges::new(rows, 4 * rows, 5), Edges::new(rows, 3, 6)];
            sampler.set_graphs(mode, &graphs.each_ref().map(Edges::get)).unwrap();
            let (factor, means) = (&problem.state.factors[mode], means(rows, rank));
            for means in [None, Some(&means[..])] {
                sampler.set_prior_means(mode, means).unwrap();
                let expected = graphs.each_ref().map(|edges| {
                    let apart = |row: usize, other: usize, k: usize| {
                        rest(factor, means, row * rank + k) - rest(factor, means, other * rank + k)
                    };
                    let of = |row: usize, (other, weight): (usize, f64)| {
                        weight * (0..rank).map(|k| apart(row, other, k).powi(2)).sum::<f64>()
                    };
                    (0..rows).map(|row| edges.of(row).map(|edge| of(row, edge)).sum::<f64>()).sum::<f64>()
                });
                let found = sampler.graph_distances(mode).unwrap();
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found / expected - 1.0).abs() < 1e-6, "{ranks:?}: {found} and not {expected}");
                }
            }
        }
    }
}

/// Rows with graphs are those with the terms that a host would have summed up; with other terms beside them, with means of the prior,
/// after a change of scale, and in the mean of draws.
#[test]
fn rows_are_drawn_as_with_the_terms_of_their_neighbours() {
    for ranks in [[3, 4, 2], [12, 5, 3], [15, 2, 24], [40, 2, 3], [70, 2, 2]] {
        let problem = Random::new(&[40, 33, 28], &ranks, 900, 4);
        let is_wide = ranks.iter().any(|&rank| rank > 64);
        for form in forms(3).into_iter().filter(|&form| form == Form::Entries || !is_wide) {
            let (mut ours, mut theirs) = (problem.sampler(form), problem.sampler(form));
            for (mode, has_terms) in (0..3).flat_map(|mode| [(mode, false), (mode, true)]) {
                let (rows, rank) = (problem.rows[mode], ranks[mode]);
                let graphs = [Edges::new(rows, 90, 7), Edges::new(rows, 20, 8)];
                let (weights, means) = ([0.7, 2.5], means(rows, rank));
                let mut generator = Generator(1);
                let mut pull: Vec<f32> = (0..rows * rank).map(|_| generator.normal() as f32).collect();
                let mut diagonal: Vec<f32> = (0..rows).map(|_| generator.uniform() as f32).collect();
                for sampler in [&mut ours, &mut theirs] {
                    sampler.restore(&problem.state).unwrap();
                    sampler.set_prior_means(mode, has_terms.then_some(&means[..])).unwrap();
                    sampler.rescale(3).unwrap();
                }
                ours.set_graphs(mode, &graphs.each_ref().map(Edges::get)).unwrap();
                ours.set_graph_weights(mode, &weights).unwrap();
                if has_terms {
                    let given = RowTerms { pull: &pull, diagonal: Some(&diagonal), shared: None };
                    ours.set_row_terms(mode, Some(given)).unwrap();
                } else {
                    ours.set_row_terms(mode, None).unwrap();
                    pull.fill(0.0);
                    diagonal.fill(0.0);
                }
                let (factor, by) = (theirs.rows(mode).unwrap(), theirs.scales(mode).unwrap());
                // Means follow a change of scale.
                let means = has_terms.then(|| {
                    let scaled = means.iter().zip(by.iter().cycle()).map(|(mean, by)| mean * by);
                    scaled.collect::<Vec<f32>>()
                });
                let means = means.as_deref();
                for (edges, weight) in graphs.iter().zip(weights) {
                    for row in 0..rows {
                        for (other, own) in edges.of(row) {
                            diagonal[row] += (weight * own) as f32;
                            for k in 1..rank {
                                let mean = means.map_or(0.0, |means| f64::from(means[row * rank + k]));
                                let there = rest(&factor, means, other * rank + k) + mean;
                                pull[row * rank + k] += (weight * own * there) as f32;
                            }
                        }
                    }
                }
                let given = RowTerms { pull: &pull, diagonal: Some(&diagonal), shared: None };
                theirs.set_row_terms(mode, Some(given)).unwrap();
                let [ours, theirs] = [&mut ours, &mut theirs].map(|sampler| {
                    sampler.draw_rows(mode, 4, Some(1.0)).unwrap();
                    let state = sampler.state().unwrap();
                    sampler.forget_mean();
                    sampler.set_row_terms(mode, None).unwrap();
                    sampler.set_prior_means(mode, None).unwrap();
                    sampler.set_graphs(mode, &[]).unwrap();
                    state
                });
                let what = format!("{ranks:?} {form:?} mode {mode} {has_terms}");
                let doubles = |numbers: &[f32]| numbers.iter().copied().map(f64::from).collect::<Vec<f64>>();
                assert_close(&ours.factors[mode], &doubles(&theirs.factors[mode]), 1e-3, &what);
                let [ours, theirs] = [ours, theirs].map(|state| state.mean.unwrap().natural_params);
                assert_close(&ours[mode], &doubles(&theirs[mode]), 1e-4, &what);
            }
        }
    }
}

#[test]
fn graphs_stay_while_ranks_change_and_nothing_stays_of_those_that_were_taken_away() {
    let problem = Random::new(&[40, 30], &[3, 4], 300, 2);
    let larger = Random::new(&[40, 30], &[7, 5], 300, 2);
    let edges = Edges::new(40, 100, 3);
    let draw = |sampler: &mut crate::Sampler<_>, problem: &Random| {
        sampler.restore(&problem.state).unwrap();
        sampler.draw_rows(0, 1, None).unwrap();
        sampler.rows(0).unwrap()
    };
    let mut sampler = problem.sampler(Form::Entries);
    let never = draw(&mut sampler, &problem);
    sampler.set_graphs(0, &[edges.get()]).unwrap();
    assert_eq!(draw(&mut sampler, &problem), never, "a weight of zero");
    sampler.set_graph_weights(0, &[3.0]).unwrap();
    let once = draw(&mut sampler, &problem);
    assert_ne!(once, never);
    sampler.resize(&larger.ranks, &larger.zero, &larger.state).unwrap();
    let resized = draw(&mut sampler, &larger);
    let mut other = problem.sampler(Form::Entries);
    other.resize(&larger.ranks, &larger.zero, &larger.state).unwrap();
    other.set_graphs(0, &[edges.get()]).unwrap();
    other.set_graph_weights(0, &[3.0]).unwrap();
    assert_eq!(draw(&mut other, &larger), resized);
    other.resize(&problem.ranks, &problem.zero, &problem.state).unwrap();
    assert_eq!(draw(&mut other, &problem), once);
    other.set_graphs(0, &[]).unwrap();
    assert_eq!(draw(&mut other, &problem), never);
    assert_eq!(other.graph_distances(0).unwrap(), Vec::<f64>::new());
}

#[test]
fn what_is_no_graph_is_an_error_and_leaves_those_that_were_there() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut sampler = problem.sampler(Form::Entries);
    sampler.set_graphs(0, &[Edges::new(9, 20, 1).get()]).unwrap();
    sampler.set_graph_weights(0, &[1.5]).unwrap();
    sampler.draw_rows(0, 1, None).unwrap();
    let expected = sampler.rows(0).unwrap();
    let changes: [fn(&mut Edges); 8] = [
        |edges| edges.starts.truncate(9),
        |edges| edges.starts[0] = 1,
        |edges| edges.starts[9] += 1,
        |edges| edges.starts[4] = 1 << 40,
        |edges| edges.neighbours[3] = 9,
        |edges| edges.weights.truncate(39),
        |edges| edges.weights[7] = -1e-9,
        |edges| edges.weights[7] = f32::NAN,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut edges = Edges::new(9, 20, 2);
        change(&mut edges);
        let refused = sampler.set_graphs(0, &[edges.get()]);
        assert!(matches!(refused, Err(Error::Problem(_))), "{number}");
    }
    for weights in [&[][..], &[1.0, 2.0], &[-1.0], &[f64::INFINITY]] {
        assert!(matches!(sampler.set_graph_weights(0, weights), Err(Error::Problem(_))), "{weights:?}");
    }
    assert!(sampler.set_graph_weights(1, &[1.0]).is_err());
    assert!(sampler.set_graphs(2, &[]).is_err() && sampler.graph_distances(2).is_err());
    sampler.restore(&problem.state).unwrap();
    sampler.draw_rows(0, 1, None).unwrap();
    assert_eq!(sampler.rows(0).unwrap(), expected);
}

#[test]
fn a_device_that_fails_leaves_no_graphs() {
    let problem = Random::new(&[9, 6], &[3, 4], 60, 1);
    let mut other = problem.sampler(Form::Entries);
    other.draw_rows(0, 1, None).unwrap();
    let edges = Edges::new(9, 20, 2);
    for after in 0..6 {
        let device = Failing::default();
        let form = |setup: &mut Setup<'_>| setup.form = Form::Entries;
        let mut sampler = problem.sampler_on(device.clone(), form).unwrap();
        sampler.set_graphs(0, &[edges.get()]).unwrap();
        sampler.set_graph_weights(0, &[5.0]).unwrap();
        device.set(Some(Failure { after, for_good: false }));
        assert!(sampler.set_graphs(0, &[edges.get()]).is_err(), "{after}");
        device.set(None);
        sampler.draw_rows(0, 1, None).unwrap();
        assert_eq!(sampler.rows(0).unwrap(), other.rows(0).unwrap());
    }
}
