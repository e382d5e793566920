//! `s3cmtf split`: a tensor's entries in two files, one to train on and one to test with.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use s3cmtf::internal::files::{self, Format, OutFormat, Source};
use s3cmtf::internal::holdout;
use s3cmtf::internal::table::{Column, ColumnType, Data, Selector, Table, Want, time};

use crate::args::{SplitArgs, TableChoice};
use crate::failure::usage;
use crate::{print, problem, source};

/// The share to test with unless told otherwise.
const SHARE: f64 = 0.1;

/// Runs the verb.
pub(crate) fn run(args: &SplitArgs) -> anyhow::Result<ExitCode> {
    check(args)?;
    if let Some(path) = problem::kept(&args.tensor)? {
        return Err(usage(format!(
            "{}: is a whole problem, which is not split: split the table that it was made of, or let fit --holdout hold \
             entries out",
            path.display()
        )));
    }
    let source = source::open(&args.tensor, &args.file)?;
    let format = files::format(&source)?;
    if args.to.is_some() && format == Format::Tns {
        return Err(usage("--to is for tables with headings, but the tensor is a file of indices"));
    }
    let rows = files::count_text_rows(&source)?;
    let (held, paths) = match (rows, args.to) {
        (Some(rows), None) => {
            let held = held(args, &source, rows)?;
            let paths = paths(&args.out, &ending(&source.paths[0], format), &source)?;
            files::divide_text(&source, &held, &paths[0], &paths[1])?;
            (held, paths)
        }
        (_, to) => {
            let is_text = matches!(format, Format::Tns | Format::Csv);
            let own = if is_text { OutFormat::Csv } else { TableChoice::BINARY.into() };
            let to = to.map_or(own, OutFormat::from);
            let table = read_all(&source, is_text, to == OutFormat::Parquet)?;
            let held = held(args, &source, table.columns.first().map_or(0, |column| column.data.len()))?;
            let paths = paths(&args.out, to.name(), &source)?;
            for (path, side) in paths.iter().zip([false, true]) {
                files::write_table(path, to, &select(&table, &held, side))?;
            }
            (held, paths)
        }
    };
    let count = held.iter().filter(|held| **held).count();
    print::out(|out| {
        writeln!(out, "{}  {} rows", paths[0].display(), held.len() - count)?;
        writeln!(out, "{}  {count} rows", paths[1].display())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What can be seen to be wrong before a large file is read.
fn check(args: &SplitArgs) -> anyhow::Result<()> {
    if let Some(share) = args.test
        && !(share > 0.0 && share < 1.0)
    {
        return Err(usage(format!(
            "--test should be a share between 0 and 1, both excluded, but is {share}"
        )));
    }
    if args.leave == Some(0) {
        return Err(usage("--leave should be 1 or more, but is 0"));
    }
    if let Some(after) = &args.after
        && time::parse(after.as_bytes()).is_none()
    {
        return Err(usage(format!("--after should be a time such as 2005-06-01, but is {after:?}")));
    }
    Ok(())
}

/// For each row whether it is to test with; neither part is empty.
fn held(args: &SplitArgs, source: &Source, rows: usize) -> anyhow::Result<Vec<bool>> {
    let share = args.test.unwrap_or(SHARE);
    let held = match (&args.time, &args.mode, args.leave) {
        (Some(column), _, _) => {
            let Data::Times(times) = read_column(source, column, ColumnType::Time)? else {
                return Ok(Vec::new());
            };
            match args.after.as_ref().and_then(|after| time::parse(after.as_bytes())) {
                Some(after) => times.iter().map(|time| *time >= after).collect(),
                None => holdout::last(&times, share)?,
            }
        }
        (None, Some(column), Some(count)) => match read_column(source, column, ColumnType::Id)? {
            Data::Texts { codes, .. } => holdout::leave(&codes, count, args.seed),
            Data::Integers(ids) | Data::Times(ids) => holdout::leave(&ids, count, args.seed),
            Data::Numbers(numbers) => {
                let bits: Vec<u64> = numbers.iter().map(|number| number.to_bits()).collect();
                holdout::leave(&bits, count, args.seed)
            }
        },
        _ => holdout::random(rows, share, args.seed)?,
    };
    let test = held.iter().filter(|held| **held).count();
    if test == 0 || test == held.len() {
        let all = if test == 0 { "none" } else { "all" };
        anyhow::bail!(
            "{}: {all} of the {} rows would be to test with, but both files need some",
            source.name(),
            held.len()
        );
    }
    Ok(held)
}

fn read_column(source: &Source, column: &str, kind: ColumnType) -> anyhow::Result<Data> {
    let mut table = files::read_table(source, &[Want { column: Selector::parse(column), kind }])?;
    let column = table.columns.pop().context("no column was read")?;
    Ok(column.data)
}

/// All columns. Those of a file with types keep them; of a text only numbers become such, and only `into_types`, since
/// anything else stays exactly as it is written.
fn read_all(source: &Source, is_text: bool, into_types: bool) -> anyhow::Result<Table> {
    let (names, kinds): (Vec<String>, Vec<ColumnType>) = files::kinds(source)?.into_iter().unzip();
    let kinds = kinds.into_iter().map(|kind| match kind {
        ColumnType::Number if into_types || !is_text => ColumnType::Number,
        ColumnType::Time if !is_text => ColumnType::Time,
        _ => ColumnType::Id,
    });
    // By name where there is one: the next file may have its columns in another order.
    let column = |(place, name): (usize, &String)| match Selector::parse(name) {
        Selector::Name(_) if names.iter().filter(|other| *other == name).count() == 1 => {
            Selector::parse(name)
        }
        _ => Selector::Place(place),
    };
    let columns = names.iter().enumerate().map(column);
    let wants: Vec<Want> = columns.zip(kinds).map(|(column, kind)| Want { column, kind }).collect();
    Ok(files::read_table(source, &wants)?)
}

fn select(table: &Table, held: &[bool], side: bool) -> Table {
    fn pick<T: Copy>(values: &[T], held: &[bool], side: bool) -> Vec<T> {
        values.iter().zip(held).filter(|(_, held)| **held == side).map(|(value, _)| *value).collect()
    }
    let column = |column: &Column| Column {
        name: column.name.clone(),
        data: match &column.data {
            Data::Integers(values) => Data::Integers(pick(values, held, side)),
            Data::Times(values) => Data::Times(pick(values, held, side)),
            Data::Numbers(values) => Data::Numbers(pick(values, held, side)),
            Data::Texts { codes, labels } => {
                Data::Texts { codes: pick(codes, held, side), labels: labels.clone() }
            }
        },
    };
    Table { name: table.name.clone(), columns: table.columns.iter().map(column).collect() }
}

/// What the names of the two files end with: what that of the tensor does, packed or not.
fn ending(path: &Path, format: Format) -> String {
    let path = match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz" | "zst" | "zstd") => path.with_extension(""),
        _ => path.to_path_buf(),
    };
    path.extension().map_or_else(|| format.name().to_owned(), |ending| ending.to_string_lossy().into_owned())
}

/// The two files in their folder, which is made; neither is one of those that are split.
fn paths(folder: &Path, ending: &str, source: &Source) -> anyhow::Result<[PathBuf; 2]> {
    let paths = ["train", "test"].map(|name| folder.join(format!("{name}.{ending}")));
    for path in &paths {
        files::check_apart(path, source.paths.iter().map(PathBuf::as_path))?;
    }
    files::make_folder(folder)?;
    Ok(paths)
}
