//! The flags that say what the modes are and what is coupled to them.

use clap::Args;

use super::whole;
use crate::couple::CoupleArg;

/// What every verb that trains takes beside the tensor.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Couple a matrix (row, column, value) whose rows are those of a mode, given by name or by number from 1.
    /// Absent cells are unknown (missing, the default), zeros, or the matrix is a graph within the mode.
    /// weight=W, 0 or more, says how much a squared error in it counts, against 1 in the tensor; bayes finds that out
    /// itself, sgd takes --lambda-couple
    #[arg(long, value_name = "MODE=FILE[,zeros|,graph|,missing][,weight=W]", help_heading = "Data")]
    pub(crate) couple: Vec<CoupleArg>,
    /// The names of the modes, such as user,business,month [default: mode1,mode2,..]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Data")]
    pub(crate) modes: Option<Vec<String>>,
    /// The number of ids of each mode; an index beyond it is an error [default: the largest index]
    #[arg(long, value_name = "I1,I2,..", value_delimiter = ',', value_parser = whole::<u32>, help_heading = "Data")]
    pub(crate) sizes: Option<Vec<u32>>,
}
