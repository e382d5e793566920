//! Nodes that share a run come to the model that one machine comes to, to the bit.

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use s3cmtf::{
    Absent, Checkpoint, Coupled, Entries, Error, Exchange, Model, Params, Problem, Run, Stop, Training,
};

/// Messages by way of shared memory: what each node has for each.
struct Table {
    messages: Mutex<Vec<Vec<Vec<u8>>>>,
    barrier: Barrier,
}

/// One of several nodes in one process.
struct Node {
    number: usize,
    nodes: usize,
    table: Arc<Table>,
}

fn nodes(count: usize) -> Vec<Arc<dyn Exchange>> {
    let messages = Mutex::new(vec![Vec::new(); count]);
    let table = Arc::new(Table { messages, barrier: Barrier::new(count) });
    let node =
        |number| Arc::new(Node { number, nodes: count, table: Arc::clone(&table) }) as Arc<dyn Exchange>;
    (0..count).map(node).collect()
}

impl Exchange for Node {
    fn node(&self) -> usize {
        self.number
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn all_gather(&self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        self.all_to_all(vec![message; self.nodes])
    }

    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        self.table.messages.lock().expect("no node panics")[self.number] = messages;
        self.table.barrier.wait();
        let all = self.table.messages.lock().expect("no node panics");
        let received = all.iter().map(|messages| messages[self.number].clone()).collect();
        drop(all);
        self.table.barrier.wait();
        Ok(received)
    }
}

/// What is factorized: rows of each mode, how many entries, and the kinds of coupled matrices.
#[derive(Clone, Debug)]
struct World {
    sizes: Vec<u32>,
    entries: usize,
    kinds: Vec<Absent>,
    seed: u64,
}

impl World {
    fn number(&self, of: u64) -> u64 {
        let z = (self.seed ^ of.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20
    }

    /// All entries; some rows have many, and every id has one.
    fn entries(&self) -> (Vec<Vec<u32>>, Vec<f32>) {
        let id = |mode: usize, entry: usize| {
            let (size, number) = (self.sizes[mode], self.number((entry * 8 + mode) as u64));
            let any = if number.is_multiple_of(3) { 0 } else { (number >> 8) % u64::from(size) };
            if entry < size as usize { entry as u32 } else { any as u32 }
        };
        let list = |mode: usize| (0..self.entries).map(|entry| id(mode, entry)).collect();
        let lists: Vec<Vec<u32>> = (0..self.sizes.len()).map(list).collect();
        let value = |entry: usize| {
            let signal: f64 = lists.iter().map(|list| f64::from(list[entry] % 7)).product();
            (signal.sin() + self.number(entry as u64) as f64 / 1e14) as f32
        };
        let values = (0..self.entries).map(value).collect();
        (lists, values)
    }

    fn coupled(&self) -> Vec<Coupled> {
        let matrix = |(mode, &kind): (usize, &Absent)| {
            let rows: Vec<u32> = (0..self.sizes[mode]).flat_map(|row| [row, row]).collect();
            let size = if kind == Absent::Graph { self.sizes[mode] } else { 5 };
            let other = |place: usize| ((place as u32 * 13 + 1 + place as u32 / 2) % size, place / 2);
            let columns: Vec<u32> = (0..rows.len()).map(|place| other(place).0).collect();
            let (mut cells, mut kept) = (vec![Vec::new(), Vec::new()], Vec::new());
            for (&row, &column) in rows.iter().zip(&columns) {
                let is_there = |(a, b): (&u32, &u32)| *a == row && *b == column;
                let twice = cells[0].iter().zip(&cells[1]).any(is_there);
                if !(twice || kind == Absent::Graph && row >= column) {
                    cells[0].push(row);
                    cells[1].push(column);
                    kept.push(if kind == Absent::Missing { (row + column) as f32 } else { 1.0 });
                }
            }
            Coupled::new(mode, kind, Entries::new(cells, kept).expect("cells")).expect("a matrix")
        };
        self.kinds.iter().enumerate().map(matrix).collect()
    }

    /// The problem with those entries that `is_own` says, in the order that `places` gives.
    fn builder(&self, places: &[usize]) -> s3cmtf::ProblemBuilder {
        let (lists, values) = self.entries();
        let lists = lists.iter().map(|list| places.iter().map(|&place| list[place]).collect()).collect();
        let values = places.iter().map(|&place| values[place]).collect();
        let builder =
            Problem::builder(Entries::new(lists, values).expect("entries")).sizes(self.sizes.clone());
        self.coupled().into_iter().fold(builder, s3cmtf::ProblemBuilder::couple)
    }

    /// The model of one machine.
    fn alone(&self, params: &Params, order: &[usize], holdout: Option<f64>) -> Run {
        let training = Training::new(self.builder(order).build().expect("a problem"), params.clone());
        match holdout {
            Some(share) => training.holdout(share).run().expect("a run"),
            None => training.run().expect("a run"),
        }
    }

    /// What each of several nodes comes to, the first of whom keeps checkpoints.
    fn shared(
        &self,
        params: &Params,
        count: usize,
        holdout: Option<f64>,
        resume: Option<&Checkpoint>,
    ) -> (Vec<Run>, Vec<Checkpoint>) {
        let kept = Mutex::new(Vec::new());
        let run = |exchange: Arc<dyn Exchange>| {
            let node = exchange.node();
            let is_own = |place: &usize| self.number(*place as u64 + 77) as usize % count == node;
            let places: Vec<usize> = (0..self.entries).rev().filter(is_own).collect();
            let problem =
                self.builder(&places).share(&exchange).expect("a share").build().expect("a problem");
            let params = Params { threads: 1 + node % 2, ..params.clone() };
            let training = Training::new(problem, params).share(exchange);
            let training = holdout.into_iter().fold(training, Training::holdout);
            let training = resume.cloned().into_iter().fold(training, Training::resume);
            let keep = |checkpoint| kept.lock().expect("no node panics").push(checkpoint);
            training.checkpoints(Duration::ZERO, keep).run().expect("a run")
        };
        let runs = std::thread::scope(|scope| {
            let running: Vec<_> = nodes(count).into_iter().map(|node| scope.spawn(|| run(node))).collect();
            running.into_iter().map(|node| node.join().expect("a node")).collect()
        });
        (runs, kept.into_inner().expect("no node panics"))
    }
}

/// All numbers of a model, to the bit.
fn bits(model: &Model) -> Vec<u32> {
    let factors = model.factors().iter().flat_map(|factor| factor.values());
    let coupled = model.coupled().iter().flat_map(|coupled| coupled.factor.values());
    let uncertainty = model.uncertainty().into_iter().flat_map(|known| {
        let variances = known.variances.iter().flat_map(|factor| factor.values());
        variances.chain(known.shares.iter().flatten())
    });
    let offsets = model.offsets().expect("every model has offsets");
    let offsets = offsets.rows.iter().flatten().chain(&offsets.lambdas).chain([&offsets.mean]);
    let choice = model.choice().into_iter().flat_map(|choice| choice.factors().iter());
    let choice = choice.flat_map(|factor| factor.values());
    let numbers = model.core().values().iter().chain(factors).chain(coupled).chain(uncertainty);
    numbers.chain(offsets).chain(choice).map(|number| number.to_bits()).collect()
}

fn params(ranks: Vec<usize>, epochs: usize) -> Params {
    Params { ranks, epochs, threads: 2, ..Params::default() }
}

/// Modes of many rows with few entries, of rows with more than a piece, and of one row; all kinds of matrices.
fn large() -> World {
    let kinds = vec![Absent::Zeros, Absent::Missing, Absent::Graph];
    World { sizes: vec![700, 150, 3], entries: 40_000, kinds, seed: 5 }
}

#[test]
fn any_number_of_nodes_comes_to_the_bits_of_one_machine() {
    let world = large();
    // Long enough for entries to be held out, to come back, and for draws to count.
    let params = params(vec![4, 3, 2], 44);
    let forth: Vec<usize> = (0..world.entries).collect();
    let back: Vec<usize> = forth.iter().rev().copied().collect();
    let alone = world.alone(&params, &forth, None);
    let expected = bits(&alone.model);
    assert!(alone.model.choice().is_some(), "too many cells have a value");
    assert!(expected == bits(&world.alone(&params, &back, None).model), "the order of entries");
    for count in [1, 2, 3, 5] {
        let (runs, kept) = world.shared(&params, count, None, None);
        for run in &runs {
            assert!(expected == bits(&run.model), "{count} nodes");
            assert_eq!(run.record.summary.train_rmse, alone.record.summary.train_rmse);
            assert_eq!(run.record.data.fingerprint, alone.record.data.fingerprint);
        }
        // Any other number of nodes goes on where these were: before entries have come back, and after draws have counted.
        for epoch in [10, 40] {
            let (runs, _) = world.shared(&params, 4 - count % 3, None, Some(&kept[epoch]));
            assert!(expected == bits(&runs[0].model), "{count} nodes, resumed after {epoch} epochs");
        }
    }
}

#[test]
fn a_sample_of_many_entries_is_the_same_for_any_number_of_nodes() {
    // And ranks of which tables are the partner's.
    let world = World { sizes: vec![700, 150, 40], entries: 180_000, kinds: Vec::new(), seed: 6 };
    let params = params(vec![18, 17, 3], 6);
    let places: Vec<usize> = (0..world.entries).collect();
    let expected = bits(&world.alone(&params, &places, None).model);
    for count in [2, 3] {
        let (runs, _) = world.shared(&params, count, None, None);
        assert!(runs.iter().all(|run| bits(&run.model) == expected), "{count} nodes");
    }
}

#[test]
fn entries_that_are_held_out_are_the_same_for_any_number_of_nodes() {
    let world = World { kinds: Vec::new(), entries: 20_000, ..large() };
    let params = Params { patience: Some(3), ..params(vec![3, 3, 2], 40) };
    let places: Vec<usize> = (0..world.entries).collect();
    let alone = world.alone(&params, &places, Some(0.2));
    let (runs, _) = world.shared(&params, 3, Some(0.2), None);
    assert_eq!(runs[2].record.summary.best_epoch, alone.record.summary.best_epoch);
    assert_eq!(runs[1].record.validation, alone.record.validation);
    // What every model is compared with is measured on the entries of all nodes.
    assert!(alone.record.summary.offsets_rmse.is_some());
    assert_eq!(runs[1].record.summary.offsets_rmse, alone.record.summary.offsets_rmse);
    assert_eq!(runs[1].record.summary.mean_rmse, alone.record.summary.mean_rmse);
    assert!(bits(&alone.model) == bits(&runs[0].model));
}

#[test]
fn nodes_end_by_a_tolerance_where_one_machine_does() {
    let world = World { kinds: Vec::new(), entries: 20_000, ..large() };
    let params = Params { tolerance: Some(0.01), ..params(vec![3, 3, 2], 100) };
    let places: Vec<usize> = (0..world.entries).collect();
    let alone = world.alone(&params, &places, None);
    let epochs = alone.record.summary.epochs;
    assert!(alone.record.summary.stop == Stop::Tolerance && epochs < 100, "{epochs}");
    let (runs, kept) = world.shared(&params, 3, None, None);
    assert!(
        runs.iter().all(|run| run.record.summary.epochs == epochs && bits(&run.model) == bits(&alone.model))
    );
    let (runs, _) = world.shared(&params, 2, None, Some(&kept[epochs - 3]));
    assert!(bits(&runs[1].model) == bits(&alone.model), "resumed");
}

#[test]
fn what_nodes_do_not_have_is_refused_by_name() {
    let world = World { kinds: Vec::new(), sizes: vec![9, 9], entries: 50, seed: 1 };
    let places: Vec<usize> = (0..50).collect();
    let refused = |params: Params| {
        let exchange = nodes(1).remove(0);
        let problem = world.builder(&places).share(&exchange).unwrap().build().unwrap();
        Training::new(problem, params).share(exchange).run().unwrap_err().to_string()
    };
    assert!(refused(Params::sgd()).contains("bayes, where nodes share the entries"));
    let counts = Params { likelihood: s3cmtf::Likelihood::Counts, ..Params::default() };
    assert!(refused(counts).contains("gaussian, where nodes share the entries"));
    let (lists, values) = world.entries();
    let unsized_modes = Problem::builder(Entries::new(lists, values).unwrap());
    let error = unsized_modes.share(&nodes(1).remove(0)).unwrap().build().unwrap_err();
    assert!(error.to_string().contains("declare the size of each mode"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn nodes_come_to_the_bits_of_one_machine_whatever_the_problem(
        sizes in proptest::collection::vec(1u32..60, 2..5),
        entries in 60usize..30_000,
        kinds in proptest::sample::subsequence(vec![Absent::Zeros, Absent::Missing], 0..3),
        count in 1usize..6,
        seed in 0u64..1000,
    ) {
        let world = World { kinds, sizes, entries, seed };
        let ranks = world.sizes.iter().map(|&size| 2 + (size as usize + 1) % 3).collect();
        let params = params(ranks, 7);
        let places: Vec<usize> = (0..entries).collect();
        let (runs, _) = world.shared(&params, count, None, None);
        prop_assert!(bits(&world.alone(&params, &places, None).model) == bits(&runs[0].model));
    }
}
