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

/// The whole number that a text starts with, written as such numbers are (not `007`), and its length; `None` also for
/// the few that are negative or have more than 15 digits, which [`parse_integer`] reads.
#[inline]
pub(super) fn leading_integer(text: &[u8]) -> Option<(i64, usize)> {
    let (mut number, mut length) = leading_digits(text);
    if length == 8 {
        let (low, more) = leading_digits(&text[8..]);
        (number, length) = (number * TENS[more] + low, 8 + more);
    }
    let canonical = (1..=15).contains(&length) && (text[0] != b'0' || length == 1);
    canonical.then_some((number as i64, length))
}

const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that the first digits of a text are, at most eight of them, and how many there are.
///
/// All eight bytes are looked at together, as one word: a loop would end after another number of digits for each field,
/// which processors mispredict.
#[inline]
fn leading_digits(text: &[u8]) -> (u64, usize) {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let word = match text.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    // Each byte of a digit becomes that digit; adding 0x76 takes all others beyond 0x7f. What they carry over goes to
    // bytes behind the first of them, which are not looked at.
    let digits = word ^ (0x30 * LOW);
    let others = (digits.wrapping_add(0x76 * LOW) | digits) & (0x80 * LOW);
    let count = others.trailing_zeros() as usize / 8;
    // The first digit comes last in a number: with zeros before it there are eight, which are added up as two, four and
    // then eight.
    let digits = if count == 0 { 0 } else { digits << (64 - 8 * count) };
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let even = (twos & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let odd = (twos >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (even.wrapping_add(odd) >> 32, count)
}

/// A whole number that is written as such numbers are, so that writing it gives the same text again.
pub(super) fn parse_integer(token: &[u8]) -> Option<i64> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let canonical = match digits {
        [b'0'] => digits.len() == token.len(),
        [b'1'..=b'9', ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    std::str::from_utf8(token).ok().filter(|_| canonical)?.parse().ok()
}

/// The powers of ten that are used here; an `f64` holds them exactly.
const POWERS_64: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The decimal such as `4` or `-3.25` that a text starts with, and its length, if it has at most 15 digits, which makes
/// it exact for the reason that [`parse_value`] gives.
#[inline]
pub(super) fn leading_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut whole, mut at, mut point) = (0u64, start, None);
    loop {
        match text.get(at) {
            Some(&byte @ b'0'..=b'9') => {
                whole = whole.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            }
            Some(b'.') if point.is_none() => point = Some(at + 1),
            _ => break,
        }
        at += 1;
    }
    let digits = at - start - usize::from(point.is_some());
    let decimals = point.map_or(0, |point| at - point);
    if !(1..=15).contains(&digits) {
        return None;
    }
    let value = whole as f64 / POWERS_64[decimals];
    Some((if negative { -value } else { value }, at))
}

/// The same where decimals may follow a comma, as in a table whose fields are separated by semicolons.
pub(super) fn parse_with_comma(token: &[u8]) -> Option<f64> {
    parse_number(token).or_else(|| {
        let comma = token.iter().position(|&byte| byte == b',')?;
        let (whole, decimals) = (&token[..comma], &token[comma + 1..]);
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let plain = digits(whole.strip_prefix(b"-").unwrap_or(whole)) && digits(decimals);
        if plain { parse_number(&[whole, b".", decimals].concat()) } else { None }
    })
}

/// A finite number as `str::parse` reads it.
pub(super) fn parse_number(token: &[u8]) -> Option<f64> {
    let short = leading_decimal(token).filter(|(_, length)| *length == token.len());
    let number = match short {
        Some((number, _)) => number,
        None => std::str::from_utf8(token).ok()?.parse().ok()?,
    };
    Some(number).filter(|number| number.is_finite())
}

/// Whether a token is a number that is infinite, or too large to be held.
pub(super) fn is_infinite(token: &[u8]) -> bool {
    let number = std::str::from_utf8(token).ok().and_then(|token| token.parse::<f64>().ok());
    number.is_some_and(f64::is_infinite)
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

    #[test]
    fn whole_numbers_are_those_that_are_written_the_same() {
        for good in
            ["0", "7", "-7", "10", "999999999999999999", "9223372036854775807", "-9223372036854775808"]
        {
            assert_eq!(
                parse_integer(good.as_bytes()).map(|number| number.to_string()).as_deref(),
                Some(good)
            );
        }
        for bad in ["", "-", "007", "+7", "-0", "00", "7.0", "1e3", "9223372036854775808", " 7", "7x"] {
            assert_eq!(parse_integer(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(leading_integer(b"12,3"), Some((12, 2)));
        assert_eq!(leading_integer(b"0"), Some((0, 1)));
        for length in 1..=15 {
            for (first, last) in [(1, b','), (9, b'\n'), (5, b'0' - 1), (7, b'9' + 1), (4, 0xff)] {
                let number = (first..).take(length).fold(0, |number, digit| number * 10 + digit % 10);
                let number = if number == 0 { 1 } else { number };
                let mut text = number.to_string().into_bytes();
                let expected = Some((number, text.len()));
                assert_eq!(leading_integer(&text), expected);
                text.push(last);
                assert_eq!(leading_integer(&text), expected);
                text.extend_from_slice(b"12345678123456789");
                assert_eq!(leading_integer(&text), expected);
            }
        }
        for other in ["", "x", "-1", "01", "1234567890123456", "99999999999999999999999999999"] {
            assert_eq!(leading_integer(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_bitwise_those_of_the_standard_library(text in "[-+]?[0-9]{0,18}(\\.[0-9]{0,18})?(e[-+]?[0-9]{1,3})?") {
            let expected = text.parse().ok().filter(|number: &f64| number.is_finite());
            prop_assert_eq!(parse_number(text.as_bytes()).map(f64::to_bits), expected.map(f64::to_bits));
        }

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
