//! The flags that say what the modes are and what is coupled to them.

use clap::Args;
use s3cmtf::Duplicates;
use s3cmtf::internal::files::{Format, parse_size};
use s3cmtf::internal::prepare::ModeSpec;

use super::choices::duplicates;
use super::whole;
use crate::couple::CoupleArg;

/// What every verb that trains takes beside the tensor.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DataArgs {
    /// The columns that are the modes, by heading or by number from 1. COLUMN:month (year, week, day, hour, hour-of-day,
    /// day-of-week) bins times, COLUMN:bins=20 and COLUMN:quantiles=20 bin numbers; NAME=COLUMN renames a mode. For a file of
    /// indices: names for its columns [default: inferred where unambiguous; mode1,mode2,.. for indices]
    #[arg(long, value_name = "COLUMN[:BINS],..", value_delimiter = ',', help_heading = "Data")]
    pub(crate) modes: Option<Vec<ModeSpec>>,
    /// The column of values; without one, rows are counted
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) value: Option<String>,
    /// Couple side information about the ids of a mode, given by name or by number from 1: a table of attributes, such as
    /// movieId=movies.csv, each of whose columns becomes a matrix by its type (categories, lists, numbers, dates); columns of a
    /// table (row, column and optionally value), such as movieId=movies.csv:movieId,genres,split=|, where COLUMN:number is
    /// numeric; or a file of indices (row, column, value). split=| (or any text, or split=comma) splits a field that is a list.
    /// Absent cells are unknown (missing, the default where cells have values) or zeros (the default where they have none), or
    /// the matrix is a graph within the mode. Empty cells are unknown.
    /// weight=W, 0 or more, factorizes the matrix jointly with the tensor, with weight W on its squared errors; without a
    /// weight, bayes uses it as features in the prior of the rows, and sgd and als take --lambda-couple
    #[arg(
        long,
        value_name = "MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT][,zeros|,graph|,missing][,weight=W]",
        help_heading = "Data"
    )]
    pub(crate) couple: Vec<CoupleArg>,
    /// How to merge duplicate entries: mean, last, sum or error [default: mean; sum where rows are counted]
    #[arg(long, value_name = "HOW", value_parser = duplicates, help_heading = "Data")]
    pub(crate) duplicates: Option<Duplicates>,
    /// The number of ids of each mode of a file of indices; an index beyond it is an error [default: the largest index]
    #[arg(long, value_name = "I1,I2,..", value_delimiter = ',', value_parser = whole::<u32>, help_heading = "Data")]
    pub(crate) sizes: Option<Vec<u32>>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
}

/// What is known about files, where it is not what their content says.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FileArgs {
    /// The file format: tns (indices), csv (any separator), mtx, parquet, arrow or npz [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<Format>,
    /// Whether the first line of text files holds headings: true or false [default: detected]
    #[arg(long, value_name = "BOOL", help_heading = "Data")]
    pub(crate) header: Option<bool>,
    /// Skip rows of the tensor with an empty value or id (or NULL, NaN, \\N), and report how many, instead of stopping at the
    /// first
    #[arg(long, help_heading = "Data")]
    pub(crate) skip_empty: bool,
    /// Use at most about this much memory, such as 2GB: tables that do not fit are refused. In fit, entries of a converted file
    /// that do not fit are read from disk in every epoch, with the same result [default: what the machine has]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Data")]
    pub(crate) memory: Option<u64>,
}
