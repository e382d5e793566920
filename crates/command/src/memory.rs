//! Whether entries are read into memory, or stay on disk.

use std::path::{Path, PathBuf};

use s3cmtf::internal::files::KeptData;
use s3cmtf::internal::{Memory, files};
use s3cmtf::{Algorithm, Entries, MemoryBudget, Model, Params, Problem, StoredProblem, Training};

use crate::args::FitArgs;
use crate::failure::usage;
use crate::{print, problem};

/// What the program takes beside data and model.
const PROGRAM: u64 = 30_000_000;
/// The least that entries are given, however little there is.
const LEAST: u64 = 8_000_000;

/// A problem with its entries in memory, or without.
pub(crate) enum Data {
    Whole(Problem),
    Stored(StoredProblem, MemoryBudget),
}

impl Data {
    /// Reads what the flags say, and keeps to `--memory` as well as can be.
    pub(crate) fn read(args: &FitArgs, params: &Params, init: Option<&Model>) -> anyhow::Result<Self> {
        let Some(most) = args.data.file.memory else {
            return Ok(Data::Whole(problem::read_for(params, &args.tensor, &args.data, init)?));
        };
        let Some(path) = problem::kept(&args.tensor)? else {
            let problem = problem::read_for(params, &args.tensor, &args.data, init)?;
            let Memory { model, entries } = Memory::estimate(&problem, problem.entries().len(), params);
            let needed = (model + entries) as u64 + PROGRAM;
            if needed > most {
                let way = match params.algorithm {
                    Algorithm::Bayes => {
                        "entries can be left on disk if the data are put into one file first: s3cmtf convert"
                    }
                    _ => "--algorithm bayes can leave entries on disk",
                };
                return Err(out_of_memory(most, needed, way));
            }
            return Ok(Data::Whole(problem));
        };
        problem::refuse_flags(path, &args.data)?;
        Data::kept(path, most, params, folder(args))
    }

    /// Opens a converted file. Entries that do not fit are put in order in a folder.
    pub(crate) fn kept(path: &Path, most: u64, params: &Params, folder: PathBuf) -> anyhow::Result<Self> {
        let stored = files::open_problem(path)?;
        let Memory { model, entries } = Memory::estimate(stored.frame(), stored.count(), params);
        let (rest, entries) = (model as u64 + PROGRAM, entries as u64);
        if rest + entries <= most {
            return Ok(Data::Whole(files::load_problem(path)?));
        }
        if params.algorithm != Algorithm::Bayes {
            return Err(out_of_memory(most, rest + entries, "--algorithm bayes can leave entries on disk"));
        }
        if rest + LEAST > most {
            print::note(format_args!(
                "--memory {}: about {} are needed, though entries stay on disk",
                print::bytes(most),
                print::bytes(rest + LEAST)
            ));
        }
        print::note(format_args!(
            "in memory, entries would take {}: they are read from disk instead, in order in {}",
            print::bytes(entries),
            folder.display()
        ));
        let memory = most.saturating_sub(rest).max(LEAST);
        let room = MemoryBudget::new(memory as usize, move || files::scratch(&folder));
        Ok(Data::Stored(stored, room))
    }

    /// The problem, which may be without its entries.
    pub(crate) fn frame(&self) -> &Problem {
        match self {
            Data::Whole(problem) => problem,
            Data::Stored(stored, _) => stored.frame(),
        }
    }

    /// How many entries there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Data::Whole(problem) => problem.entries().len(),
            Data::Stored(stored, _) => stored.count(),
        }
    }

    /// How many of the given entries are training entries, too.
    pub(crate) fn shared(&self, entries: &Entries) -> anyhow::Result<usize> {
        Ok(match self {
            Data::Whole(problem) => problem.shared(entries),
            Data::Stored(stored, _) => stored.shared(entries)?,
        })
    }

    /// What all entries take once they are read again after training, with what a report works out of them.
    pub(crate) fn again(&self, params: &Params) -> u64 {
        let Memory { model, .. } = Memory::estimate(self.frame(), self.count(), params);
        // An index per mode and a value, of 4 bytes each, twice.
        PROGRAM + (model + 8 * (self.frame().order() + 1) * self.count()) as u64
    }

    /// Puts the data aside for the folder that the model will be saved in.
    pub(crate) fn keep(&self, tensor: &[PathBuf], folder: &Path) -> anyhow::Result<KeptData> {
        Ok(match (problem::kept(tensor)?, self) {
            (Some(path), _) => KeptData::there(path)?,
            (None, data) => KeptData::new(data.frame(), folder)?,
        })
    }

    pub(crate) fn training(self, params: Params) -> Training<'static> {
        match self {
            Data::Whole(problem) => Training::new(problem, params),
            Data::Stored(stored, room) => Training::stored(stored, params, room),
        }
    }
}

/// What is said where a run would need too much, before it takes any.
fn out_of_memory(most: u64, needed: u64, way: &str) -> anyhow::Error {
    usage(format!("--memory {}: about {} are needed; {way}", print::bytes(most), print::bytes(needed)))
}

/// The folder for what is put aside.
fn folder(args: &FitArgs) -> PathBuf {
    let beside = || args.out.as_deref().and_then(Path::parent).filter(|folder| folder.is_dir());
    let folder = args.scratch.as_deref().or_else(beside).filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}
