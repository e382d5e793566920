//! What `evaluate` measures beside errors: recommendations, and errors by segment.

use std::path::Path;

use s3cmtf::discovery::{self, Measures, RankBy, Ranking, RankingParams, Segments};
use s3cmtf::{Algorithm, Entries, Error, Model, Problem, Record};

use crate::args::EvaluateArgs;
use crate::failure::usage;
use crate::print::{self, short};
use crate::progress::waiting;
use crate::show::{self, Cell};
use crate::{entity, saved};

/// Segments on the terminal: the last ones of a mode of many times.
const SHOWN: usize = 24;

/// What was measured.
pub(super) struct More {
    pub(super) ranking: Option<Ranking>,
    pub(super) segments: Option<Vec<Segments>>,
}

/// Measures what can be measured, unless errors alone were asked for.
pub(super) fn measure(
    args: &EvaluateArgs,
    folder: &Path,
    (model, record): (&Model, &Record),
    test: &Entries,
) -> anyhow::Result<More> {
    if args.plain {
        return Ok(More { ranking: None, segments: None });
    }
    let (by, items) = modes(args, model)?;
    let asked = args.k.is_some()
        || args.relevant.is_some()
        || args.caution.is_some()
        || args.rank_by.is_some()
        || args.items.is_some()
        || args.by.is_some()
        || args.baselines;
    let data = data(args, folder, (model, record), asked)?;
    if let Some(data) = &data {
        print::note_shared(test.name(), data.shared(test), test.len());
    }
    let usual = RankingParams::new(Some(by), Some(items));
    let is_choice = record.params.algorithm == Algorithm::Ials;
    let params = RankingParams {
        k: args.k.unwrap_or(usual.k),
        // Whatever was chosen is.
        relevant: args.relevant.or(is_choice.then_some(f64::MIN)),
        caution: args.caution.unwrap_or(usual.caution),
        score: args.by.map(Into::into),
        baselines: args.baselines,
        ..usual
    };
    let ranking = (asked || data.is_some()).then(|| {
        waiting("measuring recommendations", args.progress.quiet, || {
            discovery::ranking(model, data.as_ref(), test, params)
        })
    });
    let ranking = match ranking.transpose() {
        // Nobody has asked: a test of what training has seen is one of errors.
        Err(Error::Problem(why)) if !asked => {
            print::note(why);
            None
        }
        ranking => ranking?,
    };
    let segments = waiting("measuring segments", args.progress.quiet, || {
        let valued = if is_choice { &test.chosen() } else { test };
        discovery::segments(model, data.as_ref(), valued, &[by, items], args.clip.clips(model))
    })?;
    Ok(More { ranking, segments: Some(segments).filter(|segments| !segments.is_empty()) })
}

/// To whom is recommended, and what.
fn modes(args: &EvaluateArgs, model: &Model) -> anyhow::Result<(usize, usize)> {
    let find = |name: &Option<String>, flag: &str| {
        name.as_ref().map(|name| entity::mode(model, name, flag)).transpose()
    };
    let RankingParams { by, items, .. } =
        RankingParams::new(find(&args.rank_by, "--rank-by")?, find(&args.items, "--items")?);
    if by == items {
        return Err(usage("--rank-by and --items should be two modes"));
    }
    Ok((by, items))
}

/// The data of training; what is measured without them is said.
fn data(
    args: &EvaluateArgs,
    folder: &Path,
    (model, record): (&Model, &Record),
    asked: bool,
) -> anyhow::Result<Option<Problem>> {
    let folder_name = folder.display();
    let data =
        waiting("reading the training data", args.progress.quiet, || saved::data(folder, model, record));
    let data = match data {
        Err(error) if !asked => {
            print::note(format_args!("{error:#}: errors alone are measured"));
            None
        }
        data => {
            let data = data?;
            if data.is_none() {
                let what = match asked {
                    true => "so that what it has seen is recommended too",
                    false => "so that recommendations are not measured",
                };
                print::note(format_args!(
                    "{folder_name}: the training data are not saved with the model, {what}"
                ));
            }
            data
        }
    };
    Ok(data)
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
    let choice = if measured < of { format!(" of {of} (a random sample)") } else { String::new() };
    let seen = if ranking.without_seen { "seen ones left out" } else { "seen ones too" };
    let by = match ranking.score {
        RankBy::Choice => " by how likely they are chosen",
        RankBy::Both => " by how likely they are chosen and liked",
        _ => "",
    };
    let title = format!("Top {k} of {items} for each {rank_by}{by}, {measured} measured{choice}, {seen}:");
    let of = |measures: &Measures| {
        let Measures { recall, ndcg, map, hit_rate, coverage, .. } = *measures;
        [recall, ndcg, map, hit_rate, coverage]
    };
    let own = of(&ranking.measures);
    let all =
        [(">most popular", &ranking.popular), (">item-kNN", &ranking.item_knn), (">EASE", &ranking.ease)];
    let others: Vec<(&str, [f64; 5])> =
        all.iter().filter_map(|(name, measures)| measures.as_ref().map(|one| (*name, of(one)))).collect();
    let row = |(place, name): (usize, &str)| {
        let value = match name {
            "NDCG" => format!("{:.4} +- {:.4}", own[place], ranking.measures.ndcg_interval),
            _ => format!("{:.4}", own[place]),
        };
        let mut row = vec![Cell::from(format!("{name}@{k}")), value.into(), show::bar(own[place], 10)];
        row.extend(others.iter().map(|(_, other)| Cell::new(show::DIM, format!("{:.4}", other[place]))));
        row
    };
    let names = ["recall", "NDCG", "MAP", "hit rate", "coverage"];
    let mut rows: Vec<Vec<Cell>> = names.into_iter().enumerate().map(row).collect();
    if let Some(own) = ranking.measures.novelty {
        let mut row =
            vec![Cell::from(format!("novelty@{k}")), format!("{own:.2} bits").into(), Cell::from("")];
        let others = all.iter().filter_map(|(_, measures)| measures.as_ref()?.novelty);
        row.extend(others.map(|other| Cell::new(show::DIM, format!("{other:.2}"))));
        rows.push(row);
    }
    let mut headings = vec!["", ">model", ""];
    headings.extend(others.iter().map(|(name, _)| *name));
    [String::new(), Cell::new(show::HEADING, title).to_string()]
        .into_iter()
        .chain(show::table(&headings, &rows))
        .collect()
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
    [String::new(), Cell::new(show::HEADING, title).to_string()].into_iter().chain(table).collect()
}
