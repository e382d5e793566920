//! `--couple MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT][,kind][,weight=W]`: from the text to what the library is asked for.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use s3cmtf::Absent;
use s3cmtf::internal::input::{Couple, TableSource};
use s3cmtf::internal::table::did_you_mean;

/// One `--couple`, as typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoupleArg {
    mode: String,
    file: PathBuf,
    /// The columns of the file that were named.
    columns: Vec<String>,
    split: Option<String>,
    kind: Option<Absent>,
    weight: Option<f32>,
}

const FORM: &str = "should be MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT][,zeros|,graph|,missing][,weight=W], such as \
    user=friends.tns,graph or movieId=movies.csv:movieId,genres,split=|,zeros";

/// A separator that cannot be typed between commas.
const COMMA: &str = "comma";

impl FromStr for CoupleArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mode, rest) = text.split_once('=').ok_or(FORM)?;
        let mut parts = rest.split(',');
        let first = parts.next().unwrap_or_default();
        let (file, column) = match first.rsplit_once(':') {
            // A drive of Windows is no file.
            Some((file, column)) if !column.starts_with(['/', '\\']) => (file, Some(column)),
            _ => (first, None),
        };
        if mode.is_empty() || file.is_empty() || column == Some("") {
            return Err(FORM.into());
        }
        let mut columns: Vec<String> = column.into_iter().map(str::to_owned).collect();
        let (mut kind, mut weight, mut split) = (None, None, None);
        for part in parts {
            let twice = if let Some(number) = part.strip_prefix("weight=") {
                weight.replace(parse_weight(number)?).is_some()
            } else if let Some(separator) = part.strip_prefix("split=") {
                let separator = if separator == COMMA { "," } else { separator };
                split.replace(separator.to_owned()).is_some() || separator.is_empty()
            } else if let Some(found) = find_kind(part) {
                kind.replace(found).is_some()
            } else if !columns.is_empty() && columns.len() < 3 && !part.is_empty() {
                columns.push(part.to_owned());
                false
            } else {
                return Err(no_kind(part));
            };
            if twice {
                return Err(format!("{part}: one kind, one weight and one split at most; it {FORM}"));
            }
        }
        Ok(CoupleArg { mode: mode.into(), file: file.into(), columns, split, kind, weight })
    }
}

impl fmt::Display for CoupleArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.mode, self.file.display())?;
        for (place, column) in self.columns.iter().enumerate() {
            write!(f, "{}{column}", if place == 0 { ':' } else { ',' })?;
        }
        if let Some(split) = &self.split {
            write!(f, ",split={}", if split == "," { COMMA } else { split })?;
        }
        if let Some(kind) = self.kind {
            write!(f, ",{}", kind.name())?;
        }
        self.weight.map_or(Ok(()), |weight| write!(f, ",weight={weight}"))
    }
}

fn find_kind(word: &str) -> Option<Absent> {
    Absent::ALL.into_iter().find(|kind| kind.name() == word)
}

fn no_kind(word: &str) -> String {
    let hint = did_you_mean(Absent::ALL.map(Absent::name), word);
    format!(
        "{word:?} is none of zeros, graph, missing, weight=W, split=TEXT{hint} (a file name may not have a comma, and columns \
         follow a colon); it {FORM}"
    )
}

fn parse_weight(text: &str) -> Result<f32, String> {
    let weight: Option<f32> = text.parse().ok();
    weight
        .filter(|weight| weight.is_finite() && *weight >= 0.0)
        .ok_or_else(|| format!("weight should be a number, 0 or more, but is {text:?}"))
}

impl CoupleArg {
    /// The file that the matrix is read from.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The same with another weight, or without one.
    pub(crate) fn weighted(&self, weight: Option<f32>) -> CoupleArg {
        CoupleArg { weight, ..self.clone() }
    }

    /// What the library is asked for.
    pub(crate) fn couple(&self) -> Couple {
        let file = self.file.display();
        Couple {
            mode: self.mode.clone(),
            table: TableSource::path(&self.file),
            columns: self.columns.clone(),
            split: self.split.clone(),
            kind: self.kind,
            weight: self.weight,
            name: None,
            label: format!("--couple {}={file}", self.mode),
            words: format!("--couple {self}"),
            example: format!("{}={file}:{{row}},{{column}}", self.mode),
        }
    }
}

/// What the library is asked for by all of them.
pub(crate) fn couples(typed: &[CoupleArg]) -> Vec<Couple> {
    typed.iter().map(CoupleArg::couple).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CoupleArg, String> {
        text.parse()
    }

    #[test]
    fn kind_and_weight_are_what_was_typed() {
        let plain = parse("user=a.tns").unwrap();
        assert_eq!((plain.kind, plain.weight), (None, None));
        let full = parse("1=dir/a=b.tns,weight=0.5,graph").unwrap();
        assert_eq!((full.kind, full.weight), (Some(Absent::Graph), Some(0.5)));
        assert_eq!(full.file, PathBuf::from("dir/a=b.tns"));
    }

    #[test]
    fn what_was_typed_can_be_typed_again() {
        for text in [
            "user=a.tns",
            "1=dir/a=b.tns,weight=0.5,graph",
            "item=genre,zeros",
            "movieId=movies.csv:movieId,genres,split=|,zeros",
            "u=f.csv:u,friends,split=comma,graph",
            "m=x.csv:id,year:bins=10,price,missing,weight=2",
        ] {
            let couple = parse(text).unwrap();
            assert_eq!(parse(&couple.to_string()).unwrap(), couple);
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let wrong = [
            "",
            "user",
            "=a.tns",
            "user=",
            "user=a,grph",
            "user=a,",
            "user=a,weight=",
            "user=a,weight=-1",
            "user=a,weight=nan",
            "user=a,zeros,graph",
            "user=a,weight=1,weight=2",
            "user=a:,zeros",
            "user=a:b,c,d,e",
            "user=a:b,c,split=",
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
