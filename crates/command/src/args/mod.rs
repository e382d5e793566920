//! What was typed: the one definition of every verb and flag. Nothing is opened or checked against data here.

mod bench;
mod choices;
mod data;
mod evaluate;
mod fit;
mod flags;
mod generate;
mod settings;
mod tune;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use bench::{BenchArgs, BenchVerb, OwnData};
pub(crate) use data::DataArgs;
pub(crate) use evaluate::EvaluateArgs;
pub(crate) use fit::FitArgs;
pub(crate) use flags::fit_line;
pub(crate) use generate::GenerateArgs;
pub(crate) use settings::SettingArgs;
pub(crate) use tune::TuneArgs;

/// Finds the hidden factors shared by a sparse tensor and its side matrices, and predicts the missing entries.
#[derive(Debug, Parser)]
#[command(name = "s3cmtf", version, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  s3cmtf demo
  s3cmtf check ratings.tns friends.tns
  s3cmtf fit ratings.tns --modes user,business,month --couple user=friends.tns,graph --test test.tns --out model
  s3cmtf evaluate model test.tns
  s3cmtf evaluate ratings.tns --folds 5
  s3cmtf tune ratings.tns --budget 300
  s3cmtf predict model cells.tns --clip

Files are text, one entry per line: an index per mode, counted from 1, then the value, separated by blanks or
tabs. # starts a comment. Files may be packed with gzip.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Factorize a tensor and the matrices coupled to it
    Fit(Box<FitArgs>),
    /// Measure how far a model's predictions lie from known entries, or cross validate
    Evaluate(Box<EvaluateArgs>),
    /// Search for the settings that predict best, within a budget of time
    Tune(Box<TuneArgs>),
    /// Predict the value of each given cell
    Predict(PredictArgs),
    /// Say what is in data files, and what is wrong with them
    Check(CheckArgs),
    /// Make up ratings with a known truth, and factorize them with and without coupled matrices
    Demo(DemoArgs),
    /// Write made-up data of a known shape, such as movielens-10m or yelp, from a planted model
    Generate(GenerateArgs),
    /// Measure the speed of this machine on made-up data, one JSON object per line
    Bench(BenchArgs),
}

/// What `predict` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct PredictArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The file of cells, one per line: an index per mode, counted from 1
    pub(crate) coords: PathBuf,
    /// Keep predictions within the range of the training values
    #[arg(long)]
    pub(crate) clip: bool,
    /// Write to this file, whole or not at all, rather than to stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What `check` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Files of tensors or matrices
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The names of the tensor's modes; files with 2 indices are matrices, unless 2 names are given
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) modes: Option<Vec<String>>,
    /// The number of ids of each mode of the tensor; an index beyond it is an error [default: the largest index]
    #[arg(long, value_name = "I1,I2,..", value_delimiter = ',', value_parser = whole::<u32>)]
    pub(crate) sizes: Option<Vec<u32>>,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `demo` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// The folder to save the coupled model in
    #[arg(long, value_name = "DIR", default_value = "s3cmtf-demo")]
    pub(crate) out: PathBuf,
    /// Threads, from 1 to 1024; 0 is all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
    pub(crate) threads: usize,
    /// The seed of the made-up data and of the factors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// No progress; notes, errors and the summary are still printed
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// A whole number; the standard library's reason ("invalid digit found in string") would not say what is right.
fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number: Option<u64> = text.trim().parse().ok();
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        format!("should be a whole number from 0 to {}", u64::MAX >> (64 - 8 * size_of::<T>()))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_flags_is_sound() {
        super::Args::command().debug_assert();
    }

    #[test]
    fn the_help_tells_the_defaults_that_are() {
        let defaults = s3cmtf::Params::default();
        let command = super::Args::command();
        let fit = command.find_subcommand("fit").unwrap();
        let numbers = [
            ("rank", defaults.ranks[0] as f64),
            ("epochs", defaults.epochs as f64),
            ("decay", f64::from(defaults.decay)),
            ("lambda-reg", f64::from(defaults.lambda_reg)),
            ("lambda-couple", f64::from(defaults.lambda_couple)),
            ("tolerance", defaults.tolerance),
            ("threads", defaults.threads as f64),
            ("seed", defaults.seed as f64),
        ];
        for (flag, expected) in numbers {
            let argument = fit.get_arguments().find(|argument| argument.get_long() == Some(flag)).unwrap();
            let help = argument.get_help().unwrap().to_string();
            let told = help.split("[default: ").nth(1).unwrap().split([';', ']']).next().unwrap();
            assert!((told.parse::<f64>().unwrap() - expected).abs() < 1e-6, "--{flag}: {help}");
        }
    }
}
