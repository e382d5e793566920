//! Nodes that share a run, and what they tell each other.
//!
//! All nodes run the same program, each with its own part of the entries. What everybody must know (rows, core, precisions) is
//! the same on all of them, to the bit: whoever computes a part of it tells the others, and parts are put together in an order
//! that does not depend on how many nodes there are.

use std::sync::Arc;

use bytemuck::{NoUninit, Pod, cast_slice, try_cast_slice};

use crate::Error;

/// How the nodes of a run reach each other. All nodes make the same calls in the same order.
pub trait Exchange: Send + Sync {
    /// Which node this is, counted from 0.
    fn node(&self) -> usize;

    /// How many nodes there are.
    fn nodes(&self) -> usize;

    /// Tells all nodes the same; returns what each of them has told, in their order, this one included.
    ///
    /// # Errors
    /// If another node cannot be reached.
    fn all_gather(&self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error>;

    /// Tells each node something else, in their order; returns what each of them has told this one.
    ///
    /// # Errors
    /// If another node cannot be reached.
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error>;
}

/// The nodes of a run, as one of them sees them.
#[derive(Clone)]
pub(crate) struct Nodes(Option<Arc<dyn Exchange>>);

/// One that shares with nobody.
pub(crate) static ALONE: Nodes = Nodes(None);

impl Nodes {
    pub(crate) fn new(exchange: Arc<dyn Exchange>) -> Self {
        Nodes(Some(exchange))
    }

    /// Whether entries are shared, if only with nobody: a run of one node does what a run of several does.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or(1, |exchange| exchange.nodes())
    }

    /// Which of them this is.
    pub(crate) fn own(&self) -> usize {
        self.0.as_ref().map_or(0, |exchange| exchange.node())
    }

    /// What each node has to tell, in their order.
    pub(crate) fn each<T: Pod>(&self, own: Vec<T>) -> Result<Vec<Vec<T>>, Error> {
        let Some(exchange) = &self.0 else { return Ok(vec![own]) };
        let all = exchange.all_gather(to_bytes(&own))?;
        expect(&all, self.count())?;
        all.iter().map(|bytes| from_bytes(bytes)).collect()
    }

    /// The same, one behind the other.
    pub(crate) fn gather<T: Pod>(&self, own: Vec<T>) -> Result<Vec<T>, Error> {
        match &self.0 {
            None => Ok(own),
            Some(_) => Ok(self.each(own)?.concat()),
        }
    }

    /// Two lists at once: a message more takes longer than a longer one.
    pub(crate) fn gather_both<A: Pod, B: Pod>(
        &self,
        a: Vec<A>,
        b: Vec<B>,
    ) -> Result<(Vec<A>, Vec<B>), Error> {
        if self.0.is_none() {
            return Ok((a, b));
        }
        let mut own = (a.len() as u64).to_le_bytes().to_vec();
        own.extend_from_slice(cast_slice(&a));
        own.extend_from_slice(cast_slice(&b));
        let (mut all_a, mut all_b) = (Vec::new(), Vec::new());
        for bytes in self.each(own)? {
            let (len, rest) = bytes.split_first_chunk().ok_or_else(unreadable)?;
            let len = usize::try_from(u64::from_le_bytes(*len))
                .ok()
                .and_then(|len| len.checked_mul(size_of::<A>()));
            let (a, b) = len.and_then(|len| rest.split_at_checked(len)).ok_or_else(unreadable)?;
            all_a.extend(from_bytes::<A>(a)?);
            all_b.extend(from_bytes::<B>(b)?);
        }
        Ok((all_a, all_b))
    }

    /// What each node has for this one, given what this one has for each.
    pub(crate) fn deal<T: Pod>(&self, own: Vec<Vec<T>>) -> Result<Vec<Vec<T>>, Error> {
        let Some(exchange) = &self.0 else { return Ok(own) };
        let all = exchange.all_to_all(own.iter().map(|part| to_bytes(part)).collect())?;
        expect(&all, self.count())?;
        all.iter().map(|bytes| from_bytes(bytes)).collect()
    }

    /// The sums of counts over all nodes, number by number.
    pub(crate) fn add_counts(&self, counts: Vec<u32>) -> Result<Vec<u32>, Error> {
        self.add_each(counts, u32::saturating_add)
    }

    /// The sums of whole numbers over all nodes, number by number.
    pub(crate) fn add_numbers(&self, numbers: Vec<i64>) -> Result<Vec<i64>, Error> {
        self.add_each(numbers, i64::wrapping_add)
    }

    /// Each node adds up a part of the numbers.
    fn add_each<T: Pod>(&self, numbers: Vec<T>, add: fn(T, T) -> T) -> Result<Vec<T>, Error> {
        if self.0.is_none() {
            return Ok(numbers);
        }
        let part = numbers.len().div_ceil(self.count()).max(1);
        let mut parts: Vec<Vec<T>> = numbers.chunks(part).map(<[T]>::to_vec).collect();
        parts.resize(self.count(), Vec::new());
        let mut sums: Vec<T> = Vec::new();
        for more in self.deal(parts)? {
            sums.resize(sums.len().max(more.len()), T::zeroed());
            sums.iter_mut().zip(more).for_each(|(sum, number)| *sum = add(*sum, number));
        }
        let sums = self.gather(sums)?;
        if sums.len() == numbers.len() { Ok(sums) } else { Err(unreadable()) }
    }

    /// The sum of a whole number over all nodes.
    pub(crate) fn add(&self, number: u64) -> Result<u64, Error> {
        Ok(self.gather(vec![number])?.into_iter().fold(0, u64::wrapping_add))
    }

    /// Whether any node says so.
    pub(crate) fn any(&self, own: bool) -> Result<bool, Error> {
        Ok(self.gather(vec![u8::from(own)])?.iter().any(|&byte| byte > 0))
    }

    /// What the first node says.
    pub(crate) fn as_first(&self, own: bool) -> Result<bool, Error> {
        Ok(self.gather(vec![u8::from(own)])?.first().is_some_and(|&byte| byte > 0))
    }

    /// Checks that all nodes say the same.
    ///
    /// # Errors
    /// If they do not: the first that says something else than the first of all, and what.
    pub(crate) fn agree(&self, what: &str, own: &str) -> Result<(), Error> {
        let all = self.each(own.as_bytes().to_vec())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(()),
            Some(node) => Err(Error::Problem(format!(
                "nodes must have the same {what}, but node 1 has {} and node {} has {}",
                text(&all[0]),
                node + 1,
                text(&all[node])
            ))),
        }
    }
}

fn to_bytes<T: NoUninit>(numbers: &[T]) -> Vec<u8> {
    cast_slice(numbers).to_vec()
}

/// Numbers of bytes that may begin anywhere.
fn from_bytes<T: Pod>(bytes: &[u8]) -> Result<Vec<T>, Error> {
    match try_cast_slice(bytes) {
        Ok(numbers) => Ok(numbers.to_vec()),
        Err(_) if bytes.len().is_multiple_of(size_of::<T>()) => {
            let mut numbers = vec![T::zeroed(); bytes.len() / size_of::<T>()];
            bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes);
            Ok(numbers)
        }
        Err(_) => Err(unreadable()),
    }
}

fn expect(all: &[Vec<u8>], nodes: usize) -> Result<(), Error> {
    if all.len() == nodes { Ok(()) } else { Err(unreadable()) }
}

fn unreadable() -> Error {
    Error::Problem("another node has sent what cannot be read".into())
}
