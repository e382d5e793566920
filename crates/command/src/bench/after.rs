//! What is done with a model, against training it anew: new users, more data, clusters.

use std::time::Instant;

use anyhow::ensure;
use s3cmtf::discovery::{ClusterParams, K, clusters};
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{Component, Device, Entries, FoldIn, Model, Params, Problem, Training};
use serde::Serialize;

use super::Scale;
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, digits, seconds};

/// Every so many-th user is new, and every so many-th entry is held out.
const NEW: u32 = 5;
const HELD_OUT: usize = 20;
const RANK: usize = 10;
const MONTHS: u32 = 36;
/// With a smaller share there is nothing to find.
const LEAST: f64 = 0.04;
/// The most clusters that are tried, and the mode whose entities they are.
const MOST: usize = 20;
const MODE: usize = 1;

#[derive(Serialize)]
struct Row {
    what: &'static str,
    threads: usize,
    /// How many entries were taken in, or entities clustered.
    entries: usize,
    seconds: f64,
    /// Over the seconds of training on all entries.
    of_training: f64,
    /// On held-out entries of users that the model was trained on, and of those that are new.
    rmse_known: Option<f64>,
    rmse_new: Option<f64>,
}

/// Measures training without some users and with them, and what can be done instead of the latter.
pub(super) fn run(threads: usize, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
    let shape = Shape {
        sizes: vec![6000, 4000, MONTHS],
        entries: 900_000,
        skew: 0.8,
        ..Shape::named("synthetic").unwrap_or_default()
    };
    let mut shape = Scale(scale.0.max(LEAST)).shape(&shape);
    shape.sizes[2] = MONTHS;
    report.progress(format_args!("after: making {} entries", count(shape.entries as f64)));
    let all = shape.tensor().collect()?;
    let is_new = |user: u32| user.is_multiple_of(NEW);
    let is_held_out = |place: usize| place.is_multiple_of(HELD_OUT);
    let known = select(&all, |place, user| !is_held_out(place) && !is_new(user))?;
    let new = select(&all, |place, user| !is_held_out(place) && is_new(user))?;
    let both = select(&all, |place, _| !is_held_out(place))?;
    let test_known = select(&all, |place, user| is_held_out(place) && !is_new(user))?;
    let test_new = select(&all, |place, user| is_held_out(place) && is_new(user))?;
    // Recommendations have a model of their own, which would be trained with it; new rows are found on the CPU.
    let params = Params {
        ranks: vec![RANK],
        threads,
        without: vec![Component::Choice],
        device: Device::Cpu,
        ..Params::default()
    };
    let n_threads = params.n_threads();
    let fit = |entries: Entries| -> anyhow::Result<Model> {
        let problem = Problem::builder(entries).sizes(shape.sizes.clone()).build()?;
        Ok(Training::new(problem, params.clone()).run()?.model)
    };
    let rmse =
        |model: &Model, cells: &Entries| -> anyhow::Result<f64> { Ok(model.evaluate(cells, false)?.rmse) };
    let few = new.len();

    report.progress(format_args!("after: training without new users"));
    let before = fit(known)?;
    report.progress(format_args!("after: training with all"));
    let (anew, training) = timed(|| fit(both.clone()))?;
    report.progress(format_args!("after: fold-in, update, clusters"));
    let (folded, fold_in) =
        timed(|| Ok(FoldIn::new(&before, &params).entries(new.clone()).fold_in()?.model))?;
    let (updated, update) = timed(|| Ok(FoldIn::new(&before, &params).entries(new).update()?.model))?;
    let looked_for = ClusterParams { k: K::Auto(MOST), ..ClusterParams::default() };
    let (_, clustering) = timed(|| Ok(clusters(&anew, None, MODE, looked_for)?))?;

    let old = rmse(&before, &test_known)?;
    let mut rows = Vec::new();
    for (what, model, entries, taken) in [
        ("training anew", Some(&anew), both.len(), training),
        ("fold-in", Some(&folded), few, fold_in),
        ("update", Some(&updated), few, update),
        ("clusters, k auto", None, anew.modes()[MODE].rows(), clustering),
    ] {
        let of = |cells: &Entries| model.map(|model| rmse(model, cells)).transpose();
        let (rmse_known, rmse_new) = (of(&test_known)?, of(&test_new)?);
        let of_training = taken / training;
        rows.push(Row {
            what,
            threads: n_threads,
            entries,
            seconds: taken,
            of_training,
            rmse_known,
            rmse_new,
        });
    }
    for row in &rows[1..3] {
        let (known, new) = (row.rmse_known.unwrap_or(f64::NAN), row.rmse_new.unwrap_or(f64::NAN));
        let anew = rows[0].rmse_new.unwrap_or(f64::NAN);
        ensure!(
            known < 1.02 * old,
            "{}: an RMSE of {known} for users that were known, {old} before",
            row.what
        );
        ensure!(new < 1.05 * anew, "{}: an RMSE of {new} for new users, {anew} when trained anew", row.what);
    }
    let mut table = Table::new(&[
        "what",
        "entries or entities",
        "time",
        "of training",
        "RMSE, known users",
        "RMSE, new users",
    ]);
    let mut bars = Vec::new();
    let text = |rmse: Option<f64>| rmse.map_or("".to_owned(), |rmse| format!("{rmse:.4}"));
    for row in &rows {
        report.row(row)?;
        table.row([
            row.what.into(),
            count(row.entries as f64),
            seconds(row.seconds),
            format!("{} %", digits(100.0 * row.of_training)),
            text(row.rmse_known),
            text(row.rmse_new),
        ]);
        bars.push(Bar { name: row.what.into(), value: row.seconds, text: seconds(row.seconds) });
    }
    let title = format!("With a model: {} entries, rank {RANK}", count(shape.entries as f64));
    report.finish("after", &title, &table, &Plot::Bars { axis: "time", axis_text: seconds, log: true, bars })
}

fn timed<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let start = Instant::now();
    let found = run()?;
    Ok((found, start.elapsed().as_secs_f64()))
}

/// The entries of which `keep` is true, given their place and their user.
fn select(entries: &Entries, keep: impl Fn(usize, u32) -> bool) -> anyhow::Result<Entries> {
    let users = entries.indices(0).iter().enumerate();
    let places: Vec<usize> =
        users.filter(|&(place, &user)| keep(place, user)).map(|(place, _)| place).collect();
    let list = |mode: usize| places.iter().map(|&place| entries.indices(mode)[place]).collect();
    let values = places.iter().map(|&place| entries.values()[place]).collect();
    Ok(Entries::new((0..entries.order()).map(list).collect(), values)?)
}
