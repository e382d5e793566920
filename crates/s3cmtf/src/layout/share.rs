//! Which rows, and which strips of a pass over all entries, are a node's.

use std::ops::Range;

/// The most entries of a piece, unless one run has more.
pub(crate) const PIECE: usize = 1 << 13;
/// There are at most so many strips, of at least so many entries each.
const STRIPS: usize = 64;
const STRIP: usize = 1 << 13;

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

    /// That of each of so many nodes, given how many entries each row has; rows of others, as far as strips end in them, are
    /// included `if_strips`.
    pub(crate) fn of_nodes(counts: &[u32], nodes: usize, if_strips: bool) -> Vec<Self> {
        let total = counts.iter().map(|&count| count as usize).sum();
        let strips = strip_count(total);
        let strip = |node: usize| node * strips / nodes;
        let starts = piece_starts(counts);
        let start = |node: usize| match node {
            0 => (0, 0),
            _ if node == nodes => (counts.len(), total),
            _ => starts[starts.partition_point(|&(_, first)| first <= total * strip(node) / strips) - 1],
        };
        let mut shares: Vec<Share> = (0..nodes)
            .map(|node| {
                let ((row, first), (end, _)) = (start(node), start(node + 1));
                Share { rows: row..end, end, first, strips: strip(node)..strip(node + 1), total }
            })
            .collect();
        if if_strips {
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
        }
        shares
    }
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
