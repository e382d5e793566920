//! The state of a sampler and its entries, to a device and back.

use s3cmtf_cuda::{Device, Graph, MeanState, RowTerms, Setup, State};

use super::super::Sampler;
use super::super::coupled::Matrix;
use super::super::mean::NaturalParams;
use crate::parallel;
use crate::params::Component;
use crate::problem::Entries;

type Chain<D> = s3cmtf_cuda::Sampler<D>;

/// So many rows are dealt with together.
const PIECE: usize = 256;

/// The rows of entries, and their values as draws have them, given what those are centred by and divided by.
pub(super) fn given(entries: &Entries, (mean, spread): (f64, f64)) -> (Vec<&[u32]>, Vec<f32>) {
    let lists = (0..entries.order()).map(|mode| entries.indices(mode)).collect();
    let scaled = |&value: &f32| ((f64::from(value) - mean) / spread) as f32;
    (lists, parallel::numbers_of(entries.values(), scaled))
}

/// Counts the entries of each row without those that are held out, or with them again.
pub(super) fn count(counts: &mut [Vec<u32>], entries: &Entries, held: &[u32], take_part: bool) {
    for (mode, counts) in counts.iter_mut().enumerate() {
        for &entry in held {
            let count = &mut counts[entries.indices(mode)[entry as usize] as usize];
            *count = if take_part { *count + 1 } else { *count - 1 };
        }
    }
}

/// Bytes that an entry to evaluate on takes on a device at most, but for its design; of a number of that; and of a neighbour in a graph, or
/// where a row's begin.
const EVALUATED: usize = 128;
const NUMBER: usize = 4;
const NEIGHBOUR: usize = 8;

/// How many bytes of a device are for what comes after entries and state: sets to evaluate on, of which no more than a part is there at a
/// time, and what coupled matrices say.
pub(super) fn reserve(sampler: &Sampler, sets: &[usize]) -> usize {
    // Ranks are padded to multiples of 16 at most.
    let design = NUMBER * (sampler.ranks.iter().max().map_or(0, |rank| rank.next_multiple_of(16)));
    let sets: usize = sets.iter().map(|&set| (EVALUATED + design) * set.min(s3cmtf_cuda::PART)).sum();
    // A pull, means and what graphs make of both for each number of a row, and a precision for each row.
    let coupled = |mode: usize| {
        let rows = sampler.rows()[mode];
        let graphs = graphs_of(sampler, mode);
        let graphs = graphs.map(|graph| NEIGHBOUR * (graph.neighbours.parts().1.len() + rows + 1));
        NUMBER * (3 * sampler.factors[mode].len() + rows) + graphs.sum::<usize>()
    };
    sets + coupled_modes(sampler).into_iter().map(coupled).sum::<usize>()
}

/// Puts entries, some of which are held out, and the state on a device, of which so many bytes are left.
pub(super) fn put<D: Device>(
    device: D,
    sampler: &Sampler,
    (entries, held): (&Entries, &[u32]),
    reserve: usize,
) -> Result<Chain<D>, s3cmtf_cuda::Error> {
    let (lists, values) = given(entries, sampler.value_scale());
    let (rows, core) = (sampler.rows(), &sampler.core);
    let entries = s3cmtf_cuda::Entries { indices: &lists, values: &values };
    let setup = Setup {
        held,
        reserve,
        relevant: core.relevant_modes(),
        by_set: !core.one_set,
        row_noise: !sampler.without.contains(&Component::RowNoise),
        ..Setup::new(&rows, &sampler.ranks, entries, &core.zero, sampler.seed)
    };
    let mut chain = Chain::new(device, &setup, &state_of(sampler))?;
    coupled_modes(sampler).into_iter().try_for_each(|mode| put_means(sampler, &mut chain, mode))?;
    put_graphs(sampler, &mut chain)?;
    Ok(chain)
}

/// Puts a state of other ranks on the device, where the entries stay.
pub(super) fn resize<D: Device>(sampler: &Sampler, chain: &mut Chain<D>) -> Result<(), s3cmtf_cuda::Error> {
    chain.resize(&sampler.ranks, &sampler.core.zero, &state_of(sampler))?;
    coupled_modes(sampler).into_iter().try_for_each(|mode| put_means(sampler, chain, mode))
}

fn state_of(sampler: &Sampler) -> State {
    let average = &sampler.average;
    let mean = (average.draws > 0).then(|| MeanState {
        natural_params: average.natural_params.iter().map(|own| own.values().to_vec()).collect(),
        core: average.core.clone(),
        variance: average.variance,
        shares: average.shares.clone(),
    });
    let (noise, core) = (&sampler.noise, &sampler.core);
    State {
        factors: sampler.factors.clone(),
        roots: noise.roots.clone(),
        nu: noise.nu.clone(),
        core: core.values.clone(),
        sets: core.sets[..1 << sampler.ranks.len()].to_vec(),
        concepts: core.concepts.clone(),
        tau: noise.tau,
        hurdle: noise.hurdle,
        mean,
    }
}

/// Takes over what the device has drawn, and the mean of it.
pub(super) fn get<D: Device>(sampler: &mut Sampler, chain: &Chain<D>) -> Result<(), s3cmtf_cuda::Error> {
    let State { factors, roots, nu, core, sets, concepts, tau, mean, .. } = chain.state()?;
    sampler.factors = factors;
    (sampler.noise.roots, sampler.noise.nu, sampler.noise.tau) = (roots, nu, tau);
    sampler.core.values = core;
    sampler.core.sets[..sets.len()].copy_from_slice(&sets);
    sampler.core.concepts = concepts;
    if let Some(MeanState { natural_params, core, variance, shares }) = mean {
        let average = &mut sampler.average;
        let natural_params = natural_params.into_iter().zip(&sampler.ranks);
        average.natural_params =
            natural_params.map(|(numbers, &rank)| NaturalParams::new(rank, numbers)).collect();
        (average.core, average.variance, average.shares) = (core, variance, shares);
    }
    Ok(())
}

/// Takes over rows and core alone.
pub(super) fn get_draw<D: Device>(sampler: &mut Sampler, chain: &Chain<D>) -> Result<(), s3cmtf_cuda::Error> {
    for (mode, factor) in sampler.factors.iter_mut().enumerate() {
        chain.rows_into(mode, factor)?;
    }
    sampler.core.values = chain.core()?;
    Ok(())
}

/// Gets coupled matrices ready to be drawn: they follow rows that have just been scaled anew, and the rows that columns are drawn from come
/// here, before the device has anything else to do.
pub(super) fn prepare_matrices<D: Device>(
    sampler: &mut Sampler,
    chain: &Chain<D>,
) -> Result<(), s3cmtf_cuda::Error> {
    sampler.noise.tau = chain.tau()?;
    for mode in coupled_modes(sampler) {
        let by = chain.scales(mode)?;
        sampler.average.rescale_columns(mode, &by, &sampler.matrices);
        let coupled = sampler.matrices.iter_mut().filter(|matrix| matrix.mode == mode);
        coupled.for_each(|matrix| matrix.rescale(&by));
        if has_columns(sampler, mode) {
            chain.rows_into(mode, &mut sampler.factors[mode])?;
        }
    }
    Ok(())
}

/// Draws the matrices that are coupled to a mode, whose rows are about to be drawn, and tells the device what they say about them. Columns
/// are drawn here, while the device may still be at the rows of the mode before; graphs, which may be over very many rows, are there.
pub(super) fn draw_matrices<D: Device>(
    sampler: &mut Sampler,
    chain: &mut Chain<D>,
    mode: usize,
) -> Result<(), s3cmtf_cuda::Error> {
    if !coupled_modes(sampler).contains(&mode) {
        return Ok(());
    }
    sampler.draw_matrices(|matrix| matrix.mode == mode && matrix.graph().is_none());
    put_means(sampler, chain, mode)?;
    draw_graphs(sampler, chain, mode)?;
    if let Some((pull, shared)) = terms(sampler, mode) {
        let terms = RowTerms { pull: &pull, diagonal: None, shared: Some(&shared) };
        chain.set_row_terms(mode, Some(terms))?;
    }
    Ok(())
}

/// Draws the weights of a mode's graphs, given how far apart the device finds connected rows.
fn draw_graphs<D: Device>(
    sampler: &mut Sampler,
    chain: &mut Chain<D>,
    mode: usize,
) -> Result<(), s3cmtf_cuda::Error> {
    let (streams, tau) = (sampler.streams(), sampler.noise.tau);
    let graphs = sampler.matrices.iter_mut().filter(|matrix| matrix.mode == mode && matrix.graph().is_some());
    let graphs = graphs.zip(chain.graph_distances(mode)?);
    graphs.for_each(|(graph, distances)| graph.draw_graph(distances, tau, streams));
    let weights: Vec<f64> = graphs_of(sampler, mode).map(|graph| graph.lambda).collect();
    chain.set_graph_weights(mode, &weights)
}

/// Puts graphs on the device.
fn put_graphs<D: Device>(sampler: &Sampler, chain: &mut Chain<D>) -> Result<(), s3cmtf_cuda::Error> {
    for mode in coupled_modes(sampler) {
        let parts: Vec<_> = graphs_of(sampler, mode).map(|graph| graph.neighbours.parts()).collect();
        let starts = parts.iter().map(|(starts, ..)| starts.iter().map(|&start| start as u64).collect());
        let starts: Vec<Vec<u64>> = starts.collect();
        let graphs = parts.iter().zip(&starts);
        let graphs = graphs.map(|(&(_, neighbours, weights), starts)| Graph { starts, neighbours, weights });
        chain.set_graphs(mode, &graphs.collect::<Vec<Graph<'_>>>())?;
    }
    Ok(())
}

fn graphs_of(sampler: &Sampler, mode: usize) -> impl Iterator<Item = &super::super::graph::Graph> {
    sampler.matrices.iter().filter(move |matrix| matrix.mode == mode).filter_map(Matrix::graph)
}

/// What matrices with a weight of their own add to the pulls of a mode's rows, and to the precision of all of them.
fn terms(sampler: &Sampler, mode: usize) -> Option<(Vec<f32>, Vec<f32>)> {
    let matrices = sampler.matrices.iter().filter(|matrix| matrix.mode == mode);
    let matrices: Vec<&Matrix> = matrices.filter(|matrix| matrix.shared().is_some()).collect();
    if matrices.is_empty() {
        return None;
    }
    let (rank, rows) = (sampler.ranks[mode], &sampler.factors[mode]);
    let mut pulls = vec![0.0; rows.len()];
    parallel::each(pulls.chunks_mut(PIECE * rank).enumerate(), |(piece, pulls)| {
        let (mut precision, mut sums) = (vec![0.0; rank * rank], vec![0.0; rank]);
        for (row, pull) in (piece * PIECE..).zip(pulls.chunks_exact_mut(rank)) {
            sums.fill(0.0);
            matrices.iter().for_each(|matrix| matrix.pull_row(row, rows, &[], &mut precision, &mut sums));
            pull.iter_mut().zip(&sums).for_each(|(pull, sum)| *pull = *sum as f32);
        }
    });
    let mut shared = vec![0.0; rank * rank];
    for more in matrices.iter().filter_map(|matrix| matrix.shared()) {
        shared.iter_mut().zip(more).for_each(|(sum, more)| *sum += *more as f32);
    }
    Some((pulls, shared))
}

fn put_means<D: Device>(
    sampler: &Sampler,
    chain: &mut Chain<D>,
    mode: usize,
) -> Result<(), s3cmtf_cuda::Error> {
    let means = sampler.prior_means(mode);
    chain.set_prior_means(mode, Some(&means[..]).filter(|means| !means.is_empty()))
}

/// Takes coupled matrices into the mean.
pub(super) fn average_matrices(sampler: &mut Sampler, share: f32) {
    let (tau, (_, spread)) = (sampler.noise.tau, sampler.value_scale());
    let weighed = |matrix: &Matrix| matrix.weight(tau, spread);
    let matrices = sampler.matrices.iter().map(|matrix| (matrix.columns(), weighed(matrix)));
    sampler.average.end_columns(share, matrices);
}

/// Whether columns of matrices are drawn from a mode's rows.
pub(super) fn has_columns(sampler: &Sampler, mode: usize) -> bool {
    sampler.matrices.iter().any(|matrix| matrix.mode == mode && matrix.graph().is_none())
}

fn coupled_modes(sampler: &Sampler) -> Vec<usize> {
    let has = |mode: &usize| sampler.matrices.iter().any(|matrix| matrix.mode == *mode);
    (0..sampler.ranks.len()).filter(has).collect()
}
