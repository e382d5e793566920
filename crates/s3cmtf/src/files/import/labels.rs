//! Names for things that have an id: two things never share one.

use hashbrown::{HashMap, HashSet};

/// A thing to be named.
pub(super) struct Thing {
    pub(super) id: String,
    /// May be empty, and that of another thing too.
    pub(super) name: String,
    /// What tells it from others of the same name; may be empty.
    pub(super) hint: String,
}

/// A name for each thing: its own if no other has it, else with the hint behind it if that is enough, else with the id.
pub(super) fn label(things: &[Thing]) -> Vec<String> {
    let hinted = |thing: &Thing| format!("{} [{}]", thing.name, thing.hint);
    let (mut names, mut hints) = (HashMap::new(), HashMap::new());
    for thing in things {
        *names.entry(thing.name.as_str()).or_insert(0) += 1;
    }
    let shared = |thing: &Thing| thing.name.is_empty() || names[thing.name.as_str()] > 1;
    for thing in things.iter().filter(|thing| shared(thing)) {
        *hints.entry(hinted(thing)).or_insert(0) += 1;
    }
    // A name may look like another one with something behind it.
    let taken: HashSet<&str> =
        things.iter().filter(|thing| !shared(thing)).map(|thing| thing.name.as_str()).collect();
    let mut labels = Vec::with_capacity(things.len());
    let mut made: HashSet<String> = HashSet::new();
    for thing in things {
        if !shared(thing) {
            labels.push(thing.name.clone());
            continue;
        }
        let hinted = hinted(thing);
        let enough = !thing.name.is_empty() && !thing.hint.is_empty() && hints[&hinted] == 1;
        let mut label = match (enough, thing.name.is_empty()) {
            (true, _) => hinted,
            (false, true) => format!("[{}]", thing.id),
            (false, false) => format!("{} [{}]", thing.name, thing.id),
        };
        while taken.contains(label.as_str()) || !made.insert(label.clone()) {
            label.push_str(&format!(" [{}]", thing.id));
        }
        labels.push(label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_things_share_a_label() {
        let things = [
            ("1", "Alone", ""),
            ("2", "Café", "Rome"),
            ("3", "Café", "Oslo"),
            ("4", "Bar", "Rome"),
            ("5", "Bar", "Rome"),
            ("6", "Hamlet", ""),
            ("7", "Hamlet", ""),
            ("8", "Hamlet [7]", ""),
            ("9", "", "Rome"),
        ];
        let things =
            things.map(|(id, name, hint)| Thing { id: id.into(), name: name.into(), hint: hint.into() });
        let expected = [
            "Alone",
            "Café [Rome]",
            "Café [Oslo]",
            "Bar [4]",
            "Bar [5]",
            "Hamlet [6]",
            "Hamlet [7] [7]",
            "Hamlet [7]",
            "[9]",
        ];
        assert_eq!(label(&things), expected);
    }
}
