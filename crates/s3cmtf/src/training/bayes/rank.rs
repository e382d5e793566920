//! Finds the rank of each mode, where none was asked for.
//!
//! A run starts with as many concepts as the data could tell apart ([`widest`]), and on the way lets go of those that it makes
//! no use of ([`Sampler::shed`]): where concepts have nothing to say, their part in the core fades by itself.

use s3cmtf_kernels::NormalEquations;

use super::{Evaluation, OFFSET, Sampler};

/// The least and the most concepts of a mode at the start; one with few rows may have less.
const LEAST: usize = 6;
const MOST: usize = 64;
/// A row of n entries has a say in about this many times the square root of n concepts.
const PER_ROOT: f64 = 3.0;
/// Rows have at most so many squares of concepts for each entry, so that rows take no more than entries do.
const SQUARES: f64 = 64.0;
/// The core has at most so many numbers, and one for so many entries.
const CORE: f64 = 16384.0;
const ENTRIES: f64 = 4.0;
/// A concept is of no use if all entries of a row together tell less than this of it; from 0, nothing, to 1, as much as the
/// prior does.
const USE: f64 = 0.01;
/// The number of a diagonal core that a concept has may be noise if its square is less than so many times its variance.
const SURE: f64 = 10.0;
/// Concepts are looked at each time that so many epochs are over, from the second time on.
const EVERY: u64 = 10;

/// The most concepts that a mode may have, given how many rows all modes have, and how many entries there are.
pub(in crate::training) fn most(rows: usize, entries: usize) -> usize {
    ((SQUARES * entries as f64 / rows.max(1) as f64).sqrt() as usize).clamp(LEAST, MOST)
}

/// As many concepts for each mode as entries could tell apart, given how many each row has and what an entry tells against one
/// of a Gaussian likelihood; as many for all where they interact one to one.
pub(in crate::training) fn widest(counts: &[Vec<u32>], diagonal: bool, information: f64) -> Vec<usize> {
    let rows: Vec<f64> = counts.iter().map(|counts| counts.len() as f64).collect();
    let entries: f64 =
        counts.first().map_or(0.0, |counts| counts.iter().map(|&count| f64::from(count)).sum());
    let thinnest = counts.iter().map(|counts| usual(counts)).fold(f64::INFINITY, f64::min);
    let most_of_all = most(counts.iter().map(Vec::len).sum(), entries as usize);
    let rank = ((PER_ROOT * (information * thinnest).sqrt()) as usize).clamp(LEAST, most_of_all);
    if diagonal {
        return vec![one_to_one(&rows, rank); rows.len()];
    }
    let mut ranks: Vec<usize> =
        rows.iter().map(|&rows| rank.min((0.5 * rows) as usize).max(OFFSET + 2)).collect();
    let most = (entries / ENTRIES).min(CORE);
    // The mode with the most concepts for its rows is the first to have less.
    let crowd = |ranks: &[usize], mode: usize| (ranks[mode] * ranks[mode]) as f64 / rows[mode].max(1.0);
    while ranks.iter().map(|&rank| rank as f64).product::<f64>() > most {
        let open = (0..ranks.len()).filter(|&mode| ranks[mode] > OFFSET + 1);
        let Some(mode) = open.max_by(|&a, &b| crowd(&ranks, a).total_cmp(&crowd(&ranks, b))) else { break };
        ranks[mode] -= 1;
    }
    ranks
}

/// At most `rank` concepts where each interacts with its like alone: the smallest mode says nothing about how many there can be, as
/// all of its rows may have some of each, but the second largest does.
fn one_to_one(rows: &[f64], rank: usize) -> usize {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let second = sorted.get(1).map_or(0, |&rows| (0.5 * rows) as usize);
    // Draws have a full core, if one of zeros.
    let affordable = CORE.powf(1.0 / rows.len() as f64) as usize;
    rank.min(second).min(affordable).max(OFFSET + 2)
}

/// How many entries a row has that an entry is in, on average over entries.
fn usual(counts: &[u32]) -> f64 {
    let counts = || counts.iter().map(|&count| f64::from(count));
    counts().map(|count| count * count).sum::<f64>() / counts().sum::<f64>().max(1.0)
}

/// Some concepts of rows, or of columns.
pub(super) fn some(values: &[f32], rank: usize, kept: &[usize]) -> Vec<f32> {
    values.chunks_exact(rank).flat_map(|row| kept.iter().map(|&k| row[k])).collect()
}

impl Sampler {
    /// Whether it is time to look for concepts that are of no use.
    pub(super) fn may_shed(&self) -> bool {
        let is_time =
            self.epoch >= 2 * EVERY && self.epoch.is_multiple_of(EVERY) && self.schedule.may_shed(self.epoch);
        self.auto && is_time && self.average.draws == 0
    }

    /// Lets go of concepts that are of no use, if it is time to; says whether there were any.
    pub(super) fn shed(&mut self) -> bool {
        if !self.may_shed() {
            return false;
        }
        let mut kept: Vec<Vec<usize>> = (0..self.ranks.len()).map(|mode| self.in_use(mode)).collect();
        if self.core.diagonal {
            let all = self.in_use_together(&kept);
            kept.fill(all);
        }
        let sheds = kept.iter().zip(&self.ranks).any(|(kept, &rank)| kept.len() < rank);
        if sheds {
            self.keep(&kept);
        }
        sheds
    }

    /// The concepts of a mode that are of use, and the best of those that interact, whatever it is worth.
    fn in_use(&self, mode: usize) -> Vec<usize> {
        let rank = self.ranks[mode];
        // A matrix of a weight of its own wants concepts for itself.
        if rank <= OFFSET + 2 || self.matrices.iter().any(|matrix| matrix.mode == mode && matrix.is_joint()) {
            return (0..rank).collect();
        }
        let parts = self.core.parts(mode);
        let counts = &self.noise.counts[mode];
        let (own, rows) = (usual(counts), counts.len().max(1) as f64);
        let cells = self.zeros.map_or(own, |zeros| own + zeros.weight * (zeros.cells / rows - own).max(0.0));
        let told = self.noise.tau * cells;
        let best = (OFFSET + 1..rank).max_by(|&a, &b| parts[a].total_cmp(&parts[b]));
        (0..rank).filter(|&k| k <= OFFSET || Some(k) == best || told * parts[k] >= USE).collect()
    }

    /// The concepts that are of use in all modes, where one goes in all or in none: one that cannot be told in a mode says nothing
    /// with the others either, and neither does one whose only number could be noise.
    fn in_use_together(&self, kept: &[Vec<usize>]) -> Vec<usize> {
        let ranks = 0..self.ranks[0];
        if self.matrices.iter().any(|matrix| matrix.is_joint()) {
            return ranks.collect();
        }
        let parts = self.core.parts(0);
        let told = self.noise.tau * self.observations();
        let best = ranks.clone().skip(OFFSET + 1).max_by(|&a, &b| parts[a].total_cmp(&parts[b]));
        let is_told = |k: usize| told * parts[k] >= SURE && kept.iter().all(|kept| kept.contains(&k));
        ranks.filter(|&k| k <= OFFSET || Some(k) == best || is_told(k)).collect()
    }

    /// Keeps some concepts of each mode. No draw must have counted yet.
    fn keep(&mut self, kept: &[Vec<usize>]) {
        for (mode, kept) in kept.iter().enumerate() {
            self.factors[mode] = some(&self.factors[mode], self.ranks[mode], kept);
            self.matrices
                .iter_mut()
                .filter(|matrix| matrix.mode == mode)
                .for_each(|matrix| matrix.keep(kept));
        }
        self.core.keep(kept);
        self.ranks = kept.iter().map(Vec::len).collect();
        self.average.resize(&self.ranks);
        let (level, ranks) = (self.level, &self.ranks);
        let held = self.calibration.iter_mut().map(|(calibration, _)| calibration.held_mut());
        for view in self.views.iter_mut().chain(held) {
            view.normal = NormalEquations::new(level, ranks[view.mode], ranks[view.partner]);
        }
    }

    /// Brings down the ranks to those of a run that is gone on with; its numbers are still to come.
    pub(super) fn reduce(&mut self, ranks: &[usize]) {
        let kept: Vec<Vec<usize>> = ranks.iter().map(|&rank| (0..rank).collect()).collect();
        self.keep(&kept);
    }

    /// Makes entries to evaluate on fit the ranks that there are now.
    pub(super) fn follow(&self, Evaluation(view): &mut Evaluation) {
        view.normal = NormalEquations::new(self.level, self.ranks[view.mode], self.ranks[view.partner]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_entries_of_rows() {
        // A million entries: 6,000 users, 4,000 items, 36 months.
        assert_eq!(widest(&[vec![167; 6000], vec![250; 4000], vec![27778; 36]], false, 1.0), [38, 38, 11]);
        // Three entries of each user.
        assert_eq!(widest(&[vec![3; 50_000], vec![50; 3000]], false, 1.0), [6, 6]);
        // Hardly any rows, and hardly any entries.
        assert_eq!(widest(&[vec![4; 6], vec![12; 2]], false, 1.0), [3, 2]);
        assert_eq!(widest(&[vec![0; 3], vec![0; 2], vec![0; 2]], false, 1.0), [2, 2, 2]);
        // Modes that are alike are treated alike.
        assert_eq!(widest(&[vec![200; 500], vec![200; 500], vec![200; 500]], false, 1.0), [26, 25, 25]);
    }
}
