//! The text of a file, unpacked if it is packed, block by block: a table may be larger than what is read from it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;

use super::limits::LONGEST_LINE;
use crate::Error;
use crate::error::Reason;
use crate::parallel;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A block has at least this many bytes, unless it is the last.
const BLOCK: usize = 1 << 25;

/// The room that is made before there is anything to fill it: most files are smaller than a block.
const ROOM: usize = 1 << 18;

/// A file that is read block by block, or standard input where the path is `-`. One that is packed with gzip or zstd,
/// whatever its name, is unpacked; a byte order mark is left out.
pub(super) struct Text {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    /// What it is packed with.
    packed: Option<&'static str>,
    /// What has been read; the first `used` bytes of it have been given out.
    bytes: Vec<u8>,
    used: usize,
    /// How many bytes at the front of what has not been given out are known to end within a record.
    kept: usize,
    size: usize,
    ended: bool,
    /// What [`Text::work_on_block`] has read ahead: what has not been given out, and more behind it.
    ahead: Option<Vec<u8>>,
    /// The buffer that is not in use.
    spare: Vec<u8>,
    /// What went wrong ahead, to be said when it is reached.
    failed: Option<Error>,
    /// The line ends of what has been given out and not kept.
    lines: u64,
}

/// What can be read only once, standard input or a pipe, and has been looked at.
struct Seen {
    bytes: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

/// By their paths. A reader that takes what is here starts where those who only looked did.
static SEEN: Mutex<BTreeMap<PathBuf, Seen>> = Mutex::new(BTreeMap::new());

/// For those who only look: what they read is kept for the next reader.
struct Look {
    path: PathBuf,
    /// How many of the kept bytes have been given out.
    at: usize,
}

impl Look {
    fn new(path: &Path) -> Result<Self, Error> {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains_key(path) {
            seen.insert(path.to_path_buf(), Seen { bytes: Vec::new(), rest: open(path)? });
        }
        Ok(Look { path: path.to_path_buf(), at: 0 })
    }
}

impl Read for Look {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Seen { bytes, rest }) = seen.get_mut(&self.path) else { return Ok(0) };
        let mut kept = bytes.get(self.at..).unwrap_or_default();
        let count = if kept.is_empty() {
            let count = rest.read(buffer)?;
            bytes.extend_from_slice(&buffer[..count]);
            count
        } else {
            kept.read(buffer)?
        };
        self.at += count;
        Ok(count)
    }
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>, Error> {
    let io = |source| Error::io(path, source);
    if is_standard_input(path) {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.is_dir() {
        return Err(Error::file(path, "is a folder, but a file of entries is needed"));
    }
    Ok(Box::new(file))
}

/// Whether a path can be read only once: standard input, or a pipe.
pub(super) fn is_read_once(path: &Path) -> bool {
    is_standard_input(path) || std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Whether a path stands for standard input.
fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Text {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Text::with_blocks(path, BLOCK)
    }

    /// The same for a look at the start: of what can be read only once, the next reader gets all.
    pub(super) fn look(path: &Path) -> Result<Self, Error> {
        if is_read_once(path) { Text::new(path, Box::new(Look::new(path)?), BLOCK) } else { Text::open(path) }
    }

    /// Blocks of about `size` bytes.
    pub(super) fn with_blocks(path: &Path, size: usize) -> Result<Self, Error> {
        let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        let file = match seen {
            Some(Seen { bytes, rest }) => Box::new(Cursor::new(bytes).chain(rest)),
            None => open(path)?,
        };
        Text::new(path, file, size)
    }

    fn new(path: &Path, mut file: Box<dyn Read + Send>, size: usize) -> Result<Self, Error> {
        let io = |source| Error::io(path, source);
        let mut head = Vec::new();
        file.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head).map_err(io)?;
        let (gzip, zstd) = (head.starts_with(GZIP_MAGIC), head == ZSTD_MAGIC);
        let whole = Cursor::new(head).chain(file);
        let (packed, reader): (_, Box<dyn Read + Send>) = if gzip {
            (Some("gzip"), Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 17, whole))))
        } else if zstd {
            (Some("zstd"), unpack_zstd(path, whole)?)
        } else {
            (None, Box::new(whole))
        };
        let mut text = Text {
            path: path.to_path_buf(),
            reader,
            packed,
            bytes: Vec::new(),
            used: 0,
            kept: 0,
            size,
            ended: false,
            ahead: None,
            spare: Vec::new(),
            failed: None,
            lines: 0,
        };
        text.read_more(BYTE_ORDER_MARK.len())?;
        if text.bytes.starts_with(BYTE_ORDER_MARK) {
            text.used = BYTE_ORDER_MARK.len();
        }
        Ok(text)
    }

    /// The first bytes of what has not been given out, at most `count` of them, and whether the file ends with them.
    pub(super) fn peek(&mut self, count: usize) -> Result<(&[u8], bool), Error> {
        let there = self.bytes.len() - self.used;
        if !self.ended && there < count {
            self.read_more(count - there)?;
        }
        let rest = &self.bytes[self.used..];
        let shown = &rest[..rest.len().min(count)];
        Ok((shown, self.ended && shown.len() == rest.len()))
    }

    /// Takes back the last bytes that were given out: a record goes on in the next block, which starts with them.
    ///
    /// # Panics
    /// If that is more than the last block.
    pub(super) fn keep(&mut self, count: usize) {
        self.used -= count;
        self.kept = count;
    }

    /// The next whole lines; nothing at the end of the file.
    pub(super) fn next_block(&mut self) -> Result<Option<&[u8]>, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.lines += memchr::memchr_iter(b'\n', &self.bytes[..self.used]).count() as u64;
        match self.ahead.take() {
            Some(mut ahead) => {
                ahead.splice(..0, self.bytes[self.used..self.used + self.kept].iter().copied());
                self.spare = std::mem::replace(&mut self.bytes, ahead);
            }
            None => drop(self.bytes.drain(..self.used)),
        }
        self.used = 0;
        let mut searched = std::mem::take(&mut self.kept);
        loop {
            if !self.ended && self.bytes.len() < searched + self.size {
                self.read_more(searched + self.size - self.bytes.len())?;
            }
            self.used = match memchr::memrchr(b'\n', &self.bytes[searched..]) {
                _ if self.ended => self.bytes.len(),
                Some(end) => searched + end + 1,
                None if self.bytes.len() - self.line_start(searched) > LONGEST_LINE => {
                    return Err(self.too_long(searched));
                }
                // A line longer than a block.
                None => {
                    searched = self.bytes.len();
                    continue;
                }
            };
            return Ok((self.used > 0).then(|| &self.bytes[..self.used]));
        }
    }

    /// Where the line starts that a place lies in.
    fn line_start(&self, place: usize) -> usize {
        memchr::memrchr(b'\n', &self.bytes[..place]).map_or(0, |end| end + 1)
    }

    fn too_long(&self, place: usize) -> Error {
        let before = memchr::memchr_iter(b'\n', &self.bytes[..place]).count() as u64;
        Error::Line {
            path: self.path.clone(),
            line: self.lines + before + 1,
            what: format!(
                "the line is longer than {LONGEST_LINE} bytes, the most that is read: is this a table?"
            ),
        }
    }

    /// What it is packed with, if it is.
    pub(super) fn packed(&self) -> Option<&'static str> {
        self.packed
    }

    /// Gives the next whole lines to `work`, and reads what comes behind them at the same time; nothing at the end of
    /// the file.
    pub(super) fn work_on_block<R: Send>(
        &mut self,
        work: impl FnOnce(&[u8]) -> R + Send,
    ) -> Result<Option<R>, Error> {
        if self.next_block()?.is_none() {
            return Ok(None);
        }
        let block = &self.bytes[..self.used];
        if self.ended {
            return Ok(Some(work(block)));
        }
        let mut ahead = std::mem::take(&mut self.spare);
        ahead.clear();
        ahead.extend_from_slice(&self.bytes[self.used..]);
        let (reader, count) = (&mut self.reader, self.size.saturating_sub(ahead.len()));
        let (result, read) = parallel::both(|| work(block), || append(reader, &mut ahead, count));
        match read {
            Ok(ended) => self.ended = ended,
            Err(source) => self.failed = Some(self.explain(source)),
        }
        self.ahead = Some(ahead);
        Ok(Some(result))
    }

    /// Reads `count` bytes, fewer at the end of the file.
    fn read_more(&mut self, count: usize) -> Result<(), Error> {
        self.ended =
            append(&mut self.reader, &mut self.bytes, count).map_err(|source| self.explain(source))?;
        Ok(())
    }

    fn explain(&self, source: std::io::Error) -> Error {
        match self.packed {
            // What the system refuses has a code; the unpackers' own errors have none.
            Some(packed) if source.raw_os_error().is_none() => Error::file(
                &self.path,
                Reason::new(format!("is a {packed} file, but broken or cut off"), source),
            ),
            _ => Error::io(&self.path, source),
        }
    }
}

/// Appends `count` bytes, fewer at the end of what is read, which is the answer.
fn append(reader: &mut (dyn Read + Send), bytes: &mut Vec<u8>, count: usize) -> std::io::Result<bool> {
    let before = bytes.len();
    bytes.reserve(count.min(ROOM));
    reader.take(count as u64).read_to_end(bytes)?;
    Ok(bytes.len() - before < count)
}

#[cfg(feature = "zstd")]
fn unpack_zstd(path: &Path, packed: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, Error> {
    Ok(Box::new(zstd::Decoder::new(packed).map_err(|source| Error::io(path, source))?))
}

#[cfg(not(feature = "zstd"))]
fn unpack_zstd(path: &Path, _: impl Read) -> Result<Box<dyn Read + Send>, Error> {
    let what = "is packed with zstd, for which this s3cmtf was not built: build it with `--features arrow`, or unpack the file";
    Err(Error::file(path, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_are_whole_lines_and_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        for text in ["", "\n", "a", "ab\ncd", "ab\n\ncd\n", "a long line without an end\nb\nc\n"] {
            for mark in ["", "\u{feff}"] {
                std::fs::write(&path, format!("{mark}{text}")).unwrap();
                for size in [1, 2, 3, 7, 100] {
                    let (mut blocks, mut whole) = (Text::with_blocks(&path, size).unwrap(), String::new());
                    while let Some(block) = blocks.next_block().unwrap() {
                        whole.push_str(std::str::from_utf8(block).unwrap());
                        assert!(whole.ends_with('\n') || whole.len() == text.len());
                    }
                    assert_eq!(whole, text);
                }
            }
        }
    }
    #[test]
    fn what_is_kept_comes_again_with_more_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        std::fs::write(&path, "ab\ncd\nef\n").unwrap();
        let mut text = Text::with_blocks(&path, 4).unwrap();
        assert_eq!(text.peek(2).unwrap(), (&b"ab"[..], false));
        assert_eq!(text.peek(100).unwrap(), (&b"ab\ncd\nef\n"[..], true));
        let mut text = Text::with_blocks(&path, 4).unwrap();
        assert_eq!(text.next_block().unwrap(), Some(&b"ab\n"[..]));
        text.keep(2);
        assert_eq!(text.next_block().unwrap(), Some(&b"b\ncd\n"[..]));
        text.keep(5);
        assert_eq!(text.next_block().unwrap(), Some(&b"b\ncd\nef\n"[..]));
        assert_eq!(text.next_block().unwrap(), None);
    }

    #[test]
    fn reading_ahead_gives_the_same_blocks_whatever_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let text: String = (0..100).map(|number| format!("{number}\n{}", "x".repeat(number % 7))).collect();
        std::fs::write(&path, &text).unwrap();
        for size in [1, 5, 17, 64, 1000] {
            let (mut plain, mut ahead) =
                (Text::with_blocks(&path, size).unwrap(), Text::with_blocks(&path, size).unwrap());
            for turn in 0.. {
                let block = plain.next_block().unwrap().map(<[u8]>::to_vec);
                assert_eq!(ahead.work_on_block(<[u8]>::to_vec).unwrap(), block);
                let Some(block) = block else { break };
                let kept = if turn % 3 == 1 { block.len() / 2 } else { 0 };
                plain.keep(kept);
                ahead.keep(kept);
            }
        }
    }

    #[test]
    #[cfg(feature = "zstd")]
    fn zstd_is_known_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let frame = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        let bytes = [frame("a,b\n1"), frame(",2\n")].concat();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Text::open(&path).unwrap().next_block().unwrap(), Some(&b"a,b\n1,2\n"[..]));
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let error = Text::open(&path).and_then(|mut text| text.next_block().map(drop)).unwrap_err();
        assert!(error.to_string().contains("is a zstd file, but broken or cut off"), "{error}");
    }
}
