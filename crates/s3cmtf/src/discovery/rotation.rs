//! The rotation in which points lie as near to the axes as can be (varimax).

/// Points beyond this many are not looked at.
const MOST: usize = 20_000;
const SWEEPS: usize = 100;

/// An orthogonal matrix, row after row: times the points' coordinates, it gives those that lie near the axes. Every point
/// counts the same, however far it is from the centre.
pub(super) fn varimax(points: &[Vec<f64>], size: usize) -> Vec<f64> {
    let step = points.len().div_ceil(MOST).max(1);
    let mut rows: Vec<Vec<f64>> = points.iter().step_by(step).filter_map(|point| unit(point)).collect();
    let mut rotation: Vec<f64> =
        (0..size * size).map(|place| f64::from(u8::from(place / size == place % size))).collect();
    let count = rows.len().max(1) as f64;
    for _ in 0..SWEEPS {
        let mut most: f64 = 0.0;
        for a in 0..size {
            for b in a + 1..size {
                let angle = best_angle(&rows, a, b, count);
                most = most.max(angle.abs());
                let (sin, cos) = angle.sin_cos();
                let turn = |x: f64, y: f64| (cos * x + sin * y, cos * y - sin * x);
                for row in &mut rows {
                    (row[a], row[b]) = turn(row[a], row[b]);
                }
                for k in 0..size {
                    let (x, y) = turn(rotation[a * size + k], rotation[b * size + k]);
                    (rotation[a * size + k], rotation[b * size + k]) = (x, y);
                }
            }
        }
        if most < 1e-6 {
            break;
        }
    }
    rotation
}

/// The angle by which two axes are turned so that the squares of coordinates along them vary most (Kaiser 1958); none if points
/// were nearer to the axes before. That is so where nearly all lie on one of them: squares hardly vary along it, and vary by
/// chance between two axes that share it.
fn best_angle(rows: &[Vec<f64>], a: usize, b: usize, count: f64) -> f64 {
    let (mut u1, mut v1, mut uv, mut uu, mut vv) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for row in rows {
        let (u, v) = (row[a] * row[a] - row[b] * row[b], 2.0 * row[a] * row[b]);
        u1 += u;
        v1 += v;
        uv += u * v;
        uu += u * u;
        vv += v * v;
    }
    let angle = 0.25 * (2.0 * (uv - u1 * v1 / count)).atan2(uu - vv - (u1 * u1 - v1 * v1) / count);
    // The fourth powers of coordinates sum up to half of this, and what no angle changes.
    let (sin, cos) = (2.0 * angle).sin_cos();
    if cos * cos * uu + sin * sin * vv + 2.0 * sin * cos * uv < uu { 0.0 } else { angle }
}

fn unit(point: &[f64]) -> Option<Vec<f64>> {
    let length = point.iter().map(|value| value * value).sum::<f64>().sqrt();
    (length > 0.0 && length.is_finite()).then(|| point.iter().map(|value| value / length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_that_nearly_all_points_lie_on_is_not_shared() {
        let noise = |place: usize| 0.01 * ((place * 31 % 13) as f64 - 6.0);
        let sign = |place: usize| if place.is_multiple_of(2) { 1.0 } else { -1.0 };
        let points: Vec<Vec<f64>> = (0..200).map(|place| vec![sign(place), noise(place)]).collect();
        let rotation = varimax(&points, 2);
        assert!(rotation[0].abs() > 0.99, "{rotation:?}");
    }

    #[test]
    fn points_on_turned_axes_come_back_to_them() {
        // Three axes at right angles, turned; each point lies on one of them, nearly.
        let (s, c) = 0.7f64.sin_cos();
        let axes = [[c, s, 0.0], [-s * c, c * c, s], [s * s, -s * c, c]];
        let points: Vec<Vec<f64>> = (0..300)
            .map(|place| {
                let length = 1.0 + (place % 17) as f64;
                let noise = |k: usize| 0.02 * (((place * 31 + k * 17) % 13) as f64 - 6.0);
                (0..3).map(|k| length * axes[place % 3][k] + noise(k)).collect()
            })
            .collect();
        let rotation = varimax(&points, 3);
        for (place, point) in points.iter().enumerate() {
            let turned: Vec<f64> =
                rotation.chunks(3).map(|row| row.iter().zip(point).map(|(a, b)| a * b).sum()).collect();
            let squares: f64 = turned.iter().map(|value| value * value).sum();
            let most = turned.iter().fold(0.0f64, |most, value| most.max(value * value));
            assert!(most / squares > 0.95, "{place}: {turned:?}");
        }
        for a in 0..3 {
            for b in 0..3 {
                let dot: f64 = (0..3).map(|k| rotation[a * 3 + k] * rotation[b * 3 + k]).sum();
                assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-9);
            }
        }
    }
}
