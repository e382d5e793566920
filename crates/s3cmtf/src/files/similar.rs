//! The file that was probably meant by a path where there is none.

use std::path::{Path, PathBuf};

use crate::table::nearest;

/// What is in the same folder and has the same name but for its ending, or nearly the same name.
pub fn similar(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names =
        std::fs::read_dir(listed).ok()?.flatten().filter_map(|found| found.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_ascii_lowercase());
    let near = nearest(names.iter().map(String::as_str), wanted);
    let same = || names.iter().map(String::as_str).find(|name| stem(name) == stem(wanted));
    near.or_else(same).map(|name| folder.join(name))
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
        assert_eq!(similar(&folder.path().join("nowhere/ratings.csv")), None);
    }
}
