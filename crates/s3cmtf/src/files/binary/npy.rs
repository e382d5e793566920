//! Arrays of NumPy: the header of an `.npy` file, and values of any type in any order.

use std::io::Read;

use super::column::{Fault, Raw};
use super::literal::Literal;
use crate::table::Labels;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers are some hundred bytes; thousands of named columns still fit.
const LONGEST_HEADER: usize = 1 << 20;

/// What an array consists of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// The values of an element; one without a name, unless the array is a structured one.
    pub(super) fields: Vec<Field>,
    /// The bytes of an element.
    pub(super) width: usize,
    /// Whether the first index changes fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// A value within an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    /// Where it starts in the element.
    pub(super) start: usize,
    pub(super) values: Values,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Values {
    kind: Type,
    /// Its bytes.
    width: usize,
    big: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Bytes, filled up with zeros.
    Bytes,
    /// Characters of four bytes, filled up with zeros.
    Unicode,
    /// So many units of time since 1970, one being `numerator / denominator` seconds.
    Time {
        numerator: i64,
        denominator: i64,
    },
}

impl Header {
    /// The number of bytes behind the header.
    pub(super) fn size(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.width, |size, &length| size.checked_mul(length))
    }

    /// Reads a header, and nothing behind it.
    pub(super) fn read(reader: &mut dyn Read) -> Result<Header, String> {
        let cut = |error: std::io::Error| format!("is cut off or broken in its header: {error}");
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(cut)?;
        if !start.starts_with(MAGIC) {
            return Err("is no array of NumPy".into());
        }
        let length = if start[6] == 1 {
            let mut bytes = [0; 2];
            reader.read_exact(&mut bytes).map_err(cut)?;
            usize::from(u16::from_le_bytes(bytes))
        } else {
            let mut bytes = [0; 4];
            reader.read_exact(&mut bytes).map_err(cut)?;
            u32::from_le_bytes(bytes) as usize
        };
        if length > LONGEST_HEADER {
            return Err(format!("has a header of {length} bytes, but at most {LONGEST_HEADER} are read"));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text).map_err(cut)?;
        let text = String::from_utf8_lossy(&text);
        let header = Literal::parse(&text);
        header
            .and_then(Header::from_literal)
            .unwrap_or_else(|| Err(format!("has a header that is not understood: {text:.200}")))
    }

    /// None where the literal is not as NumPy writes it; an error where it is, but cannot be used.
    fn from_literal(literal: Literal) -> Option<Result<Header, String>> {
        let Literal::Dictionary(entries) = literal else { return None };
        let find = |key: &str| entries.iter().find(|entry| entry.0 == key).map(|entry| &entry.1);
        let Literal::Bool(fortran) = *find("fortran_order")? else { return None };
        let Literal::List(shape) = find("shape")? else { return None };
        let length = |item: &Literal| match item {
            Literal::Number(length) => Some(*length),
            _ => None,
        };
        let shape = shape.iter().map(length).collect::<Option<Vec<usize>>>()?;
        let fields = match find("descr")? {
            Literal::Text(code) => vec![(String::new(), code)],
            Literal::List(fields) => fields.iter().map(named_field).collect::<Option<Vec<_>>>()?,
            _ => return None,
        };
        let mut header = Header { fields: Vec::new(), width: 0, fortran, shape };
        for (name, code) in fields {
            let values = match Values::parse(code) {
                // `|V4` is how NumPy writes gaps between values.
                Err(_) if name.is_empty() && code.starts_with("|V") => None,
                Ok(values) => Some(values),
                Err(what) => return Some(Err(what)),
            };
            let width = match values {
                Some(values) => values.width,
                None => code[2..].parse().ok()?,
            };
            let field = values.map(|values| Field { name, start: header.width, values });
            header.fields.extend(field);
            header.width = header.width.checked_add(width)?;
        }
        Some(Ok(header))
    }
}

/// The name and the type of a field of a structured array, `('user', '<i8')`.
fn named_field(field: &Literal) -> Option<(String, &String)> {
    match field {
        Literal::List(parts) => match &parts[..] {
            [Literal::Text(name), Literal::Text(code)] => Some((name.clone(), code)),
            _ => None,
        },
        _ => None,
    }
}

impl Values {
    /// Such as `<f8`, `|u1`, `>i4`, `<U12`, `<M8[ms]`.
    fn parse(code: &str) -> Result<Values, String> {
        let unknown =
            || format!("has values of type {code:?}, which cannot be read as numbers, texts or times");
        let (order, rest) = code.split_at_checked(1).ok_or_else(unknown)?;
        let (letter, rest) = rest.split_at_checked(1).ok_or_else(unknown)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (width, unit) = rest.split_at(digits);
        let width: usize = width.parse().map_err(|_| unknown())?;
        let big = match order {
            "<" | "|" | "=" => false,
            ">" => true,
            _ => return Err(unknown()),
        };
        let kind = match (letter, width) {
            ("b", 1) => Type::Bool,
            ("i", 1 | 2 | 4 | 8) => Type::Signed,
            ("u", 1 | 2 | 4 | 8) => Type::Unsigned,
            ("f", 2 | 4 | 8) => Type::Float,
            ("S", _) => Type::Bytes,
            ("U", _) => Type::Unicode,
            ("M", 8) => time_unit(unit).ok_or_else(unknown)?,
            _ => return Err(unknown()),
        };
        let width = if letter == "U" { width.checked_mul(4).ok_or_else(unknown)? } else { width };
        Ok(Values { kind, width, big })
    }

    /// The `count` values that start at `start` and lie `stride` bytes apart.
    ///
    /// The caller has seen that they lie within `bytes`.
    pub(super) fn read(self, bytes: &[u8], start: usize, stride: usize, count: usize) -> Result<Raw, Fault> {
        let Values { kind, width, big } = self;
        let each = (0..count).map(|row| &bytes[start + row * stride..start + row * stride + width]);
        Ok(match kind {
            Type::Bool => Raw::Signed(each.map(|value| i64::from(value[0] != 0)).collect()),
            Type::Signed => Raw::Signed(each.map(|value| signed(value, big)).collect()),
            Type::Unsigned => Raw::Unsigned(each.map(|value| unsigned(value, big)).collect()),
            Type::Float => Raw::Numbers(each.map(|value| float(value, big)).collect()),
            Type::Bytes | Type::Unicode => {
                let mut labels = Labels::new();
                let mut text = String::new();
                let mut codes = Vec::with_capacity(count);
                for (row, value) in each.enumerate() {
                    text.clear();
                    let fault = || Fault { row, what: "the text is not Unicode".into() };
                    if kind == Type::Bytes {
                        text.push_str(std::str::from_utf8(value).map_err(|_| fault())?);
                    } else {
                        let (characters, _) = value.as_chunks::<4>();
                        for &character in characters {
                            let number = if big {
                                u32::from_be_bytes(character)
                            } else {
                                u32::from_le_bytes(character)
                            };
                            text.push(char::from_u32(number).ok_or_else(fault)?);
                        }
                    }
                    codes.push(labels.id(text.trim_end_matches('\0')));
                }
                Raw::Texts { codes, labels }
            }
            Type::Time { numerator, denominator } => {
                let seconds = |(row, value): (usize, &[u8])| {
                    let units = signed(value, big);
                    let fault = || Fault { row, what: format!("{units} is too large for a time") };
                    // NaT, the missing time of NumPy, is the smallest number, and ours as well.
                    if units == i64::MIN {
                        return Ok(units);
                    }
                    units.checked_mul(numerator).map(|value| value.div_euclid(denominator)).ok_or_else(fault)
                };
                Raw::Times(each.enumerate().map(seconds).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// The seconds of a unit such as `[ns]` or `[10m]`. Months and years differ in length and are no such units.
fn time_unit(unit: &str) -> Option<Type> {
    let unit = unit.strip_prefix('[')?.strip_suffix(']')?;
    let digits = unit.find(|c: char| !c.is_ascii_digit())?;
    let (count, name) = unit.split_at(digits);
    let count: i64 = if count.is_empty() { 1 } else { count.parse().ok()? };
    let (numerator, denominator) = match name {
        "W" => (604_800, 1),
        "D" => (86_400, 1),
        "h" => (3600, 1),
        "m" => (60, 1),
        "s" => (1, 1),
        "ms" => (1, 1_000),
        "us" => (1, 1_000_000),
        "ns" => (1, 1_000_000_000),
        _ => return None,
    };
    Some(Type::Time { numerator: count.checked_mul(numerator)?, denominator })
}

/// Up to eight bytes as one number.
fn unsigned(bytes: &[u8], big: bool) -> u64 {
    let mut eight = [0; 8];
    if big {
        eight[8 - bytes.len()..].copy_from_slice(bytes);
        u64::from_be_bytes(eight)
    } else {
        eight[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(eight)
    }
}

fn signed(bytes: &[u8], big: bool) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    (unsigned(bytes, big) << unused).cast_signed() >> unused
}

fn float(bytes: &[u8], big: bool) -> f64 {
    let bits = unsigned(bytes, big);
    match bytes.len() {
        8 => f64::from_bits(bits),
        4 => f64::from(f32::from_bits(bits as u32)),
        _ => half(bits as u16),
    }
}

/// A number of 16 bits: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(text: &str) -> Result<Header, String> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        Header::read(&mut &bytes[..])
    }

    #[test]
    fn headers_as_numpy_writes_them() {
        let read = header("{'descr': '>f4', 'fortran_order': True, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!((read.shape.as_slice(), read.fortran, read.size()), (&[3, 4][..], true, Some(48)));
        let read = header("{'descr': [('user', '<i8'), ('', '|V4'), ('name', '<U3')], 'fortran_order': False, 'shape': (2,), }\n").unwrap();
        let places: Vec<_> = read.fields.iter().map(|field| (field.name.as_str(), field.start)).collect();
        assert_eq!((places, read.width), (vec![("user", 0), ("name", 12)], 24));
        assert!(
            header("{'descr': '<c16', 'fortran_order': False, 'shape': (2,)}").unwrap_err().contains("<c16")
        );
        for bad in [
            "",
            "{",
            "{}",
            "((((((((((((",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
            "{'shape': (-1,)}",
        ] {
            assert!(header(bad).unwrap_err().contains("not understood"), "{bad}");
        }
        let huge =
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}").unwrap();
        assert_eq!(huge.size(), None);
    }

    #[test]
    fn halves_are_what_they_are() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_953_125), (0x0001, 5.960_464_477_539_063e-8)]
        {
            assert_eq!(half(bits), value);
        }
        assert_eq!((half(0x7c00), half(0x7e00).is_nan()), (f64::INFINITY, true));
    }

    #[test]
    fn values_of_either_byte_order() {
        let read = |code: &str, bytes: &[u8]| {
            let values = Values::parse(code).unwrap();
            values.read(bytes, 0, values.width, bytes.len() / values.width).unwrap()
        };
        assert_eq!(read(">i2", &[0xff, 0xfe, 0, 5]), Raw::Signed(vec![-2, 5]));
        assert_eq!(read("<i2", &[0xfe, 0xff, 5, 0]), Raw::Signed(vec![-2, 5]));
        assert_eq!(read("|b1", &[0, 1]), Raw::Signed(vec![0, 1]));
        assert_eq!(read("<M8[ms]", &1_500i64.to_le_bytes()), Raw::Times(vec![1]));
        assert_eq!(read("<M8[D]", &(-1i64).to_le_bytes()), Raw::Times(vec![-86_400]));
        let Raw::Texts { codes, labels } = read("|S3", b"ab\0xyzab\0") else { panic!() };
        assert_eq!((codes, labels.iter().collect::<Vec<_>>()), (vec![0, 1, 0], vec!["ab", "xyz"]));
    }

    proptest! {
        #[test]
        fn any_header_is_read_or_refused(text in "[\\{\\}\\(\\)\\[\\]'\",: a-zT<0-9]{0,60}") {
            let _ = header(&text);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Header::read(&mut &bytes[..]);
            let _ = Header::read(&mut &[MAGIC, &bytes].concat()[..]);
        }
    }
}
