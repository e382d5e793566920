//! Runs on entries that are not in memory: they come to the same, bit for bit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use s3cmtf::internal::files;
use s3cmtf::{
    Absent, Blocks, Coupled, Entries, Error, HoldOut, MemoryBudget, Offsets, Params, Problem, Run, Scratch,
    StoredProblem, Training, Visit,
};

/// Entries of which one user has a tenth and most items have few, and a matrix.
fn problem(order: usize) -> Problem {
    // Of four modes, the rows of the last have more entries than are summed at once.
    let count: u64 = if order == 4 { 60_000 } else { 20_000 };
    let sizes = [900, 400, 30, 7];
    let mix =
        |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d);
    let index = |entry: u64, mode: usize| match (mode, entry % 10) {
        (0, 0) => 17,
        _ => (mix(entry * 4 + mode as u64) >> 20) as u32 % sizes[mode],
    };
    let indices: Vec<Vec<u32>> =
        (0..order).map(|mode| (0..count).map(|entry| index(entry, mode)).collect()).collect();
    let value = |entry: usize| {
        let [user, item] = [0, 1].map(|mode| f64::from(indices[mode][entry]));
        (3.0 + (user * 0.7).sin() + (item * 0.3).cos() + 0.5 * (user * item * 0.01).sin()) as f32
    };
    let values = (0..count as usize).map(value).collect();
    let matrix =
        Entries::new(vec![(0..400).collect(), (0..400).map(|item| item % 9).collect()], vec![1.0; 400]);
    Problem::builder(Entries::new(indices, values).unwrap())
        .couple(Coupled::new(1, Absent::Zeros, matrix.unwrap()).unwrap())
        .build()
        .unwrap()
}

fn params() -> Params {
    Params { ranks: vec![4], epochs: 12, seed: 3, threads: 2, ..Params::default() }
}

fn room(memory: usize, folder: &Path) -> MemoryBudget {
    let folder = folder.to_owned();
    MemoryBudget::new(memory, move || files::scratch(&folder))
}

/// What must be the same.
#[derive(PartialEq)]
struct Outcome {
    core: Vec<f32>,
    factors: Vec<Vec<f32>>,
    offsets: Option<Offsets>,
    simple: [Option<f64>; 2],
    rmses: Vec<[Option<f64>; 2]>,
    data: String,
}

fn result(run: &Run) -> Outcome {
    let rmses = run.record.history.iter().map(|epoch| [Some(epoch.train_rmse), epoch.test_rmse]);
    Outcome {
        core: run.model.core().values().to_vec(),
        factors: run.model.factors().iter().map(|factor| factor.values().to_vec()).collect(),
        offsets: run.model.offsets().cloned(),
        simple: [run.record.summary.mean_rmse, run.record.summary.offsets_rmse],
        rmses: rmses.collect(),
        data: serde_json::to_string(&run.record.data).unwrap(),
    }
}

#[test]
fn a_run_from_a_file_in_little_memory_is_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    for order in 2..=4 {
        let problem = problem(order);
        let path = folder.path().join("problem");
        files::save_problem(&problem, &path).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        let whole = result(&Training::new(problem.clone(), params()).run().unwrap());
        // Far below the file, from some to many parts.
        for memory in [size / 4, size / 20, 1000] {
            let stored = files::open_problem(&path).unwrap();
            assert_eq!(stored.count(), problem.entries().len());
            let run = Training::stored(stored, params(), room(memory as usize, folder.path())).run();
            assert!(result(&run.unwrap()) == whole, "{order} modes, {memory} bytes");
        }
    }
}

/// So many entries that the core's steps take a sample of them, and ranks of which tables are the partner's.
fn many() -> (Problem, Params) {
    let (count, sizes) = (180_000, [700, 300, 40]);
    let mix =
        |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d);
    let rows = |mode: u64, size: u64| {
        (0..count).map(|entry| ((mix(entry * 3 + mode) >> 20) % size) as u32).collect()
    };
    let indices: Vec<Vec<u32>> = (0..).zip(sizes).map(|(mode, size)| rows(mode, size)).collect();
    let value =
        |entry: usize| (f64::from(indices[0][entry]) * f64::from(indices[1][entry]) * 0.01).sin() as f32;
    let values = (0..count as usize).map(value).collect();
    let problem = Problem::builder(Entries::new(indices, values).unwrap()).build().unwrap();
    (problem, Params { ranks: vec![18, 17, 3], epochs: 6, ..params() })
}

#[test]
fn a_sample_is_the_same_from_a_file_and_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (problem, params) = many();
    let path = folder.path().join("problem");
    files::save_problem(&problem, &path).unwrap();
    let whole = result(&Training::new(problem.clone(), params.clone()).run().unwrap());
    for threads in [1, 3] {
        let params = Params { threads, ..params.clone() };
        let again = result(&Training::new(problem.clone(), params.clone()).run().unwrap());
        assert!(again == whole, "{threads} threads");
        let stored = files::open_problem(&path).unwrap();
        let run = Training::stored(stored, params, room(300_000, folder.path())).run();
        assert!(result(&run.unwrap()) == whole, "{threads} threads, from a file");
    }
}

#[test]
fn what_is_held_out_is_the_same_too() {
    let folder = tempfile::tempdir().unwrap();
    let problem = problem(3);
    let path = folder.path().join("problem");
    files::save_problem(&problem, &path).unwrap();
    let test =
        Entries::new(vec![vec![17, 899, 5], vec![3, 4, 5], vec![1, 2, 29]], vec![1.0, 2.0, 3.0]).unwrap();
    for (how, patience) in [
        (HoldOut::Random(0.1), None),
        (HoldOut::Leave { mode: 0, count: 3 }, Some(2)),
        (HoldOut::Last { mode: 2, share: 0.2 }, Some(1)),
    ] {
        let params = Params { patience, ..params() };
        let stored = files::open_problem(&path).unwrap();
        let stored = Training::stored(stored, params.clone(), room(17_000, folder.path()));
        let whole = Training::new(problem.clone(), params);
        let [stored, whole] = [stored, whole].map(|training| {
            let training = training.holdout_by(how);
            let training = if patience.is_some() { training.test(test.clone()) } else { training };
            result(&training.run().unwrap())
        });
        assert!(stored == whole, "{how:?}");
    }
}

#[test]
fn a_run_goes_on_from_a_checkpoint_of_the_other_kind() {
    let folder = tempfile::tempdir().unwrap();
    let problem = problem(3);
    let path = folder.path().join("problem");
    files::save_problem(&problem, &path).unwrap();
    let mut kept = Vec::new();
    let every = std::time::Duration::ZERO;
    // Long enough for ranks to be found, and for entries to be held out until epoch 30.
    let params = Params { ranks: Vec::new(), epochs: 44, ..params() };
    let whole = Training::new(problem, params.clone())
        .holdout(0.1)
        .checkpoints(every, |checkpoint| kept.push(checkpoint))
        .run()
        .unwrap();
    let stored = files::open_problem(&path).unwrap();
    let resumed = Training::stored(stored, params, room(17_000, folder.path()))
        .resume(kept.swap_remove(21))
        .run()
        .unwrap();
    assert_eq!(result(&resumed).core, result(&whole).core);
}

/// A scratch that has room for so many calls.
struct Full(Box<dyn Scratch>, Arc<AtomicUsize>);

impl Full {
    fn tick(&self) -> Result<(), Error> {
        let left = self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| Error::Problem("the disk is gone".into()))
    }
}

impl Scratch for Full {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        self.tick()?;
        self.0.append(bytes)
    }

    fn read(&self, bytes: &mut [u8], start: u64) -> Result<(), Error> {
        self.tick()?;
        self.0.read(bytes, start)
    }
}

#[test]
fn a_disk_that_fails_at_any_moment_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("problem");
    files::save_problem(&problem(3), &path).unwrap();
    let run = |calls: usize| {
        let left = Arc::new(AtomicUsize::new(calls));
        let at = folder.path().to_owned();
        let make = {
            let left = Arc::clone(&left);
            move || Ok(Box::new(Full(files::scratch(&at)?, Arc::clone(&left))) as Box<dyn Scratch>)
        };
        let stored = files::open_problem(&path).unwrap();
        let training =
            Training::stored(stored, Params { epochs: 3, ..params() }, MemoryBudget::new(100_000, make));
        (training.run(), left.load(Ordering::Relaxed))
    };
    let plenty = 1_000_000;
    let (whole, left) = run(plenty);
    whole.unwrap();
    let needed = plenty - left;
    for calls in (0..needed).step_by(needed / 25) {
        assert_eq!(run(calls).0.unwrap_err().to_string(), "the disk is gone", "after {calls} of {needed}");
    }
    run(needed).0.unwrap();
}

/// Entries that are not what they say.
struct Odd {
    announced: usize,
    row: u32,
    value: f32,
}

impl Blocks for Odd {
    fn count(&self) -> usize {
        self.announced
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        visit(&[&[0, self.row], &[0, 1]], &[1.0, self.value])
    }
}

#[test]
fn entries_that_fit_no_problem_are_refused() {
    let modes = || vec![s3cmtf::Mode::new("user", 3), s3cmtf::Mode::new("item", 2)];
    let error = |announced: usize, row: u32, value: f32| {
        let made = StoredProblem::new(modes(), Arc::new(Odd { announced, row, value }), vec![], None);
        made.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(error(2, 2, 1.0), "");
    assert_eq!(error(2, 3, 1.0), "the tensor: row 3 of user, which has 3 rows");
    assert_eq!(error(2, 2, f32::NAN), "the tensor: a value is not finite");
    assert_eq!(error(3, 2, 1.0), "2 entries where 3 were announced");
}

#[test]
fn a_changed_file_is_refused_and_so_is_sgd() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("problem");
    files::save_problem(&problem(3), &path).unwrap();
    let stored = files::open_problem(&path).unwrap();
    let sgd = Params { algorithm: s3cmtf::Algorithm::Sgd, ..params() };
    let error = Training::stored(stored, sgd, room(1000, folder.path())).run().err().unwrap();
    assert_eq!(error.to_string(), "algorithm should be bayes, where entries are not in memory, but is sgd");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 50;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = files::open_problem(&path).err().unwrap().to_string();
    assert!(error.contains("is damaged: array"), "{error}");
}
