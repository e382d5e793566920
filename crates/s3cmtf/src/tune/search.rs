//! Which settings to try next: coarse steps before fine ones, and cheap ones before dear ones.

use super::trial::{Skip, Trial};
use crate::params::{Algorithm, CoreKind, Params};
use crate::problem::Problem;

/// The ranks that are tried first.
const RANKS: [usize; 6] = [4, 8, 12, 16, 24, 32];
/// The first factor by which weights are made larger and smaller, and the second.
const COARSE: f32 = 4.0;
const FINE: f32 = 2.0;
/// Weights outside of this are not tried.
const WEIGHTS: std::ops::RangeInclusive<f32> = 0.01..=1000.0;
/// Epochs are not tried beyond this many times those of the start, nor below this many.
const MOST_EPOCHS: usize = 8;
const FEWEST_EPOCHS: usize = 10;

/// What a search is about.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    base: &'a Params,
    /// The settings that each algorithm starts from, `base` first.
    starts: Vec<Params>,
}

/// What is known of one algorithm.
struct Known<'a> {
    order: usize,
    coupled: bool,
    start: &'a Params,
    best: &'a Params,
    trials: Vec<&'a Trial>,
}

/// The steps, in turn: each names the settings it would try, all at once, and those that were not tried yet are.
const STEPS: [fn(&Known<'_>) -> Vec<Params>; 7] =
    [coarse_ranks, coarse_reg, coarse_couple, epochs, fine_ranks, fine_reg, fine_couple];

impl<'a> Search<'a> {
    /// A search from `base` over `algorithms`.
    pub(super) fn new(problem: &'a Problem, base: &'a Params, algorithms: &[Algorithm]) -> Self {
        let others = algorithms.iter().filter(|&&algorithm| algorithm != base.algorithm);
        let others = others.map(|&algorithm| with_algorithm(base, algorithm));
        Search { problem, base, starts: std::iter::once(base.clone()).chain(others).collect() }
    }

    /// The settings to try next, if there are any left: first where each algorithm starts, then the steps of the better
    /// algorithm, then those of the other. Settings that the problem does not allow are left out.
    pub(super) fn next(&self, trials: &[Trial], skips: &[Skip]) -> Option<Params> {
        let order = self.problem.order();
        let seen = || trials.iter().map(|trial| &trial.params).chain(skips.iter().map(|skip| &skip.params));
        let is_new = |params: &Params| {
            params.check(self.problem).is_ok() && !seen().any(|other| is_same(params, other, order))
        };
        if trials.is_empty() {
            return Some(self.base.clone());
        }
        if let Some(start) = self.starts.iter().find(|start| is_new(start)) {
            return Some(start.clone());
        }
        let mut known: Vec<(f64, Known<'_>)> = self
            .starts
            .iter()
            .filter_map(|start| {
                let of = |trial: &&Trial| trial.params.algorithm == start.algorithm;
                let trials: Vec<&Trial> = trials.iter().filter(of).collect();
                let best = trials.iter().min_by(|a, b| a.rmse.total_cmp(&b.rmse))?;
                let coupled = !self.problem.coupled().is_empty();
                Some((best.rmse, Known { order, coupled, start, best: &best.params, trials }))
            })
            .collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        known.iter().find_map(|(_, known)| {
            STEPS.iter().find_map(|step| {
                let candidates = step(known).into_iter().filter(&is_new);
                candidates.min_by(|a, b| work(a, order).total_cmp(&work(b, order)))
            })
        })
    }
}

/// Settings for another algorithm; its own number of epochs, unless another than the default is asked for.
fn with_algorithm(base: &Params, algorithm: Algorithm) -> Params {
    let usual = |algorithm: Algorithm| Params::usual(algorithm).epochs;
    let epochs = if base.epochs == usual(base.algorithm) { usual(algorithm) } else { base.epochs };
    // Only bayes finds ranks itself.
    let ranks = if base.is_auto() && algorithm != Algorithm::Bayes {
        Params::sgd().ranks
    } else {
        base.ranks.clone()
    };
    let mut params = Params { algorithm, epochs, ranks, ..base.clone() };
    // What was asked of the model stays; how an algorithm gets there is its own.
    let own = Params::usual(algorithm);
    if !algorithm.has("lambda_reg") {
        (params.lambda_reg, params.lambda_couple) = (own.lambda_reg, own.lambda_couple);
    }
    if !algorithm.has("scheme") {
        (params.scheme, params.start, params.decay) = (own.scheme, own.start, own.decay);
    }
    params
}

/// The same settings but for what has no effect.
fn is_same(a: &Params, b: &Params, order: usize) -> bool {
    a.is_auto() == b.is_auto()
        && a.ranks_for(order) == b.ranks_for(order)
        && Params { ranks: b.ranks.clone(), ..a.clone() } == *b
}

/// How many numbers the core has that a run works with.
pub(super) fn core_size(params: &Params, order: usize) -> f64 {
    let ranks = params.ranks_for(order);
    match params.core {
        CoreKind::Full => ranks.iter().map(|&rank| rank as f64).product(),
        // Draws have a full one.
        CoreKind::Diagonal if params.algorithm == Algorithm::Bayes => {
            (ranks[0] as f64 + 1.0 - order as f64).max(2.0).powi(order as i32)
        }
        CoreKind::Diagonal => ranks[0] as f64,
    }
}

/// What a trial costs, to compare it with others of its algorithm.
fn work(params: &Params, order: usize) -> f64 {
    params.epochs as f64 * core_size(params, order)
}

/// The rank, where all modes have the same.
fn one_rank(params: &Params, order: usize) -> Option<usize> {
    let ranks = if params.is_auto() { Vec::new() } else { params.ranks_for(order) };
    let rank = *ranks.first()?;
    ranks.iter().all(|&other| other == rank).then_some(rank)
}

fn with_rank(params: &Params, rank: usize) -> Params {
    Params { ranks: vec![rank], ..params.clone() }
}

/// The usual ranks, up to the second in a row that is above the best one and worse.
fn coarse_ranks(known: &Known<'_>) -> Vec<Params> {
    let in_sweep = |trial: &&&Trial| {
        is_same(
            &Params { ranks: known.start.ranks.clone(), ..trial.params.clone() },
            known.start,
            known.order,
        )
    };
    let mut sweep: Vec<(usize, f64)> = known
        .trials
        .iter()
        .filter(in_sweep)
        .filter_map(|trial| Some((one_rank(&trial.params, known.order)?, trial.rmse)))
        .collect();
    sweep.sort_by_key(|&(rank, _)| rank);
    let best = sweep.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|&(rank, _)| rank);
    let above: Vec<usize> =
        sweep.iter().map(|&(rank, _)| rank).filter(|&rank| best.is_some_and(|best| rank > best)).collect();
    let limit = above.get(1).copied().unwrap_or(usize::MAX);
    RANKS.iter().filter(|&&rank| rank < limit).map(|&rank| with_rank(known.start, rank)).collect()
}

/// Ranks half-way between the best one and those tried next to it, or beyond it where it is the smallest or the largest.
fn fine_ranks(known: &Known<'_>) -> Vec<Params> {
    let Some(best) = one_rank(known.best, known.order) else { return Vec::new() };
    let tried = || known.trials.iter().filter_map(|trial| one_rank(&trial.params, known.order));
    let below = tried().filter(|&rank| rank < best).max();
    let above = tried().filter(|&rank| rank > best).min();
    // Ranks that are closer to each other than this hardly differ.
    let gap = (best / 3).max(2);
    let lower = below.map_or(Some(best / 2), |rank| (best - rank >= gap).then_some(rank.midpoint(best)));
    let higher = above
        .map_or(Some(best + best.div_ceil(2)), |rank| (rank - best >= gap).then_some(rank.midpoint(best)));
    [lower, higher].into_iter().flatten().map(|rank| with_rank(known.best, rank)).collect()
}

/// The best settings with a weight made larger and smaller; each weight is tried once, whatever the other settings were.
/// Only stochastic gradient descent has weights.
fn scaled(known: &Known<'_>, by: f32, weight: fn(&mut Params) -> &mut f32) -> Vec<Params> {
    if known.best.algorithm != Algorithm::Sgd {
        return Vec::new();
    }
    let tried: Vec<f32> = known.trials.iter().map(|trial| *weight(&mut trial.params.clone())).collect();
    let scale = |by: f32| {
        let mut params = known.best.clone();
        let weight = weight(&mut params);
        *weight *= by;
        (WEIGHTS.contains(weight) && !tried.contains(weight)).then_some(params)
    };
    [scale(by), scale(1.0 / by)].into_iter().flatten().collect()
}

fn coarse_reg(known: &Known<'_>) -> Vec<Params> {
    scaled(known, COARSE, |params| &mut params.lambda_reg)
}

fn fine_reg(known: &Known<'_>) -> Vec<Params> {
    scaled(known, FINE, |params| &mut params.lambda_reg)
}

fn coarse_couple(known: &Known<'_>) -> Vec<Params> {
    if known.coupled { scaled(known, COARSE, |params| &mut params.lambda_couple) } else { Vec::new() }
}

fn fine_couple(known: &Known<'_>) -> Vec<Params> {
    if known.coupled { scaled(known, FINE, |params| &mut params.lambda_couple) } else { Vec::new() }
}

/// Half and twice the epochs, each number once. The mean of draws only gets better with more of them, so that there is
/// nothing to find.
fn epochs(known: &Known<'_>) -> Vec<Params> {
    if known.best.algorithm != Algorithm::Sgd {
        return Vec::new();
    }
    let most = known.start.epochs.saturating_mul(MOST_EPOCHS);
    let tried: Vec<usize> = known.trials.iter().map(|trial| trial.params.epochs).collect();
    let counts = [known.best.epochs / 2, known.best.epochs.saturating_mul(2)];
    let allowed = counts.into_iter().filter(|epochs| (FEWEST_EPOCHS..=most).contains(epochs));
    let new = allowed.filter(|epochs| !tried.contains(epochs));
    new.map(|epochs| Params { epochs, ..known.best.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::trial::Why;
    use super::*;
    use crate::problem::Entries;

    fn matrix() -> Problem {
        let entries = Entries::new(vec![vec![0, 1, 2], vec![0, 1, 2]], vec![1.0, 2.0, 3.0]).unwrap();
        Problem::builder(entries).build().unwrap()
    }

    /// Everything a search tries where settings have the given RMSE.
    fn tried(base: &Params, algorithms: &[Algorithm], rmse: impl Fn(&Params) -> f64) -> Vec<Params> {
        let problem = matrix();
        let search = Search::new(&problem, base, algorithms);
        let mut trials = Vec::new();
        while let Some(params) = search.next(&trials, &[]) {
            assert!(trials.len() < 100, "the search goes on for ever");
            let rmse = rmse(&params);
            trials.push(Trial {
                params,
                changes: Vec::new(),
                rmse,
                seconds: 1.0,
                difference: 0.0,
                noise: 0.0,
            });
        }
        trials.into_iter().map(|trial| trial.params).collect()
    }

    fn ranks(tried: &[Params]) -> Vec<usize> {
        tried.iter().map(|params| params.ranks[0]).collect()
    }

    #[test]
    fn ranks_go_up_from_the_cheapest_and_then_close_in_on_the_best() {
        let near = |best: f64| move |params: &Params| (params.ranks[0] as f64 - best).abs();
        let bayes = [Algorithm::Bayes];
        let base = Params { ranks: vec![10], ..Params::default() };
        assert_eq!(ranks(&tried(&base, &bayes, near(10.0))), [10, 4, 8, 12, 16]);
        assert_eq!(ranks(&tried(&base, &bayes, near(20.0))), [10, 4, 8, 12, 16, 24, 32, 20]);
        assert_eq!(ranks(&tried(&base, &bayes, near(50.0))), [10, 4, 8, 12, 16, 24, 32, 48, 40, 72, 60]);
        assert_eq!(ranks(&tried(&base, &bayes, near(0.0))), [10, 4, 8, 2, 3]);
        // Those that were found are compared with others.
        let auto = tried(&Params::default(), &bayes, |params| if params.is_auto() { 0.0 } else { 1.0 });
        assert!(auto[0].is_auto() && auto[1..].iter().all(|params| !params.is_auto()));
        assert_eq!(ranks(&auto[1..]), [4, 8, 12]);
    }

    #[test]
    fn the_better_algorithm_comes_first_and_weights_are_those_of_sgd() {
        let both = [Algorithm::Bayes, Algorithm::Sgd];
        let sgd_is_better = |params: &Params| match params.algorithm {
            Algorithm::Sgd => 1.0 + f64::from(params.lambda_reg - 80.0).abs() / 1000.0,
            _ => 2.0 + params.ranks_for(2)[0] as f64,
        };
        let tried = tried(&Params::default(), &both, sgd_is_better);
        let algorithms: Vec<Algorithm> = tried.iter().map(|params| params.algorithm).collect();
        assert_eq!(algorithms[..3], [Algorithm::Bayes, Algorithm::Sgd, Algorithm::Sgd]);
        assert_eq!(algorithms.last(), Some(&Algorithm::Bayes));
        assert_eq!(tried[1], Params::sgd());
        assert!(tried.iter().any(|params| params.lambda_reg == 80.0));
        assert!(tried.iter().all(|params| params.lambda_couple == Params::default().lambda_couple));
        let is_bayes = |params: &&Params| params.algorithm == Algorithm::Bayes;
        assert!(tried.iter().filter(is_bayes).all(|params| params.lambda_reg == 5.0 && params.epochs == 120));
    }

    #[test]
    fn what_a_problem_or_an_algorithm_does_not_allow_is_not_tried() {
        // Bayes has no non-negative factors.
        let base = Params { nonnegative: true, ranks: vec![2], ..Params::sgd() };
        let tried = tried(&base, &[Algorithm::Bayes, Algorithm::Sgd], |params| 1.0 / params.ranks[0] as f64);
        assert!(tried.iter().all(|params| params.algorithm == Algorithm::Sgd && params.nonnegative));
        // Ranks grow by a half as long as that helps; the next would be 1233, above the largest that there is.
        assert_eq!(ranks(&tried).into_iter().max(), Some(822));
    }

    #[test]
    fn nothing_is_tried_twice() {
        for base in [Params::default(), Params { ranks: vec![12, 12], ..Params::sgd() }] {
            let tried = tried(&base, &[Algorithm::Bayes, Algorithm::Sgd], |_| f64::NAN);
            for (place, params) in tried.iter().enumerate() {
                assert!(!tried[..place].iter().any(|other| is_same(params, other, 2)), "{params:?}");
            }
        }
    }

    #[test]
    fn what_was_skipped_is_not_offered_again() {
        let problem = matrix();
        let base = Params::default();
        let search = Search::new(&problem, &base, &[Algorithm::Bayes]);
        let trials = [Trial {
            params: base.clone(),
            changes: Vec::new(),
            rmse: 1.0,
            seconds: 1.0,
            difference: 0.0,
            noise: 0.0,
        }];
        let mut skips = Vec::new();
        while let Some(params) = search.next(&trials, &skips) {
            assert!(skips.len() < 20, "the search goes on for ever");
            skips.push(Skip { params, changes: Vec::new(), why: Why::Stopped { seconds: 1.0 } });
        }
        assert!(skips.len() >= RANKS.len());
    }
}
