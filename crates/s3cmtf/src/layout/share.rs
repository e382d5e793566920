//! Which rows, and which strips of a pass over all entries, are a node's.

use std::ops::Range;

/// The most entries of a piece, unless one run has more.
pub(crate) const PIECE: usize = 1 << 13;
/// There are at most so many strips, of at least so many entries each.
const STRIPS: usize = 64;
const STRIP: usize = 1 << 13;

/// To draw a row takes about as long as the sums over so many entries for each of its concepts: 4.7, 4.5 and 3 were measured at ranks 6, 12
/// and 32 (`bench bayes`, a million entries, one thread).
const ROW_COST: usize = 4;

/// A run takes a pass over entries about as long as so many of its entries, for each concept: 0.8 to 2.2 were measured at rank 10, and 0.5 to 1
/// at rank 20 (5 million entries in runs of 3 to 8, one thread).
const RUN_COST: usize = 1;

/// How many strips so many entries have.
pub(crate) fn strip_count(entries: usize) -> usize {
    (entries / STRIP).clamp(1, STRIPS)
}

/// A node's share of a view: consecutive rows, with all of their entries, that begin and end where pieces do, and consecutive
/// strips. The last strip may end in rows of other nodes; their entries are there, too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share {
    /// The rows that are drawn here.
    pub(crate) rows: Range<usize>,
    /// The end of the rows whose entries are here.
    pub(crate) end: usize,
    /// How many entries come before the first of them.
    pub(crate) first: usize,
    pub(crate) strips: Range<usize>,
    /// How many entries all nodes have.
    pub(crate) total: usize,
}

impl Share {
    /// That of a node which is alone.
    pub(crate) fn whole(rows: usize, total: usize) -> Self {
        Share { rows: 0..rows, end: rows, first: 0, strips: 0..strip_count(total), total }
    }

    /// That of each of so many nodes, given how many entries each row has, such that rows of this rank take all nodes as long. Strips are
    /// not kept to: each node has a part of any.
    pub(crate) fn of_rows(counts: &[u32], nodes: usize, rank: usize) -> Vec<Self> {
        let (total, starts) = (total(counts), piece_starts(counts));
        let cost = |(row, first): (usize, usize)| first + row * rank * ROW_COST;
        let all = cost((counts.len(), total));
        let start =
            |node: usize| starts[starts.partition_point(|&start| cost(start) <= all * node / nodes) - 1];
        let strips = strip_count(total);
        let mut shares = Share::between(counts.len(), total, &vec![0; nodes + 1], start);
        shares.iter_mut().for_each(|share| share.strips = 0..strips);
        shares
    }

    /// The same for views whose strips are gone through, given how many runs each strip has, if that is known, such that strips of this rank
    /// take all nodes as long: rows begin where strips do, and rows of others, as far as strips end in them, are included.
    pub(crate) fn of_strips(counts: &[u32], nodes: usize, rank: usize, runs: Option<&[i64]>) -> Vec<Self> {
        let (total, starts) = (total(counts), piece_starts(counts));
        let strips = strip_count(total);
        let mut before = vec![0];
        for strip in 0..strips {
            let runs = runs.map_or(0, |runs| runs[strip].unsigned_abs() as usize);
            let entries = total * (strip + 1) / strips - total * strip / strips;
            before.push(before[strip] + entries + runs * rank * RUN_COST);
        }
        // To the nearest: a strip may be a large part of what a node has.
        let nearest = |node: usize| {
            let cost = before[strips] * node / nodes;
            let next = before.partition_point(|&before| before < cost).clamp(1, strips);
            if cost - before[next - 1].min(cost) < before[next] - cost { next - 1 } else { next }
        };
        let first = |node: usize| match node {
            0 => 0,
            _ if node == nodes => strips,
            _ => nearest(node),
        };
        let firsts: Vec<usize> = (0..=nodes).map(first).collect();
        let entries = |node: usize| total * firsts[node] / strips;
        let start = |node: usize| starts[starts.partition_point(|&(_, first)| first <= entries(node)) - 1];
        let mut shares = Share::between(counts.len(), total, &firsts, start);
        for share in &mut shares {
            let last = total * share.strips.end / strips;
            let mut first = share.first;
            let rows = counts.iter().enumerate().skip(share.rows.start);
            let end = rows.filter(|(_, count)| **count > 0).find_map(|(row, &count)| {
                let is_beyond = first >= last;
                first += count as usize;
                is_beyond.then_some(row)
            });
            share.end = share.rows.end.max(end.unwrap_or(counts.len()));
        }
        shares
    }

    /// The shares of nodes, of which each begins at a row and so many entries, and at one of `strips`.
    fn between(
        rows: usize,
        total: usize,
        strips: &[usize],
        start: impl Fn(usize) -> (usize, usize),
    ) -> Vec<Self> {
        let nodes = strips.len() - 1;
        let start = |node: usize| match node {
            0 => (0, 0),
            _ if node == nodes => (rows, total),
            _ => start(node),
        };
        (0..nodes)
            .map(|node| {
                let ((row, first), (end, _)) = (start(node), start(node + 1));
                Share { rows: row..end, end, first, strips: strips[node]..strips[node + 1], total }
            })
            .collect()
    }
}

fn total(counts: &[u32]) -> usize {
    counts.iter().map(|&count| count as usize).sum()
}

/// The rows at which pieces begin, and how many entries come before each, as entries are cut.
fn piece_starts(counts: &[u32]) -> Vec<(usize, usize)> {
    let (mut starts, mut first, mut pending) = (vec![(0, 0)], 0, 0);
    for (row, count) in counts.iter().map(|&count| count as usize).enumerate().filter(|(_, count)| *count > 0)
    {
        if count > PIECE || pending > 0 && pending + count > PIECE {
            starts.push((row, first));
            pending = 0;
        }
        first += count;
        if count > PIECE {
            starts.push((row + 1, first));
        } else {
            pending += count;
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_few_entries_weigh_as_well() {
        // A thousand rows of a thousand entries, and then as many entries in a hundred times as many rows.
        let counts: Vec<u32> = [vec![1000; 1000], vec![10; 100_000]].concat();
        let nodes = 4;
        let shares = Share::of_rows(&counts, nodes, 10);
        assert_eq!((shares[0].rows.start, shares[nodes - 1].rows.end), (0, counts.len()));
        assert!(shares.windows(2).all(|pair| pair[0].rows.end == pair[1].rows.start));
        let all = total(&counts) + 10 * ROW_COST * counts.len();
        for share in &shares {
            let own = total(&counts[share.rows.clone()]) + 10 * ROW_COST * share.rows.len();
            // A share begins where a piece does.
            assert!(own.abs_diff(all / nodes) < 6 * PIECE, "{share:?}: {own} of {all}");
            assert_eq!(share.first, total(&counts[..share.rows.start]));
        }
        // By entries alone, the last two nodes have all of the thin rows.
        assert!((990..=1000).contains(&Share::of_strips(&counts, nodes, 10, None)[1].rows.end));
    }

    #[test]
    fn strips_of_many_runs_weigh_more() {
        // 64 strips of 15,625 entries, of which the last half are in a hundred times as many runs.
        let counts = vec![1000u32; 1000];
        let runs: Vec<i64> = (0..64).map(|strip| if strip < 32 { 50 } else { 5000 }).collect();
        let parts = |nodes, runs| {
            let shares = Share::of_strips(&counts, nodes, 10, runs);
            shares.into_iter().map(|share| share.strips).collect::<Vec<_>>()
        };
        assert_eq!(parts(4, None), [0..16, 16..32, 32..48, 48..64]);
        // 16,125 for the first ones, 65,625 for the others: 2,616,000 in all.
        assert_eq!(parts(4, Some(&runs)), [0..34, 34..44, 44..54, 54..64]);
        // Without entries there is a strip, too, and it is the first node's.
        let empty = Share::of_strips(&[0; 5], 2, 10, None);
        assert_eq!((empty[0].strips.clone(), empty[1].strips.clone()), (0..1, 1..1));
        // More nodes than strips: some have none, and all strips are someone's.
        let many = parts(100, Some(&runs));
        assert_eq!((many[0].start, many[99].end), (0, 64));
        assert!(many.windows(2).all(|pair| pair[0].end == pair[1].start));
        for (share, strips) in Share::of_strips(&counts, 4, 10, Some(&runs)).iter().zip(parts(4, Some(&runs)))
        {
            let (first, end) = (share.first, total(&counts[..share.end]));
            assert!(
                first <= 1_000_000 * strips.start / 64 && end >= 1_000_000 * strips.end / 64,
                "{share:?}"
            );
        }
    }
}
