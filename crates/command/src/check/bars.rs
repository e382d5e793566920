//! How often something is there, as bars of text.

use std::io::{self, Write};

use serde::Serialize;

use crate::show;

/// A range of numbers, both ends in it, and how many lie in it.
#[derive(Serialize)]
pub(super) struct Bar {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) count: usize,
}

/// The characters of the longest bar.
const LONGEST: usize = 40;
/// Values that are at most so many get a bar each.
const EACH: usize = 12;
/// Otherwise there are so many bars of equal width.
const BARS: usize = 10;

/// The counts by powers of two: 1, 2 to 3, 4 to 7 and so on, from the first that is there to the last.
pub(super) fn by_powers(counts: &[u32]) -> Vec<Bar> {
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
pub(super) fn of_values(values: &[f32]) -> Vec<Bar> {
    let mut few: Vec<(f32, usize)> = Vec::new();
    for &value in values {
        if let Some((_, count)) = few.iter_mut().find(|(other, _)| *other == value) {
            *count += 1;
        } else if few.len() == EACH {
            return of_ranges(values);
        } else {
            few.push((value, 1));
        }
    }
    few.sort_by(|a, b| a.0.total_cmp(&b.0));
    few.into_iter().map(|(value, count)| Bar { from: value.into(), to: value.into(), count }).collect()
}

fn of_ranges(values: &[f32]) -> Vec<Bar> {
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

/// Writes a bar per line.
pub(super) fn write(out: &mut dyn Write, bars: &[Bar]) -> io::Result<()> {
    let number = |number: f64| {
        let text = format!("{number:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let label = |bar: &Bar| match bar.from == bar.to {
        true => number(bar.from),
        false => format!("{} to {}", number(bar.from), number(bar.to)),
    };
    let width = bars.iter().map(|bar| label(bar).len()).max().unwrap_or(0);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    for bar in bars {
        // Something is never shown as nothing: the least bar is an eighth of a character.
        let share = bar.count as f64 / most as f64;
        let least = if bar.count == 0 { 0.0 } else { 0.125 / LONGEST as f64 };
        let drawn = show::bar(share.max(least), LONGEST);
        writeln!(out, "      {:>width$}  {drawn} {}", label(bar), bar.count)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bars: &[Bar]) -> String {
        let mut out = Vec::new();
        write(&mut out, bars).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn counts_go_by_powers_of_two() {
        let bars = by_powers(&[1, 1, 2, 3, 9, 8, 15]);
        let found: Vec<(f64, f64, usize)> = bars.iter().map(|bar| (bar.from, bar.to, bar.count)).collect();
        assert_eq!(found, [(1.0, 1.0, 2), (2.0, 3.0, 2), (4.0, 7.0, 0), (8.0, 15.0, 3)]);
        assert!(lines(&bars).contains("8 to 15  ████████████████████████████████████████ 3\n"));
        assert!(lines(&by_powers(&[vec![1; 1000], vec![2]].concat())).contains("2 to 3  ▏ 1\n"));
        assert_eq!(by_powers(&[0, u32::MAX]).last().unwrap().to, f64::from(u32::MAX));
        assert!(by_powers(&[]).is_empty());
    }

    #[test]
    fn few_values_have_a_bar_each_and_many_share_ranges() {
        assert_eq!(
            lines(&of_values(&[0.5, 5.0, 0.5])),
            format!("      0.5  {} 2\n        5  {} 1\n", "█".repeat(40), "█".repeat(20))
        );
        let many: Vec<f32> = (0..=100).map(|value| value as f32).collect();
        let bars = of_values(&many);
        assert_eq!(
            bars.iter().map(|bar| bar.count).collect::<Vec<_>>(),
            [10, 10, 10, 10, 10, 10, 10, 10, 10, 11]
        );
    }
}
