//! Every kernel against plain loops in f64, and whole runs, on the emulator.

mod device;
mod draws;
mod failures;
mod graph;
mod oracle;
mod runs;
mod samples;
mod streams;
mod sums;
mod switches;
mod terms;

use self::device::TestDevice;
use crate::setup::check_core;
use crate::{Device, Entries, Error, Form, Generator, Sampler, Setup, State, zeros};

/// A problem with random entries.
pub(crate) struct Random {
    pub(crate) rows: Vec<usize>,
    pub(crate) ranks: Vec<usize>,
    pub(crate) indices: Vec<Vec<u32>>,
    pub(crate) values: Vec<f32>,
    /// The numbers of those that are held out.
    pub(crate) held: Vec<u32>,
    pub(crate) state: State,
    pub(crate) zero: Vec<bool>,
}

impl Random {
    /// Rows, shares and a core that are all random; half of the rows of each mode have most entries, and the last has none.
    pub(crate) fn new(rows: &[usize], ranks: &[usize], entries: usize, seed: u64) -> Self {
        let mut generator = Generator(seed);
        let indices = rows.iter().map(|&rows| {
            let some = (rows - 1).max(1) as f64;
            (0..entries).map(|_| (some * generator.uniform().powi(2)) as u32).collect()
        });
        let indices = indices.collect();
        let values = (0..entries).map(|_| generator.normal() as f32).collect();
        let mut state = State::start(rows, ranks, seed);
        state.core.iter_mut().for_each(|value| *value = 0.3 * generator.normal() as f32);
        state.roots.iter_mut().flatten().for_each(|root| *root = 0.5 + generator.uniform() as f32);
        let zero = vec![false; state.core.len()];
        Random { rows: rows.to_vec(), ranks: ranks.to_vec(), indices, values, held: Vec::new(), state, zero }
    }

    /// With a core of which some numbers are zero and stay so.
    pub(crate) fn with_zeros(mut self, zero: Vec<bool>) -> Self {
        let zeros = self.state.core.iter_mut().zip(&zero).filter(|(_, zero)| **zero);
        zeros.for_each(|(value, _)| *value = 0.0);
        Random { zero, ..self }
    }

    pub(crate) fn sampler(&self, form: Form) -> Sampler<TestDevice> {
        self.sampler_on(TestDevice, |setup| setup.form = form).unwrap()
    }

    /// A sampler of something else than the usual setup.
    pub(crate) fn sampler_on<D: Device>(
        &self,
        device: D,
        change: impl Fn(&mut Setup<'_>),
    ) -> Result<Sampler<D>, Error> {
        let slices: Vec<&[u32]> = self.indices.iter().map(Vec::as_slice).collect();
        let entries = Entries { indices: &slices, values: &self.values };
        let mut setup = Setup::new(&self.rows, &self.ranks, entries, &self.zero, 1);
        // So that there are several, and not many.
        (setup.held, setup.part) = (&self.held, (self.values.len() / 4).max(40));
        change(&mut setup);
        Sampler::new(device, &setup, &self.state)
    }
}

/// All forms that there are for this number of modes.
pub(crate) fn forms(order: usize) -> Vec<Form> {
    let entries = [Form::Entries, Form::StreamedEntries];
    let tuples = [Form::Tuples, Form::StreamedTuples].into_iter().filter(|_| order == 3);
    entries.into_iter().chain(tuples).collect()
}

#[test]
fn what_cannot_be_computed_is_an_error() {
    let indices: [&[u32]; 2] = [&[0, 1], &[0, 2]];
    let values = [1.0, 2.0];
    let entries = Entries { indices: &indices, values: &values };
    let zero = zeros(&[2, 2]);
    let sampler = |rows: &[usize], ranks: &[usize]| {
        let setup = Setup::new(rows, ranks, entries, &zero, 1);
        Sampler::new(TestDevice, &setup, &State::start(rows, ranks, 1)).err()
    };
    assert_eq!(sampler(&[2, 3], &[2, 2]), None);
    let is_problem = |error: Option<Error>| matches!(error, Some(Error::Problem(_)));
    assert!(is_problem(sampler(&[2, 2], &[2, 2])), "a row that is not there");
    assert!(is_problem(sampler(&[2, 3], &[1, 4])), "a rank of 1");
    assert!(is_problem(sampler(&[2, 3], &[2, 3])), "zeros of another core");
    assert!(is_problem(sampler(&[2, 3, 4], &[2, 2, 2])), "a mode that entries do not have");
    // More blocks than a launch may have.
    let error = check_core(&[1024, 1024, 64], &[]).unwrap_err().to_string();
    assert!(error.contains("smaller ranks"), "{error}");
    let wide: [&[u32]; 5] = [&[0]; 5];
    let entries = Entries { indices: &wide, values: &[1.0] };
    let setup = Setup::new(&[1 << 26; 5], &[2; 5], entries, &[false; 32], 1);
    assert!(is_problem(setup.check().err()), "rows of 130 bits");
}
