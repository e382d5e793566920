//! Sums without zeros against the same objective with every cell visited, and planted choices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use s3cmtf_kernels::Level;

use super::choices::Choices;
use super::engine::split;
use super::held_out::{HeldOut, is_better};
use super::new_users::{self, rows_of_new_users};
use super::setting::Setting;
use super::sweep::{Objective, State};
use crate::problem::Entries;

const RANK: usize = 5;

/// Numbers in [0, 1) that look random.
fn noise(place: usize) -> f64 {
    let mixed = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) as f64 / u64::MAX as f64
}

/// Some cells of a tensor of so many rows.
fn some(rows: &[usize], share: f64) -> Entries {
    let cells: usize = rows.iter().product();
    let mut lists = vec![Vec::new(); rows.len()];
    let mut values = Vec::new();
    for cell in (0..cells).filter(|&cell| noise(cell) < share) {
        let mut rest = cell;
        for (list, &size) in lists.iter_mut().zip(rows) {
            list.push((rest % size) as u32);
            rest /= size;
        }
        values.push(1.0 + (cell % 4) as f32);
    }
    Entries::from_rows("choices".into(), lists, values)
}

fn state(rows: &[usize]) -> State {
    let factor = |(mode, &size): (usize, &usize)| {
        let number =
            |place: usize| noise(7919 * (mode + 1) + place) as f32 - if mode < 2 { 0.5 } else { 0.0 };
        (0..size * RANK).map(number).collect()
    };
    State { factors: rows.iter().enumerate().map(factor).collect(), columns: Vec::new() }
}

/// The objective as docs/method.md eq. I1 has it: every item of every context is visited.
fn naive(entries: &Entries, rows: &[usize], confidence: f64, setting: Setting, state: &State) -> f64 {
    let place = |entry: usize| (0..rows.len()).map(|mode| entries.indices(mode)[entry]).collect::<Vec<u32>>();
    let (mut users, mut items) = (vec![0.0f64; rows[0]], vec![0.0f64; rows[1]]);
    let mut contexts: BTreeMap<Vec<u32>, BTreeMap<u32, f64>> = BTreeMap::new();
    for entry in 0..entries.len() {
        let mut cell = place(entry);
        let item = cell.remove(1);
        users[cell[0] as usize] += 1.0;
        items[item as usize] += 1.0;
        let counts = 1.0 + confidence * f64::from(entries.values()[entry]);
        contexts.entry(cell).or_default().insert(item, counts);
    }
    let scaled = |counts: &[f64], power: f64| -> Vec<f64> {
        let of = |count: &f64| count.max(1.0).powf(power);
        let mean = counts.iter().map(|count| count * of(count)).sum::<f64>() / counts.iter().sum::<f64>();
        counts.iter().map(|count| of(count) / mean).collect()
    };
    let (weights, ridges) = (scaled(&users, -0.5), scaled(&items, 0.5));
    let row = |mode: usize, row: u32| &state.factors[mode][row as usize * RANK..][..RANK];
    let mut sum = 0.0;
    for (context, chosen) in &contexts {
        let user = context[0] as usize;
        let zero = setting.absent * chosen.len() as f64 / users[user];
        for item in 0..rows[1] as u32 {
            let score: f64 = (0..RANK)
                .map(|k| {
                    let others = context[1..].iter().zip(2..).map(|(&id, mode)| f64::from(row(mode, id)[k]));
                    f64::from(row(0, context[0])[k]) * f64::from(row(1, item)[k]) * others.product::<f64>()
                })
                .sum();
            sum += weights[user]
                * match chosen.get(&item) {
                    Some(counts) => counts * (1.0 - score).powi(2),
                    None => zero * score.powi(2),
                };
        }
    }
    for (mode, factor) in state.factors.iter().enumerate() {
        for (id, row) in factor.chunks_exact(RANK).enumerate() {
            let (at, strength) = match mode {
                0 => (0.0, 1.0),
                1 => (0.0, ridges[id]),
                _ => (1.0, setting.context),
            };
            let squares: f64 = row.iter().map(|&value| (f64::from(value) - at).powi(2)).sum();
            sum += setting.lambda * strength * squares;
        }
    }
    sum
}

#[test]
fn rows_are_where_the_objective_over_all_cells_is_least() {
    let setting = Setting { lambda: 0.7, absent: 0.3, context: 0.5, couple: 0.0 };
    for rows in [vec![12, 9], vec![10, 8, 4], vec![6, 7, 3, 2]] {
        let entries = some(&rows, 0.3);
        let choices = Choices::new(&entries, &rows, 0, 1, 0.5);
        let objective =
            Objective { choices: &choices, matrices: &[], setting, rank: RANK, level: Level::best() };
        let mut state = state(&rows);
        for mode in 0..rows.len() {
            let before = naive(&entries, &rows, 0.5, setting, &state);
            state.factors[mode] = objective.solve_rows(&state, mode);
            let least = naive(&entries, &rows, 0.5, setting, &state);
            assert!(least < before, "{rows:?} {mode}: {before} {least}");
            // Steps to either side make it larger by the same: the derivative is zero.
            const STEP: f32 = 0.01;
            for place in 0..state.factors[mode].len() {
                let mut aside = |by: f32| {
                    state.factors[mode][place] += by;
                    let sum = naive(&entries, &rows, 0.5, setting, &state);
                    state.factors[mode][place] -= by;
                    sum
                };
                let (up, down) = (aside(STEP) - least, aside(-STEP) - least);
                assert!(up > 0.0 && down > 0.0, "{rows:?} {mode} {place}: {up} {down}");
                assert!((up - down).abs() < 0.01 * (up + down), "{rows:?} {mode} {place}: {up} {down}");
            }
        }
    }
}

#[test]
fn where_rows_of_circumstances_are_1_the_objective_is_that_of_users_by_items() {
    let rows = [10, 8, 4];
    let entries = some(&rows, 0.3);
    let setting = Setting { lambda: 0.7, absent: 0.3, context: f64::INFINITY, couple: 0.0 };
    let choices = Choices::new(&entries, &rows, 0, 1, 0.5);
    let pairs = entries.of_first_modes(2);
    assert!(pairs.len() < entries.len(), "some are chosen in several");
    let mut state = state(&rows);
    state.factors[2].fill(1.0);
    let choices = choices.under(setting);
    let objective = Objective { choices, matrices: &[], setting, rank: RANK, level: Level::best() };
    for mode in 0..2 {
        state.factors[mode] = objective.solve_rows(&state, mode);
        let mut plain = state.clone();
        plain.factors.truncate(2);
        let least = naive(&pairs, &rows[..2], 0.5, setting, &plain);
        for place in 0..plain.factors[mode].len() {
            for step in [0.01, -0.01] {
                let mut aside = plain.clone();
                aside.factors[mode][place] += step;
                let sum = naive(&pairs, &rows[..2], 0.5, setting, &aside);
                assert!(sum > least, "{mode} {place}: {sum} {least}");
            }
        }
    }
}

#[test]
fn rows_of_new_users_are_those_that_training_would_find() {
    for context in [f64::INFINITY, 0.1] {
        new_users_have_rows_as_in_training(context);
    }
}

fn new_users_have_rows_as_in_training(context: f64) {
    let rows = [9, 7, 3];
    let entries = some(&rows, 0.3);
    let setting = Setting { lambda: 0.7, absent: 0.3, context, couple: 0.0 };
    let choices = Choices::new(&entries, &rows, 0, 1, 0.5);
    let choices = choices.under(setting);
    let mut state = state(&rows);
    if context.is_infinite() {
        state.factors[2].fill(1.0);
    }
    let objective = Objective { choices, matrices: &[], setting, rank: RANK, level: Level::best() };
    let all = objective.solve_rows(&state, 0);
    // The last four alone, counted from 0.
    let places: Vec<usize> = (0..entries.len()).filter(|&place| entries.indices(0)[place] >= 5).collect();
    let list = |mode: usize| {
        let less = if mode == 0 { 5 } else { 0 };
        places.iter().map(|&place| entries.indices(mode)[place] - less).collect()
    };
    let values = places.iter().map(|&place| entries.values()[place]).collect();
    let later = Entries::from_rows("later".into(), (0..3).map(list).collect(), values);
    let weights = new_users::weights(choices, setting, 0.5);
    let found = rows_of_new_users(weights, &later, 4, state.factors[1..].to_vec(), RANK);
    assert_eq!(found, all[5 * RANK..]);
}

#[test]
fn sweeps_are_the_same_whatever_the_threads() {
    let rows = [700, 50, 3];
    let setting = Setting { lambda: 2.0, absent: 0.4, context: 0.5, couple: 0.0 };
    let entries = some(&rows, 0.05);
    let swept = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let choices = Choices::new(&entries, &rows, 0, 1, 0.0);
            let objective =
                Objective { choices: &choices, matrices: &[], setting, rank: RANK, level: Level::best() };
            let mut state = state(&rows);
            (0..3).for_each(|_| assert!(objective.sweep(&mut state, &AtomicBool::new(false)).unwrap()));
            (objective.squared_errors(&state).to_bits(), state)
        })
    };
    assert_eq!(swept(1), swept(3));
}

/// Users of three kinds choose among items of their kind, in two seasons; with season, each half of the items has its own.
fn planted(with_season: bool) -> (Entries, Entries, Vec<usize>) {
    let rows = vec![120, 60, 2];
    let (mut train, mut test) = ((vec![Vec::new(); 3], Vec::new()), (vec![Vec::new(); 3], Vec::new()));
    for user in 0..rows[0] {
        for item in 0..rows[1] {
            let cell = user * rows[1] + item;
            let fits = user % 3 == item % 3;
            let season = if with_season { item / 30 } else { usize::from(noise(cell + 7) < 0.5) };
            if noise(cell) > if fits { 0.95 } else { 0.02 } {
                continue;
            }
            let (lists, values) = if fits && noise(cell + 99_991) < 0.25 { &mut test } else { &mut train };
            lists.iter_mut().zip([user, item, season]).for_each(|(list, row)| list.push(row as u32));
            values.push(1.0);
        }
    }
    let made = |(lists, values)| Entries::from_rows("planted".into(), lists, values);
    (made(train), made(test), rows)
}

/// How far up in the ranking held-out choices come.
fn ranked(with_season: bool, setting: Setting) -> f64 {
    let (train, test, rows) = planted(with_season);
    let choices = Choices::new(&train, &rows, 0, 1, 0.0);
    let held = HeldOut::new(&test, &choices, Vec::new());
    let objective = Objective { choices: &choices, matrices: &[], setting, rank: RANK, level: Level::best() };
    let mut state = state(&rows);
    state.factors[2].fill(1.0);
    (0..20).for_each(|_| assert!(objective.sweep(&mut state, &AtomicBool::new(false)).unwrap()));
    let gains = held.gains(&choices, &state, RANK);
    gains.iter().sum::<f64>() / gains.len() as f64
}

#[test]
fn choices_that_were_held_out_come_first_and_contexts_help_where_choices_depend_on_them() {
    let lambda = 1.0;
    let plain = Setting { lambda, absent: 0.4, context: f64::INFINITY, couple: 0.0 };
    let with = Setting { context: 0.01, ..plain };
    let (without, random) = (ranked(false, plain), ranked(false, Setting { lambda: 1e6, ..plain }));
    assert!(without > 0.7 && random < 0.35, "{without} {random}");
    let (blind, seasonal) = (ranked(true, plain), ranked(true, with));
    assert!(seasonal > blind + 0.05, "{blind} {seasonal}");
}

#[test]
fn times_are_judged_at_their_average_as_lists_are() {
    let (train, test, rows) = planted(true);
    let choices = Choices::new(&train, &rows, 0, 1, 0.0);
    let state = state(&rows);
    let [known, averaged] =
        [vec![], vec![2]].map(|times| HeldOut::new(&test, &choices, times).gains(&choices, &state, RANK));
    // Users by items alone, with rows of items that have what the average season says.
    let pairs = [&train, &test].map(|entries| entries.of_first_modes(2));
    let mut plain = state.clone();
    let season = plain.factors.pop().unwrap();
    for item in plain.factors[1].chunks_exact_mut(RANK) {
        (0..RANK).for_each(|k| item[k] *= (season[k] + season[RANK + k]) / 2.0);
    }
    let choices = Choices::new(&pairs[0], &rows[..2], 0, 1, 0.0);
    let expected = HeldOut::new(&pairs[1], &choices, vec![]).gains(&choices, &plain, RANK);
    assert_eq!(averaged, expected);
    assert_ne!(known, expected);
}

#[test]
fn the_same_pairs_are_held_out_whatever_circumstances_there_are() {
    let entries = some(&[40, 30, 4], 0.3);
    let pairs = entries.of_first_modes(2);
    let of = |entries: &Entries| split(entries.clone(), pairs.clone(), 7).unwrap();
    let ([part, held], [plain_part, plain_held]) = (of(&entries), of(&pairs));
    assert_eq!((part.len() + held.len(), part.order()), (entries.len(), 3));
    for (with, plain) in [(part, plain_part), (held, plain_held)] {
        assert!(with.len() > plain.len(), "some are chosen in several");
        assert_eq!(with.of_first_modes(2).sorted().cells(), plain.sorted().cells());
    }
}

#[test]
fn what_is_better_is_better_than_chance() {
    let noisy = |by: f64| -> Vec<f64> { (0..100).map(|user| noise(user) + by).collect() };
    let other: Vec<f64> = (0..100).map(|user| noise(user + 1000)).collect();
    assert!(is_better(&noisy(0.001), &noisy(0.0)) && !is_better(&noisy(0.0), &noisy(0.001)));
    assert!(!is_better(&noisy(0.0), &noisy(0.0)));
    let mean = |gains: &[f64]| gains.iter().sum::<f64>() / 100.0;
    // The same on average, but for a hundredth.
    let by = mean(&other) - mean(&noisy(0.0)) + 0.01;
    assert!(!is_better(&noisy(by), &other));
}

#[test]
fn users_with_no_choice_to_be_judged_by_are_left_out() {
    let (train, test, rows) = planted(false);
    let choices = Choices::new(&train, &rows, 0, 1, 0.0);
    let held = HeldOut::new(&test, &choices, Vec::new());
    let users: BTreeSet<u32> = test.indices(0).iter().copied().collect();
    assert!(held.users() <= users.len() && held.users() > 100);
}
