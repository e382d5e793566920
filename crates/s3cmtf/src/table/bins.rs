//! Values that are put together: points in time by the month, numbers by the interval that they lie in.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::time::Bin;
use super::{ColumnType, Data, did_you_mean};

/// What a column's values are put together by, before the column is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bins {
    /// Points in time by the month and the like.
    Time(Bin),
    /// Numbers by this many intervals of equal width.
    Width(usize),
    /// Numbers by this many intervals that hold about equally many of them.
    Quantiles(usize),
}

/// What a column's values are put together by, once and for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binning {
    /// Points in time by the month and the like.
    Time(Bin),
    /// Numbers by the intervals between these bounds, ascending; each bound belongs to the interval above it.
    Bounds(Vec<f64>),
    /// Numbers that stay what they are, less their mean and in units of their standard deviation.
    Standard {
        /// The mean.
        mean: f64,
        /// The standard deviation; 1 where all numbers are the same.
        std: f64,
    },
}

/// The most intervals.
const MOST: usize = 1_000_000;

impl FromStr for Bins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Bin::ALL.iter().map(|bin| bin.name()).collect();
        let (word, number) = match text.split_once('=') {
            None => return text.parse().map(Bins::Time).map_err(|_| none_of(text, &names)),
            Some(parts) => parts,
        };
        let count = number.parse().ok().filter(|count| (1..=MOST).contains(count));
        let count = count
            .ok_or_else(|| format!("{word} should be a whole number from 1 to {MOST}, but is {number:?}"));
        match word {
            "bins" => count.map(Bins::Width),
            "quantiles" => count.map(Bins::Quantiles),
            _ => Err(none_of(text, &names)),
        }
    }
}

fn none_of(text: &str, names: &[&str]) -> String {
    let hint = did_you_mean(names.iter().copied(), text);
    format!("{text:?} is none of {}, bins=N, quantiles=N{hint}", names.join(", "))
}

impl std::fmt::Display for Bins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bins::Time(bin) => f.write_str(bin.name()),
            Bins::Width(count) => write!(f, "bins={count}"),
            Bins::Quantiles(count) => write!(f, "quantiles={count}"),
        }
    }
}

impl Bins {
    /// What the values of such a column are read as.
    pub fn kind(self) -> ColumnType {
        match self {
            Bins::Time(_) => ColumnType::Time,
            Bins::Width(_) | Bins::Quantiles(_) => ColumnType::Number,
        }
    }

    /// Settles on bounds for a column.
    pub(crate) fn settle(self, data: &Data) -> Binning {
        let (Data::Numbers(values), Bins::Width(count) | Bins::Quantiles(count)) = (data, self) else {
            return Binning::Time(if let Bins::Time(bin) = self { bin } else { Bin::Month });
        };
        let mut bounds: Vec<f64> = match self {
            Bins::Quantiles(_) => {
                let mut sorted = values.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                (1..count).filter_map(|part| sorted.get(sorted.len() * part / count).copied()).collect()
            }
            _ => {
                let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let bound = |part: usize| low + (high - low) * (part as f64 / count as f64);
                (1..count).map(bound).filter(|bound| *bound > low && bound.is_finite()).collect()
            }
        };
        bounds.dedup();
        Binning::Bounds(bounds)
    }
}

impl Binning {
    /// What the values of such a column are read as.
    pub fn kind(&self) -> ColumnType {
        match self {
            Binning::Time(_) => ColumnType::Time,
            Binning::Bounds(_) | Binning::Standard { .. } => ColumnType::Number,
        }
    }

    /// Standardizes numbers as these are.
    pub(crate) fn standard(values: &[f64]) -> Binning {
        let count = values.len().max(1) as f64;
        // By parts, so that the largest numbers do not overflow.
        let mean: f64 = values.iter().map(|value| value / count).sum();
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max((value - mean).abs()));
        let unit = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let variance = values.iter().map(|value| ((value - mean) / unit).powi(2)).sum::<f64>() / count;
        let std = unit * variance.sqrt();
        Binning::Standard { mean, std: if std > 0.0 && std.is_finite() { std } else { 1.0 } }
    }

    /// What people call an interval of numbers.
    pub(crate) fn interval(bounds: &[f64], place: usize) -> String {
        let above = place.checked_sub(1).and_then(|before| bounds.get(before));
        match (above, bounds.get(place)) {
            (None, None) => "all".into(),
            (None, Some(high)) => format!("below {high}"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} and above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_what_is_printed() {
        for text in ["month", "hour-of-day", "bins=20", "quantiles=3"] {
            assert_eq!(text.parse::<Bins>().unwrap().to_string(), text);
        }
        for text in ["", "mnth", "bins", "bins=0", "bins=x", "quantiles=-1", "deciles=3"] {
            assert!(text.parse::<Bins>().is_err(), "{text}");
        }
    }

    #[test]
    fn bounds_by_width_and_by_number() {
        let data = Data::Numbers(vec![0.0, 1.0, 1.0, 2.0, 3.0, 100.0]);
        assert_eq!(Bins::Width(4).settle(&data), Binning::Bounds(vec![25.0, 50.0, 75.0]));
        assert_eq!(Bins::Quantiles(3).settle(&data), Binning::Bounds(vec![1.0, 3.0]));
        let same = Data::Numbers(vec![7.0; 5]);
        assert_eq!(Bins::Width(4).settle(&same), Binning::Bounds(vec![]));
        assert_eq!(Bins::Width(1).settle(&data), Binning::Bounds(vec![]));
        let labels = |place| Binning::interval(&[1.0, 2.5], place);
        assert_eq!([labels(0), labels(1), labels(2)], ["below 1", "1 to 2.5", "2.5 and above"]);
    }

    #[test]
    fn numbers_are_standardized_however_large() {
        assert_eq!(Binning::standard(&[1.0, 3.0]), Binning::Standard { mean: 2.0, std: 1.0 });
        assert_eq!(Binning::standard(&[7.0; 3]), Binning::Standard { mean: 7.0, std: 1.0 });
        assert_eq!(Binning::standard(&[]), Binning::Standard { mean: 0.0, std: 1.0 });
        let Binning::Standard { mean, std } = Binning::standard(&[1e300, -1e300]) else { panic!() };
        assert_eq!((mean, std), (0.0, 1e300));
    }
}
