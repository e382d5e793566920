//! What `evaluate` was given.

use std::path::PathBuf;

use super::choices::RankByChoice;
use super::{ClipArgs, DataArgs, ProgressArgs, SettingArgs, decimal, whole};

/// What `evaluate` was given: a model, or what `fit` would be given and a number of folds.
#[derive(Debug, clap::Args)]
#[command(override_usage = "s3cmtf evaluate <MODEL> <TENSOR> [--no-clip] [--plain] [--json]\n       \
    s3cmtf evaluate <MODEL> --ablate [--json]\n       \
    s3cmtf evaluate <TENSOR> --folds <K> [OPTIONS]")]
pub(crate) struct EvaluateArgs {
    /// The folder of a model that `fit --out` saved; with --folds, the file of the tensor's entries instead
    #[arg(value_name = "MODEL")]
    pub(crate) first: PathBuf,
    /// The file of known entries
    #[arg(value_name = "TENSOR", required_unless_present_any = ["folds", "ablate"], conflicts_with_all = ["folds", "ablate"])]
    pub(crate) second: Option<PathBuf>,
    /// Cross-validate: split the entries into K folds, from 2 to the number of entries, and evaluate each with a model
    /// trained on the others
    #[arg(long, value_name = "K", value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub(crate) folds: Option<usize>,
    /// Ablation study of coupled matrices and of modes of times and circumstances: hold out a tenth of the model's training
    /// data, and train on the rest with the model's settings, with everything and without each of them, with two seeds
    #[arg(long, conflicts_with_all = ["folds", "clip", "no_clip", "plain", "rank_by", "items", "k", "relevant", "caution", "by", "baselines"])]
    pub(crate) ablate: bool,
    #[command(flatten)]
    pub(crate) clip: ClipArgs,
    /// Only prediction errors. Otherwise, where the training data are saved with the model, also ranking metrics (recall, NDCG,
    /// MAP, hit rate, coverage and novelty at k of items without a training entry, with the most popular items as a baseline), errors by the number of
    /// training entries, and errors by time if there is a mode of times
    #[arg(long, conflicts_with_all = ["folds", "rank_by", "items", "k", "relevant", "by", "baselines"])]
    pub(crate) plain: bool,
    /// The mode to which items are recommended [default: the first]. This and the next three compute ranking metrics even if
    /// the training data are not saved with the model; items with a training entry are then recommended too
    #[arg(long, value_name = "MODE", help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) rank_by: Option<String>,
    /// The mode of the items [default: the second, or the first if --rank-by is the second]
    #[arg(long, value_name = "MODE", help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) items: Option<String>,
    /// The number of recommendations, the k of recall@k; several, such as 5,10,20, are measured at once [default: 10]
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = whole::<usize>, help_heading = "Ranking",
        conflicts_with = "folds")]
    pub(crate) k: Option<Vec<usize>>,
    /// The lowest value of a relevant item [default: the mean value of the entity it is recommended to]
    #[arg(long, value_name = "VALUE", value_parser = decimal::<f64>, allow_negative_numbers = true,
        help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) relevant: Option<f64>,
    /// Risk aversion: rank by the prediction minus this many standard deviations, so that entities with few entries do not
    /// come first [default: 0]
    #[arg(long, value_name = "X", value_parser = decimal::<f32>, allow_negative_numbers = true,
        help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) caution: Option<f32>,
    /// What to rank by [default: both, where the model knows what is chosen and there is no caution; else rating]
    #[arg(long, value_name = "NAME", help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) by: Option<RankByChoice>,
    /// Also measure item-kNN (the 200 items most like each of those with a training entry, by the cosine of who has them) and EASE (a
    /// regression of every item on all others, where users or items are at most 2,500)
    #[arg(long, help_heading = "Ranking", conflicts_with = "folds")]
    pub(crate) baselines: bool,
    // These need --folds; clap could say so only with a list of them all.
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Print one JSON object: entries, unknown, rmse, mae, mean_rmse, offsets_rmse, and ranking (with several --k the list
    /// rankings) and segments if these are measured; with --folds one per fold, with --ablate one per part that is left out, and one at the end
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
