//! What the pages of a Parquet file say of their own size, looked at before their reader takes memory for it.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// The best that packing can do: zstd says 128 KiB of one byte in four.
const BEST_PACKING: u64 = 1 << 15;
/// Headers are two deep; what nests deeper must not overflow the stack.
const DEEPEST: usize = 8;

/// Says which page of a column, of `length` bytes from `start` on, cannot be unpacked to what it says.
///
/// A header that is not understood ends the search: the reader of the pages gets no further either, and says why.
pub(super) fn impossible(file: impl Read + Seek, start: u64, length: u64) -> io::Result<Option<String>> {
    // A header is a few dozen bytes, and what lies behind it is skipped.
    let mut reader = BufReader::with_capacity(1 << 10, file);
    reader.seek(SeekFrom::Start(start))?;
    let end = start.saturating_add(length);
    for page in 1.. {
        if reader.stream_position()? >= end {
            break;
        }
        let Ok(Header { unpacked, packed }) = Header::read(&mut reader) else { break };
        if unpacked > packed.saturating_mul(BEST_PACKING) {
            return Ok(Some(format!("page {page} of {packed} bytes cannot be unpacked to {unpacked}")));
        }
        let Ok(packed) = i64::try_from(packed) else { break };
        reader.seek_relative(packed)?;
    }
    Ok(None)
}

/// The sizes in the header of a page, which is a struct of Thrift in its compact form.
struct Header {
    unpacked: u64,
    packed: u64,
}

impl Header {
    fn read(reader: &mut impl Read) -> io::Result<Self> {
        let mut sizes = [None; 2];
        let mut field = 0;
        while let Some(kind) = next_field(reader, &mut field)? {
            match (field, kind) {
                (2 | 3, 4..=6) => sizes[field as usize - 2] = Some(zigzag(varint(reader)?)),
                _ => skip(reader, kind, DEEPEST)?,
            }
        }
        let size = |size: Option<i64>| size.and_then(|size| u64::try_from(size).ok()).ok_or_else(odd);
        Ok(Header { unpacked: size(sizes[0])?, packed: size(sizes[1])? })
    }
}

fn odd() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

fn byte(reader: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    reader.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Seven bits a byte, the lowest first.
fn varint(reader: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for place in 0..10 {
        let byte = byte(reader)?;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(odd())
}

fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// The type of the next field of a struct, and in `field` its number; none at the end of the struct.
fn next_field(reader: &mut impl Read, field: &mut i64) -> io::Result<Option<u8>> {
    let head = byte(reader)?;
    match head >> 4 {
        _ if head == 0 => return Ok(None),
        0 => *field = zigzag(varint(reader)?),
        more => *field = field.saturating_add(more.into()),
    }
    Ok(Some(head & 15))
}

fn skip_bytes(reader: &mut impl Read, count: u64) -> io::Result<()> {
    let skipped = io::copy(&mut reader.take(count), &mut io::sink())?;
    if skipped == count { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn skip(reader: &mut impl Read, kind: u8, depth: usize) -> io::Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(odd)?;
    match kind {
        // Booleans are the type itself.
        1 | 2 => Ok(()),
        3 => skip_bytes(reader, 1),
        4..=6 => varint(reader).map(drop),
        7 => skip_bytes(reader, 8),
        8 => {
            let count = varint(reader)?;
            skip_bytes(reader, count)
        }
        9 | 10 => {
            let head = byte(reader)?;
            let count = if head >> 4 == 15 { varint(reader)? } else { u64::from(head >> 4) };
            // In a list a boolean is a byte.
            let kind = if matches!(head & 15, 1 | 2) { 3 } else { head & 15 };
            (0..count).try_for_each(|_| skip(reader, kind, depth))
        }
        12 => {
            let mut field = 0;
            while let Some(kind) = next_field(reader, &mut field)? {
                skip(reader, kind, depth)?;
            }
            Ok(())
        }
        // No header has a map.
        _ => Err(odd()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Field 1, a type; 2 and 3, the sizes; 5, a struct with a number, a text and a list of booleans; the end.
    fn page(unpacked: &[u8], packed: &[u8], content: usize) -> Vec<u8> {
        let inner = [0x15, 8, 0x18, 2, b'h', b'i', 0x19, 0x21, 1, 0, 0];
        [&[0x15, 0, 0x15], unpacked, &[0x15], packed, &[0x2c], &inner, &[0], &vec![7; content]].concat()
    }

    #[test]
    fn pages_say_what_they_can_be_unpacked_to() {
        let found = |bytes: &[u8]| impossible(Cursor::new(bytes), 0, bytes.len() as u64).unwrap();
        let good = page(&[20], &[10], 5);
        assert_eq!(found(&good), None);
        // 2^31 - 1 bytes, the most that a header can say.
        let bad = page(&[0xfe, 0xff, 0xff, 0xff, 0x0f], &[10], 5);
        let said = "page 2 of 5 bytes cannot be unpacked to 2147483647";
        assert_eq!(found(&[good, bad.clone()].concat()).as_deref(), Some(said));
        for end in 0..bad.len() - 5 {
            assert_eq!(found(&bad[..end]), None, "{end}");
        }
        // Structs in structs, without an end.
        assert_eq!(found(&[0x1c; 1000]), None);
    }
}
