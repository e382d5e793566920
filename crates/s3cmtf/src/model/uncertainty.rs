//! How far a value may lie from its prediction.

use super::{Core, Factor, Model, StdScale, average_row, locate_cells};
use crate::Error;
use crate::likelihood::{Around, Likelihood, Tail};
use crate::parallel;
use crate::problem::{Cells, UNKNOWN};

/// Cells that are dealt with together.
const TOGETHER: usize = 1024;

/// What a model knows of its own errors: how much values scatter, and how well it knows its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertainty {
    /// The variance of a value around what the model would predict if it knew everything, for rows of a share of 1. Of counts,
    /// that variance is the mean plus this times the mean's square; answers have none but that of their probability.
    pub noise: f32,
    /// For each mode the share of each row: values on a row of share 4 scatter half as much.
    pub shares: Vec<Vec<f32>>,
    /// For each mode the variance of each number of its factor.
    pub variances: Vec<Factor>,
    /// What all of that is multiplied by, where entries that were held out have told; not in older models.
    pub scale: Option<StdScale>,
}

impl Uncertainty {
    /// Whether there is one number for each of the model's, none of them impossible.
    fn fits(&self, factors: &[Factor]) -> bool {
        let positive = |values: &[f32]| values.iter().all(|&value| value.is_finite() && value > 0.0);
        let sound = |values: &[f32]| values.iter().all(|&value| value.is_finite() && value >= 0.0);
        let shares = self.shares.iter().zip(factors);
        let variances = self.variances.iter().zip(factors);
        self.noise.is_finite()
            && self.noise >= 0.0
            && self.scale.as_ref().is_none_or(StdScale::is_sound)
            && self.shares.len() == factors.len()
            && self.variances.len() == factors.len()
            && shares.clone().all(|(shares, factor)| shares.len() == factor.rows() && positive(shares))
            && variances.clone().all(|(variance, factor)| {
                (variance.rows(), variance.rank()) == (factor.rows(), factor.rank())
                    && sound(variance.values())
            })
    }
}

impl Model {
    /// The same model with what it knows of its own errors.
    ///
    /// # Errors
    /// If the uncertainty has not one number for each of the model's, or an impossible one.
    pub fn with_uncertainty(mut self, uncertainty: Uncertainty) -> Result<Self, Error> {
        if !uncertainty.fits(&self.factors) {
            return Err(Error::Problem("the uncertainty does not fit the model".into()));
        }
        self.uncertainty = Some(uncertainty);
        Ok(self)
    }

    /// What the model knows of its own errors, if it does.
    pub fn uncertainty(&self) -> Option<&Uncertainty> {
        self.uncertainty.as_ref()
    }

    /// The standard deviation of each cell's value around its prediction: how much values scatter there, and how little is
    /// known of its rows. An id without a row may be any row.
    ///
    /// # Errors
    /// If the model does not know it, if the cells have another number of modes, or an id lies far beyond its mode.
    pub fn std(&self, cells: impl AsRef<Cells>) -> Result<Vec<f32>, Error> {
        self.std_cells(cells.as_ref())
    }

    /// The same of cells alone: what is generic is compiled by whoever calls it, and this is not.
    fn std_cells(&self, cells: &Cells) -> Result<Vec<f32>, Error> {
        self.std_located(locate_cells(&self.modes, cells)?)
    }

    /// The same of cells on the model's rows.
    pub(crate) fn std_located(&self, located: impl AsRef<Cells>) -> Result<Vec<f32>, Error> {
        self.each_cell(located.as_ref(), |cell| self.cell_std(cell))
    }

    /// For each cell the bounds between which a new value lies with probability `level`; `clip` keeps the prediction in the
    /// middle within the observed range, as in [`Model::predict`].
    ///
    /// Normal values are within so many standard deviations of their prediction. Counts lie between quantiles of the negative
    /// binomial distribution, which are whole numbers, so that the probability may be more. Of yes or no it is the probability
    /// of 1 that lies between the bounds, given what is known of the rows: a credible interval, since an answer is 0 or 1.
    ///
    /// # Errors
    /// If the level is not between 0 and 1, and as [`Model::std`].
    pub fn interval(&self, cells: impl AsRef<Cells>, level: f64, clip: bool) -> Result<Vec<[f32; 2]>, Error> {
        self.interval_cells(cells.as_ref(), level, clip)
    }

    fn interval_cells(&self, cells: &Cells, level: f64, clip: bool) -> Result<Vec<[f32; 2]>, Error> {
        let tail = Tail::of(level)?;
        let located = locate_cells(&self.modes, cells)?;
        self.each_cell(&located, |cell| {
            let mut around = cell.around;
            let mean = self.response(around.linear, clip);
            if self.likelihood == Likelihood::Logistic {
                around.own *= f64::from(cell.scale.map_or(1.0, |scale| scale.at(around.linear))).powi(2);
            }
            self.likelihood.interval(mean, self.cell_std(cell), around, tail)
        })
    }

    /// The variance of the linear predictor of each cell on the model's rows, as rows have it.
    pub(crate) fn linear_variances(&self, located: impl AsRef<Cells>) -> Result<Vec<f64>, Error> {
        self.each_cell(located.as_ref(), |cell| cell.around.own)
    }

    fn cell_std(&self, Cell { around: Around { linear, noise, own }, share, scale }: Cell<'_>) -> f32 {
        match self.likelihood {
            Likelihood::Gaussian => {
                let scale = scale.map_or(1.0, |scale| scale.within(linear, self.range));
                let variance = noise / f64::from(share) + own;
                (f64::from(scale) * variance.sqrt()).min(f32::MAX.into()) as f32
            }
            other => other.std(linear, self.range, noise, own),
        }
    }

    /// What follows from what is known of each cell, on the model's rows.
    fn each_cell<T: Clone + Default + Send>(
        &self,
        located: &Cells,
        find: impl Fn(Cell<'_>) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let Some(uncertainty) = &self.uncertainty else {
            return Err(Error::Problem(
                "the model has no standard deviations; those that bayes fits and that are not made orthogonal have"
                    .into(),
            ));
        };
        let any: Vec<AnyRow> = self
            .factors
            .iter()
            .zip(&uncertainty.variances)
            .map(|(factor, variances)| AnyRow::new(factor, variances))
            .collect();
        let mut found = vec![T::default(); located.len()];
        parallel::chunks_mut(&mut found, TOGETHER, |part, found| {
            let mut along = Along::new(&self.core);
            let (mut rows, mut variances) = (Vec::new(), Vec::new());
            for (place, found) in (part * TOGETHER..).zip(found) {
                rows.clear();
                variances.clear();
                let mut share = 1.0;
                for (mode, any) in any.iter().enumerate() {
                    let row = located.indices(mode)[place];
                    if row == UNKNOWN {
                        rows.push(&any.average[..]);
                        variances.push(&any.variance[..]);
                    } else {
                        rows.push(self.factors[mode].row(row as usize));
                        variances.push(uncertainty.variances[mode].row(row as usize));
                        share *= uncertainty.shares[mode][row as usize];
                    }
                }
                // In 64 bits, which squares may need.
                let (mut own, mut linear) = (0.0f64, 0.0);
                for (mode, variances) in variances.iter().enumerate() {
                    let slope = along.mode(&rows, mode);
                    let squares = slope.iter().zip(*variances);
                    own += squares
                        .map(|(&slope, &variance)| f64::from(slope).powi(2) * f64::from(variance))
                        .sum::<f64>();
                    linear = slope.iter().zip(rows[mode]).map(|(slope, value)| slope * value).sum();
                }
                let around = Around { linear, noise: uncertainty.noise.into(), own };
                *found = find(Cell { around, share, scale: uncertainty.scale.as_ref() });
            }
        });
        Ok(found)
    }
}

/// What is known of the value of a cell.
#[derive(Clone, Copy)]
struct Cell<'a> {
    around: Around,
    /// The product of the shares of its rows.
    share: f32,
    scale: Option<&'a StdScale>,
}

/// What is known of a row of which nothing is known.
struct AnyRow {
    average: Vec<f32>,
    variance: Vec<f32>,
}

impl AnyRow {
    fn new(factor: &Factor, variances: &Factor) -> Self {
        let rank = factor.rank();
        let average = factor.average();
        let squares: Vec<f32> = factor
            .values()
            .iter()
            .zip(variances.values())
            .zip(average.iter().cycle())
            .map(|((value, variance), average)| (value - average).powi(2) + variance)
            .collect();
        AnyRow { variance: average_row(&squares, rank), average }
    }
}

/// What the core becomes along the rows of all modes but one.
struct Along<'a> {
    core: &'a Core,
    from: Vec<f32>,
    to: Vec<f32>,
}

impl<'a> Along<'a> {
    fn new(core: &'a Core) -> Self {
        Along { core, from: Vec::new(), to: Vec::new() }
    }

    /// The derivative of the prediction by the row of a mode.
    fn mode(&mut self, rows: &[&[f32]], mode: usize) -> &[f32] {
        self.from.clear();
        self.from.extend_from_slice(self.core.values());
        if let Core::Diagonal(_) = self.core {
            let others = rows.iter().enumerate().filter(|(other, _)| *other != mode);
            for (_, row) in others {
                self.from.iter_mut().zip(*row).for_each(|(product, value)| *product *= value);
            }
            return &self.from;
        }
        for row in rows[mode + 1..].iter().rev() {
            self.to.clear();
            let dot = |values: &[f32]| values.iter().zip(*row).map(|(a, b)| a * b).sum::<f32>();
            self.to.extend(self.from.chunks_exact(row.len()).map(dot));
            std::mem::swap(&mut self.from, &mut self.to);
        }
        for row in &rows[..mode] {
            let inner = self.from.len() / row.len();
            self.to.clear();
            self.to.resize(inner, 0.0);
            for (values, &weight) in self.from.chunks_exact(inner).zip(*row) {
                self.to.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
            }
            std::mem::swap(&mut self.from, &mut self.to);
        }
        assert_eq!(self.from.len(), rows[mode].len());
        &self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    fn model() -> Model {
        let modes = vec![Mode::new("a", 2), Mode::new("b", 1), Mode::new("c", 1)];
        let core = Core::full(vec![2, 1, 2], vec![1.0, 2.0, 3.0, 4.0]);
        let factors = vec![
            Factor::new(2, vec![1.0, 0.5, 1.0, -0.5]),
            Factor::new(1, vec![2.0]),
            Factor::new(2, vec![1.0, 3.0]),
        ];
        Model::new(modes, core, factors, Vec::new(), [0.0, 1.0]).unwrap()
    }

    fn uncertainty() -> Uncertainty {
        Uncertainty {
            noise: 2.0,
            shares: vec![vec![4.0, 1.0], vec![1.0], vec![0.5]],
            variances: vec![
                Factor::new(2, vec![0.0, 0.25, 0.0, 1.0]),
                Factor::new(1, vec![0.5]),
                Factor::new(2, vec![0.0, 0.1]),
            ],
            scale: None,
        }
    }

    #[test]
    fn noise_and_every_modes_part_add_up() {
        let model = model().with_uncertainty(uncertainty()).unwrap();
        let cells = Cells::new(vec![vec![0], vec![0], vec![0]]).unwrap();
        // By hand: the core along (1, 0.5) is [2.5, 4]; times 2 is the slope of c. Along c = (1, 3) and b = 2 the core is
        // 2 * [7, 15]; along a and c it is 14.5.
        let expected: f32 = 2.0 / (4.0 * 0.5) + 0.25 * 30f32.powi(2) + 0.5 * 14.5f32.powi(2) + 0.1 * 64.0;
        let std = model.std(&cells).unwrap()[0];
        assert!((std - expected.sqrt()).abs() < 1e-4, "{std} and not {}", expected.sqrt());
        // The prediction is 29, kept within 0 and 1.
        let points = vec![[0.0, 5.0], [1.0, 3.0], [29.0, 7.0]];
        let scaled = Uncertainty { scale: Some(StdScale { points }), ..uncertainty() };
        let scaled = model.with_uncertainty(scaled).unwrap().std(&cells).unwrap()[0];
        assert!((scaled - 3.0 * std).abs() < 1e-3, "{scaled} and not {}", 3.0 * std);
    }

    #[test]
    fn an_interval_is_so_many_standard_deviations_wide_and_has_the_prediction_in_its_middle() {
        let model = model().with_uncertainty(uncertainty()).unwrap();
        let cells = Cells::new(vec![vec![0, 1], vec![0, 0], vec![0, 0]]).unwrap();
        let std = model.std(&cells).unwrap();
        for clip in [false, true] {
            let means = model.predict(&cells, clip).unwrap();
            let intervals = model.interval(&cells, 0.9, clip).unwrap();
            for ((mean, std), [low, high]) in means.iter().zip(&std).zip(intervals) {
                let expected = [mean - 1.644_853_6 * std, mean + 1.644_853_6 * std];
                let off = (low - expected[0]).abs().max((high - expected[1]).abs());
                assert!(off < 1e-3, "{low} {high} {expected:?}");
            }
        }
        for level in [0.0, 1.0, -0.5, 95.0, f64::NAN] {
            let error = model.interval(&cells, level, true).unwrap_err().to_string();
            assert!(error.contains("should be above 0 and below 1, such as 0.9, but is"), "{error}");
        }
    }

    #[test]
    fn of_yes_or_no_the_interval_is_one_of_the_probability_and_of_counts_one_of_counts() {
        let cells = Cells::new(vec![vec![0], vec![0], vec![0]]).unwrap();
        let small = |likelihood, core: f32| {
            let mut model = model().with_uncertainty(uncertainty()).unwrap();
            model.core = Core::full(vec![2, 1, 2], vec![core, 0.0, 0.0, 0.0]);
            model.likelihood = likelihood;
            model.range = [0.0, 100.0];
            model
        };
        // The linear predictor is 2 * 0.25, and its variance that of b alone, 0.5 * 0.25².
        let [low, high] = small(Likelihood::Logistic, 0.25).interval(&cells, 0.95, true).unwrap()[0];
        let expected =
            [-1.0, 1.0].map(|side: f64| 1.0 / (1.0 + (-0.5 - side * 1.959964 * 0.03125f64.sqrt()).exp()));
        assert!((f64::from(low) - expected[0]).abs() < 1e-5, "{low} {expected:?}");
        assert!((f64::from(high) - expected[1]).abs() < 1e-5, "{high} {expected:?}");
        // Negative binomial of mean e and a dispersion of 1 / (2 + 0.125): by scipy.stats.nbinom.
        let found = small(Likelihood::Counts, 0.5).interval(&cells, 0.9, true).unwrap()[0];
        assert_eq!(found, [0.0, 11.0]);
    }

    #[test]
    fn of_an_unknown_row_less_is_known_than_of_any() {
        let model = model().with_uncertainty(uncertainty()).unwrap();
        // Beyond the mode's size by less than a tenth is unknown; here that is nothing, so absent ids are.
        let any = AnyRow::new(&model.factors[0], &model.uncertainty().unwrap().variances[0]);
        assert_eq!(any.average, [1.0, 0.0]);
        assert_eq!(any.variance, [0.0, 0.25 + 0.625]);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_not_known_not_made_up() {
        let mut cut = uncertainty();
        cut.shares[0].pop();
        assert!(model().with_uncertainty(cut).is_err());
        let mut negative = uncertainty();
        negative.variances[1] = Factor::new(1, vec![-0.5]);
        assert!(model().with_uncertainty(negative).is_err());
        for points in [vec![], vec![[0.0, 0.0]], vec![[1.0, 1.0], [0.0, 1.0]], vec![[f32::NAN, 1.0]]] {
            let scale = Some(StdScale { points });
            assert!(model().with_uncertainty(Uncertainty { scale, ..uncertainty() }).is_err());
        }
        let cells = Cells::new(vec![vec![0], vec![0], vec![0]]).unwrap();
        assert!(model().std(&cells).unwrap_err().to_string().contains("no standard deviations"));
        assert!(
            model().interval(&cells, 0.9, true).unwrap_err().to_string().contains("no standard deviations")
        );
    }
}
