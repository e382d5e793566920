//! `s3cmtf bench`: measurements that anyone can repeat, one JSON object per line.
//!
//! A figure is a ratio of two measurements of one run, and a measurement holds the RMSE it reached against what it
//! must be, so that nothing is fast by being wrong. Nothing here fails for being slow.

mod accuracy;
mod after;
mod all;
mod axis;
mod bayes;
mod data;
mod discovery;
mod entries;
mod evaluation;
mod folder;
mod independent;
mod instructions;
pub(crate) mod machine;
mod measure;
pub(crate) mod memory;
mod methods;
mod paper;
pub(crate) mod plot;
mod ratings;
mod recommend;
mod report;
mod sets;
mod sizes;
mod stored;
pub(crate) mod table;
mod threads;
pub(crate) mod units;
mod yelp;

use std::process::ExitCode;

use s3cmtf::internal::synthetic::{MatrixShape, Shape};

use crate::args::{BenchArgs, BenchVerb};
use report::Report;

/// Runs the verb.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let scale = Scale(args.scale);
    let report = &mut Report::new(args)?;
    match &args.what {
        BenchVerb::Methods { only, threads } => methods::run(only, *threads, scale, report),
        BenchVerb::Paper { own, threads, entries, epochs, repeats } => {
            paper::run(own, threads, scale.scaled(*entries), (*epochs, *repeats), report)
        }
        BenchVerb::Threads { threads, entries, repeats } => {
            threads::run(threads.as_deref(), scale.scaled(*entries), *repeats, report)
        }
        BenchVerb::Entries { entries, threads } => entries::run(entries, *threads, scale, report),
        BenchVerb::Sizes { sizes, threads } => sizes::run(sizes, *threads, scale, report),
        BenchVerb::Yelp { threads } => yelp::run(*threads, scale, report),
        BenchVerb::Evaluation { threads } => evaluation::run(*threads, scale, report),
        BenchVerb::After { threads } => after::run(*threads, scale, report),
        BenchVerb::Bayes { shapes, ranks, threads, epochs, repeats, before, gpu, independent, no_cpu } => {
            bayes::Bayes {
                shapes,
                ranks,
                threads: threads.as_deref(),
                epochs: *epochs,
                repeats: *repeats,
                before: before.as_deref(),
                gpu: *gpu,
                independent: *independent,
                cpu: !no_cpu,
            }
            .run(scale, report)
        }
        BenchVerb::Instructions { repeats } => instructions::run(*repeats, scale, report),
        BenchVerb::Accuracy { own, only, threads } => accuracy::run(own, only, *threads, scale, report),
        BenchVerb::Sets { folder, only, ranks, tolerances, seeds, threads } => {
            sets::run(folder, only, (ranks, tolerances), *seeds, *threads, report)
        }
        BenchVerb::Data { child: Some(file), .. } => data::read_one(file),
        BenchVerb::Data { rows, repeats, python, child: None } => {
            data::run(scale.scaled(*rows), *repeats, python.as_deref(), report)
        }
        BenchVerb::Discovery { seed } => discovery::run(scale, *seed, report),
        BenchVerb::Stored { epochs, child: Some(file), memory, .. } => {
            stored::fit_one(file, *epochs, *memory)
        }
        BenchVerb::Stored { rows, epochs, repeats, child: None, .. } => {
            stored::run(scale.scaled(*rows), *epochs, *repeats, report)
        }
        BenchVerb::Recommend { users, items } => {
            recommend::run(scale.scaled(*users), scale.scaled(*items), report)
        }
        BenchVerb::All => all::run(args),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The share of the data that is taken.
#[derive(Clone, Copy)]
struct Scale(f64);

impl Scale {
    /// That share of a number, and never nothing.
    fn scaled(self, number: usize) -> usize {
        ((number as f64 * self.0).round() as usize).max(1)
    }

    /// A shape with that share of its entries and of its ids, so that an id has as many entries as before.
    fn shape(self, shape: &Shape) -> Shape {
        let size = |size: u32| self.scaled(size as usize) as u32;
        let matrix = |matrix: &MatrixShape| MatrixShape {
            columns: size(matrix.columns),
            entries: self.scaled(matrix.entries),
            ..matrix.clone()
        };
        Shape {
            sizes: shape.sizes.iter().map(|&ids| size(ids)).collect(),
            entries: self.scaled(shape.entries),
            matrices: shape.matrices.iter().map(matrix).collect(),
            ..shape.clone()
        }
    }
}
