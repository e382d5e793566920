//! Runs whose cores are drawn with a sample of the entries.

use super::device::TestDevice;
use super::{Random, forms};
use crate::stretch::EntryWork;
use crate::{Form, Sampler, zeros};

/// So few numbers of a core that a sample of the entries is enough for it.
fn problem(ranks: &[usize]) -> Random {
    Random::new(&[60, 50, 20], ranks, 6000, 5).with_zeros(zeros(ranks))
}

fn sampler(problem: &Random, form: Form) -> Sampler<TestDevice> {
    let sampler = problem.sampler_on(TestDevice, |setup| (setup.form, setup.sample) = (form, 750)).unwrap();
    let entries: usize = in_sample(&sampler).map(EntryWork::len).sum();
    assert!((400..1100).contains(&entries), "{entries}");
    sampler
}

fn in_sample(sampler: &Sampler<TestDevice>) -> impl Iterator<Item = &EntryWork<TestDevice>> {
    sampler.sample.as_ref().unwrap().chains().iter().map(|chain| &chain.leaves)
}

fn epochs(sampler: &mut Sampler<TestDevice>, epochs: std::ops::Range<u32>) {
    epochs.for_each(|epoch| sampler.epoch(epoch, (epoch > 5).then_some(0.5)).unwrap());
}

#[test]
fn runs_with_a_sample_are_the_same_to_the_bit_and_go_on_from_their_state() {
    let problem = problem(&[3, 3, 2]);
    for form in forms(3) {
        let mut runs = [(); 2].map(|()| sampler(&problem, form));
        epochs(&mut runs[0], 1..9);
        epochs(&mut runs[1], 1..7);
        let mut other = sampler(&problem, form);
        other.restore(&runs[1].state().unwrap()).unwrap();
        epochs(&mut other, 7..9);
        assert_eq!(runs[0].state().unwrap(), other.state().unwrap(), "{form:?}");
        // And are others than without one.
        let mut all = problem.sampler(form);
        assert!(all.sample.is_none());
        epochs(&mut all, 1..9);
        assert!(all.state().unwrap().core != other.state().unwrap().core, "{form:?}");
    }
}

#[test]
fn samples_follow_ranks_and_entries_that_join() {
    let (small, large) = (problem(&[3, 3, 2]), problem(&[9, 6, 7]));
    let mut some = problem(&[3, 3, 2]);
    some.held = (0..6000).filter(|entry| entry % 7 == 3).collect();
    for form in forms(3) {
        let mut whole = sampler(&small, form);
        epochs(&mut whole, 1..7);
        let mut joined = sampler(&some, form);
        let held: usize = in_sample(&joined).map(EntryWork::held).sum();
        assert!((40..200).contains(&held), "{held}");
        joined.join().unwrap();
        epochs(&mut joined, 1..7);
        assert_eq!(whole.state().unwrap(), joined.state().unwrap(), "{form:?}");
        // A sample is not enough for a larger core, and stays for a smaller one.
        joined.resize(&large.ranks, &large.zero, &large.state).unwrap();
        let mut other = large.sampler(form);
        [&mut joined, &mut other].into_iter().for_each(|sampler| epochs(sampler, 1..7));
        assert_eq!(joined.state().unwrap(), other.state().unwrap(), "{form:?}");
        joined.resize(&small.ranks, &small.zero, &small.state).unwrap();
        epochs(&mut joined, 1..7);
        assert_eq!(whole.state().unwrap(), joined.state().unwrap(), "{form:?}");
    }
}
