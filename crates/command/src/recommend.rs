//! `s3cmtf recommend`: what to recommend to an entity and why, or to all entities of a mode.

mod all;

use std::process::ExitCode;

use s3cmtf::discovery::{self, Best, ConceptEffect, Other, RankBy, Reason, Reasons, Recommender, Scored};
use s3cmtf::internal::files;
use s3cmtf::{Mode, Model, Problem, Run};
use serde::Serialize;

use crate::args::RecommendArgs;
use crate::failure::usage;
use crate::print::{self, short};
use crate::show::{self, Cell};
use crate::{entity, out, saved};
use all::All;

/// Concepts on the terminal: so many of the strongest, and so many of the weakest.
const STRONGEST: usize = 6;
const WEAKEST: usize = 2;
/// Entities of a concept on the terminal.
const NAMED: usize = 3;
/// Times on the terminal: the latest of many.
const LATEST: usize = 12;

#[derive(Serialize)]
struct Recommended<'a> {
    r#for: Entity<'a>,
    mode: &'a str,
    at: &'a [Other],
    seen_left_out: usize,
    by: RankBy,
    recommendations: Vec<Recommendation<'a>>,
    profile: Vec<ConceptEffect>,
}

#[derive(Serialize)]
struct Entity<'a> {
    mode: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct Recommendation<'a> {
    rank: usize,
    name: String,
    predicted: f32,
    reason: Option<Because<'a>>,
}

#[derive(Serialize)]
struct Because<'a> {
    concept: &'a str,
    little: bool,
    adds: f64,
    overall: f64,
    about: String,
    #[serde(skip)]
    words: String,
}

/// Runs the verb.
pub(crate) fn run(args: &RecommendArgs) -> anyhow::Result<ExitCode> {
    let Run { model, record } = files::load(&args.model)?;
    let (by, id) = entity::find(&model, &args.to, "--for")?;
    let items = entity::mode(&model, &args.mode, "--mode")?;
    let at = args.at.iter().map(|at| entity::one(&model, at, "--at")).collect::<anyhow::Result<Vec<_>>>()?;
    check_others(&model, by, items, &at)?;
    let format = args.out.as_deref().map(out::format).transpose()?;
    if id.is_none() && args.json {
        return Err(usage(format!("--json is for one entity: --for {}=NAME", model.modes()[by].name())));
    }
    let data = saved::data(&args.model, &model, &record)?;
    let recommender = recommender(args, &model, data.as_ref(), (by, items), &at)?;
    let reasons = Reasons::new(&recommender, data.as_ref(), args.top.max(NAMED))?;
    match (id.and_then(|id| model.modes()[by].row(id)), format) {
        (Some(row), None) => one(args, &model, (by, items), row, &recommender, &reasons)?,
        (row, format) => {
            let all = All { model: &model, by, items, recommender: &recommender, reasons: &reasons };
            let rows = row.map_or_else(|| (0..model.modes()[by].rows() as u32).collect(), |row| vec![row]);
            return all.write(args, &rows, format);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What stands for other modes must be of other modes, and of each but one.
fn check_others(model: &Model, by: usize, items: usize, at: &[(usize, u32)]) -> anyhow::Result<()> {
    for (place, &(mode, _)) in at.iter().enumerate() {
        let name = model.modes()[mode].name();
        if mode == by || mode == items {
            let flag = if mode == by { "--for" } else { "--mode" };
            let left = model.modes().iter().enumerate().filter(|(other, _)| *other != by && *other != items);
            let left: Vec<&str> = left.map(|(_, mode)| mode.name()).collect();
            let rest = if left.is_empty() { "no mode is left over".into() } else { left.join(", ") };
            return Err(usage(format!(
                "--at {name}: that is the mode of {flag}; --at is for the others: {rest}"
            )));
        }
        if at[..place].iter().any(|(other, _)| *other == mode) {
            return Err(usage(format!("--at {name}: one of them stands for the mode, but there are two")));
        }
    }
    Ok(())
}

fn recommender<'a>(
    args: &RecommendArgs,
    model: &'a Model,
    data: Option<&Problem>,
    (by, items): (usize, usize),
    at: &[(usize, u32)],
) -> anyhow::Result<Recommender<'a>> {
    let mut recommender = Recommender::new(model, by, items, at)?
        .cautious(args.caution.unwrap_or(0.0))?
        .ranked_by(args.by.map(Into::into))?;
    let folder = args.model.display();
    if !args.include_seen {
        let Some(data) = data else {
            anyhow::bail!(
                "{folder}: the training data are not saved with the model, which say what was seen: --include-seen recommends \
                 that too, or fit again"
            );
        };
        recommender = recommender.without_seen(data)?;
    }
    for having in &args.having {
        let words =
            having.split_once('=').filter(|(matrix, column)| !matrix.is_empty() && !column.is_empty());
        let Some((matrix, column)) = words else {
            return Err(usage(format!(
                "--where should be MATRIX=COLUMN, such as category=Sushi, but is {having:?}"
            )));
        };
        let Some(data) = data else {
            anyhow::bail!(
                "{folder}: the training data are not saved with the model, which --where needs: fit again"
            );
        };
        recommender = recommender.having(data, matrix, column)?;
    }
    Ok(recommender)
}

/// Recommends to one entity, and says what counts for it.
fn one(
    args: &RecommendArgs,
    model: &Model,
    (by, items): (usize, usize),
    row: u32,
    recommender: &Recommender<'_>,
    reasons: &Reasons<'_>,
) -> anyhow::Result<()> {
    let (whom, what) = (&model.modes()[by], &model.modes()[items]);
    let best = recommender.best(&[row], args.top);
    let why = reasons.explain(&[row], &best);
    let because = |reason: &Reason| {
        let concept = &reasons.concepts()[reason.concept];
        Because {
            concept: &concept.name,
            little: reason.little,
            adds: reason.adds,
            about: reasons.about(reason),
            overall: reason.overall,
            words: reasons.words(reason),
        }
    };
    let recommendation = |(place, (best, reason)): (usize, (&Best, &Option<Reason>))| Recommendation {
        rank: place + 1,
        name: label(what, best.row),
        predicted: model.shown(best.value, None),
        reason: reason.as_ref().map(because),
    };
    let recommendations = best[0].iter().zip(&why[0]).enumerate().map(recommendation).collect();
    let recommended = Recommended {
        r#for: Entity { mode: whom.name(), name: &label(whom, row) },
        mode: what.name(),
        at: recommender.others(),
        seen_left_out: recommender.seen(row),
        by: recommender.rank_by(),
        recommendations,
        profile: reasons.profile(row),
    };
    if args.json {
        return print::json(&recommended);
    }
    print::lines(&described(&recommended, model, args))
}

/// Recommendations for a person.
fn described(recommended: &Recommended<'_>, model: &Model, args: &RecommendArgs) -> Vec<String> {
    let Recommended { r#for: whom, mode, at, recommendations, profile, .. } = recommended;
    let at: String = at
        .iter()
        .map(|other| match &other.name {
            Some(name) => format!(", {} {name}", other.mode),
            None => format!(", the average {}", other.mode),
        })
        .collect();
    let seen = match recommended.seen_left_out {
        _ if args.include_seen => "what was seen is there too".to_owned(),
        seen => format!("{seen} seen left out"),
    };
    let title = Cell::new(show::HEADING, format!("{mode} for {} {}", whom.mode, whom.name));
    let by = match recommended.by {
        RankBy::Choice => "; by how likely they are chosen",
        RankBy::Both => "; by how likely they are chosen and liked",
        _ => "",
    };
    let mut lines =
        vec![format!("{title}{}", Cell::new(show::DIM, format!("{at}; {seen}{by}"))), String::new()];
    let [low, high] = model.range().map(f64::from);
    let rows: Vec<Vec<Cell>> = recommendations
        .iter()
        .map(|one| {
            let value = f64::from(one.predicted);
            let reason = one.reason.as_ref().map_or("", |reason| &reason.words);
            // The lowest value is no bar, and what lies below it is no negative one.
            let share = ((value - low) / (high - low).max(f64::MIN_POSITIVE)).max(0.0);
            vec![
                Cell::new(show::DIM, one.rank.to_string()),
                Cell::from(&one.name),
                short(value).into(),
                show::bar(share, 10),
                Cell::new(show::DIM, reason),
            ]
        })
        .collect();
    let value = format!(">predicted {}", model.value().unwrap_or("value"));
    match rows[..] {
        [] => lines.push(nothing(args)),
        _ => lines.extend(show::table(&[">rank", mode, &value, "", "because of"], &rows)),
    }
    lines.push(String::new());
    let title = format!("Concepts of {mode} that matter to {}:", whom.name);
    lines.push(Cell::new(show::HEADING, title).to_string());
    let named: Vec<&str> =
        recommendations.iter().filter_map(|one| one.reason.as_ref()).map(|reason| reason.concept).collect();
    lines.extend(profiled(profile, &named));
    lines
}

/// Why there is nothing to recommend.
pub(crate) fn nothing(args: &RecommendArgs) -> String {
    let having: Vec<String> = args.having.iter().map(|having| format!("--where {having}")).collect();
    match (having.is_empty(), args.include_seen) {
        (true, _) => {
            "nothing is left: all of them were seen, and --include-seen recommends these too".to_owned()
        }
        (false, true) => format!("nothing has {}", having.join(" and ")),
        (false, false) => format!("nothing that was not seen has {}", having.join(" and ")),
    }
}

/// What the concepts are worth to somebody, and who is at their ends: of those that say something the strongest, the weakest
/// and all that were named.
fn profiled(profile: &[ConceptEffect], named: &[&str]) -> Vec<String> {
    let most = profile.first().map_or(0.0, |worth| worth.own_strength).max(f64::MIN_POSITIVE);
    let has_times = profile.iter().any(|worth| worth.concept.times.is_some());
    let row = |worth: &ConceptEffect| {
        let ConceptEffect { own_strength, adds, usual, concept, .. } = worth;
        let mut cells = vec![
            Cell::new(show::HEADING, &concept.name),
            short(*own_strength).into(),
            show::bar(own_strength / most, 10),
            Cell::new(if *adds < 0.0 { show::MINUS } else { show::BAR }, format!("{adds:+.3}")),
            Cell::new(show::DIM, format!("{usual:+.3}")),
        ];
        if has_times {
            let times: Vec<f64> = concept.times.iter().flatten().map(|time| time.score).collect();
            cells.push(show::spark(&times[times.len().saturating_sub(LATEST)..]));
        }
        let ends = [discovery::about(concept), discovery::opposite(concept)];
        cells.push(ends.into_iter().filter(|end| !end.is_empty()).collect::<Vec<_>>().join(" / ").into());
        cells
    };
    let telling: Vec<&ConceptEffect> = profile.iter().filter(|worth| worth.concept.telling).collect();
    let weak = telling.len().saturating_sub(WEAKEST);
    let is_shown = |(place, worth): &(usize, &ConceptEffect)| {
        *place < STRONGEST || *place >= weak || named.contains(&worth.concept.name.as_str())
    };
    let shown: Vec<&ConceptEffect> =
        telling.into_iter().enumerate().filter(is_shown).map(|(_, worth)| worth).collect();
    let mut headings = vec!["concept", ">strength", "", ">adds", ">usual"];
    headings.extend(has_times.then_some("=over time"));
    headings.push("about");
    let rows: Vec<Vec<Cell>> = shown.iter().map(|worth| row(worth)).collect();
    let mut table = show::table(&headings, &rows).into_iter();
    let mut lines: Vec<String> = table.next().into_iter().collect();
    for (line, worth) in table.zip(&shown) {
        lines.push(line);
        lines.extend(end("  much of it: ", &worth.concept.strongest));
        lines.extend(end("  little of it: ", &worth.concept.weakest));
    }
    lines
}

/// Who is at an end of a concept.
fn end(what: &str, scored: &[Scored]) -> Vec<String> {
    let names = scored.iter().take(NAMED).map(|one| vec![Cell::new(show::DIM, &one.name)]);
    let names: Vec<Vec<Cell>> = names.collect();
    if names.is_empty() { Vec::new() } else { show::list(&[Cell::new(show::DIM, what)], &names) }
}

fn label(mode: &Mode, row: u32) -> String {
    mode.label(mode.id(row as usize)).into_owned()
}
