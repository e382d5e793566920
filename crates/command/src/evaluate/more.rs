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
    /// One for each length of lists; none where recommendations are not measured.
    pub(super) rankings: Vec<Ranking>,
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
        return Ok(More { rankings: Vec::new(), segments: None });
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
        // Whatever was chosen is.
        relevant: args.relevant.or(is_choice.then_some(f64::MIN)),
        caution: args.caution.unwrap_or(usual.caution),
        score: args.by.map(Into::into),
        baselines: args.baselines,
        ..usual
    };
    let lengths = args.k.clone().unwrap_or_else(|| vec![params.k]);
    let rankings = (asked || data.is_some()).then(|| {
        waiting("measuring recommendations", args.progress.quiet, || {
            discovery::rankings(model, data.as_ref(), test, params, &lengths)
        })
    });
    let rankings = match rankings.transpose() {
        // Nobody has asked: a test of what training has seen is one of errors.
        Err(Error::Problem(why)) if !asked => {
            print::note(why);
            None
        }
        rankings => rankings?,
    };
    let segments = waiting("measuring segments", args.progress.quiet, || {
        let valued = if is_choice { &test.chosen() } else { test };
        discovery::segments(model, data.as_ref(), valued, &[by, items], args.clip.clips(model))
    })?;
    Ok(More {
        rankings: rankings.unwrap_or_default(),
        segments: Some(segments).filter(|segments| !segments.is_empty()),
    })
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
        match &self.rankings[..] {
            [] => {}
            [ranking] => lines.extend(ranked(ranking)),
            [first, ..] => lines.extend(ranked_at_each(first, &self.rankings)),
        }
        for by in self.segments.iter().flatten() {
            lines.extend(apart(by));
        }
        print::lines(&lines)
    }
}

/// What was measured, with lists of these lengths.
fn title(ranking: &Ranking, lengths: &str) -> String {
    let Ranking { rank_by, items, measured, of, .. } = ranking;
    let choice = if measured < of { format!(" of {of} (a random sample)") } else { String::new() };
    let seen = if ranking.without_seen { "seen ones left out" } else { "seen ones too" };
    let by = match ranking.score {
        RankBy::Choice => " by how likely they are chosen",
        RankBy::Both => " by how likely they are chosen and liked",
        _ => "",
    };
    let title =
        format!("Top {lengths} of {items} for each {rank_by}{by}, {measured} measured{choice}, {seen}:");
    Cell::new(show::HEADING, title).to_string()
}

/// One length of lists: a row for each measure.
fn ranked(ranking: &Ranking) -> Vec<String> {
    let k = ranking.k;
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
    [String::new(), title(ranking, &k.to_string())].into_iter().chain(show::table(&headings, &rows)).collect()
}

/// Several lengths of lists: a row for each, of the model and of each baseline.
fn ranked_at_each(first: &Ranking, rankings: &[Ranking]) -> Vec<String> {
    let lengths: Vec<String> = rankings.iter().map(|ranking| ranking.k.to_string()).collect();
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (ranking, k) in rankings.iter().zip(&lengths) {
        let others =
            [("most popular", &ranking.popular), ("item-kNN", &ranking.item_knn), ("EASE", &ranking.ease)];
        let others = others.iter().filter_map(|(name, other)| Some((*name, other.as_ref()?)));
        let all = std::iter::once(("model", &ranking.measures)).chain(others);
        for (name, measures) in all {
            let is_own = name == "model";
            let Measures { recall, ndcg, ndcg_interval, map, hit_rate, coverage, .. } = *measures;
            let ndcg = match is_own {
                true => format!("{ndcg:.4} +- {ndcg_interval:.4}"),
                false => format!("{ndcg:.4}"),
            };
            let novelty = measures.novelty.map_or_else(String::new, |bits| format!("{bits:.2}"));
            let mut texts = vec![if is_own { k.clone() } else { String::new() }, name.into()];
            texts.extend([format!("{recall:.4}"), ndcg]);
            texts.extend([map, hit_rate, coverage].map(|value| format!("{value:.4}")));
            texts.push(novelty);
            let cell = |text: String| if is_own { Cell::from(text) } else { Cell::new(show::DIM, text) };
            rows.push(texts.into_iter().map(cell).collect());
        }
    }
    let headings = [">k", "", ">recall@k", ">NDCG@k", ">MAP@k", ">hit rate@k", ">coverage@k", ">novelty@k"];
    [String::new(), title(first, &lengths.join(", "))]
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
