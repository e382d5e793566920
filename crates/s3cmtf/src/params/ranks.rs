//! Ranks of settings: a list, or the word `auto` for none.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of whole numbers, or \"auto\"")]
enum Ranks {
    Word(Auto),
    List(Vec<usize>),
}

#[derive(Serialize, Deserialize)]
enum Auto {
    #[serde(rename = "auto")]
    Auto,
}

pub(super) fn serialize<S: Serializer>(ranks: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    if ranks.is_empty() { Auto::Auto.serialize(serializer) } else { ranks.serialize(serializer) }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    Ranks::deserialize(deserializer).map(|ranks| match ranks {
        Ranks::Word(Auto::Auto) => Vec::new(),
        Ranks::List(ranks) => ranks,
    })
}
