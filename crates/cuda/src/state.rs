//! All that draws depend on, as lists of numbers.

/// A model as the sampler has it: values are centred and have a variance of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// For each mode its rows, one behind the other; the first concept of each is 1.
    pub factors: Vec<Vec<f32>>,
    /// For each mode and row the square root of its share in the precision of entries.
    pub roots: Vec<Vec<f32>>,
    /// For each mode, how little shares differ.
    pub nu: Vec<f64>,
    /// The core, the last mode's concepts next to each other.
    pub core: Vec<f32>,
    /// The precision of the core's numbers for each set of modes that interact; bit `n` of its place stands for mode `n`.
    pub sets: Vec<f64>,
    /// For each mode and concept its part in the precision of the core's numbers.
    pub concepts: Vec<Vec<f64>>,
    /// The precision of entries.
    pub tau: f64,
    /// The precision of the prior of concepts that interact.
    pub hurdle: f64,
    /// The mean of the draws that counted.
    pub mean: Option<MeanState>,
}

/// The mean of draws.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanState {
    /// For each mode and row the lower triangle of the mean precision without the first concept, and then the mean pull.
    pub natural_params: Vec<Vec<f32>>,
    /// The mean core.
    pub core: Vec<f32>,
    /// The mean of 1 / tau.
    pub variance: f64,
    /// For each mode and row, the mean share.
    pub shares: Vec<Vec<f32>>,
}

/// How many numbers a row of this rank has in [`MeanState::natural_params`].
#[must_use]
pub fn natural_len(rank: usize) -> usize {
    let free = rank - 1;
    free * (free + 1) / 2 + free
}

/// What offsets start with, the variance of all interactions of two modes, and how random the rest is, which is the smaller
/// the more modes interact.
const OFFSETS: f32 = 0.5;
const PAIRS: f32 = 0.1;
const RANDOM: f32 = 0.03;
const SMALL: f32 = 0.1;
/// The variance of what each set adds to predictions, at first.
const PART: f64 = 0.1;
/// The concept of each mode that is its offset.
const OFFSET: usize = 1;

impl State {
    /// Random rows, and a core in which the second concept of each mode is its offset and like concepts of two modes interact.
    #[must_use]
    pub fn start(rows: &[usize], ranks: &[usize], seed: u64) -> Self {
        let mut generator = Generator(seed);
        let row = |generator: &mut Generator, rank: usize| {
            let rest: Vec<f32> = (1..rank).map(|_| generator.normal() as f32).collect();
            [1.0].into_iter().chain(rest)
        };
        let factors = rows
            .iter()
            .zip(ranks)
            .map(|(&rows, &rank)| (0..rows).flat_map(|_| row(&mut generator, rank)).collect())
            .collect();
        let pairs = ranks.iter().map(|&rank| rank.saturating_sub(1)).min().unwrap_or(1).max(1);
        let pair = (PAIRS / pairs as f32).sqrt();
        let zero = zeros(ranks);
        let mut counts = vec![0.0f64; 1 << ranks.len()];
        let mut core = Vec::with_capacity(zero.len());
        for (place, zero) in zero.into_iter().enumerate() {
            let index = concepts(ranks, place);
            let active: Vec<usize> = index.iter().copied().filter(|&k| k > 0).collect();
            core.push(match active.as_slice() {
                _ if zero => 0.0,
                [] => 0.0,
                [OFFSET] => OFFSETS,
                [a, b] if a == b => pair,
                _ => RANDOM * SMALL.powi(active.len() as i32) * generator.normal() as f32,
            });
            if !zero {
                let set: usize = index.iter().enumerate().map(|(mode, &k)| usize::from(k > 0) << mode).sum();
                counts[set] += 1.0;
            }
        }
        State {
            factors,
            roots: rows.iter().map(|&rows| vec![1.0; rows]).collect(),
            nu: vec![10.0; rows.len()],
            core,
            sets: counts.into_iter().map(|count| count.max(1.0) / PART).collect(),
            concepts: ranks.iter().map(|&rank| vec![1.0; rank]).collect(),
            tau: 1.0,
            hurdle: 1.0,
            mean: None,
        }
    }
}

/// Which numbers of a core stay zero: the second concept of each mode is its offset and takes no part in interactions, unless
/// there is no third, and all others take part in nothing else.
#[must_use]
pub fn zeros(ranks: &[usize]) -> Vec<bool> {
    let is_zero = |place: usize| {
        let index = concepts(ranks, place);
        let active: Vec<(usize, usize)> =
            index.into_iter().zip(ranks.iter().copied()).filter(|(k, _)| *k > 0).collect();
        match active.as_slice() {
            [] => false,
            [(one, _)] => *one != OFFSET,
            several => several.iter().any(|&(k, rank)| k == OFFSET && rank > 2),
        }
    };
    (0..ranks.iter().product()).map(is_zero).collect()
}

/// The concept of each mode of a place in the core.
pub(crate) fn concepts(ranks: &[usize], place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut index: Vec<usize> = ranks
        .iter()
        .rev()
        .map(|&rank| {
            let concept = rest % rank;
            rest /= rank;
            concept
        })
        .collect();
    index.reverse();
    index
}

/// Random numbers to start with (splitmix).
#[derive(Clone, Debug)]
pub struct Generator(
    /// The seed, and what becomes of it.
    pub u64,
);

impl Generator {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number between 0 and 1, neither of them.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A number of the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
