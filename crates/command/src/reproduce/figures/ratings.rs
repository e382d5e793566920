//! Figures 1 and 4: errors over time, and the time of an iteration, on the three sets of ratings.

use crate::bench::plot::{Bar, Line, Plot};
use crate::bench::table::Table;
use crate::bench::units::{bytes, digits, seconds};
use crate::reproduce::cell::{Data, Experiment, Facts, Outcome, Set};
use crate::reproduce::methods;
use crate::reproduce::plan::Options;
use crate::reproduce::published::{self, CORES, Ratings};
use crate::reproduce::section::{Picture, Row, Section, data_name, form_name, of, remarks};
use crate::reproduce::verdict::{Verdict, of_claim, of_rmse, of_times};

/// A line has no more points than these; a run has an error after every epoch.
const POINTS: usize = 40;
/// A test RMSE that is larger than the least by this share has been fitted too long.
const OVERFITTED: f64 = 0.005;
/// What predicting 0 comes to lies within this share of a reported figure: it may well be that.
const SAME: f64 = 0.01;

/// The cells of one set.
struct OfSet<'a> {
    set: Set,
    all: Vec<&'a Outcome>,
    threads: usize,
}

impl<'a> OfSet<'a> {
    fn each(outcomes: &'a [Outcome], options: &Options) -> Vec<OfSet<'a>> {
        let of_set = |set: Set| {
            let mut all = of(outcomes, Experiment::Ratings);
            all.retain(
                |outcome| matches!(outcome.cell.data, Data::Ratings { set: other, .. } if other == set),
            );
            OfSet { set, all, threads: options.threads }
        };
        Set::ALL.into_iter().map(of_set).filter(|of| !of.all.is_empty()).collect()
    }

    fn find(&self, method: &str, threads: usize) -> Option<&'a Outcome> {
        self.all
            .iter()
            .copied()
            .find(|outcome| outcome.cell.method == method && outcome.cell.threads == threads)
    }

    /// The best test RMSE of a method on all threads.
    fn rmse(&self, method: &str) -> Option<f64> {
        self.find(method, self.threads).and_then(Outcome::best_rmse)
    }

    fn time(&self, method: &str, threads: usize) -> Option<f64> {
        self.find(method, threads).and_then(Outcome::epoch_seconds)
    }

    fn facts(&self) -> Option<&'a Facts> {
        self.all.iter().find_map(|outcome| outcome.facts.as_ref())
    }

    fn is_original(&self) -> bool {
        matches!(self.all[0].cell.data, Data::Ratings { original: true, .. })
    }

    fn published(&self) -> &'static Ratings {
        published::ratings(self.set)
    }

    fn described(&self) -> String {
        let name = data_name(&self.all[0].cell.data);
        let size = self.facts().map_or(String::new(), |facts| {
            let sizes: Vec<String> = facts.sizes.iter().map(ToString::to_string).collect();
            format!(
                ": {}; {} entries to train on and {} to test, {} of matrices",
                sizes.join(" x "),
                facts.entries,
                facts.test_entries,
                facts.matrix_entries
            )
        });
        format!("{name}{size}")
    }

    /// Why a method has no number.
    fn lack(&self, method: &str) -> String {
        let outcome = self.find(method, self.threads);
        outcome.and_then(Outcome::trouble).unwrap_or_else(|| "it was not run".into())
    }
}

/// Figure 1.
pub(super) fn errors(outcomes: &[Outcome], options: &Options) -> Section {
    let mut section = Section {
        key: "fig1",
        title: "Figure 1: test RMSE over time".into(),
        paper: "S3CMTF-opt has 3.6, 4.1 and 2.1 times less error than CMTF-OPT on MovieLens, Netflix and Yelp; CMTF-Tucker-ALS runs \
                out of memory on Netflix and Yelp; on Yelp S3CMTF-opt overfits after some tens of iterations."
            .into(),
        rows: Vec::new(),
        plots: Vec::new(),
        tables: Vec::new(),
        notes: vec![
            "A star marks an opponent at its best: centred data, observed cells only, a regulariser chosen from five on a tenth of \
             the training entries. Without a star it is as published."
                .into(),
        ],
    };
    for of in OfSet::each(outcomes, options) {
        section.rows.extend(error_rows(&of));
        section.plots.push(error_plot(&of));
        section.tables.push((of.described(), error_table(&of)));
        section.notes.extend(doubts(&of));
    }
    section.notes.extend(remarks(&of(outcomes, Experiment::Ratings)));
    section
}

fn error_rows(of: &OfSet<'_>) -> Vec<Row> {
    let (name, paper) = (of.set.name(), of.published());
    let mut rows = Vec::new();
    let mut rmse = |what: &str, reported: f64, method: &str| {
        let what = format!("{name}: test RMSE of {what}");
        rows.push(match of.rmse(method) {
            Some(ours) => Row {
                paper: reported.to_string(),
                ours: format!("{ours:.4}"),
                ..Row::numbers(what, reported, ours, of_rmse(reported, ours, of.is_original()))
            },
            None => Row::lacking(what, reported.to_string(), of.lack(method)),
        });
    };
    rmse("S3CMTF-opt", paper.opt_rmse, "opt");
    rmse("CMTF-OPT", paper.cmtf_opt_rmse, "cmtf-opt");
    let reported = paper.cmtf_opt_rmse / paper.opt_rmse;
    for (method, form, otherwise) in [
        ("cmtf-opt", "as published", "the published error is not what it comes to here, see the doubts"),
        (
            "cmtf-opt-best",
            "at its best",
            "with centred data, observed cells and a regulariser the opponent errs far less than was published",
        ),
    ] {
        let what = format!("{name}: error of CMTF-OPT {form} over that of S3CMTF-opt");
        rows.push(match (of.rmse(method), of.rmse("opt")) {
            (Some(theirs), Some(ours)) => {
                Row::numbers(what, reported, theirs / ours, of_times(reported, theirs / ours, otherwise))
            }
            _ => Row::lacking(what, digits(reported), of.lack(method)),
        });
    }
    let what = format!("{name}: memory of CMTF-Tucker-ALS");
    let reported = if paper.tucker_out_of_memory { "O.O.M. of 256 GB" } else { "fits into 256 GB" };
    rows.push(match of.find("tucker-als", of.threads) {
        Some(outcome) if outcome.is_done() => {
            let peak = outcome.peak_bytes.map(|peak| peak as f64);
            let otherwise = "only one matrix of the widest mode by the square of the rank is needed, so that O.O.M. was that of the \
                             paper's program and not of the algorithm";
            let fits = peak.is_some_and(|peak| peak < published::MEMORY);
            Row::words(what, reported, bytes(peak), of_claim(fits != paper.tucker_out_of_memory, otherwise))
        }
        _ => Row::lacking(what, reported, of.lack("tucker-als")),
    });
    if of.set == Set::Yelp
        && let Some(outcome) = of.find("opt", of.threads).filter(|outcome| outcome.is_done())
    {
        let tests: Vec<f64> = outcome.epochs.iter().filter_map(|point| point.test_rmse).collect();
        if let (Some(best), Some(last)) = (outcome.best_rmse(), tests.last()) {
            let place = tests.iter().position(|&rmse| rmse <= best).map_or(0, |place| place + 1);
            let overfits = *last > best * (1.0 + OVERFITTED);
            let verdict = match of.is_original() {
                true => of_claim(overfits, "the error did not rise again"),
                false => Verdict::NotComparable("the data are made up".into()),
            };
            let ours = format!("best {best:.4} after epoch {place} of {}, {last:.4} at the end", tests.len());
            rows.push(Row::words(
                "Yelp: S3CMTF-opt overfits",
                "after some tens of iterations",
                ours,
                verdict,
            ));
        }
    }
    rows
}

fn error_plot(of: &OfSet<'_>) -> Picture {
    let line = |outcome: &&Outcome| {
        let points: Vec<(f64, f64)> =
            outcome.epochs.iter().filter_map(|point| Some((point.seconds, point.test_rmse?))).collect();
        let step = points.len().div_ceil(POINTS).max(1);
        let points = points.into_iter().step_by(step).collect();
        Line { name: methods::shown(&outcome.cell.method, outcome.cell.threads), points }
    };
    let lines: Vec<Line> = of.all.iter().map(line).filter(|line: &Line| !line.points.is_empty()).collect();
    Picture {
        part: of.set.shape().to_owned(),
        title: format!("Test RMSE over time: {}", data_name(&of.all[0].cell.data)),
        plot: Plot::Lines {
            x: "time of training",
            x_text: seconds,
            y: "test RMSE",
            y_text: digits,
            y_log: true,
            lines,
        },
    }
}

fn error_table(of: &OfSet<'_>) -> Table {
    let mut table = Table::new(&[
        "method",
        "settings",
        "best test RMSE",
        "at the end",
        "epochs",
        "time of training",
        "chosen",
        "peak memory",
    ]);
    let four = |rmse: Option<f64>| rmse.map_or("-".to_owned(), |rmse| format!("{rmse:.4}"));
    let reference = |name: &str, rmse: Option<f64>| {
        let dash = || "-".to_owned();
        [name.to_owned(), "reference".into(), four(rmse), four(rmse), dash(), dash(), dash(), dash()]
    };
    table.row(reference("predict 0", of.facts().map(|facts| facts.zero_rmse)));
    table.row(reference("the mean", of.facts().map(|facts| facts.mean_rmse)));
    table.row(reference("offsets only", of.all.iter().find_map(|outcome| outcome.offsets_rmse)));
    for outcome in &of.all {
        let name = methods::shown(&outcome.cell.method, outcome.cell.threads);
        let form = form_name(&outcome.cell.method).to_owned();
        let chosen = outcome.chosen.as_ref();
        let chosen = chosen.map_or("-".into(), |chosen| format!("{} {}", chosen.setting, chosen.value));
        let time = outcome.epochs.last().map_or("-".into(), |point| seconds(point.seconds));
        let peak = bytes(outcome.peak_bytes.map(|peak| peak as f64));
        match outcome.trouble() {
            None => table.row([
                name,
                form,
                four(outcome.best_rmse()),
                four(outcome.test_rmse),
                outcome.epochs.len().to_string(),
                time,
                chosen,
                peak,
            ]),
            Some(trouble) => {
                let short = trouble.split(':').next().unwrap_or_default().to_owned();
                let end = || "-".to_owned();
                table.row([name, form, short, end(), outcome.epochs.len().to_string(), time, end(), peak]);
            }
        }
    }
    table
}

/// What is doubtful in the reported errors, as far as these data can tell.
fn doubts(of: &OfSet<'_>) -> Vec<String> {
    let (name, reported) = (of.set.name(), of.published().cmtf_opt_rmse);
    let mut doubts = Vec::new();
    if let Some((mean, deviation)) = of.published().remembered {
        let zero = f64::hypot(mean, deviation);
        if (zero / reported - 1.0).abs() < SAME {
            doubts.push(format!(
                "{name}, a doubt: ratings with mean {mean} and standard deviation {deviation} (from memory) are predicted with an RMSE of \
                 {zero:.3} by 0 everywhere, and of {deviation} by their mean. The reported {reported} of CMTF-OPT is the former: it is \
                 probably that of a run that stopped at its start, or that took missing cells for zeros."
            ));
        } else if reported > 1.5 * deviation {
            doubts.push(format!(
                "{name}, a doubt: the reported {reported} of CMTF-OPT is far above the {deviation} (from memory) that the mean of all \
                 ratings comes to: a model that has learnt anything is below that."
            ));
        }
    }
    if let Some(facts) = of.facts() {
        let data =
            if of.is_original() { "the test entries of the download" } else { "the made-up test entries" };
        doubts.push(format!(
            "{name}: on {data} (mean {:.3}, standard deviation {:.3}) predicting 0 has an RMSE of {:.4} and the mean {:.4}{}",
            facts.mean,
            facts.deviation,
            facts.zero_rmse,
            facts.mean_rmse,
            if of.is_original() {
                format!("; the paper reports {reported} for CMTF-OPT.")
            } else {
                ". Errors on them cannot be compared with the paper's.".to_owned()
            }
        ));
    }
    doubts
}

/// Figure 4.
pub(super) fn times(outcomes: &[Outcome], options: &Options) -> Section {
    let mut section = Section {
        key: "fig4",
        title: "Figure 4: time of an iteration".into(),
        paper: format!(
            "An iteration of S3CMTF-opt on {CORES} cores takes 18 s (MovieLens), 140 s (Netflix) and 25 s (Yelp), 23, 43 and 11 times less \
             than one of CMTF-OPT; S3CMTF-naive and S3CMTF-opt on one core take about as long as CMTF-OPT."
        ),
        rows: Vec::new(),
        plots: Vec::new(),
        tables: Vec::new(),
        notes: vec![
            "The fastest epoch of a run counts. The paper's CMTF-OPT and CMTF-Tucker-ALS are MATLAB programs, and its S3CMTF is C++; \
             here all are Rust, on the same threads, and visit observed entries only where their form allows it."
                .into(),
        ],
    };
    for of in OfSet::each(outcomes, options) {
        section.rows.extend(time_rows(&of));
        let mut bars = Vec::new();
        let mut table = Table::new(&[
            "method",
            "settings",
            "an epoch",
            "of S3CMTF-opt",
            "computed memory",
            "peak memory",
        ]);
        let base = of.time("opt", of.threads);
        for outcome in &of.all {
            let name = methods::shown(&outcome.cell.method, outcome.cell.threads);
            let Some(time) = outcome.epoch_seconds() else { continue };
            table.row([
                name.clone(),
                form_name(&outcome.cell.method).to_owned(),
                seconds(time),
                base.map_or("-".into(), |base| digits(time / base)),
                bytes(outcome.computed_bytes.map(|all| all as f64)),
                bytes(outcome.peak_bytes.map(|all| all as f64)),
            ]);
            bars.push(Bar { name, value: time, text: seconds(time) });
        }
        let title = format!("Time of an epoch: {}", data_name(&of.all[0].cell.data));
        let plot = Plot::Bars { axis: "time of an epoch", axis_text: seconds, log: false, bars };
        section.plots.push(Picture { part: of.set.shape().to_owned(), title, plot });
        section.tables.push((of.described(), table));
    }
    section
}

fn time_rows(of: &OfSet<'_>) -> Vec<Row> {
    let (name, paper) = (of.set.name(), of.published());
    let mut rows = Vec::new();
    let what = format!("{name}: seconds of an iteration of S3CMTF-opt, all threads");
    rows.push(match of.time("opt", of.threads) {
        Some(ours) => {
            let why = if of.is_original() {
                format!("another machine, with {} threads in place of {CORES}", of.threads)
            } else {
                "another machine, and made-up data".into()
            };
            Row::numbers(what, paper.opt_seconds, ours, Verdict::NotComparable(why))
        }
        None => Row::lacking(what, digits(paper.opt_seconds), of.lack("opt")),
    });
    let reported = paper.cmtf_opt_seconds / paper.opt_seconds;
    for (method, form) in [("cmtf-opt", "as published"), ("cmtf-opt-best", "at its best")] {
        let what = format!("{name}: time of CMTF-OPT {form} over that of S3CMTF-opt, all threads");
        let otherwise = "perhaps since a CP model needs N J steps for an entry and S3CMTF-opt N J^N: written for sparse data, and on the same threads, \
                         CMTF-OPT does not take longer";
        rows.push(match (of.time(method, of.threads), of.time("opt", of.threads)) {
            (Some(theirs), Some(ours)) => {
                Row::numbers(what, reported, theirs / ours, of_times(reported, theirs / ours, otherwise))
            }
            _ => Row::lacking(what, digits(reported), of.lack(method)),
        });
    }
    let what = format!("{name}: time of S3CMTF-naive over that of S3CMTF-opt, one thread");
    rows.push(match (of.time("naive", 1), of.time("opt", 1)) {
        (Some(naive), Some(opt)) => {
            let otherwise = "perhaps not all of the time is spent on the core";
            Row::numbers(what, 3.0, naive / opt, of_times(3.0, naive / opt, otherwise))
        }
        _ => Row::lacking(what, "3 (Table 3)", "a cell is lacking"),
    });
    rows
}
