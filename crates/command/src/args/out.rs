//! The flags of verbs that only write: `export`, `report`, `completions`, `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use s3cmtf::internal::files::OutFormat;

use super::FileArgs;

/// What `export` was given.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The format: csv or parquet (a file per factor, with names), npz or safetensors (one file of arrays)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: OutFormat,
    /// The folder to write the files into; it is made where there is none
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// What `report` was given.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The HTML page to write, atomically
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// A test set, on which the page shows prediction errors [default: the entries that `fit` held out, or else the training
    /// entries]
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
}

/// What `completions` was given.
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// What `man` was given.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for the command and one for each verb into this folder, rather than the first to stdout
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
