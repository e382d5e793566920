//! Rows that are found after training: against the truth of a made-up world, against training anew, and against plain loops.
#![allow(clippy::needless_range_loop, reason = "an oracle is plain loops")]

use std::sync::LazyLock;

use s3cmtf::internal::gradient;
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::internal::world::{World, WorldParams, generate};
use s3cmtf::{
    Absent, Algorithm, CoreKind, Coupled, Entries, FoldIn, Folded, Model, Params, Problem, Run, Training,
};

fn world() -> World {
    generate(&WorldParams {
        users: 600,
        businesses: 300,
        months: 12,
        ratings: 36_000,
        ..WorldParams::default()
    })
}

/// The world's problem with other ratings, and without what is coupled.
fn alone(ratings: Entries) -> Problem {
    Problem::builder(ratings).sizes(vec![600, 300, 12]).build().expect("the world is a problem")
}

/// What comes later is held against it: a model of all ratings that [`params`] and [`alone`] lead to.
static ANEW: LazyLock<Model> = LazyLock::new(|| fit(alone(world().ratings), params()).model);

fn params() -> Params {
    Params { ranks: vec![8, 8, 3], threads: 2, ..Params::default() }
}

/// The entries at which `keep` is true of an entry's place and its indices.
fn select(entries: &Entries, mut keep: impl FnMut(usize, &[u32]) -> bool) -> Entries {
    let index = |place: usize| -> Vec<u32> {
        (0..entries.order()).map(|mode| entries.indices(mode)[place]).collect()
    };
    let places: Vec<usize> = (0..entries.len()).filter(|&place| keep(place, &index(place))).collect();
    let indices =
        (0..entries.order()).map(|mode| places.iter().map(|&place| entries.indices(mode)[place]).collect());
    let values = places.iter().map(|&place| entries.values()[place]).collect();
    Entries::new(indices.collect(), values).unwrap().named(entries.name())
}

fn both(first: &Entries, second: &Entries) -> Entries {
    let indices = (0..first.order()).map(|mode| [first.indices(mode), second.indices(mode)].concat());
    Entries::new(indices.collect(), [first.values(), second.values()].concat()).unwrap()
}

/// The world's problem with other ratings, and with the coupled rows of which `keep` is true.
fn problem(world: &World, ratings: Entries, keep: impl Fn(usize, u32) -> bool) -> Problem {
    let size = |names: &[String]| names.len() as u32;
    let rows = |entries: &Entries, mode: usize| select(entries, |_, index| keep(mode, index[0]));
    let friends = select(&world.friends, |_, pair| keep(0, pair[0]) && keep(0, pair[1]));
    Problem::builder(ratings)
        .names(["user", "business", "month"].map(String::from).to_vec())
        .sizes(vec![size(&world.user_names), size(&world.business_names), size(&world.month_names)])
        .couple(Coupled::new(0, Absent::Graph, friends).unwrap().named("friends"))
        .couple(Coupled::new(1, Absent::Zeros, rows(&world.categories, 1)).unwrap().named("categories"))
        .couple(Coupled::new(1, Absent::Zeros, rows(&world.cities, 1)).unwrap().named("cities"))
        .build()
        .unwrap()
}

fn fit(problem: Problem, params: Params) -> Run {
    Training::new(problem, params).run().unwrap()
}

/// Asserts that a model has all rows of another one, bit for bit.
fn assert_kept(before: &Model, after: &Model) {
    for (mode, (old, new)) in before.modes().iter().zip(after.modes()).enumerate() {
        for row in 0..old.rows() {
            let place = new.row(old.id(row)).unwrap() as usize;
            assert_eq!(
                before.factors()[mode].row(row),
                after.factors()[mode].row(place),
                "mode {mode}, row {row}"
            );
            let (known, now) = (before.uncertainty(), after.uncertainty());
            if let (Some(known), Some(now)) = (known, now) {
                assert_eq!(known.shares[mode][row], now.shares[mode][place]);
                assert_eq!(known.variances[mode].row(row), now.variances[mode].row(place));
            }
        }
    }
    assert_eq!(before.core(), after.core());
    assert_eq!(before.coupled(), after.coupled());
}

#[test]
fn users_that_come_later_are_predicted_as_if_they_had_been_there() {
    let world = world();
    let all = both(&world.ratings, &world.test);
    let mut counts = vec![0; world.user_names.len()];
    all.indices(0).iter().for_each(|&user| counts[user as usize] += 1);
    let late: Vec<bool> = {
        let mut chosen = 0;
        counts
            .iter()
            .map(|&count| {
                count >= 40 && chosen < 50 && {
                    chosen += 1;
                    true
                }
            })
            .collect()
    };
    assert_eq!(late.iter().filter(|&&late| late).count(), 50);
    let mut given = vec![0; counts.len()];
    let is_late = |index: &[u32]| late[index[0] as usize];
    let early = select(&all, |_, index| !is_late(index));
    let few = select(&all, |_, index| {
        given[index[0] as usize] += 1;
        is_late(index) && given[index[0] as usize] <= 20
    });
    given.fill(0);
    let rest = select(&all, |_, index| {
        given[index[0] as usize] += 1;
        is_late(index) && given[index[0] as usize] > 20
    });
    let known = |mode: usize, row: u32| mode != 0 || !late[row as usize];
    let settings = params();
    let model = fit(problem(&world, early.clone(), known), settings.clone()).model;
    let Folded { model: folded, added, updated, entries, .. } =
        FoldIn::new(&model, &settings).entries(few.clone()).fold_in().unwrap();
    assert_eq!((added, updated, entries), (vec![50, 0, 0], vec![0; 3], few.len()));
    assert_kept(&model, &folded);

    let anew = fit(problem(&world, both(&early, &few), known), settings).model;
    let rmse = |model: &Model| model.evaluate(&rest, false).unwrap().rmse;
    let (average, later, anew) = (rmse(&model), rmse(&folded), rmse(&anew));
    println!("average row {average:.4}, folded in {later:.4}, trained anew {anew:.4}, noise {}", world.noise);
    assert!(later < 1.03 * anew, "{later} folded in, {anew} trained anew");
    assert!(later < 0.8 * average, "{later} folded in, {average} with the average row");
    let within = folded.evaluate(&rest, false).unwrap().within_std.unwrap();
    assert!((0.6..0.78).contains(&within), "{within} lie within a standard deviation");
}

#[test]
fn what_is_known_by_its_categories_or_its_friends_alone_is_better_than_the_average() {
    let world = world();
    let late = |mode: usize, row: u32| mode < 2 && row % 10 == 3;
    let early = select(&world.ratings, |_, index| !late(0, index[0]) && !late(1, index[1]));
    let diagonal = Params { ranks: vec![14], core: CoreKind::Diagonal, ..params() };
    for settings in [params(), diagonal] {
        let model = fit(problem(&world, early.clone(), |mode, row| !late(mode, row)), settings.clone()).model;
        let folded = FoldIn::new(&model, &settings)
            .couple(Coupled::new(0, Absent::Graph, world.friends.clone()).unwrap().named("friends"))
            .couple(Coupled::new(1, Absent::Zeros, world.categories.clone()).unwrap().named("categories"))
            .couple(Coupled::new(1, Absent::Zeros, world.cities.clone()).unwrap().named("cities"))
            .fold_in()
            .unwrap();
        assert_eq!((folded.entries, folded.added[1]), (0, 30));
        assert_kept(&model, &folded.model);
        for (mode, most) in [(1, 0.85), (0, 0.97)] {
            let cells = select(&world.ratings, |_, index| {
                late(mode, index[mode]) && !late(1 - mode, index[1 - mode])
            });
            let rmse = |model: &Model| model.evaluate(&cells, false).unwrap().rmse;
            let (average, cold) = (rmse(&model), rmse(&folded.model));
            println!("mode {mode}: average row {average:.4}, from coupled rows {cold:.4}");
            assert!(
                cold < most * average,
                "mode {mode}: {cold} from coupled rows, {average} with the average row"
            );
        }
    }
}

#[test]
fn new_users_and_new_items_are_found_together() {
    let world = world();
    let late = |index: &[u32]| index[0] % 12 == 5 || index[1] % 12 == 7;
    let early = select(&world.ratings, |_, index| !late(index));
    let settings = params();
    let model = fit(alone(early), settings.clone()).model;
    let folded = FoldIn::new(&model, &settings).entries(world.ratings.clone()).fold_in().unwrap();
    assert!(folded.notes[0].contains("have no new id"), "{:?}", folded.notes);
    assert_kept(&model, &folded.model);
    let cells = select(&world.test, |_, index| late(index));
    let rmse = |model: &Model| model.evaluate(&cells, false).unwrap().rmse;
    let (average, later, anew) = (rmse(&model), rmse(&folded.model), rmse(&ANEW));
    println!("average rows {average:.4}, folded in {later:.4}, trained anew {anew:.4}");
    assert!(later < 1.05 * anew && later < 0.8 * average, "{average} {later} {anew}");
}

/// Solves a system by Gaussian elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for i in 0..n {
        for j in i + 1..n {
            let by = matrix[j][i] / matrix[i][i];
            for k in i..n {
                matrix[j][k] -= by * matrix[i][k];
            }
            right[j] -= by * right[i];
        }
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            right[i] -= matrix[i][k] * right[k];
        }
        right[i] /= matrix[i][i];
    }
    right
}

#[test]
fn a_row_is_what_its_normal_equations_ask_for() {
    let world = world();
    let settings = Params { ranks: vec![3, 4, 2], epochs: 40, ..params() };
    let late = 17;
    let known = |mode: usize, row: u32| mode != 0 || row != late;
    let early = select(&world.ratings, |_, index| index[0] != late);
    let model = fit(problem(&world, early, known), settings.clone()).model;
    let own = select(&world.ratings, |_, index| index[0] == late);
    let friends = select(&world.friends, |_, pair| pair.contains(&late));
    let folded = FoldIn::new(&model, &settings)
        .entries(own.clone())
        .couple(Coupled::new(0, Absent::Graph, friends.clone()).unwrap().named("friends"))
        .fold_in()
        .unwrap()
        .model;
    let (rank, uncertainty) = (3, folded.uncertainty().unwrap());
    let row = folded.modes()[0].row(late).unwrap() as usize;
    let noise = f64::from(uncertainty.noise);
    let core = |j: [usize; 3]| f64::from(folded.core().values()[(j[0] * 4 + j[1]) * 2 + j[2]]);
    let (mut matrix, mut right) = (vec![vec![0.0; rank]; rank], vec![0.0; rank]);
    for entry in 0..own.len() {
        let place = |mode: usize| folded.modes()[mode].row(own.indices(mode)[entry]).unwrap() as usize;
        let value = |mode: usize, j: usize| f64::from(folded.factors()[mode].row(place(mode))[j]);
        let variance = |mode: usize, j: usize| f64::from(uncertainty.variances[mode].row(place(mode))[j]);
        let shares = f64::from(uncertainty.shares[0][row])
            * f64::from(uncertainty.shares[1][place(1)])
            * f64::from(uncertainty.shares[2][place(2)]);
        let slope = |k: usize, b: &dyn Fn(usize) -> f64, c: &dyn Fn(usize) -> f64| -> f64 {
            (0..8).map(|p| core([k, p / 2, p % 2]) * b(p / 2) * c(p % 2)).sum()
        };
        let (b, c) = (|j: usize| value(1, j), |j: usize| value(2, j));
        let unit = |at: usize| move |j: usize| f64::from(u8::from(j == at));
        for k in 0..rank {
            right[k] += shares / noise * f64::from(own.values()[entry]) * slope(k, &b, &c);
            for l in 0..rank {
                let mut square = slope(k, &b, &c) * slope(l, &b, &c);
                for j in 0..4 {
                    square += variance(1, j) * slope(k, &unit(j), &c) * slope(l, &unit(j), &c);
                }
                for j in 0..2 {
                    square += variance(2, j) * slope(k, &b, &unit(j)) * slope(l, &b, &unit(j));
                }
                matrix[k][l] += shares / noise * square;
            }
        }
    }
    let weight = f64::from(folded.coupled()[0].weight);
    assert!(weight > 0.0);
    for edge in 0..friends.len() {
        let other = friends.indices(0)[edge] + friends.indices(1)[edge] - late;
        let other = folded.modes()[0].row(other).unwrap() as usize;
        for k in 1..rank {
            matrix[k][k] += weight / noise;
            right[k] += weight / noise * f64::from(folded.factors()[0].row(other)[k]);
        }
    }
    let system = (1..rank)
        .map(|k| (1..rank).map(|l| matrix[k][l] + f64::from(u8::from(k == l))).collect::<Vec<f64>>());
    let expected = solve(system.collect(), (1..rank).map(|k| right[k] - matrix[k][0]).collect());
    let found = folded.factors()[0].row(row);
    assert_eq!(found[0], 1.0);
    for (found, expected) in found[1..].iter().zip(expected) {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-5 * expected.abs().max(1.0),
            "{found} and not {expected}"
        );
    }
}

#[test]
fn rows_of_gradient_descent_have_no_slope_left() {
    let world = world();
    let settings = Params { algorithm: Algorithm::Sgd, epochs: 30, ..params() };
    let late = |mode: usize, row: u32| mode == 1 && row % 20 == 3;
    let early = select(&world.ratings, |_, index| !late(1, index[1]));
    let run = fit(problem(&world, early, |mode, row| !late(mode, row)), settings);
    let folded = FoldIn::new(&run.model, &run.record.params)
        .entries(world.ratings.clone())
        .couple(Coupled::new(1, Absent::Zeros, world.categories.clone()).unwrap().named("categories"))
        .couple(Coupled::new(1, Absent::Zeros, world.cities.clone()).unwrap().named("cities"))
        .fold_in()
        .unwrap()
        .model;
    assert_kept(&run.model, &folded);
    let whole = problem(&world, world.ratings.clone(), |_, _| true);
    let slopes = gradient(&whole, &folded, &run.record.params);
    for row in (3..300).step_by(20) {
        let slope = slopes.factors[1][row * 8..][..8].iter().map(|slope| slope.abs()).fold(0.0, f64::max);
        assert!(slope < 0.05, "row {row}: {slope}");
    }
    let error = FoldIn::new(&run.model, &run.record.params).entries(world.ratings).update().unwrap_err();
    assert!(error.to_string().contains("how sure it is"), "{error}");
}

/// New users move the rows of items; what old users, whose rows stay, are predicted must not suffer.
#[test]
fn an_update_with_new_users_leaves_predictions_of_the_others_as_good_as_they_were() {
    // All concepts interact with all, so that much of what entries say is about several at once.
    let shape = Shape {
        sizes: vec![500, 300, 6],
        entries: 60_000,
        rank: 3,
        noise: 0.2,
        ..Shape::named("synthetic").unwrap()
    };
    let all = shape.tensor().collect().unwrap();
    let is_new = |index: &[u32]| index[0].is_multiple_of(5);
    let is_test = |place: usize| place.is_multiple_of(10);
    let settings = Params { ranks: vec![8, 8, 6], threads: 2, ..Params::default() };
    let old = select(&all, |place, index| !is_test(place) && !is_new(index));
    let new = select(&all, |place, index| !is_test(place) && is_new(index));
    let model =
        fit(Problem::builder(old).sizes(shape.sizes.clone()).build().unwrap(), settings.clone()).model;
    let updated = FoldIn::new(&model, &settings).entries(new.clone()).update().unwrap().model;
    let folded = FoldIn::new(&model, &settings).entries(new).fold_in().unwrap().model;
    let rmse = |model: &Model, of_new: bool| {
        let cells = select(&all, |place, index| is_test(place) && is_new(index) == of_new);
        model.evaluate(&cells, false).unwrap().rmse
    };
    let (before, after) = (rmse(&model, false), rmse(&updated, false));
    let (fold_in, update) = (rmse(&folded, true), rmse(&updated, true));
    println!(
        "old users {before:.4} and {after:.4} after an update; new ones {fold_in:.4} folded in, {update:.4} updated"
    );
    assert!(after < 1.02 * before, "{after} after the update, {before} before");
    assert!(update < 1.01 * fold_in, "{update} updated, {fold_in} folded in");
}

#[test]
fn an_update_takes_in_what_the_second_half_says() {
    let world = world();
    let settings = params();
    // Some users and businesses come with the second half.
    let second = |place: usize, index: &[u32]| place % 2 == 1 || index[0] % 30 == 4 || index[1] % 30 == 8;
    let first = select(&world.ratings, |place, index| !second(place, index));
    let more = select(&world.ratings, second);
    let model = fit(alone(first), settings.clone()).model;
    let updated = FoldIn::new(&model, &settings).entries(more).update().unwrap();
    let rmse = |model: &Model| model.evaluate(&world.test, false).unwrap().rmse;
    let (half, later, whole) = (rmse(&model), rmse(&updated.model), rmse(&ANEW));
    println!(
        "first half {half:.4}, updated {later:.4}, all at once {whole:.4}; {:?} {:?}",
        updated.added, updated.updated
    );
    assert!(later - whole < half - later, "{half} {later} {whole}");
    assert!(updated.added[0] >= 20 && updated.updated[0] > 500 && updated.updated[2] == 12);
    let within = updated.model.evaluate(&world.test, false).unwrap().within_std.unwrap();
    assert!((0.6..0.78).contains(&within), "{within} lie within a standard deviation");
}

#[test]
fn what_does_not_fit_is_refused() {
    let world = generate(&WorldParams {
        users: 30,
        businesses: 20,
        months: 4,
        ratings: 600,
        ..WorldParams::default()
    });
    let settings = Params { ranks: vec![2], epochs: 8, ..params() };
    // Ids without names, so that there is one for every number.
    let friends = Coupled::new(0, Absent::Graph, world.friends).unwrap().named("user/friends");
    let problem = Problem::builder(world.ratings).sizes(vec![30, 20, 4]).couple(friends).build().unwrap();
    let model = fit(problem, settings.clone()).model;
    let fold = || FoldIn::new(&model, &settings);
    let says = |result: Result<Folded, s3cmtf::Error>, words: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    says(fold().fold_in(), "there is no row to be found");
    says(fold().update(), "there is nothing new in them");
    says(
        fold().entries(Entries::new(vec![vec![0], vec![0]], vec![1.0]).unwrap()).fold_in(),
        "2 indices per entry",
    );
    let cell = || Entries::new(vec![vec![40], vec![0]], vec![1.0]).unwrap();
    let friends = Coupled::new(0, Absent::Zeros, cell()).unwrap().named("user/friends");
    says(
        fold().couple(friends).fold_in(),
        "its kind is zeros, but that of the model's user/friends is graph",
    );
    let colours = Coupled::new(1, Absent::Zeros, cell()).unwrap().named("colours");
    says(fold().couple(colours).fold_in(), "not coupled in the model");
    let months = Coupled::new(7, Absent::Zeros, cell()).unwrap();
    says(fold().couple(months).fold_in(), "not coupled in the model");
    let far = Entries::new(vec![vec![4_000_000_000], vec![0], vec![0]], vec![9.0]).unwrap();
    let folded = fold().entries(far).fold_in().unwrap();
    assert_eq!((folded.added, folded.model.range()[1]), (vec![1, 0, 0], 9.0));
}

#[test]
fn a_matrix_has_the_weight_that_was_given_and_otherwise_effects() {
    let mut state = 1u64;
    let mut normal = || -> f64 {
        let mut sum = -6.0;
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (state >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum
    };
    let mut rows = |count: usize| -> Vec<[f64; 2]> { (0..count).map(|_| [normal(), normal()]).collect() };
    let (users, items, traits) = (rows(200), rows(100), rows(60));
    // The matrix is in other units, and in the same units half as noisy as the tensor.
    let mut cells = |others: &[[f64; 2]], unit: f64, noise: f64| {
        let (mut indices, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
        for (i, user) in users.iter().enumerate() {
            for (k, other) in others.iter().enumerate().filter(|(k, _)| (i + k) % 2 == 0) {
                indices[0].push(i as u32);
                indices[1].push(k as u32);
                values.push((unit * (user[0] * other[0] + user[1] * other[1] + noise * normal())) as f32);
            }
        }
        Entries::new(indices, values).unwrap()
    };
    let (ratings, sides) = (cells(&items, 1.0, 0.5), cells(&traits, 10.0, 0.25));
    let matrix = |given: Option<f32>| {
        let matrix = Coupled::new(0, Absent::Missing, sides.clone()).unwrap();
        let matrix = given.map_or(matrix.clone(), |given| matrix.weighted(given));
        let problem = Problem::builder(ratings.clone()).couple(matrix).build().unwrap();
        fit(problem, Params { ranks: vec![4], ..params() }).model.coupled()[0].clone()
    };
    let found = matrix(None);
    // Traits tell nearly all of users' rows.
    assert!(found.weight == 0.0 && found.effects.unwrap().explained > 0.3);
    let given = matrix(Some(0.7));
    assert!((given.weight - 0.7).abs() < 1e-6 && given.effects.is_none(), "{}", given.weight);
}
