//! Draws of the core with products of a sample of the entries.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use s3cmtf_kernels::Aligned;

use super::core::{CoreState, System};
use super::pass::Pass;
use super::random::{Streams, generator, normal};
use super::sample::Sample;
use super::tests::{SIZES, Small, moments};
use crate::layout::Piece;
use crate::nodes::ALONE;
use crate::problem::mix;

/// Many entries of a few rows.
fn many(order: usize, count: u64) -> Small {
    let mut small = Small::new(order);
    let rows = |mode: usize| SIZES[mode] as u64;
    let id = |mode: usize, entry: u64| (mix(entry * 7 + mode as u64) % rows(mode)) as u32;
    small.indices = (0..order).map(|mode| (0..count).map(|entry| id(mode, entry)).collect()).collect();
    let mut generator = generator(9, [order as u64, 0, 0]);
    small.values = (0..count).map(|_| normal(&mut generator) as f32).collect();
    small
}

#[test]
fn products_of_samples_are_on_average_those_of_all_entries() {
    const SAMPLES: u64 = 300;
    for order in 2..=4 {
        let small = many(order, 20_000);
        let factors = small.slices();
        let roots: Vec<Vec<f32>> = (0..order)
            .map(|mode| (0..SIZES[mode]).map(|row| 0.6 + 0.1 * (row + mode) as f32).collect())
            .collect();
        for (view, roots) in small.views().zip([None, Some(&roots[..])].into_iter().cycle()) {
            let mut memory = Aligned::default();
            let pass = Pass::new(&view, (small.ranks(), &factors), roots, &ALONE, &mut memory);
            let packed = pass.layout().pack(&small.core);
            let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|n| n * n).sum::<f64>().sqrt();
            let all = pass.product(&packed, Sample::ALL).unwrap();
            let unit = length(&mut all.iter().map(|&sum| sum.into()));
            let both = packed.iter().zip(&all).map(|(&a, &b)| f64::from(a) * f64::from(b));
            let (along, curvature) = (both.sum::<f64>(), pass.curvature(&packed).unwrap());
            assert!((curvature / along - 1.0).abs() < 1e-4, "order {order}: {curvature} and not {along}");
            if roots.is_none() {
                let weighed =
                    pass.weighed_curvature(&packed, &|_, made| made.iter_mut().for_each(|x| *x *= 2.0));
                assert!((weighed.unwrap() / (2.0 * along) - 1.0).abs() < 1e-4, "order {order}, not weighed");
            }
            let (mut mean, mut furthest) = (vec![0.0; all.len()], 0.0f64);
            for seed in 0..SAMPLES {
                let sample = Sample { every: 4, seed: mix(seed) };
                let some = pass.product(&packed, sample).unwrap();
                if roots.is_none() {
                    let weighed = pass.weighed_product(&packed, sample, &|_, _| ()).unwrap();
                    let off = length(&mut some.iter().zip(&weighed).map(|(a, b)| f64::from(a - b)));
                    assert!(off < 1e-4 * unit, "order {order}: {off} of {unit}");
                }
                furthest = furthest.max(length(&mut some.iter().zip(&all).map(|(a, b)| f64::from(a - b))));
                mean.iter_mut()
                    .zip(&some)
                    .for_each(|(mean, &some)| *mean += f64::from(some) / SAMPLES as f64);
            }
            let off = length(&mut mean.iter().zip(&all).map(|(mean, &all)| mean - f64::from(all)));
            assert!(
                off < 0.05 * unit && furthest > 0.01 * unit,
                "order {order}: {off} and {furthest} of {unit}"
            );
        }
    }
}

#[test]
fn draws_have_the_same_distribution_with_a_sample() {
    const DRAWS: u64 = 3_000;
    // The first ones come from far away.
    const FIRST: usize = 20;
    let small = many(2, 60_000);
    let view = small.views().next().unwrap();
    let factors = small.slices();
    let mut memory = Aligned::default();
    let pass = Pass::new(&view, (small.ranks(), &factors), None, &ALONE, &mut memory);
    let layout = pass.layout();
    let chain = |every: u64| {
        let mut core = CoreState::new(small.ranks(), small.core.clone(), false, &[]);
        let draws = (0..DRAWS).map(|epoch| {
            let streams = Streams { seed: 5, epoch };
            let scatter = (1.0f32 / 3.0).sqrt();
            let (_, gradient) = pass.residuals(&layout.pack(&core.values), scatter, streams).unwrap();
            let product = |direction: &[f32], sample: Sample| {
                Ok(layout.unpack(&pass.product(&layout.pack(direction), sample)?))
            };
            let sample = Sample { every, seed: streams.sample() };
            let curvature = |direction: &[f32]| pass.curvature(&layout.pack(direction));
            let system = System { product: &product, curvature: &curvature };
            core.step(&system, 3.0, &layout.unpack(&gradient), sample, streams).unwrap();
            core.values.iter().map(|&value| f64::from(value)).collect()
        });
        moments(&draws.skip(FIRST).collect::<Vec<Vec<f64>>>())
    };
    let (mean, covariance) = chain(1);
    let (found, spread) = chain(3);
    let n = mean.len();
    for k in (0..n).filter(|k| covariance[k * n + k] > 0.0) {
        let deviation = covariance[k * n + k].sqrt();
        assert!((found[k] - mean[k]).abs() < 0.1 * deviation, "{k}: {} and not {}", found[k], mean[k]);
        let ratio = spread[k * n + k] / covariance[k * n + k];
        assert!((ratio - 1.0).abs() < 0.15, "{k}: a variance of {ratio} times what it is without");
    }
}

#[test]
fn strips_that_are_cut_come_to_what_their_entries_do() {
    let small = many(3, 2_200_000);
    let (factors, mut view) = (small.slices(), small.views().next().unwrap());
    let mut memory = Aligned::default();
    let pass = Pass::new(&view, (small.ranks(), &factors), None, &ALONE, &mut memory);
    let parts = |pass: &Pass<'_>| -> Vec<_> {
        pass.view.strips.windows(2).map(|strip| (strip.to_vec(), pass.parts(strip, 2))).collect()
    };
    let cut = parts(&pass);
    assert!(cut.iter().filter(|(_, parts)| parts.len() > 1).count() > cut.len() / 2);
    for (strip, parts) in &cut {
        assert_eq!([parts[0].start, parts[parts.len() - 1].end], strip[..]);
        assert!(parts.windows(2).all(|both| both[0].end == both[1].start && !both[0].is_empty()));
        let begins = |run: usize| view.pieces.iter().any(|piece| piece.runs().start == run);
        assert!(parts.iter().skip(1).all(|part| begins(part.start)));
    }
    // Predictions of whole strips.
    let all = pass.each(&small.core, |_, prediction| f64::from(prediction).powi(2)).unwrap();
    let (squares, packed) = (all.iter().sum::<f64>(), pass.layout().pack(&small.core));
    let product = pass.product(&packed, Sample::ALL).unwrap();
    let along: f64 = packed.iter().zip(&product).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    let curvature = pass.curvature(&packed).unwrap();
    for found in [curvature, along] {
        assert!((found / squares - 1.0).abs() < 1e-4, "{found} and not {squares}");
    }
    // On a node that has some of the strips, the last piece may end with the last of them.
    let strip = cut.iter().rposition(|(_, parts)| parts.len() > 1).unwrap();
    let end = cut[strip].0[1];
    view.pieces.retain(|piece| piece.runs().start < end);
    if let Some(Piece::Rows { runs, .. } | Piece::Part { runs, .. }) = view.pieces.last_mut() {
        runs.end = end;
    }
    let mut memory = Aligned::default();
    let there = Pass::new(&view, (small.ranks(), &factors), None, &ALONE, &mut memory);
    assert_eq!(there.parts(&cut[strip].0, 2), cut[strip].1);
}
