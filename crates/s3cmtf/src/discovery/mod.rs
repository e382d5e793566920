//! What a model says: concepts, clusters, what is like what, and what to recommend.
//!
//! Nothing here looks at training. Everything is worked out from a [`Model`](crate::Model), and where it is about observed
//! data, from the [`Problem`](crate::Problem) that it was trained on.

mod basis;
mod best;
mod clusters;
mod concepts;
mod ease;
mod gap;
mod kmeans;
mod known;
mod marks;
mod matrix;
mod metric;
mod neighbours;
mod observed;
mod profile;
mod ranking;
mod recommend;
mod rotation;
mod segments;
mod similar;
mod space;
mod variance;

#[cfg(feature = "report")]
pub(crate) use basis::is_readable;
pub use best::Best;
pub use clusters::{Cluster, ClusterParams, Clusters, K, clusters};
pub use concepts::{Columns, Concept, Concepts, Interaction, concepts};
pub use gap::{Gap, GapCurve, gap_of_rows};
pub use kmeans::agreement;
pub use known::counts;
#[cfg(feature = "report")]
pub(crate) use known::rows;
pub use marks::{Mark, Marks};
pub use profile::{ConceptEffect, Reason, Reasons, about, interaction_norms, opposite};
pub use ranking::{Measures, Ranking, RankingParams, ranking, rankings};
pub use recommend::{Other, RankBy, Recommender};
pub use segments::{Segment, Segments, segments};
pub use similar::similar;
pub use space::Space;

use serde::Serialize;

/// How many of everything there are where nobody says: recommendations, what is alike, entities of a cluster.
pub const TOP: usize = 10;
/// The same of concepts, of which there are many.
pub const TOP_OF_CONCEPTS: usize = 5;
/// The most clusters that are looked for where nobody says; see [`K::Auto`].
pub const MOST_CLUSTERS: usize = 20;
/// The seed of clusters, and of whom recommendations are measured for, where nobody says.
pub const SEED: u64 = 1;

/// Something by name, and how much of it there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scored {
    /// What it is called.
    pub name: String,
    /// How much.
    pub score: f64,
}

/// The places of the `top` largest scores, the largest first; equal ones in their order.
fn largest(scores: impl Iterator<Item = f64>, top: usize) -> Vec<(usize, f64)> {
    let mut places: Vec<(usize, f64)> = scores.enumerate().filter(|(_, score)| !score.is_nan()).collect();
    let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if places.len() > top && top > 0 {
        places.select_nth_unstable_by(top - 1, order);
    }
    places.truncate(top);
    places.sort_unstable_by(order);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_what_is_no_number_not_at_all() {
        let scores = [1.0, f64::NAN, 5.0, 3.0, 5.0, -1.0];
        assert_eq!(largest(scores.into_iter(), 3), [(2, 5.0), (4, 5.0), (3, 3.0)]);
        assert_eq!(largest(scores.into_iter(), 9).len(), 5);
        assert!(largest(scores.into_iter(), 0).is_empty());
    }
}
