//! How many users can be recommended something in a second.

use std::time::Instant;

use anyhow::{Context, ensure};
use s3cmtf::discovery::{Reasons, Recommender};
use s3cmtf::{Cells, Core, Entries, Factor, Mode, Model, Problem};
use serde::Serialize;

use super::memory::Memory;
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{bytes, count, seconds, times};

const RANK: usize = 10;
const MONTHS: usize = 24;
const TOP: usize = 10;
/// What each user has seen.
const SEEN: usize = 20;
/// Users whose best are looked for by predicting every cell.
const COMPARED: usize = 8;
/// Users of a block, as in the verb.
const TOGETHER: usize = 1 << 14;

#[derive(Serialize)]
struct Row {
    users: usize,
    items: usize,
    rank: usize,
    top: usize,
    threads: usize,
    seconds: f64,
    users_per_second: f64,
    predictions_per_second: f64,
    /// The seconds for a user by predicting every cell, over those here.
    ratio: f64,
    /// How far predictions of the two lie apart at most.
    difference: f32,
    peak_bytes: Option<u64>,
}

/// Numbers that look like chance, the same on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From -1 to 1.
    fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// A model of chance, and what users have seen.
fn made_up(users: usize, items: usize) -> anyhow::Result<(Model, Problem)> {
    let mut chance = Chance(1);
    let modes: Vec<Mode> = [("user", users), ("item", items), ("month", MONTHS)]
        .into_iter()
        .map(|(name, size)| Mode::new(name, size as u32))
        .collect();
    let mut numbers = |count: usize| (0..count).map(|_| chance.number()).collect::<Vec<f32>>();
    let factors = [users, items, MONTHS].map(|rows| Factor::new(RANK, numbers(rows * RANK))).to_vec();
    let core = Core::full(vec![RANK; 3], numbers(RANK * RANK * RANK));
    let sizes: Vec<u32> = modes.iter().map(Mode::size).collect();
    let names: Vec<String> = modes.iter().map(|mode| mode.name().to_owned()).collect();
    let model = Model::new(modes, core, factors, Vec::new(), [1.0, 5.0])?;
    let by = (0..users as u32).flat_map(|user| [user; SEEN]).collect::<Vec<u32>>();
    let mut below = |size: usize| (0..by.len()).map(|_| (chance.next() % size as u64) as u32).collect();
    let lists = [below(items), below(MONTHS)];
    let [seen, months] = lists;
    let values = vec![1.0; by.len()];
    let entries = Entries::new(vec![by, seen, months], values)?;
    let problem = Problem::builder(entries).names(names).sizes(sizes).build()?;
    Ok((model, problem))
}

/// The best unseen items of a user by predicting every cell.
fn brute(model: &Model, recommender: &Recommender<'_>, user: u32) -> anyhow::Result<Vec<f32>> {
    let items = model.modes()[1].size();
    // Over all months the average row stands in, which ids beyond the mode's size ask for.
    let months = recommender.others()[0].name.as_ref().and_then(|name| model.modes()[2].find(name));
    let month = months.unwrap_or(MONTHS as u32);
    let cells =
        Cells::new(vec![vec![user; items as usize], (0..items).collect(), vec![month; items as usize]])?;
    let mut found: Vec<(f32, u32)> = model.predict(&cells, false)?.into_iter().zip(0..).collect();
    found.retain(|(_, item)| !recommender.has_seen(user, *item));
    found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(found.into_iter().take(TOP).map(|(value, _)| value).collect())
}

/// Measures it.
pub(super) fn run(users: usize, items: usize, report: &mut Report<'_>) -> anyhow::Result<()> {
    let (title_users, title_items) = (count(users as f64), count(items as f64));
    report.progress(format_args!("recommend: making {title_users} users and {title_items} items"));
    let (model, problem) = made_up(users, items)?;
    let memory = Memory::watch();
    report.progress(format_args!("recommend: {TOP} of {title_items} items for each user"));
    let start = Instant::now();
    let recommender = Recommender::new(&model, 0, 1, &[])?.without_seen(&problem)?;
    let reasons = Reasons::new(&recommender, Some(&problem), TOP)?;
    let all: Vec<u32> = (0..users as u32).collect();
    let mut first = Vec::new();
    for block in all.chunks(TOGETHER) {
        let best = recommender.best(block, TOP);
        let why = reasons.explain(block, &best);
        ensure!(why.len() == block.len(), "a user has no list");
        if first.is_empty() {
            first = best.into_iter().take(COMPARED).collect();
        }
    }
    let (time, peak_bytes) = (start.elapsed().as_secs_f64(), memory.peak());

    report.progress(format_args!("recommend: the same by predicting every cell, for {} users", first.len()));
    let start = Instant::now();
    let mut difference = 0f32;
    for (&user, best) in all.iter().zip(&first) {
        let expected = brute(&model, &recommender, user)?;
        ensure!(best.len() == expected.len(), "user {user}: {} of {} found", best.len(), expected.len());
        for (best, expected) in best.iter().zip(expected) {
            difference = difference.max((best.value - expected).abs());
        }
    }
    let brute = start.elapsed().as_secs_f64() / first.len().max(1) as f64;
    ensure!(difference < 1e-3, "predictions lie {difference} apart");
    let each = time / users as f64;
    let threads = std::thread::available_parallelism().context("cores")?.get();
    let row = Row {
        users,
        items,
        rank: RANK,
        top: TOP,
        threads,
        seconds: time,
        users_per_second: 1.0 / each,
        predictions_per_second: items as f64 / each,
        ratio: brute / each,
        difference,
        peak_bytes,
    };
    report.row(&row)?;
    let mut table = Table::new(&["users", "items", "time", "users/s", "by every cell", "peak memory"]);
    table.row([
        title_users.clone(),
        title_items.clone(),
        seconds(time),
        count(row.users_per_second),
        times(row.ratio),
        bytes(peak_bytes.map(|peak| peak as f64)),
    ]);
    let bars = [("here", each), ("every cell", brute)].map(|(name, value)| Bar {
        name: name.into(),
        value,
        text: seconds(value),
    });
    let title = format!("Recommending {TOP} of {title_items} items to {title_users} users, time of a user");
    report.finish(
        "recommend",
        &title,
        &table,
        &Plot::Bars { axis: "time", axis_text: seconds, log: true, bars: bars.into() },
    )
}
