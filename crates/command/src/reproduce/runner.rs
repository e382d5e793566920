//! Runs cells one after the other, each as a process, and tells how far it is.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::cell::{Cell, Data, Job, Limits, Outcome, Set, State};
use super::data;
use super::ledger::Ledger;
use super::methods;
use super::section::data_name;
use crate::bench::units::{bytes, seconds};
use crate::print;

/// How often a process is asked whether it is over.
const PAUSE: Duration = Duration::from_millis(10);

/// What runs need beside their cells.
pub(super) struct Runner<'a> {
    pub(super) out: &'a Path,
    pub(super) limits: Limits,
    pub(super) quiet: bool,
    pub(super) interrupt: &'a AtomicBool,
}

/// The set whose download a cell reads.
pub(super) fn original(cell: &Cell) -> Option<Set> {
    match cell.data {
        Data::Ratings { original: true, set, .. } => Some(set),
        Data::World { original: true, .. } => Some(Set::Yelp),
        _ => None,
    }
}

impl Runner<'_> {
    /// Runs the cells that were not run yet; true if it was interrupted.
    pub(super) fn run(&self, cells: &[Cell], ledger: &mut Ledger) -> anyhow::Result<bool> {
        let left: Vec<&Cell> = cells.iter().filter(|cell| !ledger.has(cell)).collect();
        let (before, all) = (cells.len() - left.len(), cells.len());
        if before > 0 && !self.quiet {
            print::status(format_args!("{before} of {all} cells are there already"));
        }
        let begun = Instant::now();
        for (place, &cell) in left.iter().enumerate() {
            let Some(outcome) = self.one(cell)? else { return Ok(true) };
            if !self.quiet {
                let each = begun.elapsed().as_secs_f64() / (place + 1) as f64;
                let rest = each * (left.len() - place - 1) as f64;
                let number = before + place + 1;
                print::status(format_args!("[{number}/{all}] {}, about {} left", line(&outcome), span(rest)));
            }
            ledger.add(outcome)?;
        }
        Ok(false)
    }

    /// Runs one cell; none if it was interrupted.
    fn one(&self, cell: &Cell) -> anyhow::Result<Option<Outcome>> {
        let graph = methods::find(&cell.method).is_some_and(|method| method.graph);
        let job = Job {
            cell: cell.clone(),
            limits: self.limits,
            file: original(cell).map(|set| data::file(self.out, set, graph)),
        };
        let program = std::env::current_exe().context("this program")?;
        let load = load();
        let begun = Instant::now();
        let mut child = Command::new(&program)
            .args(["reproduce", "--child", &serde_json::to_string(&job)?])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        // Both are read while it runs: a full pipe would stop it.
        let (told, said) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let Some(status) = self.wait(&mut child)? else { return Ok(None) };
        let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
        let (told, said) = (text(told), text(said));
        // Ctrl-C reaches all processes of a terminal: the cell may have been stopped by it before this one was.
        if self.interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let outcome = told.lines().rev().find_map(|line| serde_json::from_str::<Outcome>(line).ok());
        let mut outcome = outcome.unwrap_or_else(|| {
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no word");
            Outcome::new(cell.clone())
                .ended(State::Failed, format!("the process ended with {status}: {last}"))
        });
        outcome.load = load;
        outcome.seconds = begun.elapsed().as_secs_f64();
        Ok(Some(outcome))
    }

    /// Waits for a process, and ends it where this one is interrupted.
    fn wait(&self, child: &mut Child) -> anyhow::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = child.try_wait().context("a cell")? {
                return Ok(Some(status));
            }
            if self.interrupt.load(Ordering::Relaxed) {
                // It may have ended by itself in the meantime.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }
}

fn reader(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What could be read is all there is.
        let _ = from.map(|mut from| from.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The load of the machine in the last minute, where it tells.
fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// An outcome in a line.
fn line(outcome: &Outcome) -> String {
    let Cell { data, method, threads, rank, .. } = &outcome.cell;
    let rank = rank.map_or("auto".to_owned(), |rank| rank.to_string());
    let what = format!("{}, {}, rank {rank}", data_name(data), methods::shown(method, *threads));
    if let Some(trouble) = outcome.trouble() {
        return format!("{what}: {trouble}");
    }
    let epoch = outcome.epoch_seconds().map_or(String::new(), |time| format!(" {} per epoch", seconds(time)));
    let rmse = outcome.best_rmse().map_or(String::new(), |rmse| format!(", test RMSE {rmse:.4}"));
    format!("{what}:{epoch}{rmse}, {}", bytes(outcome.peak_bytes.map(|peak| peak as f64)))
}

/// A time for a person who waits.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
