//! Draws with a diagonal core: what they reach, promise and refuse.

use crate::common::Numbers;
use s3cmtf::{Core, CoreKind, Entries, FoldIn, Params, Problem, Run, Training};

/// A CP tensor: a mean, offsets and interactions of like concepts, of which a part is observed, with noise.
struct Cp {
    sizes: Vec<u32>,
    train: Entries,
    test: Entries,
    noise: f64,
}

fn cp(sizes: &[u32], interactions: usize, noise: f32, count: usize, seed: u64) -> Cp {
    let mut numbers = Numbers(seed);
    let offsets: Vec<Vec<f32>> = sizes.iter().map(|&size| numbers.list(size as usize)).collect();
    let factors: Vec<Vec<f32>> =
        sizes.iter().map(|&size| numbers.list(size as usize * interactions)).collect();
    // The numbers of a list have a variance of a third.
    let weight = 3f32.sqrt().powi(sizes.len() as i32);
    let truth = |ids: &[u32]| {
        let own = |mode: usize| offsets[mode][ids[mode] as usize];
        let like = |k: usize| -> f32 {
            (0..ids.len()).map(|mode| factors[mode][ids[mode] as usize * interactions + k]).product()
        };
        3.0 + (0..ids.len()).map(own).sum::<f32>() + weight * (0..interactions).map(like).sum::<f32>()
    };
    let mut seen = std::collections::HashSet::new();
    let mut draw = |count: usize| {
        let (mut indices, mut values) = (vec![Vec::new(); sizes.len()], Vec::new());
        while values.len() < count {
            let ids: Vec<u32> = sizes.iter().map(|&size| numbers.below(size as usize) as u32).collect();
            if seen.insert(ids.clone()) {
                // Three uniform numbers have unit variance, and are near enough to normal.
                let gauss = numbers.uniform() + numbers.uniform() + numbers.uniform();
                values.push(truth(&ids) + noise * gauss);
                ids.iter().zip(&mut indices).for_each(|(&id, list)| list.push(id));
            }
        }
        Entries::new(indices, values).unwrap()
    };
    Cp { sizes: sizes.to_vec(), train: draw(count), test: draw(count / 5), noise: f64::from(noise) }
}

impl Cp {
    /// Three modes of which 30 % are observed.
    fn of_three(seed: u64) -> Cp {
        cp(&[60, 50, 20], 3, 0.5, 18_000, seed)
    }

    fn fit(&self, params: Params) -> Run {
        let problem = Problem::builder(self.train.clone()).sizes(self.sizes.clone()).build().unwrap();
        let params = Params { core: CoreKind::Diagonal, ..params };
        Training::new(problem, params).test(self.test.clone()).run().unwrap()
    }

    fn rmse(&self, params: Params) -> f64 {
        self.fit(params).record.summary.test_rmse.unwrap()
    }
}

fn rank(rank: usize) -> Params {
    Params { ranks: vec![rank], threads: 2, ..Params::default() }
}

#[test]
fn a_cp_tensor_is_found_down_to_its_noise() {
    for (world, rank_of_it) in [
        (Cp::of_three(1), 7),
        (cp(&[80, 60], 3, 0.5, 3_000, 4), 6),
        (cp(&[30, 20, 15, 8], 3, 0.5, 10_000, 5), 8),
    ] {
        let (order, noise) = (world.sizes.len(), world.noise);
        let found = world.fit(rank(rank_of_it));
        assert_eq!(found.record.summary.ranks, vec![rank_of_it; order]);
        let Core::Diagonal(values) = found.model.core() else { panic!("{:?}", found.model.core()) };
        assert_eq!(values.len(), rank_of_it);
        let reached = found.record.summary.test_rmse.unwrap();
        let offsets = found.record.summary.offsets_rmse.unwrap();
        assert!(
            reached < 1.2 * noise && reached < 0.6 * offsets,
            "order {order}: {reached}, offsets {offsets}"
        );
        // Concepts that are of no use go, and those that are stay.
        let auto = world.fit(Params { threads: 2, ..Params::default() }).record.summary;
        let near = rank_of_it..rank_of_it + 5;
        assert!(
            near.contains(&auto.ranks[0]) && auto.ranks == vec![auto.ranks[0]; order],
            "{:?}",
            auto.ranks
        );
        assert!(
            auto.test_rmse.unwrap() < 1.03 * reached,
            "order {order}: {:?}, not {reached}",
            auto.test_rmse
        );
        let errors = found.model.evaluate(&world.test, false).unwrap();
        assert!((errors.rmse - reached).abs() < 1e-4 * reached);
        let within = errors.within_std.unwrap();
        assert!((0.63..0.73).contains(&within), "order {order}: {within} within a standard deviation");
    }
}

#[test]
fn draws_are_better_than_one_model_of_least_error() {
    let world = Cp::of_three(2);
    let of = |params: Params| world.rmse(Params { ranks: vec![7], threads: 2, ..params });
    let (bayes, als, sgd) = (of(Params::default()), of(Params::als()), of(Params::sgd()));
    assert!(bayes < als && bayes < sgd, "{bayes}, where als has {als} and sgd {sgd}");
}

#[test]
fn where_there_are_only_offsets_nothing_else_is_found() {
    for sizes in [vec![300, 200, 12], vec![400, 250]] {
        let summary =
            cp(&sizes, 0, 0.5, 12_000, 3).fit(Params { threads: 2, ..Params::default() }).record.summary;
        // The mean, the offsets, and one of no weight.
        assert_eq!(summary.ranks, vec![sizes.len() + 2; sizes.len()]);
        let (reached, offsets) = (summary.test_rmse.unwrap(), summary.offsets_rmse.unwrap());
        assert!(reached < 1.002 * offsets, "{reached}, where offsets have {offsets}");
    }
}

#[test]
fn columns_are_the_mean_offsets_and_interactions() {
    let model = Cp::of_three(1).fit(Params { epochs: 20, ..rank(6) }).model;
    let known = model.uncertainty().unwrap();
    for (mode, factor) in model.factors().iter().enumerate() {
        for column in 0..6 {
            let of = |factor: &s3cmtf::Factor| -> Vec<f32> {
                factor.values().iter().skip(column).step_by(6).copied().collect()
            };
            let is_constant = column < 4 && column != 1 + mode;
            assert_eq!(
                of(factor).iter().all(|&value| value == 1.0),
                is_constant,
                "mode {mode}, column {column}"
            );
            assert_eq!(of(&known.variances[mode]).iter().all(|&value| value == 0.0), is_constant);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let world = Cp::of_three(3);
    for ranks in [vec![6], Vec::new()] {
        let run = |threads: usize| {
            world.fit(Params { ranks: ranks.clone(), threads, epochs: 44, ..Params::default() }).model
        };
        assert_eq!(run(1), run(2), "{ranks:?}");
    }
}

#[test]
fn a_row_that_comes_later_is_found_by_its_entries() {
    let world = Cp::of_three(4);
    // The last five rows of the first mode come later.
    let split = |entries: &Entries, late: bool| {
        let places: Vec<usize> =
            (0..entries.len()).filter(|&place| (entries.indices(0)[place] >= 55) == late).collect();
        let indices = (0..3).map(|mode| places.iter().map(|&place| entries.indices(mode)[place]).collect());
        let values = places.iter().map(|&place| entries.values()[place]).collect();
        Entries::new(indices.collect(), values).unwrap()
    };
    let sizes = vec![60, 50, 20];
    let problem = Problem::builder(split(&world.train, false)).sizes(sizes).build().unwrap();
    let params = Params { core: CoreKind::Diagonal, ..rank(7) };
    let model = Training::new(problem, params.clone()).run().unwrap().model;
    let later = FoldIn::new(&model, &params).entries(split(&world.train, true)).fold_in().unwrap();
    assert_eq!(later.added, [5, 0, 0]);
    let (held, noise) = (split(&world.test, true), world.noise);
    let errors = later.model.evaluate(&held, false).unwrap();
    let before = model.evaluate(&held, false).unwrap();
    assert!(errors.rmse < 1.15 * noise && errors.rmse < 0.6 * before.rmse, "{errors:?}, before {before:?}");
    assert!((0.6..0.76).contains(&errors.within_std.unwrap()), "{errors:?}");
    // The constants stay so, of rows that are known, too.
    let updated = FoldIn::new(&later.model, &params).entries(held).update().unwrap();
    for model in [&later.model, &updated.model] {
        let row = model.factors()[0].row(57);
        assert_eq!([row[0], row[2], row[3]], [1.0; 3]);
        assert_eq!(model.uncertainty().unwrap().variances[0].row(57)[3], 0.0);
    }
    assert_ne!(updated.model.factors()[0].row(57), later.model.factors()[0].row(57));
}

#[test]
fn a_run_goes_on_from_a_model() {
    let world = Cp::of_three(5);
    let first = world.fit(rank(7));
    let problem = Problem::builder(world.train.clone()).sizes(world.sizes.clone()).build().unwrap();
    let go_on = |params: Params, model: &s3cmtf::Model| {
        let params = Params { core: CoreKind::Diagonal, epochs: 4, ..params };
        let training = Training::new(problem.clone(), params).test(world.test.clone());
        training.warm_start(model.clone()).run().map(|run| run.record.summary)
    };
    let known = first.record.summary.test_rmse.unwrap();
    for params in [rank(7), Params { threads: 2, ..Params::default() }] {
        let next = go_on(params, &first.model).unwrap();
        assert_eq!(next.ranks, [7, 7, 7]);
        assert!(next.test_rmse.unwrap() < 1.1 * known, "{:?}, and before {known}", next.test_rmse);
    }
    let fresh = world.rmse(Params { epochs: 4, ..rank(7) });
    assert!(fresh > 1.1 * known, "four epochs are enough: {fresh}, {known}");
    // A model of another algorithm, also of fewer columns than draws have.
    for columns in [2, 7] {
        let als = world.fit(Params { ranks: vec![columns], epochs: 2, ..Params::als() }).model;
        let error = go_on(Params { threads: 2, ..Params::default() }, &als).unwrap_err().to_string();
        assert!(error.contains("as in the model to start from"), "{error}");
    }
}

#[test]
fn ranks_that_leave_no_interaction_are_refused() {
    let world = cp(&[8, 7, 6], 1, 0.5, 150, 6);
    let problem = Problem::builder(world.train).build().unwrap();
    let check = |ranks: Vec<usize>, params: Params| {
        let params = Params { ranks, core: CoreKind::Diagonal, ..params };
        params.check(&problem).map_err(|error| error.to_string())
    };
    for wrong in [2, 3, 4, 409] {
        let error = check(vec![wrong], Params::default()).unwrap_err();
        assert!(
            error.starts_with("rank should be auto, or from 5 to 408, for a diagonal core of 3 modes"),
            "{error}"
        );
        assert!(error.ends_with(&format!("(als and sgd take any rank), but is {wrong}")), "{error}");
        assert_eq!(check(vec![wrong], Params::als()), Ok(()));
        assert_eq!(check(vec![wrong], Params::sgd()), Ok(()));
    }
    for right in [vec![5], vec![408], vec![6, 6, 6], Vec::new()] {
        assert_eq!(check(right, Params::default()), Ok(()));
    }
    assert!(check(vec![1], Params::default()).is_err());
    let many = Entries::new(vec![vec![0, 1]; 17], vec![1.0, 2.0]).unwrap();
    let problem = Problem::builder(many).build().unwrap();
    let diagonal = Params { core: CoreKind::Diagonal, ..Params::default() };
    let error = diagonal.check(&problem).unwrap_err();
    assert!(error.to_string().contains("als or sgd for a diagonal core of 17 modes"), "{error}");
    let eight = Entries::new(vec![vec![0, 1]; 8], vec![1.0, 2.0]).unwrap();
    let problem = Problem::builder(eight).build().unwrap();
    let error = Params { orthogonal: true, ..diagonal.clone() }.check(&problem).unwrap_err();
    assert!(error.to_string().contains("orthogonal should be off for a diagonal core of 8 modes"), "{error}");
    assert!(diagonal.check(&problem).is_ok());
}
