//! `s3cmtf demo`: made-up ratings whose truth is known, factorized with and without the coupled matrices.

use std::process::ExitCode;

use s3cmtf::files::KeptData;
use s3cmtf::world::{self, World, WorldParams};
use s3cmtf::{Model, Params, Problem, Run, Stop, Training, files};

use crate::args::DemoArgs;
use crate::print::{self, short};
use crate::progress::Progress;
use crate::{interrupt, summary};

/// How many predictions are shown beside the truth.
const EXAMPLES: usize = 3;

/// Runs the verb.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    files::check_out(&args.out)?;
    let world = world::generate(&WorldParams { seed: args.seed, ..WorldParams::default() });
    let coupled = world.problem()?;
    let plain = without_matrices(&world, &coupled)?;
    let kept = KeptData::of(&coupled, &args.out)?;
    let flag = interrupt::flag()?;
    let mut runs = Vec::new();
    for problem in [plain, coupled] {
        let params = Params { threads: args.threads, seed: args.seed, ..Params::default() };
        params.check(&problem)?;
        if !args.quiet {
            summary::announce(&problem, problem.entries().len(), &params, Some(world.test.len()));
        }
        let mut progress = Progress::new(params.epochs, false, args.quiet);
        let training = Training::new(problem, params).test(world.test.clone()).interrupt(flag);
        let run = training.run(|epoch| progress.observe(epoch));
        progress.finish()?;
        let run = run?;
        if run.record.summary.stop == Stop::Interrupted {
            return Ok(ExitCode::from(interrupt::EXIT));
        }
        runs.push(run);
    }
    let [plain, coupled] = &runs[..] else { anyhow::bail!("two runs were made") };
    files::save_with(coupled, Some(&kept), &args.out)?;
    print_errors(&world, plain, coupled)?;
    print_examples(&world, &coupled.model)?;
    print::out(|out| {
        let folder = args.out.display();
        writeln!(out, "\nThe coupled model is in {folder}. Next: s3cmtf fit --help")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The same ratings with the same names and sizes, alone.
fn without_matrices(world: &World, coupled: &Problem) -> anyhow::Result<Problem> {
    let names = coupled.modes().iter().map(|mode| mode.name().to_owned()).collect();
    let namings = coupled.modes().iter().map(|mode| mode.naming().cloned()).collect();
    Ok(Problem::builder(world.ratings.clone()).names(names).namings(namings).build()?)
}

fn print_errors(world: &World, plain: &Run, coupled: &Run) -> anyhow::Result<()> {
    let mean = world.ratings.mean();
    let test = world.test.values();
    let guess = rmse(test.iter().map(|&value| f64::from(value) - mean));
    let floor = rmse(test.iter().zip(&world.test_truth).map(|(&value, &truth)| f64::from(value - truth)));
    let reached = |run: &Run| run.record.summary.test_rmse.map_or("none".to_owned(), short);
    print::out(|out| writeln!(out, "RMSE on {} ratings that training did not see:", test.len()))?;
    print::table(&[
        ("  the mean rating for all", short(guess)),
        ("  the tensor alone", reached(plain)),
        ("  the tensor and its coupled matrices", reached(coupled)),
        ("  the noise in the ratings, which nobody can predict", short(floor)),
    ])
}

fn rmse(errors: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = errors.len().max(1) as f64;
    (errors.map(|error| error * error).sum::<f64>() / count).sqrt()
}

/// Shows a few predictions, from all over the test set, beside the truth.
fn print_examples(world: &World, model: &Model) -> anyhow::Result<()> {
    let predicted = model.predict(&world.test, true)?;
    let step = (world.test.len() / EXAMPLES).max(1);
    print::out(|out| {
        writeln!(out, "\nThree of them, as predicted and as they are in truth:")?;
        for place in (step / 2..world.test.len()).step_by(step).take(EXAMPLES) {
            let name = |mode: usize, names: &[String]| {
                let id = world.test.indices(mode)[place] as usize;
                names.get(id).cloned().unwrap_or_else(|| (id + 1).to_string())
            };
            let truth = world.test_truth.get(place).copied().unwrap_or(f32::NAN);
            writeln!(
                out,
                "  {} on {} in {}: predicted {:.1}, truth {truth:.1}",
                name(0, &world.user_names),
                name(1, &world.business_names),
                name(2, &world.month_names),
                predicted[place]
            )?;
        }
        Ok(())
    })
}
