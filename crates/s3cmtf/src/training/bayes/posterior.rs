//! The model that draws come to, and draws that begin with what a model knows.

use super::augmentation::Augmentation;
use super::mean::Mean;
use super::{Sampler, core, diagonal};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::model::{Core, CoupledFactor, Factor, Model, POINTS, Uncertainty};
use crate::params::Component;
use crate::problem::{Absent, Cells, Problem};

impl Sampler {
    /// The model so far: the mean of draws, or while none counts, the draw itself.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    pub(crate) fn model(&self) -> Result<Model, Error> {
        self.model_so_far(self.is_typical())
    }

    /// The mean of draws, or the draw itself, as a model.
    pub(super) fn model_so_far(&self, mean: bool) -> Result<Model, Error> {
        let mut model = self.point_estimate(mean)?;
        model.uncertainty = if mean { self.uncertainty()? } else { None };
        Ok(self.as_asked_for(model))
    }

    /// Predictions of cells by the mean of draws. What it knows of its errors, an inverse per row, is not needed for them.
    pub(super) fn predict_so_far(&self, cells: Cells) -> Result<Vec<f32>, Error> {
        Ok(self.as_asked_for(self.point_estimate(true)?).predict_located(cells, true))
    }

    /// With a core that is stored as its diagonal, if it is diagonal.
    fn as_asked_for(&self, model: Model) -> Model {
        if self.core.diagonal { diagonal::to_columns(model) } else { model }
    }

    fn point_estimate(&self, mean: bool) -> Result<Model, Error> {
        let mut model = self.frame.clone();
        let (factors, core) = self.current(mean)?;
        let mut core: Vec<f64> = core.iter().map(|&value| f64::from(value) * self.spread).collect();
        core[0] += self.mean;
        if let Some(Augmentation { link: [slope, intercept], .. }) =
            self.augmentation.as_ref().filter(|_| mean)
        {
            core.iter_mut().for_each(|value| *value *= slope);
            core[0] += intercept;
        }
        // A core beyond what f32 can hold has no use, but must not become infinite.
        let narrow = |value: f64| value.clamp(f32::MIN.into(), f32::MAX.into()) as f32;
        let core = core.into_iter().map(narrow).collect();
        model.core = Core::full(self.ranks.clone(), core);
        for ((factor, values), &rank) in model.factors.iter_mut().zip(factors).zip(&self.ranks) {
            *factor = Factor::new(rank, values);
        }
        let factors = &model.factors;
        for (number, (coupled, matrix)) in model.coupled.iter_mut().zip(&self.matrices).enumerate() {
            let found = self.average.weights.get(number).copied().filter(|_| mean);
            let found = found.unwrap_or_else(|| matrix.weight(self.noise.tau, self.value_scale().1));
            coupled.weight = found.min(f32::MAX.into()) as f32;
            let columns = self.average.columns.get(number).filter(|_| mean);
            let columns = columns.map_or(matrix.columns(), Vec::as_slice);
            let rank = self.ranks[matrix.mode];
            coupled.factor = Factor::new(rank, Vec::new());
            if let Some(cells) = matrix.cells() {
                let values = columns.iter().map(|&value| (f64::from(value) * cells.scale) as f32);
                coupled.factor = Factor::new(rank, values.collect());
            } else if let Some(regression) = matrix.regression() {
                coupled.factor = Factor::new(rank, regression.columns(factors[matrix.mode].values(), rank));
                coupled.effects = Some(regression.known(columns, rank));
            }
        }
        Ok(model)
    }

    /// What the mean knows of its errors; nothing where rows' distributions were not averaged.
    fn uncertainty(&self) -> Result<Option<Uncertainty>, Error> {
        let plain =
            [Component::Averaging, Component::RaoBlackwell].iter().any(|part| self.without.contains(part));
        if plain {
            return Ok(None);
        }
        let Mean { variance, shares, natural_params, .. } = &self.average;
        let noise = match &self.augmentation {
            None => variance * self.spread * self.spread,
            Some(augmentation) if augmentation.likelihood == Likelihood::Counts => {
                1.0 / augmentation.dispersion
            }
            Some(_) => 0.0,
        };
        let variances = natural_params.iter().zip(&self.ranks).enumerate();
        let variances = variances.map(|(mode, (natural_params, &rank))| {
            let moments = core::moments(&self.average.core, &self.ranks, mode);
            Ok(Factor::new(rank, self.nodes.gather(natural_params.variances(&moments))?))
        });
        Ok(Some(Uncertainty {
            noise: noise.min(f32::MAX.into()) as f32,
            shares: shares.clone(),
            variances: variances.collect::<Result<_, Error>>()?,
            scale: self.scale.clone(),
        }))
    }

    /// Starts from what a model knows; its rows must have the form that draws have: a first concept of 1.
    pub(super) fn take_over(&mut self, warm: &Model) -> Result<(), Error> {
        let constant =
            |factor: &Factor| factor.values().iter().step_by(factor.rank()).all(|&value| value == 1.0);
        let parts = match &warm.core {
            Core::Diagonal(_) => diagonal::from_columns(warm),
            Core::Full { values, .. } => Some((values.clone(), warm.factors.clone())),
        };
        let Some((mut core, factors)) = parts.filter(|(_, factors)| factors.iter().all(constant)) else {
            return Err(Error::param("algorithm", "sgd, as in the model to start from", "bayes"));
        };
        core[0] = (f64::from(core[0]) - self.mean) as f32;
        self.core.values = core.iter().map(|&value| (f64::from(value) / self.spread) as f32).collect();
        // Models of older versions have no concept for offsets alone.
        self.core.clear();
        // A run that is too short for one has that of the run before.
        let scale = warm.uncertainty().and_then(|uncertainty| uncertainty.scale.clone());
        self.scale = scale.filter(|scale| scale.points.len() == POINTS);
        for (mode, known) in factors.iter().enumerate() {
            let (to, from) = (&self.frame.modes[mode], &warm.modes[mode]);
            let rank = self.ranks[mode];
            for (row, values) in self.factors[mode].chunks_exact_mut(rank).enumerate() {
                if let Some(known_row) = to.row_in(from, row) {
                    values.copy_from_slice(known.row(known_row as usize));
                }
            }
        }
        Ok(())
    }
}

/// A model of the problem's form without numbers.
pub(super) fn frame(problem: &Problem, ranks: &[usize], range: [f32; 2], likelihood: Likelihood) -> Model {
    let coupled = problem.coupled().iter().map(|matrix| CoupledFactor {
        name: matrix.name().to_owned(),
        mode: matrix.mode(),
        kind: matrix.kind(),
        weight: matrix.weight().unwrap_or(1.0),
        columns: if matrix.kind() == Absent::Graph {
            crate::Mode::new("", 0)
        } else {
            matrix.columns().clone()
        },
        factor: Factor::new(ranks[matrix.mode()], Vec::new()),
        effects: None,
    });
    Model {
        modes: problem.modes().to_vec(),
        core: Core::full(vec![0; ranks.len()], Vec::new()),
        factors: ranks.iter().map(|&rank| Factor::new(rank, Vec::new())).collect(),
        coupled: coupled.collect(),
        range,
        uncertainty: None,
        offsets: None,
        value: problem.value().map(str::to_owned),
        choice: None,
        choice_weights: None,
        absent_weight: None,
        likelihood,
    }
}
