//! Recommendations to many, as a table that is written in parts.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use s3cmtf::discovery::{Reasons, Recommender};
use s3cmtf::internal::files::{self, OutFormat};
use s3cmtf::internal::table::{Column, Data, Labels, Table};
use s3cmtf::{Mode, Model};

use crate::args::RecommendArgs;
use crate::progress::Counting;
use crate::{interrupt, print};

/// The most entities that are dealt with at once: their rows make a part of the table.
const TOGETHER: usize = 1 << 14;
/// The most predictions of a part: a second or less of one core, so that progress is seen and an interrupt is heard.
const PREDICTIONS: usize = 1 << 28;

/// What the table is made of.
#[derive(Clone, Copy)]
pub(super) struct All<'a> {
    pub(super) model: &'a Model,
    pub(super) by: usize,
    pub(super) items: usize,
    pub(super) recommender: &'a Recommender<'a>,
    pub(super) reasons: &'a Reasons<'a>,
}

impl All<'_> {
    /// Writes the table to the file of `--out`, whole or not at all, or to stdout.
    pub(super) fn write(
        self,
        args: &RecommendArgs,
        rows: &[u32],
        format: Option<OutFormat>,
    ) -> anyhow::Result<ExitCode> {
        let items = self.model.modes()[self.items].rows().max(1);
        let mut progress = Counting::new("recommend", rows.len(), args.progress.quiet);
        // From here on a file is half written, and an interrupt has to leave none.
        let interrupted = interrupt::flag()?;
        let mut recommended = 0;
        let part = |rows: &[u32]| {
            let part = self.part(rows, args.top);
            recommended += part.columns.first().map_or(0, |column| column.data.len());
            progress.add(rows.len());
            match interrupted.load(Ordering::Relaxed) {
                true => Err(io::Error::other("interrupted")),
                false => Ok(part),
            }
        };
        // An empty mode has a heading at least.
        let some: Vec<&[u32]> = match rows {
            [] => vec![&[]],
            rows => rows.chunks((PREDICTIONS / items).clamp(64, TOGETHER)).collect(),
        };
        let parts = some.into_iter().map(part);
        let written = match (&args.out, format) {
            (Some(path), Some(format)) => files::write_parts(path, format, parts).map_err(Into::into),
            _ => print::out(|out| files::write_csv_parts(out, parts)),
        };
        progress.finish();
        if interrupted.load(Ordering::Relaxed) && written.is_err() {
            print::note(match args.out {
                Some(_) => "interrupted: nothing was written",
                None => "interrupted: the table is not whole",
            });
            return Ok(ExitCode::from(interrupt::EXIT));
        }
        written?;
        if recommended == 0 {
            print::note(super::nothing(args));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The rows of the table for some entities.
    fn part(&self, rows: &[u32], top: usize) -> Table {
        let All { model, by, items, recommender, reasons } = *self;
        let best = recommender.best(rows, top);
        let why = reasons.explain(rows, &best);
        let pairs =
            || rows.iter().zip(&best).flat_map(|(&row, best)| best.iter().map(move |best| (row, best)));
        let mut labels = Labels::new();
        let codes = reasons.words_of(&why).iter().map(|words| labels.id(words)).collect();
        let value = format!("predicted_{}", model.value().unwrap_or("value"));
        let (whom, what) = (&model.modes()[by], &model.modes()[items]);
        let columns = [
            (whom.name().to_owned(), names(whom, pairs().map(|(row, _)| row))),
            ("rank".into(), Data::Integers(best.iter().flat_map(|best| 1..=best.len() as i64).collect())),
            (what.name().to_owned(), names(what, pairs().map(|(_, best)| best.row))),
            // With the digits that 32 bits have.
            (value, Data::Numbers(pairs().map(|(_, best)| digits(model.shown(best.value, None))).collect())),
            ("reason".into(), Data::Texts { codes, labels }),
        ];
        let columns = columns.into_iter().map(|(name, data)| Column { name, data }).collect();
        Table { name: "recommendations".into(), columns }
    }
}

fn digits(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// A column of a mode's entities: names, or numbers as in the data.
fn names(mode: &Mode, rows: impl Iterator<Item = u32>) -> Data {
    let ids = rows.map(|row| mode.id(row as usize));
    match mode.naming() {
        None => Data::Integers(ids.map(|id| i64::from(id) + 1).collect()),
        Some(naming) => {
            let mut labels = Labels::new();
            let codes = ids.map(|id| labels.id(naming.labels.get(id))).collect();
            Data::Texts { codes, labels }
        }
    }
}
