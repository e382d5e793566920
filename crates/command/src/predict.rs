//! `s3cmtf predict`: the value of each given cell.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use s3cmtf::internal::files::{self, OutFormat};
use s3cmtf::internal::input::{self, CellTable};
use s3cmtf::internal::table::{Column, Data, Labels, Table};
use s3cmtf::{Cells, Model};

use crate::args::PredictArgs;
use crate::{entity, out, print, problem, source, unknown};

/// Runs the verb.
pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    if let Some(out) = &args.out {
        out::check_apart(out, std::slice::from_ref(&args.coords), &[], None)?;
    }
    let model = files::load(&args.model)?.model;
    let given = source::given(std::slice::from_ref(&args.coords), &args.file);
    let at = args.at.iter().map(|at| entity::one(&model, at, "--at")).collect::<anyhow::Result<Vec<_>>>()?;
    let CellTable { cells, table } = input::known_cells(&given, model.modes(), &at, &mut problem::tell)?;
    let Some((mut table, modes)) = table else {
        let found = predict(&model, &cells, None, args)?;
        let columns: Vec<&[f32]> = found.iter().map(|(_, values)| values.as_slice()).collect();
        let write = |out: &mut dyn Write| files::write_values(out, &columns);
        match &args.out {
            Some(path) => files::write_atomically(path, write)?,
            None => print::out(write)?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let found = predict(&model, &cells, Some(&table), args)?;
    name_bins(&model, &cells, &mut table, &modes);
    let number =
        |name: &str, values: &[f32]| Column { name: name.to_owned(), data: Data::from_singles(values) };
    let first = format!("predicted_{}", model.value().unwrap_or("value"));
    table.columns.extend(found.iter().map(|(name, values)| number(name.unwrap_or(&first), values)));
    write_table(&table, args.out.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// Columns of predictions: the predicted value, which has no name of its own, and what was asked for beside it.
type Columns = Vec<(Option<&'static str>, Vec<f32>)>;

fn predict(
    model: &Model,
    cells: &Cells,
    table: Option<&Table>,
    args: &PredictArgs,
) -> anyhow::Result<Columns> {
    let clip = args.clip.clips(model);
    let mut columns = vec![(None, model.predict(cells, clip)?)];
    if args.std {
        columns.push((Some("std"), model.std(cells)?));
    }
    if let Some(level) = args.interval {
        let bounds = model.interval(cells, level, clip)?;
        columns.push((Some("low"), bounds.iter().map(|[low, _]| *low).collect()));
        columns.push((Some("high"), bounds.iter().map(|[_, high]| *high).collect()));
    }
    let names = unknown::named(model.modes(), cells, table);
    print::note_unknown(cells.name(), model.unknown(cells), cells.len(), &names);
    Ok(columns)
}

/// Puts the names of months and the like in the place of points in time.
fn name_bins(model: &Model, cells: &Cells, table: &mut Table, modes: &[usize]) {
    for (column, &number) in table.columns.iter_mut().zip(modes) {
        let mode = &model.modes()[number];
        let Some(naming) = mode.naming().filter(|naming| naming.binning.is_some()) else { continue };
        let mut labels: Labels = naming.labels.iter().collect();
        let unknown = labels.id("?");
        let codes = cells.indices(number).iter().map(|&id| id.min(unknown)).collect();
        column.data = Data::Texts { codes, labels };
    }
}

/// Writes a table to a file, in the format of its ending, or as CSV to stdout.
fn write_table(table: &Table, path: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = path else { return print::out(|out| files::write_csv(out, table)) };
    Ok(files::write_table(path, OutFormat::from_path(path).unwrap_or(OutFormat::Csv), table)?)
}
