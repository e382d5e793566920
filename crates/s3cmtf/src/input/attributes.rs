//! A table of attributes: a row for each entity, and in each column what is known of it, which becomes a matrix of its own.

use super::couple::{Couple, Form, SideMatrix, choose, others_of, row_of};
use super::note::Note;
use super::source::Opened;
use crate::Error;
use crate::files::SampledColumn;
use crate::model::{CoupledFactor, Model};
use crate::prepare::{Attribute, MatrixSpec, ModeSpec, bins, check_numbers, filled, known_separator};
use crate::problem::{Absent, Naming};
use crate::table::time::Bin;
use crate::table::{Binning, Column, ColumnType, Data, Empty, Selector, Table, Want};

/// Headings of values, if such a column is the third and last of a table.
const VALUES: [&str; 8] = ["value", "weight", "count", "score", "relevance", "strength", "rating", "plays"];

/// Reads the matrices of a table of which no column was named.
pub(super) fn read(
    couple: &Couple,
    table: Opened<'_>,
    mode: usize,
    modes: &[String],
    naming: Option<&Naming>,
    model: Option<&Model>,
    tell: &mut dyn FnMut(Note),
) -> Result<Vec<SideMatrix>, Error> {
    let sampled = table.columns()?;
    let headings: Vec<&str> = sampled.iter().map(|column| column.name.as_str()).collect();
    let row = row_of(&sampled, naming);
    let (first, name) = (table.first(), couple.name(modes)?);
    // What cannot be read is not there.
    let has_values = |&place: &usize| !sampled[place].values.is_empty();
    let (others, unread): (Vec<usize>, Vec<usize>) =
        others_of(&sampled, row).into_iter().partition(has_values);
    if others.is_empty() {
        return Err(couple.ask(&headings, row, None));
    }
    let id = |place: usize| Want { column: choose(&headings, place), kind: ColumnType::Id };
    let row_kind = naming.and_then(|naming| naming.binning.as_ref()).map_or(ColumnType::Id, Binning::kind);
    let mut wants = vec![Want { column: choose(&headings, row), kind: row_kind }];
    wants.extend(others.iter().map(|&place| id(place)));
    let table = table.with(Empty::Keep);
    let (Table { columns, .. }, skipped) = table.read(&wants)?;
    let Some((rows, columns)) = columns.split_first() else { return Err(couple.ask(&headings, row, None)) };
    if naming.is_none() {
        check_numbers(&rows.data, &first).map_err(|error| table.explain(error, &wants, &skipped))?;
    }
    let read = Read { couple, name: &first, rows, selector: choose(&headings, row) };

    if let [column, values] = columns
        && let Some(matrix) = read.cells(column, values, &sampled[others[1]], &name)
    {
        return Ok(vec![matrix]);
    }
    let is_only = columns.len() == 1 && unread.is_empty();
    let mut taken = Taken::default();
    let mut matrices = Vec::new();
    let mut indicators: Vec<Table> = Vec::new();
    for (column, &place) in columns.iter().zip(&others) {
        let own = if is_only { name.clone() } else { couple.name_of(&column.name, &modes[mode]) };
        let known = model.map(|model| model.coupled().iter().find(|matrix| matrix.name == own));
        let attribute = match known {
            // A model that has only one matrix of the mode can mean no other.
            Some(None) if !is_only => Attribute::Nothing("is not in the model"),
            Some(Some(known)) => as_before(known, column),
            _ => Attribute::new(column, sampled[place].guess),
        };
        // Who gives a single column wants it.
        let attribute = match attribute {
            Attribute::Nothing(_) | Attribute::Indicator if is_only => Attribute::Category,
            other => other,
        };
        taken.take(&column.name, &attribute);
        match attribute {
            Attribute::Nothing(_) => {}
            Attribute::Indicator => indicators.push(filled(&first, rows, column, &attribute)),
            _ => matrices.push(read.attribute(column, &attribute, own)),
        }
    }
    if let Some(table) = joined(indicators) {
        matrices.push(read.indicators(table, name));
    }
    taken
        .left_out
        .extend(unread.iter().map(|&place| (headings[place].to_owned(), "cannot be read or is empty")));
    if matrices.is_empty() {
        let why: Vec<String> = taken.left_out.iter().map(|(name, why)| format!("{name} {why}")).collect();
        return Err(Error::Problem(format!("{first}: no column tells anything: {}", why.join(", "))));
    }
    let plain = is_only && taken.is_plain();
    if couple.kind == Some(Absent::Missing) && taken.has_categories() {
        tell(Note::Zeros { table: first.clone() });
    }
    if !plain {
        tell(Note::Attributes {
            table: first,
            mode: modes[mode].clone(),
            taken: taken.words(),
            left_out: taken.left_out,
        });
    }
    Ok(matrices)
}

/// What a column is that a model knows.
fn as_before(known: &CoupledFactor, column: &Column) -> Attribute {
    match known.columns.naming().and_then(|naming| naming.binning.as_ref()) {
        Some(Binning::Standard { .. }) => Attribute::Number,
        Some(Binning::Time(bin)) => Attribute::Time(*bin),
        _ => {
            let is_known = |label: &str| known.columns.find(label).is_some();
            known_separator(column, is_known).map_or(Attribute::Category, Attribute::List)
        }
    }
}

/// A table that was read.
struct Read<'a> {
    couple: &'a Couple,
    name: &'a str,
    rows: &'a Column,
    selector: Selector,
}

impl Read<'_> {
    fn matrix(&self, name: String, spec: MatrixSpec, table: Table) -> SideMatrix {
        SideMatrix { couple: self.couple.clone(), name, form: Form::Read(Box::new((spec, table))) }
    }

    fn spec(&self, column: &Column, kind: Absent) -> MatrixSpec {
        let column = ModeSpec { name: None, column: Selector::Name(column.name.clone()), bins: None };
        MatrixSpec { row: self.selector.clone(), column, number: false, value: None, split: None, kind }
    }

    /// A matrix with a row per cell: entities come again, or the last column is called as values are.
    fn cells(
        &self,
        column: &Column,
        values: &Column,
        sampled: &SampledColumn,
        name: &str,
    ) -> Option<SideMatrix> {
        let is_value = VALUES.contains(&values.name.to_lowercase().as_str());
        if sampled.guess != ColumnType::Number || (is_unique(&self.rows.data) && !is_value) {
            return None;
        }
        // Cells whose value or column is empty are not there.
        let numbers = filled(self.name, self.rows, values, &Attribute::Number);
        let whole = numbers.columns[1].data.len() == values.data.len();
        let categories = filled(self.name, self.rows, column, &Attribute::Category);
        if !whole || categories.columns[1].data.len() != column.data.len() {
            return None;
        }
        let [rows, column]: [Column; 2] = categories.columns.try_into().ok()?;
        let values = numbers.columns.into_iter().nth(1)?;
        let kind = self.couple.kind.unwrap_or(Absent::Missing);
        let value = Some(Selector::Name(values.name.clone()));
        let spec = MatrixSpec { value, ..self.spec(&column, kind) };
        let table = Table { name: self.name.to_owned(), columns: vec![rows, column, values] };
        Some(self.matrix(name.to_owned(), spec, table))
    }

    fn attribute(&self, column: &Column, attribute: &Attribute, name: String) -> SideMatrix {
        let number = *attribute == Attribute::Number;
        let mut spec = self.spec(column, if number { Absent::Missing } else { Absent::Zeros });
        spec.number = number;
        spec.column.bins = bins(attribute);
        if let Attribute::List(separator) = attribute {
            spec.split = Some((*separator).to_owned());
        }
        self.matrix(name, spec, filled(self.name, self.rows, column, attribute))
    }

    /// One matrix of all columns that say whether an entity has something.
    fn indicators(&self, table: Table, name: String) -> SideMatrix {
        let spec = self.spec(&table.columns[1], Absent::Zeros);
        self.matrix(name, spec, table)
    }
}

/// The rows of all tables.
fn joined(tables: Vec<Table>) -> Option<Table> {
    tables.into_iter().reduce(|mut all, next| {
        all.columns.iter_mut().zip(next.columns).for_each(|(column, next)| column.data.append(next.data));
        all
    })
}

/// Whether no id is there twice.
fn is_unique(data: &Data) -> bool {
    match data {
        Data::Integers(values) | Data::Times(values) => {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            sorted.windows(2).all(|pair| pair[0] != pair[1])
        }
        Data::Texts { codes, labels } => codes.len() <= labels.len(),
        Data::Numbers(_) => false,
    }
}

/// What columns were taken for.
#[derive(Default)]
struct Taken {
    categories: Vec<String>,
    lists: Vec<(String, &'static str)>,
    numbers: Vec<String>,
    times: Vec<(String, Bin)>,
    indicators: Vec<String>,
    left_out: Vec<(String, &'static str)>,
}

impl Taken {
    fn take(&mut self, heading: &str, attribute: &Attribute) {
        let heading = heading.to_owned();
        match attribute {
            Attribute::Category => self.categories.push(heading),
            Attribute::List(separator) => self.lists.push((heading, separator)),
            Attribute::Number => self.numbers.push(heading),
            Attribute::Time(bin) => self.times.push((heading, *bin)),
            Attribute::Indicator => self.indicators.push(heading),
            Attribute::Nothing(why) => self.left_out.push((heading, why)),
        }
    }

    /// Whether there is nothing to tell of.
    fn is_plain(&self) -> bool {
        self.lists.is_empty() && self.numbers.is_empty() && self.times.is_empty()
    }

    fn has_categories(&self) -> bool {
        !(self.categories.is_empty()
            && self.lists.is_empty()
            && self.times.is_empty()
            && self.indicators.is_empty())
    }

    /// What each column was taken for, in words.
    fn words(&self) -> Vec<String> {
        let joined = |names: &[String]| names.join(", ");
        let mut words = Vec::new();
        if !self.categories.is_empty() {
            words.push(format!("{} as categories", joined(&self.categories)));
        }
        words.extend(
            self.lists.iter().map(|(name, separator)| format!("{name} as lists separated by {separator}")),
        );
        if !self.numbers.is_empty() {
            words.push(format!("{} as numbers", joined(&self.numbers)));
        }
        words.extend(self.times.iter().map(|(name, bin)| format!("{name} by {}", bin.name())));
        if !self.indicators.is_empty() {
            words.push(format!("{} as yes or no", joined(&self.indicators)));
        }
        words
    }
}
