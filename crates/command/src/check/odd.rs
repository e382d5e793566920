//! What looks like a mistake about the columns of a table.

use std::time::SystemTime;

use s3cmtf::internal::describe::look_like_ids;
use s3cmtf::internal::table::Binning;
use s3cmtf::internal::table::time::Bin;
use s3cmtf::{Likelihood, Problem};

/// A sentence for each thing that looks odd; `given` is the number of rows.
pub(super) fn oddities(problem: &Problem, given: usize) -> Vec<String> {
    let mut odd = Vec::new();
    for mode in problem.modes() {
        let (name, ids) = (mode.name(), mode.rows());
        if ids == 1 {
            odd.push(format!("{name} is the same in every row: as a mode it carries no information"));
        } else if ids == given && given > 10 {
            odd.push(format!(
                "{name} is different in every row: nothing can be learned about an id that occurs once"
            ));
        } else if 2 * ids > given && given > 10 {
            odd.push(format!("{name} has almost as many ids ({ids}) as there are rows: most occur once"));
        }
        if let Some(naming) = mode.naming()
            && let Some(Binning::Time(bin)) = &naming.binning
        {
            odd.extend(odd_times(name, *bin, naming.labels.iter()));
        }
    }
    let values = problem.entries().values();
    let [low, high] = problem.entries().range();
    let counted = problem.value().is_none();
    odd.extend(Likelihood::suggested(values).hint().map(|hint| format!("{hint} (--likelihood)")));
    if low == high && !counted {
        odd.push(format!("the values are all {low}: without --value, rows are counted"));
    } else if look_like_ids(values) {
        odd.push("the values look like ids: whole numbers, most of which occur once".to_owned());
    }
    odd
}

/// Times that are probably no times: zeros, and those that are still to come.
fn odd_times<'a>(name: &str, bin: Bin, labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    if bin.recurs() {
        return Vec::new();
    }
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let (start, now) = (bin.number(0), bin.number(now));
    let (mut starts, mut later, mut all) = (0, 0, 0);
    for number in labels.filter_map(|label| bin.parse_label(label)) {
        starts += usize::from(number == start);
        later += usize::from(number > now);
        all += 1;
    }
    let mut odd = Vec::new();
    if starts > 0 {
        odd.push(format!(
            "{name} has times at the start of 1970: a 0 in the place of a time, or another unit"
        ));
    }
    if later > 0 {
        odd.push(format!("{name} has times that are still to come: {later} of its {all} {}s", bin.name()));
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_at_the_start_and_after_the_end_are_odd() {
        let odd = odd_times("when", Bin::Month, ["1970-01", "2015-03", "2999-01"].into_iter());
        assert!(odd[0].contains("when has times at the start of 1970"), "{odd:?}");
        assert_eq!(odd[1], "when has times that are still to come: 1 of its 3 months");
        assert!(odd_times("when", Bin::Month, ["2015-03"].into_iter()).is_empty());
        assert!(odd_times("when", Bin::HourOfDay, ["00"].into_iter()).is_empty());
    }
}
