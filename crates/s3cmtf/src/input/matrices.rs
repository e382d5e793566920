//! Which matrices are meant by what was said about a table, and what each is called.

use super::attributes;
use super::couple::{Couple, Form, SideMatrix};
use super::note::Note;
use super::source::Opened;
use crate::Error;
use crate::model::Model;
use crate::problem::{Absent, Naming};

impl Couple {
    /// The matrices that are meant, among modes of these names, whose ids have these names: one, or one for each column of a
    /// table of attributes. Those of a model say what their columns are; otherwise `tell` is told what they were taken for.
    ///
    /// # Errors
    /// If the table cannot be read, or if it is not obvious what is meant.
    fn matrices(
        &self,
        modes: &[String],
        namings: &[Option<Naming>],
        model: Option<&Model>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<Vec<SideMatrix>, Error> {
        let mode = self.mode(modes)?;
        let table = self.table.open()?;
        let naming = namings[mode].as_ref();
        let said = |form: Form, name: String| SideMatrix { couple: self.clone(), name, form };
        if self.columns.is_empty() && self.split.is_none() {
            if naming.is_none() && table.numbered()?.is_some() {
                return Ok(vec![said(Form::Numbered, self.name(modes)?)]);
            }
            self.check_headings(&table, mode, modes, namings)?;
            if self.kind != Some(Absent::Graph) {
                let attributes = attributes::read(self, table, mode, modes, naming, model, tell)?;
                return Ok(attributes);
            }
        }
        self.check_headings(&table, mode, modes, namings)?;
        Ok(vec![said(Form::Named, self.name(modes)?)])
    }

    /// Refuses a table whose headings, if nobody has said which are meant, say that its rows are those of another mode.
    fn check_headings(
        &self,
        table: &Opened<'_>,
        mode: usize,
        modes: &[String],
        namings: &[Option<Naming>],
    ) -> Result<(), Error> {
        let Some(own) = namings[mode].as_ref().filter(|_| self.columns.len() < 2) else { return Ok(()) };
        let headings: Vec<String> = table.columns()?.into_iter().map(|column| column.name).collect();
        let other = |heading: &&String| {
            let is =
                |naming: &Option<Naming>| naming.as_ref().is_some_and(|naming| naming.column == **heading);
            namings.iter().position(is).filter(|&other| other != mode && own.column != **heading)
        };
        // The columns of a graph are entities of its mode as well.
        let rows = if headings.contains(&own.column) { None } else { headings.first() };
        let columns = headings.iter().filter(|_| self.kind == Some(Absent::Graph));
        let Some((heading, other)) =
            rows.into_iter().chain(columns).find_map(|name| Some((name, other(&name)?)))
        else {
            return Ok(());
        };
        let example = self.example.replace("{row}", &own.column).replace("{column}", heading);
        Err(Error::Request(format!(
            "{}: its column {heading} is that of mode {}, but it is coupled to {}: couple it to {} instead, or say which columns are \
             meant, as in {example}",
            self.words, modes[other], modes[mode], modes[other]
        )))
    }
}

impl SideMatrix {
    /// The matrices that are meant, each with a name of its own: the second `user/friends` is `user/friends#2`.
    ///
    /// # Errors
    /// If one is coupled to a mode that there is not, if a table cannot be read, or if it is not obvious what is meant.
    pub fn all(
        couples: &[Couple],
        modes: &[String],
        namings: &[Option<Naming>],
        model: Option<&Model>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<Vec<SideMatrix>, Error> {
        let mut matrices: Vec<SideMatrix> = Vec::new();
        for couple in couples {
            for mut matrix in couple.matrices(modes, namings, model, tell)? {
                let name = matrix.name.clone();
                let mut numbered = (2..).map(|number| format!("{name}#{number}"));
                let is_free = |name: &String| matrices.iter().all(|other| other.name != *name);
                let free = std::iter::once(name.clone()).chain(&mut numbered).find(is_free);
                matrix.name = free.unwrap_or(name);
                matrices.push(matrix);
            }
        }
        Ok(matrices)
    }
}
