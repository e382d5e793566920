//! Sums that do not depend on the order of what is added.

use crate::Error;
use crate::nodes::Nodes;
use crate::parallel;

/// Numbers that one thread adds up at a time.
const TOGETHER: usize = 1 << 18;

/// One sum for each exponent that a number can have.
const EXPONENTS: usize = 1 << 11;
const MANTISSA: u32 = 52;

/// A sum of numbers, as whole multiples of each power of two: adding to these is exact, so that any order comes to the same.
pub(crate) struct ExactSum(Vec<i128>);

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum(vec![0; EXPONENTS])
    }
}

impl ExactSum {
    /// Adds a finite number.
    pub(crate) fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> MANTISSA) as usize % EXPONENTS;
        let own = (bits & ((1 << MANTISSA) - 1)) as i128;
        // Numbers below the least exponent have no leading one.
        let whole = if exponent == 0 { own } else { own | 1 << MANTISSA };
        self.0[exponent] += if number < 0.0 { -whole } else { whole };
    }

    /// Adds what `of` makes of each number, by all threads.
    pub(crate) fn add_all(&mut self, numbers: &[f32], of: impl Fn(f64) -> f64 + Sync) {
        let part = |numbers: &[f32]| {
            let mut sum = ExactSum::default();
            numbers.iter().for_each(|&number| sum.add(of(f64::from(number))));
            sum
        };
        for part in parallel::map_of(numbers.chunks(TOGETHER), part) {
            self.include(&part);
        }
    }

    /// Adds what another sum has.
    pub(crate) fn include(&mut self, other: &ExactSum) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum += more);
    }

    /// The sum, all nodes' numbers included.
    pub(crate) fn value(&self, nodes: &Nodes) -> Result<f64, Error> {
        let mut sums = vec![0i128; EXPONENTS];
        for other in nodes.each(self.0.clone())? {
            sums.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
        }
        // From the smallest on, so that they are not lost in those that are large.
        let parts = sums.into_iter().enumerate().filter(|(_, sum)| *sum != 0);
        Ok(parts.fold(0.0, |total, (exponent, sum)| {
            let power = exponent.max(1) as i32 - 1075;
            total + sum as f64 * 2f64.powi(power.max(-1000)) * 2f64.powi((power + 1000).min(0))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::ALONE;

    #[test]
    fn a_sum_is_that_of_its_numbers_in_any_order() {
        let numbers: Vec<f64> = (0..2000)
            .map(|i| (f64::from(i) * 0.7).sin() * 10f64.powi(i % 31 - 15))
            .chain([5e-324, -0.0, 1e-310, -1e200, 1e200])
            .collect();
        let sum = |numbers: &mut dyn Iterator<Item = &f64>| {
            let mut sum = ExactSum::default();
            numbers.for_each(|&number| sum.add(number));
            sum.value(&ALONE).unwrap()
        };
        let forth = sum(&mut numbers.iter());
        assert_eq!(forth.to_bits(), sum(&mut numbers.iter().rev()).to_bits());
        let plain: f64 = numbers[..2000].iter().sum();
        assert!((forth - plain).abs() < 1e-9 * plain.abs(), "{forth} and {plain}");
        let singles: Vec<f32> = (0..3 * TOGETHER / 2).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut all = ExactSum::default();
        all.add(0.25);
        all.add_all(&singles, |number| number * number);
        let squares: Vec<f64> = singles.iter().map(|&x| f64::from(x).powi(2)).chain([0.25]).collect();
        assert_eq!(all.value(&ALONE).unwrap().to_bits(), sum(&mut squares.iter()).to_bits());
        for exact in [[0.5, 4.5, 3.0], [-0.25, 1e9, 7.0], [5e-324, 0.0, 5e-324]] {
            assert_eq!(sum(&mut exact.iter()), exact.iter().sum::<f64>());
        }
    }
}
