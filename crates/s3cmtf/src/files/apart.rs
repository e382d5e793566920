//! What is written is never what is read.

use std::path::Path;

use super::temporary::parent;
use crate::Error;

/// Refuses an output that is one of the inputs, whatever either is called.
///
/// # Errors
/// If it is.
pub fn check_apart<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Error> {
    for input in inputs {
        // Of a folder, all files may be read. Of what is not there, or cannot be looked at, reading will tell.
        let is = |path: &Path| same_file::is_same_file(path, input).unwrap_or(false);
        let read = match input.is_dir() {
            true => out.is_file() && is(parent(out)),
            false => is(out),
        };
        if read {
            let same = if out == input { String::new() } else { format!(" ({})", input.display()) };
            let what = format!("is read{same}, and what is read is not written over: name another file");
            return Err(Error::file(out, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_known_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            std::fs::write(path(name), "x").unwrap();
        }
        std::fs::hard_link(path("a"), path("hard")).unwrap();
        let refused = |out: &Path| check_apart(out, [path("b").as_path(), &path("a")]).is_err();
        assert!(refused(&path("a")) && refused(&path("hard")) && refused(&path("./a")));
        assert!(!refused(&path("new")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("a"), path("soft")).unwrap();
            assert!(refused(&path("soft")));
            assert!(check_apart(&path("a"), [path("soft").as_path()]).is_err());
        }
        let message = check_apart(&path("hard"), [path("a").as_path()]).unwrap_err().to_string();
        let expected = format!("hard: is read ({}), and what is read", path("a").display());
        assert!(message.contains(&expected), "{message}");
        // All files of a folder are read, but not one that is not there yet.
        assert!(check_apart(&path("b"), [folder.path()]).is_err());
        check_apart(&path("new"), [folder.path()]).unwrap();
    }
}
