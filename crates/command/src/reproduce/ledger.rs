//! `cells.jsonl`: a line per cell that was run, added when it is over. Whatever ends the program, at most the last line is a part of
//! one, and that is taken away when the run goes on.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::cell::{Cell, Outcome};

/// The outcomes so far, and the file that they are in.
pub(super) struct Ledger {
    file: File,
    outcomes: Vec<Outcome>,
}

impl Ledger {
    /// Opens the file, or makes it. Lines that cannot be read are not there: their cells are run again.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let told = || path.display().to_string();
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(told),
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let file = OpenOptions::new().create(true).append(true).open(path).with_context(told)?;
        if whole < text.len() {
            file.set_len(whole as u64).with_context(told)?;
        }
        let outcomes = text[..whole].lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Ledger { file, outcomes })
    }

    /// Whether the cell was run.
    pub(super) fn has(&self, cell: &Cell) -> bool {
        self.outcomes.iter().any(|outcome| outcome.cell == *cell)
    }

    /// Adds an outcome: one write, so that a line is whole or the last.
    pub(super) fn add(&mut self, outcome: Outcome) -> anyhow::Result<()> {
        let line = serde_json::to_string(&outcome)? + "\n";
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush()).context("cells.jsonl")?;
        self.outcomes.push(outcome);
        Ok(())
    }

    /// What came of the given cells, in their order; those that were not run are left out.
    pub(super) fn of(&self, cells: &[Cell]) -> Vec<Outcome> {
        let find = |cell: &Cell| self.outcomes.iter().rev().find(|outcome| outcome.cell == *cell).cloned();
        cells.iter().filter_map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::{Data, Experiment};
    use super::*;

    fn cell(size: u32) -> Cell {
        Cell {
            experiment: Experiment::Sizes,
            data: Data::Made { size, entries: 5 },
            method: "opt".into(),
            rank: Some(3),
            threads: 1,
            epochs: 3,
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_run_again_and_the_others_are_not() {
        let path = std::env::temp_dir().join(format!("s3cmtf-ledger-{}.jsonl", std::process::id()));
        let _ = fs::remove_file(&path);
        let mut ledger = Ledger::open(&path).unwrap();
        ledger.add(Outcome::new(cell(1))).unwrap();
        ledger.add(Outcome::new(cell(2))).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        assert!(ledger.has(&cell(1)) && !ledger.has(&cell(2)));
        ledger.add(Outcome::new(cell(2))).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let cells = [cell(3), cell(2), cell(1)];
        let found: Vec<Cell> = ledger.of(&cells).into_iter().map(|outcome| outcome.cell).collect();
        assert_eq!(found, [cell(2), cell(1)]);
        fs::remove_file(&path).unwrap();
    }
}
