//! How a run is followed while it goes on: a bar, plain lines, JSON, or not at all.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use s3cmtf::Epoch;

use crate::print::{self, short};

/// A log needs no more lines than this.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

/// Who is told of each epoch.
pub(crate) enum Progress {
    /// A person at a terminal.
    Bar(ProgressBar),
    /// A log.
    Lines { label: String, epochs: usize, last: Option<Instant> },
    /// A program that reads stdout, and why it could not be told of everything.
    Json { failure: Option<anyhow::Error> },
    /// Nobody.
    Silent,
}

impl Progress {
    /// The progress of a run of at most `epochs` epochs.
    pub(crate) fn new(epochs: usize, json: bool, quiet: bool) -> Self {
        if json {
            Progress::Json { failure: None }
        } else if quiet {
            Progress::Silent
        } else if io::stderr().is_terminal() {
            Progress::Bar(bar(epochs))
        } else {
            Progress::Lines { label: String::new(), epochs, last: None }
        }
    }

    /// The progress of one of many runs, which `label` tells apart. A log is told only of those that are not over soon.
    pub(crate) fn of_many(label: &str, epochs: usize, quiet: bool) -> Self {
        let label = format!("{label}: ");
        match Progress::new(epochs, false, quiet) {
            Progress::Bar(bar) => Progress::Bar(bar.with_prefix(label)),
            Progress::Lines { epochs, .. } => Progress::Lines { label, epochs, last: Some(Instant::now()) },
            other => other,
        }
    }

    /// Tells of an epoch, and goes on.
    pub(crate) fn observe(&mut self, epoch: &Epoch) -> ControlFlow<()> {
        match self {
            Progress::Bar(bar) => {
                bar.set_message(numbers(epoch));
                bar.set_position(epoch.epoch as u64);
            }
            Progress::Lines { label, epochs, last } => {
                if last.is_none_or(|last| last.elapsed() >= BETWEEN_LINES) {
                    *last = Some(Instant::now());
                    print::status(format_args!("{label}epoch {}/{epochs} {}", epoch.epoch, numbers(epoch)));
                }
            }
            // A stdout that fails must not cost the model: the run goes on, and the failure is told at its end.
            Progress::Json { failure } => {
                if failure.is_none() {
                    *failure = print::json(epoch).err();
                }
            }
            Progress::Silent => {}
        }
        ControlFlow::Continue(())
    }

    /// Ends the progress.
    ///
    /// # Errors
    /// If stdout could not be written.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self {
            Progress::Bar(bar) => bar.finish_and_clear(),
            Progress::Json { failure: Some(failure) } => return Err(failure),
            Progress::Lines { .. } | Progress::Json { .. } | Progress::Silent => {}
        }
        Ok(())
    }
}

fn bar(epochs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix}epoch {pos}/{len} {wide_bar} {msg}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(epochs as u64).with_style(style);
    // A long epoch should not look like a stopped one.
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A bar over things that are counted; hidden where nobody is at a terminal.
pub(crate) fn count_bar(len: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{human_pos}/{human_len} {wide_bar} {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(len as u64).with_style(style)
}

/// The progress of things that are counted: nothing for two seconds, then a bar, or a line in a log now and then.
pub(crate) struct Counting {
    what: &'static str,
    all: usize,
    done: usize,
    begun: Instant,
    told: Instant,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Counting {
    pub(crate) fn new(what: &'static str, all: usize, quiet: bool) -> Self {
        let now = Instant::now();
        Counting { what, all, done: 0, begun: now, told: now, quiet, bar: None }
    }

    /// Tells that so many more are done.
    pub(crate) fn add(&mut self, more: usize) {
        self.done += more;
        if self.quiet || self.begun.elapsed() < BETWEEN_LINES {
            return;
        }
        if io::stderr().is_terminal() {
            let begun = self.begun.elapsed();
            self.bar
                .get_or_insert_with(|| count_bar(self.all).with_elapsed(begun))
                .set_position(self.done as u64);
        } else if self.told.elapsed() >= BETWEEN_LINES {
            self.told = Instant::now();
            print::status(format_args!("{}: {} of {}", self.what, self.done, self.all));
        }
    }

    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Does something that cannot tell how far it is; from the third second on it is said that it goes on.
pub(crate) fn waiting<T>(what: &str, quiet: bool, run: impl FnOnce() -> T) -> T {
    if quiet {
        return run();
    }
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(BETWEEN_LINES) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if !io::stderr().is_terminal() {
                print::status(format_args!("{what} .."));
                return;
            }
            let style = ProgressStyle::with_template("{msg} {spinner} {elapsed}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let spinner = ProgressBar::new_spinner().with_style(style).with_elapsed(BETWEEN_LINES);
            spinner.set_message(what.to_owned());
            spinner.enable_steady_tick(Duration::from_millis(200));
            let _ = ended.recv();
            spinner.finish_and_clear();
        });
        let done = run();
        drop(end);
        done
    })
}

/// An epoch in a line.
fn numbers(epoch: &Epoch) -> String {
    let test = epoch.test_rmse.map_or(String::new(), |rmse| format!(" test {}", short(rmse)));
    let speed = epoch.entries_per_second / 1e6;
    format!("RMSE train {}{test}, {speed:.2}M entries/s", short(epoch.train_rmse))
}
