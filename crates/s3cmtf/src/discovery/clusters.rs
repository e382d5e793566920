//! Clusters of a mode's entities, and what they have in common.

use serde::Serialize;

use super::gap::{GapCurve, gap_curve};
use super::kmeans::{Search, means};
use super::marks::{Marks, marks};
use super::observed::Observed;
use super::space::{Space, dot};
use super::{MOST_CLUSTERS, SEED, Scored, TOP, known, largest};
use crate::{Error, Model, Problem};

/// The starts of a clustering, of which the best is kept.
const STARTS: u64 = 10;
/// Nothing moves any more, or only rounding does.
const CLOSE: f64 = 1e-7;

/// How many clusters are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum K {
    /// So many.
    Fixed(usize),
    /// As many as the gap statistic picks, up to this.
    Auto(usize),
}

/// What clusters are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterParams {
    /// How many.
    pub k: K,
    /// Whether entities differ in their level, too: how high values are with all entities of the other modes.
    pub level: bool,
    /// How many typical entities and columns of each are told.
    pub top: usize,
    /// The seed.
    pub seed: u64,
}

impl Default for ClusterParams {
    fn default() -> Self {
        ClusterParams { k: K::Auto(MOST_CLUSTERS), level: false, top: TOP, seed: SEED }
    }
}

/// The clusters of a mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Clusters {
    /// The mode.
    pub mode: String,
    /// The largest first.
    pub clusters: Vec<Cluster>,
    /// How the number of clusters was found, if it was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<GapCurve>,
    /// The cluster of each row, counted from 0.
    #[serde(skip)]
    pub of_row: Vec<u32>,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cluster {
    /// Counted from 1.
    pub cluster: usize,
    /// How many entities it has.
    pub size: usize,
    /// Those that are most typical of it, with the cosine of the angle to its centre.
    pub typical: Vec<Scored>,
    /// What marks its entities out in the coupled matrices; empty if the data are not known.
    pub marks: Vec<Marks>,
}

/// Clusters the entities of a mode by their rows (see [`Space`]): k-means from several starts. `data`, which the model was
/// trained on, say what clusters have in common.
///
/// # Errors
/// If there is no such mode, it has fewer rows than clusters are asked for, or the data have other modes.
pub fn clusters(
    model: &Model,
    data: Option<&Problem>,
    mode: usize,
    params: ClusterParams,
) -> Result<Clusters, Error> {
    let ClusterParams { k, level, top, seed } = params;
    let Some(known) = model.modes().get(mode) else {
        return Err(Error::param("mode", format!("from 1 to {}", model.modes().len()), mode + 1));
    };
    if let Some(data) = data {
        known::check(model, data)?;
    }
    let space = Space::new(model, mode, level);
    let (rows, size) = (space.rows(), space.size());
    let (K::Fixed(asked) | K::Auto(asked)) = k;
    if asked == 0 || matches!(k, K::Fixed(_)) && asked > rows {
        return Err(Error::param("k", format!("from 1 to {rows}, the rows of {}", known.name()), asked));
    }
    let gap = matches!(k, K::Auto(_)).then(|| gap_curve(space.points(), size, asked, seed));
    let k = gap.as_ref().map_or(asked, |curve| curve.k);
    let found = means(space.points(), size, k, Search { starts: STARTS, close: CLOSE, seed });

    let mut sizes = vec![0usize; k];
    found.nearest.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by_key(|&cluster| std::cmp::Reverse(sizes[cluster]));
    let observed = data.map(|data| Observed::new(model, data, mode));
    let cluster = |(place, &old): (usize, &usize)| {
        let centre = &found.centres[old * size..(old + 1) * size];
        let length = dot(centre, centre).sqrt().max(f64::MIN_POSITIVE);
        let own = |row: usize| found.nearest[row] as usize == old;
        let likeness =
            (0..rows).map(|row| if own(row) { dot(space.point(row), centre) / length } else { f64::NAN });
        let named =
            |(row, score): (usize, f64)| Scored { name: known.label(known.id(row)).into_owned(), score };
        let chosen: Vec<bool> = (0..rows).map(own).collect();
        Cluster {
            cluster: place + 1,
            size: sizes[old],
            typical: largest(likeness, top).into_iter().map(named).collect(),
            marks: observed.as_ref().map_or(Vec::new(), |observed| marks(observed, &chosen, top)),
        }
    };
    // Where fewer rows differ than clusters are asked for, some have none; they are the last.
    let clusters = order.iter().filter(|&&old| sizes[old] > 0).enumerate().map(cluster).collect();
    let mut place_of = vec![0; k];
    order.iter().zip(0u32..).for_each(|(&old, place)| place_of[old] = place);
    let of_row = found.nearest.iter().map(|&old| place_of[old as usize]).collect();
    Ok(Clusters { mode: known.name().to_owned(), clusters, gap, of_row })
}
