//! Ranks that find themselves, and interactions that earn their place.

use crate::common::Numbers;
use crate::common::planted::{Planted, planted};
use s3cmtf::internal::world::{WorldParams, generate};
use s3cmtf::{Entries, Params, Problem, Summary, Training};

fn fit(train: &Entries, test: &Entries, params: Params) -> Summary {
    let most = |mode: usize| train.indices(mode).iter().chain(test.indices(mode)).max().unwrap() + 1;
    let sizes = (0..train.order()).map(most).collect();
    let problem = Problem::builder(train.clone()).sizes(sizes).build().unwrap();
    let params = Params { threads: 2, ..params };
    Training::new(problem, params).test(test.clone()).run().unwrap().record.summary
}

fn rank(rank: usize) -> Params {
    Params { ranks: vec![rank], ..Params::default() }
}

#[test]
fn a_rank_that_was_found_is_about_as_good_as_the_best() {
    let Planted { train, test, .. } = planted(&[80, 60, 12], &[3, 3, 2], false, 3.0, 0.5, 8_000, 11);
    let world =
        generate(&WorldParams { users: 500, businesses: 300, ratings: 8_000, ..WorldParams::default() });
    for (train, test) in [(train, test), (world.ratings, world.test)] {
        let of = |params: Params| fit(&train, &test, params).test_rmse.unwrap();
        let best = [3, 6, 12].map(|one| of(rank(one))).into_iter().fold(f64::MAX, f64::min);
        let auto = of(Params::default());
        assert!(auto < 1.01 * best, "{auto}, where the best rank has {best}");
    }
}

/// Values that are offsets and noise, whose size is each user's own.
fn offsets_alone(seed: u64) -> [Entries; 2] {
    let mut numbers = Numbers(seed);
    let (users, scatters, items) = (numbers.list(400), numbers.list(400), numbers.list(250));
    [24_000, 6_000].map(|count| {
        let (mut indices, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
        for _ in 0..count {
            let (user, item) = (numbers.below(400), numbers.below(250));
            let noise = numbers.uniform() + numbers.uniform() + numbers.uniform();
            indices[0].push(user as u32);
            indices[1].push(item as u32);
            values.push(3.0 + users[user] + items[item] + (0.8 * scatters[user]).exp() * noise);
        }
        Entries::new(indices, values).unwrap()
    })
}

#[test]
fn where_there_are_only_offsets_nothing_else_is_found() {
    for seed in 1..4 {
        let [train, test] = offsets_alone(seed);
        let Summary { ranks, test_rmse, offsets_rmse, .. } =
            fit(&train, &test, Params { seed, ..Params::default() });
        // The constant, the offset, and one of no weight.
        assert_eq!(ranks, [3, 3], "seed {seed}");
        let (reached, offsets) = (test_rmse.unwrap(), offsets_rmse.unwrap());
        assert!(reached < 1.001 * offsets, "seed {seed}: {reached}, where offsets have {offsets}");
    }
}

#[test]
fn strong_interactions_of_thin_rows_are_found_from_every_seed() {
    // Eight entries of each user.
    let Planted { train, test, .. } = planted(&[300, 200], &[2, 2], false, 3.0, 0.3, 3_000, 5);
    for seed in 1..6 {
        let Summary { test_rmse, offsets_rmse, .. } =
            fit(&train, &test, Params { seed, ..Params::default() });
        let (reached, offsets) = (test_rmse.unwrap(), offsets_rmse.unwrap());
        assert!(reached < 0.5 * offsets, "seed {seed}: {reached}, where offsets have {offsets}");
    }
}

#[test]
fn two_concepts_are_offsets_and_an_interaction() {
    let Planted { train, test, .. } = planted(&[80, 60], &[1, 1], false, 3.0, 0.3, 3_000, 3);
    let Summary { test_rmse, offsets_rmse, .. } = fit(&train, &test, rank(2));
    let (reached, offsets) = (test_rmse.unwrap(), offsets_rmse.unwrap());
    assert!(reached < 0.8 * offsets, "{reached}, where offsets have {offsets}");
}
