//! From the values of a column to ids: each distinct value, or bin of values, is one.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hashbrown::HashMap;
use rayon::prelude::*;
use s3cmtf_kernels::zeros;

use crate::parallel;
use crate::problem::{UNKNOWN, mark, range};
use crate::table::{Binning, Data, Labels};

/// A range of whole numbers that is at most so long, or so many times as long as the column, is looked up in a table.
const TABLE: u128 = 1 << 22;
const TIMES: u128 = 4;

/// The ids of a column's rows, numbered from 0 in ascending order of what they stand for: numbers and times by their
/// value, texts by their letters.
pub(super) fn encode(data: Data, binning: Option<&Binning>) -> (Vec<u32>, Labels) {
    let (codes, names) = distinct(data, binning);
    (codes, names.iter().collect())
}

/// The ids that `labels` give to a column's rows, [`UNKNOWN`] where they have none.
pub(super) fn encode_known(data: Data, binning: Option<&Binning>, labels: &Labels) -> Vec<u32> {
    let (mut codes, names) = distinct(data, binning);
    let ids: Vec<u32> = names.iter().map(|name| labels.find(name).unwrap_or(UNKNOWN)).collect();
    parallel::change(&mut codes, |_, code| *code = ids[*code as usize]);
    codes
}

/// The same, where labels that are not there yet are added at their end.
pub(super) fn encode_more(data: Data, binning: Option<&Binning>, labels: &mut Labels) -> Vec<u32> {
    let (mut codes, names) = distinct(data, binning);
    let ids: Vec<u32> = names.iter().map(|name| labels.id(name)).collect();
    parallel::change(&mut codes, |_, code| *code = ids[*code as usize]);
    codes
}

/// For each row the place of its name among the distinct ones, which are in order.
fn distinct(data: Data, binning: Option<&Binning>) -> (Vec<u32>, Vec<String>) {
    match (data, binning) {
        (Data::Times(mut values), Some(Binning::Time(bin))) => {
            // Days and hours first: there are few, and a month takes long to find.
            parallel::change(&mut values, |_, value| *value = value.div_euclid(bin.unit()));
            let (mut codes, units) = distinct_numbers(&values);
            let number = |unit: &i64| bin.number(unit.saturating_mul(bin.unit()));
            let (places, numbers) = distinct_numbers(&units.iter().map(number).collect::<Vec<i64>>());
            parallel::change(&mut codes, |_, code| *code = places[*code as usize]);
            (codes, numbers.into_iter().map(|number| bin.label(number)).collect())
        }
        (Data::Numbers(values), Some(Binning::Bounds(bounds))) => {
            let place = |value: &f64| bounds.partition_point(|bound| bound <= value) as u32;
            let names = (0..=bounds.len()).map(|place| Binning::interval(bounds, place));
            (parallel::numbers_of(&values, place), names.collect())
        }
        (Data::Integers(values) | Data::Times(values), _) => {
            let (codes, numbers) = distinct_numbers(&values);
            (codes, numbers.into_iter().map(|number| number.to_string()).collect())
        }
        (Data::Numbers(values), _) => {
            let mut sorted = values.clone();
            sorted.par_sort_unstable_by(f64::total_cmp);
            sorted.dedup_by(|a, b| a.total_cmp(b).is_eq());
            let place = |value: &f64| sorted.partition_point(|other| other.total_cmp(value).is_lt()) as u32;
            (parallel::numbers_of(&values, place), sorted.iter().map(f64::to_string).collect())
        }
        (Data::Texts { mut codes, labels }, _) => {
            let mut order: Vec<u32> = (0..labels.len() as u32).collect();
            order.par_sort_unstable_by_key(|&id| labels.get(id));
            let mut places = vec![0u32; order.len()];
            order.iter().zip(0..).for_each(|(&id, place)| places[id as usize] = place);
            parallel::change(&mut codes, |_, code| *code = places[*code as usize]);
            (codes, order.into_iter().map(|id| labels.get(id).to_owned()).collect())
        }
    }
}

/// For each number its place among the distinct ones, which are ascending.
fn distinct_numbers(values: &[i64]) -> (Vec<u32>, Vec<i64>) {
    let Some((low, high)) = range(values) else { return (Vec::new(), Vec::new()) };
    let span = high.abs_diff(low) as u128 + 1;
    if span <= TABLE.max(TIMES * values.len() as u128) {
        let offset = |value: i64| value.abs_diff(low) as usize;
        let seen: Vec<AtomicBool> = (0..span as usize).map(|_| AtomicBool::new(false)).collect();
        parallel::each_range(values.len(), 1 << 12, |range| {
            values[range].iter().for_each(|&value| mark(&seen[offset(value)]));
        });
        let (mut places, mut numbers) = (vec![0u32; span as usize], Vec::new());
        for ((place, seen), number) in places.iter_mut().zip(&seen).zip(low..=high) {
            if seen.load(Relaxed) {
                *place = numbers.len() as u32;
                numbers.push(number);
            }
        }
        let mut codes = zeros(values.len());
        parallel::change(&mut codes, |row, code| *code = places[offset(values[row])]);
        return (codes, numbers);
    }
    let mut numbers = values.to_vec();
    numbers.par_sort_unstable();
    numbers.dedup();
    let places: HashMap<i64, u32> = numbers.iter().copied().zip(0..).collect();
    (parallel::numbers_of(values, |value| places[value]), numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::time::Bin;

    fn names(labels: &Labels) -> Vec<&str> {
        labels.iter().collect()
    }

    #[test]
    fn ids_are_in_the_order_of_what_they_stand_for() {
        let (codes, labels) = encode(Data::Integers(vec![10, -2, 9, 10]), None);
        assert_eq!((codes, names(&labels)), (vec![2, 0, 1, 2], vec!["-2", "9", "10"]));
        let far = vec![i64::MAX, i64::MIN, 0, i64::MAX];
        let (codes, labels) = encode(Data::Integers(far), None);
        assert_eq!(codes, [2, 0, 1, 2]);
        assert_eq!(labels.get(2), i64::MAX.to_string());
        let texts = Data::Texts { codes: vec![0, 1, 0, 2], labels: ["b", "c", "a"].iter().collect() };
        let (codes, labels) = encode(texts, None);
        assert_eq!((codes, names(&labels)), (vec![1, 2, 1, 0], vec!["a", "b", "c"]));
    }

    #[test]
    fn times_and_numbers_go_into_bins() {
        let months = Binning::Time(Bin::Month);
        let times = Data::Times(vec![1_488_585_600, 0, 1_488_700_000]);
        let (codes, labels) = encode(times, Some(&months));
        assert_eq!((codes, names(&labels)), (vec![1, 0, 1], vec!["1970-01", "2017-03"]));
        let bounds = Binning::Bounds(vec![1.0, 2.0]);
        let (codes, labels) = encode(Data::Numbers(vec![5.0, 1.0, 0.5]), Some(&bounds));
        assert_eq!((codes, labels.len()), (vec![2, 1, 0], 3));
        let (codes, labels) = encode(Data::Numbers(vec![1.5, -0.5, 1.5]), None);
        assert_eq!((codes, names(&labels)), (vec![1, 0, 1], vec!["-0.5", "1.5"]));
    }

    #[test]
    fn known_labels_keep_their_ids_and_others_are_unknown_or_added() {
        let mut labels: Labels = ["7", "3"].iter().collect();
        let data = Data::Integers(vec![3, 4, 7]);
        assert_eq!(encode_known(data.clone(), None, &labels), [1, UNKNOWN, 0]);
        assert_eq!(encode_more(data, None, &mut labels), [1, 2, 0]);
        assert_eq!(labels.get(2), "4");
    }
}
