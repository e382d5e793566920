//! The search and what follows it as an engine: an epoch is a sweep.

use std::sync::atomic::AtomicBool;

use hashbrown::HashSet;
use s3cmtf_kernels::Level;

use super::choices::{Choices, count, usual_lambda};
use super::held_out::{HeldOut, is_better};
use super::new_users::weights;
use super::search::{Asked, NUMBERS, Next, Search};
use super::setting::Setting;
use super::sweep::{Objective, State};
use crate::Error;
use crate::model::{Choice, Core, Factor, Model};
use crate::params::{CommonParams, IalsParams};
use crate::problem::{Entries, EntrySource, HoldOut};
use crate::training::checkpoint::StateArrays;
use crate::training::coupled::Scaled;
use crate::training::engine::{Best, Engine, Rmses};
use crate::training::frame::{frame, known_rows, narrow};
use crate::training::job::{FitJob, RunContext};
use crate::training::test_set::TestSet;

/// The share of choices that settings are tried on.
const HELD: f64 = 0.1;
/// Fewer users with some of them say nothing.
const FEWEST: usize = 20;
/// Sweeps that are left for all choices when the search is over.
const LAST: usize = 5;

/// A problem, and the state that is being improved.
pub(in crate::training) struct IalsEngine {
    rank: usize,
    level: Level,
    confidence: f32,
    choices: Choices,
    matrices: Vec<Scaled>,
    setting: Setting,
    state: State,
    /// As long as settings are tried: on what, which, and the best state so far.
    trial: Option<Trial>,
    reported: Option<TestSet>,
    frame: Model,
}

struct Trial {
    /// The entries that take part, and those that are held out.
    entries: [Entries; 2],
    held: HeldOut,
    search: Search,
    /// The best state, and what its users gain.
    best: Option<(State, Vec<f64>)>,
}

/// The choices that take part at first, and what is tried on others.
struct Parts {
    choices: Choices,
    trial: Option<Trial>,
}

impl Parts {
    /// Holds choices out to find a setting, if there is one to be found and there is room for it. Modes of `times` are those of
    /// times that do not come again. There are no more than two copies of the entries at a time, which are what takes memory.
    fn new(
        (entries, pairs): (Entries, Entries),
        rows: &[usize],
        confidence: f32,
        times: Vec<usize>,
        asked: Asked,
        params: &CommonParams,
    ) -> Result<Self, Error> {
        let [users, items] = Choice::MODES;
        let choices = |entries: &Entries| Choices::new(entries, rows, users, items, confidence);
        let search = Search::new(asked).filter(|search| search.len() + LAST <= params.epochs);
        // Too few to hold any out.
        let search = search.filter(|_| pairs.len() as f64 * HELD >= FEWEST as f64);
        let Some(search) = search else {
            drop(pairs);
            return Ok(Parts { choices: choices(&entries), trial: None });
        };
        let entries = split(entries, pairs, params.seed)?;
        let part = choices(&entries[0]);
        let held = HeldOut::new(&entries[1], &part, times);
        if held.users() >= FEWEST {
            return Ok(Parts { choices: part, trial: Some(Trial { entries, held, search, best: None }) });
        }
        drop((part, held));
        Ok(Parts { choices: choices(&joined(entries)), trial: None })
    }
}

impl IalsEngine {
    pub(in crate::training) fn new(
        job: FitJob<'_>,
        params: &IalsParams,
        context: &RunContext<'_, '_>,
    ) -> Result<Self, Error> {
        let FitJob { problem, entries, sets, .. } = job;
        let entries = entries.into_entries()?;
        let IalsParams { common, confidence, .. } = params;
        let (rank, level) = (common.ranks[0], common.level);
        let rows: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
        let matrices: Vec<Scaled> = problem
            .coupled()
            .iter()
            .map(|matrix| Scaled::new(matrix, rows[matrix.mode()], matrix.weight().unwrap_or(1.0), 1.0))
            .collect();
        let frame = Model { range: [0.0, 1.0], ..frame(problem, &entries, 1.0) };
        // What was chosen in one circumstance is not recommended in another, so that all choices of a pair are held out or none. And a
        // mode that says nothing changes nothing, the choices that settings are tried on included.
        let pairs = entries.of_first_modes(Choice::MODES.len());
        let asked = Asked {
            lambda: if params.lambda_reg > 0.0 {
                Ok(params.lambda_reg.into())
            } else {
                Err(usual_lambda(&Choice::MODES.map(|mode| count(&pairs, mode, rows[mode])), pairs.len()))
            },
            absent: params.absent_weight.map(f64::from),
            contexts: problem.order() > 2,
            matrices: !matrices.is_empty(),
        };
        let passes = |&mode: &usize| problem.modes()[mode].time_bin().is_some_and(|bin| !bin.recurs());
        let times = (0..rows.len()).filter(|mode| !Choice::MODES.contains(mode)).filter(passes).collect();
        let parts = Parts::new((entries, pairs), &rows, *confidence, times, asked, common)?;
        let mut state = State::start(&parts.choices, rank, common.seed);
        let columns = |scaled: &Scaled| vec![0.0; scaled.matrix.columns * rank];
        state.columns = matrices.iter().map(columns).collect();
        let mut engine = IalsEngine {
            rank,
            level,
            confidence: *confidence,
            setting: parts.trial.as_ref().map_or(asked.usual(), |trial| trial.search.setting),
            state,
            trial: parts.trial,
            reported: None,
            frame,
            matrices,
            choices: parts.choices,
        };
        if let Some(warm) = context.warm {
            engine.take_over(warm)?;
        }
        if let Some(reported) = sets.reported {
            let chosen = reported.into_entries()?.chosen();
            engine.reported = Some(TestSet::new(&engine.model()?, chosen, level));
        }
        Ok(engine)
    }

    /// Starts from the rows of a model.
    fn take_over(&mut self, warm: &Model) -> Result<(), Error> {
        let Core::Diagonal(core) = &warm.core else {
            return Err(Error::param("algorithm", "that of the model to start from", "ials"));
        };
        // Circumstances whose rows are 1 stay so: choices are taken up without them.
        let fixed: Vec<usize> =
            self.choices.contexts().filter(|_| self.setting.context.is_infinite()).collect();
        for mode in (0..self.state.factors.len()).filter(|mode| !fixed.contains(mode)) {
            self.state.factors[mode] = known_rows(&self.frame, warm, mode).into_iter().map(narrow).collect();
        }
        for row in self.state.factors[self.choices.users].chunks_exact_mut(self.rank) {
            row.iter_mut().zip(core).for_each(|(value, core)| *value *= core);
        }
        Ok(())
    }

    fn objective(&self) -> Objective<'_> {
        let IalsEngine { choices, matrices, setting, rank, level, .. } = self;
        let choices = choices.under(*setting);
        Objective { choices, matrices, setting: *setting, rank: *rank, level: *level }
    }

    /// Goes on with the next setting, or with all choices.
    fn next(&mut self) {
        let Some(trial) = &mut self.trial else { return };
        let mut gains = Vec::new();
        let (next, better) = trial.search.swept(|| {
            gains = trial.held.gains(&self.choices, &self.state, self.rank);
            trial.best.as_ref().is_none_or(|(_, best)| is_better(&gains, best))
        });
        if better {
            trial.best = Some((self.state.clone(), gains));
        }
        if next != Next::Sweep
            && let Some((best, _)) = &trial.best
        {
            self.state = best.clone();
        }
        self.setting = trial.search.setting;
        if next == Next::Over {
            self.setting = trial.search.best();
            self.join();
        }
    }

    /// Lets those choices take part that were held out.
    fn join(&mut self) {
        let Some(Trial { entries, .. }) = self.trial.take() else { return };
        let entries = joined(entries);
        let Choices { users, items, .. } = self.choices;
        let rows = std::mem::take(&mut self.choices.rows);
        // There may be no room for both.
        self.choices = Choices::none();
        self.choices = Choices::new(&entries, &rows, users, items, self.confidence);
    }
}

impl Engine for IalsEngine {
    fn epoch(&mut self, _epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error> {
        let mut state = self.state.clone();
        let finished = self.objective().sweep(&mut state, interrupt)?;
        self.state = state;
        if finished {
            self.next();
        }
        Ok(finished)
    }

    fn evaluate(&mut self) -> Result<Rmses, Error> {
        let objective = self.objective();
        let train = (objective.squared_errors(&self.state) / objective.choices.len().max(1) as f64).sqrt();
        let model = self.reported.is_some().then(|| self.model()).transpose()?;
        let test = self.reported.as_ref().zip(model).map(|(set, model)| set.rmse(&model));
        Ok(Rmses { train, test, watched: None })
    }

    fn model(&mut self) -> Result<Model, Error> {
        let mut model = self.frame.clone();
        model.core = Core::Diagonal(vec![1.0; self.rank]);
        model.choice_weights = Some(weights(self.choices.under(self.setting), self.setting, self.confidence));
        let factor = |(mode, values): (usize, &Vec<f32>)| {
            Factor::new(self.rank, self.choices.filled(mode, values, self.rank))
        };
        model.factors = self.state.factors.iter().enumerate().map(factor).collect();
        for ((coupled, scaled), columns) in
            model.coupled.iter_mut().zip(&self.matrices).zip(&self.state.columns)
        {
            coupled.weight *= narrow(self.setting.couple);
            let values = columns.iter().map(|&value| narrow(value * scaled.scale));
            coupled.factor = Factor::new(self.rank, values.collect());
        }
        Ok(model)
    }

    fn cells(&self) -> f64 {
        self.choices.len() as f64
    }

    fn save(&mut self, _best: Option<Best>) -> Result<StateArrays, Error> {
        let mut arrays = StateArrays::default();
        put_state("now", &self.state, &mut arrays);
        arrays.put_doubles("setting", &self.setting.numbers().map(|number| number.min(f64::MAX)));
        if let Some(trial) = &self.trial {
            arrays.put_doubles("search", &trial.search.numbers());
            if let Some((best, _)) = &trial.best {
                put_state("best", best, &mut arrays);
            }
        }
        Ok(arrays)
    }

    fn restore(&mut self, mut arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error> {
        get_state("now", &mut self.state, &mut arrays)?;
        let mut setting = [0.0; Setting::LEN];
        arrays.get_doubles("setting", &mut setting)?;
        let finite = |number: f64| if number == f64::MAX { f64::INFINITY } else { number };
        self.setting = Setting::from_numbers(setting.map(finite));
        if self.trial.as_ref().is_some_and(|trial| epochs >= trial.search.len()) {
            self.join();
        }
        if let Some(trial) = &mut self.trial {
            let mut numbers = [0.0; NUMBERS];
            arrays.get_doubles("search", &mut numbers)?;
            if !trial.search.go_on(numbers) {
                self.join();
            } else if numbers[1] > 0.0 {
                let mut best = self.state.clone();
                get_state("best", &mut best, &mut arrays)?;
                let gains = trial.held.gains(&self.choices, &best, self.rank);
                trial.best = Some((best, gains));
            }
        }
        Ok(None)
    }
}

/// Holds out those entries whose pair of a user and an item is one that is held out.
pub(super) fn split(entries: Entries, pairs: Entries, seed: u64) -> Result<[Entries; 2], Error> {
    let (part, held) = EntrySource::Memory(pairs).split(HoldOut::Random(HELD), seed)?;
    let held = held.into_entries()?;
    if entries.order() == Choice::MODES.len() {
        return Ok([part.into_entries()?, held]);
    }
    drop(part);
    let pair = |entries: &Entries, place: usize| Choice::MODES.map(|mode| entries.indices(mode)[place]);
    let pairs: HashSet<[u32; 2]> = (0..held.len()).map(|place| pair(&held, place)).collect();
    let places = 0..entries.len() as u32;
    let (held, part): (Vec<u32>, Vec<u32>) =
        places.partition(|&place| pairs.contains(&pair(&entries, place as usize)));
    Ok([part, held].map(|places| entries.select(&places)))
}

/// All entries again, in another order than they came, which views do not depend on: no cell is there twice.
fn joined([part, held]: [Entries; 2]) -> Entries {
    let name = part.name().to_owned();
    let (mut indices, mut values) = part.into_parts();
    let (more, more_values) = held.into_parts();
    indices.iter_mut().zip(more).for_each(|(list, more)| list.extend(more));
    values.extend(more_values);
    Entries::from_rows(name, indices, values)
}

fn put_state(name: &str, state: &State, arrays: &mut StateArrays) {
    for (mode, rows) in state.factors.iter().enumerate() {
        arrays.put(format!("{name}.{mode}"), rows);
    }
    for (number, columns) in state.columns.iter().enumerate() {
        arrays.put_doubles(format!("{name}.columns.{number}"), columns);
    }
}

fn get_state(name: &str, state: &mut State, arrays: &mut StateArrays) -> Result<(), Error> {
    for (mode, rows) in state.factors.iter_mut().enumerate() {
        arrays.get(&format!("{name}.{mode}"), rows)?;
    }
    for (number, columns) in state.columns.iter_mut().enumerate() {
        arrays.get_doubles(&format!("{name}.columns.{number}"), columns)?;
    }
    Ok(())
}
