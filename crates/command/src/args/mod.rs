//! What was typed: the one definition of every verb and flag. Nothing is opened or checked against data here.

mod bench;
mod choices;
mod convert;
mod data;
mod discovery;
mod evaluate;
mod fit;
mod flags;
mod generate;
mod groups;
mod import;
mod new_data;
mod out;
mod reproduce;
mod settings;
mod split;
mod synonyms;
mod tune;
mod units;
mod update_choices;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{CommandFactory, Parser, Subcommand};

pub(crate) use bench::{BenchArgs, BenchVerb, ModeRanks, OwnData};
pub(crate) use choices::TableChoice;
pub(crate) use convert::ConvertArgs;
pub(crate) use data::{DataArgs, FileArgs};
pub(crate) use discovery::{ClustersArgs, ConceptsArgs, Count, RecommendArgs, SimilarArgs};
pub(crate) use evaluate::EvaluateArgs;
pub(crate) use fit::FitArgs;
pub(crate) use flags::{fit_line, quoted, typed_line, typed_values};
pub(crate) use generate::GenerateArgs;
pub(crate) use import::ImportArgs;
pub(crate) use new_data::LaterArgs;
pub(crate) use out::{CompletionArgs, ExportArgs, ManArgs, ReportArgs};
pub(crate) use reproduce::{Figure, ReproduceArgs, Set};
pub(crate) use settings::{Rank, SettingArgs};
pub(crate) use split::SplitArgs;
pub(crate) use tune::TuneArgs;

/// What was typed. What cannot be understood is told, and ends the process.
pub(crate) fn parse() -> Args {
    Args::try_parse().unwrap_or_else(|error| {
        let typed: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        synonyms::told(error, &Args::command(), &typed).exit()
    })
}

/// Factorizes a sparse tensor together with the matrices coupled to it, and predicts, recommends and clusters with the model
#[derive(Debug, Parser)]
#[command(
    name = "s3cmtf",
    version,
    max_term_width = groups::WIDEST,
    help_template = groups::template(),
    after_help = EXAMPLES
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  s3cmtf demo
  s3cmtf check ratings.csv
  s3cmtf fit ratings.csv --couple movie=movies.csv --out model
  s3cmtf fit ratings.csv --modes user,movie,timestamp:month --value rating
  s3cmtf evaluate model test.csv
  s3cmtf evaluate ratings.csv --folds 5
  s3cmtf tune ratings.csv --budget 300
  s3cmtf predict model cells.csv --std
  s3cmtf recommend model --for user=Tyler --mode movie
  s3cmtf report model -o report.html

Tables are CSV, TSV, ::, Parquet, Arrow, NumPy or Matrix Market, or lines of an index per mode, counted from 1, and a \
value (.tns). Text may be compressed with gzip or zstd; - is standard input.";

/// The verbs, in the order in which people come to need them; `groups` puts them below headings.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Factorize made-up ratings whose truth is known, with and without coupled matrices
    Demo(DemoArgs),
    /// Summarize data files, and report what is wrong with them by file and line
    Check(Box<CheckArgs>),
    /// Factorize a tensor and the matrices coupled to it
    Fit(Box<FitArgs>),
    /// Predict the value of each given cell
    Predict(PredictArgs),
    /// Recommend entities of one mode to an entity of another, with reasons; or to all of them, as a table
    Recommend(RecommendArgs),
    /// List the entities most similar to one
    Similar(SimilarArgs),
    /// Describe a model's concepts: what they mean, and how they interact
    Concepts(ConceptsArgs),
    /// Cluster the entities of a mode, and describe what each cluster has in common
    Clusters(ClustersArgs),
    /// Write an HTML report of a run and its model: one page, readable offline
    Report(ReportArgs),
    /// Write a model's factors and core for other programs to read
    Export(ExportArgs),
    /// Measure a model's prediction error on known entries, cross-validate, or ablate coupled matrices
    Evaluate(Box<EvaluateArgs>),
    /// Search for the settings that predict best, within a budget of time
    Tune(Box<TuneArgs>),
    /// Split a tensor's entries into a training set and a test set
    Split(SplitArgs),
    /// Measure the speed of this machine on made-up data, one JSON object per line
    Bench(BenchArgs),
    /// Rerun every figure and table of the S3CMTF paper's evaluation, and compare with what it reports
    Reproduce(ReproduceArgs),
    /// Add rows for new ids without retraining; the rest of the model stays as it is
    FoldIn(LaterArgs),
    /// Update a model with new entries, for old and new ids, without the old data
    Update(LaterArgs),
    /// Convert a well-known data set to tables: movielens, netflix or yelp
    Import(ImportArgs),
    /// Check data once and store them as one binary file, which loads in a tenth of a second
    Convert(Box<ConvertArgs>),
    /// Write made-up data of a known shape, such as movielens-10m or yelp, from a planted model
    Generate(GenerateArgs),
    /// Print a script that completes the command's words in a shell
    Completions(CompletionArgs),
    /// Print the manual page, or write one per verb
    Man(ManArgs),
}

impl Verb {
    /// The memory that tables may take, if it was said.
    pub(crate) fn memory(&self) -> Option<u64> {
        match self {
            Verb::Fit(args) => args.data.file.memory,
            Verb::Evaluate(args) => args.data.file.memory,
            Verb::Tune(args) => args.data.file.memory,
            Verb::Check(args) => args.data.file.memory,
            Verb::Convert(args) => args.data.file.memory,
            Verb::Predict(args) => args.file.memory,
            Verb::FoldIn(args) | Verb::Update(args) => args.file.memory,
            Verb::Split(args) => args.file.memory,
            Verb::Import(args) => args.memory,
            _ => None,
        }
    }
}

/// Whether predictions stay within the range of the training values.
#[derive(Debug, clap::Args)]
pub(crate) struct ClipArgs {
    /// Clip predictions to the range of the training values; the default for bayes, unless values hardly vary
    #[arg(long, overrides_with = "no_clip")]
    clip: bool,
    /// Do not clip predictions to the range of the training values; the default for sgd and als
    #[arg(long, overrides_with = "clip")]
    no_clip: bool,
}

impl ClipArgs {
    pub(crate) fn clips(&self, model: &s3cmtf::Model) -> bool {
        self.clip || (model.clips() && !self.no_clip)
    }
}

/// What `predict` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct PredictArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The cells to predict: a table with the columns of the modes, or a file of an index per mode, counted from 1
    pub(crate) coords: PathBuf,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// The entity to assume for a mode without a column, such as time=2017-03; may be given more than once [default: the
    /// average of a mode of times]
    #[arg(long, value_name = "MODE=NAME")]
    pub(crate) at: Vec<String>,
    #[command(flatten)]
    pub(crate) clip: ClipArgs,
    /// Add a column with the predictive standard deviation
    #[arg(long)]
    pub(crate) std: bool,
    /// Add columns low and high, between which a new value lies with this probability, such as 0.9; with the likelihood logistic,
    /// those between which the probability of 1 lies
    #[arg(long, value_name = "LEVEL", value_parser = decimal::<f64>, allow_negative_numbers = true)]
    pub(crate) interval: Option<f64>,
    /// Write to this file, atomically, instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What `check` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Files of tensors or matrices: tables, files of an index per mode, or files that convert wrote. For a file with 2 indices
    /// per entry, --modes are taken as names only if there are 2 of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `demo` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// The folder to save the coupled model in
    #[arg(long, short, value_name = "DIR", default_value = "s3cmtf-demo")]
    pub(crate) out: PathBuf,
    /// Threads, from 1 to 1024; 0 is all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
    pub(crate) threads: usize,
    /// The random seed of the data and of training
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// What every verb that shows progress takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgressArgs {
    /// Do not show progress; results, notes and errors are still printed
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// A whole number; the standard library's reason ("invalid digit found in string") would not say what is right.
fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number: Option<u64> = text.trim().parse().ok();
    // A bound of 20 digits tells nobody anything.
    let bound = if size_of::<T>() < 8 {
        format!(" up to {}", u64::MAX >> (64 - 8 * size_of::<T>()))
    } else {
        String::new()
    };
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("should be a whole number{bound}, such as 10"))
}

/// A number with or without decimals; its range is for others to judge.
fn decimal<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| "should be a number".into())
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
        assert!(defaults.is_auto());
        let numbers = [
            ("epochs", defaults.epochs as f64),
            ("decay", f64::from(defaults.decay)),
            ("lambda-reg", f64::from(defaults.lambda_reg)),
            ("lambda-couple", f64::from(defaults.lambda_couple)),
            ("threads", defaults.threads as f64),
            ("seed", defaults.seed as f64),
        ];
        let told = |flag: &str| {
            let argument = fit.get_arguments().find(|argument| argument.get_long() == Some(flag)).unwrap();
            let help = argument.get_help().unwrap().to_string();
            help.split("[default: ").nth(1).unwrap().split([';', ']']).next().unwrap().to_owned()
        };
        assert_eq!(told("rank"), "auto");
        for (flag, expected) in numbers {
            let told = told(flag);
            assert!((told.parse::<f64>().unwrap() - expected).abs() < 1e-6, "--{flag}: {told}");
        }
    }
}
