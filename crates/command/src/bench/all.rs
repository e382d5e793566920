//! Every measurement, each in a process of its own: memory that one leaves behind must not count in the next.

use std::process::Command;

use anyhow::{Context, ensure};

use crate::args::{BenchArgs, BenchVerb};

/// Runs every other verb as if it had been typed alone.
pub(super) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program")?;
    // Sets need data that are not here.
    for verb in BenchVerb::names().iter().filter(|verb| !["all", "sets"].contains(&verb.as_str())) {
        let mut command = Command::new(&program);
        command.args(["bench", verb, "--scale", &args.scale.to_string()]);
        if let Some(folder) = &args.out {
            command.arg("--out").arg(folder);
        }
        if args.quiet {
            command.arg("--quiet");
        }
        let status = command.status().with_context(|| program.display().to_string())?;
        ensure!(status.success(), "bench {verb}: {status}");
    }
    Ok(())
}
