//! Implicit feedback with default settings: a planted world in which choices depend on what items are.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::HashSet;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use s3cmtf::discovery::{RankingParams, ranking};
use s3cmtf::{Absent, Coupled, Entries, Params, Problem, Training};

const USERS: u32 = 120;
const ITEMS: u32 = 300;
const KINDS: u32 = 20;
const SEASONS: u32 = 4;
const CHOICES: usize = 8;
const HELD: usize = 2;

/// Who chooses what, and when: nine of ten choices are of one of two kinds that a user likes. When they are made says nothing.
struct World {
    train: Vec<[u32; 3]>,
    test: Vec<[u32; 3]>,
}

impl World {
    fn new() -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(4);
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for user in 0..USERS {
            let liked = [generator.random_range(0..KINDS), generator.random_range(0..KINDS)];
            let mut chosen = HashSet::new();
            while chosen.len() < CHOICES {
                let season = generator.random_range(0..SEASONS);
                let kind = match generator.random_range(0..10) {
                    0 => generator.random_range(0..KINDS),
                    _ => liked[generator.random_range(0..2)],
                };
                let item = kind + KINDS * generator.random_range(0..ITEMS / KINDS);
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
        let sizes = [USERS, ITEMS, SEASONS];
        let mut builder = Problem::builder(World::entries(&self.train, modes)).sizes(sizes[..modes].to_vec());
        if coupled {
            let kinds = vec![(0..ITEMS).collect(), (0..ITEMS).map(|item| item % KINDS).collect()];
            let kinds = Entries::new(kinds, vec![1.0; ITEMS as usize]).unwrap();
            builder = builder.couple(Coupled::new(1, Absent::Zeros, kinds).unwrap().named("kinds"));
        }
        let problem = builder.build().unwrap();
        let params = Params { ranks: vec![24], threads: 2, seed, ..Params::ials() };
        let model = Training::new(problem.clone(), params).run().unwrap().model;
        let test = World::entries(&self.test, modes);
        let asked = RankingParams { relevant: Some(f64::MIN), ..RankingParams::new(None, None) };
        ranking(&model, Some(&problem), &test, asked).unwrap().measures.ndcg
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
