//! The objective and its gradients: the oracle against finite differences, every method against the oracle.

use crate::common::{Numbers, Wide};
use proptest::prelude::*;
use s3cmtf::internal::Gradient;
use s3cmtf::{Absent, Coupled, Method, Model, Params, Problem};

struct Case {
    problem: Problem,
    model: Model,
    params: Params,
}

/// A problem of the given ranks with a matrix of every kind: two on the first mode, one on the last.
fn case(ranks: &[usize], diagonal: bool, l1: bool, coupled: bool, seed: u64) -> Case {
    let mut numbers = Numbers(seed);
    let sizes: Vec<u32> = (0..ranks.len()).map(|_| 2 + numbers.below(4) as u32).collect();
    let count = 3 + numbers.below(30);
    let mut builder =
        Problem::builder(crate::common::entries(&mut numbers, &sizes, count)).sizes(sizes.clone());
    if coupled {
        let last = ranks.len() - 1;
        let missing = crate::common::entries(&mut numbers, &[sizes[0], 4], 5);
        let zeros = crate::common::entries(&mut numbers, &[sizes[0], 5], 6);
        let other_zeros = crate::common::entries(&mut numbers, &[sizes[last], 3], 4);
        builder = builder
            .couple(Coupled::new(0, Absent::Missing, missing).unwrap().weighted(0.7))
            .couple(Coupled::new(0, Absent::Zeros, zeros).unwrap())
            .couple(Coupled::new(last, Absent::Zeros, other_zeros).unwrap().weighted(1.5));
        let size = sizes[last];
        let edges: Vec<u32> = (0..size).collect();
        let next: Vec<u32> = (0..size).map(|id| (id + 1) % size).collect();
        let weights = numbers.list(size as usize).iter().map(|weight| weight.abs()).collect();
        let edges = s3cmtf::Entries::new(vec![edges, next], weights).unwrap();
        builder = builder.couple(Coupled::new(last, Absent::Graph, edges).unwrap().weighted(2.0));
    }
    let problem = builder.build().unwrap();
    let params = Params { lambda_reg: 0.3, lambda_couple: 1.2, l1, ..Params::sgd() };
    let model = crate::common::model(&mut numbers, &problem, ranks, diagonal, 1.2);
    Case { problem, model, params }
}

fn lists(gradient: &Gradient) -> impl Iterator<Item = (String, &[f64])> {
    let core = std::iter::once(("core".to_owned(), gradient.core.as_slice()));
    let factors =
        gradient.factors.iter().enumerate().map(|(n, list)| (format!("factor {n}"), list.as_slice()));
    let coupled =
        gradient.coupled.iter().enumerate().map(|(n, list)| (format!("coupled {n}"), list.as_slice()));
    core.chain(factors).chain(coupled)
}

/// The largest difference between two gradients, part by part, relative to the part's largest number.
fn assert_close(got: &Gradient, expected: &Gradient, tolerance: f64, label: &str) {
    for ((name, got), (_, expected)) in lists(got).zip(lists(expected)) {
        assert_eq!(got.len(), expected.len(), "{label}: {name}");
        let scale = expected.iter().fold(1e-2f64, |scale, value| scale.max(value.abs()));
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() <= tolerance * scale, "{label}: {name}: {got} and not {expected}");
        }
    }
}

fn check(case: &Case, label: &str) {
    let at = Wide::new(&case.model);
    let expected = crate::common::gradient(&case.problem, &case.model, &at, &case.params);
    let value = crate::common::objective(&case.problem, &case.model, &at, &case.params);
    let got = s3cmtf::internal::objective(&case.problem, &case.model, &case.params);
    assert!((got - value).abs() <= 1e-5 * value.abs(), "{label}: objective {got} and not {value}");
    for method in [Method::Naive, Method::Opt, Method::Fast] {
        let params = Params { method, ..case.params.clone() };
        let got = s3cmtf::internal::gradient(&case.problem, &case.model, &params);
        assert_close(&got, &expected, 1e-4, &format!("{label} {method:?}"));
    }
}

#[test]
fn the_oracle_agrees_with_finite_differences_in_every_term() {
    for (number, (ranks, diagonal)) in
        [(vec![2, 3], false), (vec![2, 3, 2], false), (vec![3, 3, 3], true), (vec![2, 2, 1, 3], false)]
            .into_iter()
            .enumerate()
    {
        for l1 in [false, true] {
            let case = case(&ranks, diagonal, l1, true, number as u64 + 50);
            let mut at = Wide::new(&case.model);
            // Away from zero, where absolute values have no slope.
            let lists = std::iter::once(&mut at.core).chain(&mut at.factors).chain(&mut at.coupled);
            lists.flatten().for_each(|value| *value = if value.abs() < 0.05 { 0.1 } else { *value });
            let gradient = crate::common::gradient(&case.problem, &case.model, &at, &case.params);
            let objective =
                |at: &Wide| crate::common::objective(&case.problem, &case.model, at, &case.params);
            let parts = 1 + at.factors.len() + at.coupled.len();
            for part in 0..parts {
                let expected = lists_of(&gradient, part);
                for (place, &expected) in expected.iter().enumerate() {
                    let step = 1e-5;
                    let moved = |by: f64| {
                        let mut other = at.clone();
                        part_of(&mut other, part)[place] += by;
                        objective(&other)
                    };
                    let slope = (moved(step) - moved(-step)) / (2.0 * step);
                    let difference = (slope - expected).abs();
                    assert!(difference <= 1e-6 * (1.0 + slope.abs()), "part {part} place {place}");
                }
            }
        }
    }
}

fn lists_of(gradient: &Gradient, part: usize) -> &[f64] {
    lists(gradient).nth(part).map_or(&[], |(_, list)| list)
}

fn part_of(at: &mut Wide, part: usize) -> &mut Vec<f64> {
    let modes = at.factors.len();
    match part {
        0 => &mut at.core,
        part if part <= modes => &mut at.factors[part - 1],
        part => &mut at.coupled[part - 1 - modes],
    }
}

#[test]
fn every_method_agrees_with_the_oracle_for_usual_ranks() {
    for (number, ranks) in
        [vec![12, 12, 12], vec![10, 10, 10], vec![16, 16], vec![1, 17, 5], vec![4, 4, 4, 4]]
            .into_iter()
            .enumerate()
    {
        check(&case(&ranks, false, false, true, number as u64), &format!("{ranks:?}"));
    }
}

#[test]
fn gradients_are_exact_where_everything_is_zero() {
    let case = case(&[3, 2, 4], false, false, true, 3);
    let zero = |factor: &s3cmtf::Factor| s3cmtf::Factor::new(factor.rank(), vec![0.0; factor.values().len()]);
    for zero_core in [false, true] {
        for zero_mode in 0..3 {
            let mut core = case.model.core().clone();
            if zero_core {
                core.values_mut().fill(0.0);
            }
            let mut factors = case.model.factors().to_vec();
            factors[zero_mode] = zero(&factors[zero_mode]);
            let modes = case.model.modes().to_vec();
            let coupled = case.model.coupled().to_vec();
            let model = Model::new(modes, core, factors, coupled, case.model.range()).unwrap();
            let (problem, params) = (case.problem.clone(), case.params.clone());
            check(&Case { problem, model, params }, &format!("zero mode {zero_mode}, zero core {zero_core}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_method_agrees_with_the_oracle(
        ranks in proptest::collection::vec(1usize..6, 2..=6),
        diagonal in any::<bool>(),
        l1 in any::<bool>(),
        coupled in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let ranks = if diagonal { vec![ranks[0]; ranks.len()] } else { ranks };
        check(&case(&ranks, diagonal, l1, coupled, seed), &format!("{ranks:?} diagonal {diagonal} seed {seed}"));
    }
}
