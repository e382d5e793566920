//! Which separator a file has, by its first records.

use std::path::Path;

use super::Separator;
use super::sample::{Sample, sample};
use crate::files::format::ending;

/// In the order of preference: what is least likely to occur in a field comes first. A pipe comes last, since it is what
/// the genres of a film are separated by.
const CANDIDATES: [Separator; 5] = [
    Separator::Colons,
    Separator::Byte(b'\t'),
    Separator::Byte(b','),
    Separator::Byte(b';'),
    Separator::Byte(b'|'),
];

/// The separator of a file that starts with `head`; `whole` says that it also ends there.
///
/// It is the first candidate that cuts all records into the same number of fields, at least two.
pub(super) fn separator_of(head: &[u8], whole: bool, path: &Path) -> Separator {
    let samples = CANDIDATES.map(|separator| (separator, sample(head, whole, separator)));
    let even: Vec<_> = samples.iter().filter(|(_, sample)| is_even(sample)).collect();
    let is_even = |separator| even.iter().any(|(candidate, _)| *candidate == separator);
    if let Some(&&(first, _)) = even.first() {
        let (comma, semicolon) = (Separator::Byte(b','), Separator::Byte(b';'));
        if first == comma && is_even(semicolon) && has_decimal_commas(&samples[3].1) {
            return semicolon;
        }
        return first;
    }
    // Some record is broken, or all are one field: what most records agree on.
    let most = samples.iter().rev().max_by_key(|(_, sample)| agreeing(sample));
    match most {
        Some(&(separator, ref sample)) if agreeing(sample) > 0 => separator,
        _ if matches!(ending(path).as_str(), "tsv" | "tab") => Separator::Byte(b'\t'),
        _ => Separator::Byte(b','),
    }
}

fn is_even(sample: &Sample) -> bool {
    let width = sample.rows.first().map_or(0, Vec::len);
    !sample.broken && width > 1 && sample.rows.iter().all(|row| row.len() == width)
}

/// How many records have the number of fields, at least two, that most have.
fn agreeing(sample: &Sample) -> usize {
    let widths = sample.rows.iter().map(Vec::len).filter(|&width| width > 1);
    widths.clone().map(|width| widths.clone().filter(|&other| other == width).count()).max().unwrap_or(0)
}

/// Whether the commas of a table separated by semicolons are all those of numbers, as in `1;2,5`.
fn has_decimal_commas(sample: &Sample) -> bool {
    let decimal = |field: &str| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let field = field.strip_prefix('-').unwrap_or(field);
        field.split_once(',').is_some_and(|(whole, decimals)| digits(whole) && digits(decimals))
    };
    sample.rows.iter().flatten().all(|field| !field.contains(',') || decimal(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_separators() {
        for (text, separator) in [
            ("user,item\n1,2\n", Separator::Byte(b',')),
            ("1\t2,5\n1\t3,5\n", Separator::Byte(b'\t')),
            ("1::Toy Story (1995)::Animation|Children's\n2::Heat, The::Action|Crime\n", Separator::Colons),
            ("id,genres\n1,A|B|C\n2,A|B|C\n", Separator::Byte(b',')),
            ("1,A|B|C\n2,A|B|C\n", Separator::Byte(b',')),
            ("id,title\n1,\"A;B;C\"\n2,\"D, E\"\n", Separator::Byte(b',')),
            ("\"a;b\",1\n\"c;d\",2\n", Separator::Byte(b',')),
            ("a;b\n1;2,5\n", Separator::Byte(b';')),
            ("1;2,5;3,5\n4;2,5;1,5\n", Separator::Byte(b';')),
            ("1,x;y\n2,x;z\n", Separator::Byte(b',')),
            ("1|24|M|technician\n2|53|F|other, none\n", Separator::Byte(b'|')),
            ("a,b\n1,2\n3,4\n5,6,7\n", Separator::Byte(b',')),
            ("", Separator::Byte(b',')),
        ] {
            assert_eq!(separator_of(text.as_bytes(), true, Path::new("a")), separator, "{text:?}");
        }
        assert_eq!(separator_of(b"a\nb\n", true, Path::new("a.tsv.gz")), Separator::Byte(b'\t'));
    }
}
