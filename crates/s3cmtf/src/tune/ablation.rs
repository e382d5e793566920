//! What each part of a problem is worth: the same training without it, on the same entries that neither has seen.
//!
//! Chance moves a training more than the entries that it is measured on let one see: a run may miss a concept that another
//! finds. So everything is trained with two seeds, and both must say the same before it is said.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::paired::{Paired, squares};
use crate::Error;
use crate::model::{SimpleErrors, no_better, short};
use crate::params::Params;
use crate::problem::{Entries, LeftOut, Mode, Problem};
use crate::training::{Epoch, Stop, Training};

/// How many standard errors a difference must have to be one.
const CLEAR: f64 = 2.0;
/// A difference below this share of the RMSE is none: another seed alone may make it.
const LEAST: f64 = 0.001;

/// How often everything is trained, each time with another seed.
const SEEDS: u64 = 2;

/// A comparison to be: a problem, settings, and the share of the entries to compare by.
pub struct Ablation<'a> {
    problem: Problem,
    params: Params,
    holdout: f64,
    interrupt: Option<&'a AtomicBool>,
    observer: Option<Observer<'a>>,
}

/// What is told of a comparison.
type Observer<'a> = Box<dyn FnMut(AblationEvent<'_>) -> ControlFlow<()> + Send + 'a>;

/// What a comparison tells of while it goes on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AblationEvent<'a> {
    /// A training starts: of everything, or without a part; for the first time, counted from 0, or again.
    Start(Option<&'a LeftOut>, u64),
    /// It has done an epoch.
    Epoch(&'a Epoch),
    /// The trainings of everything have come to their end, with this RMSE.
    Whole(f64),
    /// Those without a part have.
    Effect(&'a AblationEffect),
}

/// Whether predictions need a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Without it they are worse.
    Helps,
    /// Without it they are the same, as far as one can tell.
    NoDifference,
    /// Without it they are better.
    Worse,
}

impl Verdict {
    /// The verdict in words, of a part that is named before.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Helps => "helps",
            Verdict::NoDifference => "makes no difference",
            Verdict::Worse => "makes it worse",
        }
    }
}

/// What a part is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AblationEffect {
    /// The part.
    #[serde(flatten)]
    pub left_out: LeftOut,
    /// The RMSE without it, on the held-out entries.
    pub rmse: f64,
    /// How much larger that is than the RMSE with it, as a share of that: above zero, the part helps.
    pub difference: f64,
    /// The standard error of `difference`, by the errors on each held-out entry, and by how the seeds differ.
    pub noise: f64,
    /// What that comes to.
    pub verdict: Verdict,
    /// Seconds of training.
    pub seconds: f64,
}

/// The squared error of each held-out entry, seed by seed.
#[derive(Default)]
struct Trained {
    squares: Vec<Vec<f64>>,
    simple: Option<SimpleErrors>,
    seconds: f64,
}

impl Trained {
    /// The squared error of each entry, the mean over the seeds.
    fn mean(&self) -> Vec<f64> {
        let of = |entry: usize| self.squares.iter().map(|squares| squares[entry]).sum::<f64>();
        let entries = self.squares.first().map_or(0, Vec::len);
        (0..entries).map(|entry| of(entry) / self.squares.len() as f64).collect()
    }
}

/// A difference and its standard error, as shares of the RMSE that it is a difference to.
fn shares(without: &[f64], whole: &[f64]) -> (f64, f64) {
    let Paired { rmse, difference, noise } = Paired::new(without, whole);
    let with = (rmse - difference).max(f64::MIN_POSITIVE);
    (difference / with, noise / with)
}

impl AblationEffect {
    fn new(left_out: LeftOut, without: &Trained, whole: &Trained) -> Self {
        let both = without.squares.iter().zip(&whole.squares);
        let pairs: Vec<(f64, f64)> = both.map(|(without, whole)| shares(without, whole)).collect();
        // What is not a number is never clear.
        let all = |sign: f64| {
            pairs.iter().all(|(difference, noise)| sign * difference > (CLEAR * noise).max(LEAST))
        };
        let verdict = match (all(1.0), all(-1.0)) {
            (true, false) => Verdict::Helps,
            (false, true) => Verdict::Worse,
            _ => Verdict::NoDifference,
        };
        let mean = without.mean();
        let (difference, noise) = shares(&mean, &whole.mean());
        let count = pairs.len() as f64;
        let apart = pairs.iter().map(|(one, _)| (one - difference).powi(2)).sum::<f64>();
        let between = if pairs.len() > 1 { (apart / (count * (count - 1.0))).sqrt() } else { 0.0 };
        let rmse = Paired::new(&mean, &mean).rmse;
        let (noise, seconds) = (noise.hypot(between), without.seconds);
        AblationEffect { left_out, rmse, difference, noise, verdict, seconds }
    }

    /// Says so where the part makes predictions worse, and by how much.
    pub fn note(&self) -> Option<String> {
        let with = self.rmse / (1.0 + self.difference);
        (self.verdict == Verdict::Worse).then(|| {
            format!(
                "{} makes predictions worse: the RMSE on held-out entries is {} with it and {} without, {:.1} % less",
                self.left_out.name(),
                short(with),
                short(self.rmse),
                -100.0 * self.difference
            )
        })
    }
}

/// A finished comparison.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ablated {
    /// The RMSE of everything on the held-out entries; none if its training was interrupted.
    pub rmse: Option<f64>,
    /// What simple predictions come to on them.
    pub simple: Option<SimpleErrors>,
    /// What each part is worth, as far as it is known.
    pub parts: Vec<AblationEffect>,
    /// How many entries were held out.
    pub held_out: usize,
    /// Whether it was interrupted.
    pub interrupted: bool,
    modes: Vec<Mode>,
}

impl Ablated {
    /// What is to be said of the model as a whole: that offsets are as good.
    pub fn note(&self) -> Option<String> {
        self.rmse
            .zip(self.simple)
            .and_then(|(rmse, simple)| no_better(rmse, simple.offsets_rmse, &self.modes))
    }
}

impl<'a> Ablation<'a> {
    /// The share of the entries that trainings are compared on unless told otherwise.
    pub const HOLDOUT: f64 = 0.1;

    /// A comparison with these settings, on a random tenth of the entries.
    pub fn new(problem: Problem, params: Params) -> Self {
        Ablation { problem, params, holdout: Self::HOLDOUT, interrupt: None, observer: None }
    }

    /// The share of the entries that is held out, and that trainings are compared on: the same for all, and that of
    /// [`Training::holdout`] with the same seed.
    #[must_use]
    pub fn holdout(mut self, fraction: f64) -> Self {
        self.holdout = fraction;
        self
    }

    /// Ends soon after `flag` becomes true, and keeps what is known by then.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Tells `observe` of what happens. If it breaks, the comparison ends as by [`Ablation::interrupt`], whose flag then becomes true.
    #[must_use]
    pub fn observe(mut self, observe: impl FnMut(AblationEvent<'_>) -> ControlFlow<()> + Send + 'a) -> Self {
        self.observer = Some(Box::new(observe));
        self
    }

    /// Trains on everything, and then without each part of [`Problem::parts`], each with two seeds.
    ///
    /// # Errors
    /// If there is nothing to leave out, if a setting or the share is out of range, or if there is only one entry.
    pub fn run(self) -> Result<Ablated, Error> {
        let Ablation { problem, params, holdout, interrupt, mut observer } = self;
        params.check(&problem)?;
        let parts = problem.parts();
        if parts.is_empty() {
            let what = "there is nothing to leave out: no matrix is coupled, and there are two modes";
            return Err(Error::Problem(what.into()));
        }
        let never = AtomicBool::new(false);
        let interrupt = interrupt.unwrap_or(&never);
        let mut observe = |event: AblationEvent<'_>| {
            if observer.as_mut().is_some_and(|observe| observe(event).is_break()) {
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let modes = problem.modes().to_vec();
        let (rest, held) = problem.hold_out(holdout, params.seed)?;
        let held = rest.with_ids(held);
        let (rmse, simple, parts_known) = (None, None, Vec::new());
        let held_out = held.len();
        let mut ablated = Ablated { rmse, simple, parts: parts_known, held_out, interrupted: true, modes };
        let Some(whole) = train(&rest, &held, &params, None, interrupt, &mut observe)? else {
            return Ok(ablated);
        };
        let mean = whole.mean();
        let rmse = Paired::new(&mean, &mean).rmse;
        (ablated.rmse, ablated.simple) = (Some(rmse), whole.simple);
        observe(AblationEvent::Whole(rmse));
        for part in parts {
            let less = rest.without(&part)?;
            let params = without(&params, &part);
            let found = match part {
                LeftOut::Matrix { .. } => train(&less, &held, &params, Some(&part), interrupt, &mut observe),
                LeftOut::Mode { place, .. } => {
                    let held = held.without_mode(place);
                    train(&less, &held, &params, Some(&part), interrupt, &mut observe)
                }
            };
            let Some(found) = found? else { return Ok(ablated) };
            ablated.parts.push(AblationEffect::new(part, &found, &whole));
            ablated.parts.last().into_iter().for_each(|effect| observe(AblationEvent::Effect(effect)));
        }
        ablated.interrupted = false;
        Ok(ablated)
    }
}

/// Trains with each seed; nothing if it was interrupted.
fn train(
    rest: &Problem,
    held: &Entries,
    params: &Params,
    part: Option<&LeftOut>,
    interrupt: &AtomicBool,
    observe: &mut (impl FnMut(AblationEvent<'_>) + Send),
) -> Result<Option<Trained>, Error> {
    let mut trained = Trained::default();
    for again in 0..SEEDS {
        if interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        observe(AblationEvent::Start(part, again));
        let params = Params { seed: params.seed.wrapping_add(again), ..params.clone() };
        let tell = |epoch: &Epoch| {
            observe(AblationEvent::Epoch(epoch));
            ControlFlow::Continue(())
        };
        let run = Training::new(rest.clone(), params).interrupt(interrupt).observe(tell).run()?;
        if run.record.summary.stop == Stop::Interrupted {
            return Ok(None);
        }
        trained.squares.push(squares(&run.model, held)?);
        trained.seconds += run.record.summary.seconds;
        trained.simple = trained.simple.or(run.model.simple_errors(held)?);
    }
    Ok(Some(trained))
}

/// The settings for what is left without a part.
fn without(params: &Params, part: &LeftOut) -> Params {
    let mut params = params.clone();
    if let LeftOut::Mode { place, .. } = *part
        && params.ranks.len() > 1
    {
        params.ranks.remove(place);
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect_of(without: [&[f64]; 2], whole: &[f64]) -> AblationEffect {
        let trained = |squares: [&[f64]; 2]| Trained {
            squares: squares.map(<[f64]>::to_vec).into(),
            ..Trained::default()
        };
        let part = LeftOut::Matrix { place: 0, name: "film/genre".into() };
        AblationEffect::new(part, &trained(without), &trained([whole; 2]))
    }

    fn effect(without: &[f64], whole: &[f64]) -> AblationEffect {
        effect_of([without; 2], whole)
    }

    #[test]
    fn a_verdict_needs_a_difference_that_is_clear_and_not_tiny() {
        let whole: Vec<f64> = (0..100).map(|place| 1.0 + f64::from(place % 7)).collect();
        let times = |by: f64| whole.iter().map(|square| by * square).collect::<Vec<f64>>();
        assert_eq!(effect(&times(1.1), &whole).verdict, Verdict::Helps);
        assert_eq!(effect(&times(0.9), &whole).verdict, Verdict::Worse);
        assert_eq!(effect(&times(1.0), &whole).verdict, Verdict::NoDifference);
        assert_eq!(effect(&times(1.001), &whole).verdict, Verdict::NoDifference);
        // By as much as above, but all of it on one entry.
        let mut once = whole.clone();
        once[6] += 40.0;
        assert_eq!(effect(&once, &whole).verdict, Verdict::NoDifference);
        assert_eq!(effect(&times(f64::NAN), &whole).verdict, Verdict::NoDifference);
        // Both seeds must say the same.
        for other in [1.0, 0.5] {
            let found = effect_of([&times(2.0), &times(other)], &whole);
            assert_eq!(found.verdict, Verdict::NoDifference);
            assert!(found.noise > 0.2, "{}", found.noise);
        }
    }

    #[test]
    fn what_makes_it_worse_is_told_of_and_by_how_much() {
        let found = effect(&[0.81; 50], &[1.0; 50]);
        assert!((found.difference + 0.1).abs() < 1e-12, "{}", found.difference);
        let expected = "film/genre makes predictions worse: the RMSE on held-out entries is 1.000 with it and 0.9000 \
                        without, 10.0 % less";
        assert_eq!(found.note().as_deref(), Some(expected));
        assert_eq!(effect(&[1.21; 50], &[1.0; 50]).note(), None);
    }

    #[test]
    fn the_rank_of_a_mode_goes_with_it() {
        let part = LeftOut::Mode { place: 2, name: "month".into() };
        let ranks = |ranks: Vec<usize>| without(&Params { ranks, ..Params::default() }, &part).ranks;
        assert_eq!(ranks(vec![4, 3, 2]), [4, 3]);
        assert_eq!((ranks(vec![7]), ranks(vec![])), (vec![7], vec![]));
    }
}
