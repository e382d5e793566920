//! What was found in a model of businesses, as plain data: a part of the outcome of a cell.

use s3cmtf::discovery::GapCurve;
use serde::{Deserialize, Serialize};

/// What was found in a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    /// Of the rows of the businesses as they are, as in the paper, and of their directions.
    pub(super) rows: Curve,
    pub(super) directions: Curve,
    /// The adjusted Rand index of as many clusters as were planted, and those; and how many they are.
    pub(super) agreement: Option<f64>,
    pub(super) planted: Option<usize>,
    pub(super) clusters: Vec<Group>,
    pub(super) user: User,
}

/// The gap statistic for 1, 2, .. clusters, its standard errors, and the number that it picks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Curve {
    pub(super) gaps: Vec<f64>,
    pub(super) errors: Vec<f64>,
    pub(super) picked: usize,
}

impl Curve {
    pub(super) fn new(curve: &GapCurve) -> Self {
        Curve {
            gaps: curve.gaps.iter().map(|gap| gap.gap).collect(),
            errors: curve.gaps.iter().map(|gap| gap.error).collect(),
            picked: curve.k,
        }
    }
}

/// A cluster of businesses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) size: usize,
    pub(super) businesses: Vec<String>,
    /// For each matrix the columns that mark it, with the share of its businesses that have them.
    pub(super) marks: Vec<(String, Vec<(String, f64)>)>,
}

/// The user with most ratings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct User {
    pub(super) name: String,
    /// For each column of the businesses' factor its norm in R = G x_1 u, and the businesses that have most of it.
    pub(super) norms: Vec<(f64, Vec<String>)>,
    /// Our profile: the strength of each concept for this user, what 1 of it adds, its name and what it is about.
    pub(super) profile: Vec<(f64, f64, String, String)>,
}
