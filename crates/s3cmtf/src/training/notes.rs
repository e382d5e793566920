//! What is to be said of a finished run.

use super::bayes;
use super::run::Run;
use crate::likelihood::Likelihood;
use crate::model::{no_better, short};
use crate::params::{Algorithm, Component};

/// A test RMSE has risen where its end is above its least by this part: two runs that differ in their seed alone differ by less.
const RISEN: f64 = 0.005;
/// Fewer epochs say nothing about where they go.
const FEWEST: usize = 8;

impl Run {
    /// What is odd about how well the run predicts its test entries: it is no better than offsets, or was better before; that
    /// another likelihood may be meant; and that a GPU was not used that is there, or has no room for all entries.
    pub fn notes(&self) -> Vec<String> {
        let end = &self.record.summary;
        let both = end.test_rmse.zip(end.offsets_rmse);
        let simple = both.and_then(|(model, offsets)| no_better(model, offsets, self.model.modes()));
        let hint = self.record.data.looks_like.and_then(Likelihood::hint).map(str::to_owned);
        let device = self.record.device_note.clone();
        device.into_iter().chain(simple).chain(self.risen()).chain(hint).collect()
    }

    fn risen(&self) -> Option<String> {
        let (params, history) = (&self.record.params, &self.record.history);
        // Patience has looked after it; and single draws go up and down.
        if params.patience.is_some() || params.without.contains(&Component::Averaging) {
            return None;
        }
        // Before, models are single draws: others than those that follow.
        let early = match params.algorithm {
            Algorithm::Bayes => bayes::early(history.len()),
            Algorithm::Sgd
            | Algorithm::CmtfOpt
            | Algorithm::CmtfAls
            | Algorithm::Sals
            | Algorithm::TuckerAls => 0,
            // Each start begins anew, and the best is kept; choices are ranked.
            Algorithm::Als | Algorithm::Ials => return None,
        };
        let tested = history.iter().skip(early);
        let rmses: Vec<(usize, f64)> =
            tested.filter_map(|epoch| epoch.test_rmse.map(|rmse| (epoch.epoch, rmse))).collect();
        rising(&rmses)
    }
}

/// Says so where the RMSE of the last epochs, each with its number, rises and has been lower before.
fn rising(rmses: &[(usize, f64)]) -> Option<String> {
    let (_, end) = *rmses.last()?;
    let (_, before) = *rmses.get(rmses.len() - 1 - rmses.len() / 4)?;
    let (at, least) = *rmses.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let rises = rmses.len() >= FEWEST && end > before && end > (1.0 + RISEN) * least;
    rises.then(|| {
        format!(
            "the test RMSE rises: it was {} after epoch {at} and is {} at the end; fewer epochs, or patience, which \
             chooses them, may predict better",
            short(least),
            short(end)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_risen_and_still_rises_is_told_of() {
        let told = |rmses: &[f64]| rising(&(76..).zip(rmses.iter().copied()).collect::<Vec<_>>());
        let mut rmses = [0.93, 0.92, 0.9, 0.901, 0.903, 0.905, 0.908, 0.91];
        let expected = "the test RMSE rises: it was 0.9000 after epoch 78 and is 0.9100 at the end; fewer epochs, or \
                        patience, which chooses them, may predict better";
        assert_eq!(told(&rmses).as_deref(), Some(expected));
        // Too few to say; not by enough; down again at the end; always down.
        assert_eq!(told(&rmses[1..]), None);
        rmses[5] = 0.95;
        assert_eq!(told(&rmses), None);
        assert_eq!(told(&[0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92]), None);
        assert_eq!(told(&[0.9, 0.9, 0.9, 0.9, 0.9, 0.901, 0.902, 0.904]), None);
        assert_eq!(told(&[]), None);
    }
}
