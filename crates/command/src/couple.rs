//! `--couple MODE=FILE[,kind][,weight=W]`: from the text to a coupled matrix.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use s3cmtf::{Coupled, Kind, files};

use crate::failure::usage;

/// One `--couple`, as typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoupleArg {
    mode: String,
    file: PathBuf,
    kind: Kind,
    weight: Option<f32>,
}

const FORM: &str = "should be MODE=FILE[,zeros|,graph|,missing][,weight=W], such as user=friends.tns,graph";

impl FromStr for CoupleArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mode, rest) = text.split_once('=').ok_or(FORM)?;
        let mut parts = rest.split(',');
        let file = parts.next().unwrap_or_default();
        if mode.is_empty() || file.is_empty() {
            return Err(FORM.into());
        }
        let (mut kind, mut weight) = (None, None);
        for part in parts {
            let twice = if let Some(number) = part.strip_prefix("weight=") {
                weight.replace(parse_weight(number)?).is_some()
            } else {
                kind.replace(parse_kind(part)?).is_some()
            };
            if twice {
                return Err(format!("{part}: one kind and one weight at most; it {FORM}"));
            }
        }
        let kind = kind.unwrap_or(Kind::Missing);
        Ok(CoupleArg { mode: mode.into(), file: file.into(), kind, weight })
    }
}

impl fmt::Display for CoupleArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={},{}", self.mode, self.file.display(), self.kind.name())?;
        self.weight.map_or(Ok(()), |weight| write!(f, ",weight={weight}"))
    }
}

fn parse_kind(word: &str) -> Result<Kind, String> {
    let kinds = [Kind::Missing, Kind::Zeros, Kind::Graph];
    kinds.into_iter().find(|kind| kind.name() == word).ok_or_else(|| {
        format!("{word:?} is none of zeros, graph, missing, weight=W (a file name may not have a comma); it {FORM}")
    })
}

fn parse_weight(text: &str) -> Result<f32, String> {
    let weight: Option<f32> = text.parse().ok();
    weight
        .filter(|weight| weight.is_finite() && *weight >= 0.0)
        .ok_or_else(|| format!("weight should be a number, 0 or more, but is {text:?}"))
}

impl CoupleArg {
    /// Which mode is meant, counted from 0, among modes of these names.
    fn mode(&self, names: &[String]) -> anyhow::Result<usize> {
        let number: Option<usize> = self.mode.parse().ok();
        number
            .and_then(|number| number.checked_sub(1))
            .filter(|&mode| mode < names.len())
            .or_else(|| names.iter().position(|name| *name == self.mode))
            .ok_or_else(|| {
                usage(format!(
                    "--couple {}={}: there is no mode {}; the modes are {} (or 1 to {})",
                    self.mode,
                    self.file.display(),
                    self.mode,
                    names.join(", "),
                    names.len()
                ))
            })
    }

    /// The matrix's name among modes of these names: `MODE/STEM`.
    fn name(&self, names: &[String]) -> anyhow::Result<String> {
        let mode = &names[self.mode(names)?];
        let file = self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy();
        let stem = file.strip_suffix(".gz").unwrap_or(&file);
        let stem = stem.strip_suffix(".tns").unwrap_or(stem);
        Ok(format!("{mode}/{}", if stem.is_empty() { &file } else { stem }))
    }

    /// Reads the matrix.
    pub(crate) fn read(&self, modes: &[String], name: &str) -> anyhow::Result<Coupled> {
        let mode = self.mode(modes)?;
        let matrix = Coupled::new(mode, self.kind, files::read_entries(&self.file, Some(2))?)?.named(name);
        Ok(match self.weight {
            Some(weight) => matrix.weighted(weight),
            None => matrix,
        })
    }
}

/// The name of each matrix, among modes of these names; the second `user/friends` is `user/friends#2`.
pub(crate) fn names(couples: &[CoupleArg], modes: &[String]) -> anyhow::Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for couple in couples {
        let name = couple.name(modes)?;
        let mut numbered = (2..).map(|number| format!("{name}#{number}"));
        let free = std::iter::once(name.clone()).chain(&mut numbered).find(|name| !names.contains(name));
        names.push(free.unwrap_or(name));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CoupleArg, String> {
        text.parse()
    }

    #[test]
    fn the_kind_is_missing_unless_given() {
        let plain = parse("user=a.tns").unwrap();
        assert_eq!((plain.kind, plain.weight), (Kind::Missing, None));
        let full = parse("1=dir/a=b.tns,weight=0.5,graph").unwrap();
        assert_eq!((full.kind, full.weight), (Kind::Graph, Some(0.5)));
        assert_eq!(full.file, PathBuf::from("dir/a=b.tns"));
    }

    #[test]
    fn what_was_typed_can_be_typed_again() {
        for text in ["user=a.tns", "1=dir/a=b.tns,weight=0.5,graph", "item=genre,zeros"] {
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
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_mode_goes_by_number_or_by_name_and_names_the_matrix() {
        let names = ["user".to_owned(), "item".to_owned()];
        assert_eq!(parse("2=x/genre.tns.gz").unwrap().name(&names).unwrap(), "item/genre");
        assert_eq!(parse("user=friends.tns").unwrap().name(&names).unwrap(), "user/friends");
        assert_eq!(parse("user=.tns").unwrap().name(&names).unwrap(), "user/.tns");
        assert!(parse("3=a").unwrap().mode(&names).is_err());
        assert!(parse("0=a").unwrap().mode(&names).is_err());
        let error = parse("users=a").unwrap().mode(&names).unwrap_err().to_string();
        assert!(error.contains("user, item"), "{error}");
    }
}
