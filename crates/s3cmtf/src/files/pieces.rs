//! Arrays of numbers in a file, read and written in pieces by all threads, and a number that tells whether they are whole.

use std::fs::File;
use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64;

use crate::parallel;

/// The bytes of a piece: few enough to be in a cache when they are turned into numbers.
const PIECE: usize = 1 << 20;

/// A number with its bytes in a file, the lowest first.
pub(super) trait Number: Copy + Default + Send + Sync {
    const BYTES: usize;
    /// Adds the bytes of the numbers.
    fn write(numbers: &[Self], bytes: &mut Vec<u8>);
    /// Takes as many numbers as there is room for; there are as many bytes.
    fn read(bytes: &[u8], numbers: &mut [Self]);
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn write(numbers: &[Self], bytes: &mut Vec<u8>) {
                bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }

            fn read(bytes: &[u8], numbers: &mut [Self]) {
                let (chunks, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                numbers.iter_mut().zip(chunks).for_each(|(number, &chunk)| *number = <$type>::from_le_bytes(chunk));
            }
        }
    )*};
}

number!(u8, u32, u64, f32);

/// The check of an array: the hash of the hashes of its pieces.
pub(super) fn check<T: Number>(numbers: &[T]) -> String {
    let hash = |bytes: &mut Vec<u8>, piece: &[T]| {
        bytes.clear();
        T::write(piece, bytes);
        xxh3_64(bytes)
    };
    together(parallel::map_with(numbers.chunks(PIECE / T::BYTES), Vec::new, hash))
}

fn together(hashes: Vec<u64>) -> String {
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    format!("{:016x}", xxh3_64(&bytes))
}

/// Writes an array.
pub(super) fn write<T: Number>(numbers: &[T], out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(PIECE);
    for piece in numbers.chunks(PIECE / T::BYTES) {
        bytes.clear();
        T::write(piece, &mut bytes);
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// The check of `len` bytes of an array that start at `offset`, which are not kept.
pub(super) fn check_in_file(file: &File, offset: u64, len: usize) -> io::Result<String> {
    let pieces = 0..len.div_ceil(PIECE);
    let hashes = parallel::try_map_with(pieces, Vec::new, |bytes: &mut Vec<u8>, number| {
        let first = number * PIECE;
        bytes.resize(PIECE.min(len - first), 0);
        read_at(file, bytes, offset + first as u64)?;
        Ok(xxh3_64(bytes))
    });
    hashes.map(together)
}

/// Reads an array of `len` numbers that starts at `offset`, and its check. The file must have them: room is made first.
pub(super) fn read<T: Number>(file: &File, offset: u64, len: usize) -> io::Result<(Vec<T>, String)> {
    let mut numbers = vec![T::default(); len];
    let pieces = numbers.chunks_mut(PIECE / T::BYTES).enumerate();
    let hashes = parallel::try_map_with(pieces, Vec::new, |bytes: &mut Vec<u8>, (number, piece)| {
        bytes.resize(piece.len() * T::BYTES, 0);
        read_at(file, bytes, offset + (number * PIECE) as u64)?;
        T::read(bytes, piece);
        Ok::<_, io::Error>(xxh3_64(bytes))
    })?;
    Ok((numbers, together(hashes)))
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(not(unix))]
pub(super) fn read_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::Mutex;
    // Where a file has one place to read from, one thread reads at a time.
    static READING: Mutex<()> = Mutex::new(());
    let _alone = READING.lock();
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_length_come_back_with_their_check() {
        for len in [0, 1, PIECE / 4 - 1, PIECE / 4, PIECE / 2 + 3] {
            let numbers: Vec<u32> = (0..len as u32).map(|number| number.wrapping_mul(0x9e37_79b9)).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"abc").unwrap();
            write(&numbers, &mut file).unwrap();
            let (back, found) = read::<u32>(&file, 3, len).unwrap();
            assert_eq!((back, found), (numbers.clone(), check(&numbers)));
            assert_eq!(check_in_file(&file, 3, 4 * len).unwrap(), check(&numbers));
            assert!(read::<u32>(&file, 4, len + 1).is_err(), "there are not that many");
        }
        assert_ne!(check(&[1.0f32, 2.0]), check(&[2.0f32, 1.0]));
    }
}
