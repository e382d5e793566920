//! From the arrays of Arrow, which Parquet files are read into as well, to columns.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericListArray, OffsetSizeTrait};
use arrow_schema::{DataType, TimeUnit};

use super::column::{Fault, Raw};
use crate::table::Labels;

/// What the texts of a list are joined with.
const BETWEEN: &str = "|";
const DAY: i64 = 86_400;

/// A column that grows array by array.
#[derive(Default)]
pub(in crate::files) struct Growing {
    values: Option<Raw>,
    /// The dictionary that came last and the code of each of its texts: a reader gives the same one many times.
    dictionary: Option<(ArrayRef, Vec<u32>)>,
}

/// No text has this code: none is there, or none was found yet.
const NO_TEXT: u32 = u32::MAX;

impl Growing {
    /// Appends an array; rows of faults are counted from the first array on.
    pub(in crate::files) fn extend(&mut self, array: &ArrayRef) -> Result<(), Fault> {
        let before = self.values.as_ref().map_or(0, Raw::len);
        self.add(array).map_err(|fault| Fault { row: before + fault.row, ..fault })
    }

    /// The column, which is empty where nothing was appended.
    pub(in crate::files) fn finish(self) -> Raw {
        self.values.unwrap_or(Raw::Signed(Vec::new()))
    }

    fn add(&mut self, array: &ArrayRef) -> Result<(), Fault> {
        if array.is_empty() {
            return Ok(());
        }
        if !is_usable(array.data_type()) {
            return Err(unusable(array.data_type()));
        }
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        if let Some(texts) = Texts::new(array) {
            let (codes, labels) = self.texts();
            return (0..array.len()).try_for_each(|row| {
                codes.push(match is_null(row) {
                    true => NO_TEXT,
                    false => labels.id(texts.get(row).ok_or_else(|| not_text(row))?),
                });
                Ok(())
            });
        }
        match array.data_type() {
            DataType::Dictionary(_, of) if is_text(of) => self.add_dictionary(array, is_null),
            DataType::List(_) => self.add_lists(array.as_list::<i32>(), is_null),
            DataType::LargeList(_) => self.add_lists(array.as_list::<i64>(), is_null),
            _ => {
                let holes = (0..array.len()).filter(|&row| is_null(row)).collect();
                let next = plain(array)?.with_holes(holes);
                let fits = match &mut self.values {
                    None => {
                        self.values = Some(next);
                        true
                    }
                    Some(values) => values.append(next),
                };
                if fits { Ok(()) } else { Err(Fault { row: 0, what: "the type changes here".into() }) }
            }
        }
    }

    fn texts(&mut self) -> (&mut Vec<u32>, &mut Labels) {
        let empty = || Raw::Texts { codes: Vec::new(), labels: Labels::new() };
        // A column has one type, so what is replaced here is nothing.
        if !matches!(self.values, Some(Raw::Texts { .. })) {
            self.values = Some(empty());
        }
        match &mut self.values {
            Some(Raw::Texts { codes, labels }) => (codes, labels),
            _ => unreachable!("just made"),
        }
    }

    fn add_dictionary(&mut self, array: &ArrayRef, is_null: impl Fn(usize) -> bool) -> Result<(), Fault> {
        let Some(dictionary) = array.as_any_dictionary_opt() else { return Err(unusable(array.data_type())) };
        let values = dictionary.values();
        let Some(texts) = Texts::new(values) else { return Err(unusable(array.data_type())) };
        let known = self.dictionary.take().filter(|(last, _)| last.to_data().ptr_eq(&values.to_data()));
        let (_, mut moved) = known.unwrap_or_else(|| (values.clone(), vec![NO_TEXT; values.len()]));
        let (codes, labels) = self.texts();
        // Keys cannot be looked at where there is nothing that they could lead to.
        let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
        for (row, key) in keys.into_iter().enumerate() {
            if is_null(row) {
                codes.push(NO_TEXT);
                continue;
            }
            if moved[key] == NO_TEXT {
                moved[key] = labels.id(texts.get(key).ok_or_else(|| not_text(row))?);
            }
            codes.push(moved[key]);
        }
        self.dictionary = Some((values.clone(), moved));
        Ok(())
    }

    fn add_lists<O: OffsetSizeTrait>(
        &mut self,
        lists: &GenericListArray<O>,
        is_null: impl Fn(usize) -> bool,
    ) -> Result<(), Fault> {
        let (codes, labels) = self.texts();
        let mut joined = String::new();
        for row in 0..lists.len() {
            if is_null(row) {
                codes.push(NO_TEXT);
                continue;
            }
            let list = lists.value(row);
            let texts = Texts::new(&list).ok_or_else(|| unusable(lists.data_type()))?;
            joined.clear();
            for item in (0..list.len()).filter(|&item| !list.is_null(item)) {
                if !joined.is_empty() {
                    joined.push_str(BETWEEN);
                }
                joined.push_str(texts.get(item).ok_or_else(|| not_text(row))?);
            }
            codes.push(labels.id(&joined));
        }
        Ok(())
    }
}

/// Whether texts may lie behind the keys of a dictionary.
fn is_text(of: &DataType) -> bool {
    use DataType::{Binary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(of, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary)
}

/// Whether values of a type may be of use. Asked before anything is done with them: those of other types may take no
/// bytes in a file, so that a short one can say that it has more of them than there is memory for a bit each.
fn is_usable(of: &DataType) -> bool {
    use DataType::*;
    match of {
        Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => true,
        Float16 | Float32 | Float64 | Decimal128(..) | Timestamp(..) | Date32 | Date64 => true,
        List(field) | LargeList(field) => is_text(field.data_type()),
        Dictionary(_, of) => !matches!(**of, Dictionary(..)) && is_usable(of),
        other => is_text(other),
    }
}

fn unusable(found: &DataType) -> Fault {
    Fault { row: 0, what: format!("values of type {found} cannot be read as ids, numbers or times") }
}

fn not_text(row: usize) -> Fault {
    Fault { row, what: "the text is not Unicode".into() }
}

/// An array of texts, however they are stored.
enum Texts<'a> {
    Small(&'a arrow_array::StringArray),
    Large(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    /// Writers that do not say that their bytes are text.
    Bytes(&'a arrow_array::BinaryArray),
    LargeBytes(&'a arrow_array::LargeBinaryArray),
}

impl<'a> Texts<'a> {
    fn new(array: &'a ArrayRef) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => array.as_string_opt().map(Texts::Small),
            DataType::LargeUtf8 => array.as_string_opt().map(Texts::Large),
            DataType::Utf8View => array.as_string_view_opt().map(Texts::View),
            DataType::Binary => array.as_binary_opt().map(Texts::Bytes),
            DataType::LargeBinary => array.as_binary_opt().map(Texts::LargeBytes),
            _ => None,
        }
    }

    fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Texts::Small(texts) => Some(texts.value(row)),
            Texts::Large(texts) => Some(texts.value(row)),
            Texts::View(texts) => Some(texts.value(row)),
            Texts::Bytes(bytes) => std::str::from_utf8(bytes.value(row)).ok(),
            Texts::LargeBytes(bytes) => std::str::from_utf8(bytes.value(row)).ok(),
        }
    }
}

/// The values of a type that is no text.
fn plain(array: &ArrayRef) -> Result<Raw, Fault> {
    fn each<T: ArrowPrimitiveType, U>(array: &ArrayRef, turn: impl Fn(T::Native) -> U) -> Vec<U> {
        array.as_primitive::<T>().values().iter().map(|&value| turn(value)).collect()
    }
    fn times<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, per_second: i64) -> Raw {
        Raw::Times(each::<T, _>(array, |value| value.div_euclid(per_second)))
    }
    Ok(match array.data_type() {
        DataType::Boolean => Raw::Signed(array.as_boolean().values().iter().map(i64::from).collect()),
        DataType::Int8 => Raw::Signed(each::<Int8Type, _>(array, i64::from)),
        DataType::Int16 => Raw::Signed(each::<Int16Type, _>(array, i64::from)),
        DataType::Int32 => Raw::Signed(each::<Int32Type, _>(array, i64::from)),
        DataType::Int64 => Raw::Signed(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::UInt8 => Raw::Signed(each::<UInt8Type, _>(array, i64::from)),
        DataType::UInt16 => Raw::Signed(each::<UInt16Type, _>(array, i64::from)),
        DataType::UInt32 => Raw::Signed(each::<UInt32Type, _>(array, i64::from)),
        DataType::UInt64 => Raw::Unsigned(array.as_primitive::<UInt64Type>().values().to_vec()),
        DataType::Float16 => Raw::Numbers(each::<Float16Type, _>(array, |value| value.to_f64())),
        DataType::Float32 => Raw::Numbers(each::<Float32Type, _>(array, f64::from)),
        DataType::Float64 => Raw::Numbers(array.as_primitive::<Float64Type>().values().to_vec()),
        DataType::Decimal128(_, scale) => {
            // Divided and not multiplied, so that 15 of scale 1 is exactly 1.5.
            let power = 10f64.powi(i32::from(*scale));
            Raw::Numbers(each::<Decimal128Type, _>(array, |value| value as f64 / power))
        }
        // With or without a zone, the number counts from 1970 in UTC.
        DataType::Timestamp(TimeUnit::Second, _) => times::<TimestampSecondType>(array, 1),
        DataType::Timestamp(TimeUnit::Millisecond, _) => times::<TimestampMillisecondType>(array, 1_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => times::<TimestampMicrosecondType>(array, 1_000_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            times::<TimestampNanosecondType>(array, 1_000_000_000)
        }
        DataType::Date32 => Raw::Times(each::<Date32Type, _>(array, |day| i64::from(day) * DAY)),
        DataType::Date64 => times::<Date64Type>(array, 1_000),
        DataType::Dictionary(..) => match array.as_any_dictionary_opt() {
            // All keys lead to nothing.
            Some(dictionary) if dictionary.values().is_empty() => Raw::Signed(vec![0; array.len()]),
            Some(dictionary) => chosen(&plain(dictionary.values())?, &dictionary.normalized_keys()),
            None => return Err(unusable(array.data_type())),
        },
        other => return Err(unusable(other)),
    })
}

/// The values that keys lead to.
fn chosen(values: &Raw, keys: &[usize]) -> Raw {
    fn pick<T: Copy>(values: &[T], keys: &[usize]) -> Vec<T> {
        keys.iter().map(|&key| values[key]).collect()
    }
    match values {
        Raw::Signed(values) => Raw::Signed(pick(values, keys)),
        Raw::Unsigned(values) => Raw::Unsigned(pick(values, keys)),
        Raw::Numbers(values) => Raw::Numbers(pick(values, keys)),
        Raw::Times(values) => Raw::Times(pick(values, keys)),
        Raw::Texts { codes, labels } => Raw::Texts { codes: pick(codes, keys), labels: labels.clone() },
        Raw::Holes { values, .. } => chosen(values, keys),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::*;

    use super::*;

    fn read(arrays: Vec<ArrayRef>) -> Result<Raw, Fault> {
        let mut column = Growing::default();
        arrays.iter().try_for_each(|array| column.extend(array))?;
        Ok(column.finish())
    }

    fn texts(raw: Raw) -> Vec<String> {
        let Raw::Texts { codes, labels } = raw else { panic!("{raw:?}") };
        codes.iter().map(|&code| labels.get(code).to_owned()).collect()
    }

    #[test]
    fn numbers_and_times_of_each_type() {
        let cases: Vec<(ArrayRef, Raw)> = vec![
            (Arc::new(Int8Array::from(vec![-1, 2])), Raw::Signed(vec![-1, 2])),
            (Arc::new(UInt32Array::from(vec![u32::MAX])), Raw::Signed(vec![4_294_967_295])),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), Raw::Unsigned(vec![u64::MAX])),
            (Arc::new(BooleanArray::from(vec![true, false])), Raw::Signed(vec![1, 0])),
            (Arc::new(Float32Array::from(vec![0.5])), Raw::Numbers(vec![0.5])),
            (
                Arc::new(Decimal128Array::from(vec![15, -5]).with_precision_and_scale(3, 1).unwrap()),
                Raw::Numbers(vec![1.5, -0.5]),
            ),
            (
                Arc::new(TimestampMillisecondArray::from(vec![-1, 1_999]).with_timezone("Asia/Seoul")),
                Raw::Times(vec![-1, 1]),
            ),
            (Arc::new(Date32Array::from(vec![2])), Raw::Times(vec![172_800])),
            (Arc::new(Date64Array::from(vec![86_400_000])), Raw::Times(vec![86_400])),
        ];
        for (array, expected) in cases {
            assert_eq!(read(vec![array]).unwrap(), expected);
        }
        let twice: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        assert_eq!(read(vec![twice.clone(), twice]).unwrap(), Raw::Signed(vec![1, 2, 1, 2]));
    }

    #[test]
    fn texts_of_each_type() {
        let expected = ["b", "a", "b"];
        let dictionary: DictionaryArray<Int8Type> = expected.into_iter().collect();
        let cases: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(expected)),
            Arc::new(LargeStringArray::from_iter_values(expected)),
            Arc::new(StringViewArray::from_iter_values(expected)),
            Arc::new(BinaryArray::from_iter_values(expected)),
            Arc::new(dictionary),
        ];
        for array in cases {
            assert_eq!(texts(read(vec![array.clone(), array]).unwrap()), ["b", "a", "b", "b", "a", "b"]);
        }
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value([Some("x"), None, Some("y")]);
        lists.append_value([None::<&str>; 0]);
        assert_eq!(texts(read(vec![Arc::new(lists.finish())]).unwrap()), ["x|y", ""]);
        let keys = Int8Array::from(vec![1, 0]);
        let numbers: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(Int32Array::from(vec![7, 9]))));
        assert_eq!(read(vec![numbers]).unwrap(), Raw::Signed(vec![9, 7]));
    }

    #[test]
    fn what_is_missing_or_of_no_use_is_named() {
        let whole: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let holes: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        assert_eq!(read(vec![whole, holes]).unwrap().missing(), [3]);
        let keys = Int8Array::from(vec![0, 1]);
        let behind: ArrayRef =
            Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(vec![Some("a"), None]))));
        assert_eq!(read(vec![behind]).unwrap().missing(), [1]);
        let none: ArrayRef = Arc::new(DictionaryArray::new(
            Int8Array::from(vec![None, None]),
            Arc::new(StringArray::from(Vec::<&str>::new())),
        ));
        assert_eq!(read(vec![none]).unwrap().missing(), [0, 1]);
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some("x")]));
        assert_eq!(
            (read(vec![numbers]).unwrap().missing(), read(vec![texts]).unwrap().missing()),
            (vec![1], vec![0])
        );
        let odd: ArrayRef = Arc::new(DurationSecondArray::from(vec![1]));
        assert!(read(vec![odd]).unwrap_err().what.contains("Duration"));
        // So many that there is no memory for a bit each.
        let nothing: ArrayRef = Arc::new(NullArray::new(1 << 47));
        assert!(read(vec![nothing.clone()]).unwrap_err().what.contains("type Null"));
        let keyed: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![0]), nothing));
        assert!(read(vec![keyed]).unwrap_err().what.contains("type Dictionary"));
    }
}
