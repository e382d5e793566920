//! Files and folders that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::owned::check_not_owned;
use super::temporary::{Temporary, clear_away, parent, sweep};
use crate::Error;

/// Writes a file such that under its name there is always the old content or the whole new one.
///
/// What is no plain file, such as `/dev/stdout`, is written to directly.
///
/// # Errors
/// If the file cannot be written, or is a part of a model; what was there before is then still there.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    check_not_owned(path)?;
    write_whole(path, write)
}

/// The same also of what is a part of a model.
pub(super) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let io = |source| Error::io(path, source);
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(Error::file(path, "is a folder, but a file is to be written"));
        }
        Ok(found) if !found.is_file() => {
            let mut writer = BufWriter::new(OpenOptions::new().write(true).open(path).map_err(io)?);
            return write(&mut writer).and_then(|()| writer.flush()).map_err(io);
        }
        _ => {}
    }
    let path = &resolve(path)?;
    sweep(path, &[]);
    let (file, mut temporary) = Temporary::new(path, "tmp", |name| File::create_new(name))?;
    keep_permissions(path, &temporary.path).map_err(io)?;
    let mut writer = BufWriter::new(file);
    write(&mut writer).and_then(|()| writer.flush()).map_err(io)?;
    writer.get_ref().sync_all().map_err(io)?;
    drop(writer);
    fs::rename(&temporary.path, path).map_err(io)?;
    temporary.gone = true;
    sync_folder(parent(path));
    Ok(())
}

/// Gives what will replace a file or folder the permissions that this has.
fn keep_permissions(old: &Path, new: &Path) -> io::Result<()> {
    match fs::metadata(old) {
        Ok(found) => fs::set_permissions(new, found.permissions()),
        Err(_) => Ok(()),
    }
}

/// Makes a folder to write files into, if it is not there.
///
/// # Errors
/// If there is a file in its place, or it cannot be made.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    if path.is_file() {
        return Err(Error::file(path, "is a file, but a folder to write into is needed"));
    }
    fs::create_dir_all(path).map_err(|source| Error::io(path, source))
}

/// Tells before a long run whether [`write_atomically`] would be refused.
///
/// # Errors
/// If `path` is a folder, or the folder it is to be in does not exist or cannot be written to.
pub fn check_file(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Error::file(path, "is a folder, but a file is to be written")),
        Ok(found) if !found.is_file() => Ok(()),
        _ => check_not_owned(path).and_then(|()| check_writable(path)),
    }
}

/// Writes a new file and makes sure that it has reached the disk.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|source| Error::io(path, source))
}

/// Fills a new folder and puts it in the place of `folder`, which may exist. Files of the old folder that are not
/// among the `owned` ones move over into the new one.
///
/// Where the system cannot swap two folders, the old one has another name, next to it, for a moment between two renames.
pub(super) fn replace_folder(
    folder: &Path,
    owned: &[&str],
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let io = |source| Error::io(folder, source);
    let folder = &resolve(folder)?;
    sweep(folder, owned);
    let ((), mut new) = Temporary::new(folder, "tmp", |name| fs::create_dir(name))?;
    fill(&new.path)?;
    for name in owned {
        let (old, new) = (folder.join(name), new.path.join(name));
        if new.exists() {
            keep_permissions(&old, &new).map_err(io)?;
        }
    }
    keep_permissions(folder, &new.path).map_err(io)?;
    sync_folder(&new.path);
    if !folder.exists() {
        fs::rename(&new.path, folder).map_err(io)?;
        new.gone = true;
        sync_folder(parent(folder));
        return Ok(());
    }
    if swap(&new.path, folder) {
        // What has the new one's name now is the old one.
        new.gone = true;
        sync_folder(parent(folder));
        return clear_away(&new.path, folder, owned).map_err(|source| Error::io(&new.path, source));
    }
    // An empty folder keeps the name free until the old one is renamed onto it.
    let ((), mut old) = Temporary::new(folder, "old", |name| fs::create_dir(name))?;
    fs::rename(folder, &old.path).map_err(io)?;
    // From here on it holds the old model: no failure may delete it.
    old.gone = true;
    if let Err(source) = fs::rename(&new.path, folder) {
        fs::rename(&old.path, folder).map_err(|source| Error::io(&old.path, source))?;
        return Err(io(source));
    }
    new.gone = true;
    sync_folder(parent(folder));
    clear_away(&old.path, folder, owned).map_err(|source| Error::io(&old.path, source))
}

/// Gives each of two folders the other's name, if the system can.
#[cfg(target_os = "linux")]
fn swap(a: &Path, b: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn swap(_: &Path, _: &Path) -> bool {
    false
}

/// Whether a file or folder could be created next to `path`.
pub(super) fn check_writable(path: &Path) -> Result<(), Error> {
    Temporary::new(&resolve(path)?, "tmp", |name| fs::create_dir(name)).map(drop)
}

/// Where a link leads, so that the link stays and what it leads to is replaced; any other path as it is.
fn resolve(path: &Path) -> Result<PathBuf, Error> {
    // A link is followed, and `.` gets a name to put others beside.
    if path.is_symlink() || (path.exists() && path.file_name().is_none()) {
        fs::canonicalize(path).map_err(|source| Error::io(path, source))
    } else {
        Ok(path.to_path_buf())
    }
}

/// Makes renames in a folder last. Where a system cannot do that the files themselves are safe all the same.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("predictions.txt");
        write_atomically(&path, |writer| writer.write_all(b"old")).unwrap();
        let full = |writer: &mut dyn Write| {
            writer.write_all(b"ne")?;
            Err(io::Error::from(ErrorKind::StorageFull))
        };
        assert!(matches!(write_atomically(&path, full), Err(Error::Io { path: named, .. }) if named == path));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write_atomically(&path, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["predictions.txt"]);
    }

    #[test]
    fn a_file_is_not_written_over_a_folder_or_into_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &Path| write_atomically(path, |_| Ok(())).unwrap_err().to_string();
        assert!(write(folder.path()).contains("is a folder"));
        assert!(
            write(&folder.path().join("none/file")).ends_with("does not exist: create this folder first")
        );
        assert!(write(Path::new("..")).contains("is a folder"));
        assert_eq!(names(folder.path()).len(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_filled_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        replace_folder(&path, &["a"], |new| write_new(&new.join("a"), b"old")).unwrap();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        let full = |new: &Path| {
            write_new(&new.join("a"), b"ne")?;
            Err(Error::io(new, ErrorKind::StorageFull.into()))
        };
        assert!(replace_folder(&path, &["a"], full).is_err());
        assert_eq!(fs::read(path.join("a")).unwrap(), b"old");
        replace_folder(&path, &["a"], |new| write_new(&new.join("a"), b"new")).unwrap();
        assert_eq!(fs::read(path.join("a")).unwrap(), b"new");
        assert_eq!(names(&path), ["a", "notes.txt"]);
        assert_eq!(names(folder.path()), ["run"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_a_device_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_atomically(&link, |writer| writer.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        write_atomically(Path::new("/dev/null"), |writer| writer.write_all(b"x")).unwrap();
        let error = write_atomically(Path::new("/dev/full"), |writer| writer.write_all(b"x"));
        assert!(matches!(error, Err(Error::Io { .. })));
    }
}
