//! From the bytes of a column to a number.

/// The largest index a file may hold. Ids count from 0 and the last `u32` is reserved, so nothing is lost.
pub(super) const LARGEST_INDEX: u64 = u32::MAX as u64;

/// Why a column holds no index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadIndex {
    /// The index is 0, but they count from 1.
    Zero,
    /// It is not a whole number, or too large a one.
    NotAnIndex,
}

/// The 0-based id of a 1-based index.
pub(super) fn parse_id(token: &[u8]) -> Result<u32, BadIndex> {
    let mut index = 0u64;
    for &byte in token {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(BadIndex::NotAnIndex);
        }
        index = index * 10 + u64::from(digit);
        if index > LARGEST_INDEX {
            return Err(BadIndex::NotAnIndex);
        }
    }
    match index {
        0 if token.is_empty() => Err(BadIndex::NotAnIndex),
        0 => Err(BadIndex::Zero),
        index => Ok((index - 1) as u32),
    }
}

/// The powers of ten that an `f32` holds exactly.
const POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

/// The number as `str::parse` reads it, which may be infinite or not a number; `None` where it reads none.
pub(super) fn parse_value(token: &[u8]) -> Option<f32> {
    short_decimal(token).or_else(|| std::str::from_utf8(token).ok()?.parse().ok())
}

/// A decimal such as `4` or `-3.25` whose digits, read as a whole number, an `f32` holds exactly.
///
/// Dividing it by an exact power of ten rounds once and to nearest, which is the definition of `str::parse`.
fn short_decimal(token: &[u8]) -> Option<f32> {
    let (negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // Seven digits and a point; more may exceed 2^24, beyond which whole numbers are no longer exact.
    if digits.len() > 8 {
        return None;
    }
    let mut whole = 0u32;
    let mut decimals = None;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                whole = whole * 10 + u32::from(byte - b'0');
                decimals = decimals.map(|count| count + 1);
            }
            b'.' if decimals.is_none() => decimals = Some(0),
            _ => return None,
        }
    }
    let has_digit = digits.len() > usize::from(decimals.is_some());
    if !has_digit || whole >= 1 << 24 {
        return None;
    }
    let value = whole as f32 / POWERS[decimals.unwrap_or(0usize)];
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn indices_count_from_one_and_end_at_the_largest() {
        assert_eq!(parse_id(b"1"), Ok(0));
        assert_eq!(parse_id(b"0007"), Ok(6));
        assert_eq!(parse_id(b"4294967295"), Ok(u32::MAX - 1));
        assert_eq!(parse_id(b"000"), Err(BadIndex::Zero));
        for bad in ["", "4294967296", "99999999999999999999999", "-1", "+1", "1.0", "x7", "1e3"] {
            assert_eq!(parse_id(bad.as_bytes()), Err(BadIndex::NotAnIndex), "{bad}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for bad in ["", "-", ".", "-.", "1.2.3", "abc", "--1", "1,5", "0x10"] {
            assert_eq!(parse_value(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_value(b"\xff\xfe"), None);
        assert_eq!(parse_value(b"1e39"), Some(f32::INFINITY));
    }

    #[test]
    fn every_short_decimal_is_what_the_standard_library_reads() {
        for whole in 0..2_000_000u32 {
            let text = format!("{}.{:04}", whole / 10_000, whole % 10_000);
            assert_eq!(
                parse_value(text.as_bytes()).map(f32::to_bits),
                text.parse().ok().map(f32::to_bits),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn values_are_bitwise_those_of_the_standard_library(text in "[-+]?[0-9]{0,9}(\\.[0-9]{0,9})?(e[-+]?[0-9]{1,2})?") {
            prop_assert_eq!(parse_value(text.as_bytes()).map(f32::to_bits), text.parse().ok().map(f32::to_bits));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let _ = (parse_id(&bytes), parse_value(&bytes));
        }
    }
}
