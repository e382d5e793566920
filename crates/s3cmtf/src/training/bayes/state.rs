//! All that draws depend on, as lists of numbers, and back.

use super::Sampler;
use super::mean::NaturalParams;
use crate::Error;
use crate::model::{POINTS, StdScale};
use crate::training::checkpoint::StateArrays;

impl Sampler {
    /// What the next epoch depends on.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    pub(super) fn numbers(&self) -> Result<StateArrays, Error> {
        let mut numbers = StateArrays::default();
        let ranks: Vec<f64> = self.ranks.iter().map(|&rank| rank as f64).collect();
        numbers.put_doubles("ranks", &ranks);
        for (mode, factor) in self.factors.iter().enumerate() {
            numbers.put(format!("factor.{mode}"), factor);
            numbers.put(format!("root.{mode}"), &self.noise.roots[mode]);
            if self.average.draws > 0 {
                let own = self.average.natural_params[mode].values().to_vec();
                numbers.put(format!("natural.{mode}"), &self.nodes.gather(own)?);
                numbers.put(format!("share.{mode}"), &self.average.shares[mode]);
            }
        }
        self.core.put(&mut numbers);
        for (number, matrix) in self.matrices.iter().enumerate() {
            matrix.put(number, &mut numbers);
        }
        if self.average.draws > 0 {
            numbers.put("mean.core", &self.average.core);
            for (number, columns) in self.average.columns.iter().enumerate() {
                numbers.put(format!("mean.columns.{number}"), columns);
            }
        }
        numbers.put_doubles("weights", &self.average.weights);
        let average = [self.average.draws as f64, self.average.variance];
        numbers.put_doubles("average", &average);
        if let Some((calibration, _)) = &self.calibration {
            calibration.put(&mut numbers);
        }
        self.schedule.put(&mut numbers);
        self.watched.iter().for_each(|watched| watched.put(&mut numbers));
        numbers.put_doubles("noise", &[self.noise.tau, self.noise.hurdle]);
        if let Some(augmentation) = &self.augmentation {
            let [slope, intercept] = augmentation.link;
            numbers.put_doubles("likelihood", &[augmentation.dispersion, slope, intercept]);
        }
        let mut scale = vec![0.0; 2 * POINTS];
        let points = self.scale.iter().flat_map(|scale| scale.points.iter().flatten());
        scale.iter_mut().zip(points).for_each(|(number, &point)| *number = point);
        numbers.put("std_scale", &scale);
        Ok(numbers)
    }

    /// Goes on from what the epoch after this one depends on; entries take part that do so by then.
    ///
    /// # Errors
    /// If the numbers are those of another run.
    pub(super) fn restore(&mut self, mut numbers: StateArrays) -> Result<(), Error> {
        if let Some((calibration, _)) = &mut self.calibration {
            calibration.get(&mut numbers)?;
        }
        let mut ranks = vec![0.0; self.ranks.len()];
        numbers.get_doubles("ranks", &mut ranks)?;
        // It had at most as many as it started with.
        let ranks: Vec<usize> =
            ranks.iter().zip(&self.ranks).map(|(&rank, &most)| (rank as usize).clamp(2, most)).collect();
        self.reduce(&ranks);
        let mut average = [0.0; 2];
        numbers.get_doubles("average", &mut average)?;
        // No epoch gives more than one.
        self.average.draws = (average[0] as usize).min(self.epoch as usize);
        self.average.variance = average[1];
        for mode in 0..self.factors.len() {
            numbers.get(&format!("factor.{mode}"), &mut self.factors[mode])?;
            numbers.get(&format!("root.{mode}"), &mut self.noise.roots[mode])?;
        }
        self.core.get(&mut numbers)?;
        for (number, matrix) in self.matrices.iter_mut().enumerate() {
            matrix.get(number, &mut numbers)?;
        }
        if self.average.draws > 0 {
            self.average.shares = self.noise.roots.clone();
            for mode in 0..self.factors.len() {
                // Those of all rows, of which some may be other nodes'.
                let len = NaturalParams::len(self.ranks[mode]);
                let mut all = vec![0.0; self.noise.counts[mode].len() * len];
                numbers.get(&format!("natural.{mode}"), &mut all)?;
                let own = self.own_rows(mode);
                let own = &all[own.start * len..own.end * len];
                self.average.natural_params[mode].numbers().copy_from_slice(own);
                numbers.get(&format!("share.{mode}"), &mut self.average.shares[mode])?;
            }
            self.average.core = self.core.values.clone();
            numbers.get("mean.core", &mut self.average.core)?;
            let columns = |matrix: &super::Matrix| vec![0.0; matrix.columns().len()];
            self.average.columns = self.matrices.iter().map(columns).collect();
            self.average.weights = vec![0.0; self.matrices.len()];
            numbers.get_doubles("weights", &mut self.average.weights)?;
            for (number, columns) in self.average.columns.iter_mut().enumerate() {
                numbers.get(&format!("mean.columns.{number}"), columns)?;
            }
        }
        let draws = if self.is_typical() { self.average.draws } else { 0 };
        self.watched.iter_mut().try_for_each(|watched| watched.get(draws, &mut numbers))?;
        let mut noise = [0.0; 2];
        numbers.get_doubles("noise", &mut noise)?;
        [self.noise.tau, self.noise.hurdle] = noise;
        if let Some(augmentation) = &mut self.augmentation {
            let mut own = [0.0; 3];
            numbers.get_doubles("likelihood", &mut own)?;
            augmentation.set_dispersion(own[0]);
            augmentation.link = [own[1], own[2]];
        }
        let mut scale = vec![0.0; 2 * POINTS];
        numbers.get("std_scale", &mut scale)?;
        // Where it is not known, all are zero.
        let points = scale.chunks_exact(2).map(|point| [point[0], point[1]]).collect();
        self.scale = scale.iter().any(|&number| number > 0.0).then_some(StdScale { points });
        Ok(())
    }
}
