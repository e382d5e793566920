//! What is to be typed where a search has changed the data.

use s3cmtf::Problem;
use s3cmtf::internal::prepare::ModeSpec;
use s3cmtf::internal::table::Bins;
use s3cmtf::tune::{Becomes, Change};

use crate::args::DataArgs;
use crate::modes;

/// What would be typed for the columns of a tensor.
#[derive(Default)]
pub(super) struct Typed {
    modes: Vec<ModeSpec>,
    value: Option<String>,
}

impl Typed {
    /// Nothing where there are no columns with headings.
    pub(super) fn new(problem: &Problem) -> Option<Self> {
        let modes = problem.modes().iter().map(modes::spec).collect::<Option<_>>()?;
        Some(Typed { modes, value: Some(problem.value()?.to_owned()) })
    }
}

/// What is to be typed about the data where they have changed; `obvious` is what nobody had to type before.
pub(super) fn changed(data: &DataArgs, changes: &[Change], obvious: Typed) -> DataArgs {
    let is_of_mode = |change: &Change| matches!(change.to, Becomes::Bins(_));
    let couple = data.couple.iter().enumerate().filter_map(|(place, couple)| {
        let change = changes.iter().find(|change| change.place == place && !is_of_mode(change));
        match change.map(|change| change.to) {
            None | Some(Becomes::Bins(_)) => Some(couple.clone()),
            Some(Becomes::LeftOut) => None,
            Some(Becomes::Weight(weight)) => Some(couple.weighted(Some(weight))),
            Some(Becomes::NoWeight) => Some(couple.weighted(None)),
        }
    });
    let couple = couple.collect();
    let mut typed = match &data.modes {
        Some(modes) => Typed { modes: modes.clone(), value: data.value.clone() },
        None => obvious,
    };
    let mut bins = false;
    for change in changes {
        if let (Becomes::Bins(bin), Some(mode)) = (change.to, typed.modes.get_mut(change.place)) {
            mode.bins = Some(Bins::Time(bin));
            bins = true;
        }
    }
    if !bins {
        return DataArgs { couple, ..data.clone() };
    }
    DataArgs { couple, modes: Some(typed.modes), value: typed.value, ..data.clone() }
}

#[cfg(test)]
mod tests {
    use s3cmtf::internal::table::time::Bin;

    use super::*;

    fn change(place: usize, to: Becomes) -> Change {
        Change { place, name: String::new(), to }
    }

    fn obvious() -> Typed {
        let modes = ["user", "film", "date:month"].map(|mode| mode.parse().unwrap());
        Typed { modes: modes.into(), value: Some("stars".into()) }
    }

    #[test]
    fn what_was_obvious_is_typed_where_it_changes() {
        let none = changed(&DataArgs::default(), &[], obvious());
        assert!(none.modes.is_none() && none.value.is_none());
        let data = changed(&DataArgs::default(), &[change(2, Becomes::Bins(Bin::Year))], obvious());
        let modes: Vec<String> = data.modes.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!((modes.join(","), data.value.as_deref()), ("user,film,date:year".into(), Some("stars")));
    }

    #[test]
    fn matrices_are_left_out_or_weighted_and_a_mode_at_their_place_is_not_one() {
        let couple = ["user=a,zeros", "film=b,zeros,weight=2"].map(|couple| couple.parse().unwrap());
        let data = DataArgs { couple: couple.into(), ..DataArgs::default() };
        let couples = |changes: &[Change]| -> Vec<String> {
            changed(&data, changes, obvious()).couple.iter().map(ToString::to_string).collect()
        };
        assert_eq!(couples(&[change(0, Becomes::LeftOut)]), ["film=b,zeros,weight=2"]);
        let both = [change(0, Becomes::Weight(10.0)), change(1, Becomes::NoWeight)];
        assert_eq!(couples(&both), ["user=a,zeros,weight=10", "film=b,zeros"]);
        assert_eq!(
            couples(&[change(0, Becomes::Bins(Bin::Year))]),
            ["user=a,zeros", "film=b,zeros,weight=2"]
        );
    }
}
