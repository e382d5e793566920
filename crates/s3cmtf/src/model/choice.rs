//! What people choose, beside what they make of it.

use serde::{Deserialize, Serialize};

use super::{Factor, Model};
use crate::Error;

/// How likely an entity of the second mode is chosen by one of the first: a score that is the product of two rows, about 1 for
/// what was chosen and 0 for what was not. It is learnt from which cells have a value, not from the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    factors: [Factor; 2],
}

impl Choice {
    /// The mode of those who choose, and of what they choose from.
    pub(crate) const MODES: [usize; 2] = [0, 1];

    /// From a row for each row of the two modes.
    ///
    /// # Panics
    /// If rows have different lengths.
    pub fn new(factors: [Factor; 2]) -> Self {
        assert_eq!(factors[0].rank(), factors[1].rank(), "rows of one length");
        Choice { factors }
    }

    /// The rows of the first mode, and those of the second.
    pub fn factors(&self) -> &[Factor; 2] {
        &self.factors
    }
}

/// What rows of those who choose were found by, so that others can be (docs/method.md eq. I2): in a model of choices its own rows, in one
/// of values those of [`Choice`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChoiceWeights {
    /// The weight of the regulariser.
    pub(crate) lambda: f64,
    /// What an absent cell counts against one that is there.
    pub(crate) absent: f64,
    /// A cell of value v counts 1 + `confidence` v.
    pub(crate) confidence: f32,
    /// The mean over choices of the power of their user's number of choices by which users are weighed.
    pub(crate) mean: f64,
}

impl ChoiceWeights {
    /// Whether rows can be found by them.
    pub(crate) fn are_usable(&self) -> bool {
        let ChoiceWeights { lambda, absent, confidence, mean } = *self;
        let positive = |number: f64| number.is_finite() && number > 0.0;
        positive(lambda) && positive(absent) && positive(mean) && confidence.is_finite() && confidence >= 0.0
    }
}

impl Model {
    /// What people choose, if that was learnt.
    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// The same model that also knows what people choose.
    ///
    /// # Errors
    /// If there are not as many rows as the modes have, or a number is not finite.
    pub fn with_choice(mut self, choice: Choice) -> Result<Self, Error> {
        let fits = |(mode, factor): (usize, &Factor)| {
            self.modes.get(mode).is_some_and(|mode| mode.rows() == factor.rows())
                && factor.values().iter().all(|value| value.is_finite())
        };
        if !Choice::MODES.into_iter().zip(&choice.factors).all(fits) {
            return Err(Error::Problem("the rows of choices do not fit the first two modes".into()));
        }
        self.choice = Some(choice);
        Ok(self)
    }
}
