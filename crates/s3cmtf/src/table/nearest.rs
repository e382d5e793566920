//! The name that was probably meant by one that is not there.

/// Longer texts are compared by this many characters.
const COMPARED: usize = 100;

/// The name that was probably meant: the same but for case, or else the one that the fewest changes lead to.
pub fn nearest<'a>(names: impl IntoIterator<Item = &'a str>, wanted: &str) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let distances = names.into_iter().map(|name| (distance(&name.to_lowercase(), &wanted), name));
    let (changes, name) = distances.min_by_key(|(changes, _)| *changes)?;
    (changes <= (wanted.chars().count() / 3).max(1)).then_some(name)
}

/// The question for the end of a sentence about a name that is not there; nothing if no other is near.
pub fn did_you_mean<'a>(names: impl IntoIterator<Item = &'a str>, wanted: &str) -> String {
    nearest(names, wanted).map_or(String::new(), |near| format!(", did you mean \"{near}\"?"))
}

/// The same for names of which people type a part: `toy story` may be short for "Toy Story (1995)". Of several that have it, the
/// shortest are named.
pub fn did_you_mean_any<'a>(names: impl IntoIterator<Item = &'a str>, wanted: &str) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let part = wanted.to_lowercase();
    let has_part = |name: &&str| !part.trim().is_empty() && name.to_lowercase().contains(part.trim());
    let mut found: Vec<&str> = names.iter().copied().filter(has_part).collect();
    found.sort_by_key(|name| name.chars().count());
    let more = found.len().saturating_sub(NAMED);
    let quoted: Vec<String> = found.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect();
    match (quoted.is_empty(), more) {
        (true, _) => did_you_mean(names, wanted),
        (false, 0) => format!(", did you mean {}?", quoted.join(" or ")),
        (false, more) => format!(", did you mean {} or one of {more} more?", quoted.join(", ")),
    }
}

/// The most names that are said to have a part.
const NAMED: usize = 3;

/// How many characters must be put in, left out, replaced, or swapped with the next one to turn one text into the other.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| text.chars().take(COMPARED).collect::<Vec<char>>());
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_books() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("saturday", "sunday"), 3);
        assert_eq!((distance("", "abc"), distance("abc", ""), distance("abc", "abc")), (3, 3, 0));
        assert_eq!((distance("cvs", "csv"), distance("ca", "abc")), (1, 3));
    }

    #[test]
    fn a_part_of_a_name_is_enough() {
        let names = ["Toy Story 2 (1999)", "Jumanji (1995)", "Toy Story (1995)", "Toy Soldiers (1991)"];
        let meant = |wanted| did_you_mean_any(names, wanted);
        assert_eq!(meant("toy story"), ", did you mean \"Toy Story (1995)\" or \"Toy Story 2 (1999)\"?");
        assert_eq!(meant("JUMANJI"), ", did you mean \"Jumanji (1995)\"?");
        assert_eq!(meant("Jumanjy (1995)"), ", did you mean \"Jumanji (1995)\"?");
        assert_eq!((meant("Alien"), meant(" ")), (String::new(), String::new()));
        assert!(meant("(199").ends_with("or one of 1 more?"));
    }

    #[test]
    fn only_what_is_near_is_meant() {
        let names = ["userId", "movieId", "rating"];
        assert_eq!(nearest(names, "MOVIEID"), Some("movieId"));
        assert_eq!(nearest(names, "user_id"), Some("userId"));
        assert_eq!(nearest(names, "timestamp"), None);
        assert_eq!(nearest([], "x"), None);
        assert_eq!(did_you_mean(names, "ratign"), ", did you mean \"rating\"?");
        assert_eq!(did_you_mean(names, "x"), "");
    }
}
