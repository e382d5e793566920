//! A table of ratings in the form of MovieLens-20M: many users, fewer movies with gaps in their ids, half stars, seconds.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The rows of MovieLens-20M, its users, its movies, and the largest of their ids.
const ROWS: f64 = 20_000_263.0;
const USERS: f64 = 138_493.0;
const MOVIES: u64 = 27_278;
const LARGEST: u64 = 131_262;
/// From 1995 on, for twenty years.
const FIRST: u64 = 789_652_009;
const SECONDS: u64 = 20 * 31_556_952;

/// Numbers that look random and are the same on every machine (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Writes a table of so many rows: userId, movieId, rating and timestamp, by user, no movie twice.
pub(super) fn write(path: &Path, rows: usize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut numbers = Numbers(20);
    // As many users as there are of all, and more rows of each where there are more: at most 138 K.
    let users = (USERS * (2.0 * rows as f64 / ROWS).min(1.0)).max(1.0) as u64;
    out.write_all(b"userId,movieId,rating,timestamp\n")?;
    let (mut left, mut movies, mut seen) = (rows as u64, Vec::new(), HashSet::new());
    for user in 1..=users {
        let users_left = users - user + 1;
        let mean = left as f64 / users_left as f64;
        // Few users have many ratings: the mean of this is the mean.
        let count = (mean * 0.5 / numbers.share().max(1e-3).sqrt()).round() as u64;
        let most = (left - left.min(users_left - 1)).clamp(1, MOVIES / 2);
        let count = if users_left == 1 { left.min(MOVIES) } else { count.clamp(1, most) }.min(left);
        movies.clear();
        seen.clear();
        while movies.len() < count as usize {
            // Few movies have many ratings.
            let place = (MOVIES as f64 * numbers.share().powi(3)) as u64;
            if seen.insert(place) {
                movies.push(1 + place * LARGEST / MOVIES);
            }
        }
        movies.sort_unstable();
        let start = FIRST + numbers.below(SECONDS);
        for movie in &movies {
            let halves = 1 + (numbers.below(10) + numbers.below(10) + 2) / 2 % 10;
            let time = start + numbers.below(if halves.is_multiple_of(3) { 90_000_000 } else { 9_000 });
            writeln!(out, "{user},{movie},{}.{},{time}", halves / 2, halves % 2 * 5)?;
        }
        left -= count;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_rows_and_looks_like_ratings() {
        let path = std::env::temp_dir().join(format!("s3cmtf-ratings-{}.csv", std::process::id()));
        write(&path, 5000).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut cells = HashSet::new();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let [user, movie, rating, time] = fields[..] else { panic!("{line}") };
            assert!(cells.insert((user, movie)), "{line}");
            let rating: f64 = rating.parse().unwrap();
            assert!((0.5..=5.0).contains(&rating) && (2.0 * rating).fract() == 0.0, "{line}");
            assert!(time.parse::<u64>().unwrap() >= FIRST && movie.parse::<u64>().unwrap() <= LARGEST);
        }
        assert_eq!(cells.len(), 5000);
    }
}
