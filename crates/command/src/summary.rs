//! A run in a few lines: what goes in before it starts, what came out at its end.

use s3cmtf::{Params, Problem, Summary};

use crate::print::{self, short};

/// The data in a line.
pub(crate) fn described(problem: &Problem, entries: usize, test: Option<usize>) -> String {
    let modes: Vec<String> =
        problem.modes().iter().map(|mode| format!("{} {}", mode.name(), mode.size())).collect();
    let mut line = format!("{}, {} entries", modes.join(" x "), entries);
    if let Some(test) = test {
        line += &format!(", {test} test entries");
    }
    for matrix in problem.coupled() {
        line +=
            &format!(", {} ({}, {} entries)", matrix.name(), matrix.kind().name(), matrix.entries().len());
    }
    line
}

/// The data and the settings in a line.
pub(crate) fn announce(problem: &Problem, entries: usize, params: &Params, test: Option<usize>) {
    let line = described(problem, entries, test);
    let ranks = match params.is_auto() {
        true => "rank auto".to_owned(),
        false => format!("ranks {}", ranks(&params.ranks_for(problem.order()))),
    };
    let threads = params.n_threads();
    let plural = if threads == 1 { "" } else { "s" };
    print::status(format_args!("{line}; {ranks}, {threads} thread{plural}"));
}

/// Ranks in a few words.
fn ranks(ranks: &[usize]) -> String {
    ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

/// The end of a run, for a person; `model` says where the model is.
pub(crate) fn print(summary: &Summary, model: String) -> anyhow::Result<()> {
    let mut rows = vec![
        ("stopped", summary.stop.reason().to_owned()),
        ("epochs", format!("{} (best: {})", summary.epochs, summary.best_epoch)),
        ("ranks", ranks(&summary.ranks)),
        ("train RMSE", short(summary.train_rmse)),
    ];
    if let Some(rmse) = summary.test_rmse {
        rows.push(("test RMSE", short(rmse)));
    }
    rows.extend(simple(summary.mean_rmse, summary.offsets_rmse));
    rows.push(("seconds", format!("{:.2}", summary.seconds)));
    rows.push(("model", model));
    print::table(&rows)
}

/// What simple predictions come to, beside what a model does.
pub(crate) fn simple(
    mean: Option<f64>,
    offsets: Option<f64>,
) -> impl Iterator<Item = (&'static str, String)> {
    let rows = [("mean RMSE", mean), ("offsets RMSE", offsets)];
    rows.into_iter().filter_map(|(name, rmse)| rmse.map(|rmse| (name, short(rmse))))
}
