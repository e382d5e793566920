//! What a measurement leaves: lines of JSON on stdout, and on request files for people and programs.

use std::path::Path;

use s3cmtf::internal::files::write_atomically;
use serde::Serialize;

use super::machine::Machine;
use super::plot::Plot;
use super::table::Table;
use crate::args::BenchArgs;
use crate::print;

/// Takes what is measured.
pub(super) struct Report<'a> {
    out: Option<&'a Path>,
    quiet: bool,
    machine: Machine,
    /// Whether the machine was named.
    named: bool,
    /// The rows since the last [`Report::finish`].
    rows: Vec<String>,
}

impl<'a> Report<'a> {
    /// A report on this machine.
    pub(super) fn new(args: &'a BenchArgs) -> anyhow::Result<Self> {
        if let Some(folder) = &args.out {
            // Hours of measuring should not end in a folder that cannot be made.
            s3cmtf::internal::files::make_folder(folder)?;
        }
        let (out, quiet) = (args.out.as_deref(), args.quiet);
        Ok(Report { out, quiet, machine: Machine::here(), named: false, rows: Vec::new() })
    }

    /// Says what is measured next.
    pub(super) fn progress(&self, what: impl std::fmt::Display) {
        if !self.quiet {
            print::status(what);
        }
    }

    /// Prints a row; the machine comes before the first.
    pub(super) fn row(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        if !std::mem::replace(&mut self.named, true) {
            print::json(&self.machine)?;
        }
        self.rows.push(serde_json::to_string(row)?);
        print::json(row)
    }

    /// Writes the files of a measurement: its rows, the table and the plot.
    pub(super) fn finish(
        &mut self,
        name: &str,
        title: &str,
        table: &Table,
        plot: &Plot,
    ) -> anyhow::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let Some(folder) = self.out else { return Ok(()) };
        let machine = self.machine.described();
        let lines = [serde_json::to_string(&self.machine)?].into_iter().chain(rows);
        let markdown = format!(
            "# {title}\n\n{machine}: `s3cmtf bench {name}`\n\n{}\n![{title}]({name}.svg)\n",
            table.markdown()
        );
        for (ending, text) in [
            ("jsonl", lines.map(|line| line + "\n").collect()),
            ("md", markdown),
            ("svg", plot.svg(title, &machine)),
        ] {
            let path = folder.join(format!("{name}.{ending}"));
            write_atomically(&path, |out| out.write_all(text.as_bytes()))?;
        }
        Ok(())
    }
}
