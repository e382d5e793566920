//! `s3cmtf generate`: made-up data of a known shape, written entry by entry.

use std::io::{self, Write};
use std::process::ExitCode;

use s3cmtf::internal::files;
use s3cmtf::internal::synthetic::Source;

use crate::args::GenerateArgs;
use crate::print;
use crate::progress::count_bar;

/// Runs the verb.
pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let shape = args.shape()?;
    files::make_folder(&args.out)?;
    let mut written = Vec::new();
    let mut write = |name: &str, source: &Source<'_>, part: &dyn Fn(usize) -> bool| -> anyhow::Result<()> {
        let path = args.out.join(format!("{name}.tns"));
        files::write_atomically(&path, |out| write_entries(source, part, out))?;
        written.push(path.display().to_string());
        Ok(())
    };
    let tensor = shape.tensor();
    // Which entries are held back depends on their number alone, so nothing has to be remembered.
    let held = |entry: usize| {
        let mixed = (entry as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 11) as f64 / (1u64 << 53) as f64) < args.test
    };
    write("tensor", &tensor, &|entry| !held(entry))?;
    if args.test > 0.0 {
        write("test", &tensor, &held)?;
    }
    for (source, matrix) in shape.matrices().zip(&shape.matrices) {
        write(&matrix.name, &source, &|_| true)?;
    }
    let couples = shape.matrices.iter().map(|matrix| {
        let path = args.out.join(format!("{}.tns", matrix.name));
        format!(" --couple {}={},{}", matrix.mode + 1, path.display(), matrix.kind.name())
    });
    let fit = format!("s3cmtf fit {}{}", written[0], couples.collect::<String>());
    print::out(|out| {
        written.iter().try_for_each(|path| writeln!(out, "{path}"))?;
        writeln!(out, "noise {}: no model can reach a lower RMSE on entries it has not seen", shape.noise)?;
        writeln!(out, "next: {fit}")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the entries of which `part` says yes.
fn write_entries(source: &Source<'_>, part: &dyn Fn(usize) -> bool, out: &mut dyn Write) -> io::Result<()> {
    let bar = count_bar(source.len());
    let mut ids = vec![0; source.order()];
    let mut line = Vec::new();
    for entry in 0..source.len() {
        if entry % 100_000 == 0 {
            bar.set_position(entry as u64);
        }
        if part(entry) {
            let value = source.entry(entry, &mut ids);
            line.clear();
            for id in &ids {
                write!(line, "{} ", u64::from(*id) + 1)?;
            }
            // Whole values (edges, categories) need no decimals, and no data has more than four.
            if value.fract() == 0.0 {
                writeln!(line, "{value}")?
            } else {
                writeln!(line, "{value:.4}")?
            };
            out.write_all(&line)?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}
