//! The ids of entities of which each of several nodes has seen some.

use crate::Error;
use crate::nodes::Nodes;
use crate::problem::{Entries, Naming};
use crate::table::{Binning, Data, Labels};

use super::Tensor;

/// By what the labels of a column are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelOrder {
    /// Whole numbers, by their value.
    Integers,
    /// Numbers, by their value.
    Numbers,
    /// By their letters.
    Texts,
    /// Points in time that are put together.
    Times,
}

impl LabelOrder {
    pub(super) fn of(data: &Data, binning: Option<&Binning>) -> Self {
        match (data, binning) {
            (Data::Times(_), Some(_)) => LabelOrder::Times,
            (Data::Integers(_) | Data::Times(_), _) => LabelOrder::Integers,
            (Data::Numbers(_), _) => LabelOrder::Numbers,
            (Data::Texts { .. }, _) => LabelOrder::Texts,
        }
    }

    const ALL: [LabelOrder; 4] =
        [LabelOrder::Integers, LabelOrder::Numbers, LabelOrder::Texts, LabelOrder::Times];

    /// That of all nodes together, if they fit together: whole numbers among texts are texts.
    fn together(all: &[LabelOrder]) -> Option<Self> {
        let first = *all.first()?;
        if all.iter().all(|&order| order == first) {
            return Some(first);
        }
        let fits = |order: &LabelOrder| matches!(order, LabelOrder::Integers | LabelOrder::Texts);
        all.iter().all(fits).then_some(LabelOrder::Texts)
    }

    fn sort(self, labels: &mut [&str], binning: Option<&Binning>) {
        match (self, binning) {
            (LabelOrder::Times, Some(Binning::Time(bin))) => {
                labels.sort_unstable_by_key(|label| bin.parse_label(label));
            }
            (LabelOrder::Integers, _) => {
                labels.sort_unstable_by_key(|label| label.parse::<i64>().unwrap_or(i64::MAX))
            }
            (LabelOrder::Numbers, _) => {
                let number = |label: &str| label.parse::<f64>().unwrap_or(f64::INFINITY);
                labels.sort_unstable_by(|a, b| number(a).total_cmp(&number(b)));
            }
            (LabelOrder::Texts | LabelOrder::Times, _) => labels.sort_unstable(),
        }
    }
}

impl Tensor {
    /// The same entries by the ids that entities of all nodes have: those that one machine would give them.
    ///
    /// # Errors
    /// If columns are not of the same kind on all nodes, or are put together by what only one machine sees.
    pub(crate) fn share(self, nodes: &Nodes) -> Result<Tensor, Error> {
        let Tensor { entries, namings, orders } = self;
        let name = entries.name().to_owned();
        let (mut indices, values) = entries.into_parts();
        let mut shared = Vec::new();
        for ((naming, order), ids) in namings.into_iter().zip(&orders).zip(&mut indices) {
            let Naming { column, binning, labels } = naming;
            if matches!(binning, Some(Binning::Bounds(_))) {
                let what =
                    "cannot be put into bins of numbers where nodes share the entries: add a column of bins";
                return Err(Error::Request(format!("{column} {what}")));
            }
            nodes.agree("columns", &column)?;
            let own = LabelOrder::ALL.iter().position(|other| other == order).unwrap_or(0) as u8;
            let all = nodes.gather(vec![own])?;
            let all: Vec<LabelOrder> =
                all.iter().filter_map(|&place| LabelOrder::ALL.get(place as usize).copied()).collect();
            let order = LabelOrder::together(&all).ok_or_else(|| {
                let what = "has numbers in some files, and dates or other numbers in others: make it the same in all";
                Error::Problem(format!("{column} {what}"))
            })?;
            let all = gathered(&labels, (order, binning.as_ref()), nodes)?;
            let new: Vec<u32> = labels.iter().map(|label| all.find(label).unwrap_or(u32::MAX)).collect();
            ids.iter_mut().for_each(|id| *id = new[*id as usize]);
            shared.push(Naming { column, binning, labels: all });
        }
        let entries = Entries::new(indices, values)?.named(name);
        Ok(Tensor { entries, namings: shared, orders })
    }
}

/// The labels of all nodes, in order.
fn gathered(
    labels: &Labels,
    (order, binning): (LabelOrder, Option<&Binning>),
    nodes: &Nodes,
) -> Result<Labels, Error> {
    let own: String = labels.iter().collect();
    let lengths: Vec<u32> = labels.iter().map(|label| label.len() as u32).collect();
    let (texts, lengths) = (nodes.each(own.into_bytes())?, nodes.each(lengths)?);
    let broken = || Error::Problem("another node has sent labels that cannot be read".into());
    let mut all: Vec<&str> = Vec::new();
    for (text, lengths) in texts.iter().zip(&lengths) {
        let mut rest = std::str::from_utf8(text).map_err(|_| broken())?;
        for &length in lengths {
            let (label, after) = rest.split_at_checked(length as usize).ok_or_else(broken)?;
            all.push(label);
            rest = after;
        }
    }
    order.sort(&mut all, binning);
    all.dedup();
    Ok(all.into_iter().collect())
}
