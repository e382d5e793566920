//! What the default algorithm reaches, promises and survives.

use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::odd::odd_data;
use crate::common::planted::{Planted, planted};
use s3cmtf::internal::world::{World, WorldParams, generate};
use s3cmtf::{Absent, Coupled, Entries, Epoch, Likelihood, Params, Problem, Run, Stop, Training};

fn fit(problem: Problem, test: &Entries, params: Params) -> Run {
    Training::new(problem, params).test(test.clone()).run().unwrap()
}

fn rmse(problem: Problem, test: &Entries, params: Params) -> f64 {
    fit(problem, test, params).record.summary.test_rmse.unwrap()
}

fn alone(planted: &Planted) -> Problem {
    Problem::builder(planted.train.clone()).build().unwrap()
}

fn rank(rank: usize) -> Params {
    Params { ranks: vec![rank], threads: 2, ..Params::default() }
}

#[test]
fn planted_models_are_recovered_down_to_their_noise() {
    // Two concepts more than planted: the constant and the offset.
    for (sizes, ranks, count) in [
        (vec![80, 60], vec![3, 3], 3_000),
        (vec![80, 60, 12], vec![3, 3, 2], 20_000),
        (vec![20, 15, 12, 6], vec![2, 2, 2, 2], 10_000),
    ] {
        for noise in [0.1, 0.5] {
            let planted = planted(&sizes, &ranks, false, 3.0, noise, count, 3);
            let ranks: Vec<usize> = ranks.iter().map(|rank| rank + 2).collect();
            let reached = rmse(alone(&planted), &planted.test, Params { ranks, ..rank(2) });
            assert!(
                reached < 1.18 * planted.noise,
                "order {}, noise {noise}: test RMSE {reached}",
                sizes.len()
            );
        }
    }
}

#[test]
fn a_rank_far_too_high_does_little_harm() {
    let planted = planted(&[80, 60, 12], &[3, 3, 2], false, 3.0, 0.5, 8_000, 11);
    let (right, high) =
        (rmse(alone(&planted), &planted.test, rank(5)), rmse(alone(&planted), &planted.test, rank(12)));
    assert!(high < 1.05 * right, "{high} at rank 12, {right} at rank 5");
}

#[test]
fn a_tolerance_ends_a_run_that_would_change_little() {
    let planted = planted(&[80, 60, 12], &[3, 3, 2], false, 3.0, 0.5, 20_000, 3);
    let whole =
        fit(alone(&planted), &planted.test, Params { tolerance: Some(0.0), ..rank(5) }).record.summary;
    let ended = fit(alone(&planted), &planted.test, rank(5)).record.summary;
    assert_eq!((whole.stop, whole.epochs), (Stop::Epochs, 120));
    assert!(ended.stop == Stop::Tolerance && ended.epochs <= 90, "{ended:?}");
    let [ended, whole] = [ended, whole].map(|summary| summary.test_rmse.unwrap());
    assert!(ended < 1.003 * whole, "{ended} with a tolerance, {whole} without");
    // Where nothing is watched, it would have no effect, and there is none.
    let params = Params { tolerance: Some(0.001), likelihood: Likelihood::Counts, ..rank(5) };
    let error = Training::new(alone(&planted), params).run().unwrap_err().to_string();
    assert!(error.contains("tolerance should be 0 unless the likelihood of bayes is gaussian"), "{error}");
}

#[test]
fn threads_do_not_change_a_bit_and_seeds_change_little() {
    let world =
        generate(&WorldParams { users: 300, businesses: 200, ratings: 12_000, ..WorldParams::default() });
    let run = |ranks: &[usize], threads: usize, seed: u64, epochs: usize| {
        let params = Params { ranks: ranks.to_vec(), threads, seed, epochs, ..Params::default() };
        fit(world.problem().unwrap(), &world.test, params)
    };
    let one = run(&[5, 6, 3], 1, 7, 6).model;
    for threads in [2, 3, 5] {
        assert_eq!(one, run(&[5, 6, 3], threads, 7, 6).model, "1 and {threads} threads");
    }
    assert_ne!(one, run(&[5, 6, 3], 1, 8, 6).model, "another seed is another model");
    let reached: Vec<f64> =
        (1..4).map(|seed| run(&[10], 2, seed, 100).record.summary.test_rmse.unwrap()).collect();
    let (least, most) = reached.iter().fold((f64::MAX, 0.0f64), |(l, m), &r| (l.min(r), m.max(r)));
    assert!(most - least < 0.01 * least, "{reached:?}");
}

#[test]
fn standard_deviations_say_how_far_values_lie_from_predictions() {
    for ratings in [4_000, 30_000] {
        let world = generate(&WorldParams { users: 600, businesses: 400, ratings, ..WorldParams::default() });
        let model = fit(world.problem().unwrap(), &world.test, rank(8)).model;
        let (values, stds) = (model.predict(&world.test, false).unwrap(), model.std(&world.test).unwrap());
        let errors: Vec<f64> =
            values.iter().zip(world.test.values()).map(|(a, b)| f64::from(a - b).abs()).collect();
        // A normal distribution has 68 % within one standard deviation and 95 % within two.
        let within = |times: f64| {
            let inside = errors.iter().zip(&stds).filter(|(error, std)| **error < times * f64::from(**std));
            inside.count() as f64 / errors.len() as f64
        };
        let (one, two) = (within(1.0), within(2.0));
        assert!((0.62..0.76).contains(&one) && (0.92..0.98).contains(&two), "{ratings}: {one}, {two}");
        // Where they are large, so are errors.
        let mut places: Vec<usize> = (0..stds.len()).collect();
        places.sort_by(|&a, &b| stds[a].total_cmp(&stds[b]));
        let rms = |places: &[usize]| {
            (places.iter().map(|&place| errors[place].powi(2)).sum::<f64>() / places.len() as f64).sqrt()
        };
        let quarter = places.len() / 4;
        let (small, large) = (rms(&places[..quarter]), rms(&places[3 * quarter..]));
        assert!(large > 1.1 * small, "{ratings}: {small} where they are small, {large} where large");
    }
}

/// The entries of a test set whose business has at most `most` training entries.
fn thin(world: &World, most: u32) -> Entries {
    let mut counts = vec![0u32; world.business_names.len()];
    world.ratings.indices(1).iter().for_each(|&business| counts[business as usize] += 1);
    let places: Vec<usize> = (0..world.test.len())
        .filter(|&entry| counts[world.test.indices(1)[entry] as usize] <= most)
        .collect();
    let pick = |mode: usize| places.iter().map(|&entry| world.test.indices(mode)[entry]).collect();
    let values = places.iter().map(|&entry| world.test.values()[entry]).collect();
    Entries::new(vec![pick(0), pick(1), pick(2)], values).unwrap()
}

#[test]
fn coupled_rows_tell_of_entities_with_few_entries() {
    let world =
        generate(&WorldParams { users: 600, businesses: 900, ratings: 8_000, ..WorldParams::default() });
    let test = thin(&world, 3);
    assert!(test.len() > 100, "{}", test.len());
    let plain = Problem::builder(world.ratings.clone()).sizes(vec![600, 900, 24]).build().unwrap();
    let with = rmse(world.problem().unwrap(), &test, rank(8));
    let without = rmse(plain, &test, rank(8));
    assert!(with < 0.9 * without, "{with} with the matrices, {without} without");
}

/// A world to which matrices of no use are coupled, and the RMSE without any.
static HARMED: LazyLock<(World, f64)> = LazyLock::new(|| {
    let world =
        generate(&WorldParams { users: 600, businesses: 400, ratings: 12_000, ..WorldParams::default() });
    let plain = Problem::builder(world.ratings.clone()).sizes(vec![600, 400, 24]).build();
    let reached = rmse(plain.expect("the world is a problem"), &world.test, rank(8));
    (world, reached)
});

#[test]
fn matrices_of_noise_do_no_harm() {
    let (world, plain) = &*HARMED;
    let problem = |kind: Absent| {
        let builder = Problem::builder(world.ratings.clone()).sizes(vec![600, 400, 24]);
        let mut numbers = crate::common::Numbers(5);
        let columns = if kind == Absent::Graph { 400 } else { 20 };
        let ids: Vec<u32> = (0..6_000).map(|_| numbers.below(400) as u32).collect();
        let others: Vec<u32> = (0..6_000).map(|_| numbers.below(columns) as u32).collect();
        let values = (0..6_000).map(|_| numbers.uniform().abs()).collect();
        let entries = Entries::new(vec![ids, others], values).unwrap();
        builder.couple(Coupled::new(1, kind, entries).unwrap()).build().unwrap()
    };
    for kind in [Absent::Missing, Absent::Zeros, Absent::Graph] {
        let coupled = rmse(problem(kind), &world.test, rank(8));
        assert!(coupled < 1.01 * plain, "{}: {coupled} and not {plain}", kind.name());
    }
}

/// Mean, and offsets of two modes, by ridge regressions of these strengths.
fn offsets(train: &Entries, test: &Entries, ridge: [f64; 2]) -> f64 {
    let mean = train.mean();
    let size = |mode: usize| {
        train.indices(mode).iter().chain(test.indices(mode)).max().map_or(0, |&id| id as usize + 1)
    };
    let mut offsets = [vec![0.0; size(0)], vec![0.0; size(1)]];
    for _ in 0..10 {
        for mode in [0, 1] {
            let (mut sums, mut counts) = (vec![0.0; size(mode)], vec![ridge[mode]; size(mode)]);
            for (entry, &value) in train.values().iter().enumerate() {
                let other = offsets[1 - mode][train.indices(1 - mode)[entry] as usize];
                let id = train.indices(mode)[entry] as usize;
                sums[id] += f64::from(value) - mean - other;
                counts[id] += 1.0;
            }
            offsets[mode] = sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
        }
    }
    let error = |(entry, &value): (usize, &f32)| {
        let of = |mode: usize| offsets[mode][test.indices(mode)[entry] as usize];
        (f64::from(value) - mean - of(0) - of(1)).powi(2)
    };
    (test.values().iter().enumerate().map(error).sum::<f64>() / test.len() as f64).sqrt()
}

/// Users of one or two ratings, most of which are the best that there is.
fn thin_and_skewed(seed: u64) -> (Entries, Entries) {
    let mut numbers = crate::common::Numbers(seed);
    let mut gauss = || numbers.uniform() + numbers.uniform() + numbers.uniform();
    let users: Vec<f32> = (0..6_000).map(|_| 0.6 * gauss()).collect();
    let items: Vec<f32> = (0..300).map(|_| 0.5 * gauss()).collect();
    let noise: Vec<f32> = (0..14_000).map(|_| gauss()).collect();
    let mut numbers = crate::common::Numbers(seed + 1);
    let mut seen = std::collections::HashSet::new();
    let mut rows: Vec<(u32, u32, f32)> = Vec::new();
    for noise in noise {
        let pair = (numbers.below(6_000) as u32, numbers.below(300) as u32);
        if seen.insert(pair) {
            let liking = users[pair.0 as usize] + items[pair.1 as usize] + noise;
            let value = match liking {
                liking if liking > -0.35 => 10.0,
                liking if liking > -1.5 => 8.0,
                liking if liking > -2.3 => 6.0,
                _ => 4.0,
            };
            rows.push((pair.0, pair.1, value));
        }
    }
    let entries = |rows: &[(u32, u32, f32)]| {
        let indices = vec![rows.iter().map(|row| row.0).collect(), rows.iter().map(|row| row.1).collect()];
        Entries::new(indices, rows.iter().map(|row| row.2).collect()).unwrap()
    };
    let (test, train) = rows.split_at(rows.len() / 5);
    (entries(train), entries(test))
}

#[test]
fn thin_and_skewed_ratings_are_predicted_no_worse_than_by_offsets() {
    for seed in 1..4 {
        let (train, test) = thin_and_skewed(seed);
        let problem = Problem::builder(train.clone()).sizes(vec![6_000, 300]).build().unwrap();
        let run = fit(problem, &test, Params { seed, ..rank(10) });
        let reached = run.record.summary.test_rmse.unwrap();
        let tried = [2.0, 4.0, 8.0].into_iter().flat_map(|a| [3.0, 6.0, 12.0].map(|b| [a, b]));
        // The best of them on the test set itself.
        let best = tried.map(|ridge| offsets(&train, &test, ridge)).fold(f64::MAX, f64::min);
        assert!(reached < 1.004 * best, "seed {seed}: {reached}, offsets {best}");
        let predictions = run.model.predict(&test, true).unwrap();
        let bias = predictions.iter().map(|&value| f64::from(value)).sum::<f64>() / test.len() as f64;
        // Half a percent of the range, and three standard errors of the mean of so few.
        let room = 0.005 * 6.0 + 3.0 * (test.variance() / test.len() as f64).sqrt();
        assert!((bias - test.mean()).abs() < room, "seed {seed}: {bias}, not {}", test.mean());
    }
}

/// One of `columns` for each of `rows`, a few of them often and most of them rarely.
fn one_hot(rows: u32, columns: u32, seed: u64) -> Entries {
    let mut numbers = crate::common::Numbers(seed);
    let column = |numbers: &mut crate::common::Numbers| {
        let place = numbers.below(1_000_000) as f64 / 1e6;
        (f64::from(columns).powf(place) - 1.0) as u32
    };
    let of: Vec<u32> = (0..rows).map(|_| column(&mut numbers)).collect();
    Entries::new(vec![(0..rows).collect(), of], vec![1.0; rows as usize]).unwrap()
}

#[test]
fn side_data_of_many_cells_that_have_nothing_to_do_with_the_tensor_do_no_harm() {
    let (world, plain) = &*HARMED;
    for mode in [0, 1] {
        let builder = Problem::builder(world.ratings.clone()).sizes(vec![600, 400, 24]);
        // 72,000 or 120,000 cells beside 9,600 entries.
        let brands = one_hot([600, 400][mode], [120, 300][mode], 3);
        let problem = builder.couple(Coupled::new(mode, Absent::Zeros, brands).unwrap()).build().unwrap();
        let coupled = rmse(problem, &world.test, rank(8));
        assert!(coupled < 1.01 * plain, "mode {mode}: {coupled} and not {plain}");
    }
}

#[test]
fn side_data_that_tell_offsets_are_used_where_there_are_few_entries() {
    let mut numbers = crate::common::Numbers(8);
    let brands = one_hot(2_000, 40, 4);
    let of_brand: Vec<f32> = (0..40).map(|_| 0.8 * numbers.uniform()).collect();
    let mut draw = |count: usize| {
        let (mut users, mut items, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let (user, item) = (numbers.below(500) as u32, numbers.below(2_000) as u32);
            let noise = 0.5 * (numbers.uniform() + numbers.uniform() + numbers.uniform());
            users.push(user);
            items.push(item);
            values.push(3.0 + of_brand[brands.indices(1)[item as usize] as usize] + noise);
        }
        Entries::new(vec![users, items], values).unwrap()
    };
    let (train, test) = (draw(5_000), draw(2_000));
    let problem = |coupled: bool| {
        let builder = Problem::builder(train.clone()).sizes(vec![500, 2_000]);
        let matrix = Coupled::new(1, Absent::Zeros, brands.clone()).unwrap();
        if coupled { builder.couple(matrix) } else { builder }.build().unwrap()
    };
    let without = rmse(problem(false), &test, rank(4));
    let run = fit(problem(true), &test, rank(4));
    let with = run.record.summary.test_rmse.unwrap();
    assert!(with < 0.9 * without && with < 0.54, "{with} with brands, {without} without");
    let effects = run.model.coupled()[0].effects.as_ref().unwrap();
    assert!(effects.explained > 0.2, "{}", effects.explained);
}

#[test]
fn rows_and_columns_explain_a_matrix_with_a_weight() {
    let world =
        generate(&WorldParams { users: 300, businesses: 200, ratings: 8_000, ..WorldParams::default() });
    for kind in [Absent::Zeros, Absent::Missing] {
        // Every cell is there, so that both kinds are the same matrix.
        let mut cells = vec![0.0f32; 200 * 6];
        for entry in 0..world.cities.len() {
            let (row, column) = (world.cities.indices(0)[entry], world.cities.indices(1)[entry]);
            cells[(row * 6 + column % 6) as usize] = 1.0;
        }
        let ids = |of: &dyn Fn(u32) -> u32| (0..1200).map(of).collect::<Vec<u32>>();
        let entries =
            Entries::new(vec![ids(&|cell| cell / 6), ids(&|cell| cell % 6)], cells.clone()).unwrap();
        let problem = Problem::builder(world.ratings.clone())
            .sizes(vec![300, 200, 24])
            .couple(Coupled::new(1, kind, entries).unwrap().weighted(20.0))
            .build()
            .unwrap();
        let model = fit(problem, &world.test, rank(10)).model;
        let columns = &model.coupled()[0].factor;
        let error = |cell: usize| -> f64 {
            let (u, v) = (model.factors()[1].row(cell / 6), columns.row(cell % 6));
            let product: f64 = u.iter().zip(v).map(|(&u, &v)| f64::from(u) * f64::from(v)).sum();
            (product - f64::from(cells[cell])).powi(2)
        };
        let mean = cells.iter().sum::<f32>() / 1200.0;
        let spread: f64 = cells.iter().map(|&value| f64::from(value - mean).powi(2)).sum();
        let left: f64 = (0..1200).map(error).sum();
        assert!(left < 0.3 * spread, "{}: {left} of {spread}", kind.name());
    }
}

#[test]
fn other_units_give_the_same_model_in_other_units() {
    let planted = planted(&[80, 60, 12], &[3, 3, 2], false, 3.0, 0.3, 8_000, 4);
    let in_units = |entries: &Entries| {
        let indices = (0..3).map(|mode| entries.indices(mode).to_vec()).collect();
        Entries::new(indices, entries.values().iter().map(|value| 250.0 * value - 4000.0).collect()).unwrap()
    };
    let params = Params { epochs: 20, ..rank(5) };
    let plain = fit(alone(&planted), &planted.test, params.clone());
    let problem = Problem::builder(in_units(&planted.train)).build().unwrap();
    let other = fit(problem, &in_units(&planted.test), params);
    let predictions = plain.model.predict(&planted.test, false).unwrap();
    let others = other.model.predict(&planted.test, false).unwrap();
    for (prediction, other) in predictions.iter().zip(others) {
        assert!((250.0 * prediction - 4000.0 - other).abs() < 10.0, "{prediction} and {other}");
    }
}

#[test]
fn odd_data_neither_diverges_nor_panics() {
    for (name, entries) in odd_data() {
        // Rank 12 is above the number of rows of some modes.
        let problem = Problem::builder(entries.clone()).build().unwrap();
        let run = Training::new(problem, Params { epochs: 12, ..rank(12) }).run().unwrap();
        let rmse = run.record.summary.train_rmse;
        let mean = entries.mean();
        let spread: f64 = entries.values().iter().map(|&value| (f64::from(value) - mean).powi(2)).sum();
        let spread = (spread / entries.len() as f64).sqrt();
        assert!(rmse <= 1.05 * spread + 1e-5 * mean.abs() + 1e-25, "{name}: RMSE {rmse}, spread {spread}");
        assert!(run.model.predict(&entries, false).unwrap().iter().all(|value| value.is_finite()), "{name}");
    }
}

#[test]
fn the_rmse_that_is_told_is_that_of_the_model() {
    let world =
        generate(&WorldParams { users: 300, businesses: 200, ratings: 8_000, ..WorldParams::default() });
    for epochs in [1, 2, 9] {
        for orthogonal in [false, true] {
            let params = Params { epochs, orthogonal, ..rank(6) };
            let run = fit(world.problem().unwrap(), &world.test, params);
            let end = &run.record.summary;
            assert_eq!((end.stop, end.epochs, end.best_epoch), (Stop::Epochs, epochs, epochs));
            assert_eq!(end.test_rmse, run.record.history[epochs - 1].test_rmse);
            for (entries, told) in [(&world.test, end.test_rmse.unwrap()), (&world.ratings, end.train_rmse)] {
                let evaluated = run.model.evaluate(entries, false).unwrap().rmse;
                assert!((evaluated - told).abs() < 1e-4, "{evaluated} and not {told}");
            }
        }
    }
}

#[test]
fn an_interrupt_keeps_the_model_so_far() {
    let world =
        generate(&WorldParams { users: 300, businesses: 200, ratings: 8_000, ..WorldParams::default() });
    let flag = AtomicBool::new(false);
    let training = Training::new(world.problem().unwrap(), Params { epochs: usize::MAX, ..rank(6) });
    let observe = |epoch: &Epoch| {
        flag.store(epoch.epoch == 5, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let run = training.interrupt(&flag).observe(observe).run().unwrap();
    assert_eq!((run.record.summary.stop, run.record.summary.epochs), (Stop::Interrupted, 5));
    let evaluated = run.model.evaluate(&world.ratings, false).unwrap().rmse;
    assert!((evaluated - run.record.summary.train_rmse).abs() < 1e-4);
}

#[test]
fn an_interrupt_in_the_first_epoch_that_counts_keeps_the_draw() {
    let world = generate(&WorldParams { users: 60, businesses: 40, ratings: 900, ..WorldParams::default() });
    let training = Training::new(world.problem().unwrap(), Params { epochs: 1, ..rank(3) });
    let run = training.interrupt(&AtomicBool::new(true)).run().unwrap();
    assert_eq!((run.record.summary.stop, run.record.summary.epochs), (Stop::Interrupted, 0));
    let evaluated = run.model.evaluate(&world.ratings, false).unwrap().rmse;
    assert!((evaluated - run.record.summary.train_rmse).abs() < 1e-4, "{evaluated}");
}

#[test]
fn a_run_goes_on_where_another_was() {
    let planted = planted(&[80, 60, 12], &[3, 3, 2], false, 3.0, 0.2, 20_000, 9);
    let first = fit(alone(&planted), &planted.test, Params { epochs: 40, ..rank(5) });
    let training = Training::new(alone(&planted), Params { epochs: 3, ..rank(5) }).test(planted.test.clone());
    let second = training.warm_start(first.model.clone()).run().unwrap();
    let reached = second.record.summary.test_rmse.unwrap();
    assert!(reached < 1.5 * planted.noise, "{reached}");
    let cold = rmse(alone(&planted), &planted.test, Params { epochs: 3, ..rank(5) });
    assert!(reached < 0.8 * cold, "{reached} from a model, {cold} from nothing");
}

#[test]
fn what_hardly_scatters_is_found_to_where_it_scatters() {
    for (noise, seed) in [(0.0, 1), (0.0, 2), (0.01, 3)] {
        let planted = planted(&[60, 50, 20], &[3, 3, 3], false, 2.0, noise, 10_000, seed);
        let spread = planted.test.variance().sqrt();
        // One of the concepts is the constant, one the offset.
        for ranks in [5, 8] {
            let reached = rmse(alone(&planted), &planted.test, Params { seed, ..rank(ranks) });
            let least = f64::max(planted.noise, 1e-3 * spread);
            assert!(
                reached < 1.1 * least,
                "rank {ranks}, seed {seed}: {reached}, noise {noise}, spread {spread}"
            );
        }
    }
}

#[test]
fn data_without_noise_and_fewer_entries_than_numbers_come_to_a_model() {
    // Tastes of two kinds, each value exact to a half: 2000 entries, and a core of 1000 numbers with rows of ten.
    let count = 2000u32;
    let user = |i: u32| i.wrapping_mul(2_654_435_761) >> 16 & 63;
    let item = |i: u32| (i.wrapping_mul(2_246_822_519) >> 15) % 80;
    let time = |i: u32| i % 5;
    let value = |i: u32| {
        let (user, item) = (user(i), item(i));
        let taste = if user % 2 == item % 2 { 1.5 } else { -0.5 };
        ((3.0 + taste + 0.1 * f64::from(time(i)) + 0.02 * f64::from(item % 7)) * 2.0).round() as f32 / 2.0
    };
    let indices =
        vec![(0..count).map(user).collect(), (0..count).map(item).collect(), (0..count).map(time).collect()];
    let entries = Entries::new(indices, (0..count).map(value).collect()).unwrap();
    let problem = Problem::builder(entries).build().unwrap();
    for seed in 0..8 {
        let params = Params { seed, ..Params::default() };
        let run = Training::new(problem.clone(), params).run().unwrap();
        let rmse = run.record.summary.train_rmse;
        assert!(rmse < 0.02, "{seed}: {rmse}");
    }
}

/// Ratings of which most are the highest one and a few far lower, of users with two to eight: training and test entries.
fn skewed() -> [Entries; 2] {
    let mut state = 7u64;
    let mut even = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let items: Vec<f64> = (0..300).map(|_| even() + even() + even() - 1.5).collect();
    let mut sets = [(); 2].map(|()| (vec![Vec::new(), Vec::new()], Vec::new()));
    for user in 0..4000 {
        for _ in 0..2 + (7.0 * even()) as usize {
            let item = (300.0 * even() * even()) as usize;
            let disappointed = if even() < 0.1 { 6.0 * even() } else { 0.0 };
            let liked =
                2.5 + 0.6 * items[item] + 1.2 * (even() + even() + even() + even() - 2.0) - disappointed;
            let stars = 2.0 * (liked.ceil() + 2.0).clamp(1.0, 5.0);
            let (ids, values) = &mut sets[usize::from(even() < 0.2)];
            ids[0].push(user);
            ids[1].push(item as u32);
            values.push(stars as f32);
        }
    }
    sets.map(|(ids, values)| Entries::new(ids, values).unwrap())
}

#[test]
fn predictions_and_their_scatter_hold_where_most_values_are_the_highest() {
    let [train, test] = skewed();
    let problem = Problem::builder(train).sizes(vec![4000, 300]).build().unwrap();
    let run = fit(problem, &test, Params { threads: 2, ..Params::default() });
    let model = run.model;
    let errors = model.evaluate(&test, true).unwrap();
    assert!(model.clips() && (errors.rmse - run.record.summary.test_rmse.unwrap()).abs() < 1e-6);
    // What their variance alone says is too wide for most, and no number is right for one and for two.
    let miss = |errors: &s3cmtf::Errors| {
        let (one, two) = (errors.within_std.unwrap(), errors.within_two_std.unwrap());
        (one - 0.683).abs().max((two - 0.954).abs())
    };
    let plain = s3cmtf::Uncertainty { scale: None, ..model.uncertainty().unwrap().clone() };
    let plain = model.with_uncertainty(plain).unwrap().evaluate(&test, true).unwrap();
    assert!(miss(&plain) > 0.15 && miss(&errors) < 0.6 * miss(&plain), "{errors:?} {plain:?}");
}
