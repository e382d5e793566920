//! Nodes that share the work of a sweep, and what they tell each other.
//!
//! Every node has the same state: rows, core, precisions, and the names of random streams. Each has the entries of its own
//! parts, which are those of a view: pieces for rows, strips for passes over all entries. What comes of a part does not depend
//! on who computed it, and parts are put together in their order, so that any number of nodes come to the same bits.

use crate::Error;

/// The other nodes, as one of them sees it.
pub(super) trait Peers: Send + Sync {
    /// Whether a part of so many is this node's.
    fn owns(&self, part: usize, of: usize) -> bool;

    /// Tells the others what became of this node's parts; returns that of all parts, in their order.
    ///
    /// # Errors
    /// If others cannot be reached.
    fn exchange(&self, own: Vec<(usize, Vec<u8>)>, of: usize) -> Result<Vec<Vec<u8>>, Error>;
}

/// What can be told.
pub(super) trait Message: Sized {
    fn encode(&self) -> Vec<u8>;

    /// `None` if the bytes are not those of such a message.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// All parts of so many, in their order, given this node's.
pub(super) fn gather<T: Message>(
    peers: Option<&dyn Peers>,
    own: Vec<(usize, T)>,
    of: usize,
) -> Result<Vec<T>, Error> {
    let Some(peers) = peers else { return Ok(own.into_iter().map(|(_, part)| part).collect()) };
    let own = own.into_iter().map(|(number, part)| (number, part.encode())).collect();
    let all = peers.exchange(own, of)?;
    let all: Option<Vec<T>> = all.iter().map(|bytes| T::decode(bytes)).collect();
    all.filter(|all| all.len() == of)
        .ok_or_else(|| Error::Problem("another node has sent what cannot be read".into()))
}

/// A sum and a gradient, see `Pass`.
impl Message for (f64, Vec<f32>) {
    fn encode(&self) -> Vec<u8> {
        encode(&[2, 0, self.1.len() as u64], &self.1, &[self.0])
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (_, singles, doubles) = decode(bytes)?;
        Some((*doubles.first()?, singles))
    }
}

pub(super) fn encode(head: &[u64; 3], singles: &[f32], doubles: &[f64]) -> Vec<u8> {
    let lengths = [singles.len() as u64, doubles.len() as u64];
    let words = head.iter().chain(&lengths).flat_map(|word| word.to_le_bytes());
    let singles = singles.iter().flat_map(|number| number.to_le_bytes());
    words.chain(singles).chain(doubles.iter().flat_map(|number| number.to_le_bytes())).collect()
}

pub(super) fn decode(bytes: &[u8]) -> Option<([u64; 3], Vec<f32>, Vec<f64>)> {
    let (words, rest) = bytes.split_at_checked(40)?;
    let words: Vec<u64> = words.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    let [singles, doubles] = [4, 8]
        .iter()
        .zip(&words[3..])
        .map(|(size, &count)| usize::try_from(count).ok()?.checked_mul(*size))
        .collect::<Option<Vec<_>>>()?
        .try_into()
        .ok()?;
    let (singles, rest) = rest.split_at_checked(singles)?;
    let doubles = rest.get(..doubles).filter(|doubles| doubles.len() == rest.len())?;
    let singles = singles.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect();
    let doubles = doubles.as_chunks().0.iter().map(|&number| f64::from_le_bytes(number)).collect();
    Some(([words[0], words[1], words[2]], singles, doubles))
}
