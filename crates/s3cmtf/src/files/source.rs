//! The text of a file, unpacked if it is a gzip file, block by block: a table may be larger than what is read from it.

use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::Error;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A block has at least this many bytes, unless it is the last.
const BLOCK: usize = 1 << 25;

/// A file that is read block by block: a gzip file, whatever its name, is unpacked; a byte order mark is left out.
pub(super) struct Text {
    path: PathBuf,
    reader: Box<dyn Read>,
    packed: bool,
    /// What has been read; the first `used` bytes of it have been given out.
    bytes: Vec<u8>,
    used: usize,
    size: usize,
    ended: bool,
}

impl Text {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Text::with_blocks(path, BLOCK)
    }

    /// Blocks of about `size` bytes.
    pub(super) fn with_blocks(path: &Path, size: usize) -> Result<Self, Error> {
        let io = |source| Error::io(path, source);
        let mut file = File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.is_dir() {
            return Err(Error::file(path, "is a folder, but a file of entries is needed"));
        }
        let mut head = Vec::new();
        file.by_ref().take(2).read_to_end(&mut head).map_err(io)?;
        let packed = head == GZIP_MAGIC;
        let whole = Cursor::new(head).chain(file);
        let reader: Box<dyn Read> = if packed {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 17, whole)))
        } else {
            Box::new(whole)
        };
        let (bytes, path) = (Vec::new(), path.to_path_buf());
        let mut text = Text { path, reader, packed, bytes, used: 0, size, ended: false };
        text.read_more(BYTE_ORDER_MARK.len())?;
        if text.bytes.starts_with(BYTE_ORDER_MARK) {
            text.used = BYTE_ORDER_MARK.len();
        }
        Ok(text)
    }

    /// The next whole lines; nothing at the end of the file.
    pub(super) fn next_block(&mut self) -> Result<Option<&[u8]>, Error> {
        self.bytes.drain(..self.used);
        self.used = 0;
        let mut searched = 0;
        loop {
            if !self.ended && self.bytes.len() < searched + self.size {
                self.read_more(searched + self.size - self.bytes.len())?;
            }
            self.used = match self.bytes[searched..].iter().rposition(|&byte| byte == b'\n') {
                _ if self.ended => self.bytes.len(),
                Some(end) => searched + end + 1,
                // A line longer than a block.
                None => {
                    searched = self.bytes.len();
                    continue;
                }
            };
            return Ok((self.used > 0).then(|| &self.bytes[..self.used]));
        }
    }

    /// Reads `count` bytes, fewer at the end of the file.
    fn read_more(&mut self, count: usize) -> Result<(), Error> {
        let before = self.bytes.len();
        let result = self.reader.by_ref().take(count as u64).read_to_end(&mut self.bytes);
        result.map_err(|source| match source.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof if self.packed => {
                Error::file(&self.path, format!("is a gzip file, but broken or cut off: {source}"))
            }
            _ => Error::io(&self.path, source),
        })?;
        self.ended = self.bytes.len() - before < count;
        Ok(())
    }
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
}
