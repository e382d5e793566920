//! Graphs over the rows of a mode: rows that are connected are drawn near each other.

use crate::Error;
use crate::chain::THREADS;
use crate::device::{Array, Device, Module, launch};
use crate::entry_list::words;
use crate::sampler::{BLOCKS, Sampler};

/// Threads of a block that sums over edges.
const WIDE: usize = 512;

/// The neighbours of the rows of a mode. Each edge stands at both of its ends.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// For each row, where its neighbours begin; and where those of the last one end.
    pub starts: &'a [u64],
    /// The rows that they are.
    pub neighbours: &'a [u32],
    /// How much each counts. Not below zero.
    pub weights: &'a [f32],
}

impl Graph<'_> {
    fn check(&self, mode: usize, rows: usize) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Problem(format!("{why}, in a graph of mode {mode}")));
        let (starts, count) = (self.starts, self.neighbours.len());
        if starts.len() != rows + 1 || self.weights.len() != count {
            let weights = self.weights.len();
            return wrong(format!(
                "{} starts, {weights} weights for {rows} rows, {count} neighbours",
                starts.len()
            ));
        }
        let ends = [starts[0], starts[rows]];
        if ends != [0, count as u64] || starts.windows(2).any(|pair| pair[0] > pair[1]) {
            return wrong("starts do not follow each other".to_owned());
        }
        if let Some(row) = self.neighbours.iter().find(|&&row| row as usize >= rows) {
            return wrong(format!("there is no row {row} of {rows}"));
        }
        match self.weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            Some(weight) => wrong(format!("{weight} is no weight")),
            None => Ok(()),
        }
    }
}

/// The graphs of a mode on the device, and what they say about its rows.
pub(crate) struct Graphs<D: Device> {
    all: Vec<(Edges<D>, f64)>,
    pub(crate) pull: Array<D, f32>,
    pub(crate) diagonal: Array<D, f32>,
}

struct Edges<D: Device> {
    starts: Array<D, u64>,
    neighbours: Array<D, u64>,
}

impl<D: Device> Sampler<D> {
    /// Gives rows of a mode graphs, in the place of those that it has, with weights of zero. They stay when the state is
    /// another, and in [`Sampler::resize`]; they are part neither of [`Sampler::state`] nor of what is left of rows for
    /// [`Sampler::draw_shares`].
    ///
    /// # Errors
    /// If there is no such mode, or a graph is not one of its rows: then all is as it was. If the device fails, the mode has no
    /// graphs.
    pub fn set_graphs(&mut self, mode: usize, graphs: &[Graph<'_>]) -> Result<(), Error> {
        self.check_mode(mode)?;
        graphs.iter().try_for_each(|graph| graph.check(mode, self.rows[mode]))?;
        self.graphs[mode] = None;
        if graphs.is_empty() {
            return Ok(());
        }
        let (device, rows) = (&self.device, self.rows[mode]);
        let edges = |graph: &Graph<'_>| {
            let neighbours = Array::new(device, &words(graph.neighbours, graph.weights))?;
            Ok((Edges { starts: Array::new(device, graph.starts)?, neighbours }, 0.0))
        };
        self.graphs[mode] = Some(Graphs {
            all: graphs.iter().map(edges).collect::<Result<_, Error>>()?,
            pull: Array::zeros(device, rows * self.ranks[mode])?,
            diagonal: Array::zeros(device, rows)?,
        });
        Ok(())
    }

    /// Says how much each graph of a mode counts: rows are pulled to each neighbour with a precision of this, times the weight of
    /// the edge.
    ///
    /// # Errors
    /// If there is no such mode, or it has not as many graphs, or a weight is below zero or not finite.
    pub fn set_graph_weights(&mut self, mode: usize, weights: &[f64]) -> Result<(), Error> {
        self.check_mode(mode)?;
        let graphs = self.graphs[mode].as_mut().map_or(&mut [][..], |graphs| &mut graphs.all[..]);
        if weights.len() != graphs.len() {
            let (weights, graphs) = (weights.len(), graphs.len());
            return Err(Error::Problem(format!("{weights} weights for the {graphs} graphs of mode {mode}")));
        }
        if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return Err(Error::Problem(format!("{weight} is no weight of a graph of mode {mode}")));
        }
        graphs.iter_mut().zip(weights).for_each(|((_, there), weight)| *there = *weight);
        Ok(())
    }

    /// The sum over the neighbours of all rows, in each graph of a mode, of the weight of the edge times the squared distance of what
    /// the prior's mean leaves of both rows.
    ///
    /// # Errors
    /// If there is no such mode, or the device fails.
    pub fn graph_distances(&self, mode: usize) -> Result<Vec<f64>, Error> {
        self.check_mode(mode)?;
        let device = &self.device;
        let (rows, rank, pad) = (self.rows[mode], self.ranks[mode], self.pads[mode]);
        let (factor, means) = (&self.draw.factors[mode], self.means[mode].as_ref());
        let blocks = (rows * rank).div_ceil(WIDE).clamp(1, BLOCKS);
        let of = |(edges, _): &(Edges<D>, f64)| {
            launch!(
                device,
                Module::Common,
                "graph_distances",
                [blocks, 1],
                WIDE,
                8 * WIDE,
                rows as u32,
                rank as u32,
                pad as u32,
                &edges.starts,
                &edges.neighbours,
                factor,
                means,
                &self.parts
            )?;
            Ok(self.parts.get(device)?[..blocks].iter().sum())
        };
        self.graphs[mode].iter().flat_map(|graphs| &graphs.all).map(of).collect()
    }

    /// Computes what graphs say about the rows of a mode, as they are now, beside other terms.
    pub(crate) fn pull_by_graphs(&mut self, mode: usize) -> Result<(), Error> {
        let Some(graphs) = &mut self.graphs[mode] else { return Ok(()) };
        let (device, rows, rank) = (&self.device, self.rows[mode], self.ranks[mode]);
        // There may be more concepts than before.
        graphs.pull.grow(device, rows * rank)?;
        let Graphs { all, pull, diagonal } = &*graphs;
        let (factor, means, terms) =
            (&self.draw.factors[mode], self.means[mode].as_ref(), self.terms[mode].as_ref());
        let mut given = (terms.map(|terms| &terms.pull), terms.and_then(|terms| terms.diagonal.as_ref()));
        let (own, ranks, pad) = (rows as u32, rank as u32, self.pads[mode] as u32);
        for (Edges { starts, neighbours }, weight) in all {
            launch!(
                device,
                Module::Common,
                "graph_pulls",
                [(rows * rank).div_ceil(THREADS), 1],
                THREADS,
                0,
                own,
                ranks,
                pad,
                starts,
                neighbours,
                *weight,
                factor,
                means,
                given.0,
                given.1,
                pull,
                diagonal
            )?;
            given = (Some(pull), Some(diagonal));
        }
        Ok(())
    }
}
