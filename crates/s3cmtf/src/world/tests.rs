//! That a world is what it says it is.

use super::*;

fn cells(entries: &Entries) -> Vec<[u32; 3]> {
    (0..entries.len()).map(|place| [0, 1, 2].map(|mode| entries.indices(mode)[place])).collect()
}

fn rmse(values: &[f32], truth: &[f32]) -> f64 {
    let sum: f64 = values.iter().zip(truth).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (sum / values.len() as f64).sqrt()
}

fn distinct<T: std::hash::Hash + Eq>(list: &[T]) -> bool {
    list.iter().collect::<HashSet<_>>().len() == list.len()
}

fn small() -> WorldParams {
    WorldParams { users: 100, businesses: 40, months: 6, ratings: 1000, ..WorldParams::default() }
}

#[test]
fn a_seed_means_one_world() {
    assert_eq!(generate(&small()), generate(&small()));
    assert_ne!(generate(&small()).ratings, generate(&WorldParams { seed: 2, ..small() }).ratings);
}

#[test]
fn cells_are_distinct_and_split() {
    let world = generate(&WorldParams::default());
    assert_eq!((world.ratings.len(), world.test.len()), (48_000, 12_000));
    assert!(distinct(&[cells(&world.ratings), cells(&world.test)].concat()));
}

#[test]
fn ratings_are_the_truth_and_the_noise() {
    let world = generate(&WorldParams::default());
    for (entries, truth) in [(&world.ratings, &world.truth), (&world.test, &world.test_truth)] {
        let ratio = rmse(entries.values(), truth) / world.noise;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        let mean = truth.iter().sum::<f32>() / truth.len() as f32;
        let deviation = rmse(truth, &vec![mean; truth.len()]);
        assert!((mean - 3.5).abs() < 0.05 && (deviation - 0.9).abs() < 0.03, "{mean} {deviation}");
    }
    let silent = generate(&WorldParams { noise: 0.0, ..small() });
    assert_eq!(silent.ratings.values(), silent.truth);
}

#[test]
fn many_rate_little_and_are_rated_little() {
    let problem = generate(&WorldParams::default()).problem().unwrap();
    for (mode, least) in [(0, 0.15), (1, 0.1)] {
        let seldom = problem.counts(mode).iter().filter(|&&count| count <= 3).count();
        let missing = problem.modes()[mode].size() as usize - problem.modes()[mode].rows();
        let share = (seldom + missing) as f64 / f64::from(problem.modes()[mode].size());
        assert!(share >= least && share < 0.6, "mode {mode}: {share}");
    }
}

#[test]
fn people_rate_at_home_and_have_friends_like_themselves() {
    let world = generate(&WorldParams::default());
    let group = |user: u32| world.user_groups[user as usize];
    let pairs = world.friends.indices(0).iter().zip(world.friends.indices(1));
    let same = pairs.clone().filter(|(a, b)| group(**a) == group(**b)).count();
    assert!(same as f64 > 0.8 * world.friends.len() as f64);
    assert!(distinct(&pairs.collect::<Vec<_>>()));
    let degree = 2.0 * world.friends.len() as f64 / 2000.0;
    assert!((5.0..7.0).contains(&degree), "{degree}");

    assert_eq!(world.cities.indices(0), (0..800).collect::<Vec<u32>>());
    let mut regions = vec![[0u32; REGIONS as usize]; 2000];
    for [user, business, _] in cells(&world.ratings) {
        let city = world.cities.indices(1)[business as usize];
        regions[user as usize][(city % REGIONS) as usize] += 1;
    }
    let home: u32 = regions.iter().map(|counts| counts.iter().max().unwrap()).sum();
    assert!(f64::from(home) > 0.75 * 48_000.0, "{home}");
}

#[test]
fn names_are_many_and_different() {
    let world = generate(&WorldParams { users: 4000, businesses: 3000, ..WorldParams::default() });
    assert_eq!((world.user_names.len(), world.business_names.len()), (4000, 3000));
    assert!(distinct(&world.user_names) && distinct(&world.business_names));
    assert!(distinct(&world.category_names) && distinct(&world.city_names));
    assert_eq!((world.month_names[0].as_str(), world.month_names[23].as_str()), ("2015-01", "2016-12"));
}

#[test]
fn a_world_is_a_problem() {
    let problem = generate(&WorldParams::default()).problem().unwrap();
    assert_eq!(problem.modes()[0].size(), 2000);
    let names: Vec<&str> = problem.coupled().iter().map(Coupled::name).collect();
    assert_eq!(names, ["user/friends", "business/category", "business/city"]);
}

#[test]
fn the_smallest_worlds_are_worlds() {
    for seed in 0..50 {
        let params = WorldParams { users: 0, businesses: 0, months: 0, ratings: 0, noise: f64::NAN, seed };
        let world = generate(&params);
        assert!(!world.ratings.is_empty());
        world.problem().unwrap();
    }
}
