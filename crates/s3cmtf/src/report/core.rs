//! Which concepts go together.

use serde::Serialize;

use super::cut;
use crate::Model;
use crate::discovery::Concepts;

/// No more numbers of the core than this are shown.
const MOST: usize = 20_000;

/// The core of the concepts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreMap {
    /// The modes, and what each place along them is.
    pub modes: Vec<CoreMode>,
    /// The numbers, the last mode's changing fastest.
    pub values: Vec<f32>,
    /// How many numbers the whole core has; weaker concepts are left out where there are too many.
    pub of: usize,
    /// The combinations that matter most.
    pub strong: Vec<TopInteraction>,
}

/// A mode of the core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreMode {
    /// Its name.
    pub name: String,
    /// The mean entity, where there is one, and concepts.
    pub places: Vec<CoreConcept>,
}

/// A concept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreConcept {
    /// What it is called.
    pub name: String,
    /// What goes with it, if that is known.
    pub about: String,
}

/// Concepts that go together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopInteraction {
    /// Which.
    pub parts: Vec<CoreConcept>,
    /// What it adds to the value if each entity has 1 of its concept.
    pub value: f64,
}

impl CoreMap {
    pub(super) fn new(model: &Model, found: &Concepts) -> Self {
        let parts = |mode: usize| -> Vec<CoreConcept> {
            let name = model.modes()[mode].name();
            let own = found.concepts.iter().filter(|concept| concept.mode == name);
            let mut parts: Vec<CoreConcept> = own.map(|concept| part(found, &concept.name)).collect();
            if parts.len() < found.core_sizes[mode] {
                parts
                    .insert(0, CoreConcept { name: "mean".into(), about: format!("the mean {}", cut(name)) });
            }
            parts
        };
        let sizes = kept(&found.core_sizes);
        let modes = sizes.iter().enumerate().map(|(mode, &size)| CoreMode {
            name: cut(model.modes()[mode].name()),
            places: parts(mode).into_iter().take(size).collect(),
        });
        let strong = found.interactions.iter().map(|interaction| TopInteraction {
            parts: interaction.concepts.iter().map(|name| part(found, name)).collect(),
            value: interaction.value,
        });
        CoreMap {
            modes: modes.collect(),
            values: leading(&found.core, &found.core_sizes, &sizes),
            of: found.core.len(),
            strong: strong.collect(),
        }
    }
}

fn part(found: &Concepts, name: &str) -> CoreConcept {
    let known = found.concepts.iter().find(|concept| concept.name == name);
    // What goes with a concept may be unknown: its strongest entity says at least something.
    let about = known.map_or(String::new(), |concept| match concept.about.is_empty() {
        true => concept.strongest.first().map_or(String::new(), |entity| format!("such as {}", entity.name)),
        false => concept.about.clone(),
    });
    CoreConcept { name: name.to_owned(), about: cut(&about) }
}

/// Of each mode so many that there are not too many in all: the largest modes give way.
fn kept(sizes: &[usize]) -> Vec<usize> {
    let mut sizes = sizes.to_vec();
    while sizes.iter().product::<usize>() > MOST {
        let Some(largest) = sizes.iter_mut().max() else { break };
        *largest -= 1;
    }
    sizes
}

/// The numbers of the first places along each mode.
fn leading(values: &[f32], sizes: &[usize], kept: &[usize]) -> Vec<f32> {
    let of_place = |place: usize| {
        let (mut rest, mut at, mut step) = (place, 0, 1);
        for (size, kept) in sizes.iter().zip(kept).rev() {
            at += rest % kept * step;
            rest /= kept;
            step *= size;
        }
        values[at]
    };
    (0..kept.iter().product()).map(of_place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_concepts_of_a_large_core_are_left() {
        let values: Vec<f32> = (0..24).map(|place| place as f32).collect();
        assert_eq!(leading(&values, &[2, 3, 4], &[2, 3, 4]), values);
        assert_eq!(leading(&values, &[2, 3, 4], &[2, 1, 2]), [0.0, 1.0, 12.0, 13.0]);
        assert_eq!(kept(&[11, 11, 11]), [11, 11, 11]);
        let many = kept(&[400, 400, 6]);
        assert!(many.iter().product::<usize>() <= MOST && many[2] == 6, "{many:?}");
    }
}
