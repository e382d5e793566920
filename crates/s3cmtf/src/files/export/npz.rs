//! Archives of NumPy arrays, as `numpy.savez` writes them.

use std::io::{self, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Out, Values};

/// Files of more bytes need 64-bit sizes in the archive.
const LARGE: usize = u32::MAX as usize / 2;

pub(super) fn write(writer: &mut dyn Write, arrays: &[Out]) -> io::Result<()> {
    let mut archive = ZipWriter::new_stream(writer);
    for array in arrays {
        let width = width(array.values);
        let large = array.values.len().saturating_mul(width) > LARGE;
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        archive.start_file(format!("{}.npy", array.name), options).map_err(io::Error::other)?;
        // The archive computes a checksum per write: in large pieces.
        let mut buffer = io::BufWriter::with_capacity(1 << 16, &mut archive);
        buffer.write_all(&header(array, width))?;
        write_values(&mut buffer, array.values, width)?;
        buffer.flush()?;
    }
    archive.finish().map_err(io::Error::other)?;
    Ok(())
}

/// The bytes of a value.
fn width(values: Values) -> usize {
    match values {
        Values::Integers(_) | Values::Numbers(_) | Values::Times(_) => 8,
        Values::Singles(_) => 4,
        // Four per character, and never none: NumPy has no texts of length 0.
        Values::Texts(_, labels) => {
            4 * labels.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1)
        }
    }
}

fn header(array: &Out, width: usize) -> Vec<u8> {
    let kind = match array.values {
        Values::Integers(_) => "<i8".to_owned(),
        Values::Numbers(_) => "<f8".to_owned(),
        Values::Singles(_) => "<f4".to_owned(),
        Values::Times(_) => "<M8[s]".to_owned(),
        Values::Texts(..) => format!("<U{}", width / 4),
    };
    let lengths: String = array.shape.iter().map(|length| format!("{length},")).collect();
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // Blanks up to a multiple of 64, so that the values behind are aligned.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes
}

fn write_values(writer: &mut impl Write, values: Values, width: usize) -> io::Result<()> {
    match values {
        Values::Integers(values) | Values::Times(values) => {
            values.iter().try_for_each(|value| writer.write_all(&value.to_le_bytes()))
        }
        Values::Numbers(values) => values.iter().try_for_each(|value| writer.write_all(&value.to_le_bytes())),
        Values::Singles(values) => values.iter().try_for_each(|value| writer.write_all(&value.to_le_bytes())),
        Values::Texts(codes, labels) => {
            let mut bytes = Vec::with_capacity(width);
            codes.iter().try_for_each(|&code| {
                bytes.clear();
                bytes.extend(labels.get(code).chars().flat_map(|character| (character as u32).to_le_bytes()));
                bytes.resize(width, 0);
                writer.write_all(&bytes)
            })
        }
    }
}
