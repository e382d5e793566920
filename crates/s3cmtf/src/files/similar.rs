//! The file that was probably meant by a path where there is none.

use std::path::{Path, PathBuf};

use super::format::ending;
use crate::table::nearest;

/// The endings of files that can be read, without those of packed ones.
const READABLE: [&str; 18] = [
    "csv", "tsv", "tab", "txt", "dat", "data", "tns", "mtx", "parquet", "pq", "arrow", "feather", "ipc",
    "npz", "npy", "s3cmtf", "json", "zip",
];

/// What is in the same folder and has the same name but for its ending, or nearly the same name. It is a folder, or its ending is
/// nearly the same or one of files that can be read.
pub fn similar(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names =
        std::fs::read_dir(listed).ok()?.flatten().filter_map(|found| found.file_name().into_string().ok());
    let wanted = path.file_name()?.to_str()?;
    let wanted_ending = ending(Path::new(wanted));
    let is_meant = |name: &String| {
        let own = ending(Path::new(name));
        let is_readable = own.is_empty() || READABLE.contains(&own.as_str());
        let is_near = || nearest([own.as_str()], &wanted_ending).is_some();
        !name.starts_with('.') && (is_readable || is_near() || listed.join(name).is_dir())
    };
    let mut names: Vec<String> = names.filter(is_meant).collect();
    names.sort();
    // Endings would make any two short names near.
    let near = nearest(names.iter().map(|name| stem(name)), stem(wanted))?;
    let is_same = near.eq_ignore_ascii_case(stem(wanted));
    if !is_same && stem(wanted).chars().count() < SHORTEST {
        return None;
    }
    let near: Vec<&str> = names.iter().map(String::as_str).filter(|name| stem(name) == near).collect();
    let found = nearest(near.iter().copied(), wanted).or_else(|| near.first().copied());
    found.map(|name| folder.join(name))
}

/// The characters of a name that may be another with a slip: of two letters any one is half.
const SHORTEST: usize = 3;

/// A name up to its first full stop.
fn stem(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_slip_or_another_ending() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ratings.csv", "films.parquet", ".hidden"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = |name: &str| {
            let found = similar(&folder.path().join(name))?;
            Some(found.file_name()?.to_str()?.to_owned())
        };
        assert_eq!(found("rating.csv").as_deref(), Some("ratings.csv"));
        assert_eq!(found("Ratings.CSV").as_deref(), Some("ratings.csv"));
        assert_eq!(found("films.csv").as_deref(), Some("films.parquet"));
        assert_eq!(found("ratings").as_deref(), Some("ratings.csv"));
        assert_eq!(found("users.csv"), None);
        assert_eq!(found("film.parquet").as_deref(), Some("films.parquet"));
        assert_eq!(similar(&folder.path().join("nowhere/ratings.csv")), None);
    }

    #[test]
    fn what_cannot_be_meant_is_not_asked_about() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["r.html", "items.csv", "a.csv", "model.py", "log.csv.gz"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("model")).unwrap();
        let found = |name: &str| {
            let found = similar(&folder.path().join(name))?;
            Some(found.file_name()?.to_str()?.to_owned())
        };
        assert_eq!((found("r.cvs"), found("users.csv"), found("b.csv")), (None, None, None));
        assert_eq!(found("modle").as_deref(), Some("model"));
        assert_eq!(found("model.csv").as_deref(), Some("model"));
        assert_eq!(found("log.csv").as_deref(), Some("log.csv.gz"));
        std::fs::write(folder.path().join("r.csv"), "").unwrap();
        assert_eq!(found("r.cvs").as_deref(), Some("r.csv"));
    }
}
