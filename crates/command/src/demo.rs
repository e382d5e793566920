//! `s3cmtf demo`: made-up ratings whose truth is known, factorized with and without the coupled matrices.

use std::process::ExitCode;

use s3cmtf::discovery::{self, Best, ClusterParams, K, Reason, Reasons, Recommender, agreement};
use s3cmtf::internal::files;
use s3cmtf::internal::files::KeptData;
use s3cmtf::internal::world::{self, THEMES, World, WorldParams};
use s3cmtf::report::{Known, Options};
use s3cmtf::{Model, Params, Problem, Run, Stop, Training};

use crate::args::{DemoArgs, typed_line};
use crate::print::{self, short};
use crate::progress::Progress;
use crate::{interrupt, report, summary};

/// The modes of the world.
const USER: usize = 0;
const BUSINESS: usize = 1;
/// How many businesses are recommended.
const RECOMMENDED: usize = 3;

/// Runs the verb.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    files::check_out(&args.out)?;
    let world = world::generate(&WorldParams { seed: args.seed, ..WorldParams::default() });
    let coupled = world.problem()?;
    let plain = coupled.alone()?;
    let kept = KeptData::new(&coupled, &args.out)?;
    let data = coupled.clone();
    let flag = interrupt::flag()?;
    let mut runs = Vec::new();
    for problem in [plain, coupled] {
        let params = Params { threads: args.threads, seed: args.seed, ..Params::default() };
        params.check(&problem)?;
        if !args.progress.quiet {
            summary::announce(&problem, problem.entries().len(), &params, Some(world.test.len()));
        }
        let mut progress = Progress::new(params.epochs, false, args.progress.quiet);
        let training =
            Training::new(problem, params).command(typed_line()).test(world.test.clone()).interrupt(flag);
        let run = training.observe(|epoch| progress.observe(epoch)).run();
        progress.finish()?;
        let run = run?;
        if run.record.summary.stop == Stop::Interrupted {
            return Ok(ExitCode::from(interrupt::EXIT));
        }
        runs.push(run);
    }
    let [plain, coupled] = &runs[..] else { anyhow::bail!("two runs were made") };
    if let Some(error) = files::save_with(coupled, Some(&kept), &args.out)? {
        return Err(error.into());
    }
    print_errors(&world, plain, coupled)?;
    print_groups(&world, plain, coupled, args.seed)?;
    print_recommendations(&coupled.model, &data)?;
    let page = args.out.join("report.html");
    let options = Options { title: "A made-up world".into(), command: typed_line() };
    let known = Known { data: Some(&data), test: Some(&world.test) };
    report::write(&coupled.model, &coupled.record, known, &options, &page)?;
    print::out(|out| {
        writeln!(
            out,
            "the report is {}; to read the model: s3cmtf concepts {}",
            page.display(),
            args.out.display()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print_errors(world: &World, plain: &Run, coupled: &Run) -> anyhow::Result<()> {
    let mean = world.ratings.mean();
    let test = world.test.values();
    let guess = rmse(test.iter().map(|&value| f64::from(value) - mean));
    let floor = rmse(test.iter().zip(&world.test_truth).map(|(&value, &truth)| f64::from(value - truth)));
    let reached = |run: &Run| run.record.summary.test_rmse.map_or("none".to_owned(), short);
    let offsets = plain.record.summary.offsets_rmse.map_or("none".to_owned(), short);
    print::out(|out| writeln!(out, "RMSE on {} held-out ratings:", test.len()))?;
    print::table(&[
        ("  the mean rating for all", short(guess)),
        ("  the mean and an offset per user, business and month", offsets),
        ("  the tensor alone", reached(plain)),
        ("  the tensor and its coupled matrices", reached(coupled)),
        ("  the noise in the ratings, the lowest RMSE possible", short(floor)),
    ])
}

fn rmse(errors: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = errors.len().max(1) as f64;
    (errors.map(|error| error * error).sum::<f64>() / count).sqrt()
}

/// Says how well the planted groups of businesses are found by as many clusters.
fn print_groups(world: &World, plain: &Run, coupled: &Run, seed: u64) -> anyhow::Result<()> {
    let found = |run: &Run| -> anyhow::Result<f64> {
        let mode = &run.model.modes()[BUSINESS];
        let planted: Vec<u32> =
            (0..mode.rows()).map(|row| world.business_groups[mode.id(row) as usize]).collect();
        let params = ClusterParams { k: K::Fixed(THEMES.len()), top: 0, seed, ..ClusterParams::default() };
        let clusters = discovery::clusters(&run.model, None, BUSINESS, params)?;
        Ok(agreement(&planted, &clusters.of_row))
    };
    let (plain, coupled) = (found(plain)?, found(coupled)?);
    print::out(|out| {
        writeln!(
            out,
            "planted groups recovered (adjusted Rand index): {coupled:.2} with the matrices, {plain:.2} without"
        )
    })
}

/// Recommends a few businesses to the user with most ratings.
fn print_recommendations(model: &Model, data: &Problem) -> anyhow::Result<()> {
    let counts = data.counts(USER).into_iter().zip(0u32..);
    let Some((_, user)) = counts.max_by_key(|&(count, row)| (count, std::cmp::Reverse(row))) else {
        return Ok(());
    };
    let recommender = Recommender::new(model, USER, BUSINESS, &[])?.without_seen(data)?;
    let best = recommender.best(&[user], RECOMMENDED);
    let reasons = Reasons::new(&recommender, Some(data), 3)?;
    let why = reasons.explain(&[user], &best);
    let name = |mode: usize, row: u32| {
        let mode = &model.modes()[mode];
        mode.label(mode.id(row as usize)).into_owned()
    };
    let one = |(best, reason): (&Best, &Option<Reason>)| {
        let reason = reason
            .as_ref()
            .map_or(String::new(), |reason| format!(" (because of {})", reasons.words(reason)));
        format!("{}{reason}", name(BUSINESS, best.row))
    };
    let list: Vec<String> = best.iter().flatten().zip(why.iter().flatten()).map(one).collect();
    print::out(|out| writeln!(out, "for {}: {}", name(USER, user), list.join(", ")))
}
