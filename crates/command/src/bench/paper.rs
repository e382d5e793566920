//! From the paper's algorithm to the defaults of `--algorithm sgd`, one change at a time.

use anyhow::ensure;
use s3cmtf::internal::synthetic::{MatrixShape, Shape};
use s3cmtf::internal::{PartialParams, Preset};
use s3cmtf::{
    CoreUpdate, Entries, Method, Params, Problem, Scheme, Shuffle, SmallModes, Start, Training, ZerosUpdate,
};
use serde::Serialize;

use super::accuracy::own_problem;
use super::measure::{easy, fastest};
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, seconds, times};
use crate::args::OwnData;

/// One of so many parts of made-up entries is held out.
const FOLDS: usize = 5;
/// How many epochs are run where only their time counts.
const TIMED: usize = 5;
/// Fewer entries tell nothing.
const LEAST: usize = 2_000;

/// Data to learn from and to test on.
struct Set {
    name: String,
    problem: Problem,
    test: Entries,
    /// The RMSE of predicting the mean for all.
    mean_rmse: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    data: &'a str,
    /// What differs from the row before.
    change: &'a str,
    threads: usize,
    epochs: usize,
    /// Those of the fastest epoch.
    epoch_seconds: f64,
    /// How many times as fast as the paper's on as many threads.
    speed_up: f64,
    test_rmse: f64,
    /// How often the rate was halved since an epoch had diverged; the paper has no such help.
    halvings: u32,
}

/// What makes settings a little more like ours.
type Change = fn(&mut Params);

/// The settings, each with one thing more than before as ours is; the last are the defaults of sgd.
fn steps(epochs: usize, threads: usize) -> anyhow::Result<Vec<(&'static str, Params)>> {
    let paper = PartialParams::default().params(Preset::PaperMovielens, None)?;
    let ours = Params { ranks: paper.ranks.clone(), ..Params::sgd() };
    let changes: [(&'static str, Change); 10] = [
        ("core_update averaged", |params| params.core_update = CoreUpdate::Averaged),
        ("small_modes private", |params| params.small_modes = SmallModes::Private),
        ("zeros_update implicit", |params| params.zeros_update = ZerosUpdate::Implicit),
        ("shuffle once", |params| params.shuffle = Shuffle::Once),
        ("method fast", |params| params.method = Method::Fast),
        ("scheme blocks", |params| params.scheme = Scheme::Blocks),
        ("start mean", |params| params.start = Start::Mean),
        ("rate fitted to the data", |params| params.rate = None),
        ("lambda_reg 5", |params| params.lambda_reg = 5.0),
        ("no QR: the defaults of sgd", |params| params.orthogonal = false),
    ];
    let mut steps = vec![("the paper's algorithm", paper)];
    for (name, change) in changes {
        let mut params = steps[steps.len() - 1].1.clone();
        change(&mut params);
        steps.push((name, params));
    }
    ensure!(steps[steps.len() - 1].1 == ours, "the last change should lead to the defaults of sgd");
    Ok(steps.into_iter().map(|(name, params)| (name, Params { epochs, threads, ..params })).collect())
}

/// Entries in the form of MovieLens-10M: users and movies in proportion, but as many months and genres, so that the small
/// mode stays what it is.
fn made_up(entries: usize) -> anyhow::Result<Set> {
    let entries = entries.max(LEAST);
    let whole = Shape::named("movielens-10m").unwrap_or_default();
    let share = entries as f64 / whole.entries as f64;
    let scaled = |number: f64| ((share * number).round() as u32).max(20);
    let matrix = |matrix: &MatrixShape| MatrixShape {
        entries: scaled(matrix.entries as f64) as usize,
        ..matrix.clone()
    };
    let shape = Shape {
        sizes: vec![scaled(whole.sizes[0].into()), scaled(whole.sizes[1].into()), whole.sizes[2]],
        entries,
        matrices: whole.matrices.iter().map(matrix).collect(),
        ..whole
    };
    let folds = easy(&shape).problem()?;
    let Some((problem, test)) = folds.folds(FOLDS, 1)?.next() else { unreachable!("there are folds") };
    Ok(Set::new("made up".into(), problem, test))
}

/// Measures made-up data, and the user's own if there are any.
pub(super) fn run(
    own: &OwnData,
    threads: &[usize],
    entries: usize,
    (epochs, repeats): (usize, usize),
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    report.progress(format_args!("paper: making {} entries", count(entries as f64)));
    let mut sets = vec![made_up(entries)?];
    if let Some((problem, test)) = own_problem(own)? {
        sets.push(Set::new(own.name.clone(), problem, test));
    }
    let heads = threads
        .iter()
        .map(|threads| if *threads == 1 { "1 thread".into() } else { format!("{threads} threads") });
    let heads: Vec<String> = ["data".into(), "change".into()]
        .into_iter()
        .chain(heads.flat_map(|head| {
            [format!("epoch, {head}"), format!("speed-up, {head}"), format!("RMSE, {head}")]
        }))
        .collect();
    let mut table = Table::new(&heads);
    let mut bars = Vec::new();
    for set in &sets {
        let mut rows: Vec<Vec<Row<'_>>> = Vec::new();
        for &threads in threads {
            rows.push(measure(set, (epochs, repeats), threads, report)?);
        }
        let nothing = || threads.iter().flat_map(|_| ["".into(), "".into(), format!("{:.4}", set.mean_rmse)]);
        table.texts([set.name.clone(), "the mean for all".into()].into_iter().chain(nothing()).collect());
        for place in 0..rows[0].len() {
            let mut texts = vec![set.name.clone(), rows[0][place].change.to_owned()];
            for rows in &rows {
                let row = &rows[place];
                report.row(row)?;
                let halved = if row.halvings > 0 {
                    format!(", rate halved {} times", row.halvings)
                } else {
                    String::new()
                };
                let rmse = format!("{:.4}{halved}", row.test_rmse);
                texts.extend([seconds(row.epoch_seconds), times(row.speed_up), rmse.clone()]);
                if row.threads == threads[0] {
                    let name = format!("{}: {}", row.data, row.change);
                    let text = format!("{}, RMSE {rmse}", seconds(row.epoch_seconds));
                    bars.push(Bar { name, value: row.epoch_seconds, text });
                }
            }
            table.texts(texts);
        }
    }
    let title = format!("From the paper's algorithm to our gradient descent: {epochs} epochs, rank 12");
    report.finish(
        "paper",
        &title,
        &table,
        &Plot::Bars { axis: "time of an epoch", axis_text: seconds, log: true, bars },
    )
}

fn measure<'a>(
    set: &'a Set,
    (epochs, repeats): (usize, usize),
    threads: usize,
    report: &Report<'_>,
) -> anyhow::Result<Vec<Row<'a>>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for turn in 1..=repeats {
        // The RMSE needs all epochs, once; what is slow for a while should be so for all of them.
        let epochs = if turn == 1 { epochs } else { epochs.min(TIMED) };
        for (place, (change, params)) in steps(epochs, threads)?.into_iter().enumerate() {
            report.progress(format_args!(
                "paper: {}, {change}, threads: {threads}, {turn} of {repeats}",
                set.name
            ));
            let record = Training::new(set.problem.clone(), params).test(set.test.clone()).run()?.record;
            let mut last = 0.0;
            let since_last = |seconds: f64| seconds - std::mem::replace(&mut last, seconds);
            let each: Vec<f64> = record.history.iter().map(|epoch| epoch.seconds).map(since_last).collect();
            let epoch_seconds = fastest(&each);
            match rows.get_mut(place) {
                Some(row) => row.epoch_seconds = row.epoch_seconds.min(epoch_seconds),
                None => rows.push(Row {
                    data: &set.name,
                    change,
                    threads,
                    epochs,
                    epoch_seconds,
                    speed_up: 1.0,
                    test_rmse: record.summary.test_rmse.unwrap_or(f64::NAN),
                    halvings: record.halvings,
                }),
            }
        }
    }
    let paper = rows[0].epoch_seconds;
    rows.iter_mut().for_each(|row| row.speed_up = paper / row.epoch_seconds);
    if let [first, .., last] = &rows[..] {
        // Whether the paper's does so after a few epochs depends on the data.
        let paper_is_finite = first.test_rmse.is_finite();
        ensure!(
            paper_is_finite && last.test_rmse < set.mean_rmse,
            "{}: our gradient descent reaches a test RMSE of {} where the mean for all has {}",
            set.name,
            last.test_rmse,
            set.mean_rmse
        );
    }
    Ok(rows)
}

impl Set {
    fn new(name: String, problem: Problem, test: Entries) -> Self {
        let mean = problem.entries().mean();
        let squares = test.values().iter().map(|&value| (f64::from(value) - mean).powi(2));
        let mean_rmse = (squares.sum::<f64>() / test.len() as f64).sqrt();
        Set { name, problem, test, mean_rmse }
    }
}
