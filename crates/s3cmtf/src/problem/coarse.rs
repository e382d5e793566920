//! A mode of times put together by more: months to years.

use super::duplicates::{self, Duplicates};
use super::{Entries, Mode, Naming, Problem};
use crate::table::Binning;
use crate::table::time::Bin;

impl Problem {
    /// What the times of a mode can be put together by without the data that they came from. Nothing, where a matrix is coupled
    /// to the mode.
    pub(crate) fn coarser_bins(&self, place: usize) -> Vec<Bin> {
        let Some(now) = self.modes.get(place).and_then(Mode::time_bin) else { return Vec::new() };
        if self.coupled.iter().any(|matrix| matrix.mode == place) {
            return Vec::new();
        }
        now.coarser().to_vec()
    }

    /// The problem with a mode of times put together so, and the new id of each that it had. Entries that differ in nothing
    /// else become one, of their mean. `None` if that cannot be done, or if a single time would be left.
    pub(crate) fn coarser(&self, place: usize, bin: Bin) -> Option<(Problem, Vec<u32>)> {
        if !self.coarser_bins(place).contains(&bin) {
            return None;
        }
        let mode = &self.modes[place];
        let (naming, now) = (mode.naming()?, mode.time_bin()?);
        let number = |label: &str| now.number_in(now.parse_label(label)?, bin);
        let numbers: Vec<i64> = naming.labels.iter().map(number).collect::<Option<_>>()?;
        let mut bins = numbers.clone();
        bins.sort_unstable();
        bins.dedup();
        if bins.len() < 2 {
            return None;
        }
        let ids: Vec<u32> =
            numbers.iter().map(|number| bins.partition_point(|bin| bin < number) as u32).collect();
        let mut present: Vec<u32> = (0..mode.rows()).map(|row| ids[mode.id(row) as usize]).collect();
        present.sort_unstable();
        present.dedup();
        let labels = bins.iter().map(|&number| bin.label(number)).collect();
        let naming = Naming { column: naming.column.clone(), binning: Some(Binning::Time(bin)), labels };
        let coarse = Mode::with_present(mode.name(), bins.len() as u32, present)?.named(naming)?;
        let row_of: Vec<u32> =
            (0..mode.rows()).map(|row| coarse.row(ids[mode.id(row) as usize])).collect::<Option<_>>()?;
        let mut problem = Problem { entries: Entries::default(), ..self.clone() };
        problem.modes[place] = coarse;
        let (mut indices, mut values) = self.entries.renumbered(place, &row_of).into_parts();
        // Nothing is wrong with entries that coincide, so that this cannot fail.
        let _ = duplicates::merge(&mut indices, &mut values, Duplicates::Mean);
        problem.entries = Entries::from_rows(self.entries.name().to_owned(), indices, values);
        Some((problem, ids))
    }
}

impl Entries {
    /// The same entries with other indices along a mode, each the one at the place of the old.
    pub(crate) fn renumbered(&self, place: usize, new: &[u32]) -> Entries {
        let (mut indices, values) = self.clone().into_parts();
        for index in indices.get_mut(place).into_iter().flatten() {
            *index = new.get(*index as usize).copied().unwrap_or(super::UNKNOWN);
        }
        Entries::from_rows(self.name().to_owned(), indices, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(bin: Bin, labels: &[&str]) -> Problem {
        let times: Vec<u32> = (0..labels.len() as u32).collect();
        let naming = Naming {
            column: "when".into(),
            binning: Some(Binning::Time(bin)),
            labels: labels.iter().collect(),
        };
        let zeros = vec![0; times.len()];
        let values = times.iter().map(|&time| time as f32).collect();
        let entries = Entries::new(vec![zeros.clone(), zeros, times], values).unwrap();
        Problem::builder(entries).namings(vec![None, None, Some(naming)]).build().unwrap()
    }

    #[test]
    fn months_become_years_and_what_coincides_its_mean() {
        let months = problem(Bin::Month, &["2016-11", "2016-12", "2017-01", "2018-02"]);
        let (years, ids) = months.coarser(2, Bin::Year).unwrap();
        assert_eq!(ids, [0, 0, 1, 2]);
        let labels: Vec<&str> = years.modes()[2].naming().unwrap().labels.iter().collect();
        assert_eq!((labels, years.modes()[2].is_time()), (vec!["2016", "2017", "2018"], true));
        assert_eq!(
            (years.entries().indices(2), years.entries().values()),
            (&[0, 1, 2][..], &[0.5, 2.0, 3.0][..])
        );
        assert_eq!(months.entries().renumbered(2, &ids).indices(2), [0, 0, 1, 2]);
        assert!(years.coarser_bins(2).is_empty() && months.coarser_bins(0).is_empty());
    }

    #[test]
    fn days_become_weeks_and_one_bin_is_none() {
        let days = problem(Bin::Day, &["2017-01-01", "2017-01-02", "2017-01-03"]);
        let (weeks, ids) = days.coarser(2, Bin::Week).unwrap();
        assert_eq!((weeks.modes()[2].label(0).into_owned(), ids), ("2016-W52".into(), vec![0, 1, 1]));
        assert!(days.coarser(2, Bin::Year).is_none() && days.coarser(2, Bin::Hour).is_none());
        let hours = problem(Bin::Hour, &["2017-01-01 23h", "2017-01-02 00h"]);
        assert_eq!(hours.coarser(2, Bin::Day).unwrap().1, [0, 1]);
    }
}
