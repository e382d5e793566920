//! Problems whose truth is known.

use s3cmtf::Entries;

use super::Numbers;

/// A planted tensor: entries with noise, others without, and the noise's standard deviation.
pub struct Planted {
    pub train: Entries,
    /// Other cells, with noise of the same size.
    pub test: Entries,
    pub noise: f64,
}

/// A tensor of the given sizes and ranks around `mean`; a diagonal core where `diagonal`.
pub fn planted(
    sizes: &[u32],
    ranks: &[usize],
    diagonal: bool,
    mean: f32,
    noise: f32,
    count: usize,
    seed: u64,
) -> Planted {
    let mut numbers = Numbers(seed);
    let factors: Vec<Vec<f32>> =
        sizes.iter().zip(ranks).map(|(&size, &rank)| numbers.list(size as usize * rank)).collect();
    let core = numbers.list(ranks.iter().product());
    let value = |ids: &[u32]| {
        let mut sum = 0.0f32;
        for (place, &g) in core.iter().enumerate() {
            let mut rest = place;
            let mut index = vec![0; ranks.len()];
            for mode in (0..ranks.len()).rev() {
                index[mode] = rest % ranks[mode];
                rest /= ranks[mode];
            }
            if diagonal && index.iter().any(|&j| j != index[0]) {
                continue;
            }
            let g = if diagonal { 2.0 } else { 2.0 * g };
            sum += g
                * (0..ids.len()).map(|n| factors[n][ids[n] as usize * ranks[n] + index[n]]).product::<f32>();
        }
        mean + sum
    };
    let mut seen = std::collections::HashSet::new();
    let mut draw = |count: usize| {
        let mut indices = vec![Vec::new(); sizes.len()];
        let mut values = Vec::new();
        while values.len() < count {
            let ids: Vec<u32> = sizes.iter().map(|&size| numbers.below(size as usize) as u32).collect();
            if seen.insert(ids.clone()) {
                // Three uniform numbers have unit variance, and are near enough to normal.
                let gauss = numbers.uniform() + numbers.uniform() + numbers.uniform();
                values.push(value(&ids) + noise * gauss);
                ids.iter().zip(&mut indices).for_each(|(&id, list)| list.push(id));
            }
        }
        Entries::new(indices, values).unwrap()
    };
    Planted { train: draw(count), test: draw(count / 5), noise: f64::from(noise) }
}
