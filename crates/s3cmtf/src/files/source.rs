//! The bytes of a text file, unpacked if it is a gzip file.

use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::Error;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The whole text of a file: a gzip file, whatever its name, is unpacked; a byte order mark is left out.
pub(super) fn read_text(path: &Path) -> Result<Vec<u8>, Error> {
    let io = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(Error::file(path, "is a folder, but a file of entries is needed"));
    }
    let mut head = Vec::new();
    file.by_ref().take(2).read_to_end(&mut head).map_err(io)?;
    let mut text = Vec::new();
    if head == GZIP_MAGIC {
        let packed = Cursor::new(head).chain(BufReader::with_capacity(1 << 17, file));
        MultiGzDecoder::new(packed).read_to_end(&mut text).map_err(|source| match source.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                Error::file(path, format!("is a gzip file, but broken or cut off: {source}"))
            }
            _ => io(source),
        })?;
    } else {
        // The size is the file's own, so reserving it cannot be more than what is there to be read.
        text.reserve(usize::try_from(metadata.len()).unwrap_or(0));
        text.extend_from_slice(&head);
        file.read_to_end(&mut text).map_err(io)?;
    }
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(text)
}
