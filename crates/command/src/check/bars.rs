//! How often something is there, as bars of text.

use std::io::{self, Write};

use s3cmtf::internal::describe::Bar;

use crate::show;

/// The characters of the longest bar.
const LONGEST: usize = 40;

/// Writes a bar per line.
pub(super) fn write(out: &mut dyn Write, bars: &[Bar]) -> io::Result<()> {
    let number = |number: f64| {
        let text = format!("{number:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let label = |bar: &Bar| match bar.from == bar.to {
        true => number(bar.from),
        false => format!("{} to {}", number(bar.from), number(bar.to)),
    };
    let width = bars.iter().map(|bar| label(bar).len()).max().unwrap_or(0);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    for bar in bars {
        // Something is never shown as nothing: the least bar is an eighth of a character.
        let share = bar.count as f64 / most as f64;
        let least = if bar.count == 0 { 0.0 } else { 0.125 / LONGEST as f64 };
        let drawn = show::bar(share.max(least), LONGEST);
        writeln!(out, "      {:>width$}  {drawn} {}", label(bar), bar.count)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use s3cmtf::internal::describe::{by_powers, by_values};

    use super::*;

    fn lines(bars: &[Bar]) -> String {
        let mut out = Vec::new();
        write(&mut out, bars).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn the_longest_bar_is_of_what_there_is_most() {
        let powers = lines(&by_powers(&[1, 1, 2, 3, 9, 8, 15]));
        assert!(powers.contains("8 to 15  ████████████████████████████████████████ 3\n"));
        assert!(lines(&by_powers(&[vec![1; 1000], vec![2]].concat())).contains("2 to 3  ▏ 1\n"));
        assert_eq!(
            lines(&by_values(&[0.5, 5.0, 0.5])),
            format!("      0.5  {} 2\n        5  {} 1\n", "█".repeat(40), "█".repeat(20))
        );
    }
}
