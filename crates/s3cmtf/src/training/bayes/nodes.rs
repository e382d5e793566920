//! A sweep as two nodes would do it: each with its own entries and its own state, and messages in place of shared memory.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use rand::RngExt;

use super::Sampler;
use super::peers::Peers;
use super::random::Streams;
use crate::Error;
use crate::layout::{Piece, Store, Values};
use crate::params::{CheckedParams, Params};
use crate::problem::{Absent, Coupled, Entries, EntrySource, Problem};

const SWEEPS: usize = 6;

struct Node {
    number: usize,
    to: Mutex<Sender<(usize, Vec<u8>)>>,
    from: Mutex<Receiver<(usize, Vec<u8>)>>,
}

impl Peers for Node {
    fn owns(&self, part: usize, of: usize) -> bool {
        // Neither halves nor turns: any share of the parts must do.
        (part * 7 + of) % 3 % 2 == self.number
    }

    fn exchange(&self, own: Vec<(usize, Vec<u8>)>, of: usize) -> Result<Vec<Vec<u8>>, Error> {
        let mut all = vec![Vec::new(); of];
        let others = of - own.len();
        for (part, bytes) in own {
            self.to.lock().unwrap().send((part, bytes.clone())).unwrap();
            all[part] = bytes;
        }
        for _ in 0..others {
            let (part, bytes) = self.from.lock().unwrap().recv().unwrap();
            all[part] = bytes;
        }
        Ok(all)
    }
}

/// A mode of three rows, which have more entries than a piece, one of many rows with few, and a coupled matrix.
fn problem() -> Problem {
    let mut random = Streams { seed: 5, epoch: 0 }.row(0, 0);
    let mut column = |rows: u32| (0..40_000).map(|_| random.random_range(0..rows)).collect::<Vec<u32>>();
    let indices = vec![column(700), column(90), column(3)];
    let values = column(1 << 20).iter().map(|&value| value as f32 / 1e5).collect();
    let cells: Vec<u32> = (0..90).collect();
    let columns = cells.iter().map(|cell| cell % 7).collect();
    let matrix = Entries::new(vec![cells, columns], vec![1.0; 90]).unwrap();
    Problem::builder(Entries::new(indices, values).unwrap())
        .couple(Coupled::new(1, Absent::Zeros, matrix).unwrap())
        .build()
        .unwrap()
}

fn sampler() -> Sampler {
    let mut problem = problem();
    let params = Params { ranks: vec![4, 3, 2], epochs: SWEEPS + 2, ..Params::default() };
    let CheckedParams::Bayes(params) = params.checked(&problem).unwrap() else { panic!("{params:?}") };
    let entries = EntrySource::Memory(problem.take_entries());
    Sampler::new(&problem, entries, &params, None, None).unwrap()
}

/// Makes unusable what the node does not own.
fn forget_others(sampler: &mut Sampler, node: &Node) {
    let lead = sampler.lead;
    for (number, view) in sampler.views.iter_mut().enumerate() {
        let (pieces, strips) = (view.pieces.len(), view.strips.len() - 1);
        let own =
            (0..pieces).filter(|&piece| node.owns(piece, pieces)).map(|piece| view.pieces[piece].runs());
        let mut kept = vec![false; view.runs];
        own.for_each(|runs| kept[runs].fill(true));
        for strip in (0..strips).filter(|&strip| number == lead && node.owns(strip, strips)) {
            kept[view.strips[strip]..view.strips[strip + 1]].fill(true);
        }
        // Pieces and strips together may be all of the lead view.
        assert!(number == lead || kept.iter().any(|kept| !kept), "view {number} has nothing to forget");
        let Store::Memory(arrays) = &mut view.store else { panic!("entries are in memory") };
        let Values::Plain(values) = &mut arrays.values else { panic!("values are all distinct") };
        for (run, _) in kept.iter().enumerate().filter(|(_, kept)| !**kept) {
            values[arrays.starts[run] as usize..arrays.starts[run + 1] as usize].fill(f32::NAN);
        }
    }
}

/// All that nodes must agree on, to the bit.
fn state(sampler: &Sampler) -> Vec<u64> {
    let rows = sampler.factors.iter().flatten().chain(&sampler.core.values);
    let shares = sampler.noise.roots.iter().flatten();
    let columns = sampler.matrices.iter().flat_map(|matrix| matrix.columns());
    let singles = rows.chain(shares).chain(columns).map(|number| u64::from(number.to_bits()));
    singles.chain([sampler.noise.tau.to_bits()]).collect()
}

#[test]
fn two_nodes_that_exchange_messages_come_to_the_bits_of_one() {
    let sweep = |sampler: &mut Sampler| {
        for _ in 0..SWEEPS {
            assert!(sampler.epoch(&AtomicBool::new(false)).unwrap());
        }
    };
    let mut alone = sampler();
    let shared = |piece: &Piece| matches!(piece, Piece::Part { .. });
    assert!(alone.views.iter().any(|view| view.pieces.iter().any(shared)));
    assert!(alone.views[alone.lead].strips.len() > 3);
    sweep(&mut alone);

    let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
    let nodes = [(0, to_second, from_second), (1, to_first, from_first)];
    let states: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let running: Vec<_> = nodes
            .into_iter()
            .map(|(number, to, from)| {
                scope.spawn(move || {
                    let node = Node { number, to: Mutex::new(to), from: Mutex::new(from) };
                    let mut sampler = sampler();
                    forget_others(&mut sampler, &node);
                    sampler.peers = Some(Box::new(node));
                    sweep(&mut sampler);
                    state(&sampler)
                })
            })
            .collect();
        running.into_iter().map(|node| node.join().unwrap()).collect()
    });
    for found in states {
        assert!(found == state(&alone));
    }
}
