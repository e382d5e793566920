//! `[NAME=]COLUMN[:BINS]`: which column a mode is, and what its values are put together by.

use std::fmt;
use std::str::FromStr;

use crate::table::{Bins, ColumnType, Selector, Want};

/// What a mode is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeSpec {
    /// The mode's name, if it is not that of its column.
    pub name: Option<String>,
    /// Its column.
    pub column: Selector,
    /// What the column's values are put together by; without it, every value is an entity.
    pub bins: Option<Bins>,
}

impl ModeSpec {
    /// The column to read.
    pub fn want(&self) -> Want {
        Want { column: self.column.clone(), kind: self.bins.map_or(ColumnType::Id, Bins::kind) }
    }
}

impl FromStr for ModeSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The bins may have an equals sign, too: price:bins=20.
        let (rest, bins) = match text.split_once(':') {
            Some((rest, bins)) => (rest, Some(bins.parse()?)),
            None => (text, None),
        };
        let (name, column) = match rest.split_once('=') {
            Some((name, column)) => (Some(name), column),
            None => (None, rest),
        };
        if column.is_empty() || name.is_some_and(str::is_empty) {
            return Err(format!("{text:?} should be COLUMN, COLUMN:BINS or NAME=COLUMN"));
        }
        Ok(ModeSpec { name: name.map(str::to_owned), column: Selector::parse(column), bins })
    }
}

impl fmt::Display for ModeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        write!(f, "{}", self.column)?;
        self.bins.map_or(Ok(()), |bins| write!(f, ":{bins}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::time::Bin;

    #[test]
    fn what_is_typed_is_what_is_printed() {
        for text in ["userId", "3", "timestamp:month", "when=timestamp:hour-of-day", "price:bins=20"] {
            assert_eq!(text.parse::<ModeSpec>().unwrap().to_string(), text);
        }
        let spec: ModeSpec = "when=4:month".parse().unwrap();
        assert_eq!(spec.name.as_deref(), Some("when"));
        assert_eq!((spec.column, spec.bins), (Selector::Place(3), Some(Bins::Time(Bin::Month))));
        for text in ["", ":month", "=x", "a=", "timestamp:mnth", "price:bins=0"] {
            assert!(text.parse::<ModeSpec>().is_err(), "{text}");
        }
    }
}
