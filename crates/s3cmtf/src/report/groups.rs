//! Cards of concepts, and clusters on maps.

use serde::Serialize;

use super::sampled::places;
use super::{TOP, cut, label, time_bin};
use crate::discovery::{
    Cluster, ClusterParams, Clusters, Columns, Concept, GapCurve, K, MOST_CLUSTERS, Marks, Scored, Space,
    clusters,
};
use crate::{Error, Model, Problem};

/// No more cards of a mode, points of a curve, points of a map and modes with a map than this.
const MOST_CARDS: usize = 12;
const MOST_TIMES: usize = 120;
const MOST_POINTS: usize = 2000;
const MOST_MAPS: usize = 4;
/// Fewer entities are read faster one by one.
const FEWEST: usize = 8;

/// Concepts as cards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cards {
    /// Mode by mode, the strongest first; of many times some.
    pub cards: Vec<Concept>,
    /// How many are left out: weak ones, and such as say the same again.
    pub left_out: usize,
}

impl Cards {
    pub(super) fn new(model: &Model, found: Vec<Concept>) -> Self {
        let all = found.len();
        let mut cards = Vec::new();
        for mode in model.modes() {
            let own = found.iter().filter(|concept| concept.mode == mode.name());
            cards.extend(own.filter(|concept| concept.telling).take(MOST_CARDS).map(card));
        }
        Cards { left_out: all - cards.len(), cards }
    }
}

fn card(concept: &Concept) -> Concept {
    let some = |times: &Vec<Scored>| {
        places(times.len(), MOST_TIMES).into_iter().map(|row| shortened(&times[row])).collect()
    };
    Concept {
        name: concept.name.clone(),
        mode: cut(&concept.mode),
        strength: concept.strength,
        telling: concept.telling,
        level: concept.level,
        about: cut(&concept.about),
        opposite: cut(&concept.opposite),
        strongest: concept.strongest.iter().map(shortened).collect(),
        weakest: concept.weakest.iter().map(shortened).collect(),
        columns: concept.columns.iter().map(columns).collect(),
        times: concept.times.as_ref().map(some),
    }
}

/// The clusters of a mode on a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Groups {
    /// The mode.
    pub mode: String,
    /// How many entities it has.
    pub rows: usize,
    /// The clusters, the largest first.
    pub clusters: Vec<Cluster>,
    /// How their number was found.
    pub gap: Option<GapCurve>,
    /// Entities on the map; some, where there are many.
    pub points: Vec<MapPoint>,
}

/// An entity on a map: its coordinates, its cluster counted from 0, and its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapPoint(pub f32, pub f32, pub u32, pub String);

/// The clusters of each mode that has enough entities and is not one of times.
pub(super) fn groups(model: &Model, data: Option<&Problem>, seed: u64) -> Result<Vec<Groups>, Error> {
    let wanted = |(_, mode): &(usize, &crate::Mode)| time_bin(mode).is_none() && mode.rows() >= FEWEST;
    let modes = model.modes().iter().enumerate().filter(wanted).take(MOST_MAPS);
    modes
        .map(|(number, mode)| {
            let most = MOST_CLUSTERS.min(mode.rows() / 2);
            let params = ClusterParams { k: K::Auto(most), top: TOP, seed, ..ClusterParams::default() };
            let Clusters { clusters, gap, of_row, .. } = clusters(model, data, number, params)?;
            let map = Space::new(model, number, params.level).map();
            let shown = places(map.len().min(of_row.len()), MOST_POINTS);
            let place = |row: usize| MapPoint(map[row][0], map[row][1], of_row[row], label(mode, row));
            Ok(Groups {
                mode: cut(mode.name()),
                rows: mode.rows(),
                clusters: clusters.into_iter().map(cluster).collect(),
                gap,
                points: shown.into_iter().map(place).collect(),
            })
        })
        .collect()
}

fn cluster(cluster: Cluster) -> Cluster {
    let marks = cluster.marks.into_iter().map(|marks| Marks {
        matrix: cut(&marks.matrix),
        columns: marks
            .columns
            .into_iter()
            .map(|mark| crate::discovery::Mark { name: cut(&mark.name), ..mark })
            .collect(),
    });
    Cluster {
        typical: cluster.typical.iter().map(shortened).collect(),
        marks: marks.filter(|marks| !marks.columns.is_empty()).collect(),
        ..cluster
    }
}

fn columns(columns: &Columns) -> Columns {
    Columns { matrix: cut(&columns.matrix), columns: columns.columns.iter().map(shortened).collect() }
}

fn shortened(scored: &Scored) -> Scored {
    Scored { name: cut(&scored.name), score: scored.score }
}
