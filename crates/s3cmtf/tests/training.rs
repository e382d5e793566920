//! What training reaches, promises and survives.

use std::ops::ControlFlow;

use crate::common::odd::odd_data;
use crate::common::planted::{Planted, planted};
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::internal::world::{WorldParams, generate};
use s3cmtf::{
    CoreKind, CoreUpdate, Entries, Epoch, Instructions, Method, Params, Problem, Run, Scheme, Shuffle,
    SmallModes, Start, Stop, Training, ZerosUpdate,
};

fn fit(planted: &Planted, params: Params) -> Run {
    let problem = Problem::builder(planted.train.clone()).build().unwrap();
    Training::new(problem, params).test(planted.test.clone()).run().unwrap()
}

/// A three-mode tensor with entries enough to find its model again.
fn dense_enough() -> Planted {
    planted(&[80, 60, 12], &[3, 3, 2], false, 3.0, 0.1, 20_000, 11)
}

fn weak(ranks: &[usize]) -> Params {
    Params { ranks: ranks.to_vec(), lambda_reg: 0.02, epochs: 200, decay: 0.02, threads: 2, ..Params::sgd() }
}

#[test]
fn a_planted_model_is_recovered_down_to_its_noise() {
    let planted = dense_enough();
    for scheme in [Scheme::Blocks, Scheme::LockFree] {
        let run = fit(&planted, Params { scheme, ..weak(&[4, 4, 3]) });
        let rmse = run.record.summary.test_rmse.unwrap();
        assert!(rmse < 1.1 * planted.noise, "{scheme:?}: test RMSE {rmse}, noise {}", planted.noise);
    }
}

#[test]
fn every_method_and_the_papers_start_find_the_planted_model() {
    let planted = planted(&[40, 30, 8], &[2, 2, 2], false, 3.0, 0.1, 4_000, 5);
    for method in [Method::Naive, Method::Opt, Method::Fast] {
        // The paper's start sits on a plateau first: all rows look alike until the symmetry breaks.
        for (start, rate) in [(Start::Mean, None), (Start::Random, Some(0.02))] {
            let run = fit(&planted, Params { method, start, rate, ..weak(&[4, 4, 4]) });
            let rmse = run.record.summary.test_rmse.unwrap();
            assert!(rmse < 1.25 * planted.noise, "{method:?} {start:?}: test RMSE {rmse}");
        }
    }
}

#[test]
fn the_papers_algorithm_reaches_the_noise_on_one_and_on_several_threads() {
    let planted = planted(&[40, 30, 8], &[2, 2, 2], false, 3.0, 0.1, 4_000, 5);
    for (threads, method) in [(1, Method::Opt), (2, Method::Opt), (5, Method::Opt), (3, Method::Naive)] {
        let paper =
            Params { lambda_reg: 0.02, rate: Some(0.02), decay: 0.02, epochs: 200, ..Params::paper() };
        let run = fit(&planted, Params { ranks: vec![4], threads, method, ..paper });
        let rmse = run.record.summary.test_rmse.unwrap();
        assert!(rmse < 1.25 * planted.noise, "{threads} threads: test RMSE {rmse}");
        assert_eq!(run.record.halvings, 0);
        for factor in run.model.factors() {
            let column = |j: usize| (0..factor.rows()).map(move |row| f64::from(factor.row(row)[j]));
            for a in 0..factor.rank() {
                for b in 0..=a {
                    let product: f64 = column(a).zip(column(b)).map(|(a, b)| a * b).sum();
                    let expected = if a == b { 1.0 } else { 0.0 };
                    assert!((product - expected).abs() < 1e-5, "columns {a} and {b}: {product}");
                }
            }
        }
    }
}

#[test]
fn from_the_papers_algorithm_to_ours_every_step_trains() {
    let world =
        generate(&WorldParams { users: 300, businesses: 120, ratings: 8_000, ..WorldParams::default() });
    let steps: [fn(&mut Params); 7] = [
        |_| (),
        |params| params.core_update = CoreUpdate::Averaged,
        |params| params.small_modes = SmallModes::Private,
        |params| params.zeros_update = ZerosUpdate::Implicit,
        |params| params.shuffle = Shuffle::Once,
        |params| params.method = Method::Fast,
        |params| params.scheme = Scheme::Blocks,
    ];
    // Every one of them alone as well, as far as the others allow it, and from our side.
    let paper = || Params { ranks: vec![4], rate: Some(0.01), epochs: 30, threads: 3, ..Params::paper() };
    let mut all: Vec<Params> = steps
        .iter()
        .scan(paper(), |params, step| {
            step(params);
            Some(params.clone())
        })
        .collect();
    all.extend(steps[1..5].iter().map(|step| {
        let mut params = paper();
        step(&mut params);
        params
    }));
    let once = Params { shuffle: Shuffle::Once, ..paper() };
    all.push(Params { method: Method::Fast, ..once.clone() });
    all.push(Params { zeros_update: ZerosUpdate::PerCell, scheme: Scheme::Blocks, ..all[6].clone() });
    let mean = {
        let values = world.ratings.values();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        (values.iter().map(|value| f64::from(value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    for params in all {
        let run = Training::new(world.problem().unwrap(), params.clone()).run().unwrap();
        let rmse = run.record.summary.train_rmse;
        assert!(rmse < 0.95 * mean, "{params:?}: {rmse} where the mean has {mean}");
    }
}

#[test]
fn orders_two_and_four_are_recovered() {
    for (sizes, ranks, count) in
        [(vec![80, 60], vec![3, 3], 3_000), (vec![20, 15, 12, 6], vec![2, 2, 2, 2], 10_000)]
    {
        let planted = planted(&sizes, &ranks, false, 2.0, 0.1, count, 3);
        let run = fit(&planted, weak(&[ranks[0] + 1]));
        let rmse = run.record.summary.test_rmse.unwrap();
        assert!(rmse < 1.35 * planted.noise, "order {}: test RMSE {rmse}", sizes.len());
    }
}

#[test]
fn a_diagonal_core_recovers_a_diagonal_world() {
    let planted = planted(&[80, 60, 12], &[2, 2, 2], true, 1.0, 0.1, 20_000, 8);
    let params = Params { core: CoreKind::Diagonal, ..weak(&[4]) };
    let rmse = fit(&planted, params).record.summary.test_rmse.unwrap();
    assert!(rmse < 1.1 * planted.noise, "test RMSE {rmse}");
}

#[test]
fn coupled_matrices_help_where_the_tensor_is_thin() {
    let world =
        generate(&WorldParams { users: 600, businesses: 400, ratings: 6_000, ..WorldParams::default() });
    let coupled = world.problem().unwrap();
    let plain = Problem::builder(world.ratings.clone()).sizes(vec![600, 400, 24]).build().unwrap();
    let mut counts = vec![0; 400];
    world.ratings.indices(1).iter().for_each(|&business| counts[business as usize] += 1);
    let thin: Vec<usize> =
        (0..world.test.len()).filter(|&entry| counts[world.test.indices(1)[entry] as usize] <= 5).collect();
    let pick = |mode: usize| thin.iter().map(|&entry| world.test.indices(mode)[entry]).collect();
    let values = thin.iter().map(|&entry| world.test.values()[entry]).collect();
    let test = Entries::new(vec![pick(0), pick(1), pick(2)], values).unwrap();
    assert!(test.len() > 100);
    let rmse = |problem: Problem| {
        let params = Params { ranks: vec![8], lambda_reg: 1.0, epochs: 150, decay: 0.02, ..Params::sgd() };
        Training::new(problem, params).run().unwrap().model.evaluate(&test, false).unwrap().rmse
    };
    let (with, without) = (rmse(coupled), rmse(plain));
    assert!(with < 0.85 * without, "{with} with the matrices, {without} without");
}

#[test]
fn a_deterministic_run_is_bitwise_the_same_for_any_number_of_threads() {
    let world =
        generate(&WorldParams { users: 500, businesses: 300, ratings: 30_000, ..WorldParams::default() });
    let run = |threads: usize, seed: u64, method: Method| {
        let params = Params {
            ranks: vec![5, 6, 3],
            threads,
            seed,
            method,
            deterministic: true,
            epochs: 4,
            ..Params::sgd()
        };
        Training::new(world.problem().unwrap(), params).run().unwrap().model
    };
    for method in [Method::Fast, Method::Opt] {
        let one = run(1, 7, method);
        for threads in [2, 3, 5] {
            assert_eq!(one, run(threads, 7, method), "{method:?}: 1 and {threads} threads");
        }
        assert_ne!(one, run(1, 8, method), "another seed is another model");
    }
}

#[test]
fn threads_and_schemes_reach_the_same_error() {
    let world =
        generate(&WorldParams { users: 600, businesses: 400, ratings: 20_000, ..WorldParams::default() });
    let rmse = |params: Params| {
        let training = Training::new(world.problem().unwrap(), params).test(world.test.clone());
        training.run().unwrap().record.summary.test_rmse.unwrap()
    };
    let base = Params { ranks: vec![8], lambda_reg: 1.0, epochs: 150, ..Params::sgd() };
    let one = rmse(Params { threads: 1, ..base.clone() });
    for threads in [2, 4] {
        for (scheme, deterministic) in
            [(Scheme::Blocks, false), (Scheme::LockFree, false), (Scheme::Blocks, true)]
        {
            let other = rmse(Params { threads, scheme, deterministic, ..base.clone() });
            assert!((other - one).abs() < 0.02 * one, "{threads} threads {scheme:?}: {other} and not {one}");
        }
    }
}

#[test]
fn all_instructions_reach_the_same_error() {
    // Its coupled matrix is of the kind whose cells are stepped through by a kernel too.
    let shape = Shape { sizes: vec![300, 200, 10], entries: 8_000, ..Shape::named("synthetic").unwrap() };
    let problem = shape.problem().unwrap();
    let all = Instructions::available();
    assert_eq!(all.first(), Some(&Instructions::Portable));
    assert_eq!(all.last().unwrap().name(), s3cmtf::internal::instructions());
    let mut reached = Vec::new();
    for instructions in all {
        let params = Params { ranks: vec![6], instructions: Some(instructions), threads: 1, ..Params::sgd() };
        let record = Training::new(problem.clone(), params).holdout(0.1).run().unwrap().record;
        assert_eq!(record.instructions, instructions.name());
        reached.push(record.summary.test_rmse.unwrap());
    }
    assert!(reached.iter().all(|rmse| (rmse - reached[0]).abs() < 1e-3), "{reached:?}");
}

#[test]
fn orthogonal_factors_keep_every_prediction() {
    let world = generate(&WorldParams {
        users: 300,
        businesses: 200,
        months: 6,
        ratings: 8_000,
        ..WorldParams::default()
    });
    for core in [CoreKind::Full, CoreKind::Diagonal] {
        // A rank above the six months, too.
        let params = Params { ranks: vec![8], core, epochs: 5, deterministic: true, ..Params::sgd() };
        let fit = |orthogonal: bool| {
            let params = Params { orthogonal, ..params.clone() };
            Training::new(world.problem().unwrap(), params).run().unwrap().model
        };
        let (plain, model) = (fit(false), fit(true));
        let (before, after) =
            (plain.predict(&world.test, false).unwrap(), model.predict(&world.test, false).unwrap());
        let scale = before.iter().fold(0.0f32, |scale, value| scale.max(value.abs()));
        for (before, after) in before.iter().zip(&after) {
            assert!((before - after).abs() <= 1e-5 * scale, "{before} became {after}");
        }
        for factor in model.factors() {
            assert!(factor.rank() <= factor.rows());
            for i in 0..factor.rank() {
                for j in 0..factor.rank() {
                    let dot: f64 = (0..factor.rows())
                        .map(|row| f64::from(factor.row(row)[i]) * f64::from(factor.row(row)[j]))
                        .sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-5, "columns {i} and {j}: {dot}");
                }
            }
        }
        // y = u v' stays as well.
        for (number, matrix) in
            model.coupled().iter().enumerate().filter(|(_, matrix)| matrix.factor.rows() > 0)
        {
            let dot = |model: &s3cmtf::Model, row: usize, column: usize| -> f64 {
                let (u, v) =
                    (model.factors()[matrix.mode].row(row), model.coupled()[number].factor.row(column));
                u.iter().zip(v).map(|(&u, &v)| f64::from(u) * f64::from(v)).sum()
            };
            for row in 0..20 {
                let (before, after) = (dot(&plain, row, row % 3), dot(&model, row, row % 3));
                assert!((before - after).abs() < 1e-5, "{}: {before} became {after}", matrix.name);
            }
        }
    }
}

#[test]
fn a_nonnegative_model_has_no_negative_number_and_columns_of_length_one() {
    let world =
        generate(&WorldParams { users: 300, businesses: 200, ratings: 8_000, ..WorldParams::default() });
    for (scheme, core) in [
        (Scheme::Blocks, CoreKind::Full),
        (Scheme::LockFree, CoreKind::Full),
        (Scheme::Blocks, CoreKind::Diagonal),
    ] {
        let params = Params { ranks: vec![6], nonnegative: true, scheme, core, ..Params::sgd() };
        let run = Training::new(world.problem().unwrap(), params).test(world.test.clone()).run().unwrap();
        let nonnegative = |values: &[f32]| values.iter().all(|&value| value >= 0.0);
        assert!(nonnegative(run.model.core().values()));
        assert!(run.model.coupled().iter().all(|matrix| nonnegative(matrix.factor.values())));
        for factor in run.model.factors() {
            assert!(nonnegative(factor.values()));
            for j in 0..factor.rank() {
                let length: f64 = (0..factor.rows()).map(|row| f64::from(factor.row(row)[j]).powi(2)).sum();
                assert!(
                    (length - 1.0).abs() < 1e-4 || length == 0.0,
                    "column {j} has squared length {length}"
                );
            }
        }
        // Normalising changed no prediction, and the fit is better than the mean's.
        let (summary, mean) = (&run.record.summary, run.record.data.mean);
        let evaluated = run.model.evaluate(&world.test, false).unwrap().rmse;
        assert!((evaluated - summary.test_rmse.unwrap()).abs() < 1e-4);
        let squares: f64 = world.test.values().iter().map(|&value| (f64::from(value) - mean).powi(2)).sum();
        assert!(evaluated < 0.95 * (squares / world.test.len() as f64).sqrt(), "RMSE {evaluated}");
    }
}

#[test]
fn l1_makes_exact_zeros_and_l2_none() {
    let planted = dense_enough();
    let zeros = |l1: bool| {
        let run = fit(&planted, Params { ranks: vec![6], l1, lambda_reg: 20.0, epochs: 40, ..Params::sgd() });
        let values = run.model.factors().iter().flat_map(|factor| factor.values().to_vec());
        values.filter(|&value| value == 0.0).count()
    };
    assert_eq!(zeros(false), 0);
    assert!(zeros(true) > 20);
}

#[test]
fn a_run_says_why_it_stopped() {
    let planted = dense_enough();
    let stop = |params: Params| fit(&planted, params).record.summary;
    let base = Params { ranks: vec![3], ..Params::sgd() };
    let summary = stop(Params { epochs: 3, ..base.clone() });
    assert_eq!((summary.stop, summary.epochs, summary.best_epoch), (Stop::Epochs, 3, 3));
    let summary = stop(Params { tolerance: Some(0.01), epochs: 500, ..base.clone() });
    assert!(summary.stop == Stop::Tolerance && summary.epochs < 500);
}

#[test]
fn patience_keeps_the_best_model() {
    // Little data and no regulariser: the held-out error turns up soon.
    let planted = planted(&[60, 50, 10], &[2, 2, 2], false, 3.0, 0.8, 1_500, 2);
    let params = Params {
        ranks: vec![8],
        lambda_reg: 0.0,
        decay: 0.0,
        epochs: 500,
        patience: Some(4),
        deterministic: true,
        ..Params::sgd()
    };
    let problem = || Problem::builder(planted.train.clone()).build().unwrap();
    // First it watches a tenth of the entries, whatever the test set says.
    let run = Training::new(problem(), params.clone()).test(planted.test.clone()).run().unwrap();
    let summary = &run.record.summary;
    assert_eq!(summary.stop, Stop::Patience);
    let (rest, held) = problem().hold_out(0.1, params.seed).unwrap();
    let alone = Params { patience: None, epochs: summary.best_epoch + 4, ..params.clone() };
    let watched = Training::new(rest, alone).test(held).run().unwrap().record.history;
    let best = watched.iter().min_by(|a, b| a.test_rmse.partial_cmp(&b.test_rmse).unwrap()).unwrap();
    assert_eq!(best.epoch, summary.best_epoch);
    // Then all entries are trained on for as many epochs.
    let whole = Params { patience: None, epochs: summary.best_epoch, ..params.clone() };
    let whole = Training::new(problem(), whole).test(planted.test.clone()).run().unwrap();
    assert_eq!(run.model, whole.model);
    assert_eq!(summary.test_rmse, whole.record.summary.test_rmse);
    assert_eq!(run.record.data.entries, 1_500);
    assert_eq!(run.record.data.test_entries, planted.test.len());
    // What was watched is told, also of the epochs behind the best.
    let curve: Vec<f64> = watched.iter().filter_map(|epoch| epoch.test_rmse).collect();
    assert_eq!(run.record.validation, curve);
    let kept: Vec<f64> = run.record.history.iter().filter_map(|epoch| epoch.validation_rmse).collect();
    assert_eq!(kept, curve[..summary.best_epoch]);
    // Without a test set, the RMSE that was best on the watched entries is told.
    let run = Training::new(problem(), params).run().unwrap();
    assert_eq!(run.record.summary.test_rmse, best.test_rmse);
}

#[test]
fn a_rate_far_too_large_is_halved_until_the_run_goes_on() {
    let planted = dense_enough();
    for method in [Method::Fast, Method::Opt] {
        let run =
            fit(&planted, Params { ranks: vec![3], rate: Some(1000.0), method, epochs: 8, ..Params::sgd() });
        let summary = &run.record.summary;
        assert_eq!((summary.stop, summary.epochs), (Stop::Epochs, 8));
        assert!(run.record.history[0].rate.unwrap() < 1000.0);
        assert!(summary.train_rmse.is_finite() && summary.train_rmse < 3.5, "RMSE {}", summary.train_rmse);
    }
}

#[test]
fn an_interrupted_run_keeps_the_model_so_far() {
    let planted = dense_enough();
    let problem = Problem::builder(planted.train.clone()).build().unwrap();
    let params = Params { ranks: vec![3], epochs: usize::MAX, ..Params::sgd() };
    let run = Training::new(problem, params)
        .observe(
            |epoch: &Epoch| if epoch.epoch == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) },
        )
        .run()
        .unwrap();
    assert_eq!((run.record.summary.stop, run.record.summary.epochs), (Stop::Interrupted, 5));
    let rmse = run.model.evaluate(&planted.train, false).unwrap().rmse;
    assert!((rmse - run.record.summary.train_rmse).abs() < 1e-6);
}

#[test]
fn a_warm_start_goes_on_where_the_model_was_also_with_new_ids() {
    let planted = dense_enough();
    let first = fit(&planted, Params { epochs: 30, ..weak(&[4]) });
    // Every id of the first mode moves up by one, so that one is new; the model is found by ids, not by rows.
    let mut ids: Vec<Vec<u32>> = (0..3).map(|mode| planted.train.indices(mode).to_vec()).collect();
    let mut values = planted.train.values().to_vec();
    ids[0].push(80);
    ids[1].push(0);
    ids[2].push(0);
    values.push(3.0);
    let problem = Problem::builder(Entries::new(ids, values).unwrap()).build().unwrap();
    let params = Params { epochs: 1, rate: Some(1e-6), ..weak(&[4]) };
    let second =
        Training::new(problem.clone(), params.clone()).warm_start(first.model.clone()).run().unwrap();
    let (before, after) = (first.record.summary.train_rmse, second.record.summary.train_rmse);
    assert!((before - after).abs() < 0.01 * before, "{before} became {after}");
    let cold = Training::new(problem, params).run().unwrap().record.summary.train_rmse;
    assert!(after < 0.4 * cold, "{after} from the model, {cold} from scratch");
}

#[test]
fn a_nonnegative_run_stays_so_from_any_start_and_in_any_scheme() {
    let world =
        generate(&WorldParams { users: 400, businesses: 200, ratings: 20_000, ..WorldParams::default() });
    let base = Params { ranks: vec![6], epochs: 6, threads: 4, ..Params::sgd() };
    let signed = Training::new(world.problem().unwrap(), base.clone()).run().unwrap().model;
    for scheme in [Scheme::Blocks, Scheme::LockFree] {
        let params = Params { nonnegative: true, scheme, rate: Some(0.03), ..base.clone() };
        let training = Training::new(world.problem().unwrap(), params).warm_start(signed.clone());
        let model = training.run().unwrap().model;
        let factors = model.factors().iter().chain(model.coupled().iter().map(|matrix| &matrix.factor));
        let least = factors.flat_map(|factor| factor.values()).chain(model.core().values());
        assert!(least.fold(0.0f32, |least, &value| least.min(value)) == 0.0, "{scheme:?}");
    }
}

#[test]
fn many_modes_cost_no_more_than_their_entries() {
    for order in [8, 12] {
        let mut numbers = crate::common::Numbers(order as u64);
        let entries = crate::common::entries(&mut numbers, &vec![300; order], 1000);
        let problem = Problem::builder(entries).build().unwrap();
        let params = Params { ranks: vec![1], epochs: 2, threads: 4, ..Params::sgd() };
        let run = Training::new(problem, params).run().unwrap();
        assert!(run.record.summary.train_rmse.is_finite());
    }
}

#[test]
fn an_epoch_that_makes_matters_worse_is_taken_back() {
    let planted = dense_enough();
    for params in [
        Params { nonnegative: true, rate: Some(5.0), ..Params::sgd() },
        Params { l1: true, rate: Some(5.0), ..Params::sgd() },
    ] {
        let run = fit(&planted, Params { ranks: vec![4], epochs: 8, ..params });
        assert!(run.record.halvings > 0);
        // The start, which predicts the mean, has an RMSE of 0.71.
        assert!(run.record.summary.train_rmse < 1.0, "RMSE {}", run.record.summary.train_rmse);
    }
    // A strong regulariser may make the RMSE grow: that is what it asks for.
    let run = fit(&planted, Params { ranks: vec![4], lambda_reg: 1e4, rate: Some(1e-3), ..Params::sgd() });
    assert_eq!(run.record.halvings, 0);
    assert!(run.record.summary.train_rmse > 1.5);
}

#[test]
fn odd_data_neither_diverges_nor_panics() {
    for (name, entries) in odd_data() {
        for params in [Params::sgd(), Params::paper()] {
            for (core, nonnegative) in
                [(CoreKind::Full, false), (CoreKind::Diagonal, false), (CoreKind::Full, true)]
            {
                // Rank 12 is above the number of rows of some modes.
                let params = Params {
                    ranks: vec![12],
                    core,
                    nonnegative,
                    orthogonal: params.orthogonal && !nonnegative,
                    epochs: 12,
                    threads: 2,
                    ..params.clone()
                };
                let problem = Problem::builder(entries.clone()).build().unwrap();
                let run = Training::new(problem, params).run().unwrap();
                let rmse = run.record.summary.train_rmse;
                let size: f64 = entries.values().iter().map(|&value| f64::from(value).powi(2)).sum();
                let size = (size / entries.len() as f64).sqrt();
                assert!(rmse.is_finite() && rmse <= 2.0 * size.max(1e-3), "{name}: RMSE {rmse}, size {size}");
                assert!(
                    run.model.predict(&entries, false).unwrap().iter().all(|value| value.is_finite()),
                    "{name}"
                );
            }
        }
    }
}
