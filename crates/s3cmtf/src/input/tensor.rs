//! A tensor and its coupled matrices, from what was said about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::couple::{Couple, SideMatrix, check_modes};
use super::note::Note;
use super::source::{Opened, TableSource};
use crate::files;
use crate::model::Model;
use crate::nodes::{Exchange, Nodes};
use crate::prepare::{ModeSpec, Recipe, Tensor};
use crate::problem::{Duplicates, Entries, Naming};
use crate::table::{Selector, shortened};
use crate::{Error, Problem};

/// The columns that a message shows at most. Whoever turned a matrix into a table has one for each item.
const SHOWN: usize = 12;

/// What a problem is to be made of.
#[derive(Clone)]
pub struct Input {
    /// The tensor's table.
    pub tensor: TableSource,
    /// The columns that are the modes; what is obvious if nothing was said.
    pub modes: Option<Vec<ModeSpec>>,
    /// The column of values, by heading or number from 1; where modes were said and this was not, rows are counted.
    pub value: Option<String>,
    /// The matrices coupled to it.
    pub couple: Vec<Couple>,
    /// What becomes of entries given more than once; their mean, or their sum where rows are counted, if nothing was said.
    pub duplicates: Option<Duplicates>,
    /// The number of ids of each mode, where those are numbers.
    pub sizes: Option<Vec<u32>>,
    /// Whether absent cells will be zeros: values that are all alike then say something, and nobody has to be told of them.
    pub zeros: bool,
    /// How the nodes are reached that each have a part of the tensor's table, which must be one of names.
    pub exchange: Option<Arc<dyn Exchange>>,
    /// What stands before the names of these fields where errors speak of them: `--` on a command line.
    #[doc(hidden)]
    pub prefix: &'static str,
}

impl Input {
    /// A tensor of which nothing is said but where it is.
    pub fn new(tensor: TableSource) -> Self {
        Input {
            tensor,
            modes: None,
            value: None,
            couple: Vec::new(),
            duplicates: None,
            sizes: None,
            zeros: false,
            exchange: None,
            prefix: "",
        }
    }

    /// That values say nothing, if they do not.
    fn constant(&self, problem: &Problem) -> Option<Note> {
        Note::constant(problem).filter(|_| !self.zeros)
    }

    /// The columns that are the modes: `user`, `person=user` under another name, `date:month` for times put together.
    ///
    /// # Errors
    /// If one of them is not of such a form.
    pub fn modes<T: AsRef<str>>(mut self, modes: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let parse = |mode: T| mode.as_ref().parse::<ModeSpec>().map_err(Error::Request);
        self.modes = Some(modes.into_iter().map(parse).collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// The column of values; without it, rows are counted.
    #[must_use]
    pub fn value(mut self, column: impl Into<String>) -> Self {
        self.value = Some(column.into());
        self
    }

    /// Couples one more matrix.
    #[must_use]
    pub fn couple(mut self, couple: Couple) -> Self {
        self.couple.push(couple);
        self
    }

    /// Reads everything, and keeps to itself what it notices.
    ///
    /// # Errors
    /// As [`Input::read`].
    pub fn problem(&self) -> Result<Problem, Error> {
        Ok(self.read(None, &mut |_| ())?.0)
    }

    /// Reads everything, and tells of what it notices. Names that were not said are those of the model to start from. Also
    /// says how many entries there were before any were merged.
    ///
    /// # Errors
    /// If a table cannot be read, if it is not obvious which columns are meant, or if the parts do not fit together.
    pub fn read(&self, init: Option<&Model>, tell: &mut dyn FnMut(Note)) -> Result<(Problem, usize), Error> {
        if let Some(path) = self.whole()? {
            let problem = files::load_problem(path)?;
            let given = problem.entries().len();
            self.constant(&problem).into_iter().for_each(tell);
            return Ok((problem, given));
        }
        if let Some(names) = self.modes.as_ref().and_then(|modes| said_names(modes)) {
            // A mistyped mode should not wait for a large tensor to be read.
            check_modes(&self.couple, &names)?;
        }
        let table = self.tensor.open()?;
        let plain = self.value.is_none() && plain_names(self.modes.as_deref()).is_some();
        match table.numbered()? {
            Some(path) if plain => self.read_numbered(path, init, tell),
            _ => self.read_named(&table, tell),
        }
    }

    /// The file of a whole problem, if the tensor is one and nothing was said that it says itself.
    fn whole(&self) -> Result<Option<&Path>, Error> {
        let TableSource::Files { paths, .. } = &self.tensor else { return Ok(None) };
        let Some(path) = whole_problem(paths)? else { return Ok(None) };
        self.refuse_words(path)?;
        Ok(Some(path))
    }

    /// Refuses words that the file of a problem has said already.
    ///
    /// # Errors
    /// If there are any.
    #[doc(hidden)]
    pub fn refuse_words(&self, path: &Path) -> Result<(), Error> {
        let (format, header) = match &self.tensor {
            TableSource::Files { format, header, .. } => (format.is_some(), header.is_some()),
            TableSource::Frame(..) => (false, false),
        };
        let said = [
            ("modes", self.modes.is_some()),
            ("value", self.value.is_some()),
            ("couple", !self.couple.is_empty()),
            ("duplicates", self.duplicates.is_some()),
            ("sizes", self.sizes.is_some()),
            ("format", format),
            ("header", header),
        ];
        match said.iter().find(|(_, is_said)| *is_said) {
            Some((name, _)) => Err(Error::Request(format!(
                "{}: is a whole problem with its modes, values and matrices, so {}{name} is not for it: give it to convert",
                path.display(),
                self.prefix
            ))),
            None => Ok(()),
        }
    }

    /// A tensor whose ids are numbers, counted from 1, in the first columns of a file.
    fn read_numbered(
        &self,
        path: &Path,
        init: Option<&Model>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<(Problem, usize), Error> {
        let known = plain_names(self.modes.as_deref()).flatten().or_else(|| init.map(mode_names));
        let entries = files::read_entries(path, None)?;
        if let Some(model) = init
            && model.modes().len() != entries.order()
        {
            let what = format!(
                "{} indices per entry, but the model to start from has {} modes",
                entries.order(),
                model.modes().len()
            );
            return Err(Error::file(path, what));
        }
        if self.exchange.is_some() {
            let what = "nodes share tables of names, with a heading: this is a file of indices";
            return Err(Error::file(path, what));
        }
        let names =
            known.unwrap_or_else(|| (1..=entries.order()).map(|mode| format!("mode{mode}")).collect());
        self.build(entries, names, Vec::new(), None, tell)
    }

    /// A tensor whose ids have names, in columns of a table.
    fn read_named(&self, table: &Opened<'_>, tell: &mut dyn FnMut(Note)) -> Result<(Problem, usize), Error> {
        let recipe = self.recipe_of(table, tell)?;
        if self.sizes.is_some() {
            return Err(Error::Request(format!(
                "{}sizes is for files of indices: a mode of names has as many ids as names",
                self.prefix
            )));
        }
        let (tensor, skipped) = table.tensor(&recipe)?;
        table.tell_skipped(&skipped, tensor.entries.len(), tell);
        let Tensor { entries, namings, .. } = match &self.exchange {
            Some(exchange) => tensor.share(&Nodes::new(Arc::clone(exchange)))?,
            None => tensor,
        };
        let name = |(spec, naming): (&ModeSpec, &Naming)| match &spec.name {
            Some(name) => name.clone(),
            None if naming.column.parse::<u64>().is_ok() => format!("mode{}", naming.column),
            None => naming.column.clone(),
        };
        let names: Vec<String> = recipe.modes.iter().zip(&namings).map(name).collect();
        let value = recipe.value.as_ref().map(ToString::to_string);
        let problem = self.build(entries, names, namings, value, tell);
        problem.map_err(|error| table.explain(error, &recipe.wants(), &skipped))
    }

    /// Which columns are the tensor: those that were said, or those that are obvious.
    ///
    /// # Errors
    /// If nothing was said and it is not obvious, or the table cannot be read.
    pub fn recipe(&self, tell: &mut dyn FnMut(Note)) -> Result<Recipe, Error> {
        self.recipe_of(&self.tensor.open()?, tell)
    }

    fn recipe_of(&self, table: &Opened<'_>, tell: &mut dyn FnMut(Note)) -> Result<Recipe, Error> {
        let value = self.value.as_deref().map(Selector::parse);
        if let Some(modes) = &self.modes {
            return Ok(Recipe { modes: modes.clone(), value });
        }
        let columns = table.columns()?;
        let kinds: Vec<_> = columns.iter().map(|column| (column.name.clone(), column.guess)).collect();
        let Some(mut recipe) = Recipe::guess(&kinds) else {
            let shown = columns.iter().take(SHOWN).map(|column| match &column.values[..] {
                [] => shortened(&column.name),
                values => {
                    let values: Vec<String> = values.iter().map(|value| shortened(value)).collect();
                    format!("{} ({})", shortened(&column.name), values.join(", "))
                }
            });
            let mut shown = shown.collect::<Vec<String>>().join("; ");
            if columns.len() > SHOWN {
                let more = columns.len() - SHOWN;
                shown.push_str(&format!(
                    " and {more} more. A table has a row for each cell; where columns are entities of a mode, turn it so that \
                     their names are a column"
                ));
            }
            let prefix = self.prefix;
            return Err(Error::Request(format!(
                "{}: {prefix}modes should say which columns are the modes, and {prefix}value which is the value; there \
                 are: {shown}",
                table.first(),
            )));
        };
        recipe.value = value.or(recipe.value);
        recipe.modes.retain(|mode| Some(&mode.column) != recipe.value.as_ref());
        tell(Note::Taken(recipe.clone()));
        Ok(recipe)
    }

    /// Puts the tensor and its coupled matrices together; no namings are those of numbered ids.
    fn build(
        &self,
        entries: Entries,
        names: Vec<String>,
        namings: Vec<Naming>,
        value: Option<String>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<(Problem, usize), Error> {
        let given = entries.len();
        let duplicates = match self.duplicates {
            Some(duplicates) => duplicates,
            // Rows without a value are events to be counted.
            None if !namings.is_empty() && value.is_none() => Duplicates::Sum,
            None => Duplicates::default(),
        };
        let mut namings: Vec<Option<Naming>> = namings.into_iter().map(Some).collect();
        namings.resize(names.len(), None);
        let known: Vec<usize> = (0..names.len())
            .map(|mode| match &namings[mode] {
                Some(naming) => naming.labels.len(),
                None => entries.indices(mode).iter().max().map_or(0, |&id| id as usize + 1),
            })
            .collect();
        let mut coupled = Vec::new();
        for matrix in SideMatrix::all(&self.couple, &names, &namings, None, tell)? {
            coupled.push(matrix.read(&names, &mut namings, &known, None, Some(tell))?);
        }
        let mut builder = Problem::builder(entries).names(names).namings(namings).duplicates(duplicates);
        if let Some(sizes) = &self.sizes {
            builder = builder.sizes(sizes.clone());
        }
        if let Some(value) = value {
            builder = builder.value(value);
        }
        for matrix in coupled {
            builder = builder.couple(matrix);
        }
        if let Some(exchange) = &self.exchange {
            return Ok((builder.share(exchange)?.build()?, given));
        }
        let problem = builder.build()?;
        self.constant(&problem).into_iter().for_each(tell);
        Ok((problem, given))
    }
}

/// The file of a problem that was converted, if the tensor is one.
///
/// # Errors
/// If there are other files beside it, or a file cannot be read.
pub fn whole_problem(tensor: &[PathBuf]) -> Result<Option<&Path>, Error> {
    for path in tensor {
        if files::is_problem(path)? {
            if tensor.len() > 1 {
                return Err(Error::Request(format!(
                    "{}: is a whole problem, which cannot be put together with other files",
                    path.display()
                )));
            }
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The names that modes will have, as far as that can be said before their columns are known.
fn said_names(modes: &[ModeSpec]) -> Option<Vec<String>> {
    let name = |spec: &ModeSpec| match (&spec.name, &spec.column) {
        (Some(name), _) | (None, Selector::Name(name)) => Some(name.clone()),
        (None, Selector::Place(_)) => None,
    };
    modes.iter().map(name).collect()
}

/// The names of modes, if what was said is nothing else; no names if nothing was said.
pub fn plain_names(modes: Option<&[ModeSpec]>) -> Option<Option<Vec<String>>> {
    let plain = |spec: &ModeSpec| match (&spec.name, &spec.column, spec.bins) {
        (None, Selector::Name(name), None) => Some(name.clone()),
        _ => None,
    };
    match modes {
        None => Some(None),
        Some(specs) => specs.iter().map(plain).collect::<Option<Vec<_>>>().map(Some),
    }
}

fn mode_names(model: &Model) -> Vec<String> {
    model.modes().iter().map(|mode| mode.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::files::{Fetch, Frame, Raw};
    use crate::problem::Absent;
    use crate::table::{Empty, Labels};

    fn texts(values: &[&str]) -> Raw {
        let mut labels = Labels::new();
        Raw::Texts { codes: values.iter().map(|value| labels.id(value)).collect(), labels }
    }

    /// A table of these columns, and how often all of a column was asked for.
    fn table(name: &str, columns: Vec<(&str, Raw)>) -> (TableSource, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let rows = columns.first().map_or(0, |(_, values)| match values {
            Raw::Texts { codes, .. } => codes.len(),
            Raw::Signed(values) | Raw::Times(values) => values.len(),
            Raw::Numbers(values) => values.len(),
            Raw::Unsigned(values) => values.len(),
            Raw::Holes { .. } => 0,
        });
        let fetch = |values: Raw| -> Fetch {
            let asked = Arc::clone(&asked);
            Box::new(move |most| {
                asked.fetch_add(usize::from(most.is_none()), Relaxed);
                Ok(values.clone())
            })
        };
        let columns = columns.into_iter().map(|(name, values)| (name.to_owned(), fetch(values))).collect();
        (TableSource::Frame(Arc::new(Frame::new(name, rows, columns)), Empty::Refuse), asked)
    }

    fn ratings() -> (TableSource, Arc<AtomicUsize>) {
        table(
            "ratings",
            vec![
                ("user", texts(&["ann", "bob", "ann", "bob"])),
                ("film", texts(&["Up", "Up", "Heat", "Up"])),
                ("rating", Raw::Numbers(vec![4.0, 2.0, 5.0, 3.0])),
            ],
        )
    }

    fn couple(mode: &str, table: TableSource) -> Couple {
        Couple {
            mode: mode.into(),
            table,
            columns: Vec::new(),
            split: None,
            kind: Some(Absent::Zeros),
            weight: None,
            name: None,
            label: format!("couple {mode}"),
            words: format!("couple {mode}"),
            example: "columns={row},{column}".into(),
        }
    }

    #[test]
    fn what_is_obvious_is_taken_and_told() {
        let mut notes = Vec::new();
        let (problem, given) =
            Input::new(ratings().0).read(None, &mut |note| notes.push(note.to_string())).unwrap();
        assert_eq!(notes, ["inferred: modes user,film, value rating"]);
        assert_eq!((given, problem.entries().values()), (4, &[4.0, 2.5, 5.0][..]));
        assert_eq!(problem.notes(), ["ratings: 1 duplicate entry was merged into the mean of the values"]);
        assert_eq!((problem.modes()[1].label(0).as_ref(), problem.value()), ("Heat", Some("rating")));
    }

    #[test]
    fn rows_without_a_value_are_counted() {
        let modes = Some(vec!["user".parse().unwrap(), "film".parse().unwrap()]);
        let input = Input { modes, ..Input::new(ratings().0) };
        let (problem, _) = input.read(None, &mut |_| ()).unwrap();
        assert_eq!(problem.entries().values(), [1.0, 2.0, 1.0]);
    }

    #[test]
    fn values_that_are_all_the_same_are_told_of() {
        let told = |last: f64, value: Option<&str>| {
            let columns = vec![
                ("user", texts(&["ann", "bob", "ann"])),
                ("film", texts(&["Up", "Up", "Heat"])),
                ("rating", Raw::Numbers(vec![1.0, 1.0, last])),
            ];
            let modes = Some(vec!["user".parse().unwrap(), "film".parse().unwrap()]);
            let value = value.map(str::to_owned);
            let mut notes = Vec::new();
            let input = Input { modes, value, ..Input::new(table("ratings", columns).0) };
            input.read(None, &mut |note| notes.push(note.to_string())).unwrap();
            notes
        };
        let what = "is 1, so that a model of values predicts 1 everywhere: there are no negative examples; with absent \
                    zeros, what was not chosen is one, or give counts or amounts as values";
        assert_eq!(told(1.0, Some("rating")), [format!("every value of rating {what}")]);
        // Rows that are counted, of which each is there once.
        assert_eq!(told(2.0, None), [format!("every value {what}")]);
        assert!(told(2.0, Some("rating")).is_empty());
    }

    #[test]
    fn a_table_with_a_column_for_each_item_is_not_listed_whole() {
        let names: Vec<String> = (0..5000).map(|item| format!("item {item}")).collect();
        let columns = names.iter().map(|name| (name.as_str(), Raw::Numbers(vec![0.5, 2.5]))).collect();
        let error = Input::new(table("pivoted", columns).0).read(None, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("item 0 (0.5, 2.5)") && error.contains("and 4988 more"), "{error}");
        assert!(error.contains("a row for each cell") && error.len() < 1000, "{error}");
    }

    #[test]
    fn a_mistyped_mode_does_not_wait_for_the_tensor() {
        let (tensor, asked) = ratings();
        let genres = table("genres", vec![("film", texts(&["Up"])), ("genre", texts(&["Drama"]))]).0;
        let modes = Some(vec!["user".parse().unwrap(), "film".parse().unwrap()]);
        let input = Input { modes, couple: vec![couple("flim", genres)], ..Input::new(tensor) };
        let error = input.read(None, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("there is no mode flim") && error.contains("film"), "{error}");
        assert_eq!(asked.load(Relaxed), 0);
    }

    #[test]
    fn a_matrix_says_what_it_has_more_and_less_and_must_have_something() {
        let read = |films: &[&str]| {
            let genres = vec![("film", texts(films)), ("genre", texts(&vec!["Drama"; films.len()]))];
            let genres = couple("film", table("genres", genres).0);
            let mut notes = Vec::new();
            let input = Input { couple: vec![genres], ..Input::new(ratings().0) };
            let read = input.read(None, &mut |note| notes.push(note.to_string()));
            read.map(|(problem, _)| (problem.coupled()[0].name().to_owned(), notes.split_off(1)))
                .map_err(|error| error.to_string())
        };
        let (name, notes) = read(&["Up", "Alien"]).unwrap();
        assert_eq!(name, "film/genre");
        assert_eq!(
            notes,
            [
                "genres: 1 film ids have no entry in the tensor; they are kept, known from this table alone",
                "1 of 2 film ids do not occur in genres"
            ]
        );
        let error = read(&["0", "1"]).unwrap_err();
        let what = "none of its rows is a film of the tensor: it has \"0\", the tensor \"Heat\" and the like";
        assert_eq!(error, format!("genres: {what}"));
    }
}
