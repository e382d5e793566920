//! What `bench` was given.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Subcommand;

use super::settings::{Rank, rank};
use super::{decimal, whole};
use crate::couple::CoupleArg;

/// What `bench` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub(crate) what: BenchVerb,
    /// Write the lines, a table and a plot to this folder: WHAT.jsonl, WHAT.md and WHAT.svg
    #[arg(long, short, value_name = "DIR", global = true)]
    pub(crate) out: Option<PathBuf>,
    /// Take this share of the data, above 0 and up to 1: for a quick look
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, global = true)]
    pub(crate) scale: f64,
    /// No progress
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
}

/// Data of the user's own, to measure beside the made-up ones.
#[derive(Debug, clap::Args)]
pub(crate) struct OwnData {
    /// Entries of your own to train on, beside the made-up ones; with --test
    #[arg(long, value_name = "FILE", requires = "test")]
    pub(crate) train: Option<PathBuf>,
    /// What to call them
    #[arg(long, value_name = "NAME", default_value = "own", requires = "train")]
    pub(crate) name: String,
    /// Entries of your own to test on
    #[arg(long, value_name = "FILE", requires = "train")]
    pub(crate) test: Option<PathBuf>,
    /// A matrix coupled to them, as in fit
    #[arg(long, value_name = "MODE=FILE[,KIND]", requires = "train")]
    pub(crate) couple: Vec<CoupleArg>,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchVerb {
    /// The fast method against the paper's, entry by entry, on shapes of many kinds
    Methods {
        /// Only shapes whose name contains this
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
        /// Threads, the same for both methods
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// From the paper's algorithm to our gradient descent, one change at a time: time per epoch and RMSE on held-out entries
    Paper {
        #[command(flatten)]
        own: OwnData,
        /// The numbers of threads to measure with
        #[arg(long, value_name = "N,..", default_value = "1,2,16", value_delimiter = ',', value_parser = some::<usize>)]
        threads: Vec<usize>,
        /// The number of made-up tensor entries, in the form of MovieLens-10M with fewer users and movies
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = some::<usize>)]
        entries: usize,
        /// How many epochs are run
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = some::<usize>)]
        epochs: usize,
        /// The number of measurements of each, in turns; the fastest epoch counts, and the RMSE is that of the first
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = some::<usize>)]
        repeats: usize,
    },
    /// One thread against many, for each scheme, on the shape of MovieLens-10M
    Threads {
        /// The numbers of threads to compare, the first being the base [default: 1 and all cores]
        #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = some::<usize>)]
        threads: Option<Vec<usize>>,
        /// The number of tensor entries
        #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = some::<usize>)]
        entries: usize,
        /// The number of measurements of each, interleaved; the fastest counts
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = some::<usize>)]
        repeats: usize,
    },
    /// Scaling with the number of entries, in three modes of size 10,000: time and memory
    Entries {
        /// The numbers of tensor entries, from few to many
        #[arg(long, value_name = "N,..", default_value = "1000000,10000000,100000000", value_delimiter = ',', value_parser = some::<usize>)]
        entries: Vec<usize>,
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// Scaling with the size of the modes, with a million entries and a coupled matrix of a tenth: time and memory
    Sizes {
        /// The sizes of the three modes and of the matrix's columns
        #[arg(long, value_name = "N,..", default_value = "1000,10000,100000,1000000,10000000,100000000", value_delimiter = ',', value_parser = some::<u32>)]
        sizes: Vec<u32>,
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// The shape of the paper's Yelp data, with all its coupled matrices
    Yelp {
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// Time to evaluate a fifth of the entries against an epoch on the others, on the shape of MovieLens-10M
    Evaluation {
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// What is done with a model, against training it anew: fold-in, update and clusters, with almost a million entries
    After {
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// The default algorithm on known shapes: entries per second, beside another version of this program
    Bayes {
        /// The shapes: those that generate knows (movielens-10m, movielens-1m, netflix, yelp, synthetic) and order-2 to order-5, a million
        /// entries of modes of 10,000 ids
        #[arg(long, value_name = "SHAPE,..", default_value = "movielens-10m", value_delimiter = ',')]
        shapes: Vec<String>,
        /// The ranks: one for all modes, or one for each, as in 48x48x4
        #[arg(long, value_name = "J,..", default_value = "12", value_delimiter = ',')]
        ranks: Vec<ModeRanks>,
        /// The numbers of threads [default: 1 and all cores]
        #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = some::<usize>)]
        threads: Option<Vec<usize>>,
        /// How many epochs are run, at least five
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = some::<usize>)]
        epochs: usize,
        /// The number of measurements of each, interleaved; the fastest epoch counts
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = some::<usize>)]
        repeats: usize,
        /// Another version of this program, to be measured in turns
        #[arg(long, value_name = "PROGRAM")]
        before: Option<PathBuf>,
        /// The number of an NVIDIA GPU, to be measured in turns
        #[arg(long, value_name = "N", value_parser = whole::<u16>)]
        gpu: Option<u16>,
        /// Also as many runs of one thread at once, which share nothing: what the machine gives to that many threads
        #[arg(long)]
        independent: bool,
        /// Leave this program's own CPU runs out, beside a GPU
        #[arg(long, requires = "gpu")]
        no_cpu: bool,
    },
    /// The vector instructions that this machine has against each other, on one thread
    Instructions {
        /// The number of measurements of each, interleaved; the fastest counts
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = some::<usize>)]
        repeats: usize,
    },
    /// Ablation of the default algorithm, and gradient descent, by the RMSE on held-out entries
    Accuracy {
        #[command(flatten)]
        own: OwnData,
        /// Besides the default, only what has this in its name
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// The default settings on sets of ratings with their matrices, against the mean and offsets; benchmarks/sets.py writes some
    Sets {
        /// A folder of folders, each with train.tns, test.tns and matrices called MODE-KIND-NAME.tns
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Only sets whose name contains this
        #[arg(long, value_name = "WORD", default_value = "")]
        only: String,
        /// The ranks to measure, auto among them
        #[arg(long, value_name = "R,..", default_value = "auto", value_delimiter = ',', value_parser = rank)]
        ranks: Vec<Rank>,
        /// The values of --tolerance to measure
        #[arg(long, value_name = "X,..", default_value = "0.001", value_delimiter = ',', value_parser = decimal::<f64>)]
        tolerances: Vec<f64>,
        /// How many seeds are measured, from 1 on
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = some::<u64>)]
        seeds: u64,
        /// Threads; 0 is all cores
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>)]
        threads: usize,
    },
    /// Reading data: CSV, Parquet and what convert wrote, each until it could be factorized, in the form of MovieLens-20M
    Data {
        /// The number of rows
        #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = some::<usize>)]
        rows: usize,
        /// The number of measurements of each, interleaved; the fastest counts
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = some::<usize>)]
        repeats: usize,
        /// A Python with the package polars, to measure that as well: its CSV reader and the ids of both id columns
        #[arg(long, value_name = "PROGRAM")]
        python: Option<PathBuf>,
        /// Reads this one file and prints what that took: a process of its own for each, so that its memory is its own
        #[arg(long, value_name = "FILE", hide = true)]
        child: Option<PathBuf>,
    },
    /// Recovery of planted clusters (adjusted Rand index), with and without coupled matrices
    Discovery {
        /// The seed of the made-up world, of training and of clusters
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Fitting a converted file whose entries are read from disk, with a tenth of its size as memory, against fitting it in
    /// memory, in the form of MovieLens-20M
    Stored {
        /// The number of rows
        #[arg(long, value_name = "N", default_value_t = 20_000_000, value_parser = some::<usize>)]
        rows: usize,
        /// How many epochs are run
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = some::<usize>)]
        epochs: usize,
        /// The number of measurements of each, interleaved; the fastest counts
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = some::<usize>)]
        repeats: usize,
        /// Fits this one file and prints what that took: a process of its own for each, so that its memory is its own
        #[arg(long, value_name = "FILE", hide = true)]
        child: Option<PathBuf>,
        /// The memory that the child keeps to, in bytes
        #[arg(long, value_name = "N", hide = true)]
        memory: Option<u64>,
    },
    /// Recommending items to every user of a random model, against predicting every cell
    Recommend {
        /// The number of users
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = some::<usize>)]
        users: usize,
        /// The number of items
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = some::<usize>)]
        items: usize,
    },
    /// All of these, one after the other
    All,
}

impl BenchVerb {
    /// The names of the verbs, in order.
    pub(crate) fn names() -> Vec<String> {
        let command = BenchVerb::augment_subcommands(clap::Command::new("bench"));
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
    }
}

/// A whole number that is not zero.
fn some<T: TryFrom<u64> + Default + PartialEq>(text: &str) -> Result<T, String> {
    whole(text).and_then(
        |number| {
            if number == T::default() { Err("should be 1 or more".into()) } else { Ok(number) }
        },
    )
}

/// A part of the whole.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|&share| share > 0.0 && share <= 1.0).ok_or("should be above 0 and at most 1".into())
}

/// The rank of all modes, or of each: `12`, `48x48x4`.
#[derive(Clone, Debug)]
pub(crate) struct ModeRanks(pub(crate) Vec<usize>);

impl FromStr for ModeRanks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ranks = text.split('x').map(some::<usize>).collect::<Result<_, _>>()?;
        Ok(ModeRanks(ranks))
    }
}

impl fmt::Display for ModeRanks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&ranks.join("x"))
    }
}
