//! The search for a setting: one number after the other, the usual value first, and each value from where the best so far has come to.

use super::setting::Setting;

/// Sweeps that the first setting has, and each of the others.
const FIRST: usize = 6;
const EACH: usize = 3;
/// Sweeps of a setting that takes longer to show. Rows that it makes smaller than the usual one does shrink slowly, by the ratio of their
/// singular value to λ, and a setting that leaves next to nothing of them looks good on the way there. Rows of circumstances
/// begin at 1, with users and items that fit those.
const SLOW: usize = 6;
/// What is tried, in the order in which it is.
const LAMBDAS: [f64; 5] = [1.0, 0.7, 1.4, 0.5, 2.0];
const ABSENT: [f64; 2] = [0.15, 0.9];
const CONTEXT: [f64; 1] = [0.1];
const COUPLE: [f64; 2] = [0.1, 1.0];
/// What absent cells count where nothing is known.
const USUAL_ABSENT: f64 = 0.4;

/// The numbers of a search: no more settings are tried than fit into them.
pub(super) const NUMBERS: usize = 2 + LAMBDAS.len() + ABSENT.len() + CONTEXT.len() + COUPLE.len();

/// A number that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Lambda,
    Absent,
    Context,
    Couple,
}

/// What there is to look for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// As said, or the usual one if it is looked for.
    pub(super) lambda: Result<f64, f64>,
    pub(super) absent: Option<f64>,
    pub(super) contexts: bool,
    pub(super) matrices: bool,
}

impl Asked {
    /// The setting where nothing can be tried.
    pub(super) fn usual(&self) -> Setting {
        let (Ok(lambda) | Err(lambda)) = self.lambda;
        Setting {
            lambda,
            absent: self.absent.unwrap_or(USUAL_ABSENT),
            context: if self.contexts { CONTEXT[0] } else { f64::INFINITY },
            couple: if self.matrices { COUPLE[0] } else { 0.0 },
        }
    }

    fn stages(&self) -> Vec<Stage> {
        let all = [
            (Stage::Lambda, self.lambda.is_err()),
            (Stage::Absent, self.absent.is_none()),
            (Stage::Context, self.contexts),
            (Stage::Couple, self.matrices),
        ];
        all.into_iter().filter(|(_, open)| *open).map(|(stage, _)| stage).collect()
    }
}

/// The course of a search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    asked: Asked,
    stages: Vec<Stage>,
    /// The setting that is being tried, and its sweeps so far.
    pub(super) setting: Setting,
    sweeps: usize,
    /// How many it has in all.
    most: usize,
    /// What is still to be tried of the stage, and the number of the stage.
    rest: Vec<f64>,
    stage: usize,
    best: Option<Setting>,
    /// Of all settings so far, whether each was better than those before.
    better: Vec<bool>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another sweep of the same setting.
    Sweep,
    /// The first of another setting, from the best state so far.
    Other,
    /// Nothing is left to be tried.
    Over,
}

impl Search {
    /// Nothing if there is nothing to look for.
    pub(super) fn new(asked: Asked) -> Option<Self> {
        let stages = asked.stages();
        // Contexts and matrices come in when the rest is known, so that they must be worth it.
        let setting = Setting { context: f64::INFINITY, couple: 0.0, ..asked.usual() };
        let first = *stages.first()?;
        let mut search = Search {
            rest: Vec::new(),
            stage: 0,
            sweeps: 0,
            most: FIRST,
            best: None,
            better: Vec::new(),
            stages,
            setting,
            asked,
        };
        search.begin(first);
        if first == Stage::Lambda {
            search.take();
        }
        Some(search)
    }

    /// How many sweeps it has in all.
    pub(super) fn len(&self) -> usize {
        let usual = self.asked.usual();
        let of = |&stage: &Stage| -> usize {
            let skipped = usize::from(stage == Stage::Lambda);
            self.values(stage).iter().skip(skipped).map(|&value| sweeps_of(stage, value, usual)).sum()
        };
        FIRST + self.stages.iter().map(of).sum::<usize>()
    }

    /// What is tried in a stage, in that order.
    fn values(&self, stage: Stage) -> Vec<f64> {
        let (Ok(usual) | Err(usual)) = self.asked.lambda;
        match stage {
            Stage::Lambda => LAMBDAS.iter().map(|by| by * usual).collect(),
            Stage::Absent => ABSENT.into(),
            Stage::Context => CONTEXT.into(),
            Stage::Couple => COUPLE.into(),
        }
    }

    fn begin(&mut self, stage: Stage) {
        self.rest = self.values(stage);
        self.rest.reverse();
    }

    /// Tries the next value of the stage; `false` if there is none.
    fn take(&mut self) -> bool {
        let Some(value) = self.rest.pop() else { return false };
        let setting = self.best();
        let stage = self.stages[self.stage];
        self.most = if self.better.is_empty() { FIRST } else { sweeps_of(stage, value, self.asked.usual()) };
        self.setting = match stage {
            Stage::Lambda => Setting { lambda: value, ..setting },
            Stage::Absent => Setting { absent: value, ..setting },
            Stage::Context => Setting { context: value, ..setting },
            Stage::Couple => Setting { couple: value, ..setting },
        };
        self.sweeps = 0;
        true
    }

    /// Takes note of a sweep; `judge` says whether the state is better than the best so far, and is asked when the setting has had all
    /// of its sweeps. Says what comes next, and whether it is.
    pub(super) fn swept(&mut self, judge: impl FnOnce() -> bool) -> (Next, bool) {
        self.sweeps += 1;
        if self.sweeps < self.most {
            return (Next::Sweep, false);
        }
        let better = judge();
        self.better.push(better);
        if better {
            self.best = Some(self.setting);
        }
        while !self.take() {
            self.stage += 1;
            let Some(&stage) = self.stages.get(self.stage) else { return (Next::Over, better) };
            self.begin(stage);
        }
        (Next::Other, better)
    }

    /// All that the rest of the search depends on.
    pub(super) fn numbers(&self) -> [f64; NUMBERS] {
        let mut numbers = [0.0; NUMBERS];
        numbers[..2].copy_from_slice(&[self.sweeps as f64, self.better.len() as f64]);
        numbers[2..].iter_mut().zip(&self.better).for_each(|(number, &better)| *number = better.into());
        numbers
    }

    /// Goes on from there; returns `false` if it was over.
    pub(super) fn go_on(&mut self, [sweeps, count, better @ ..]: [f64; NUMBERS]) -> bool {
        for &better in better.iter().take(count as usize) {
            let next = loop {
                let (next, _) = self.swept(|| better > 0.0);
                if next != Next::Sweep {
                    break next;
                }
            };
            if next == Next::Over {
                return false;
            }
        }
        self.sweeps = sweeps as usize;
        true
    }

    /// The best setting so far.
    pub(super) fn best(&self) -> Setting {
        self.best.unwrap_or(self.setting)
    }
}

/// How many sweeps a value has.
fn sweeps_of(stage: Stage, value: f64, usual: Setting) -> usize {
    match stage {
        Stage::Context => SLOW,
        Stage::Lambda if value > usual.lambda => SLOW,
        Stage::Absent if value > usual.absent => SLOW,
        _ => EACH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The setting that is found where settings are as good as `score` says, and the sweeps that it takes.
    fn found(asked: Asked, score: impl Fn(Setting) -> f64) -> (Setting, usize) {
        let mut search = Search::new(asked).unwrap();
        let mut best = f64::NEG_INFINITY;
        for sweep in 1.. {
            let own = score(search.setting);
            let (next, better) = search.swept(|| own > best);
            best = if better { own } else { best };
            if next == Next::Over {
                assert_eq!(sweep, search.len());
                return (search.best(), sweep);
            }
        }
        unreachable!()
    }

    #[test]
    fn the_best_value_of_each_number_is_found() {
        let asked = Asked { lambda: Err(10.0), absent: None, contexts: true, matrices: true };
        let distance = |a: f64, b: f64| -(a.min(1e3).ln() - b.ln()).abs();
        let (setting, sweeps) = found(asked, |setting| {
            distance(setting.lambda, 14.0) + distance(setting.absent, 0.9) + distance(setting.context, 0.1)
                - setting.couple
        });
        assert_eq!(setting, Setting { lambda: 14.0, absent: 0.9, context: 0.1, couple: 0.0 });
        assert_eq!(sweeps, 6 + (3 + 6 + 3 + 6) + (3 + 6) + 6 + (3 + 3));
        // Contexts that are of no use stay at 1.
        let (setting, _) = found(asked, |setting| if setting.context.is_infinite() { 1.0 } else { 0.0 });
        assert!(setting.context.is_infinite());
        assert!((setting.lambda - 10.0).abs() < 1e-12, "the first of equal ones: {}", setting.lambda);
    }

    #[test]
    fn what_was_said_is_not_looked_for() {
        let asked = Asked { lambda: Ok(3.0), absent: None, contexts: false, matrices: false };
        let (setting, sweeps) = found(asked, |setting| setting.absent);
        assert_eq!((setting.lambda, setting.absent, sweeps), (3.0, 0.9, 15));
        assert!(Search::new(Asked { absent: Some(0.2), ..asked }).is_none());
    }
}
