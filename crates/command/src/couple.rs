//! `--couple MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT][,kind][,weight=W]`: from the text to a coupled matrix.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use s3cmtf::files::{self, Source};
use s3cmtf::prepare::{Matrix, MatrixSpec, ModeSpec};
use s3cmtf::table::{Kind as ColumnKind, Selector, did_you_mean};
use s3cmtf::{Coupled, Kind, Naming};

use crate::args::FileArgs;
use crate::failure::usage;
use crate::{modes, print, source};

/// One `--couple`, as typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoupleArg {
    mode: String,
    file: PathBuf,
    /// The columns of the file that were named.
    columns: Vec<String>,
    split: Option<String>,
    kind: Kind,
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
        let kind = kind.unwrap_or(Kind::Missing);
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
        write!(f, ",{}", self.kind.name())?;
        self.weight.map_or(Ok(()), |weight| write!(f, ",weight={weight}"))
    }
}

fn find_kind(word: &str) -> Option<Kind> {
    [Kind::Missing, Kind::Zeros, Kind::Graph].into_iter().find(|kind| kind.name() == word)
}

fn no_kind(word: &str) -> String {
    let hint = did_you_mean([Kind::Missing, Kind::Zeros, Kind::Graph].map(Kind::name), word);
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
    /// Which mode is meant, counted from 0, among modes of these names.
    pub(crate) fn mode(&self, names: &[String]) -> anyhow::Result<usize> {
        modes::find(&self.mode, names, &format!("--couple {}={}", self.mode, self.file.display()))
    }

    /// The matrix's name among modes of these names: `MODE/STEM`.
    fn name(&self, names: &[String]) -> anyhow::Result<String> {
        let mode = &names[self.mode(names)?];
        // A column says more about what is in it than a file.
        if let [_, column, ..] = &self.columns[..]
            && self.kind != Kind::Graph
        {
            let column = column.split(':').next().unwrap_or(column);
            return Ok(format!("{mode}/{column}"));
        }
        let file = self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy();
        let mut stem = &file[..];
        for ending in [".gz", ".zst", ".tns", ".csv", ".tsv", ".dat", ".txt", ".parquet", ".mtx"] {
            stem = stem.strip_suffix(ending).unwrap_or(stem);
        }
        Ok(format!("{mode}/{}", if stem.is_empty() { &file } else { stem }))
    }

    /// The same for a matrix of a known kind, unless another one was typed.
    pub(crate) fn like(&self, kind: Option<Kind>) -> CoupleArg {
        // Missing is also what nothing typed means.
        let kind = kind.filter(|_| self.kind == Kind::Missing).unwrap_or(self.kind);
        CoupleArg { kind, ..self.clone() }
    }

    /// Reads the matrix. `namings` say what the ids of each mode are called, and take up those that only the matrix has;
    /// `known` is how many ids each mode has without it. `tell` is whether to tell of ids that are only on one side.
    pub(crate) fn read(
        &self,
        modes: &[String],
        name: &str,
        namings: &mut [Option<Naming>],
        known: &[usize],
        tell: bool,
    ) -> anyhow::Result<Coupled> {
        let mode = self.mode(modes)?;
        let source = source::of_one(&self.file, &FileArgs::default())?;
        let plain = self.columns.is_empty() && self.split.is_none() && namings[mode].is_none();
        let matrix = if plain && source::is_numbered(&source)? {
            Coupled::new(mode, self.kind, files::read_entries(&self.file, Some(2))?)?
        } else {
            self.read_table(&source, mode, &mut namings[mode], known[mode], tell.then_some(&modes[mode]))?
        };
        let matrix = matrix.named(name);
        Ok(match self.weight {
            Some(weight) => matrix.weighted(weight),
            None => matrix,
        })
    }

    fn read_table(
        &self,
        source: &Source,
        mode: usize,
        naming: &mut Option<Naming>,
        known: usize,
        tell: Option<&String>,
    ) -> anyhow::Result<Coupled> {
        let spec = self.spec(source, naming.as_ref())?;
        let wants = spec.wants(naming.as_ref());
        let table = files::read_table(source, &wants)?;
        let file = table.name.clone();
        let matrix = spec.matrix(table, mode, naming.as_mut(), known);
        let Matrix { coupled, added, absent } =
            matrix.map_err(|error| source::with_line(error, source, &wants))?;
        let Some(mode_name) = tell else { return Ok(coupled) };
        if added > 0 {
            print::note(format_args!(
                "{file}: {added} of {mode_name} have no entry in the tensor; they are kept, known from this file alone"
            ));
        }
        if absent > 0 {
            print::note(format_args!(
                "{file}: {absent} of the tensor's {known} of {mode_name} are not in this file"
            ));
        }
        Ok(coupled)
    }

    /// Which columns are meant: those that were named, or those that are obvious.
    fn spec(&self, source: &Source, naming: Option<&Naming>) -> anyhow::Result<MatrixSpec> {
        let form = |row: Selector, column: &str, value: Option<Selector>| {
            let column = column.parse().map_err(|what| usage(format!("--couple {self}: {what}")))?;
            Ok(MatrixSpec { row, column, value, split: self.split.clone(), kind: self.kind })
        };
        match &self.columns[..] {
            [row, column] => return form(Selector::of(row), column, None),
            [row, column, value, ..] => return form(Selector::of(row), column, Some(Selector::of(value))),
            _ => {}
        }
        let columns = files::columns(source)?;
        let headings: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let shared = naming.and_then(|naming| headings.iter().position(|&name| name == naming.column));
        let row = shared.unwrap_or(0);
        let others: Vec<usize> = (0..columns.len()).filter(|&place| place != row).collect();
        let is_number = |place: usize| columns[place].guess == ColumnKind::Number;
        // By name where there is one, which also says that the first line holds names.
        let choose = |place: usize| match headings[place].parse::<u64>() {
            Ok(_) => Selector::Place(place),
            Err(_) => Selector::Name(headings[place].to_owned()),
        };
        let obvious = |column: usize, value: Option<usize>| {
            let column = ModeSpec { name: None, column: choose(column), bins: None };
            let (row, value) = (choose(row), value.map(choose));
            Ok(MatrixSpec { row, column, value, split: self.split.clone(), kind: self.kind })
        };
        match (&self.columns[..], &others[..]) {
            ([column], _) => form(choose(row), column, None),
            ([], &[column]) => obvious(column, None),
            ([], &[column, value]) if is_number(value) => obvious(column, Some(value)),
            _ => Err(usage(format!(
                "--couple {self}: say which columns are the matrix, as in {}={}:{},{}; there are {}",
                self.mode,
                self.file.display(),
                headings.get(row).unwrap_or(&"1"),
                others.first().map_or("2", |&place| headings[place]),
                headings.join(", ")
            ))),
        }
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

    #[test]
    fn a_mode_goes_by_number_or_by_name_and_names_the_matrix() {
        let names = ["user".to_owned(), "item".to_owned()];
        assert_eq!(parse("2=x/genre.tns.gz").unwrap().name(&names).unwrap(), "item/genre");
        assert_eq!(parse("user=friends.tns").unwrap().name(&names).unwrap(), "user/friends");
        assert_eq!(parse("2=movies.csv:id,genres").unwrap().name(&names).unwrap(), "item/genres");
        assert_eq!(parse("user=.tns").unwrap().name(&names).unwrap(), "user/.tns");
        assert!(parse("3=a").unwrap().mode(&names).is_err());
        assert!(parse("0=a").unwrap().mode(&names).is_err());
        let error = parse("users=a").unwrap().mode(&names).unwrap_err().to_string();
        assert!(error.contains("user, item"), "{error}");
    }
}
