//! Hidden files and folders in which something is written before it gets its name.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;

/// What is younger may belong to a process that has not come to lock it yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A file or folder that is deleted again unless it is `gone`, that is renamed.
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    pub(super) gone: bool,
    /// Locked for as long as this process is at it, so that others can tell what a dead one has left.
    _lock: Option<File>,
}

impl Temporary {
    /// Creates `.NAME.KIND-PID` next to `path`, with a number behind it where that exists.
    pub(super) fn new<T>(
        path: &Path,
        kind: &str,
        create: impl Fn(&Path) -> io::Result<T>,
    ) -> Result<(T, Self), Error> {
        let Some(name) = path.file_name() else {
            return Err(Error::file(path, "does not end in a name, which what is written needs"));
        };
        let parent = parent(path);
        if !parent.exists() {
            return Err(Error::file(parent, "does not exist: create this folder first"));
        }
        for number in 0u32.. {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{kind}-{}", std::process::id()));
            if number > 0 {
                hidden.push(format!("-{number}"));
            }
            let path = parent.join(hidden);
            match create(&path) {
                Ok(created) => {
                    let _lock = lock(&path);
                    return Ok((created, Temporary { path, gone: false, _lock }));
                }
                // Another thread is at it, or a process of the same number was killed here.
                Err(source) if source.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::io(parent, source)),
            }
        }
        Err(Error::file(parent, "has no free name for a temporary file"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.gone {
            // Nothing can be done about a failure here, and the error that led here matters more.
            let _ =
                if self.path.is_dir() { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
        }
    }
}

/// A lock on a file or folder, if the system has such locks and nobody else has it.
fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Removes what processes that were killed have left of writing `path`: files, and folders, whose files that are not among the
/// `owned` ones were somebody's before the two swapped names and move to where they belong. What cannot be removed stays.
pub(super) fn sweep(path: &Path, owned: &[&str]) {
    let Some(name) = path.file_name() else { return };
    let mut begin = OsString::from(".");
    begin.push(name);
    begin.push(".tmp-");
    let Ok(found) = fs::read_dir(parent(path)) else { return };
    for found in found.flatten() {
        let is_left = found.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes());
        let age = || found.metadata().ok()?.modified().ok()?.elapsed().ok();
        if !is_left || age().is_none_or(|age| age < YOUNG) {
            continue;
        }
        let left = found.path();
        // Whoever has the lock is at it. Nobody else can be, once this process has it.
        let Some(_lock) = lock(&left) else { continue };
        let _ = match left.is_dir() {
            true if path.is_dir() => clear_away(&left, path, owned),
            // A folder that never got its name, and has nothing of others.
            true if !owned.is_empty() => remove_owned(&left, owned),
            // Where a file is to be written, a folder was there to see whether one could be.
            true => fs::remove_dir(&left),
            false => fs::remove_file(&left),
        };
    }
}

/// Deletes a folder of which all files are ours.
fn remove_owned(folder: &Path, owned: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if owned.iter().any(|name| entry.file_name() == *name) {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Moves what is not ours from the old folder to the new one, and deletes the rest.
pub(super) fn clear_away(old: &Path, new: &Path, owned: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(old)? {
        let entry = entry?;
        if owned.iter().any(|name| entry.file_name() == *name) {
            fs::remove_file(entry.path())?;
        } else if !new.join(entry.file_name()).exists() {
            fs::rename(entry.path(), new.join(entry.file_name()))?;
        }
    }
    fs::remove_dir(old)
}

/// The folder that a path is in.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;
    use std::time::SystemTime;

    /// Makes something look as if it had been there for an hour.
    fn age(path: &Path) {
        let past = SystemTime::now() - Duration::from_secs(3600);
        File::open(path).unwrap().set_modified(past).unwrap();
    }

    #[test]
    fn what_the_dead_have_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("run")).unwrap();
        fs::write(path("run/a"), "new").unwrap();
        // A folder that had swapped names already: `a` is the old model's, the thesis is not.
        fs::create_dir(path(".run.tmp-1")).unwrap();
        for (name, text) in [("a", "old"), ("thesis.tex", "precious")] {
            fs::write(path(".run.tmp-1").join(name), text).unwrap();
        }
        for name in [".run.tmp-2", ".run.tmp-3", ".other.tmp-4", ".run.tmp-5"] {
            fs::write(path(name), "half").unwrap();
        }
        for name in [".run.tmp-1", ".run.tmp-2", ".run.tmp-5", ".other.tmp-4"] {
            age(&path(name));
        }
        // One is still being written, by whoever has the lock.
        let busy = File::open(path(".run.tmp-5")).unwrap();
        busy.lock().unwrap();
        sweep(&path("run"), &["a"]);
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".other.tmp-4", ".run.tmp-3", ".run.tmp-5", "run"]);
        assert_eq!(fs::read(path("run/a")).unwrap(), b"new");
        assert_eq!(fs::read(path("run/thesis.tex")).unwrap(), b"precious");
        drop(busy);
        sweep(&path("run"), &["a"]);
        assert!(!path(".run.tmp-5").exists());
    }

    #[test]
    fn an_empty_folder_where_a_file_is_to_be_goes_and_a_full_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".page.tmp-1", ".page.tmp-2"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path(".page.tmp-2/thesis.tex"), "precious").unwrap();
        age(&path(".page.tmp-1"));
        age(&path(".page.tmp-2"));
        sweep(&path("page"), &[]);
        assert!(!path(".page.tmp-1").exists() && path(".page.tmp-2/thesis.tex").exists());
    }
}
