//! The memory that a cell needs, computed before any of it is taken. The page shows it beside what was measured.

use super::methods::Kind;

/// What the program takes beside data and model.
const PROGRAM: f64 = 30e6;
/// The ranks that a run which finds them itself is taken to have.
const AUTO: usize = 16;
/// Vectors of all numbers that every step along a gradient keeps: state, best state, gradients, direction and line search.
const VECTORS: f64 = 8.0;

/// How large data are.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    /// Rows that can have an entry: no more than there are entries.
    pub(super) rows: Vec<f64>,
    pub(super) entries: f64,
    pub(super) matrix_entries: f64,
    pub(super) matrix_columns: f64,
}

impl Extent {
    fn order(&self) -> f64 {
        self.rows.len() as f64
    }

    fn all_rows(&self) -> f64 {
        self.rows.iter().sum()
    }

    /// Entries and matrices as they are read, and once more while they are divided.
    fn data(&self) -> f64 {
        8.0 * ((self.order() + 1.0) * self.entries + 3.0 * self.matrix_entries)
    }
}

/// Bytes that a run takes, data and program counted.
pub(super) fn needed(kind: Kind, extent: &Extent, rank: Option<usize>, threads: usize) -> u64 {
    let rank = rank.unwrap_or(AUTO) as f64;
    let order = extent.order();
    let core = rank.powf(order);
    let Extent { entries, matrix_entries, matrix_columns, .. } = *extent;
    let rows = extent.all_rows();
    // An index per mode and a value, in the order of each mode.
    let views = 4.0 * order * (order + 1.0) * entries + 24.0 * matrix_entries;
    // In 64 bits: the numbers of a model.
    let numbers = 8.0 * rank * (rows + matrix_columns);
    let own = match kind {
        Kind::Naive | Kind::Opt => {
            let model = 12.0 * (rank + 1.0) * (rows + matrix_columns);
            4.0 * (order + 4.0) * entries
                + 24.0 * matrix_entries
                + model
                + 320.0 * core
                + auxiliary(kind, extent, rank, threads)
        }
        Kind::Bayes => {
            let row = rank * (rank + 1.0) / 2.0 + 8.0 * rank;
            4.0 * ((order + 1.0) * (order + 2.0) * entries + row * rows + 12.0 * matrix_entries + 80.0 * core)
        }
        Kind::CmtfOpt { pairs } => views + (VECTORS + 2.0 * pairs as f64) * numbers,
        Kind::TuckerAls => views + 4.0 * numbers + auxiliary(kind, extent, rank, threads),
        Kind::Sals => views + 4.0 * entries + 2.0 * numbers,
        Kind::CmtfAls => views + 3.0 * numbers,
    };
    (PROGRAM + extent.data() + own) as u64
}

/// The bytes of what the paper's Table 3 calls memory usage: space for temporary numbers. For CMTF-OPT the paper has I^(N-1) J, of a
/// matricized dense residual, which nobody needs to write down where data are sparse: here it is the gradient.
pub(super) fn auxiliary(kind: Kind, extent: &Extent, rank: f64, threads: usize) -> f64 {
    let order = extent.order();
    let widest = extent.rows.iter().copied().fold(0.0, f64::max);
    match kind {
        // The paper has P J, but the gradient of the core has as many numbers as the core.
        Kind::Naive => 4.0 * threads as f64 * (rank * order + rank.powf(order)),
        Kind::Opt => 4.0 * threads as f64 * rank.powf(order),
        Kind::TuckerAls => 8.0 * widest * rank.powf(order - 1.0),
        Kind::Bayes | Kind::CmtfOpt { .. } | Kind::Sals | Kind::CmtfAls => 8.0 * rank * extent.all_rows(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yelp() -> Extent {
        Extent { rows: vec![1e6, 144e3, 149.0], entries: 4e6, matrix_entries: 7.5e6, matrix_columns: 1e6 }
    }

    #[test]
    fn the_bottleneck_of_tucker_als_is_the_widest_mode_times_the_square_of_the_rank() {
        // 1 M rows of 10 x 10 numbers of 8 bytes.
        assert!((auxiliary(Kind::TuckerAls, &yelp(), 10.0, 1) - 0.8e9).abs() < 1.0);
        let [ten, twelve] = [10, 12].map(|rank| needed(Kind::TuckerAls, &yelp(), Some(rank), 1) as f64);
        assert!(twelve - ten > 8e6 * 44.0);
    }

    #[test]
    fn a_pair_of_quasi_newton_steps_is_two_more_models() {
        let [cg, lbfgs] = [0, 10].map(|pairs| needed(Kind::CmtfOpt { pairs }, &yelp(), Some(10), 1) as f64);
        let model = 8.0 * 10.0 * (1e6 + 144e3 + 149.0 + 1e6);
        assert!((lbfgs - cg - 20.0 * model).abs() < 8.0);
    }

    #[test]
    fn more_of_anything_needs_more() {
        for kind in [
            Kind::Naive,
            Kind::Opt,
            Kind::Bayes,
            Kind::CmtfOpt { pairs: 0 },
            Kind::CmtfOpt { pairs: 10 },
            Kind::TuckerAls,
            Kind::Sals,
            Kind::CmtfAls,
        ] {
            let base = needed(kind, &yelp(), Some(10), 1);
            assert!(base > 30_000_000);
            assert!(needed(kind, &yelp(), Some(20), 1) > base);
            assert!(needed(kind, &Extent { entries: 5e6, ..yelp() }, Some(10), 1) > base);
            assert!(needed(kind, &Extent { rows: vec![2e6, 144e3, 149.0], ..yelp() }, Some(10), 1) > base);
        }
    }
}
