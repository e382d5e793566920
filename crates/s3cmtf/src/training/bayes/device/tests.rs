//! Whole runs on an emulated device beside those of this machine's own sampler.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use s3cmtf_cuda::{Emulator, Limited};

use super::super::Sampler;
use super::super::engine::BayesEngine;
use super::super::start::Prepared;
use super::{Begun, DeviceEngine};
use crate::Error;
use crate::model::{Model, locate};
use crate::nodes::ALONE;
use crate::params::{CheckedParams, Params};
use crate::problem::{Absent, Coupled, Entries, EntrySource, Problem};
use crate::training::Checkpoint;
use crate::training::checkpoint::{CheckpointMeta, Checkpointer};
use crate::training::engine::Engine;
use crate::training::job::{FitJob, FitResult, RunContext, Sets};
use crate::training::run::Stop;
use crate::training::train::train;
use crate::world::{World, WorldParams, generate};

/// Where a run is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    Host,
    Device,
    /// A device that has so many bytes.
    Small(usize),
}

/// What is coupled.
enum Couple {
    Nothing,
    /// A matrix whose columns have effects on rows.
    Effects,
    /// A graph, and a matrix with a weight of its own.
    Terms,
}

#[derive(Clone)]
struct Case {
    problem: Problem,
    entries: EntrySource,
    test: Entries,
    params: Params,
}

impl Case {
    fn new(params: Params, coupled: Couple) -> Self {
        let shape =
            WorldParams { users: 120, businesses: 60, ratings: 2400, noise: 0.4, ..WorldParams::default() };
        let World { ratings, test, categories, friends, .. } = generate(&shape);
        let mut builder = Problem::builder(ratings).sizes(vec![120, 60, 24]);
        let categories = || Coupled::new(1, Absent::Zeros, categories.clone()).unwrap();
        match coupled {
            Couple::Nothing => {}
            Couple::Effects => builder = builder.couple(categories()),
            Couple::Terms => {
                let friends = Coupled::new(0, Absent::Graph, friends).unwrap();
                builder = builder.couple(friends).couple(categories().weighted(1.0));
            }
        }
        let mut problem = builder.build().unwrap();
        let entries = EntrySource::Memory(problem.take_entries());
        let test = locate(problem.modes(), &test).unwrap();
        Case { problem, entries, test, params }
    }

    /// Runs on a device, from a checkpoint if there is one; returns the checkpoint after so many epochs, too.
    fn run(&self, on: On, from: Option<Checkpoint>, keep: usize) -> (FitResult, Option<Checkpoint>) {
        let checked = self.params.checked(&self.problem).unwrap();
        let CheckedParams::Bayes(own) = &checked else { panic!("{checked:?}") };
        let about = CheckpointMeta::new(None, self.params.clone(), None, Default::default());
        let mut kept = None;
        let save = |checkpoint: Checkpoint| {
            if checkpoint.about.history.len() == keep {
                kept = Some(checkpoint);
            }
        };
        let (never, observe) = (AtomicBool::new(false), &mut |_: &_| {});
        let mut context = RunContext {
            params: &checked,
            warm: None,
            budget: None,
            interrupt: &never,
            told: &never,
            nodes: &ALONE,
            observe,
            checkpointer: Checkpointer::new(Some((Duration::ZERO, Box::new(save))), from, about, &ALONE)
                .unwrap(),
        };
        let sets = || Sets { reported: Some(EntrySource::Memory(self.test.clone())), watched: None };
        let job =
            FitJob { problem: &self.problem, entries: self.entries.clone(), params: &checked, sets: sets() };
        let mut engine: Box<dyn Engine> = match on {
            On::Host => Box::new(BayesEngine::new(job, own, &context).unwrap()),
            On::Device => {
                let prepared = Prepared::new(&self.problem, &self.entries, own, None, &ALONE).unwrap();
                let begun = Begun::new((Emulator, "emulator".to_owned()), prepared, &job).unwrap();
                Box::new(begun.engine(job.entries).unwrap())
            }
            On::Small(bytes) => {
                let prepared = Prepared::new(&self.problem, &self.entries, own, None, &ALONE).unwrap();
                Box::new(small(bytes, prepared, &job).unwrap().engine(job.entries).unwrap())
            }
        };
        let result = train(engine.as_mut(), checked.common(), &mut context).unwrap();
        drop(engine);
        drop(context);
        (result, kept)
    }

    fn predict(&self, model: &Model) -> Vec<f32> {
        model.predict_located(self.test.clone(), true)
    }
}

/// What begins on a device of so many bytes.
fn small(bytes: usize, prepared: Prepared, job: &FitJob<'_>) -> Result<Begun<Limited<Emulator>>, Error> {
    Begun::new((Limited::new(Emulator, bytes), "emulator".to_owned()), prepared, job)
}

/// The root of the mean squared difference.
fn apart(a: &[f32], b: &[f32]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (squares / a.len() as f64).sqrt()
}

/// Both samplers draw from the same distribution: their models differ no more than those of seeds of one do.
fn agree(case: &Case) {
    let (device, _) = case.run(On::Device, None, 0);
    assert_eq!(device.device, ("emulator".to_owned(), None));
    let of_seed = |seed: u64| {
        let other = Case { params: Params { seed, ..case.params.clone() }, ..case.clone() };
        other.run(On::Host, None, 0).0
    };
    let hosts: Vec<FitResult> = (1..=8).map(of_seed).collect();
    let host = &hosts[0];
    let lies_between = |of: &dyn Fn(&FitResult) -> f64, slack: f64| {
        let (own, rmses) = (of(&device), hosts.iter().map(of).collect::<Vec<f64>>());
        let least = rmses.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rmses.iter().copied().fold(0.0, f64::max);
        assert!(own > least * (1.0 - slack) && own < most * (1.0 + slack), "{own}, and the host's {rmses:?}");
    };
    lies_between(&|result| result.test_rmse.unwrap(), 0.01);
    lies_between(&|result| result.train_rmse, 0.02);
    let own = case.predict(&device.model);
    let values: Vec<Vec<f32>> = hosts.iter().map(|host| case.predict(&host.model)).collect();
    let devices = values.iter().map(|values| apart(&own, values)).sum::<f64>() / values.len() as f64;
    let pairs = (0..values.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let seeds: Vec<f64> = pairs.map(|(a, b)| apart(&values[a], &values[b])).collect();
    let mean = seeds.iter().sum::<f64>() / seeds.len() as f64;
    assert!(devices < 1.5 * mean, "{devices} from the host's on average, whose seeds are {seeds:?} apart");
    let [device_std, host_std] = [&device, host].map(|result| result.model.std_located(&case.test).unwrap());
    let mean = |stds: &[f32]| stds.iter().sum::<f32>() / stds.len() as f32;
    let ratio = mean(&device_std) / mean(&host_std);
    assert!((ratio - 1.0).abs() < 0.1, "standard deviations of {ratio} times the host's");
}

#[test]
fn a_device_comes_to_the_model_of_the_host() {
    agree(&Case::new(Params { ranks: vec![4, 4, 3], epochs: 80, ..Params::default() }, Couple::Nothing));
}

#[test]
fn a_device_comes_to_the_model_of_the_host_with_a_coupled_matrix() {
    agree(&Case::new(Params { ranks: vec![4, 4, 3], epochs: 80, ..Params::default() }, Couple::Effects));
}

#[test]
fn a_device_comes_to_the_model_of_the_host_with_a_graph_and_a_weight() {
    agree(&Case::new(Params { ranks: vec![4, 4, 3], epochs: 80, ..Params::default() }, Couple::Terms));
}

#[test]
fn a_device_without_room_for_entries_comes_to_the_model_of_one_with_room() {
    let params = Params { ranks: vec![4, 4, 3], epochs: 80, ..Params::default() };
    let case = Case::new(params, Couple::Terms);
    let checked = case.params.checked(&case.problem).unwrap();
    let CheckedParams::Bayes(own) = &checked else { panic!("{checked:?}") };
    // Smaller and smaller ones, until one has no room.
    let (mut bytes, mut rooms) = (4_000_000, Vec::new());
    while rooms.last() != Some(&true) {
        bytes = bytes * 19 / 20;
        let prepared = Prepared::new(&case.problem, &case.entries, own, None, &ALONE).unwrap();
        let sets = Sets { reported: Some(EntrySource::Memory(case.test.clone())), watched: None };
        let job = FitJob { problem: &case.problem, entries: case.entries.clone(), params: &checked, sets };
        rooms.push(small(bytes, prepared, &job).unwrap().there.chain.parts().is_some());
    }
    assert!(rooms.len() > 1, "{bytes}");
    let (large, _) = case.run(On::Device, None, 0);
    let (small, kept) = case.run(On::Small(bytes), None, 45);
    assert_eq!(large.device.1, None);
    let note = small.device.1.clone().unwrap();
    assert!(note.contains("no room for all entries") && note.contains("in one part"), "{note}");
    let [found, expected] = [&small, &large].map(|result| result.test_rmse.unwrap());
    assert!((found / expected - 1.0).abs() < 0.02, "{found} and {expected}");
    // And goes on.
    let (same, _) = case.run(On::Small(bytes), kept, 0);
    assert_eq!(same.model, small.model);
}

#[test]
fn a_device_goes_on_with_fewer_concepts() {
    let case = Case::new(Params { ranks: vec![5], epochs: 20, ..Params::default() }, Couple::Effects);
    let checked = case.params.checked(&case.problem).unwrap();
    let CheckedParams::Bayes(own) = &checked else { panic!("{checked:?}") };
    let prepared = Prepared::new(&case.problem, &case.entries, own, None, &ALONE).unwrap();
    let sets = Sets { reported: Some(EntrySource::Memory(case.test.clone())), watched: None };
    let job = FitJob { problem: &case.problem, entries: case.entries.clone(), params: &checked, sets };
    let begun = Begun::new((Emulator, "emulator".to_owned()), prepared, &job).unwrap();
    let mut engine = begun.engine(job.entries).unwrap();
    let go = |engine: &mut DeviceEngine<Emulator>| {
        (1..=10).for_each(|epoch| assert!(engine.epoch(epoch, &AtomicBool::new(false)).unwrap()));
        engine.evaluate().unwrap()
    };
    go(&mut engine);
    engine.get().unwrap();
    engine.sampler.reduce(&[4, 3, 2]);
    engine.resize().unwrap();
    let device = go(&mut engine).train;
    assert_eq!(engine.model().unwrap().core().ranks(3), [4, 3, 2]);
    let mut host = Sampler::new(&case.problem, case.entries.clone(), own, None, None, &ALONE).unwrap();
    (0..10).for_each(|_| assert!(host.epoch(&AtomicBool::new(false)).unwrap()));
    host.reduce(&[4, 3, 2]);
    (0..10).for_each(|_| assert!(host.epoch(&AtomicBool::new(false)).unwrap()));
    let (host, _) = host.rmse(&[]).unwrap();
    assert!((device / host - 1.0).abs() < 0.05, "{device} on the device, {host} on the host");
}

#[test]
fn a_device_ends_by_a_tolerance() {
    let params = Params { ranks: vec![4, 4, 3], epochs: 100, tolerance: Some(0.01), ..Params::default() };
    let case = Case::new(params, Couple::Nothing);
    let (whole, kept) = case.run(On::Device, None, 57);
    assert!(whole.stop == Stop::Tolerance && whole.history.len() < 100, "{} epochs", whole.history.len());
    let (same, _) = case.run(On::Device, kept, 0);
    assert_eq!(same.model, whole.model);
    let (host, _) = case.run(On::Host, None, 0);
    assert!(host.stop == Stop::Tolerance && host.history.len().abs_diff(whole.history.len()) <= 20);
}

#[test]
fn either_goes_on_from_a_checkpoint_of_the_other() {
    let case = Case::new(Params { ranks: vec![4], epochs: 60, ..Params::default() }, Couple::Effects);
    // While entries are held out; when all take part; and when draws count.
    for at in [25, 40, 55] {
        let (whole, kept) = case.run(On::Device, None, at);
        let (same, _) = case.run(On::Device, kept.clone(), 0);
        assert_eq!(same.model, whole.model, "gone on from epoch {at}");
        let (other, _) = case.run(On::Host, kept, 0);
        let (rmse, expected) = (other.test_rmse.unwrap(), whole.test_rmse.unwrap());
        assert!((rmse / expected - 1.0).abs() < 0.03, "{rmse} on the host from epoch {at}, {expected}");
    }
    let (whole, kept) = case.run(On::Host, None, 55);
    let (other, _) = case.run(On::Device, kept, 0);
    let (rmse, expected) = (other.test_rmse.unwrap(), whole.test_rmse.unwrap());
    assert!((rmse / expected - 1.0).abs() < 0.03, "{rmse} on the device from epoch 55, {expected}");
}
