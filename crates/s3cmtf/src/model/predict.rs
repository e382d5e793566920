//! Predictions and their errors.

use std::borrow::Cow;
use std::ops::{Add, Range};

use s3cmtf_kernels::{Aligned, CHUNK, Level};

use super::offsets::no_better;
use super::scores::Scores;
use super::{Model, locate_cells};
use crate::Error;
use crate::layout::{Chunks, Contraction, Order, deal};
use crate::likelihood::{self, Likelihood};
use crate::problem::{Cells, Entries, Mode, UNKNOWN};

/// How far predictions lie from observed values.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Errors {
    /// How many entries were compared.
    pub entries: usize,
    /// Of those, how many name an id that the model has no row for; the average entity stood in.
    pub unknown: usize,
    /// Root mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// The share of entries that lie within a standard deviation of their prediction, 0.68 if those are right; only where
    /// the model has standard deviations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_std: Option<f64>,
    /// The same within two standard deviations, 0.95 if those are right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_two_std: Option<f64>,
    /// The root mean squared error of the mean of the training values; where the model has [`Offsets`](crate::Offsets).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_rmse: Option<f64>,
    /// The same of the mean and an offset per row, within the observed range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets_rmse: Option<f64>,
    /// What the field measures of probabilities and of counts; where the model's likelihood is not Gaussian.
    #[serde(flatten)]
    pub scores: Option<Scores>,
}

impl Errors {
    /// Says so where the model, whose modes these are, is no better than offsets.
    pub fn note(&self, modes: &[Mode]) -> Option<String> {
        no_better(self.rmse, self.offsets_rmse?, modes)
    }
}

/// Sums of errors over entries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorSums {
    pub(crate) squared: f64,
    pub(crate) absolute: f64,
}

impl Add for ErrorSums {
    type Output = ErrorSums;

    fn add(self, other: ErrorSums) -> ErrorSums {
        ErrorSums { squared: self.squared + other.squared, absolute: self.absolute + other.absolute }
    }
}

impl ErrorSums {
    /// The same one by one, in 64 bits.
    fn wide(values: &[f32], predictions: &[f32], range: [f32; 2]) -> Self {
        let errors = values.iter().zip(predictions);
        let errors = errors
            .map(|(&value, &prediction)| f64::from(value) - f64::from(likelihood::mean(prediction, range)));
        errors.fold(ErrorSums::default(), |sums, error| {
            sums + ErrorSums { squared: error * error, absolute: error.abs() }
        })
    }

    /// The errors of predictions; `range` clips them first.
    pub(crate) fn new(values: &[f32], predictions: &[f32], range: Option<[f32; 2]>) -> Self {
        // Eight sums at a time, which the compiler makes vectors of. A chunk is short enough for 32 bits.
        const LANES: usize = 8;
        let [low, high] = range.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
        let (mut squared, mut absolute) = ([0.0f32; LANES], [0.0f32; LANES]);
        let total = |sums: &[f32]| sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
        let mut sums = ErrorSums::default();
        for (values, predictions) in values.chunks(CHUNK).zip(predictions.chunks(CHUNK)) {
            for (values, predictions) in values.chunks(LANES).zip(predictions.chunks(LANES)) {
                let lanes = squared.iter_mut().zip(&mut absolute).zip(values.iter().zip(predictions));
                for ((squared, absolute), (value, &prediction)) in lanes {
                    let error = value - likelihood::mean(prediction, [low, high]);
                    *squared += error * error;
                    *absolute += error.abs();
                }
            }
            let chunk = ErrorSums { squared: total(&squared), absolute: total(&absolute) };
            // The square of what 32 bits can hold may be more than they can.
            let wide = || ErrorSums::wide(values, predictions, [low, high]);
            sums = sums + if chunk.squared.is_finite() { chunk } else { wide() };
            (squared, absolute) = ([0.0; LANES], [0.0; LANES]);
        }
        sums
    }
}

impl Model {
    /// Whether predictions stay within the observed range unless somebody wants them raw: where values scatter, what lies
    /// beyond is too far out. Factors that are exact know better, and those of `sgd` and `als` may be.
    pub fn clips(&self) -> bool {
        let noise = self.uncertainty.as_ref().map(|uncertainty| f64::from(uncertainty.noise));
        match self.likelihood {
            Likelihood::Gaussian => noise.is_some_and(|noise| likelihood::is_noisy(noise, self.range)),
            Likelihood::Logistic | Likelihood::Counts => true,
        }
    }

    /// The mean of the values of a linear predictor, as it is shown: kept within the observed range if `clip` says so, or where
    /// it does not, if the model [clips](Model::clips).
    pub fn shown(&self, linear: f32, clip: Option<bool>) -> f32 {
        self.response(linear, clip.unwrap_or_else(|| self.clips()))
    }

    /// The mean of the values of a linear predictor; `clip` keeps it within the observed range.
    pub(crate) fn response(&self, linear: f32, clip: bool) -> f32 {
        let range = if clip { self.range } else { [f32::NEG_INFINITY, f32::INFINITY] };
        self.likelihood.mean(linear, range)
    }

    /// The predicted value of each cell, given by ids; `clip` keeps them within the observed range. An id that the
    /// model has no row for is predicted as the average entity of its mode.
    ///
    /// # Errors
    /// If the cells have another number of modes, or an id lies far beyond its mode.
    pub fn predict(&self, cells: impl AsRef<Cells>, clip: bool) -> Result<Vec<f32>, Error> {
        self.predict_cells(cells.as_ref(), clip)
    }

    /// The same of cells alone: what is generic is compiled by whoever calls it, and this is not.
    fn predict_cells(&self, cells: &Cells, clip: bool) -> Result<Vec<f32>, Error> {
        Ok(self.predict_located(locate_cells(&self.modes, cells)?, clip))
    }

    /// The same of cells on the model's rows.
    pub(crate) fn predict_located(&self, cells: impl Into<Cells>, clip: bool) -> Vec<f32> {
        let cells: Cells = cells.into();
        let mut result = vec![0.0; cells.len()];
        // Nothing is compared with the values, but they are arranged with their cells.
        let values = vec![0.0; cells.len()];
        let prepared = Prepared::new(self, cells.into_indices(), values);
        let pieces: Pieces =
            prepared.sum(|entries, predictions| Pieces(vec![(entries, predictions.to_vec())]));
        for (entries, predictions) in pieces.0 {
            for (&place, prediction) in prepared.chunks.places[entries].iter().zip(predictions) {
                result[place as usize] = self.response(prediction, clip);
            }
        }
        result
    }

    /// How far predictions lie from the given entries; `clip` keeps predictions within the observed range.
    ///
    /// # Errors
    /// If there is no entry, if the entries have another number of modes, or an id lies far beyond its mode.
    pub fn evaluate(&self, entries: &Entries, clip: bool) -> Result<Errors, Error> {
        if entries.is_empty() {
            return Err(Error::Problem(format!("{}: there is no entry to compare with", entries.name())));
        }
        let located = self.locate(entries)?;
        let unknown = self.unknown(entries);
        let simple = self.simple_errors(entries)?;
        let (indices, values) = located.into_parts();
        let prepared = Prepared::new(self, indices, values);
        let range = clip.then_some(self.range);
        let values = &prepared.chunks.values;
        let sums = prepared.sum(|entries, predictions| match self.likelihood {
            Likelihood::Gaussian => ErrorSums::new(&values[entries], predictions, range),
            Likelihood::Logistic | Likelihood::Counts => {
                let means: Vec<f32> = predictions.iter().map(|&linear| self.response(linear, clip)).collect();
                ErrorSums::new(&values[entries], &means, None)
            }
        });
        let len = entries.len() as f64;
        // Answers and counts are not spread around their mean as normal values are.
        let is_gaussian = self.likelihood == Likelihood::Gaussian;
        let known = self.uncertainty.as_ref().filter(|_| is_gaussian);
        let within = known.map(|_| self.within_stds(entries, clip)).transpose()?;
        let scores = match is_gaussian {
            true => None,
            false => self.scores(&self.predict(entries, clip)?, entries.values()),
        };
        Ok(Errors {
            entries: entries.len(),
            unknown,
            rmse: (sums.squared / len).sqrt(),
            mae: sums.absolute / len,
            within_std: within.map(|[one, _]| one),
            within_two_std: within.map(|[_, two]| two),
            mean_rmse: simple.map(|simple| simple.mean_rmse),
            offsets_rmse: simple.map(|simple| simple.offsets_rmse),
            scores,
        })
    }

    /// The shares of entries within one and within two standard deviations of their predictions.
    fn within_stds(&self, entries: &Entries, clip: bool) -> Result<[f64; 2], Error> {
        let (predictions, stds) = (self.predict(entries, clip)?, self.std(entries)?);
        Ok([1.0, 2.0].map(|times| {
            let close = predictions.iter().zip(&stds).zip(entries.values());
            let close =
                close.filter(|((prediction, std), value)| (*value - *prediction).abs() <= times * *std);
            close.count() as f64 / entries.len() as f64
        }))
    }
}

/// Predictions by chunk.
#[derive(Default)]
struct Pieces(Vec<(Range<usize>, Vec<f32>)>);

impl Add for Pieces {
    type Output = Pieces;

    fn add(mut self, mut other: Pieces) -> Pieces {
        self.0.append(&mut other.0);
        self
    }
}

/// A model and entries arranged for prediction.
struct Prepared<'a> {
    contraction: Contraction,
    core: Aligned,
    factors: Vec<Cow<'a, [f32]>>,
    chunks: Chunks,
}

impl<'a> Prepared<'a> {
    fn new(model: &'a Model, mut indices: Vec<Vec<u32>>, values: Vec<f32>) -> Self {
        let rows: Vec<usize> = model.modes.iter().map(|mode| mode.rows()).collect();
        let ranks: Vec<usize> = model.factors.iter().map(|factor| factor.rank()).collect();
        let contraction = Contraction::new(&ranks, &rows, model.core_kind(), Level::best());
        let mut factors = Vec::new();
        for (factor, array) in model.factors.iter().zip(&mut indices) {
            let mut values = Cow::Borrowed(factor.values());
            if array.contains(&UNKNOWN) {
                // One more row, for all that are unknown.
                let average = factor.rows() as u32;
                array.iter_mut().filter(|row| **row == UNKNOWN).for_each(|row| *row = average);
                values.to_mut().extend(factor.average());
            }
            factors.push(values);
        }
        let tasks = deal(&indices[contraction.inner[0]]);
        let order = Order { chunk: CHUNK, tasks: Some(tasks), seed: None, places: true };
        let chunks = Chunks::new(&contraction, indices, values, order);
        Prepared { core: contraction.pack(model.core.values()).into(), contraction, factors, chunks }
    }

    fn sum<S: Send + Default + Add<Output = S>>(
        &self,
        visit: impl Fn(Range<usize>, &[f32]) -> S + Sync,
    ) -> S {
        let factors: Vec<&[f32]> = self.factors.iter().map(|factor| &factor[..]).collect();
        self.chunks.sum(&self.contraction, self.core.as_slice(), &factors, visit)
    }
}
