//! Sets of ratings with their matrices: the default settings against the mean and offsets, and what each matrix brings.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use s3cmtf::internal::files;
use s3cmtf::internal::input::SideMatrix;
use s3cmtf::{Coupled, Entries, Params, Problem, Run, Training};
use serde::Serialize;

use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use crate::args::Rank;
use crate::couple::{CoupleArg, couples};
use crate::problem;

/// An RMSE may be larger than that of offsets by this share of it, and one with a matrix than one without.
const OFFSETS: f64 = 0.001;
const MATRIX: f64 = 0.001;

/// Ratings to learn from, others to test on, and coupled matrices.
struct Set {
    name: String,
    train: Entries,
    test: Entries,
    coupled: Vec<Coupled>,
}

#[derive(Serialize)]
struct Row<'a> {
    data: &'a str,
    /// The matrices that were coupled.
    coupled: String,
    seed: u64,
    tolerance: f64,
    epochs: usize,
    /// The rank that was asked for, and those that there are.
    rank: String,
    ranks: Vec<usize>,
    mean_rmse: f64,
    offsets_rmse: f64,
    test_rmse: f64,
    train_rmse: f64,
    /// The mean of predictions less that of values.
    bias: f64,
    /// How many of the values lie within one and two standard deviations of their predictions.
    within: [f64; 2],
    seconds: f64,
}

impl Row<'_> {
    fn asked_and_found(&self) -> String {
        let found: Vec<String> = self.ranks.iter().map(ToString::to_string).collect();
        if self.rank == "auto" { format!("auto: {}", found.join(",")) } else { self.rank.clone() }
    }
}

/// Measures every folder of a folder.
pub(super) fn run(
    folder: &Path,
    only: &str,
    (ranks, tolerances): (&[Rank], &[f64]),
    seeds: u64,
    threads: usize,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let listed = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut folders: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("train.tns").is_file());
    folders.sort();
    ensure!(
        !folders.is_empty(),
        "{}: no folder in it has a train.tns; benchmarks/sets.py writes some",
        folder.display()
    );
    let mut table = Table::new(&[
        "data",
        "coupled",
        "rank",
        "seed",
        "tolerance",
        "epochs",
        "mean",
        "offsets",
        "test RMSE",
        "bias",
        "within 1, 2 std",
        "seconds",
    ]);
    let (mut bars, mut held) = (Vec::new(), Ok(()));
    for folder in folders {
        let set = Set::read(&folder)?;
        if !set.name.contains(only) {
            continue;
        }
        for (&rank, &tolerance) in ranks.iter().flat_map(|rank| tolerances.iter().map(move |own| (rank, own)))
        {
            for seed in 1..=seeds {
                let params = Params {
                    ranks: rank.ranks(),
                    tolerance: Some(tolerance),
                    seed,
                    threads,
                    ..Params::default()
                };
                let rows = set.measure(&params, report)?;
                held = held.and(hold(&rows));
                for row in rows {
                    report.row(&row)?;
                    let rmse = format!("{:.4}", row.test_rmse);
                    table.row([
                        row.data.to_owned(),
                        row.coupled.clone(),
                        row.asked_and_found(),
                        row.seed.to_string(),
                        row.tolerance.to_string(),
                        row.epochs.to_string(),
                        format!("{:.4}", row.mean_rmse),
                        format!("{:.4}", row.offsets_rmse),
                        rmse.clone(),
                        format!("{:+.3}", row.bias),
                        format!("{:.0} %, {:.0} %", 100.0 * row.within[0], 100.0 * row.within[1]),
                        format!("{:.1}", row.seconds),
                    ]);
                    let name = format!("{}: {} (rank {}, seed {seed})", row.data, row.coupled, row.rank);
                    bars.push(Bar { name, value: row.test_rmse, text: rmse });
                }
            }
        }
    }
    let title = "Sets: the default settings against the mean and offsets, and what each matrix brings";
    let axis_text = |value: f64| format!("{value:.2}");
    report.finish("sets", title, &table, &Plot::Bars { axis: "test RMSE", axis_text, log: false, bars })?;
    held
}

/// Holds what the defaults promise: no worse than offsets, and no matrix that does harm.
fn hold(rows: &[Row<'_>]) -> anyhow::Result<()> {
    let alone = rows[0].test_rmse;
    for row in rows {
        let Row { data, coupled, seed, offsets_rmse, test_rmse, .. } = row;
        let what = format!("{data}, {coupled}, seed {seed}: a test RMSE of {test_rmse:.4}");
        ensure!(*test_rmse <= (1.0 + OFFSETS) * offsets_rmse, "{what}, but {offsets_rmse:.4} by offsets");
        ensure!(*test_rmse <= (1.0 + MATRIX) * alone, "{what}, but {alone:.4} with nothing coupled");
    }
    Ok(())
}

impl Set {
    /// Reads a folder of train.tns, test.tns and matrices that are called MODE-KIND-NAME.tns.
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let train = files::read_entries(&folder.join("train.tns"), None)?;
        let test = files::read_entries(&folder.join("test.tns"), Some(train.order()))?;
        let mut matrices = Vec::new();
        let listed = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if let [mode, kind, name] = stem.splitn(3, '-').collect::<Vec<_>>()[..] {
                let said = format!("{mode}={},{kind}", path.display());
                let arg: CoupleArg =
                    said.parse().map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
                matrices.push((name.to_owned(), arg));
            }
        }
        let modes: Vec<String> = (1..=train.order()).map(|mode| format!("mode{mode}")).collect();
        let args: Vec<CoupleArg> = matrices.iter().map(|(_, arg)| arg.clone()).collect();
        let couples = couples(&args);
        let (mut namings, known) = (vec![None; modes.len()], vec![0; modes.len()]);
        let mut coupled = Vec::new();
        let read = SideMatrix::all(&couples, &modes, &namings, None, &mut problem::tell)?;
        for (matrix, (own, _)) in read.into_iter().zip(&matrices) {
            let matrix = matrix.read(&modes, &mut namings, &known, None, Some(&mut problem::tell))?;
            coupled.push(matrix.named(own.clone()));
        }
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Set { name, train, test, coupled })
    }

    /// Nothing coupled, each matrix alone, and all of them.
    fn measure(&self, params: &Params, report: &Report<'_>) -> anyhow::Result<Vec<Row<'_>>> {
        let each = self.coupled.iter().map(|matrix| vec![matrix.clone()]);
        let mut cases: Vec<Vec<Coupled>> = std::iter::once(Vec::new()).chain(each).collect();
        if self.coupled.len() > 1 {
            cases.push(self.coupled.clone());
        }
        let mut rows = Vec::new();
        for coupled in cases {
            let names: Vec<&str> = coupled.iter().map(Coupled::name).collect();
            let what = if names.is_empty() { "nothing".to_owned() } else { names.join(" + ") };
            let (word, seed) = (params.ranks_word(), params.seed);
            report.progress(format_args!("sets: {}, {what}, rank {word}, seed {seed}", self.name));
            let mut builder = Problem::builder(self.train.clone()).sizes(self.sizes());
            for matrix in coupled {
                builder = builder.couple(matrix);
            }
            let run = Training::new(builder.build()?, params.clone()).test(self.test.clone()).run()?;
            rows.push(self.row(what, &run)?);
        }
        Ok(rows)
    }

    fn row(&self, coupled: String, run: &Run) -> anyhow::Result<Row<'_>> {
        let end = &run.record.summary;
        let (predictions, stds) = (run.model.predict(&self.test, true)?, run.model.std(&self.test)?);
        let count = self.test.len() as f64;
        let errors: Vec<f64> =
            predictions.iter().zip(self.test.values()).map(|(a, b)| f64::from(a - b)).collect();
        let within = |times: f64| {
            let inside =
                errors.iter().zip(&stds).filter(|(error, std)| error.abs() <= times * f64::from(**std));
            inside.count() as f64 / count
        };
        Ok(Row {
            data: &self.name,
            coupled,
            seed: run.record.params.seed,
            tolerance: run.record.params.tolerance.unwrap_or(f64::NAN),
            epochs: end.epochs,
            rank: run.record.params.ranks_word(),
            ranks: end.ranks.clone(),
            mean_rmse: end.mean_rmse.unwrap_or(f64::NAN),
            offsets_rmse: end.offsets_rmse.unwrap_or(f64::NAN),
            test_rmse: (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt(),
            train_rmse: end.train_rmse,
            bias: errors.iter().sum::<f64>() / count,
            within: [within(1.0), within(2.0)],
            seconds: end.seconds,
        })
    }

    /// Sizes that hold all ids of the entries and of the coupled matrices.
    fn sizes(&self) -> Vec<u32> {
        let most = |ids: &[u32]| ids.iter().max().map_or(1, |&most| most + 1);
        let size = |mode: usize| {
            let own = most(self.train.indices(mode)).max(most(self.test.indices(mode)));
            let matrices = self.coupled.iter().filter(|matrix| matrix.mode() == mode);
            matrices.map(|matrix| most(matrix.entries().indices(0))).fold(own, u32::max)
        };
        (0..self.train.order()).map(size).collect()
    }
}
