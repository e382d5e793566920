//! What `import` was given.

use std::path::PathBuf;

use s3cmtf::internal::files::{Dataset, parse_size};

use super::choices::TableChoice;

/// What `import` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The data set: movielens (100K to 32M and latest), netflix or yelp
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: Dataset,
    /// The folder of its download, or the archive itself (.zip, .tar, .tar.gz or .tgz)
    pub(crate) path: PathBuf,
    /// The folder to write the tables into; it is made
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The format of the tables [default: parquet, or csv in a build without Parquet]
    #[arg(long, value_name = "FORMAT", default_value_t = TableChoice::BINARY, hide_default_value = true)]
    pub(crate) to: TableChoice,
    /// Keep to about this much memory, such as 2GB: tables that do not fit are refused [default: what the machine has]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,
}
