//! What a sampler is made for.

use crate::Error;
use crate::arrange::Entries;
use crate::chain::{MOST_CORE, MOST_MODES};
use crate::device::pad;

/// Kernels count rows in 32 bits, and look at some behind the last.
const MOST_ROWS: usize = (u32::MAX - (1 << 20)) as usize;

/// As many as the host's sampler has at least.
const SAMPLED: usize = 1 << 16;

/// How many entries a part has of those that stay on the host, unless a setup says otherwise: so many that launches are nothing beside
/// copies, and so few that designs of large ranks have room.
pub const PART: usize = 1 << 22;

/// How sums over entries are computed; all give the same up to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// What is likely to be faster.
    #[default]
    Auto,
    /// Entry by entry, for each mode.
    Entries,
    /// Where entries share their rows in all modes but one: over those first. Only for three modes, and padded ranks up to 64. The
    /// mode with the most rows is drawn first. Squared errors are differences of sums here: where the noise is
    /// below about a thousandth of the values, [`Form::Entries`] tells it better.
    Tuples,
    /// Entry by entry, from lists that stay on the host and come to the device part by part, in every pass: for entries that it has no room
    /// for. [`Form::Auto`] does so where it has none, or as with tuples where these have.
    StreamedEntries,
    /// As tuples, with lists that stay on the host.
    StreamedTuples,
}

/// What a sampler is made for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// How many rows each mode has.
    pub rows: &'a [usize],
    /// How many concepts each mode has, at least 2.
    pub ranks: &'a [usize],
    /// The entries, whose values are centred and have a variance of about 1.
    pub entries: Entries<'a>,
    /// The numbers of entries that take no part until [`Sampler::join`](crate::Sampler::join), in ascending order.
    pub held: &'a [u32],
    /// The seed of all draws.
    pub seed: u64,
    /// Which numbers of the core stay zero, see [`zeros`](crate::zeros).
    pub zero: &'a [bool],
    /// The concepts of so many modes have a precision of their own in the prior of the core: all, or none, or the first, if
    /// only like concepts interact.
    pub relevant: usize,
    /// Whether sets of modes have one.
    pub by_set: bool,
    /// Whether rows have shares in the precision of entries.
    pub row_noise: bool,
    /// How sums are computed.
    pub form: Form,
    /// Steps of conjugate gradients are with a sample of so many entries or more, where there are twice as many.
    pub sample: usize,
    /// How many entries a part has of those that stay on the host.
    pub part: usize,
    /// How many bytes the device must have left for what comes later, as entries to evaluate on.
    pub reserve: usize,
}

impl<'a> Setup<'a> {
    /// A full core with everything that the model has.
    #[must_use]
    pub fn new(
        rows: &'a [usize],
        ranks: &'a [usize],
        entries: Entries<'a>,
        zero: &'a [bool],
        seed: u64,
    ) -> Self {
        let relevant = ranks.len();
        Setup {
            rows,
            ranks,
            entries,
            held: &[],
            seed,
            zero,
            relevant,
            by_set: true,
            row_noise: true,
            form: Form::Auto,
            sample: SAMPLED,
            part: PART,
            reserve: 0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Problem(why));
        let order = self.rows.len();
        if !(2..=MOST_MODES).contains(&order) || self.ranks.len() != order {
            return wrong(format!("from 2 to {MOST_MODES} modes with a rank each, not {order}"));
        }
        if self.rows.iter().any(|&rows| rows > MOST_ROWS) {
            return wrong("a mode has more rows than can be counted here".to_owned());
        }
        if matches!(self.form, Form::Tuples | Form::StreamedTuples) && order != 3 {
            return wrong(format!("sums over tuples are for three modes, not {order}"));
        }
        check_core(self.ranks, self.zero)?;
        let held = self.held;
        let is_there = |held: &u32| (*held as usize) < self.entries.values.len();
        if !held.is_sorted_by(|one, next| one < next) || !held.last().is_none_or(is_there) {
            return wrong("entries that are held out are not in order, or not there".to_owned());
        }
        self.entries.check(self.rows)
    }
}

/// Checks that there can be a core of these ranks and zeros.
pub(crate) fn check_core(ranks: &[usize], zero: &[bool]) -> Result<(), Error> {
    let wrong = |why: String| Err(Error::Problem(why));
    if let Some(rank) = ranks.iter().find(|&&rank| !(2..=1 << 10).contains(&rank)) {
        return wrong(format!("ranks are from 2 to 1024, not {rank}"));
    }
    let len = ranks.iter().try_fold(1usize, |len, &rank| len.checked_mul(pad(rank)));
    if len.is_none_or(|len| len > MOST_CORE) {
        return wrong(format!("the core has more than {MOST_CORE} numbers: choose smaller ranks"));
    }
    let (numbers, zeros) = (ranks.iter().product::<usize>(), zero.len());
    if zeros != numbers {
        return wrong(format!("the core has {numbers} numbers, and not {zeros}"));
    }
    Ok(())
}
