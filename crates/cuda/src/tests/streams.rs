//! Entries that stay on the host and come to the device in parts.

use super::Random;
use super::device::TestDevice;
use crate::{Entries, Error, Evaluation, Form, Limited, Sampler, Setup};

const ALL: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

/// Rows and ranks of which little is computed, and many entries, of which each names another pair of rows of the other modes.
fn problem() -> Random {
    Random::new(&[30, 400, 300], &[3, 4, 3], 20_000, 4)
}

/// All entries, ten times.
fn set<D: crate::Device>(problem: &Random, sampler: &mut Sampler<D>) -> Result<Evaluation<D>, Error> {
    let indices: Vec<Vec<u32>> = problem.indices.iter().map(|indices| indices.repeat(10)).collect();
    let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
    sampler.evaluation(Entries { indices: &slices, values: &problem.values.repeat(10) })
}

#[test]
fn sums_of_rows_are_those_of_entries_on_the_device_to_the_bit() {
    let problem = problem();
    let mut there = problem.sampler(Form::Entries);
    let ways = [(Form::Entries, Form::StreamedEntries), (Form::Tuples, Form::StreamedTuples)];
    for (part, (form, streamed)) in
        [1, 700, 5000, 1 << 22].into_iter().flat_map(|part| ways.map(|way| (part, way)))
    {
        let change = |setup: &mut Setup<'_>| (setup.form, setup.part) = (streamed, part);
        // A part for each entry takes long.
        let mut small = Random::new(&[9, 8, 7], &[3, 4, 3], 300, 4);
        small.held = vec![7, 100];
        let mut pairs = vec![(small.sampler(form), small.sampler_on(TestDevice, change).unwrap())];
        if part > 1 {
            let other = problem.sampler_on(TestDevice, change).unwrap();
            pairs.push((problem.sampler(form), other));
        }
        for (there, other) in &mut pairs {
            // Sums over tuples have random signs in them for the core, which are others.
            for mode in there.modes() {
                let sums = [&mut *there, &mut *other].map(|sampler| {
                    sampler.sum(mode, 1).unwrap();
                    let rows = sampler.rows[mode] * crate::sampler::sums_len(sampler.pads[mode]);
                    sampler.sums.get(&sampler.device).unwrap()[..rows].to_vec()
                });
                assert!(sums[0] == sums[1], "{part} {streamed:?} {mode}");
            }
        }
    }
    let errors = there.squared_error(None, false, ALL).unwrap();
    let mut streamed = problem.sampler(Form::StreamedEntries);
    let found = streamed.squared_error(None, false, ALL).unwrap();
    assert!((found / errors - 1.0).abs() < 1e-6, "{found} {errors}");
}

#[test]
fn entries_that_the_device_has_no_room_for_stay_on_the_host() {
    let problem = problem();
    let on = |bytes: usize, form: Form, reserve: usize| {
        problem.sampler_on(Limited::new(TestDevice, bytes), |setup| {
            (setup.form, setup.part, setup.reserve) = (form, 2000, reserve);
        })
    };
    let is_streamed = |sampler: &Sampler<Limited<TestDevice>>| sampler.parts() > Some(1);
    let all = 100 << 20;
    assert!(!is_streamed(&on(all, Form::Auto, 0).unwrap()));
    // As much as is left for what comes later is not for entries.
    assert!(is_streamed(&on(all, Form::Auto, 99 << 20).unwrap()));
    // Lists of 20,000 entries in three modes are larger than this.
    let few = 1 << 20;
    assert!(matches!(on(few, Form::Entries, 0).err(), Some(Error::OutOfMemory(_))));
    let mut streamed = on(few, Form::Auto, 0).unwrap();
    assert!(is_streamed(&streamed));
    assert!(matches!(on(1 << 10, Form::Auto, 0).err(), Some(Error::OutOfMemory(_))));
    // Where tuples have room, their entries need none.
    let many = Random::new(&[600, 3, 3], &[3, 3, 3], 60_000, 4);
    let forms = (1..60).map(|step| {
        let device = Limited::new(TestDevice, step << 15);
        let sampler =
            many.sampler_on(device, |setup| (setup.part, setup.sample) = (2000, usize::MAX)).ok()?;
        Some((step << 15, sampler.parts().is_none(), sampler.tuples.is_some()))
    });
    let forms: Vec<_> = forms.flatten().collect();
    assert!(forms.is_sorted_by_key(|&(_, is_there, _)| is_there), "{forms:?}");
    // Also where not even one list of all entries has any.
    assert!(forms.iter().any(|form| matches!(form, (..480_000, false, true))), "{forms:?}");
    assert!(matches!(forms.last(), Some((_, true, true))), "{forms:?}");
    // The same draws as if it had been asked for, and about those of entries on the device.
    let mut asked = on(all, Form::StreamedEntries, 0).unwrap();
    let mut there = on(all, Form::Entries, 0).unwrap();
    for sampler in [&mut streamed, &mut asked, &mut there] {
        (1..4).for_each(|epoch| sampler.epoch(epoch, None).unwrap());
    }
    assert!(streamed.state() == asked.state());
    let [found, expected] = [&streamed, &there].map(|sampler| sampler.rows(1).unwrap());
    let off = found.iter().zip(&expected).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    assert!(off < 1e-3, "{off}");
    // So do those to evaluate on.
    let expected = 10.0 * there.squared_error(None, false, ALL).unwrap();
    let set_there = set(&problem, &mut there).unwrap();
    assert_eq!(set_there.parts.chains().len(), 1);
    let set_streamed = set(&problem, &mut streamed).unwrap();
    assert!(set_streamed.parts.chains().len() > 1);
    let errors = [
        there.squared_error(Some(&set_there), false, ALL).unwrap(),
        streamed.squared_error(Some(&set_streamed), false, ALL).unwrap(),
    ];
    assert!(errors.iter().all(|errors| (errors / expected - 1.0).abs() < 1e-3), "{errors:?} {expected}");
}

#[test]
fn what_comes_later_has_room_on_a_device_that_has_some_for_entries() {
    // A mean that is larger than the entries, and a set that is.
    let mut problem = Random::new(&[1500, 20, 10], &[11, 3, 3], 4000, 4);
    problem.state = crate::State::start(&problem.rows, &problem.ranks, 4);
    let (mut bytes, mut outcomes) = (6 << 20, Vec::new());
    loop {
        bytes = bytes * 15 / 16;
        let device = Limited::new(TestDevice, bytes);
        let change = |setup: &mut Setup<'_>| (setup.part, setup.reserve) = (40_000, 40_000 * 100);
        let Ok(mut sampler) = problem.sampler_on(device, change) else { break };
        outcomes.push(sampler.parts().is_some());
        let set = set(&problem, &mut sampler).unwrap();
        sampler.epoch(1, Some(1.0)).unwrap();
        assert!(sampler.squared_error(Some(&set), true, ALL).unwrap().is_finite());
    }
    // Some had room, and then some had not.
    assert!(outcomes.is_sorted() && outcomes.contains(&false), "{outcomes:?}");
}

#[test]
fn signs_of_entries_differ_from_part_to_part() {
    // Errors are zero, and rows are alike: the gradient of the mean is the sum of all signs, each part's the same sum if they had the same.
    let mut problem = Random::new(&[200, 3, 4], &[2, 3, 3], 2000, 1);
    problem.state.core.fill(0.0);
    problem.state.roots.iter_mut().flatten().for_each(|root| *root = 1.0);
    problem.values.fill(0.0);
    for form in [Form::StreamedEntries, Form::StreamedTuples] {
        let mut sampler =
            problem.sampler_on(TestDevice, |setup| (setup.form, setup.part) = (form, 100)).unwrap();
        assert!((16..=20).contains(&sampler.parts().unwrap()));
        let mut sum = 0.0;
        for epoch in 1..=40 {
            sampler.prepare(epoch).unwrap();
            let (lead, core) = (&sampler.lead, &sampler.draw.core);
            sampler.sweep(lead, crate::parts::Visit::Residuals, core, epoch, true).unwrap();
            let mut gradient = [0.0];
            sampler.core.both_gradients.get_first(&sampler.device, &mut gradient).unwrap();
            sum += f64::from(gradient[0]).powi(2);
        }
        // 2,000 if they differ, and twenty times that if they do not.
        assert!((sum / 40.0 / 2000.0 - 1.0).abs() < 0.7, "{form:?}: {sum}");
    }
}
