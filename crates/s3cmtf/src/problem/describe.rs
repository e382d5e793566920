//! What values and counts are like, in numbers that somebody can look at.

use std::collections::HashSet;

use serde::Serialize;

use super::{Problem, mix};

/// A range of numbers, both ends in it, and how many lie in it.
#[derive(Serialize)]
pub struct Bar {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// How many lie between them.
    pub count: usize,
}

/// Values that are at most so many get a bar each.
const EACH: usize = 12;
/// Otherwise there are so many bars of equal width.
const BARS: usize = 10;
/// More different values than this are looked at as if they were ids.
const IDS: usize = 1000;
/// How many entries are looked at to tell how many agree in all modes but one.
const SAMPLE: usize = 1 << 16;

/// The counts by powers of two: 1, 2 to 3, 4 to 7 and so on, from the first that is there to the last.
pub fn by_powers(counts: &[u32]) -> Vec<Bar> {
    let mut bars = [0usize; 33];
    counts.iter().for_each(|count| bars[32 - count.leading_zeros() as usize] += 1);
    let first = bars.iter().position(|&count| count > 0).unwrap_or(0);
    let last = bars.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let bar = |power: usize| match power {
        0 => Bar { from: 0.0, to: 0.0, count: bars[0] },
        _ => Bar { from: (1u64 << (power - 1)) as f64, to: ((1u64 << power) - 1) as f64, count: bars[power] },
    };
    (first..last).map(bar).collect()
}

/// A bar for each value if there are few different ones, otherwise ranges of equal width.
pub fn by_values(values: &[f32]) -> Vec<Bar> {
    let mut few: Vec<(f32, usize)> = Vec::new();
    for &value in values {
        if let Some((_, count)) = few.iter_mut().find(|(other, _)| *other == value) {
            *count += 1;
        } else if few.len() == EACH {
            return by_ranges(values);
        } else {
            few.push((value, 1));
        }
    }
    few.sort_by(|a, b| a.0.total_cmp(&b.0));
    few.into_iter().map(|(value, count)| Bar { from: value.into(), to: value.into(), count }).collect()
}

fn by_ranges(values: &[f32]) -> Vec<Bar> {
    let low: f64 = values.iter().copied().fold(f32::INFINITY, f32::min).into();
    let high: f64 = values.iter().copied().fold(f32::NEG_INFINITY, f32::max).into();
    let width = (high - low) / BARS as f64;
    let mut counts = [0; BARS];
    for &value in values {
        // The largest value belongs to the last range.
        let place = ((f64::from(value) - low) / width) as usize;
        counts[place.min(BARS - 1)] += 1;
    }
    let from = |place: usize| low + width * place as f64;
    (0..BARS).map(|place| Bar { from: from(place), to: from(place + 1), count: counts[place] }).collect()
}

/// Whether values look like ids: whole numbers, many of them, most of which occur once.
pub fn look_like_ids(values: &[f32]) -> bool {
    let largest = values.iter().copied().fold(0.0, f32::max);
    if largest <= IDS as f32 || !values.iter().all(|&value| value >= 0.0 && value.fract() == 0.0) {
        return false;
    }
    let different: HashSet<u32> = values.iter().map(|value| value.to_bits()).collect();
    different.len() > IDS && 2 * different.len() > values.len()
}

/// How many runs there are per entry, seen from a mode: entries that agree in all modes but one, the one that makes the
/// fewest of them.
pub fn runs(problem: &Problem, mode: usize) -> f64 {
    let entries = problem.entries();
    // All entries of some ids, so that those which agree are there together.
    let share = (entries.len() / SAMPLE).max(1) as u64;
    let ids = entries.indices(mode);
    let sample: Vec<usize> =
        (0..ids.len()).filter(|&entry| mix(u64::from(ids[entry]) + 1).is_multiple_of(share)).collect();
    let partners = (0..problem.order()).filter(|&other| other != mode).map(|partner| {
        let key = |&entry: &usize| {
            let others = (0..problem.order()).filter(|&other| other != partner);
            others.fold(0, |key, other| mix(key ^ u64::from(entries.indices(other)[entry])))
        };
        sample.iter().map(key).collect::<HashSet<u64>>().len()
    });
    partners.min().map_or(1.0, |fewest| fewest as f64 / sample.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Entries;

    #[test]
    fn counts_go_by_powers_of_two() {
        let bars = by_powers(&[1, 1, 2, 3, 9, 8, 15]);
        let found: Vec<(f64, f64, usize)> = bars.iter().map(|bar| (bar.from, bar.to, bar.count)).collect();
        assert_eq!(found, [(1.0, 1.0, 2), (2.0, 3.0, 2), (4.0, 7.0, 0), (8.0, 15.0, 3)]);
        assert_eq!(by_powers(&[0, u32::MAX]).last().unwrap().to, f64::from(u32::MAX));
        assert!(by_powers(&[]).is_empty());
    }

    #[test]
    fn few_values_have_a_bar_each_and_many_share_ranges() {
        let found = |values: &[f32]| -> Vec<(f64, f64, usize)> {
            by_values(values).iter().map(|bar| (bar.from, bar.to, bar.count)).collect()
        };
        assert_eq!(found(&[0.5, 5.0, 0.5]), [(0.5, 0.5, 2), (5.0, 5.0, 1)]);
        let many: Vec<f32> = (0..=100).map(|value| value as f32).collect();
        let counts: Vec<usize> = found(&many).iter().map(|bar| bar.2).collect();
        assert_eq!(counts, [10, 10, 10, 10, 10, 10, 10, 10, 10, 11]);
    }

    #[test]
    fn whole_numbers_that_occur_once_look_like_ids() {
        let numbers: Vec<f32> = (0..3000).map(|value| value as f32).collect();
        assert!(look_like_ids(&numbers));
        assert!(!look_like_ids(&numbers[..900]));
        assert!(!look_like_ids(&numbers.repeat(3)));
        assert!(!look_like_ids(&numbers.iter().map(|value| value + 0.5).collect::<Vec<_>>()));
    }

    #[test]
    fn runs_are_counted_for_the_best_partner() {
        // Each of ten users has rated the same five items in one month.
        let (mut users, mut items) = (Vec::new(), Vec::new());
        for user in 0..10 {
            for item in 0..5 {
                users.push(user);
                items.push(item);
            }
        }
        let entries = Entries::new(vec![users, items, vec![0; 50]], vec![1.0; 50]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        // A run per user, one per item, and for the month either.
        assert_eq!([0, 1, 2].map(|mode| (50.0 * runs(&problem, mode)).round()), [10.0, 5.0, 5.0]);
    }
}
