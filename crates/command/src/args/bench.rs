//! What `bench` was given.

use super::whole;

/// What `bench` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub(crate) what: BenchVerb,
}

/// What can be measured.
#[derive(Debug, clap::Subcommand)]
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
    /// One thread against many, for each scheme, on the shape of MovieLens-10M
    Threads {
        /// The numbers of threads to compare, the first being the base [default: 1 and all cores]
        #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = whole::<usize>)]
        threads: Option<Vec<usize>>,
        /// The number of tensor entries
        #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = whole::<usize>)]
        entries: usize,
    },
}
