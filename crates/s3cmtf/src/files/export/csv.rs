//! Comma-separated text: a heading and a line per row, quoted as RFC 4180 has it.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use super::{Out, Values};
use crate::parallel;
use crate::table::time::iso;

/// Rows are turned into text in pieces of this many.
const PIECE: usize = 1 << 13;
/// So many pieces at a time: enough for all threads, and no more memory than some tens of megabytes.
const PIECES: usize = 64;

pub(super) fn write(writer: &mut dyn Write, columns: &[Out]) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let mut heading = String::new();
    for (number, column) in columns.iter().enumerate() {
        between(&mut heading, number);
        push_text(&mut heading, &column.name, columns.len() == 1);
    }
    writeln!(writer, "{heading}")?;
    write_rows(writer, columns)
}

/// The rows without their heading.
pub(super) fn write_rows(writer: &mut dyn Write, columns: &[Out]) -> io::Result<()> {
    let rows = columns.first().map_or(0, |first| first.values.len());
    for start in (0..rows).step_by(PIECE * PIECES) {
        let pieces = (start..rows).step_by(PIECE).take(PIECES);
        let texts = parallel::map_of(pieces, |start| piece(columns, start..rows.min(start + PIECE)));
        for text in texts {
            writer.write_all(text.map_err(io::Error::other)?.as_bytes())?;
        }
    }
    Ok(())
}

/// The lines of some rows.
fn piece(columns: &[Out], rows: std::ops::Range<usize>) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for row in rows {
        for (number, column) in columns.iter().enumerate() {
            between(&mut text, number);
            match column.values {
                Values::Integers(values) => write!(text, "{}", values[row])?,
                Values::Numbers(values) => write!(text, "{}", Shortest(values[row]))?,
                Values::Singles(values) => write!(text, "{}", Shortest(values[row]))?,
                Values::Times(values) => iso::push(&mut text, values[row]),
                Values::Texts(codes, labels) => {
                    push_text(&mut text, labels.get(codes[row]), columns.len() == 1)
                }
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn between(text: &mut String, number: usize) {
    if number > 0 {
        text.push(',');
    }
}

fn push_text(line: &mut String, text: &str, alone: bool) {
    // A line that is empty is no row for many readers, and some take blanks at the ends away.
    let odd = text.contains(['"', ',', '\n', '\r']) || text.trim() != text || (alone && text.is_empty());
    if odd {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

/// The fewest digits that are read back as the same number, with an exponent where zeros would fill the line.
struct Shortest<T>(T);

impl<T: Copy + Into<f64> + Display + fmt::LowerExp> Display for Shortest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.into().abs();
        if size == 0.0 || (1e-5..1e16).contains(&size) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Labels;
    use proptest::prelude::*;

    fn text(columns: &[Out]) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, columns).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_needs_quotes_has_them() {
        let labels: Labels = ["plain", "a,b", "say \"hi\"", "two\nlines", "", " x"].into_iter().collect();
        let codes = [0, 1, 2, 3, 4, 5];
        let numbers = [1.0, -0.25, 1e300, 0.1, 0.0, -2.5e-9];
        let out = [
            Out::column("who", Values::Texts(&codes, &labels)),
            Out::column("a \"b\"", Values::Numbers(&numbers)),
            Out::column("when", Values::Times(&[0, 1, 2, 3, 4, 5])),
        ];
        let expected = "who,\"a \"\"b\"\"\",when\nplain,1,1970-01-01T00:00:00Z\n\"a,b\",-0.25,1970-01-01T00:00:01Z\n\
                        \"say \"\"hi\"\"\",1e300,1970-01-01T00:00:02Z\n\"two\nlines\",0.1,1970-01-01T00:00:03Z\n\
                        ,0,1970-01-01T00:00:04Z\n\" x\",-2.5e-9,1970-01-01T00:00:05Z\n";
        assert_eq!(text(&out), expected);
        assert_eq!(text(&[Out::column("x", Values::Texts(&[4], &labels))]), "x\n\"\"\n");
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[Out::column("x", Values::Singles(&[0.1]))]), "x\n0.1\n");
    }

    proptest! {
        #[test]
        fn numbers_are_read_back_as_they_were(number in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, single in prop::num::f32::NORMAL) {
            prop_assert_eq!(Shortest(number).to_string().parse::<f64>().unwrap().to_bits(), number.to_bits());
            prop_assert_eq!(Shortest(single).to_string().parse::<f32>().unwrap().to_bits(), single.to_bits());
        }
    }
}
