//! Numbers as lines of text: nothing but values, for programs that know which cell each is of.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// Rows are turned into text in pieces of this many.
const PIECE: usize = 1 << 13;

/// Writes columns of the same length, a line per row, with the digits that tell a value from its neighbours.
///
/// # Errors
/// If nothing can be written.
pub fn write_values(writer: &mut dyn Write, columns: &[&[f32]]) -> io::Result<()> {
    let rows = columns.first().map_or(0, |first| first.len());
    for start in (0..rows).step_by(PIECE) {
        let text = piece(columns, start..rows.min(start + PIECE)).map_err(io::Error::other)?;
        writer.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn piece(columns: &[&[f32]], rows: std::ops::Range<usize>) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for row in rows {
        for (number, values) in columns.iter().enumerate() {
            let between = if number > 0 { " " } else { "" };
            write!(text, "{between}{}", values[row])?;
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_tells_a_value_from_its_neighbours() {
        let mut out = Vec::new();
        write_values(&mut out, &[&[0.1, 2.0], &[16_777_217.0, f32::MIN_POSITIVE]]).unwrap();
        let lines: Vec<Vec<f32>> = String::from_utf8(out)
            .unwrap()
            .lines()
            .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
            .collect();
        assert_eq!(lines, [[0.1, 16_777_216.0], [2.0, f32::MIN_POSITIVE]]);
        let many = vec![1.5; 3 * PIECE + 1];
        let mut out = Vec::new();
        write_values(&mut out, &[&many]).unwrap();
        assert_eq!(out, "1.5\n".repeat(many.len()).into_bytes());
    }
}
