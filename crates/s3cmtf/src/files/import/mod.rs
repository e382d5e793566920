//! Well-known data sets, from the files of their downloads to tables with names.

mod archive;
mod labels;
mod lines;
mod movielens;
mod netflix;
mod yelp;

use std::path::Path;
use std::str::FromStr;

use crate::Error;
use crate::table::{Column, Data, Table, did_you_mean};

/// A data set whose files are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dataset {
    /// Ratings of movies, and the movies' genres: 100K, 1M, 10M, 20M, 25M, 32M and the latest ones.
    MovieLens,
    /// The ratings of the Netflix prize, and the movies' years.
    Netflix,
    /// Reviews of businesses, friends of users, categories and cities of businesses.
    Yelp,
}

/// Tables that are ready to be factorized, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The tables by their names, the tensor first; none is empty.
    pub tables: Vec<Table>,
    /// The columns of the tensor that are its modes, as `--modes` has them.
    pub modes: &'static str,
    /// The column of the tensor's values.
    pub value: &'static str,
    /// Which of the other tables is coupled to which mode.
    pub couplings: Vec<Coupling>,
    /// What was odd, and what was left out.
    pub notes: Vec<String>,
}

/// A table that is a matrix coupled to a mode of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coupling {
    /// The mode, by name.
    pub mode: &'static str,
    /// The table, by name.
    pub table: &'static str,
    /// What `--couple` has behind the file: columns and what absent cells are. Nothing for a table of attributes.
    pub words: &'static str,
}

impl Dataset {
    /// All of them.
    pub const ALL: [Dataset; 3] = [Dataset::MovieLens, Dataset::Netflix, Dataset::Yelp];

    /// The name it has everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Dataset::MovieLens => "movielens",
            Dataset::Netflix => "netflix",
            Dataset::Yelp => "yelp",
        }
    }

    /// Where people get it.
    fn provider(self) -> &'static str {
        match self {
            Dataset::MovieLens => "MovieLens is at grouplens.org/datasets/movielens",
            Dataset::Netflix => "the Netflix prize data is at kaggle.com and at archive.org",
            Dataset::Yelp => "the Yelp open dataset is at yelp.com/dataset",
        }
    }

    /// A file that should be there is not.
    fn lacks(self, path: &Path, what: &str) -> Error {
        Error::file(path, format!("has no {what}; {}", self.provider()))
    }
}

impl FromStr for Dataset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Dataset::ALL.into_iter().find(|dataset| dataset.name() == name);
        let names = Dataset::ALL.map(Dataset::name);
        let hint = || did_you_mean(names, name);
        found.ok_or_else(|| format!("\"{name}\" is not one of {}{}", names.join(", "), hint()))
    }
}

/// Reads a data set from the folder or the archive of its download.
///
/// Archives are read as they are: nothing is unpacked onto the disk, and nothing is downloaded.
///
/// # Errors
/// If there is no such folder or archive, if it lacks a file that is needed or has it twice, or at the first line that
/// is not as it should be.
pub fn import(dataset: Dataset, path: &Path) -> Result<Imported, Error> {
    if !path.exists() {
        let what = "does not exist: the folder or the archive of the download is needed";
        return Err(Error::file(path, format!("{what}; {}", dataset.provider())));
    }
    let mut imported = match dataset {
        Dataset::MovieLens => movielens::read(path),
        Dataset::Netflix => netflix::read(path),
        Dataset::Yelp => yelp::read(path),
    }?;
    let Some(ratings) = imported.tables.first().filter(|table| rows(table) > 0) else {
        return Err(Error::file(path, "has no rating in its files"));
    };
    let name = ratings.name.clone();
    let Imported { tables, couplings, notes, .. } = &mut imported;
    tables.retain(|table| {
        let kept = table.name == name || rows(table) > 0;
        if !kept {
            notes.push(format!("there are no {}, so that table is not written", table.name));
        }
        kept
    });
    couplings.retain(|coupling| tables.iter().any(|table| table.name == coupling.table));
    Ok(imported)
}

fn rows(table: &Table) -> usize {
    table.columns.first().map_or(0, |column| column.data.len())
}

fn table<const N: usize>(name: &str, columns: [(&str, Data); N]) -> Table {
    let column = |(name, data): (&str, Data)| Column { name: name.to_owned(), data };
    Table { name: name.to_owned(), columns: columns.into_iter().map(column).collect() }
}

/// A file of which there must be one.
#[derive(Default)]
struct Once(Option<std::path::PathBuf>);

impl Once {
    fn see(&mut self, path: &Path) -> Result<(), Error> {
        match self.0.replace(path.to_path_buf()) {
            None => Ok(()),
            Some(first) => {
                let what = format!("there are two of these files, the other is {}", first.display());
                Err(Error::file(path, format!("{what}: name the folder of one download")))
            }
        }
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests;
