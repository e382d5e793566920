//! `s3cmtf completions` and `s3cmtf man`: what shells and readers of manuals want, made of the definition of the flags.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{Args, CompletionArgs, ManArgs};
use crate::print;

/// Runs `completions`.
pub(crate) fn completions(args: &CompletionArgs) -> anyhow::Result<ExitCode> {
    // Made as a whole first: the generator does not expect a reader that goes away.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "s3cmtf", &mut script);
    print::out(|out| out.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `man`: the page of the command to stdout, or all pages into a folder.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let mut command = Args::command();
    command.build();
    match &args.out {
        None => print::out(|out| Man::new(command).render(out))?,
        Some(folder) => {
            s3cmtf::internal::files::make_folder(folder)?;
            write_pages(&command, "s3cmtf", folder)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its verbs.
fn write_pages(command: &Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("{name}.1"));
    let page = Man::new(command.clone());
    let write = |out: &mut dyn Write| -> io::Result<()> {
        // The page writes to a sized writer.
        let mut bytes = Vec::new();
        page.render(&mut bytes)?;
        out.write_all(&bytes)
    };
    s3cmtf::internal::files::write_atomically(&path, write)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        write_pages(verb, &format!("{name}-{}", verb.get_name()), folder)?;
    }
    Ok(())
}
