//! The rows of a mode as points, such that those are near each other that predictions treat alike.

use super::matrix::{Moments, eigen};
use super::metric::Metric;
use crate::Model;
use crate::parallel;

/// Points of this likeness go in the same direction.
const SAME: f64 = 0.9995;

/// The rows of a mode as directions: points at distance 1 from the origin.
///
/// Where all numbers of the factor are 0 or more, these are its rows. Where not, they are its rows around their mean, in
/// coordinates in which the distance of two rows is how far their predictions lie apart: a factor's own coordinates can be
/// stretched and turned as one likes, if the core is with them. The level, how high values are with the mean entities of the
/// other modes, is one direction of these. Where it has so much of what varies that it is a concept of its own, it can be left
/// out, as two films are not alike for both being good.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    size: usize,
    points: Vec<f32>,
}

impl Space {
    /// The space of a mode, with or without the level.
    pub fn new(model: &Model, mode: usize, level: bool) -> Self {
        let (size, mut points) = coordinates(model, mode, level);
        parallel::chunks_mut(&mut points, size, |_, point| {
            let length = point.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 {
                point.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
            }
        });
        Space { size, points }
    }

    /// How many coordinates a point has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many points there are.
    pub fn rows(&self) -> usize {
        self.points.len() / self.size
    }

    /// The point of a row.
    pub fn point(&self, row: usize) -> &[f32] {
        &self.points[row * self.size..(row + 1) * self.size]
    }

    pub(super) fn points(&self) -> &[f32] {
        &self.points
    }

    /// How alike two rows are: the cosine of the angle between them.
    pub fn likeness(&self, a: usize, b: usize) -> f64 {
        dot(self.point(a), self.point(b))
    }

    /// Whether all points lie on one line through the origin: then any two are as alike as can be, or the opposite.
    pub fn is_line(&self) -> bool {
        let mut some = (0..self.rows()).filter(|&row| self.likeness(row, row) > 0.0);
        let Some(first) = some.next() else { return true };
        some.all(|row| self.likeness(first, row).abs() > SAME)
    }

    /// A flat map of the points: the two coordinates in which they vary most.
    pub fn map(&self) -> Vec<[f32; 2]> {
        let moments = Moments::new(&crate::Factor::new(self.size, self.points.clone()));
        let axes = eigen(self.size, &moments.covariance());
        let along = |point: &[f32], axis: usize| -> f32 {
            let Some((_, axis)) = axes.get(axis) else { return 0.0 };
            let terms = point.iter().zip(axis).zip(&moments.mean);
            terms.map(|((&value, axis), mean)| (f64::from(value) - mean) * axis).sum::<f64>() as f32
        };
        parallel::map(self.points.len() / self.size, |row| {
            let point = &self.points[row * self.size..][..self.size];
            [along(point, 0), along(point, 1)]
        })
    }
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// Whether no number of a mode's factor is below 0, so that its concepts can be read as they are.
pub(super) fn is_nonnegative(model: &Model, mode: usize) -> bool {
    model.factors()[mode].values().iter().all(|&value| value >= 0.0)
}

fn coordinates(model: &Model, mode: usize, level: bool) -> (usize, Vec<f32>) {
    let factor = &model.factors()[mode];
    let rank = factor.rank();
    if is_nonnegative(model, mode) {
        return (rank, factor.values().to_vec());
    }
    let moments: Vec<Moments> = model.factors().iter().map(Moments::new).collect();
    let metric = Metric::new(model.core(), &moments, mode);
    let axes = metric.axes(level || !metric.has_level(&moments[mode].covariance()));
    let mean = &moments[mode].mean;
    let point = |row: &[f32]| -> Vec<f32> {
        let along = |axis: &Vec<f64>| {
            let terms = row.iter().zip(mean).zip(axis);
            terms.map(|((&value, mean), axis)| (f64::from(value) - mean) * axis).sum::<f64>() as f32
        };
        axes.iter().map(along).collect()
    };
    let points = parallel::map(factor.rows(), |row| point(factor.row(row)));
    (rank, points.concat())
}
