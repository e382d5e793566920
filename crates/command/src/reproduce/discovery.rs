//! What a model says of businesses and of one user: Figures 7 and 8, and Table 5.

use s3cmtf::discovery::{
    self, ClusterParams, K, Reasons, Recommender, about, agreement, counts, gap_of_rows, interaction_norms,
};
use s3cmtf::internal::world::THEMES;
use s3cmtf::{Model, Problem};

use super::cell::{Cell, Data};
use super::data::{SEED, made_world};
use super::found::{Curve, Found, Group, User};

const USER: usize = 0;
const BUSINESS: usize = 1;
/// The most clusters, as many as the paper's plot has.
const MOST: usize = 20;
/// Businesses, categories and concepts that are named.
const NAMED: usize = 3;

/// Looks at a model.
pub(super) fn look(model: &Model, data: &Problem, cell: &Cell) -> anyhow::Result<Found> {
    let most = MOST.min(model.modes()[BUSINESS].rows());
    let clusters = |k: K| {
        let params = ClusterParams { k, top: NAMED, seed: SEED, ..ClusterParams::default() };
        discovery::clusters(model, Some(data), BUSINESS, params)
    };
    let auto = clusters(K::Auto(most))?;
    let empty = || Curve { gaps: Vec::new(), errors: Vec::new(), picked: 0 };
    let (mut agrees, mut planted) = (None, None);
    if let Data::World { original: false, ratings, .. } = cell.data {
        let themes = made_world(ratings).business_groups;
        let mode = &model.modes()[BUSINESS];
        let truth: Vec<u32> = (0..mode.rows()).map(|row| themes[mode.id(row) as usize]).collect();
        agrees = Some(agreement(&truth, &clusters(K::Fixed(THEMES.len().min(most)))?.of_row));
        planted = Some(THEMES.len());
    }
    let named = |marks: &discovery::Marks| {
        let columns = marks.columns.iter().map(|mark| (mark.name.clone(), mark.share));
        (marks.matrix.clone(), columns.collect())
    };
    let groups = auto.clusters.iter().map(|cluster| Group {
        size: cluster.size,
        businesses: cluster.typical.iter().map(|one| one.name.clone()).collect(),
        marks: cluster.marks.iter().map(named).collect(),
    });
    Ok(Found {
        rows: Curve::new(&gap_of_rows(model, BUSINESS, most, SEED)?),
        directions: auto.gap.as_ref().map_or_else(empty, Curve::new),
        agreement: agrees,
        planted,
        clusters: groups.collect(),
        user: user(model, data)?,
    })
}

fn user(model: &Model, data: &Problem) -> anyhow::Result<User> {
    let mode = &model.modes()[USER];
    let ratings = counts(model, data, USER)?;
    let row =
        (0..ratings.len()).max_by_key(|&row| (ratings[row], std::cmp::Reverse(row))).unwrap_or(0) as u32;
    let factor = &model.factors()[BUSINESS];
    let businesses = &model.modes()[BUSINESS];
    let with_most = |column: usize| {
        let mut rows: Vec<usize> = (0..factor.rows()).collect();
        rows.sort_by(|&a, &b| factor.row(b)[column].total_cmp(&factor.row(a)[column]));
        rows.truncate(NAMED);
        rows.into_iter().map(|row| businesses.label(businesses.id(row)).into_owned()).collect()
    };
    let norms = interaction_norms(model, USER, row, BUSINESS)?;
    let recommender = Recommender::new(model, USER, BUSINESS, &[])?;
    let reasons = Reasons::new(&recommender, Some(data), NAMED)?;
    let profile = reasons.profile(row).into_iter().map(|effect| {
        (effect.own_strength, effect.adds, effect.concept.name.clone(), about(&effect.concept))
    });
    Ok(User {
        name: mode.label(mode.id(row as usize)).into_owned(),
        norms: norms.into_iter().enumerate().map(|(column, norm)| (norm, with_most(column))).collect(),
        profile: profile.collect(),
    })
}
