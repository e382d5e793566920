//! From a piece of text to columns.

use memchr::memchr_iter;

use super::cursor::{Cursor, Next, Stop};
use super::encoding::decode;
use super::{Opening, Separator};
use crate::files::lines::{BadLine, show};
use crate::files::number::{leading_decimal, leading_integer, parse_integer};
use crate::table::time::DateOrder;
use crate::table::{ColumnType, Data, Empty, SKIP_EMPTY, is_empty_id, is_empty_value, shortened, time};

/// A column of a file that is taken.
#[derive(Clone, Copy)]
pub(in crate::files) struct Take {
    /// Its place in the file.
    pub(in crate::files) place: usize,
    pub(in crate::files) kind: ColumnType,
    /// Which number of its dates with slashes comes first, as far as the first rows of all files say.
    pub(in crate::files) order: Option<DateOrder>,
}

/// What is taken from each record.
pub(super) struct Plan<'a> {
    pub(super) opening: &'a Opening,
    /// For each column of the file, what is done with it.
    steps: Vec<Step>,
    kinds: Vec<ColumnType>,
    /// For each column of the file, which number of dates with slashes comes first, as far as that is known.
    orders: Vec<Option<DateOrder>>,
    empty: Empty,
}

/// What is done with a column of a file.
enum Step {
    Skip,
    /// It becomes the result at this place, as almost always.
    Take(usize),
    /// It is wanted more than once.
    TakeAll(Vec<usize>),
}

impl<'a> Plan<'a> {
    /// Takes the columns at these places of the file.
    pub(super) fn new(opening: &'a Opening, takes: &[Take], empty: Empty) -> Self {
        let mut takers = vec![Vec::new(); opening.headings.len()];
        let mut orders = vec![None; opening.headings.len()];
        for (result, take) in takes.iter().enumerate() {
            takers[take.place].push(result);
            orders[take.place] = orders[take.place].or(take.order);
        }
        let step = |takers: Vec<usize>| match takers.as_slice() {
            [] => Step::Skip,
            [taker] => Step::Take(*taker),
            _ => Step::TakeAll(takers),
        };
        let steps = takers.into_iter().map(step).collect();
        Plan { opening, steps, kinds: takes.iter().map(|take| take.kind).collect(), orders, empty }
    }

    /// Whether a record that starts here has an empty field where a value is wanted.
    fn is_incomplete(&self, cursor: &Cursor) -> bool {
        let mut cursor = cursor.clone();
        for step in &self.steps {
            let takers = match step {
                Step::Skip => &[][..],
                Step::Take(taker) => std::slice::from_ref(taker),
                Step::TakeAll(takers) => takers,
            };
            // What is wrong with a record is said by whoever reads it.
            let Ok(field) = cursor.field() else { return false };
            if takers.iter().any(|&taker| is_empty(field, self.kinds[taker])) {
                return true;
            }
            if cursor.pass() == Next::Record {
                return false;
            }
        }
        false
    }

    /// Columns without rows, with room for those of a text.
    pub(super) fn columns(&self, bytes: usize) -> Vec<Data> {
        // A little more than the mean, so that most pieces grow no column.
        let rows = bytes / self.opening.record_bytes;
        self.kinds.iter().map(|kind| empty(*kind, rows + rows / 16)).collect()
    }
}

/// Whether a field stands for no value of a kind.
fn is_empty(field: &[u8], kind: ColumnType) -> bool {
    if kind == ColumnType::Id { is_empty_id(field) } else { is_empty_value(field) }
}

/// A column without rows.
fn empty(kind: ColumnType, capacity: usize) -> Data {
    match kind {
        ColumnType::Id => Data::Integers(Vec::with_capacity(capacity)),
        ColumnType::Number => Data::Numbers(Vec::with_capacity(capacity)),
        ColumnType::Time => Data::Times(Vec::with_capacity(capacity)),
    }
}

/// The columns of a piece of text.
pub(super) struct Piece {
    pub(super) columns: Vec<Data>,
    pub(super) rows: usize,
    /// The records that were left out, counted from 0.
    pub(super) skipped: Vec<usize>,
    /// How many line ends it has, up to where it could be read.
    pub(super) lines: u64,
    /// Where a record starts whose quotes are not closed in the piece.
    pub(super) open: Option<usize>,
    pub(super) bad: Option<BadLine>,
}

/// Why a record cannot be used.
enum Fault {
    Stop(Stop, usize),
    Count,
    Value(String),
}

/// Reads the records of a text that starts with one.
pub(super) fn parse(text: &[u8], plan: &Plan) -> Piece {
    let mut cursor = Cursor::new(text, plan.opening.separator);
    let columns = plan.columns(text.len());
    let mut piece = Piece { columns, rows: 0, skipped: Vec::new(), lines: 0, open: None, bad: None };
    let mut end = text.len();
    while cursor.next_record() {
        let start = cursor.at;
        // Asked before anything is taken: a name that only such records have is none.
        if plan.empty == Empty::Skip && plan.is_incomplete(&cursor) && pass_record(&mut cursor, plan) {
            piece.skipped.push(piece.rows + piece.skipped.len());
            continue;
        }
        match record(&mut cursor, plan, &mut piece.columns) {
            Ok(()) => piece.rows += 1,
            Err(Fault::Stop(Stop::Open, _)) => {
                // Labels that the unfinished record has brought may stay: it is the next to be read.
                let rows = piece.rows;
                piece.columns.iter_mut().for_each(|column| truncate(column, rows));
                (piece.open, end) = (Some(start), start);
                break;
            }
            Err(fault) => {
                let line = memchr_iter(b'\n', &text[..start]).count() as u64 + 1;
                piece.bad = Some(BadLine { line, what: explain(fault, &text[start..], plan.opening) });
                return piece;
            }
        }
    }
    piece.lines = memchr_iter(b'\n', &text[..end]).count() as u64;
    piece
}

/// Goes over a record; goes back to its start, and says no, where it has another number of fields or wrong quotes.
fn pass_record(cursor: &mut Cursor, plan: &Plan) -> bool {
    let start = cursor.at;
    for place in 0..plan.steps.len() {
        let is_last = place + 1 == plan.steps.len();
        if cursor.skip().is_err() || (cursor.pass() == Next::Record) != is_last {
            cursor.at = start;
            return false;
        }
    }
    true
}

/// The column whose quotes are not closed, in a text that starts with that record.
pub(super) fn unclosed(text: &[u8], plan: &Plan) -> String {
    let mut cursor = Cursor::new(text, plan.opening.separator);
    let fault = record(&mut cursor, plan, &mut plan.columns(0)).err();
    fault.map_or_else(String::new, |fault| explain(fault, text, plan.opening))
}

fn truncate(column: &mut Data, rows: usize) {
    match column {
        Data::Integers(values) | Data::Times(values) => values.truncate(rows),
        Data::Numbers(values) => values.truncate(rows),
        Data::Texts { codes, .. } => codes.truncate(rows),
    }
}

fn record(cursor: &mut Cursor, plan: &Plan, columns: &mut [Data]) -> Result<(), Fault> {
    for (place, step) in plan.steps.iter().enumerate() {
        match step {
            Step::Skip => cursor.skip().map_err(|stop| Fault::Stop(stop, place))?,
            Step::Take(taker) => take(cursor, plan, place, &mut columns[*taker])?,
            Step::TakeAll(takers) => {
                let start = cursor.at;
                for &taker in takers {
                    cursor.at = start;
                    take(cursor, plan, place, &mut columns[taker])?;
                }
            }
        }
        let last = place + 1 == plan.steps.len();
        if (cursor.pass() == Next::Record) != last {
            return Err(Fault::Count);
        }
    }
    Ok(())
}

#[inline]
fn take(cursor: &mut Cursor, plan: &Plan, place: usize, column: &mut Data) -> Result<(), Fault> {
    match column {
        Data::Integers(values) => {
            if let Some(value) = cursor.parse(leading_integer) {
                values.push(value);
                return Ok(());
            }
        }
        Data::Numbers(values) => {
            if let Some(value) = cursor.parse(leading_decimal) {
                values.push(value);
                return Ok(());
            }
        }
        Data::Times(values) => {
            if let Some(value) = cursor.parse(leading_integer) {
                values.push(time::from_unix(value));
                return Ok(());
            }
        }
        Data::Texts { .. } => {}
    }
    take_field(cursor, plan, place, column)
}

/// Takes a field that is not a short plain number.
#[inline(never)]
fn take_field(cursor: &mut Cursor, plan: &Plan, place: usize, column: &mut Data) -> Result<(), Fault> {
    let field = cursor.field().map_err(|stop| Fault::Stop(stop, place))?;
    let heading = || shortened(&plan.opening.headings[place]);
    let bad =
        |what: &str| Err(Fault::Value(format!("{} in column \"{}\" is {what}", show(field), heading())));
    let needed = match column {
        Data::Integers(_) | Data::Texts { .. } => "an id",
        Data::Numbers(_) => "a number",
        Data::Times(_) => "a point in time",
    };
    let kind = match column {
        Data::Integers(_) | Data::Texts { .. } => ColumnType::Id,
        Data::Numbers(_) => ColumnType::Number,
        Data::Times(_) => ColumnType::Time,
    };
    let is_empty = is_empty(field, kind);
    if is_empty && plan.empty != Empty::Keep {
        let what =
            if field.is_empty() { "empty".into() } else { format!("{}, which is no value", show(field)) };
        return Err(Fault::Value(format!(
            "column \"{}\" is {what}, but {needed} is needed ({SKIP_EMPTY})",
            heading()
        )));
    }
    let field = if is_empty && kind == ColumnType::Id { &[][..] } else { field };
    match column {
        Data::Numbers(values) => match plan.opening.separator.number(field) {
            Some(value) => values.push(value),
            None if field.contains(&b',') => return bad("not a number (decimals follow a point)"),
            None => return bad("not a finite number"),
        },
        Data::Times(values) => match time::parse_in(field, plan.orders[place]) {
            Some(value) => values.push(value),
            None if time::is_ambiguous(field) => {
                return bad(
                    "month/day or day/month, and no date of the first rows says which: write 2017-03-04",
                );
            }
            None => return bad("not a point in time (2017-03-04, 2017-03-04T13:05:30Z, or unix time)"),
        },
        Data::Integers(values) if plan.opening.separator == Separator::Blanks => {
            // Such files are of numbers: leading zeros have no meaning there.
            match std::str::from_utf8(field).ok().and_then(|text| text.parse().ok()) {
                Some(value) => values.push(value),
                None => return bad("not a whole number"),
            }
        }
        Data::Integers(values) => {
            if let Some(value) = parse_integer(field) {
                values.push(value);
                return Ok(());
            }
            column.make_texts();
            push_text(column, field);
        }
        Data::Texts { .. } => push_text(column, field),
    }
    Ok(())
}

fn push_text(column: &mut Data, field: &[u8]) {
    if let Data::Texts { codes, labels } = column {
        codes.push(labels.id(&decode(field)));
    }
}

/// What is wrong with the record that a text starts with, and what would be right.
fn explain(fault: Fault, text: &[u8], opening: &Opening) -> String {
    match fault {
        Fault::Value(what) => what,
        Fault::Stop(Stop::Open, place) => {
            format!("the quote that opens column \"{}\" is not closed", shortened(&opening.headings[place]))
        }
        Fault::Stop(Stop::Behind, place) => format!(
            "column \"{}\" goes on behind its closing quote (a quote within quotes is written twice)",
            shortened(&opening.headings[place])
        ),
        Fault::Count => {
            let mut cursor = Cursor::new(text, opening.separator);
            let (mut found, expected) = (1, opening.headings.len());
            // Where there are too many, the text may end before the record does, so they are not counted.
            while found <= expected && cursor.skip().is_ok() && cursor.pass() == Next::Field {
                found += 1;
            }
            let found = if found > expected { "more".into() } else { found.to_string() };
            let fields = if expected == 1 { "field" } else { "fields" };
            format!("expected {expected} {fields} separated by {}, found {found}", opening.separator.name())
        }
    }
}
