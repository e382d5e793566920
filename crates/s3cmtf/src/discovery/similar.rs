//! What is like what.

use super::space::Space;
use super::{Scored, largest};
use crate::{Error, Model};

/// The entities of a mode that are most like one of them, by its id, the likest first, with the cosine of the angle
/// between them: 1 is the same direction, 0 nothing in common. With `level` they are also alike in how high values are with all
/// entities of the other modes.
///
/// # Errors
/// If there is no such mode, or the model has no row for the id.
pub fn similar(model: &Model, mode: usize, id: u32, level: bool, top: usize) -> Result<Vec<Scored>, Error> {
    let known = model.modes().get(mode);
    let found =
        known.ok_or_else(|| Error::param("mode", format!("from 1 to {}", model.modes().len()), mode + 1))?;
    let row = found.row(id).ok_or_else(|| {
        Error::Problem(format!("the model has no row for {} {}", found.name(), found.label(id)))
    })? as usize;
    let space = Space::new(model, mode, level);
    let scores =
        (0..space.rows()).map(|other| if other == row { f64::NAN } else { space.likeness(row, other) });
    let named = |(row, score): (usize, f64)| Scored { name: found.label(found.id(row)).into_owned(), score };
    Ok(largest(scores, top).into_iter().map(named).collect())
}
