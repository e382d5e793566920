//! When the parts of a run end: the one with entries held out, the one before draws count, and the run.
//!
//! How many epochs there are at most says how long each part takes at most. A part ends as soon as more of it would change nothing.

use crate::Error;
use crate::training::checkpoint::StateArrays;

/// The share of epochs before draws are typical and count.
const EARLY: f64 = 0.75;
/// The share of them with entries held out.
const UNTIL: f64 = 0.5;
/// Interactions have so many epochs to form before entries held out judge them, and are judged for at least half as many.
pub(super) const FROM: u64 = 20;
/// So many of the last draws before all entries take part are averaged, to see how far that mean lies from entries held out.
const REHEARSAL: u64 = 10;
/// Once all entries take part, draws are typical after at most so many epochs.
const BURN_IN: u64 = 10;
/// So many epochs apart the errors on entries held out are compared, from the second number on, and they are the same if they have become less by
/// no more than so many times the tolerance.
const EVERY: u64 = 5;
const LOOKS: u64 = 40;
const SAME: f64 = 2.0;
/// Interactions are about to fade away where the logarithm of their prior's precision is above this.
const FADING: f64 = 0.1;

/// How many of so many epochs are over before draws count.
pub(in crate::training) fn early(epochs: usize) -> usize {
    (EARLY * epochs as f64) as usize
}

/// The last epoch of each part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    /// The last with entries held out. In short runs that is after draws have begun to count: there is no time to hold any out.
    until: u64,
    /// The last whose draw does not count.
    early: u64,
    end: u64,
    /// Parts end where more of them would change the RMSE by less than this share of it; 0 where they do not.
    pub(super) tolerance: f64,
    /// The RMSE on entries held out when it was last looked at; 0 before.
    rmse: f64,
}

impl Schedule {
    /// That of a run of so many epochs, whatever happens.
    pub(super) fn fixed(epochs: usize) -> Self {
        let until = ((UNTIL * epochs as f64) as u64).max(FROM + FROM / 2);
        Schedule { until, early: early(epochs) as u64, end: epochs as u64, tolerance: 0.0, rmse: 0.0 }
    }

    /// That of a run of at most so many, of which there are enough to hold entries out.
    pub(super) fn settling(epochs: usize, tolerance: f64) -> Self {
        let fixed = Schedule { tolerance, ..Schedule::fixed(epochs) };
        fixed.until(fixed.until)
    }

    /// Whether entries can be held out.
    pub(super) fn has_time(&self) -> bool {
        self.until <= self.early
    }

    /// The same with entries held out until then. As many draws count.
    fn until(&self, until: u64) -> Self {
        let early = self.early.min(until + BURN_IN);
        // What a broken checkpoint says may be in no order.
        let end = self.end.saturating_sub(self.early - early);
        Schedule { until, early, end, ..self.clone() }
    }

    /// Takes note of the RMSE on entries held out after an epoch, and of the logarithm of the precision of interactions.
    pub(super) fn judge(&mut self, epoch: u64, rmse: f64, log: f64) {
        if self.tolerance == 0.0 || !epoch.is_multiple_of(EVERY) || epoch + REHEARSAL >= self.until {
            return;
        }
        let is_same = epoch >= LOOKS && rmse >= (1.0 - SAME * self.tolerance) * self.rmse;
        self.rmse = rmse;
        if is_same && log < FADING {
            *self = self.until(epoch + REHEARSAL);
        }
    }

    /// Whether all entries take part after an epoch.
    pub(super) fn joins(&self, epoch: u64) -> bool {
        epoch >= self.until
    }

    /// Whether the draw of an epoch is one of those that are averaged to see how far their mean lies from entries held out.
    pub(super) fn rehearses(&self, epoch: u64) -> bool {
        epoch <= self.until && epoch + REHEARSAL > self.until
    }

    /// The epochs of which predictions of entries held out are kept, to see how far draws lie apart.
    pub(super) fn spread(&self) -> std::ops::RangeInclusive<u64> {
        FROM + self.until.saturating_sub(FROM) / 2..=self.until
    }

    /// Whether the draw of an epoch counts.
    pub(super) fn counts(&self, epoch: u64) -> bool {
        epoch > self.early
    }

    /// Whether concepts may still go after an epoch.
    pub(super) fn may_shed(&self, epoch: u64) -> bool {
        epoch < self.early
    }

    /// Whether an epoch is the last, or beyond.
    pub(super) fn ends(&self, epoch: u64) -> bool {
        epoch >= self.end
    }

    /// Puts it among numbers.
    pub(super) fn put(&self, numbers: &mut StateArrays) {
        if self.tolerance > 0.0 {
            let [until, early, end] = [self.until, self.early, self.end].map(|epoch| epoch as f64);
            numbers.put_doubles("schedule", &[until, early, end, self.rmse]);
        }
    }

    /// Takes it back.
    pub(super) fn get(&mut self, numbers: &mut StateArrays) -> Result<(), Error> {
        if self.tolerance > 0.0 {
            let mut found = [0.0; 4];
            numbers.get_doubles("schedule", &mut found)?;
            let [until, early, end] =
                [found[0], found[1], found[2]].map(|epoch| (epoch as u64).min(self.end));
            *self = Schedule { until, early, end, rmse: found[3], ..self.clone() };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_nothing_changes_any_more() {
        let whole = Schedule::settling(120, 0.001);
        assert_eq!((whole.until, whole.early, whole.end), (60, 70, 100));
        // Errors fall by one percent every five epochs up to the fortieth.
        let rmse = |epoch: u64| 1.0 - 0.002 * epoch.min(40) as f64;
        let run = |log: f64| {
            let mut schedule = whole.clone();
            (FROM..60).for_each(|epoch| schedule.judge(epoch, rmse(epoch), log));
            (schedule.until, schedule.early, schedule.end)
        };
        assert_eq!(run(0.0), (55, 65, 95));
        // Interactions that fade need their time.
        assert_eq!(run(0.3), (60, 70, 100));
        let mut fixed = Schedule::fixed(120);
        (FROM..60).for_each(|epoch| fixed.judge(epoch, 1.0, 0.0));
        assert_eq!(fixed, Schedule::fixed(120));
        assert_eq!((fixed.until, fixed.early, fixed.end), (60, 90, 120));
    }

    #[test]
    fn short_runs_hold_nothing_out() {
        for (epochs, holds) in [(39, false), (40, true)] {
            assert_eq!(Schedule::fixed(epochs).has_time(), holds);
        }
    }

    #[test]
    fn a_checkpoint_has_it() {
        let mut schedule = Schedule::settling(120, 0.001);
        (FROM..50).for_each(|epoch| schedule.judge(epoch, 1.0, 0.0));
        let mut numbers = StateArrays::default();
        schedule.put(&mut numbers);
        let mut back = Schedule::settling(120, 0.001);
        assert!(back.get(&mut numbers).is_ok());
        assert_eq!(back, schedule);
        assert!(back.get(&mut numbers).is_err());
        assert!(Schedule::fixed(120).get(&mut numbers).is_ok());
        // One that is broken ends a run, and nothing else.
        numbers.put_doubles("schedule", &[60.0, 70.0, -1.0, 1.0]);
        let mut broken = Schedule::settling(120, 0.001);
        assert!(broken.get(&mut numbers).is_ok());
        broken.judge(40, 1.0, 0.0);
        assert!(broken.ends(1));
    }
}
