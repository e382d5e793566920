//! The flags that say what the modes are and what is coupled to them.

use clap::Args;
use s3cmtf::Duplicates;
use s3cmtf::files::Format;
use s3cmtf::prepare::ModeSpec;

use super::choices::duplicates;
use super::units::size;
use super::whole;
use crate::couple::CoupleArg;

/// What every verb that trains takes beside the tensor.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DataArgs {
    /// The columns that are the modes, by heading or by number from 1. COLUMN:month (year, week, day, hour, hour-of-day,
    /// day-of-week) puts times together, COLUMN:bins=20 and COLUMN:quantiles=20 numbers; NAME=COLUMN gives a mode another
    /// name. For a file of indices: names for its columns [default: what is obvious; mode1,mode2,.. for indices]
    #[arg(long, value_name = "COLUMN[:BINS],..", value_delimiter = ',', help_heading = "Data")]
    pub(crate) modes: Option<Vec<ModeSpec>>,
    /// The column of values; without one, rows are counted
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) value: Option<String>,
    /// Couple what is known about the ids of a mode, given by name or by number from 1: a table of attributes, such as
    /// movieId=movies.csv, each of whose columns becomes a matrix as what it is (categories, lists, numbers, dates); columns of a
    /// table (its rows, its columns and perhaps its values), such as movieId=movies.csv:movieId,genres,split=|, of which
    /// COLUMN:number is one of numbers; or an indexed file (row, column, value). split=| (or any text, or split=comma) takes a
    /// field for a list. Absent cells are unknown (missing, the default where there are values), zeros (the default where
    /// there are none), or the matrix is a graph within the mode. Empty cells are unknown.
    /// weight=W, 0 or more, explains it together with the tensor, a squared error in it counting W against 1; without a
    /// weight it predicts rows in bayes, and sgd and als take --lambda-couple
    #[arg(
        long,
        value_name = "MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT][,zeros|,graph|,missing][,weight=W]",
        help_heading = "Data"
    )]
    pub(crate) couple: Vec<CoupleArg>,
    /// What becomes of entries given more than once: mean, last, sum or error [default: mean; sum where rows are counted]
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
    /// The format of the files: tns (indices), csv (any separator), mtx, parquet, arrow or npz [default: what they look like]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub(crate) format: Option<Format>,
    /// Whether the first line of text files holds headings: true or false [default: what it looks like]
    #[arg(long, value_name = "BOOL", help_heading = "Data")]
    pub(crate) header: Option<bool>,
    /// Leave out rows of the tensor in which a value or an id is empty (or NULL, NaN, \\N), and say how many they are, rather than
    /// to stop at the first
    #[arg(long, help_heading = "Data")]
    pub(crate) skip_empty: bool,
    /// Keep to about this much memory, such as 2GB: tables that do not fit are refused. In fit, entries of a converted file that
    /// do not fit are read from disk in every epoch, which comes to the same model [default: what the machine has]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Data")]
    pub(crate) memory: Option<u64>,
}
