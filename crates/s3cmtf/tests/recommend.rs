//! Recommendations and their measures, held against predictions of every cell.

use std::collections::{HashMap, HashSet};

use s3cmtf::discovery::{
    ConceptEffect, RankBy, RankingParams, Reasons, Recommender, ranking, rankings, segments,
};
use s3cmtf::internal::table::{Binning, time::Bin};
use s3cmtf::{
    Absent, Algorithm, Cells, Core, Coupled, Entries, Factor, Model, Naming, Params, Problem, Training,
};

const SIZES: [usize; 3] = [30, 40, 6];

/// A number from 0 to 1 that looks like chance.
fn number(seed: usize) -> f32 {
    let mut bits = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((bits ^ (bits >> 29)) >> 40) as f32 / (1 << 24) as f32
}

fn months() -> Naming {
    let labels = (1..=SIZES[2]).map(|month| format!("2017-{month:02}")).collect::<Vec<_>>();
    Naming {
        column: "date".into(),
        binning: Some(Binning::Time(Bin::Month)),
        labels: labels.iter().collect(),
    }
}

/// Users of even number like items of even number, and the others the others; later months a little more.
fn problem() -> (Problem, Entries) {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for user in 0..SIZES[0] {
        for item in 0..SIZES[1] {
            for month in 0..SIZES[2] {
                let chance = number(user * 4001 + item * 601 + month * 37);
                let liked = if user % 2 == item % 2 { 4.0 } else { 2.0 };
                let value = liked + 0.1 * month as f32 + 0.3 * number(user + 77 * item + 3 * month);
                if chance < 0.1 {
                    train.push(([user, item, month], value));
                } else if chance > 0.97 {
                    test.push(([user, item, month], value));
                }
            }
        }
    }
    let entries = |cells: &[([usize; 3], f32)]| {
        let list = |mode: usize| cells.iter().map(|(cell, _)| cell[mode] as u32).collect();
        Entries::new((0..3).map(list).collect(), cells.iter().map(|(_, value)| *value).collect()).unwrap()
    };
    let genres =
        Entries::new(vec![(0..40).collect(), (0..40).map(|item| item % 2).collect()], vec![1.0; 40]).unwrap();
    let kinds = Naming { column: "genre".into(), binning: None, labels: ["even", "odd"].iter().collect() };
    let genres =
        Coupled::new(1, Absent::Zeros, genres).unwrap().named("item/genre").columns_named(kinds).unwrap();
    let problem = Problem::builder(entries(&train))
        .names(["user", "item", "date"].map(String::from).to_vec())
        .sizes(SIZES.map(|size| size as u32).to_vec())
        .namings(vec![None, None, Some(months())])
        .couple(genres)
        .build()
        .unwrap();
    (problem, entries(&test))
}

/// A model of each algorithm, of which the second has no number below 0, and one with a diagonal core.
fn models(problem: &Problem) -> Vec<Model> {
    let base = Params { ranks: vec![4], seed: 3, ..Params::default() };
    let sgd = Params {
        algorithm: Algorithm::Sgd,
        nonnegative: true,
        epochs: 200,
        rate: Some(0.05),
        decay: 0.0,
        ..base.clone()
    };
    let mut models: Vec<Model> = [base, sgd]
        .into_iter()
        .map(|params| Training::new(problem.clone(), params).run().unwrap().model)
        .collect();
    let factors: Vec<Factor> = models[0].factors().to_vec();
    let core = Core::Diagonal(vec![1.0, -0.5, 2.0, 0.7]);
    models.push(Model::new(problem.modes().to_vec(), core, factors, Vec::new(), [1.0, 5.0]).unwrap());
    models
}

fn cells(user: u32, month: u32) -> Cells {
    let items = SIZES[1] as u32;
    Cells::new(vec![vec![user; SIZES[1]], (0..items).collect(), vec![month; SIZES[1]]]).unwrap()
}

fn seen(problem: &Problem) -> HashMap<u32, HashSet<u32>> {
    let mut seen: HashMap<u32, HashSet<u32>> = HashMap::new();
    for (&user, &item) in problem.entries().indices(0).iter().zip(problem.entries().indices(1)) {
        seen.entry(user).or_default().insert(item);
    }
    seen
}

/// The best unseen items by predictions of every cell.
/// With the average month the prediction is the mean of those with each month.
fn brute(model: &Model, problem: &Problem, user: u32, months: &[u32], k: usize) -> Vec<(u32, f32)> {
    let seen = seen(problem).remove(&user).unwrap_or_default();
    let mut values = vec![0.0; SIZES[1]];
    for &month in months {
        let own = model.predict(cells(user, month), false).unwrap();
        values.iter_mut().zip(own).for_each(|(sum, value)| *sum += value / months.len() as f32);
    }
    let mut all: Vec<(u32, f32)> = (0..).zip(values).filter(|(item, _)| !seen.contains(item)).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(k);
    all
}

#[test]
fn the_best_are_those_of_predictions_of_every_cell() {
    let (problem, _) = problem();
    for model in models(&problem) {
        for (at, months) in [(vec![], (0..6).collect()), (vec![(2, 1)], vec![1])] {
            let recommender = Recommender::new(&model, 0, 1, &at).unwrap().without_seen(&problem).unwrap();
            let name = (months.len() == 1).then(|| "2017-02".to_owned());
            assert_eq!(recommender.others()[0].name, name);
            let users: Vec<u32> = (0..30).collect();
            for (user, best) in users.iter().zip(recommender.best(&users, 5)) {
                let expected = brute(&model, &problem, *user, &months, 5);
                assert_eq!(best.len(), 5);
                for (best, (_, value)) in best.iter().zip(&expected) {
                    assert!((best.value - value).abs() < 1e-5 * value.abs().max(10.0), "{best:?} {value}");
                }
            }
        }
    }
}

#[test]
fn what_users_are_recommended_is_what_they_were_made_to_like_and_so_is_why() {
    let (problem, _) = problem();
    for model in &models(&problem)[..2] {
        let recommender = Recommender::new(model, 0, 1, &[]).unwrap().without_seen(&problem).unwrap();
        let reasons = Reasons::new(&recommender, Some(&problem), 3).unwrap();
        let users: Vec<u32> = (0..30).collect();
        let best = recommender.best(&users, 5);
        for ((&user, best), why) in users.iter().zip(&best).zip(reasons.explain(&users, &best)) {
            for (best, reason) in best.iter().zip(why) {
                assert_eq!(best.row % 2, user % 2, "user {user}");
                let reason = reason.unwrap();
                assert!(reason.adds > 0.0);
                // What is said of an item is true of it: its own genre, or nothing of genres.
                let (own, other) = if best.row.is_multiple_of(2) { ("even", "odd") } else { ("odd", "even") };
                let words = reasons.about(&reason);
                assert!(words == own || words.starts_with("such as "), "{words}, not {other}");
            }
        }
        let profile = reasons.profile(0);
        // Concepts around the mean: the one that counts most is which kind it is, and other users want its opposite.
        if !profile[0].concept.weakest.is_empty() {
            let same = |worth: &&ConceptEffect| worth.concept.name == profile[0].concept.name;
            let other = reasons.profile(1).iter().find(same).map(|worth| worth.adds);
            assert!(profile[0].adds * other.unwrap() < 0.0, "{profile:?}");
        }
        assert!(profile.windows(2).all(|pair| pair[0].own_strength >= pair[1].own_strength));
        let times = profile[0].concept.times.as_ref().unwrap();
        assert_eq!((times.len(), &times[5].name[..]), (6, "2017-06"));
        // What is added with the average month is the mean of what is added with each.
        let mean = times.iter().map(|time| time.score).sum::<f64>() / 6.0;
        assert!((mean - profile[0].adds).abs() < 1e-4);
    }
}

#[test]
fn strength_is_the_mean_square_over_all_months() {
    let (problem, _) = problem();
    for model in &models(&problem)[..2] {
        let all = Recommender::new(model, 0, 1, &[]).unwrap();
        for worth in Reasons::new(&all, None, 3).unwrap().profile(7) {
            let times = worth.concept.times.unwrap();
            let square = times.iter().map(|time| time.score * time.score).sum::<f64>() / times.len() as f64;
            assert!((worth.own_strength - square.sqrt()).abs() < 1e-3, "{} {square}", worth.own_strength);
        }
        // At one month it is what the concept adds then.
        let one = Recommender::new(model, 0, 1, &[(2, 0)]).unwrap();
        for worth in Reasons::new(&one, None, 3).unwrap().profile(7) {
            assert!((worth.own_strength - worth.adds.abs()).abs() < 1e-3);
            assert!(worth.concept.times.is_none());
        }
    }
}

#[test]
fn items_are_chosen_by_a_coupled_column() {
    let (problem, _) = problem();
    let model = &models(&problem)[0];
    for name in ["genre", "item/genre"] {
        let odd = Recommender::new(model, 0, 1, &[]).unwrap().having(&problem, name, "odd").unwrap();
        let best = odd.best(&[0], 100);
        assert_eq!(best[0].len(), 20);
        assert!(best[0].iter().all(|best| best.row % 2 == 1));
    }
    let all = || Recommender::new(model, 0, 1, &[]).unwrap();
    let error = |name: &str, column: &str| all().having(&problem, name, column).err().unwrap().to_string();
    assert!(error("genres", "odd").contains("did you mean \"genre\"?"));
    assert!(error("genre", "od").contains("did you mean \"odd\"?"));
    let both = all().having(&problem, "genre", "odd").unwrap().having(&problem, "genre", "even").unwrap();
    assert!(both.best(&[0], 100)[0].is_empty());
    let either = all().having_any(&problem, "genre", &["odd", "even"]).unwrap();
    assert_eq!(either.best(&[0], 100)[0].len(), 40);
    assert!(all().having_any(&problem, "genre", &["odd", "evn"]).is_err());
}

#[test]
fn what_cannot_be_recommended_is_refused() {
    let (problem, _) = problem();
    let model = &models(&problem)[0];
    for (by, items, at) in
        [(0, 0, vec![]), (0, 9, vec![]), (9, 0, vec![]), (0, 1, vec![(1, 0)]), (0, 1, vec![(2, 99)])]
    {
        assert!(Recommender::new(model, by, items, &at).is_err(), "{by} {items} {at:?}");
    }
    assert!(Recommender::new(model, 0, 1, &[(2, 0), (2, 1)]).is_err());
    let other = Entries::new(vec![vec![0], vec![0]], vec![1.0]).unwrap();
    let other = Problem::builder(other).build().unwrap();
    assert!(Recommender::new(model, 0, 1, &[]).unwrap().without_seen(&other).is_err());
}

#[test]
fn ranking_measures_are_those_of_predictions_of_every_cell() {
    let (problem, test) = problem();
    for model in &models(&problem)[..2] {
        let params = RankingParams {
            by: 0,
            items: 1,
            k: 5,
            relevant: Some(3.5),
            most: 1000,
            seed: 1,
            caution: 0.0,
            score: Some(RankBy::Rating),
            baselines: true,
        };
        let found = ranking(model, Some(&problem), &test, params).unwrap();
        let seen = seen(&problem);
        let (mut recall, mut ndcg, mut count, mut shown) = (0.0, 0.0, 0.0, HashSet::new());
        for user in 0..30u32 {
            let relevant: HashSet<u32> = (0..test.len())
                .filter(|&place| test.indices(0)[place] == user && test.values()[place] >= 3.5)
                .map(|place| test.indices(1)[place])
                .filter(|item| !seen[&user].contains(item))
                .collect();
            if relevant.is_empty() {
                continue;
            }
            let list = brute(model, &problem, user, &[0, 1, 2, 3, 4, 5], 5);
            let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
            let hits: Vec<usize> = (0..5).filter(|&place| relevant.contains(&list[place].0)).collect();
            recall += hits.len() as f64 / relevant.len() as f64;
            let most: f64 = (0..relevant.len().min(5)).map(gain).sum();
            ndcg += hits.iter().map(|&place| gain(place)).sum::<f64>() / most;
            count += 1.0;
            shown.extend(list.iter().map(|(item, _)| *item));
        }
        assert_eq!(found.measured as f64, count);
        assert!((found.measures.recall - recall / count).abs() < 1e-9, "{found:?} {}", recall / count);
        assert!((found.measures.ndcg - ndcg / count).abs() < 1e-9, "{found:?}");
        assert!((found.measures.coverage - shown.len() as f64 / 40.0).abs() < 1e-9, "{found:?}");
        let popular = found.popular.unwrap();
        assert!(found.item_knn.is_some());
        assert!(found.measures.recall > popular.recall && found.measures.ndcg > popular.ndcg, "{found:?}");
    }
}

#[test]
fn several_lengths_at_once_are_measured_as_each_alone() {
    let (problem, test) = problem();
    let lengths = [5, 1, 40, 10, 5, 1000];
    for model in &models(&problem) {
        for data in [Some(&problem), None] {
            let params = RankingParams { baselines: true, ..RankingParams::new(None, None) };
            let all = rankings(model, data, &test, params, &lengths).unwrap();
            let each = lengths.map(|k| ranking(model, data, &test, RankingParams { k, ..params }).unwrap());
            assert_eq!(all, each);
            assert!(all.iter().all(|one| one.item_knn.is_some() == data.is_some()));
        }
    }
    let params = RankingParams::new(None, None);
    for lengths in [&[][..], &[5, 0]] {
        let error = rankings(&models(&problem)[0], None, &test, params, lengths).unwrap_err();
        assert_eq!(error.to_string(), "k should be 1 or more, but is 0");
    }
}

#[test]
fn fewer_are_measured_if_asked_and_nothing_relevant_is_told() {
    let (problem, test) = problem();
    let model = &models(&problem)[0];
    let params = RankingParams { k: 5, most: 4, ..RankingParams::new(None, None) };
    let found = ranking(model, None, &test, params).unwrap();
    assert_eq!((found.measured, found.without_seen, found.popular), (4, false, None));
    assert!(found.of > 20);
    let none = RankingParams { relevant: Some(99.0), ..params };
    assert!(ranking(model, None, &test, none).unwrap_err().to_string().contains("nothing to rank by"));
    assert!(ranking(model, None, &test, RankingParams { k: 0, ..params }).is_err());
    assert!(ranking(model, None, &test, RankingParams { items: 0, ..params }).is_err());
}

#[test]
fn segments_add_up_to_all_entries() {
    let (problem, test) = problem();
    for model in &models(&problem)[..2] {
        let all = model.evaluate(&test, false).unwrap();
        let found = segments(model, Some(&problem), &test, &[0, 1], false).unwrap();
        assert_eq!(found.len(), 3);
        for by in &found {
            let count: usize = by.segments.iter().map(|segment| segment.entries).sum();
            assert_eq!(count, test.len());
            let squares: f64 =
                by.segments.iter().map(|segment| segment.rmse.powi(2) * segment.entries as f64).sum();
            assert!(((squares / count as f64).sqrt() - all.rmse).abs() < 1e-4, "{by:?}");
        }
        // By hand: the entries of June.
        let june: Vec<usize> = (0..test.len()).filter(|&place| test.indices(2)[place] == 5).collect();
        let values = model.predict(&test, false).unwrap();
        let mae = june.iter().map(|&place| f64::from((values[place] - test.values()[place]).abs()));
        let mae = mae.sum::<f64>() / june.len() as f64;
        let found = found[2].segments.iter().find(|segment| segment.name == "2017-06").unwrap();
        assert_eq!(found.entries, june.len());
        assert!((found.mae - mae).abs() < 1e-5);
    }
    assert_eq!(segments(&models(&problem)[0], None, &test, &[0, 1], false).unwrap().len(), 1);
}

#[test]
fn what_is_ranked_where_nobody_says_are_the_first_two_modes() {
    let modes = |by, items| {
        let params = RankingParams::new(by, items);
        (params.by, params.items)
    };
    assert_eq!(modes(None, None), (0, 1));
    assert_eq!(modes(Some(1), None), (1, 0));
    assert_eq!(modes(Some(2), None), (2, 0));
    assert_eq!(modes(None, Some(0)), (1, 0));
    assert_eq!(modes(None, Some(2)), (0, 2));
    assert_eq!(modes(Some(2), Some(1)), (2, 1));
    let RankingParams { k, relevant, caution, .. } = RankingParams::new(None, None);
    assert_eq!((k, relevant, caution), (10, None, 0.0));
}
