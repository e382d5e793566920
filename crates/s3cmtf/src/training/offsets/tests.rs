//! Offsets against plain sums and planted ones.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::problem::{Blocks, Visit};

fn observed(indices: Vec<Vec<u32>>, values: Vec<f32>) -> EntrySource {
    EntrySource::Memory(Entries::from_rows("entries".into(), indices, values))
}

/// Solves a small system by elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    for pivot in 0..right.len() {
        let (above, below) = matrix.split_at_mut(pivot + 1);
        let (row, target) = (&above[pivot], right[pivot]);
        for (other, right) in below.iter_mut().zip(&mut right[pivot + 1..]) {
            let times = other[pivot] / row[pivot];
            other.iter_mut().zip(row).for_each(|(other, own)| *other -= times * own);
            *right -= times * target;
        }
    }
    for row in (0..right.len()).rev() {
        let known: f64 = (row + 1..right.len()).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[test]
fn turns_come_to_what_the_normal_equations_say() {
    // A row of the second mode has no entry.
    let indices = vec![vec![0, 0, 1, 2, 2, 1, 0], vec![0, 1, 1, 3, 0, 3, 3], vec![0, 1, 0, 1, 1, 1, 0]];
    let values = vec![1.0f32, 2.0, 4.0, 3.0, 5.0, 1.5, 2.5];
    let (rows, lambdas) = ([3, 4, 2], [0.5, 2.0, 10.0]);
    let entries = observed(indices.clone(), values.clone());
    let stats = EntryStats::new(&entries, &rows, &ALONE).unwrap();
    let mean = stats.mean;
    assert_eq!((stats.len, mean, stats.range), (7, 19.0 / 7.0, [1.0, 5.0]));
    assert_eq!(stats.counts, [vec![3, 2, 2], vec![2, 2, 0, 3], vec![3, 4]]);

    let starts = [0, 3, 7];
    let mut matrix = vec![vec![0.0; 9]; 9];
    let mut right = vec![0.0; 9];
    for mode in 0..3 {
        (starts[mode]..starts[mode] + rows[mode]).for_each(|place| matrix[place][place] = lambdas[mode]);
    }
    for (entry, &value) in values.iter().enumerate() {
        let places = [0, 1, 2].map(|mode| starts[mode] + indices[mode][entry] as usize);
        for a in places {
            right[a] += f64::from(value) - mean;
            places.iter().for_each(|&b| matrix[a][b] += 1.0);
        }
    }
    let expected = solve(matrix, right);
    let fit = Fit { entries: &entries, stats, is_free: None, nodes: &ALONE };
    let mut found: Rows = rows.iter().map(|&rows| vec![0.0; rows]).collect();
    for _ in 0..200 {
        found = fit.settle(&lambdas, found, 1).unwrap();
    }
    for (found, expected) in found.concat().iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
    assert_eq!(found[1][2], 0.0);
    // Where a sweep ends is near enough.
    let zeros = rows.iter().map(|&rows| vec![0.0; rows]).collect();
    for (found, expected) in fit.settle(&lambdas, zeros, SWEEPS).unwrap().concat().iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-2, "{found} {expected}");
    }
}

/// Users and films differ, months do not; and what is true of each entry.
fn planted(entries: usize) -> (Vec<Vec<u32>>, Vec<f32>, Vec<f64>) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(7);
    let normal = Normal::new(0.0, 1.0).unwrap();
    let mut offsets = |rows: usize, sd: f64| -> Vec<f64> {
        (0..rows).map(|_| sd * normal.sample(&mut generator)).collect()
    };
    let of = [offsets(300, 0.5), offsets(100, 0.8), offsets(12, 0.0)];
    let noise = offsets(entries, 0.9);
    let mut row = |rows: usize| generator.random_range(0..rows as u32);
    let indices: Vec<Vec<u32>> = of.iter().map(|of| (0..entries).map(|_| row(of.len())).collect()).collect();
    let truth = |entry: usize| 3.5 + (0..3).map(|mode| of[mode][indices[mode][entry] as usize]).sum::<f64>();
    let truths: Vec<f64> = (0..entries).map(truth).collect();
    let values = truths.iter().zip(noise).map(|(truth, noise)| (truth + noise) as f32).collect();
    (indices, values, truths)
}

const SIZES: [usize; 3] = [300, 100, 12];

#[test]
fn planted_offsets_are_found_and_those_that_are_not_there_are_not() {
    let (indices, values, truths) = planted(20_000);
    let (offsets, range) = fit(&observed(indices.clone(), values), &SIZES, 3, &ALONE).unwrap();
    let squares: f64 = truths
        .iter()
        .enumerate()
        .map(|(entry, truth)| {
            let rows = (0..3).map(|mode| offsets.rows[mode][indices[mode][entry] as usize]);
            (f64::from(offsets.mean) + rows.map(f64::from).sum::<f64>() - truth).powi(2)
        })
        .sum();
    let rmse = (squares / truths.len() as f64).sqrt();
    // 400 offsets from 20000 values that scatter by 0.9 cannot be known better than to 0.13.
    assert!(rmse < 0.135, "{rmse}");
    // The best regularisers are the variance of the noise divided by that of the offsets: 3, 1 and infinity. Films have 200
    // entries each, so that theirs hardly matters.
    let [users, films, months] = offsets.lambdas[..] else { panic!("{:?}", offsets.lambdas) };
    assert!((0.9..11.0).contains(&users) && films < 11.0 && months > 90.0, "{:?}", offsets.lambdas);
    assert!(range[0] < 1.0 && range[1] > 6.0);
}

/// Entries that come in blocks of a few.
struct Few(Entries, usize);

impl Blocks for Few {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        for first in (0..self.0.len()).step_by(self.1) {
            let range = first..(first + self.1).min(self.0.len());
            let lists: Vec<&[u32]> =
                (0..self.0.order()).map(|mode| &self.0.indices(mode)[range.clone()]).collect();
            visit(&lists, &self.0.values()[range.clone()])?;
        }
        Ok(())
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_order_nor_on_where_entries_are() {
    // More than the sample, and several pieces.
    let (indices, values, _) = planted(SAMPLE + 200_000);
    let entries = Entries::from_rows("entries".into(), indices, values);
    let on = |threads: usize, entries: &EntrySource| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(entries, &SIZES, 1, &ALONE)).unwrap()
    };
    let expected = on(1, &EntrySource::Memory(entries.clone()));
    assert!(on(3, &EntrySource::Memory(entries.clone())) == expected);
    let backwards: Vec<u32> = (0..entries.len() as u32).rev().collect();
    assert!(on(2, &EntrySource::Memory(entries.select(&backwards))) == expected);
    assert!(on(2, &EntrySource::stored(Arc::new(Few(entries, 99_991)))) == expected);
}

#[test]
fn few_equal_and_huge_values_have_finite_offsets() {
    let (offsets, range) = fit(&observed(vec![vec![0], vec![1]], vec![4.0]), &[1, 2], 1, &ALONE).unwrap();
    assert_eq!((offsets.mean, range, &offsets.rows), (4.0, [4.0; 2], &vec![vec![0.0], vec![0.0; 2]]));
    let equal = observed(vec![vec![0, 1, 1], vec![0, 0, 1]], vec![-2.5; 3]);
    assert_eq!(fit(&equal, &[2, 2], 1, &ALONE).unwrap().0.rows, vec![vec![0.0; 2]; 2]);
    let huge = observed(vec![vec![0, 1, 1, 0], vec![0, 0, 1, 1]], vec![3e38, -3e38, -3e38, 3e38]);
    let (offsets, _) = fit(&huge, &[2, 2], 1, &ALONE).unwrap();
    assert!(offsets.rows.iter().flatten().all(|b| b.is_finite()), "{offsets:?}");
}

#[test]
fn rows_that_are_new_get_what_their_entries_ask_for_and_others_stay() {
    let offsets = Offsets { mean: 3.0, lambdas: vec![1.0, 4.0], rows: vec![vec![0.5], vec![-1.0, 0.25]] };
    let rows = vec![vec![0.5, 0.0, 0.0], vec![-1.0, 0.25]];
    let is_new = vec![vec![false, true, true], vec![false; 2]];
    let entries = Entries::from_rows("new".into(), vec![vec![1, 1, 0], vec![0, 1, 1]], vec![3.0, 4.0, 1.0]);
    let grown = grow(&offsets, rows, is_new, entries).unwrap();
    // (3 - 3 + 1 + 4 - 3 - 0.25) / (2 + 1); the third has no entry.
    assert_eq!(grown.rows, [vec![0.5, (1.75f64 / 3.0) as f32, 0.0], vec![-1.0, 0.25]]);
}
