//! `s3cmtf import`: tables with names of a well-known data set, and the line that factorizes them.

use std::path::Path;
use std::process::ExitCode;

use s3cmtf::internal::files::{self, Imported, OutFormat};

use crate::args::{ImportArgs, quoted};
use crate::print;

/// Runs the verb.
pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    // Minutes of reading should not end at a place that nothing can be written to.
    if args.out.is_file() {
        files::make_folder(&args.out)?;
    }
    let imported = files::import(args.dataset, &args.path)?;
    let format: OutFormat = args.to.into();
    files::make_folder(&args.out)?;
    // Nothing is written if one of them would be what was read.
    for table in &imported.tables {
        files::check_apart(Path::new(&file(&args.out, &table.name, format)), [args.path.as_path()])?;
    }
    let mut written = Vec::new();
    for table in &imported.tables {
        let path = file(&args.out, &table.name, format);
        files::write_table(Path::new(&path), format, table)?;
        let rows = table.columns.first().map_or(0, |column| column.data.len());
        written.push(format!("{path}  {rows} rows"));
    }
    for note in &imported.notes {
        print::note(note);
    }
    let fit = fit_line(&imported, &args.out, format);
    print::out(|out| {
        written.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "next: {fit}")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn file(folder: &Path, table: &str, format: OutFormat) -> String {
    folder.join(format!("{table}.{}", format.name())).display().to_string()
}

/// What to type next.
fn fit_line(imported: &Imported, folder: &Path, format: OutFormat) -> String {
    let Imported { tables, modes, value, couplings, .. } = imported;
    let tensor = tables.first().map_or("", |table| table.name.as_str());
    let mut words: Vec<String> = ["s3cmtf", "fit"].map(str::to_owned).into();
    words.push(file(folder, tensor, format));
    words.extend(["--modes", modes, "--value", value].map(str::to_owned));
    for coupling in couplings {
        let path = file(folder, coupling.table, format);
        words.push("--couple".to_owned());
        words.push(format!("{}={path}{}", coupling.mode, coupling.words));
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
