//! Entries that passes go over: in a chain on the device, or in parts with a chain each, whose lists are on the host.

use crate::Error;
use crate::arrange::Order;
use crate::chain::{Chain, Frame, Purpose, THREADS};
use crate::device::{Array, Device};
use crate::tables::Tables;

/// At most so many blocks add up the squares of a part.
const BLOCKS: usize = 128;

/// What a pass makes of predictions, see device.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    Residuals = 0,
    Weighed = 1,
    Squares = 2,
}

/// Chains with the same leaf that have some entries between them.
pub(crate) struct Parts<D: Device> {
    /// At least one.
    chains: Vec<Chain<D>>,
    /// Sums of squares of errors and of predictions, in blocks of each part.
    errors: Array<D, f64>,
    predictions: Array<D, f64>,
}

impl<D: Device> Parts<D> {
    /// One chain.
    pub(crate) fn whole(device: &D, chain: Chain<D>) -> Result<Self, Error> {
        Parts::new(device, vec![chain])
    }

    fn new(device: &D, chains: Vec<Chain<D>>) -> Result<Self, Error> {
        let count = chains.len() * BLOCKS;
        let [errors, predictions] = [Array::zeros(device, count)?, Array::zeros(device, count)?];
        Ok(Parts { chains, errors, predictions })
    }

    /// The entries in some places, or all of them, on the host, with so many in each part.
    pub(crate) fn on_host(
        frame: &Frame<'_, D>,
        tables: &mut Tables<D>,
        (ordered, some): (&dyn Order, Option<&[u32]>),
        len: usize,
        purpose: Purpose,
    ) -> Result<Self, Error> {
        let (count, len) = (some.map_or(ordered.len(), <[u32]>::len), len.max(1));
        let mut chains: Vec<Chain<D>> = Vec::new();
        for first in (0..count.max(1)).step_by(len) {
            let places = first..first.saturating_add(len).min(count);
            let arranged = match some {
                Some(some) => ordered.some(&some[places]),
                None => ordered.range(places),
            };
            let mut room = tables.stage.room();
            let mut chain = Chain::new(frame, &mut room, &arranged, purpose, chains.first())?;
            (chain.part, chain.number) = (room.close(frame.device)?, chains.len());
            tables.fit(frame.device, &chain)?;
            chains.push(chain);
        }
        Parts::new(frame.device, chains)
    }

    pub(crate) fn chains(&self) -> &[Chain<D>] {
        &self.chains
    }

    /// The first chain, which is the only one of entries on the device.
    pub(crate) fn first(&self) -> &Chain<D> {
        &self.chains[0]
    }

    pub(crate) fn leaf(&self) -> usize {
        self.first().leaf
    }

    /// How many entries are not held out.
    pub(crate) fn taking_part(&self) -> usize {
        self.chains.iter().map(Chain::taking_part).sum()
    }

    /// How many tasks and targets a part has at most.
    pub(crate) fn slots(&self) -> usize {
        self.chains.iter().map(|chain| chain.leaves.slots).max().unwrap_or(0)
    }

    /// Where the squares of a pass are added up, for all parts.
    pub(crate) fn squares(&self, visit: Visit) -> &Array<D, f64> {
        if visit == Visit::Squares { &self.predictions } else { &self.errors }
    }

    /// The same for one of them.
    pub(crate) fn squares_of(&self, device: &D, chain: &Chain<D>, visit: Visit) -> Array<D, f64> {
        self.squares(visit).part(device, chain.number * BLOCKS, BLOCKS)
    }

    /// How many blocks have sums of squares, some of them zero.
    pub(crate) fn blocks(&self) -> usize {
        let last = self.chains.len() - 1;
        last * BLOCKS + blocks(&self.chains[last])
    }

    /// Folds models of other ranks from now on.
    pub(crate) fn resize(&mut self, frame: &Frame<'_, D>, tables: &mut Tables<D>) -> Result<(), Error> {
        resize(self.chains.iter_mut(), frame, tables)
    }

    /// Lets entries take part that are held out.
    pub(crate) fn join(&mut self, device: &D, tables: &Tables<D>) -> Result<(), Error> {
        let mut chains = self.chains.iter_mut().filter(|chain| chain.leaves.held() > 0);
        chains.try_for_each(|chain| {
            chain.change(device, tables, |chain| chain.leaves.join_held(device, tables))
        })
    }
}

/// Lets chains with one leaf fold models of other ranks from now on.
pub(crate) fn resize<'a, D: Device + 'a>(
    chains: impl Iterator<Item = &'a mut Chain<D>>,
    frame: &Frame<'_, D>,
    tables: &mut Tables<D>,
) -> Result<(), Error> {
    let mut first: Option<&Chain<D>> = None;
    for chain in chains {
        chain.resize(frame, first)?;
        tables.fit(frame.device, chain)?;
        first = first.or(Some(chain));
    }
    Ok(())
}

/// How many blocks add up the squared errors of a chain.
pub(crate) fn blocks<D: Device>(chain: &Chain<D>) -> usize {
    chain.leaves.slots.div_ceil(THREADS).clamp(1, BLOCKS)
}
