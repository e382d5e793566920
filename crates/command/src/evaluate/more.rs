//! What `evaluate` measures beside errors, if asked: recommendations, and errors by segment.

use std::path::Path;

use s3cmtf::discovery::{self, Ranking, RankingParams, Segments};
use s3cmtf::{Entries, Model};

use crate::args::EvaluateArgs;
use crate::failure::usage;
use crate::print::{self, short};
use crate::show::{self, Cell};
use crate::{entity, saved};

/// Of more than this many, a random choice is measured.
const MOST: usize = 10_000;
const SEED: u64 = 1;
/// Segments on the terminal: the last ones of a mode of many times.
const SHOWN: usize = 24;

/// What was measured.
pub(super) struct More {
    pub(super) ranking: Option<Ranking>,
    pub(super) segments: Option<Vec<Segments>>,
}

/// Measures what was asked for.
pub(super) fn measure(
    args: &EvaluateArgs,
    folder: &Path,
    model: &Model,
    test: &Entries,
) -> anyhow::Result<More> {
    let named = args.rank_by.is_some() || args.items.is_some();
    let ranked = args.ranking || args.k.is_some() || args.relevant.is_some() || (named && !args.segments);
    if !ranked && !args.segments {
        return Ok(More { ranking: None, segments: None });
    }
    let find = |name: &Option<String>, flag: &str| {
        name.as_ref().map(|name| entity::mode(model, name, flag)).transpose()
    };
    let (by, items) = match (find(&args.rank_by, "--rank-by")?, find(&args.items, "--items")?) {
        (Some(by), Some(items)) => (by, items),
        (Some(by), None) => (by, usize::from(by == 0)),
        (None, Some(items)) => (usize::from(items == 0), items),
        (None, None) => (0, 1),
    };
    if by == items {
        return Err(usage("--rank-by and --items should be two modes"));
    }
    let data = saved::data(folder, model)?;
    if data.is_none() {
        let what = if ranked { "what it has seen is recommended too" } else { "only times are told apart" };
        print::note(format_args!("{}: the data of training are not there, so that {what}", folder.display()));
    }
    let params =
        RankingParams { by, items, k: args.k.unwrap_or(10), relevant: args.relevant, most: MOST, seed: SEED };
    let ranking = ranked.then(|| discovery::ranking(model, data.as_ref(), test, params)).transpose()?;
    let segments = args
        .segments
        .then(|| discovery::segments(model, data.as_ref(), test, &[by, items], args.clip))
        .transpose()?;
    Ok(More { ranking, segments })
}

impl More {
    /// Prints it for a person.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        if let Some(ranking) = &self.ranking {
            lines.extend(ranked(ranking));
        }
        for by in self.segments.iter().flatten() {
            lines.extend(apart(by));
        }
        print::lines(&lines)
    }
}

fn ranked(ranking: &Ranking) -> Vec<String> {
    let Ranking { rank_by, items, k, measured, of, .. } = ranking;
    let choice = if measured < of { format!(" (of {of}, chosen by chance)") } else { String::new() };
    let seen = if ranking.without_seen { "seen ones left out" } else { "seen ones too" };
    let title = format!("The {k} best of {items} for each of {measured} of {rank_by}{choice}, {seen}:");
    let own = [ranking.recall, ranking.ndcg, ranking.coverage];
    let popular = ranking.popular.map(|popular| [popular.recall, popular.ndcg, popular.coverage]);
    let row = |(place, name): (usize, &str)| {
        let value = format!("{:.4}", own[place]);
        let mut row = vec![Cell::from(format!("{name}@{k}")), value.into(), show::bar(own[place], 10)];
        row.extend(popular.map(|popular| Cell::new(show::DIM, format!("{:.4}", popular[place]))));
        row
    };
    let rows: Vec<Vec<Cell>> = ["recall", "NDCG", "coverage"].into_iter().enumerate().map(row).collect();
    let mut headings = vec!["", ">model", ""];
    headings.extend(popular.map(|_| ">most popular"));
    [String::new(), title].into_iter().chain(show::table(&headings, &rows)).collect()
}

fn apart(by: &Segments) -> Vec<String> {
    let worst = by.segments.iter().map(|segment| segment.rmse).fold(f64::MIN_POSITIVE, f64::max);
    let skipped = by.segments.len().saturating_sub(SHOWN);
    let rows: Vec<Vec<Cell>> = by.segments[skipped..]
        .iter()
        .map(|segment| {
            vec![
                Cell::from(&segment.name),
                Cell::new(show::DIM, segment.entries.to_string()),
                short(segment.rmse).into(),
                short(segment.mae).into(),
                show::bar(segment.rmse / worst, 10),
            ]
        })
        .collect();
    let left = if skipped > 0 { format!(", the last {SHOWN}") } else { String::new() };
    let title = format!("By {} of {}{left}:", by.by, by.mode);
    let table = show::table(&["", ">entries", ">RMSE", ">MAE", ""], &rows);
    [String::new(), title].into_iter().chain(table).collect()
}
