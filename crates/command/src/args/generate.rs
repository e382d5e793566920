//! What `generate` was given.

use std::path::PathBuf;

use s3cmtf::Absent;
use s3cmtf::internal::synthetic::{MatrixShape, Shape};
use s3cmtf::internal::table::did_you_mean;

use super::{decimal, whole};
use crate::failure::usage;

/// What `generate` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct GenerateArgs {
    /// The shape of a known data set, which the flags below change: movielens-10m, movielens-1m,
    /// netflix, yelp or synthetic
    #[arg(default_value = "synthetic")]
    shape: String,
    /// The folder to write tensor.tns, test.tns and a file per coupled matrix into; it is made
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The number of ids of each mode, any number of modes from 2 on
    #[arg(long, value_name = "I1,I2,..", value_delimiter = ',', value_parser = whole::<u32>)]
    sizes: Option<Vec<u32>>,
    /// The number of tensor entries; a few may fall on the same cell
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    entries: Option<usize>,
    /// The skew of entries over ids: 0 is uniform; at 1, a hundredth of the ids have a tenth of the entries
    #[arg(long, value_parser = decimal::<f64>, value_name = "S")]
    skew: Option<f64>,
    /// The rank of the planted model
    #[arg(long, value_name = "R", value_parser = whole::<usize>)]
    planted_rank: Option<usize>,
    /// The standard deviation of the noise around the planted model
    #[arg(long, value_parser = decimal::<f64>, value_name = "SD")]
    noise: Option<f64>,
    /// A coupled matrix in place of the shape's: its mode (from 1), its name, its kind, its columns, its entries
    #[arg(long, value_name = "MODE=NAME,KIND,COLUMNS,ENTRIES")]
    couple: Vec<String>,
    /// No coupled matrices
    #[arg(long, conflicts_with = "couple")]
    uncoupled: bool,
    /// Write this fraction of the entries to test.tns
    #[arg(long, value_parser = decimal::<f64>, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) test: f64,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
}

impl GenerateArgs {
    /// The shape that was asked for.
    pub(crate) fn shape(&self) -> anyhow::Result<Shape> {
        let mut shape = Shape::named(&self.shape).ok_or_else(|| {
            let hint = did_you_mean(Shape::NAMES, &self.shape);
            usage(format!("there is no shape {:?}{hint} (there are {})", self.shape, Shape::NAMES.join(", ")))
        })?;
        shape.sizes = self.sizes.clone().unwrap_or(shape.sizes);
        shape.entries = self.entries.unwrap_or(shape.entries);
        shape.skew = self.skew.unwrap_or(shape.skew);
        shape.rank = self.planted_rank.unwrap_or(shape.rank);
        shape.noise = self.noise.unwrap_or(shape.noise);
        shape.seed = self.seed;
        if self.uncoupled || !self.couple.is_empty() {
            shape.matrices = self.couple.iter().map(|text| matrix(text)).collect::<anyhow::Result<_>>()?;
        }
        let order = shape.sizes.len();
        let elements = u32::try_from(order).ok().and_then(|order| shape.rank.checked_pow(order));
        let checks = [
            (order >= 2 && !shape.sizes.contains(&0), "--sizes should be 2 or more numbers, each 1 or more"),
            (shape.entries >= 1, "--entries should be 1 or more"),
            (shape.skew.is_finite() && shape.skew >= 0.0, "--skew should be 0 or more"),
            (
                shape.rank >= 1 && elements.is_some_and(|n| n <= 1 << 16),
                "--planted-rank should be 1 or more, and small",
            ),
            (shape.noise.is_finite() && shape.noise >= 0.0, "--noise should be 0 or more"),
            ((0.0..1.0).contains(&self.test), "--test should be a share from 0 to below 1"),
        ];
        if let Some((_, what)) = checks.iter().find(|(fine, _)| !fine) {
            return Err(usage(*what));
        }
        if let Some(matrix) = shape.matrices.iter().find(|matrix| matrix.mode >= order) {
            return Err(usage(format!(
                "--couple {}={}: there is no mode {}, but {order} modes",
                matrix.mode + 1,
                matrix.name,
                matrix.mode + 1
            )));
        }
        Ok(shape)
    }
}

/// Reads `MODE=NAME,KIND,COLUMNS,ENTRIES`.
fn matrix(text: &str) -> anyhow::Result<MatrixShape> {
    let wrong = || {
        usage(format!(
            "--couple {text}: should be MODE=NAME,KIND,COLUMNS,ENTRIES, such as 2=genre,zeros,20,5000"
        ))
    };
    let (mode, rest) = text.split_once('=').ok_or_else(wrong)?;
    let [name, kind, columns, entries] = rest.split(',').collect::<Vec<_>>()[..] else { return Err(wrong()) };
    let kind = [Absent::Missing, Absent::Zeros, Absent::Graph].into_iter().find(|known| known.name() == kind);
    let mode: usize = mode.parse().map_err(|_| wrong())?;
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    if mode == 0 || !plain || ["tensor", "test"].contains(&name) {
        return Err(wrong());
    }
    Ok(MatrixShape {
        name: name.to_owned(),
        mode: mode - 1,
        kind: kind.ok_or_else(wrong)?,
        columns: columns.parse().ok().filter(|&columns| columns > 0).ok_or_else(wrong)?,
        entries: entries.parse().ok().filter(|&entries| entries > 0).ok_or_else(wrong)?,
    })
}
