//! Figure 6: S3CMTF without coupled matrices against SALS.

use crate::bench::plot::{Line, Plot};
use crate::bench::table::Table;
use crate::bench::units::{bytes, count, digits, seconds};
use crate::reproduce::cell::{Experiment, Outcome};
use crate::reproduce::methods;
use crate::reproduce::published::SALS_OVER_CP;
use crate::reproduce::section::{Picture, Row, Section, data_name, form_name, of, remarks};
use crate::reproduce::verdict::{Verdict, of_claim, of_times};

/// A test RMSE that is larger than the least by this share has been fitted too long.
const OVERFITTED: f64 = 0.005;

/// Figure 6.
pub(super) fn section(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Single);
    let find = |method: &str| all.iter().copied().find(|outcome| outcome.cell.method == method);
    let time = |method: &str| find(method).and_then(Outcome::epoch_seconds);
    let rmse = |method: &str| find(method).and_then(Outcome::best_rmse);
    let lack =
        |method: &str| find(method).and_then(Outcome::trouble).unwrap_or_else(|| "it was not run".into());
    // Errors of runs that have not come to their end depend on where they were cut off.
    let cut = all.iter().any(|outcome| outcome.cut_short);
    let settled = |verdict: Verdict| match cut {
        true => Verdict::NotComparable("the budget ended some of the runs, see below".into()),
        false => verdict,
    };
    let mut rows = Vec::new();
    for (method, form) in [("sals", "as published"), ("sals-best", "at its best")] {
        let what = format!("time of SALS {form} over that of S3CMTF-CP");
        let otherwise = "perhaps the programs: an iteration of SALS goes through the entries once for every block of columns, and one of S3CMTF-CP is a step per \
                         entry: what each costs is the program's";
        rows.push(match (time(method), time("cp")) {
            (Some(theirs), Some(ours)) => Row::numbers(
                what,
                SALS_OVER_CP,
                theirs / ours,
                of_times(SALS_OVER_CP, theirs / ours, otherwise),
            ),
            _ => Row::lacking(what, digits(SALS_OVER_CP), lack(method)),
        });
        let what = format!("SALS {form} has a higher error than S3CMTF-CP and S3CMTF-TUCKER");
        rows.push(match (rmse(method), rmse("cp"), rmse("tucker")) {
            (Some(theirs), Some(cp), Some(tucker)) => {
                let ours = format!("{theirs:.4} against {cp:.4} and {tucker:.4}");
                let otherwise =
                    "perhaps since it solves for rows in place of stepping, so that fewer epochs do";
                Row::words(what, "higher", ours, settled(of_claim(theirs > cp && theirs > tucker, otherwise)))
            }
            _ => Row::lacking(what, "higher", lack(method)),
        });
    }
    rows.push(match find("sals").filter(|outcome| outcome.is_done()) {
        Some(outcome) => {
            let last = outcome.epochs.last().and_then(|point| point.test_rmse).unwrap_or(f64::NAN);
            let best = outcome.best_rmse().unwrap_or(f64::NAN);
            let ours = format!("best {best:.4}, {last:.4} after {} epochs", outcome.epochs.len());
            let overfits = last > best * (1.0 + OVERFITTED);
            Row::words(
                "SALS overfits",
                "after some tens of iterations",
                ours,
                of_claim(overfits, "its error did not rise again"),
            )
        }
        None => Row::lacking("SALS overfits", "after some tens of iterations", lack("sals")),
    });
    rows.push(match (rmse("cp"), rmse("tucker")) {
        (Some(cp), Some(tucker)) => {
            let otherwise = "in as much time the model with fewer numbers has learnt more";
            let ours = format!("{tucker:.4} against {cp:.4}");
            Row::words(
                "S3CMTF-TUCKER has a lower error than S3CMTF-CP",
                "lower",
                ours,
                settled(of_claim(tucker < cp, otherwise)),
            )
        }
        _ => Row::lacking("S3CMTF-TUCKER has a lower error than S3CMTF-CP", "lower", "a cell is lacking"),
    });
    let mut table =
        Table::new(&["method", "settings", "best test RMSE", "an epoch", "epochs", "peak memory"]);
    let four = |rmse: Option<f64>| rmse.map_or("-".to_owned(), |rmse| format!("{rmse:.4}"));
    let dash = || "-".to_owned();
    let facts = all.iter().find_map(|outcome| outcome.facts.as_ref());
    let offsets = all.iter().find_map(|outcome| outcome.offsets_rmse);
    for (name, error) in [
        ("predict 0", facts.map(|facts| facts.zero_rmse)),
        ("the mean", facts.map(|facts| facts.mean_rmse)),
        ("offsets only", offsets),
    ] {
        table.row([name.into(), "reference".into(), four(error), dash(), dash(), dash()]);
    }
    let mut lines = Vec::new();
    for outcome in &all {
        let name = methods::shown(&outcome.cell.method, outcome.cell.threads);
        let trouble =
            outcome.trouble().map(|trouble| trouble.split(':').next().unwrap_or_default().to_owned());
        table.row([
            name.clone(),
            form_name(&outcome.cell.method).to_owned(),
            trouble.unwrap_or_else(|| four(outcome.best_rmse())),
            outcome.epoch_seconds().map_or_else(dash, seconds),
            outcome.epochs.len().to_string(),
            bytes(outcome.peak_bytes.map(|peak| peak as f64)),
        ]);
        let tests = outcome.epochs.iter().enumerate();
        let points: Vec<(f64, f64)> =
            tests.filter_map(|(epoch, point)| Some(((epoch + 1) as f64, point.test_rmse?))).collect();
        if !points.is_empty() {
            lines.push(Line { name, points });
        }
    }
    let data = all.first().map_or(String::new(), |outcome| data_name(&outcome.cell.data));
    Section {
        key: "fig6",
        title: "Figure 6: without coupled matrices, against SALS".into(),
        paper: "S3CMTF-CP is 2.3 times as fast as SALS per iteration; both S3CMTF-CP and S3CMTF-TUCKER come to lower errors, TUCKER to the \
                lowest; SALS overfits after some tens of iterations."
            .into(),
        rows,
        plots: vec![Picture {
            part: String::new(),
            title: format!("Test RMSE, not coupled: {data}"),
            plot: Plot::Lines { x: "epoch", x_text: count, y: "test RMSE", y_text: digits, y_log: true, lines },
        }],
        tables: vec![(data, table)],
        notes: remarks(&all),
    }
}
