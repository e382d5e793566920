//! The sampler on a device: draws are made there, and decided upon here.
//!
//! Entries, rows, core and the mean of draws stay on the device; what is on this side of it follows when it is asked for: rows
//! while entries held out judge them, or where coupled matrices are drawn, and everything for a model or a checkpoint.

mod state;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use s3cmtf_cuda::{Device, Evaluation};

use super::start::Prepared;
use super::{CORE_FROM, Sampler};
use crate::Error;
use crate::model::Model;
use crate::problem::{Entries, EntrySource};
use crate::training::checkpoint::StateArrays;
use crate::training::engine::{Best, Engine, Rmses, Verdict};
use crate::training::job::{FitJob, Sets};
use crate::training::run::Stop;

/// A sampler whose draws are made on a device.
pub(super) struct DeviceEngine<D: Device> {
    /// What the device is called.
    name: String,
    /// The state, as of the last time that it was asked for.
    sampler: Sampler,
    /// Those that are drawn from; as long as some of them are held out, the sampler has all.
    entries: Option<Entries>,
    /// The numbers of those that are held out for now, see [`super::calibration`].
    held: Vec<u32>,
    /// Those that are evaluated on.
    sets: TestEntries,
    /// None after a failure.
    there: Option<There<D>>,
    /// Whether no more epochs are needed.
    settled: bool,
}

/// Entries to evaluate on, by the rows of the problem; those that are not known are behind the last.
#[derive(Default)]
struct TestEntries {
    reported: Option<Entries>,
    watched: Option<Entries>,
    /// Those that are held out for now, see [`super::calibration`].
    held: Option<Entries>,
}

/// What is on the device.
struct There<D: Device> {
    chain: s3cmtf_cuda::Sampler<D>,
    reported: Option<Evaluation<D>>,
    watched: Option<Evaluation<D>>,
    held: Option<Evaluation<D>>,
}

impl TestEntries {
    fn new(sets: &Sets, held: Option<&EntrySource>, rows: &[usize]) -> Result<Self, Error> {
        let located = |entries: Option<&EntrySource>| {
            let entries = entries.cloned().map(EntrySource::into_entries).transpose()?;
            Ok::<_, Error>(entries.map(|entries| entries.known_or(rows)))
        };
        let Sets { reported, watched } = sets;
        Ok(TestEntries {
            reported: located(reported.as_ref())?,
            watched: located(watched.as_ref())?,
            held: located(held)?,
        })
    }
}

impl<D: Device> There<D> {
    fn new(
        device: D,
        sampler: &Sampler,
        entries: (&Entries, &[u32]),
        sets: &TestEntries,
    ) -> Result<Self, s3cmtf_cuda::Error> {
        let lens =
            [&sets.reported, &sets.watched, &sets.held].map(|set| set.as_ref().map_or(0, Entries::len));
        let chain = state::put(device, sampler, entries, state::reserve(sampler, &lens))?;
        let mut there = There { chain, reported: None, watched: None, held: None };
        there.put_sets(sampler, sets)?;
        Ok(there)
    }

    fn put_sets(&mut self, sampler: &Sampler, sets: &TestEntries) -> Result<(), s3cmtf_cuda::Error> {
        // Those of other ranks are of no use, and take the room of these.
        (self.reported, self.watched, self.held) = (None, None, None);
        let mut arranged = |entries: &Option<Entries>| {
            let given = |entries: &Entries| {
                let (lists, values) = state::given(entries, sampler.value_scale());
                self.chain.evaluation(s3cmtf_cuda::Entries { indices: &lists, values: &values })
            };
            entries.as_ref().map(given).transpose()
        };
        let (reported, watched, held) =
            (arranged(&sets.reported)?, arranged(&sets.watched)?, arranged(&sets.held)?);
        (self.reported, self.watched, self.held) = (reported, watched, held);
        Ok(())
    }
}

/// A sampler with its first entries on a device.
pub(super) struct Begun<D: Device> {
    name: String,
    sampler: Sampler,
    held: Option<(EntrySource, Vec<u32>)>,
    sets: TestEntries,
    there: There<D>,
}

impl<D: Device> Begun<D> {
    /// Puts what a job begins with on a device; the job's entries are in memory.
    pub(super) fn new(
        (device, name): (D, String),
        Prepared { mut sampler, held }: Prepared,
        job: &FitJob<'_>,
    ) -> Result<Self, Error> {
        let EntrySource::Memory(entries) = &job.entries else {
            return Err(Error::Problem("entries for a device have to be in memory".into()));
        };
        let held = held.map(|held| (job.entries.part(&held, true), held.places(true)));
        let sets = TestEntries::new(&job.sets, held.as_ref().map(|(held, _)| held), &sampler.rows())?;
        let places = held.as_ref().map_or(&[][..], |(_, places)| places);
        state::count(&mut sampler.noise.counts, entries, places, false);
        let there = There::new(device, &sampler, (entries, places), &sets);
        let there = there.map_err(|error| failed(&name, error))?;
        Ok(Begun { name, sampler, held, sets, there })
    }

    /// The engine, which takes the entries: it will need them all.
    pub(super) fn engine(self, entries: EntrySource) -> Result<DeviceEngine<D>, Error> {
        let Begun { name, mut sampler, held, sets, there } = self;
        let (entries, held) = match held {
            Some((held, places)) => {
                sampler.hold_out(held, entries, None)?;
                (None, places)
            }
            None => (Some(entries.into_entries()?), Vec::new()),
        };
        Ok(DeviceEngine { name, sampler, entries, held, sets, there: Some(there), settled: false })
    }
}

impl<D: Device> DeviceEngine<D> {
    fn there(&mut self) -> Result<(&mut Sampler, &mut There<D>), Error> {
        match &mut self.there {
            Some(there) => Ok((&mut self.sampler, there)),
            None => Err(Error::Problem(format!("{} has failed before", self.name))),
        }
    }

    /// Draws everything once; `false` if it was interrupted on the way.
    fn sweep(&mut self, interrupt: &AtomicBool) -> Result<bool, SweepError> {
        let (sampler, there) = self.there()?;
        sampler.epoch += 1;
        let (epoch, chain) = (sampler.epoch as u32, &mut there.chain);
        chain.rescale(epoch)?;
        if !sampler.matrices.is_empty() {
            state::prepare_matrices(sampler, chain)?;
        }
        let share = sampler.share();
        // Columns are drawn here while the device draws the rows of other modes.
        for mode in chain.modes_with_last(|mode| state::has_columns(sampler, mode)) {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(false);
            }
            state::draw_matrices(sampler, chain, mode)?;
            chain.draw_rows(mode, epoch, share)?;
            if sampler.epoch >= CORE_FROM {
                chain.draw_shares(mode, epoch)?;
            }
        }
        chain.draw_core(epoch, sampler.epoch >= CORE_FROM)?;
        if sampler.is_judged() {
            state::get_draw(sampler, chain)?;
            sampler.calibrate()?;
            chain.set_hurdle(sampler.noise.hurdle)?;
        }
        if let Some(share) = share {
            chain.average(share)?;
            sampler.average.draws += 1;
            state::average_matrices(sampler, share);
        }
        // So that the time of an epoch is its own.
        chain.device().synchronise()?;
        Ok(true)
    }

    /// Lets entries take part that were held out so far and concepts go that are of no use, if it is time to.
    fn change(&mut self) -> Result<(), Error> {
        let joins = self.sampler.calibration_ends();
        if !joins && !self.sampler.may_shed() {
            return Ok(());
        }
        self.get()?;
        if self.join()? {
            // Draws begin to count anew.
            self.sampler.average = self.sampler.no_mean();
            let (_, there) = self.there()?;
            there.held = None;
            there.chain.forget_mean();
            let joined = there.chain.join();
            joined.map_err(|error| failed(&self.name, error))?;
        }
        if self.sampler.shed() { self.resize() } else { Ok(()) }
    }

    /// Takes up entries that were held out so far, if it is time to; the device has to be told.
    fn join(&mut self) -> Result<bool, Error> {
        let Some(entries) = self.sampler.end_calibration()? else { return Ok(false) };
        let entries = entries.into_entries()?;
        let held = std::mem::take(&mut self.held);
        state::count(&mut self.sampler.noise.counts, &entries, &held, true);
        (self.entries, self.sets.held) = (Some(entries), None);
        Ok(true)
    }

    /// All entries, with those that are held out.
    fn entries(&self) -> Result<&Entries, Error> {
        match (&self.entries, self.sampler.all_entries()) {
            (Some(entries), _) | (None, Some(EntrySource::Memory(entries))) => Ok(entries),
            _ => Err(Error::Problem("entries for a device have to be in memory".into())),
        }
    }

    /// Puts a state of other ranks on the device.
    fn resize(&mut self) -> Result<(), Error> {
        self.there()?;
        let Some(there) = &mut self.there else { return Ok(()) };
        let resized = state::resize(&self.sampler, &mut there.chain);
        let resized = resized.and_then(|()| there.put_sets(&self.sampler, &self.sets));
        resized.map_err(|error| failed(&self.name, error))
    }

    /// The state as it is on the device.
    fn get(&mut self) -> Result<(), Error> {
        let (sampler, there) = self.there()?;
        let got = state::get(sampler, &there.chain);
        got.map_err(|error| failed(&self.name, error))
    }

    /// Puts entries and state on the device anew.
    fn put(&mut self) -> Result<(), Error> {
        self.there()?;
        let Some(There { chain, .. }) = self.there.take() else { return Ok(()) };
        let entries = (self.entries()?, &self.held[..]);
        let there = There::new(chain.into_device(), &self.sampler, entries, &self.sets);
        self.there = Some(there.map_err(|error| failed(&self.name, error))?);
        Ok(())
    }
}

impl<D: Device> Engine for DeviceEngine<D> {
    fn epoch(&mut self, _epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error> {
        let swept = self.sweep(interrupt).map_err(|error| error.of(&self.name))?;
        if swept {
            self.change()?;
            if self.sampler.is_looked_at() {
                self.get()?;
            }
            self.settled = self.sampler.settled()?;
        }
        Ok(swept)
    }

    fn evaluate(&mut self) -> Result<Rmses, Error> {
        let name = self.name.clone();
        let entries = self.entries()?.len();
        let lens = [&self.sets.reported, &self.sets.watched].map(|set| set.as_ref().map_or(0, Entries::len));
        let (sampler, there) = self.there()?;
        let mut evaluate = || -> Result<Rmses, s3cmtf_cuda::Error> {
            let averaged = sampler.is_typical();
            let There { chain, reported, watched, held: calibration } = there;
            if averaged {
                sampler.average.variance = chain.mean_variance()?;
            }
            sampler.noise.tau = chain.tau()?;
            let (range, (_, unit)) = (sampler.allowed(), sampler.value_scale());
            let rmse = |squares: f64, entries: usize| unit * (squares / entries as f64).sqrt();
            let mut squares = |set: Option<&Evaluation<D>>| chain.squared_error(set, averaged, range);
            let mut train = squares(None)?;
            if calibration.is_some() {
                train += squares(calibration.as_ref())?;
            }
            let mut one = |set: &Option<Evaluation<D>>, len: usize| {
                let set = set.as_ref();
                set.map(|set| squares(Some(set)).map(|squares| rmse(squares, len))).transpose()
            };
            let (test, watched) = (one(reported, lens[0])?, one(watched, lens[1])?);
            Ok(Rmses { train: rmse(train, entries), test, watched })
        };
        evaluate().map_err(|error| failed(&name, error))
    }

    fn judge(&mut self, _epoch: usize, _rmses: &Rmses) -> Verdict {
        if self.settled { Verdict::Stop(Stop::Tolerance) } else { Verdict::Keep }
    }

    fn may_be_best(&self) -> bool {
        self.sampler.is_typical()
    }

    fn model(&mut self) -> Result<Model, Error> {
        self.get()?;
        self.sampler.model()
    }

    fn cells(&self) -> f64 {
        self.entries().map_or(0, Entries::len) as f64
    }

    fn device(&self) -> String {
        self.name.clone()
    }

    fn device_note(&self) -> Option<String> {
        let parts = self.there.as_ref()?.chain.parts()?;
        let parts = if parts == 1 { "one part".to_owned() } else { format!("{parts} parts") };
        Some(format!(
            "{} has no room for all entries: they stay in this machine's memory and are sent there in {parts}, in every pass",
            self.name
        ))
    }

    fn save(&mut self, best: Option<Best>) -> Result<StateArrays, Error> {
        self.get()?;
        let mut arrays = self.sampler.numbers()?;
        arrays.put_doubles("best", &Best::numbers(best));
        Ok(arrays)
    }

    fn restore(&mut self, mut arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error> {
        let mut best = [0.0; 2];
        arrays.get_doubles("best", &mut best)?;
        self.sampler.epoch = epochs as u64;
        self.sampler.schedule.get(&mut arrays)?;
        self.join()?;
        self.sampler.average = self.sampler.no_mean();
        self.sampler.restore(arrays)?;
        self.put()?;
        Ok(Best::from_numbers(best, epochs))
    }
}

/// What can go wrong in a sweep: on the device, or here.
enum SweepError {
    There(s3cmtf_cuda::Error),
    Here(Error),
}

impl From<s3cmtf_cuda::Error> for SweepError {
    fn from(error: s3cmtf_cuda::Error) -> Self {
        SweepError::There(error)
    }
}

impl From<Error> for SweepError {
    fn from(error: Error) -> Self {
        SweepError::Here(error)
    }
}

impl SweepError {
    fn of(self, device: &str) -> Error {
        match self {
            SweepError::There(error) => failed(device, error),
            SweepError::Here(error) => error,
        }
    }
}

pub(super) fn failed(device: &str, error: s3cmtf_cuda::Error) -> Error {
    Error::Device { device: device.to_owned(), source: Box::new(error) }
}
