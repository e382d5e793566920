//! Implicit feedback with default settings: a planted world in which choices depend on what items are.

use std::collections::HashSet;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use s3cmtf::discovery::{RankBy, RankingParams, Recommender, ranking};
use s3cmtf::table::Binning;
use s3cmtf::table::time::Bin;
use s3cmtf::{Absent, Coupled, Entries, FoldIn, Naming, Params, Problem, ProblemBuilder, Training};

const USERS: u32 = 120;
const ITEMS: u32 = 300;
const KINDS: u32 = 20;
const SEASONS: u32 = 4;
const CHOICES: usize = 8;
const HELD: usize = 2;
/// The first of those who come later.
const LATER: u32 = 80;

/// Who chooses what, and when: nine of ten choices are of one of the kinds that a user likes.
struct World {
    train: Vec<[u32; 3]>,
    test: Vec<[u32; 3]>,
}

impl World {
    /// When choices are made says nothing.
    fn new() -> Self {
        World::of(2, CHOICES, false)
    }

    /// More kinds and choices, of which nine of ten are among the items of the season they are made in.
    fn seasonal() -> Self {
        World::of(4, 3 * CHOICES, true)
    }

    fn of(kinds: usize, choices: usize, seasonal: bool) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(4);
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for user in 0..USERS {
            let liked: Vec<u32> = (0..kinds).map(|_| generator.random_range(0..KINDS)).collect();
            let mut chosen = HashSet::new();
            while chosen.len() < choices {
                let season = generator.random_range(0..SEASONS);
                let kind = match generator.random_range(0..10) {
                    0 => generator.random_range(0..KINDS),
                    _ => liked[generator.random_range(0..kinds)],
                };
                let any = generator.random_range(0..ITEMS / KINDS);
                let number = if seasonal && generator.random_range(0..10) > 0 {
                    any % (ITEMS / KINDS / SEASONS) * SEASONS + season
                } else {
                    any
                };
                let item = kind + KINDS * number;
                if chosen.insert(item) {
                    let part = if chosen.len() <= HELD { &mut test } else { &mut train };
                    part.push([user, item, season]);
                }
            }
        }
        World { train, test }
    }

    fn entries(cells: &[[u32; 3]], modes: usize) -> Entries {
        let lists = (0..modes).map(|mode| cells.iter().map(|cell| cell[mode]).collect()).collect();
        Entries::new(lists, vec![1.0; cells.len()]).unwrap()
    }

    /// The NDCG of a run with these modes, and with the kinds of items if they are to be coupled.
    fn ndcg(&self, modes: usize, coupled: bool, seed: u64) -> f64 {
        let mut builder = self.builder(modes);
        if coupled {
            let kinds = vec![(0..ITEMS).collect(), (0..ITEMS).map(|item| item % KINDS).collect()];
            let kinds = Entries::new(kinds, vec![1.0; ITEMS as usize]).unwrap();
            builder = builder.couple(Coupled::new(1, Absent::Zeros, kinds).unwrap().named("kinds"));
        }
        self.ndcg_of(&builder.build().unwrap(), seed).0
    }

    fn builder(&self, modes: usize) -> ProblemBuilder {
        let sizes = [USERS, ITEMS, SEASONS];
        Problem::builder(World::entries(&self.train, modes)).sizes(sizes[..modes].to_vec())
    }

    /// The NDCG of lists for no season, and of those for the one that each choice is made in.
    fn ndcg_of(&self, problem: &Problem, seed: u64) -> (f64, f64) {
        let modes = problem.modes().len();
        let params = Params { ranks: vec![24], threads: 2, seed, ..Params::ials() };
        let model = Training::new(problem.clone(), params).run().unwrap().model;
        let test = World::entries(&self.test, modes);
        let asked = RankingParams { relevant: Some(f64::MIN), ..RankingParams::new(None, None) };
        let of_all = ranking(&model, Some(problem), &test, asked).unwrap().measures.ndcg;
        let gain = |&[user, item, season]: &[u32; 3]| {
            let at = [(2, season)];
            let lists = Recommender::new(&model, 0, 1, &at[..modes - 2]).unwrap();
            let list = &lists.without_seen(problem).unwrap().best(&[user], 10)[0];
            let place = list.iter().position(|best| best.row == item);
            place.map_or(0.0, |place| 1.0 / (place as f64 + 2.0).log2())
        };
        (of_all, self.test.iter().map(gain).sum::<f64>() / self.test.len() as f64)
    }

    /// The means over seeds of [`World::ndcg_of`].
    fn mean_ndcg(&self, problem: &Problem, seeds: u64) -> (f64, f64) {
        let all = (0..seeds).map(|seed| self.ndcg_of(problem, seed));
        let (of_all, of_season) = all.fold((0.0, 0.0), |sum, ndcg| (sum.0 + ndcg.0, sum.1 + ndcg.1));
        (of_all / seeds as f64, of_season / seeds as f64)
    }
}

#[test]
fn side_data_help_where_choices_depend_on_them() {
    let world = World::new();
    let (alone, coupled) = (world.ndcg(2, false, 0), world.ndcg(2, true, 0));
    // Who knew what everybody likes, and nothing else, would have 0.21.
    assert!(coupled > 1.15 * alone, "{alone} {coupled}");
}

#[test]
fn a_mode_that_says_nothing_does_no_harm() {
    let world = World::new();
    // Settings are found on other choices for each seed: none may be one that leaves nothing of the rows, which would have 0.02.
    let all = |modes: usize| -> Vec<f64> { (0..8).map(|seed| world.ndcg(modes, false, seed)).collect() };
    let (alone, with) = (all(2), all(3));
    assert!(alone.iter().chain(&with).all(|&ndcg| ndcg > 0.1), "{alone:?} {with:?}");
    let (alone, with) = (alone.iter().sum::<f64>(), with.iter().sum::<f64>());
    assert!(with > 0.97 * alone, "{alone} {with}");
}

#[test]
fn a_circumstance_that_choices_depend_on_helps_where_it_is_known() {
    let world = World::seasonal();
    let [alone, with] = [2, 3].map(|modes| world.mean_ndcg(&world.builder(modes).build().unwrap(), 4).1);
    assert!(with > 1.2 * alone, "{alone} {with}");
}

#[test]
fn lists_for_no_month_are_no_worse_where_choices_depend_on_months() {
    let world = World::seasonal();
    let labels: Vec<String> = (1..=SEASONS).map(|month| format!("2017-{month:02}")).collect();
    let binning = Some(Binning::Time(Bin::Month));
    let months = Naming { column: "month".into(), binning, labels: labels.iter().collect() };
    let by_month = world.builder(3).namings(vec![None, None, Some(months)]).build().unwrap();
    let alone = world.mean_ndcg(&world.builder(2).build().unwrap(), 4).0;
    let with = world.mean_ndcg(&by_month, 4).0;
    assert!(with > 0.97 * alone, "{alone} {with}");
}

#[test]
fn where_all_values_are_the_same_the_choice_alone_is_ranked_by() {
    let problem = Problem::builder(World::entries(&World::new().train, 2)).build().unwrap();
    let params = Params { ranks: vec![4], epochs: 20, threads: 2, ..Params::default() };
    let model = Training::new(problem.clone(), params).run().unwrap().model;
    let ranked = |by| Recommender::new(&model, 0, 1, &[]).unwrap().ranked_by(by).unwrap();
    let all: Vec<u32> = (0..USERS).collect();
    let rows = |by| -> Vec<Vec<u32>> {
        let best = ranked(by).best(&all, 10);
        best.iter().map(|best| best.iter().map(|best| best.row).collect()).collect()
    };
    let chosen = rows(Some(RankBy::Choice));
    assert!(chosen.iter().any(|best| *best != chosen[0]), "everybody is recommended the same");
    for by in [None, Some(RankBy::Both)] {
        assert_eq!(ranked(by).rank_by(), RankBy::Choice);
        assert_eq!(rows(by), chosen);
    }
    assert_eq!(ranked(Some(RankBy::Rating)).rank_by(), RankBy::Rating);
}

/// The NDCG of the last users, who came after training or, for comparison, did not, and that of the most popular items.
fn of_later_users(params: &Params, modes: usize, folded: bool) -> [f64; 2] {
    let world = World::new();
    let is_later = |cell: &&[u32; 3]| cell[0] >= LATER;
    let (later, before): (Vec<[u32; 3]>, Vec<[u32; 3]>) = world.train.iter().partition(is_later);
    let build = |cells: &[[u32; 3]]| Problem::builder(World::entries(cells, modes)).build().unwrap();
    let all = build(&world.train);
    let run = Training::new(if folded { build(&before) } else { all.clone() }, params.clone()).run().unwrap();
    let model = if folded {
        // Nobody can choose what was not there.
        let known: HashSet<u32> = before.iter().map(|cell| cell[1]).collect();
        let later: Vec<[u32; 3]> = later.into_iter().filter(|cell| known.contains(&cell[1])).collect();
        let entries = World::entries(&later, modes);
        let folded = FoldIn::new(&run.model, params).entries(entries).fold_in().unwrap();
        assert_eq!(
            (folded.added[0], folded.added[1], folded.entries),
            ((USERS - LATER) as usize, 0, later.len())
        );
        folded.model
    } else {
        run.model
    };
    let test: Vec<[u32; 3]> = world.test.iter().filter(is_later).copied().collect();
    let asked = RankingParams {
        relevant: Some(f64::MIN),
        score: model.choice().map(|_| RankBy::Choice),
        ..RankingParams::new(None, None)
    };
    let found = ranking(&model, Some(&all), &World::entries(&test, modes), asked).unwrap();
    [found.measures.ndcg, found.popular.unwrap().ndcg]
}

#[test]
fn users_who_come_later_are_offered_what_they_choose() {
    let choices = |seed: u64| Params { ranks: vec![24], threads: 2, seed, ..Params::ials() };
    // A model of values learns what is chosen beside them.
    let values = |seed: u64| Params { epochs: 10, threads: 2, seed, ..Params::default() };
    let mean = |params: &dyn Fn(u64) -> Params, modes: usize, folded: bool| {
        let all = (0..4).map(|seed| of_later_users(&params(seed), modes, folded));
        all.fold([0.0; 2], |[own, popular], [ndcg, other]| [own + ndcg / 4.0, popular + other / 4.0])
    };
    for (params, modes) in [(&choices as &dyn Fn(u64) -> Params, 2), (&choices, 3), (&values, 2)] {
        let ([folded, popular], [trained, _]) = (mean(params, modes, true), mean(params, modes, false));
        // A third of all choices are theirs, and others learn from them when they are there in training.
        assert!(
            folded > 2.0 * popular && folded > 0.7 * trained,
            "{modes} modes: {folded} {popular} {trained}"
        );
    }
}

#[test]
fn what_cannot_be_added_to_a_model_of_choices_is_named() {
    let world = World::new();
    let problem = Problem::builder(World::entries(&world.train, 2)).build().unwrap();
    let params = Params { ranks: vec![4], epochs: 2, ..Params::ials() };
    let model = Training::new(problem, params.clone()).run().unwrap().model;
    let fold = |cells: &[[u32; 3]]| FoldIn::new(&model, &params).entries(World::entries(cells, 2));
    let error = fold(&[[500, 9999, 0]]).fold_in().unwrap_err().to_string();
    assert!(error.contains("10000 is not in the model"), "{error}");
    let error = fold(&[[0, 0, 0]]).fold_in().unwrap_err().to_string();
    assert!(error.contains("there is no row to be found"), "{error}");
    let error = fold(&[[500, 0, 0]]).update().unwrap_err().to_string();
    assert!(error.contains("fit it anew"), "{error}");
}
