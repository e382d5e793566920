//! The literals of Python that headers of arrays are made of.

/// A literal; a tuple is a list here.
#[derive(Debug)]
pub(super) enum Literal {
    Text(String),
    Number(usize),
    Bool(bool),
    List(Vec<Literal>),
    Dictionary(Vec<(String, Literal)>),
}

impl Literal {
    /// The one literal that a text is.
    pub(super) fn parse(text: &str) -> Option<Literal> {
        let mut parser = Parser(text.trim_end());
        parser.literal(0).filter(|_| parser.skip_blanks().is_empty())
    }
}

struct Parser<'a>(&'a str);

impl<'a> Parser<'a> {
    fn skip_blanks(&mut self) -> &'a str {
        self.0 = self.0.trim_start();
        self.0
    }

    /// Passes a token if it comes next.
    fn pass(&mut self, token: &str) -> Option<()> {
        self.0 = self.skip_blanks().strip_prefix(token)?;
        Some(())
    }

    fn literal(&mut self, depth: usize) -> Option<Literal> {
        // Headers are three deep; what nests deeper must not overflow the stack.
        if depth > 8 {
            return None;
        }
        match self.skip_blanks().chars().next()? {
            quote @ ('\'' | '"') => {
                let rest = &self.0[1..];
                let end = rest.find(quote)?;
                self.0 = &rest[end + 1..];
                // An escape occurs only in names that nobody types.
                (!rest[..end].contains('\\')).then(|| Literal::Text(rest[..end].to_owned()))
            }
            'T' => self.pass("True").map(|()| Literal::Bool(true)),
            'F' => self.pass("False").map(|()| Literal::Bool(false)),
            '(' => self.list("(", ")", depth).map(Literal::List),
            '[' => self.list("[", "]", depth).map(Literal::List),
            '{' => {
                let mut entries = Vec::new();
                self.pass("{")?;
                while self.pass("}").is_none() {
                    let Literal::Text(key) = self.literal(depth + 1)? else { return None };
                    self.pass(":")?;
                    entries.push((key, self.literal(depth + 1)?));
                    if self.pass(",").is_none() && !self.skip_blanks().starts_with('}') {
                        return None;
                    }
                }
                Some(Literal::Dictionary(entries))
            }
            _ => {
                let digits = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
                let (number, rest) = self.0.split_at(digits);
                // Python 2 wrote long numbers as `3L`.
                self.0 = rest.strip_prefix('L').unwrap_or(rest);
                number.parse().ok().map(Literal::Number)
            }
        }
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Option<Vec<Literal>> {
        let mut items = Vec::new();
        self.pass(open)?;
        while self.pass(close).is_none() {
            items.push(self.literal(depth + 1)?);
            if self.pass(",").is_none() && !self.skip_blanks().starts_with(close) {
                return None;
            }
        }
        Some(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_whole_or_none() {
        let Some(Literal::List(items)) = Literal::parse(" (1, 'a', [True, 3L], {}) ") else { panic!() };
        assert_eq!(items.len(), 4);
        for bad in ["", "(1", "(1 2)", "1 2", "'a", "{1: 2}", "None", "-1", "[[[[[[[[[[[1]]]]]]]]]]]"] {
            assert!(Literal::parse(bad).is_none(), "{bad}");
        }
    }
}
