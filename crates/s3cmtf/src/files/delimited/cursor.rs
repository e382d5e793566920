//! A place in a text that moves from field to field.

use memchr::{memchr, memchr2};

use super::Separator;

/// Why the cursor cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text ends within quotes.
    Open,
    /// A quoted field goes on behind its closing quote.
    Behind,
}

/// What follows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Field,
    Record,
}

/// A place in a text.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    /// Where it is.
    pub(super) at: usize,
    separator: Separator,
    /// The separator if it is one byte, otherwise a line end, which ends a field anyway.
    byte: u8,
    quotes: bool,
    /// The last field that had doubled quotes, with single ones.
    field: Vec<u8>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8], separator: Separator) -> Self {
        let (byte, quotes) = match separator {
            Separator::Byte(byte) => (byte, true),
            Separator::Colons | Separator::Blanks => (b'\n', false),
        };
        Cursor { text, at: 0, separator, byte, quotes, field: Vec::new() }
    }

    /// Goes to the start of the next record, over blank lines and, where there are any, comments; false at the end of
    /// the text.
    #[inline]
    pub(super) fn next_record(&mut self) -> bool {
        loop {
            let rest = &self.text[self.at..];
            let is_blank = |byte: u8| match byte {
                b' ' | b'\r' => true,
                b'\t' => self.byte != b'\t',
                _ => false,
            };
            let Some(start) = rest.iter().position(|&byte| !is_blank(byte)) else {
                self.at = self.text.len();
                return false;
            };
            match (rest[start], self.separator) {
                (b'\n', _) => self.at += start + 1,
                (b'#', Separator::Blanks) => self.at += line_end(rest, start),
                (_, Separator::Blanks) => {
                    self.at += start;
                    return true;
                }
                _ => return true,
            }
        }
    }

    /// The field here; the cursor goes to its end.
    pub(super) fn field(&mut self) -> Result<&[u8], Stop> {
        if self.quotes && self.text.get(self.at) == Some(&b'"') {
            return self.quoted();
        }
        let start = self.at;
        self.at = self.plain_end();
        Ok(self.text[start..self.at].trim_ascii())
    }

    /// Goes to the end of the field here.
    pub(super) fn skip(&mut self) -> Result<(), Stop> {
        if self.quotes && self.text.get(self.at) == Some(&b'"') {
            return self.quoted().map(drop);
        }
        self.at = self.plain_end();
        Ok(())
    }

    /// What `parse` makes of the field here, given the rest of the text; `None`, without moving, if it makes nothing
    /// of it or does not reach the end of the field.
    ///
    /// This goes over the bytes once, where [`Cursor::field`] first looks for the end.
    #[inline]
    pub(super) fn parse<T>(&mut self, parse: impl Fn(&[u8]) -> Option<(T, usize)>) -> Option<T> {
        let (value, length) = parse(&self.text[self.at..])?;
        let end = self.at + length;
        let ended = match self.text.get(end) {
            None => true,
            Some(&byte) => byte == self.byte || byte == b'\n' || self.ends_rarely(end),
        };
        ended.then(|| {
            self.at = end;
            value
        })
    }

    /// Goes over what lies behind a field.
    #[inline]
    pub(super) fn pass(&mut self) -> Next {
        match self.text.get(self.at) {
            None => Next::Record,
            Some(b'\n') => {
                self.at += 1;
                Next::Record
            }
            Some(&byte) if byte == self.byte => {
                self.at += 1;
                Next::Field
            }
            Some(b'\r') if self.separator != Separator::Blanks => {
                self.at = (self.at + 2).min(self.text.len());
                Next::Record
            }
            Some(_) if self.separator == Separator::Colons => {
                self.at += 2;
                Next::Field
            }
            Some(_) => {
                let rest = &self.text[self.at..];
                let blanks = rest.iter().take_while(|&&byte| byte.is_ascii_whitespace() && byte != b'\n');
                let start = blanks.count();
                if rest.get(start).is_some_and(|&byte| byte != b'\n' && byte != b'#') {
                    self.at += start;
                    return Next::Field;
                }
                self.at += line_end(rest, start);
                Next::Record
            }
        }
    }

    /// Whether a field ends here in one of the ways that are rare.
    #[cold]
    fn ends_rarely(&self, at: usize) -> bool {
        let rest = &self.text[at..];
        match self.separator {
            Separator::Blanks => rest[0].is_ascii_whitespace() || rest[0] == b'#',
            Separator::Colons if rest.starts_with(b"::") => true,
            _ => rest == b"\r" || rest.starts_with(b"\r\n"),
        }
    }

    /// Where the field here ends, which is not in quotes.
    fn plain_end(&self) -> usize {
        let rest = &self.text[self.at..];
        let end = match self.separator {
            Separator::Byte(byte) => memchr2(byte, b'\n', rest),
            Separator::Blanks => rest.iter().position(|&byte| byte.is_ascii_whitespace() || byte == b'#'),
            Separator::Colons => {
                let mut ends = memchr::memchr2_iter(b':', b'\n', rest);
                ends.find(|&end| rest[end] == b'\n' || rest.get(end + 1) == Some(&b':'))
            }
        };
        self.at + end.unwrap_or(rest.len())
    }

    /// The field here, which is in quotes.
    #[cold]
    fn quoted(&mut self) -> Result<&[u8], Stop> {
        let start = self.at + 1;
        let (mut end, mut doubled) = (start, false);
        loop {
            end += memchr(b'"', &self.text[end..]).ok_or(Stop::Open)?;
            if self.text.get(end + 1) != Some(&b'"') {
                break;
            }
            doubled = true;
            end += 2;
        }
        let behind = &self.text[end + 1..];
        let blanks = behind.iter().take_while(|&&byte| byte == b' ' || byte == b'\r').count();
        if behind.get(blanks).is_some_and(|&byte| byte != self.byte && byte != b'\n') {
            return Err(Stop::Behind);
        }
        self.at = end + 1 + blanks;
        let field = &self.text[start..end];
        if !doubled {
            return Ok(field);
        }
        self.field.clear();
        let mut rest = field;
        while let Some(quote) = memchr(b'"', rest) {
            self.field.extend_from_slice(&rest[..=quote]);
            rest = &rest[quote + 2..];
        }
        self.field.extend_from_slice(rest);
        Ok(&self.field)
    }
}

/// Behind the end of the line that a place lies in.
fn line_end(text: &[u8], from: usize) -> usize {
    memchr(b'\n', &text[from..]).map_or(text.len(), |end| from + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn records(text: &[u8], separator: Separator) -> Result<Vec<Vec<String>>, Stop> {
        let (mut cursor, mut records) = (Cursor::new(text, separator), Vec::new());
        while cursor.next_record() {
            let mut record = Vec::new();
            loop {
                record.push(String::from_utf8_lossy(cursor.field()?).into_owned());
                if cursor.pass() == Next::Record {
                    break;
                }
            }
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn known_records() {
        let comma = Separator::Byte(b',');
        for (text, separator, expected) in [
            ("a,b\nc,d", comma, vec![vec!["a", "b"], vec!["c", "d"]]),
            ("a,b\r\n\r\n  \nc,\r\n", comma, vec![vec!["a", "b"], vec!["c", ""]]),
            (" a , b\n", comma, vec![vec!["a", "b"]]),
            (
                "\"a,\nb\",\"say \"\"hi\"\"\"\r\n\"\",x",
                comma,
                vec![vec!["a,\nb", "say \"hi\""], vec!["", "x"]],
            ),
            ("5\" pipe,b\"c\n", comma, vec![vec!["5\" pipe", "b\"c"]]),
            (",\n", comma, vec![vec!["", ""]]),
            ("\"a\"\n\"b\"", comma, vec![vec!["a"], vec!["b"]]),
            ("\t\n1\t 2\n", Separator::Byte(b'\t'), vec![vec!["", ""], vec!["1", "2"]]),
            (
                "1::a:b::\"x\" y\n2::::c\r\n",
                Separator::Colons,
                vec![vec!["1", "a:b", "\"x\" y"], vec!["2", "", "c"]],
            ),
            (
                "# c\n 1 2\t3 # d\r\n\n4#e\n5 \r\n6",
                Separator::Blanks,
                vec![vec!["1", "2", "3"], vec!["4"], vec!["5"], vec!["6"]],
            ),
        ] {
            assert_eq!(records(text.as_bytes(), separator).unwrap(), expected, "{text:?}");
        }
        assert_eq!(records(b"a,\"b\nc", comma), Err(Stop::Open));
        assert_eq!(records(b"a,\"b\" c,d\n", comma), Err(Stop::Behind));
    }

    proptest! {
        #[test]
        fn what_is_quoted_is_read(
            table in (1usize..5).prop_flat_map(|width| {
                prop::collection::vec(prop::collection::vec("[a,\";\n\r é]{0,6}", width), 1..6)
            }),
            crlf: bool,
        ) {
            let field = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
            let end = if crlf { "\r\n" } else { "\n" };
            let lines = table.iter().map(|record| record.iter().map(field).collect::<Vec<_>>().join(","));
            let text = lines.collect::<Vec<_>>().join(end);
            prop_assert_eq!(records(text.as_bytes(), Separator::Byte(b',')), Ok(table));
        }

        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(prop::sample::select(b"a1,:;\"\n\r\t #".to_vec()), 0..60)) {
            for separator in [Separator::Byte(b','), Separator::Byte(b'\t'), Separator::Colons, Separator::Blanks] {
                let _ = records(&bytes, separator);
            }
        }
    }
}
