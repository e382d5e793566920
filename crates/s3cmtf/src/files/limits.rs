//! How much of a file is read: whoever made it may want more memory than there is, and a few bytes can be unpacked to that.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::table::Data;

/// The most columns of a table of text. Tables of attributes have hundreds; a matrix as a table has one for each item.
pub(super) const MOST_COLUMNS: usize = 1 << 16;
/// The most modes of a file of indices. A full core of rank 2 has too many numbers from 27 modes on.
pub(super) const MOST_MODES: usize = 256;
/// The most bytes of a line, and of a record in quotes: all of it has to be in memory.
pub(super) const LONGEST_LINE: usize = 1 << 26;

/// What raises the limit of memory, as errors say it; whoever shows them may put its own words there.
pub const RAISE_MEMORY: &str = "memory raises that limit";

/// What a table takes while a problem is made of it, as multiples of itself: 2 for ratings, 5 where all rows are of one cell. Entries are
/// numbered, sorted and merged beside it.
const WORK: u64 = 4;

/// 0 stands for what the machine has.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Refuses tables from now on that would take more than so many bytes of memory; for `None`, and without this, more than the machine has.
///
/// It holds for the process, as memory does.
pub fn limit_memory(bytes: Option<u64>) {
    LIMIT.store(bytes.map_or(0, |bytes| bytes.max(1)), Ordering::Relaxed);
}

/// A number of bytes such as `800MB` or `2GB`, as people write them.
///
/// # Errors
///
/// What would be right, for what is no such number.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.to_ascii_uppercase().as_str() {
        "KB" | "K" => 1e3,
        "MB" | "M" => 1e6,
        "GB" | "G" => 1e9,
        "TB" | "T" => 1e12,
        _ => f64::NAN,
    };
    let bytes = number.trim_end().parse::<f64>().unwrap_or(f64::NAN) * unit;
    if !(bytes > 0.0 && bytes < 1e18) {
        return Err("should be a size such as 800MB or 2GB".into());
    }
    Ok(bytes as u64)
}

fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        0 => {
            let found = of_machine().unwrap_or(u64::MAX);
            LIMIT.store(found, Ordering::Relaxed);
            found
        }
        limit => limit,
    }
}

/// The memory of the machine or of the group of processes that this is one of, whichever is less, where the system says it.
fn of_machine() -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let total = text("/proc/meminfo").and_then(|text| in_meminfo(&text));
    let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = groups.into_iter().filter_map(|path| text(path)?.trim().parse().ok()).min();
    total.into_iter().chain(group).min().filter(|&bytes| bytes > 0)
}

fn in_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// What a table has come to, so far.
pub(super) struct Held<'a> {
    path: &'a Path,
    limit: u64,
    bytes: AtomicU64,
}

impl<'a> Held<'a> {
    /// Nothing yet of the table in a file.
    pub(super) fn new(path: &'a Path) -> Self {
        Held { path, limit: limit(), bytes: AtomicU64::new(0) }
    }

    /// Adds so many bytes, which are about to be taken. They count as often as is needed to work on them.
    pub(super) fn add(&self, bytes: u64) -> Result<(), Error> {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.check(before.saturating_add(bytes))
    }

    /// Refuses a table that has come to so many bytes.
    pub(super) fn check(&self, bytes: u64) -> Result<(), Error> {
        if bytes.saturating_mul(WORK) <= self.limit {
            return Ok(());
        }
        Err(Error::file(
            self.path,
            format!("holds more than fits into {} of memory ({RAISE_MEMORY})", shown(self.limit)),
        ))
    }
}

/// The bytes of columns.
pub(super) fn bytes(columns: &[Data]) -> u64 {
    let bytes = |column: &Data| match column {
        Data::Integers(values) | Data::Times(values) => 8 * values.len(),
        Data::Numbers(values) => 8 * values.len(),
        Data::Texts { codes, labels } => 4 * codes.len() + labels.bytes(),
    };
    columns.iter().map(bytes).sum::<usize>() as u64
}

fn shown(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes < 1e9 { format!("{:.0} MB", (bytes / 1e6).ceil()) } else { format!("{:.1} GB", bytes / 1e9) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Labels;

    #[test]
    fn the_machine_says_how_much_it_has() {
        assert_eq!(in_meminfo("MemTotal:       24689764 kB\nMemFree: 1 kB\n"), Some(24_689_764 * 1024));
        assert_eq!(in_meminfo("nothing\n"), None);
        assert_eq!(in_meminfo("MemTotal: 99999999999999999999 kB"), None);
    }

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        assert_eq!(parse_size("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_size("1.5g"), Ok(1_500_000_000));
        assert_eq!(parse_size("800 MB"), Ok(800_000_000));
        for text in ["", "5", "GB", "-5GB", "5XB", "0MB", "1e30GB", "nanGB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_table_is_refused_once_it_is_too_large() {
        let held = Held { path: Path::new("a.csv"), limit: 4000, bytes: AtomicU64::new(0) };
        held.add(600).unwrap();
        held.add(400).unwrap();
        let error = held.add(1).unwrap_err().to_string();
        assert_eq!(error, "a.csv: holds more than fits into 1 MB of memory (memory raises that limit)");
        assert!(held.add(u64::MAX).is_err() && held.check(u64::MAX).is_err());
    }

    #[test]
    fn columns_count_with_their_texts() {
        let mut labels = Labels::new();
        labels.id("Heat");
        let texts = Data::Texts { codes: vec![0; 10], labels };
        assert!(bytes(&[Data::Numbers(vec![0.0; 10]), texts]) >= 80 + 40 + 4);
    }
}
