//! A number that tells one problem from another.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{Absent, EntrySource, Mode, Problem};
use crate::Error;
use crate::nodes::Nodes;
use crate::parallel;

/// A thread hashes so many entries at a time.
const TOGETHER: usize = 1 << 12;

impl Problem {
    /// 16 hexadecimal digits that are the same for the same problem, whatever the order of its entries was.
    pub fn fingerprint(&self) -> String {
        let lists: Vec<&[u32]> = (0..self.order()).map(|mode| self.entries.indices(mode)).collect();
        let modes: Vec<&Mode> = self.modes.iter().collect();
        self.fingerprint_of(self.entries.len(), sums(&modes, &lists, self.entries.values(), 0).plain)
    }

    /// That of the problem with other entries, and 16 more digits that are the same only for the same order of the entries.
    /// Of the entries of all nodes, where they are shared, which have no order.
    pub(crate) fn fingerprint_with(
        &self,
        entries: &EntrySource,
        nodes: &Nodes,
    ) -> Result<(String, String), Error> {
        let modes: Vec<&Mode> = self.modes.iter().collect();
        let (mut total, mut before) = (Sums::default(), 0);
        entries.each(&mut |lists, values| {
            total = total.and(sums(&modes, lists, values, before));
            before += values.len();
            Ok(())
        })?;
        let (len, plain) = (nodes.add(entries.len() as u64)? as usize, nodes.add(total.plain)?);
        let order = if nodes.is_shared() { String::new() } else { format!("{:016x}", total.ordered) };
        Ok((self.fingerprint_of(len, plain), order))
    }

    /// That of the problem with so many entries, whose hashes have this sum.
    fn fingerprint_of(&self, entries: usize, sum_of_entries: u64) -> String {
        let mut hash = Xxh3::new();
        for mode in self.modes() {
            add_text(&mut hash, mode.name());
            hash.update(&mode.size().to_le_bytes());
        }
        hash.update(&(entries as u64).to_le_bytes());
        hash.update(&sum_of_entries.to_le_bytes());
        for matrix in self.coupled() {
            add_text(&mut hash, matrix.name());
            hash.update(&(matrix.mode() as u64).to_le_bytes());
            add_text(&mut hash, matrix.kind().name());
            // No bits of a weight are all ones: that is not a number, which a weight cannot be.
            hash.update(&matrix.weight().map_or(u32::MAX, f32::to_bits).to_le_bytes());
            let rows = &self.modes()[matrix.mode()];
            let columns = if matrix.kind() == Absent::Graph { rows } else { matrix.columns() };
            let entries = matrix.entries();
            let lists = [entries.indices(0), entries.indices(1)];
            hash.update(&(entries.len() as u64).to_le_bytes());
            hash.update(&sums(&[rows, columns], &lists, entries.values(), 0).plain.to_le_bytes());
        }
        format!("{:016x}", hash.digest())
    }
}

/// With its length, so that `ab` `c` and `a` `bc` differ.
fn add_text(hash: &mut Xxh3, text: &str) {
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

/// Sums of the hashes of entries, which threads can share.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// It does not depend on the order.
    plain: u64,
    /// Each hash times an odd number that its place has for itself, so that no two can change places.
    ordered: u64,
}

impl Sums {
    fn and(self, other: Sums) -> Sums {
        Sums {
            plain: self.plain.wrapping_add(other.plain),
            ordered: self.ordered.wrapping_add(other.ordered),
        }
    }
}

/// The sums over entries that so many come before.
fn sums(modes: &[&Mode], lists: &[&[u32]], values: &[f32], before: usize) -> Sums {
    let width = lists.len() + 1;
    let own = |words: &mut Vec<u32>, first: usize| {
        let places = first..(first + TOGETHER).min(values.len());
        words.clear();
        words.resize(width * places.len(), 0);
        for (number, (mode, list)) in modes.iter().zip(lists).enumerate() {
            let words = words[number..].iter_mut().step_by(width);
            words.zip(&list[places.clone()]).for_each(|(word, &row)| *word = mode.id(row as usize).to_le());
        }
        let words_of_values = words[width - 1..].iter_mut().step_by(width);
        words_of_values.zip(&values[places]).for_each(|(word, value)| *word = value.to_bits().to_le());
        let hashes = words.chunks_exact(width).map(|words| xxh3_64(bytemuck::cast_slice(words)));
        hashes.zip(before + first..).fold(Sums::default(), |sums, (hash, place)| {
            sums.and(Sums { plain: hash, ordered: hash.wrapping_mul(2 * place as u64 + 1) })
        })
    };
    let firsts = (0..values.len()).step_by(TOGETHER);
    parallel::map_with(firsts, Vec::new, own).into_iter().fold(Sums::default(), Sums::and)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::ALONE;
    use crate::{Coupled, Entries};

    fn entries(cells: &[(u32, u32, f32)]) -> Entries {
        let column = |pick: fn(&(u32, u32, f32)) -> u32| cells.iter().map(pick).collect();
        Entries::new(vec![column(|c| c.0), column(|c| c.1)], cells.iter().map(|c| c.2).collect()).unwrap()
    }

    fn of(cells: &[(u32, u32, f32)], edges: &[(u32, u32, f32)], weight: f32) -> String {
        let coupled = Coupled::new(0, Absent::Graph, entries(edges)).unwrap().weighted(weight);
        Problem::builder(entries(cells)).sizes(vec![9, 9]).couple(coupled).build().unwrap().fingerprint()
    }

    #[test]
    fn it_depends_on_the_data_and_not_on_their_order() {
        let one = of(&[(0, 1, 2.0), (5, 3, 4.0)], &[(0, 1, 1.0)], 1.0);
        assert_eq!(one.len(), 16);
        assert_eq!(one, of(&[(5, 3, 4.0), (0, 1, 2.0)], &[(1, 0, 1.0)], 1.0));
        assert_ne!(one, of(&[(5, 3, 4.0), (0, 1, 2.5)], &[(0, 1, 1.0)], 1.0));
        assert_ne!(one, of(&[(5, 3, 2.0), (0, 1, 4.0)], &[(0, 1, 1.0)], 1.0));
        // The same rows, but another id.
        assert_ne!(one, of(&[(6, 3, 4.0), (0, 1, 2.0)], &[(0, 1, 1.0)], 1.0));
        assert_ne!(one, of(&[(5, 3, 4.0), (0, 1, 2.0)], &[(0, 2, 1.0)], 1.0));
        assert_ne!(one, of(&[(5, 3, 4.0), (0, 1, 2.0)], &[(0, 1, 1.0)], 2.0));
    }

    #[test]
    fn the_order_has_digits_of_its_own_however_entries_come() {
        let cells: Vec<(u32, u32, f32)> = (0..9000).map(|n| (n % 9, n / 9, 1.0)).collect();
        let problem = Problem::builder(entries(&cells)).build().unwrap();
        let of = |cells: &[(u32, u32, f32)]| {
            problem.fingerprint_with(&EntrySource::Memory(entries(cells)), &ALONE).unwrap()
        };
        let (data, order) = of(&cells);
        assert_eq!(data, problem.fingerprint());
        let mut swapped = cells.clone();
        swapped.swap(3, 8000);
        let (same, other) = of(&swapped);
        assert_eq!(same, data);
        assert_ne!(other, order);
        // In blocks, as from a disk.
        let modes: Vec<&Mode> = problem.modes.iter().collect();
        let part = |from: usize, to: usize| {
            let part = entries(&cells[from..to]);
            sums(&modes, &[part.indices(0), part.indices(1)], part.values(), from)
        };
        let total = part(0, 5).and(part(5, 7001)).and(part(7001, 9000));
        assert_eq!(format!("{:016x}", total.ordered), order);
    }
}
