//! What `evaluate` was given.

use std::path::PathBuf;

use super::{ClipArgs, DataArgs, ProgressArgs, SettingArgs, decimal, whole};

/// What `evaluate` was given: a model, or what `fit` would be given and a number of folds.
#[derive(Debug, clap::Args)]
#[command(override_usage = "s3cmtf evaluate <MODEL> <TENSOR> [--no-clip] [--plain] [--json]\n       \
    s3cmtf evaluate <MODEL> --ablate [--json]\n       \
    s3cmtf evaluate <TENSOR> --folds <K> [OPTIONS]")]
pub(crate) struct EvaluateArgs {
    /// The folder of a model that `fit --out` saved; with --folds there is none, and the file of the tensor's entries
    /// stands here
    #[arg(value_name = "MODEL")]
    pub(crate) first: PathBuf,
    /// The file of known entries
    #[arg(value_name = "TENSOR", required_unless_present_any = ["folds", "ablate"], conflicts_with_all = ["folds", "ablate"])]
    pub(crate) second: Option<PathBuf>,
    /// Cross validate: deal the entries into K folds, from 2 to the number of entries, and measure each with a model that
    /// is trained on all others
    #[arg(long, value_name = "K", value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub(crate) folds: Option<usize>,
    /// Say what each coupled matrix and each mode of times and circumstances is worth: hold out a tenth of the data that are
    /// in the model's folder, and train on the rest with the model's settings, with everything and without each of them, with two
    /// seeds
    #[arg(long, conflicts_with_all = ["folds", "clip", "no_clip", "plain", "rank_by", "items", "k", "relevant", "caution"])]
    pub(crate) ablate: bool,
    #[command(flatten)]
    pub(crate) clip: ClipArgs,
    /// Measure errors alone. Otherwise, where the data of training are with the model, so are recommendations (recall, NDCG
    /// and coverage of the k best that training has not seen, beside those of what is most popular) and errors by how much
    /// training knew; and errors by time, if there is a mode of times
    #[arg(long, conflicts_with_all = ["folds", "rank_by", "items", "k", "relevant"])]
    pub(crate) plain: bool,
    /// To whom items are recommended: a mode [default: the first]. This and the next three measure recommendations also where
    /// the data of training are not there; what these have seen is then recommended too
    #[arg(long, value_name = "MODE", help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) rank_by: Option<String>,
    /// What is recommended: a mode [default: the second, or the first if --rank-by is the second]
    #[arg(long, value_name = "MODE", help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) items: Option<String>,
    /// How many are recommended [default: 10]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) k: Option<usize>,
    /// Items are relevant from this value on [default: the mean of the values of the one they are recommended to]
    #[arg(long, value_name = "VALUE", value_parser = decimal::<f64>, allow_negative_numbers = true,
        help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) relevant: Option<f64>,
    /// Rank by what is predicted less this many standard deviations of it, so that what little is known of does not come
    /// first [default: 0]
    #[arg(long, value_name = "X", value_parser = decimal::<f32>, allow_negative_numbers = true,
        help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) caution: Option<f32>,
    // These need --folds; clap could say so only with a list of them all.
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Print one JSON object: entries, unknown, rmse, mae, mean_rmse, offsets_rmse, and ranking and segments if these are measured; with --folds one per
    /// fold, with --ablate one per part that is left out, and one at the end
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
