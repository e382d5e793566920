//! Sums over the entries of rows, whichever way their designs are found, against plain loops in f64.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::atomic::AtomicBool;

use super::conditional::RowConditional;
use super::noise::Noise;
use super::random::{Streams, generator, normal};
use super::sums::{Others, Summer, Workspace};
use crate::layout::concepts;
use crate::layout::view_tests::{counts, view};
use crate::nodes::ALONE;
use crate::problem::mix;

const SIZES: [usize; 3] = [7, 12, 5];
const ENTRIES: usize = 900;

/// Compares the sums of all rows of a mode, with a partner; says whether tables were those of the partner's rows.
fn by_partner(ranks: [usize; 3], (mode, partner): (usize, usize)) -> bool {
    let mut generator = generator(4, [0; 3]);
    let mut list = |len: usize| -> Vec<f32> { (0..len).map(|_| normal(&mut generator) as f32).collect() };
    let factors: Vec<Vec<f32>> = (0..3)
        .map(|mode| {
            let mut rows = list(SIZES[mode] * ranks[mode]);
            rows.chunks_mut(ranks[mode]).for_each(|row| row[0] = 1.0);
            rows
        })
        .collect();
    let (core, values) = (list(ranks.iter().product()), list(ENTRIES));
    let id = |mode: usize, entry: usize| (mix((entry * 3 + mode) as u64) % SIZES[mode] as u64) as u32;
    let indices: Vec<Vec<u32>> =
        (0..3).map(|mode| (0..ENTRIES).map(|entry| id(mode, entry)).collect()).collect();
    let mut noise = Noise::new(SIZES.map(|size| vec![1; size]).to_vec());
    let roots = noise.roots.iter_mut().flatten();
    roots.enumerate().for_each(|(row, root)| *root = 0.6 + 0.03 * row as f32);
    let view = view(&indices, &values, (mode, partner), &counts(&indices[mode], SIZES[mode]), &ranks);
    let slices: Vec<&[f32]> = factors.iter().map(Vec::as_slice).collect();
    let interrupt = AtomicBool::new(false);
    let given = RowConditional {
        view: &view,
        ranks: &ranks,
        factors: &slices,
        core: &core,
        noise: &noise,
        augmentation: None,
        zeros: None,
        matrices: &[],
        means: &[],
        streams: Streams { seed: 1, epoch: 1 },
        without: &[],
        nodes: &ALONE,
        interrupt: &interrupt,
        clock: None,
    };
    let mut workspace = Workspace::default();
    let others = Others::new(&given, &mut workspace);
    let mut summer = Summer::new(&given, &others);
    let (rank, pad) = (ranks[mode], view.normal.pad());
    let mut buffer = Vec::new();
    for piece in 0..view.pieces.len() {
        let block = view.block(piece, true, &mut buffer).unwrap();
        let rows = block.rows.chunk_by(|a, b| a == b);
        let mut first = 0;
        for runs in rows {
            let row = runs[0];
            summer.sum(&block, first..first + runs.len());
            first += runs.len();
            let (mut squares, mut products, mut total) = (vec![0.0; rank * rank], vec![0.0; rank], 0.0);
            for entry in (0..ENTRIES).filter(|&entry| indices[mode][entry] == row) {
                let others = (0..3).filter(|&other| other != mode);
                let root: f64 = others
                    .clone()
                    .map(|other| f64::from(noise.roots[other][indices[other][entry] as usize]))
                    .product();
                let mut design = vec![0.0; rank];
                for (index, &number) in concepts(&ranks).zip(&core) {
                    let row = |other: usize| indices[other][entry] as usize * ranks[other] + index[other];
                    let weights = others.clone().map(|other| f64::from(factors[other][row(other)]));
                    design[index[mode]] += root * f64::from(number) * weights.product::<f64>();
                }
                let value = root * f64::from(values[entry]);
                total += value * value;
                for k in 0..rank {
                    products[k] += value * design[k];
                    (0..=k).for_each(|l| squares[k * rank + l] += design[k] * design[l]);
                }
            }
            let sums = &summer.sums;
            let far = |got: f64, expected: f64, unit: f64| (got - expected).abs() > 1e-4 * unit;
            assert!(!far(sums.values, total, total), "row {row}: {} and not {total}", sums.values);
            for k in 0..rank {
                let unit = (squares[k * rank + k] * total).sqrt();
                assert!(!far(sums.products[k].into(), products[k], unit), "row {row}, {k}");
                for l in 0..=k {
                    let unit = (squares[k * rank + k] * squares[l * rank + l]).sqrt();
                    let (got, expected) = (sums.squares[k * pad + l], squares[k * rank + l]);
                    assert!(
                        !far(got.into(), expected, unit),
                        "row {row}, {k}, {l}: {got} and not {expected}"
                    );
                }
            }
        }
    }
    others.by_partner
}

#[test]
fn sums_are_those_of_plain_loops_with_tables_of_the_rest_or_of_the_partner() {
    // Few concepts of the rest, and a partner with many.
    assert!(by_partner([18, 20, 3], (0, 1)));
    assert!(by_partner([18, 20, 3], (1, 0)));
    assert!(by_partner([40, 3, 33], (0, 2)));
    // As many, or not many, or so few of the mode that vectors would have another length.
    assert!(!by_partner([5, 20, 12], (0, 1)));
    assert!(!by_partner([18, 20, 3], (0, 2)));
    assert!(!by_partner([18, 16, 3], (0, 1)));
    by_partner([4, 20, 3], (0, 1));
}
