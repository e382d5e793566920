//! The files of a download, in its folder or still in its archive. Nothing is unpacked onto the disk.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use crate::Error;
use crate::error::Reason;

/// Folders in folders, and archives in archives: downloads have two of them.
const DEPTH: usize = 4;
const BUFFER: usize = 1 << 17;
const NO_ARCHIVE: &str = "is neither a folder nor an archive (.zip, .tar, .tar.gz or .tgz)";

/// What is done with each file that is wanted: it has a name in lower case, a path for errors, and its content.
pub(super) type Visit<'a> = dyn FnMut(&str, &Path, &mut dyn BufRead) -> Result<(), Error> + 'a;

/// Goes once through all files below a folder or in an archive, and has those read whose name is `wanted`.
///
/// Names are in lower case, without folders and without the `.gz` of a packed file. Files that are archives are gone
/// through too if their names are wanted, unless they lie next to a folder of the same name.
pub(super) fn visit(path: &Path, wanted: &dyn Fn(&str) -> bool, visit: &mut Visit) -> Result<(), Error> {
    let found = fs::metadata(path).map_err(|source| Error::io(path, source))?;
    if found.is_dir() {
        return visit_folder(path, wanted, visit, DEPTH);
    }
    // A pipe would be waited for, and read when its kind is found out.
    if !found.is_file() {
        return Err(Error::file(path, NO_ARCHIVE));
    }
    match kind(path)? {
        Some(Packed::Zip) => visit_zip(path, wanted, visit),
        Some(packed) => visit_tar(path, packed.open(Box::new(open(path)?)), wanted, visit, DEPTH),
        None => Err(Error::file(path, NO_ARCHIVE)),
    }
}

#[derive(Clone, Copy)]
enum Packed {
    Zip,
    Tar,
    TarGz,
}

impl Packed {
    /// By the ending of a name.
    fn from_name(name: &str) -> Option<Self> {
        let endings = [
            (".tar", Packed::Tar),
            (".tar.gz", Packed::TarGz),
            (".tgz", Packed::TarGz),
            (".zip", Packed::Zip),
        ];
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, packed)| packed)
    }

    fn open<'a>(self, reader: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
        match self {
            Packed::TarGz => Box::new(MultiGzDecoder::new(reader)),
            Packed::Tar | Packed::Zip => reader,
        }
    }
}

/// What an archive is, by its first bytes.
fn kind(path: &Path) -> Result<Option<Packed>, Error> {
    let mut head = Vec::new();
    open(path)?.take(512).read_to_end(&mut head).map_err(|source| Error::io(path, source))?;
    Ok(match &head[..] {
        [b'P', b'K', 3 | 5, ..] => Some(Packed::Zip),
        [0x1f, 0x8b, ..] => Some(Packed::TarGz),
        _ if head.get(257..262) == Some(b"ustar") => Some(Packed::Tar),
        // Archives of before 1988 have no mark.
        _ => path.to_str().and_then(Packed::from_name).filter(|packed| matches!(packed, Packed::Tar)),
    })
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    Ok(BufReader::with_capacity(BUFFER, file))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn visit_folder(
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut Visit,
    depth: usize,
) -> Result<(), Error> {
    let io = |source| Error::io(folder, source);
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        paths.push(entry.map_err(io)?.path());
    }
    paths.sort();
    for path in paths {
        // A link that leads nowhere is no file that anyone needs, and at a pipe nobody may ever write.
        let Ok(found) = fs::metadata(&path) else { continue };
        if !found.is_file() && !found.is_dir() {
            continue;
        }
        let name = name_of(&path);
        if found.is_dir() {
            if depth > 1 && !path.is_symlink() {
                visit_folder(&path, wanted, visit, depth - 1)?;
            }
        } else if let Some(packed) = Packed::from_name(&name) {
            let unpacked = folder.join(name.split('.').next().unwrap_or_default()).is_dir();
            match packed {
                _ if !wanted(&name) || unpacked => {}
                Packed::Zip => visit_zip(&path, wanted, visit)?,
                _ => visit_tar(&path, packed.open(Box::new(open(&path)?)), wanted, visit, depth - 1)?,
            }
        } else {
            visit_file(&name, &path, &mut open(&path)?, wanted, visit)?;
        }
    }
    Ok(())
}

/// Has one file read, unpacked if its name ends with `.gz`, if it is wanted.
fn visit_file(
    name: &str,
    path: &Path,
    reader: &mut dyn Read,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut Visit,
) -> Result<(), Error> {
    match name.strip_suffix(".gz") {
        Some(name) if wanted(name) => {
            visit(name, path, &mut BufReader::with_capacity(BUFFER, MultiGzDecoder::new(reader)))
        }
        None if wanted(name) => visit(name, path, &mut BufReader::with_capacity(BUFFER, reader)),
        _ => Ok(()),
    }
}

/// Refuses the path of a file in an archive that leads out of it. None is written to, so this is for archives that
/// someone has tampered with.
fn check_inside(archive: &Path, member: &Path) -> Result<(), Error> {
    let inside = member.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if inside { Ok(()) } else { Err(Error::file(archive, format!("holds a file outside of it: {member:?}"))) }
}

fn visit_zip(path: &Path, wanted: &dyn Fn(&str) -> bool, visit: &mut Visit) -> Result<(), Error> {
    let broken = |error: zip::result::ZipError| {
        Error::file(path, Reason::new("is cut off or no .zip file that can be read", error))
    };
    let mut archive = ZipArchive::new(open(path)?).map_err(broken)?;
    for number in 0..archive.len() {
        let mut member = archive.by_index(number).map_err(broken)?;
        let inner = PathBuf::from(member.name().map_err(broken)?.into_owned());
        if !member.is_file() || member.is_symlink() {
            continue;
        }
        visit_member(path, &inner, &mut member, wanted, visit, DEPTH)?;
    }
    Ok(())
}

/// One member of an archive: a file, or an archive within it, of which there may be `depth` in each other.
fn visit_member(
    path: &Path,
    inner: &Path,
    member: &mut dyn Read,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut Visit,
    depth: usize,
) -> Result<(), Error> {
    let (name, place) = (name_of(inner), path.join(inner));
    match Packed::from_name(&name) {
        Some(Packed::Zip) => Ok(()),
        Some(packed) if wanted(&name) && depth > 1 => {
            check_inside(path, inner)?;
            visit_tar(&place, packed.open(Box::new(member)), wanted, visit, depth - 1)
        }
        Some(_) => Ok(()),
        None => {
            if wanted(name.strip_suffix(".gz").unwrap_or(&name)) {
                check_inside(path, inner)?;
            }
            visit_file(&name, &place, member, wanted, visit)
        }
    }
}

fn visit_tar(
    path: &Path,
    reader: Box<dyn Read + '_>,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut Visit,
    depth: usize,
) -> Result<(), Error> {
    let broken = |error: std::io::Error| {
        Error::file(path, Reason::new("is cut off or no archive that can be read", error))
    };
    let mut archive = tar::Archive::new(reader);
    for member in archive.entries().map_err(broken)? {
        let mut member = member.map_err(broken)?;
        let inner = member.path().map_err(broken)?.into_owned();
        if !member.header().entry_type().is_file() {
            continue;
        }
        visit_member(path, &inner, &mut member, wanted, visit, depth)?;
    }
    Ok(())
}
