//! `s3cmtf predict`: the value of each given cell, one per line.

use std::io::{self, Write};
use std::process::ExitCode;

use s3cmtf::files;

use crate::args::PredictArgs;
use crate::print;

/// Runs the verb.
pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let (model, _) = files::load(&args.model)?;
    let cells = files::read_coordinates(&args.coords, model.modes().len())?;
    let values = model.predict(&cells, args.clip)?;
    print::note_unknown(cells.name(), model.unknown(&cells), cells.len());
    match &args.out {
        Some(path) => files::write_atomically(path, |out| write_values(&values, out))?,
        None => print::out(|out| write_values(&values, out))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one value per line, with the digits that tell it from its neighbours.
fn write_values(values: &[f32], out: &mut dyn Write) -> io::Result<()> {
    values.iter().try_for_each(|value| writeln!(out, "{value}"))
}
