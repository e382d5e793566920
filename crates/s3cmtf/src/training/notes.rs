//! What is to be said of a finished run.

use super::bayes;
use super::run::Run;
use crate::model::{no_better, short};
use crate::params::{Algorithm, Part};

/// A test RMSE has risen where its end is above its least by this part: two runs that differ in their seed alone differ by less.
const RISEN: f64 = 0.005;
/// Fewer epochs say nothing about where they go.
const FEWEST: usize = 8;

impl Run {
    /// What is odd about how well the run predicts its test entries: it is no better than offsets, or was better before.
    pub fn notes(&self) -> Vec<String> {
        let end = &self.record.summary;
        let both = end.test_rmse.zip(end.offsets_rmse);
        let simple = both.and_then(|(model, offsets)| no_better(model, offsets, self.model.modes()));
        simple.into_iter().chain(self.risen()).collect()
    }

    fn risen(&self) -> Option<String> {
        let (params, history) = (&self.record.params, &self.record.history);
        // Patience has looked after it; and single draws go up and down.
        if params.patience.is_some() || params.without.contains(&Part::Average) {
            return None;
        }
        // Before, models are single draws: others than those that follow.
        let early = match params.algorithm {
            Algorithm::Bayes => bayes::early(params.epochs),
            Algorithm::Sgd => 0,
        };
        let tested = history.iter().skip(early);
        let rmses: Vec<(usize, f64)> =
            tested.filter_map(|epoch| epoch.test_rmse.map(|rmse| (epoch.epoch, rmse))).collect();
        let (&(_, end), quarter) = (rmses.last()?, rmses.len() - 1 - rmses.len() / 4);
        let &(at, least) = rmses.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let rises = rmses.len() >= FEWEST && end > rmses.get(quarter)?.1 && end > (1.0 + RISEN) * least;
        rises.then(|| {
            format!(
                "the test RMSE rises: it was {} after epoch {at} and is {} at the end; fewer epochs, or patience, which \
                 chooses them, may predict better",
                short(least),
                short(end)
            )
        })
    }
}
