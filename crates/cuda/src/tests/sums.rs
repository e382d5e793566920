//! Sums, gradients and errors.

use super::device::TestDevice;
use super::oracle::assert_close;
use super::{Random, forms};
use crate::arrange::{Shape, order};
use crate::chain::{Chain, Frame, Purpose, Which};
use crate::parts::Visit;
use crate::stage::Room;
use crate::{Entries, Error, Form, Sampler};

/// Problems of all orders, and of all ranks that have kernels of their own, and others.
fn problems() -> Vec<Random> {
    let shapes: [(&[usize], &[usize], usize); 15] = [
        (&[30, 20], &[3, 7], 300),
        (&[7, 40, 12], &[4, 8, 3], 400),
        (&[5, 9, 60], &[12, 5, 10], 3000),
        (&[14, 20, 9], &[3, 16, 14], 300),
        (&[12, 15, 11], &[2, 24, 3], 300),
        (&[25, 6, 8], &[30, 2, 3], 400),
        (&[13, 9], &[45, 64], 200),
        (&[9, 14], &[70, 3], 200),
        // The mode with the most rows has no module; and ranks that are too large for what is staged otherwise.
        (&[14, 9], &[70, 3], 200),
        (&[4, 3], &[800, 2], 40),
        (&[3, 4], &[800, 2], 40),
        // Tuples of the widest modules.
        (&[6, 7, 12], &[2, 40, 60], 90),
        (&[6, 12, 7], &[60, 34, 2], 90),
        (&[6, 8, 5, 7], &[3, 4, 2, 5], 400),
        (&[4, 3, 5, 6, 3], &[2, 3, 2, 5, 3], 300),
    ];
    let shapes = shapes.into_iter().zip(1..);
    shapes.map(|((rows, ranks, entries), seed)| Random::new(rows, ranks, entries, seed)).collect()
}

#[test]
fn sums_over_rows_are_those_of_plain_loops() {
    for problem in problems() {
        for form in forms(problem.rows.len()) {
            let mut sampler = problem.sampler(form);
            // With tensor cores, where there are any, and without; sums over tuples are those of an epoch.
            let (tensor, modes) = (sampler.tensor, sampler.modes());
            let runs = [(false, 1), (tensor, 2)];
            for (tensor, epoch, mode) in
                runs.iter().flat_map(|&(tensor, epoch)| modes.iter().map(move |&mode| (tensor, epoch, mode)))
            {
                sampler.tensor = tensor;
                sampler.sum_rows(mode, epoch).unwrap();
                let (rank, pad) = (problem.ranks[mode], sampler.pads[mode]);
                let (all, squares) = (
                    sampler.sums.get(&sampler.device).unwrap(),
                    sampler.squares.get(&sampler.device).unwrap(),
                );
                let len = pad * (pad + 3) / 2;
                for (row, (products, pulls, square)) in problem.sums(mode).into_iter().enumerate() {
                    let found = &all[row * len..][..len];
                    let what = format!(
                        "{:?} {:?} {form:?} {tensor} mode {mode} row {row}",
                        problem.rows, problem.ranks
                    );
                    let triangle = |k: usize| &found[k * (k + 1) / 2..][..=k];
                    for k in 0..rank {
                        assert_close(triangle(k), &products[k][..=k], 2e-5, &what);
                    }
                    assert_close(&found[pad * (pad + 1) / 2..][..rank], &pulls, 2e-5, &what);
                    assert_close(&[squares[row]], &[square], 2e-5, &what);
                }
            }
        }
    }
}

#[test]
fn rows_with_many_entries_are_summed_in_parts() {
    let problem = Random::new(&[2, 2], &[3, 4], 9000, 5);
    let mut sampler = problem.sampler(Form::Entries);
    sampler.sum_rows(0, 1).unwrap();
    let (found, expected) = (sampler.sums.get(&sampler.device).unwrap(), &problem.sums(0)[0]);
    assert_close(&found[..1], &expected.0[0][..1], 1e-5, "products");
    assert_close(&found[10..13], &expected.1, 1e-5, "pulls");
    assert_close(&sampler.squares.get(&sampler.device).unwrap()[..1], &[expected.2], 1e-5, "squares");
}

fn gradient(sampler: &Sampler<TestDevice>) -> Vec<f32> {
    let mut gradient = vec![0.0; sampler.draw.core.len()];
    sampler.core.both_gradients.get_first(&sampler.device, &mut gradient).unwrap();
    gradient
}

#[test]
fn passes_give_the_gradients_of_plain_loops() {
    // And of nodes that are more than one task: by entries, by children, and by those of the core.
    let shapes: [(&[usize], &[usize], usize); 3] =
        [(&[3, 3], &[3, 4], 9000), (&[3, 700, 720], &[2, 2, 3], 6000), (&[5000, 5100], &[2, 3], 9000)];
    let more = shapes.map(|(rows, ranks, entries)| Random::new(rows, ranks, entries, 5));
    for mut problem in problems().into_iter().chain(more) {
        // Without the random part.
        problem.state.tau = 1e30;
        for form in forms(problem.rows.len()) {
            let mut sampler = problem.sampler(form);
            sampler.prepare(1).unwrap();
            let what = format!("{:?} {:?} {form:?}", problem.rows, problem.ranks);
            for (visit, tensor) in [
                (Visit::Residuals, sampler.tensor),
                (Visit::Residuals, false),
                (Visit::Weighed, false),
                (Visit::Squares, false),
            ] {
                // The lead's sums anew, without tensor cores.
                if sampler.tensor != tensor {
                    sampler.tensor = tensor;
                    sampler.outdate(sampler.lead.leaf());
                    sampler.prepare(1).unwrap();
                }
                sampler.sweep(&sampler.lead, visit, &sampler.draw.core, 1, visit != Visit::Squares).unwrap();
                let rest = |entry: usize| f64::from(problem.values[entry]) - problem.prediction(entry);
                if visit != Visit::Weighed {
                    let found: f64 = sampler.lead.squares(visit).get(&sampler.device).unwrap().iter().sum();
                    if visit == Visit::Residuals {
                        sampler.take_squares(&sampler.lead, None).unwrap();
                        let taken = sampler.scalars.get(&sampler.device).unwrap()[crate::scalars::SQUARES];
                        assert!((taken / found - 1.0).abs() < 1e-12, "{what}: {taken} {found}");
                    }
                    let of = |entry: usize| {
                        if visit == Visit::Squares { problem.prediction(entry) } else { rest(entry) }
                    };
                    let entries = 0..problem.values.len();
                    let expected: f64 =
                        entries.map(|entry| problem.share(None, entry) * of(entry).powi(2)).sum();
                    assert!((found / expected - 1.0).abs() < 2e-5, "{what} {visit:?}: {found} {expected}");
                }
                if visit == Visit::Squares {
                    continue;
                }
                let found = gradient(&sampler);
                let expected = problem.gradient(|entry| {
                    let share = problem.share(None, entry);
                    share * if visit == Visit::Residuals { rest(entry) } else { problem.prediction(entry) }
                });
                assert_close(&found, &expected, 2e-5, &what);
            }
        }
    }
}

#[test]
fn random_signs_have_the_variance_of_the_noise() {
    // The gradient of the mean is a sum of signs, where errors are zero: its variance is the number of entries.
    let mut problem = Random::new(&[200, 3, 4], &[2, 3, 3], 2000, 1);
    problem.state.core.fill(0.0);
    problem.state.roots.iter_mut().flatten().for_each(|root| *root = 1.0);
    problem.values.fill(0.0);
    for form in [Form::Entries, Form::Tuples] {
        let mut sampler = problem.sampler(form);
        let mut sum = 0.0;
        for epoch in 1..=50 {
            sampler.sum_rows(0, 1).unwrap();
            sampler.prepare(epoch).unwrap();
            sampler.sweep(&sampler.lead, Visit::Residuals, &sampler.draw.core, epoch, true).unwrap();
            sum += f64::from(gradient(&sampler)[0]).powi(2);
        }
        assert!((sum / 50.0 / 2000.0 - 1.0).abs() < 0.7, "{form:?}: {sum}");
    }
}

#[test]
fn tables_that_would_be_too_large_are_left_out() {
    let problem = Random::new(&[6, 8, 5, 7], &[3, 4, 2, 5], 400, 3);
    let slices: Vec<&[u32]> = problem.indices.iter().map(Vec::as_slice).collect();
    let entries = Entries { indices: &slices, values: &problem.values };
    let mut sampler = problem.sampler(Form::Entries);
    for most in [0, 50] {
        let leaf = sampler.lead.leaf();
        let mut wide = problem.ranks.clone();
        wide[leaf] = sampler.pads[leaf];
        let shape = Shape { rows: &problem.rows, ranks: &wide, leaf, most };
        let arranged = order((&entries, &[]), &shape).all();
        assert!(arranged.levels.len() < 3);
        let models = [&sampler.draw, &sampler.mean_model];
        let (device, roots) = (&sampler.device, &sampler.roots);
        let frame = Frame { device, rows: &sampler.rows, ranks: &sampler.ranks, models, roots };
        let mut room = Room::Device(device);
        let chain = Chain::new(&frame, &mut room, &arranged, Purpose::Core, None).unwrap();
        sampler.tables.fit(&sampler.device, &chain).unwrap();
        chain.descend(&sampler.device, &sampler.tables, Which::Draw, &sampler.draw.core, false).unwrap();
        let designs = sampler.tables.last(&chain).0.get(&sampler.device).unwrap();
        let rank = problem.ranks[leaf];
        for node in 0..arranged.nodes() {
            let place = arranged.starts[node] as usize;
            let entry = problem.values.iter().position(|&value| value == arranged.values[place]).unwrap();
            let found = &designs[node * wide[leaf]..][..rank];
            assert_close(found, &problem.design(leaf, entry), 1e-5, "a design");
        }
        // And back.
        sampler.prepare(1).unwrap();
        sampler.pass_squares = crate::device::Array::zeros(&sampler.device, chain.leaves.slots).unwrap();
        sampler.visit(&chain, Visit::Weighed, 1).unwrap();
        let (nodes, _) = sampler.tables.last(&chain);
        chain.leaves.join(&sampler.device, sampler.pads[leaf], nodes).unwrap();
        chain.ascend(&sampler.device, &sampler.tables, &sampler.core.both_gradients).unwrap();
        let found = gradient(&sampler);
        let expected = problem.gradient(|entry| problem.share(None, entry) * problem.prediction(entry));
        assert_close(&found, &expected, 2e-5, "a gradient");
    }
}

#[test]
fn squared_errors_are_those_of_predictions_cut_off_at_a_range() {
    for problem in problems() {
        let mut sampler = problem.sampler(Form::Auto);
        let entries = 0..problem.values.len();
        let error =
            |entry: usize| problem.prediction(entry).clamp(-0.5, 0.4) - f64::from(problem.values[entry]);
        let expected: f64 = entries.map(|entry| error(entry).powi(2)).sum();
        let found = sampler.squared_error(None, false, [-0.5, 0.4]).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
        // One entry whose rows are not known, and the first of training.
        let indices: Vec<Vec<u32>> = problem
            .rows
            .iter()
            .zip(&problem.indices)
            .map(|(&rows, indices)| vec![rows as u32, indices[0]])
            .collect();
        let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        let values = [0.5, problem.values[0]];
        let set = sampler.evaluation(Entries { indices: &slices, values: &values }).unwrap();
        let found = sampler.squared_error(Some(&set), false, [f32::NEG_INFINITY, f32::INFINITY]).unwrap();
        let mut average = Random::new(&problem.rows, &problem.ranks, 1, 1);
        average.state = problem.state.clone();
        for mode in 0..problem.rows.len() {
            let (rank, rows) = (problem.ranks[mode], problem.rows[mode]);
            for k in 0..rank {
                let mean: f32 =
                    problem.state.factors[mode].iter().skip(k).step_by(rank).sum::<f32>() / rows as f32;
                average.state.factors[mode][k] = mean;
            }
            average.indices[mode][0] = 0;
        }
        let unknown = average.prediction(0) - 0.5;
        let known = problem.prediction(0) - f64::from(problem.values[0]);
        let expected = unknown.powi(2) + known.powi(2);
        assert!((found - expected).abs() < 1e-4 * expected.max(1.0), "{found} {expected}");
        // What is left of training is as it was.
        let again = sampler.squared_error(None, false, [-0.5, 0.4]).unwrap();
        assert!(sampler.squared_error(None, true, [-0.5, 0.4]).is_err());
        let error = (0..problem.values.len()).map(|entry| {
            let error = problem.prediction(entry).clamp(-0.5, 0.4) - f64::from(problem.values[entry]);
            error * error
        });
        assert!((again / error.sum::<f64>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn what_is_no_number_stays_none() {
    let shapes: [(&[usize], &[usize]); 4] =
        [(&[9, 6], &[3, 7]), (&[9, 6], &[70, 3]), (&[9, 6], &[17, 70]), (&[9, 6, 5], &[3, 4, 3])];
    for (rows, ranks) in shapes {
        let mut problem = Random::new(rows, ranks, 100, 3);
        let row = problem.indices[0][0] as usize;
        problem.state.factors[0][row * ranks[0] + 1] = f32::NAN;
        for form in forms(rows.len()) {
            let mut sampler = problem.sampler(form);
            let what = format!("{ranks:?} {form:?}");
            assert!(sampler.squared_error(None, false, [-0.5, 0.4]).unwrap().is_nan(), "{what}");
            sampler.draw_core(1, false).unwrap();
            assert!(sampler.tau().unwrap().is_nan(), "{what}");
            sampler.restore(&problem.state).unwrap();
            sampler.draw_rows(1, 1, None).unwrap();
            let (other, rank) = (problem.indices[1][0] as usize, ranks[1]);
            assert!(sampler.errors.get(&sampler.device).unwrap()[other].is_nan(), "{what}");
            assert!(sampler.rows(1).unwrap()[other * rank + 1..][..rank - 1].iter().all(|k| k.is_nan()));
        }
    }
}

#[test]
fn entries_that_are_held_out_take_no_part_until_they_join() {
    for (unheld, mut all) in problems().into_iter().zip(problems()).step_by(2) {
        all.held = (0..all.values.len() as u32).filter(|entry| entry % 7 == 3).collect();
        let mut kept = Random::new(&all.rows, &all.ranks, 0, 1);
        (kept.state, kept.zero) = (all.state.clone(), all.zero.clone());
        for entry in (0..all.values.len()).filter(|&entry| entry % 7 != 3) {
            let indices = kept.indices.iter_mut().zip(&all.indices);
            indices.for_each(|(kept, all)| kept.push(all[entry]));
            kept.values.push(all.values[entry]);
        }
        for form in forms(all.rows.len()) {
            let what = format!("{:?} {:?} {form:?}", all.rows, all.ranks);
            let (mut some, mut whole) = (all.sampler(form), unheld.sampler(form));
            for mode in some.modes() {
                some.sum_rows(mode, 1).unwrap();
                let (rank, pad) = (all.ranks[mode], some.pads[mode]);
                let sums = some.sums.get(&some.device).unwrap();
                let squares = some.squares.get(&some.device).unwrap();
                for (row, (products, pulls, square)) in kept.sums(mode).into_iter().enumerate() {
                    let found = &sums[row * pad * (pad + 3) / 2..];
                    assert_close(&found[..1], &products[0][..1], 2e-5, &what);
                    assert_close(&found[pad * (pad + 1) / 2..][..rank], &pulls, 2e-5, &what);
                    assert_close(&[squares[row]], &[square], 2e-5, &what);
                }
            }
            // The random part of the core, its sum of squares, and the number of entries.
            let mut plain = kept.sampler(form);
            [&mut some, &mut plain].into_iter().for_each(|sampler| sampler.draw_core(1, false).unwrap());
            assert!((some.tau().unwrap() / plain.tau().unwrap() - 1.0).abs() < 1e-4, "{what}");
            let range = [f32::NEG_INFINITY, f32::INFINITY];
            let [errors, expected] =
                [&mut some, &mut plain].map(|sampler| sampler.squared_error(None, false, range));
            assert!((errors.unwrap() / expected.unwrap() - 1.0).abs() < 1e-4, "{what}");
            // Other ranks leave them where they are, and so does another state.
            some.resize(&all.ranks, &all.zero, &all.state).unwrap();
            some.join().unwrap();
            some.join().unwrap();
            (1..=5).for_each(|epoch| {
                [&mut some, &mut whole]
                    .map(|sampler| sampler.epoch(epoch, None))
                    .into_iter()
                    .for_each(Result::unwrap)
            });
            assert!(some.state().unwrap() == whole.state().unwrap(), "{what}");
        }
    }
}

#[test]
fn entries_that_are_not_there_cannot_be_held_out() {
    let mut problem = Random::new(&[5, 4], &[2, 2], 9, 1);
    for held in [vec![3, 3], vec![4, 2], vec![9]] {
        problem.held = held;
        let made = problem.sampler_on(TestDevice, |_| ());
        assert!(matches!(made.err(), Some(Error::Problem(_))), "{:?}", problem.held);
    }
}
