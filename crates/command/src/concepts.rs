//! `s3cmtf concepts`: what a model has found, in names.

use std::io::{self, Write};
use std::process::ExitCode;

use s3cmtf::discovery::{self, Concept, Concepts, Scored};

use crate::args::ConceptsArgs;
use crate::print::{self, short};
use crate::saved::Saved;
use crate::show;

/// Concepts below this part of what varies are not shown.
const WEAK: f64 = 0.005;

/// Runs the verb.
pub(crate) fn run(args: &ConceptsArgs) -> anyhow::Result<ExitCode> {
    let saved = Saved::load(&args.model)?;
    let mode = args.mode.as_deref().map(|wanted| saved.mode(wanted)).transpose()?;
    let mut found = discovery::concepts(&saved.model, args.top);
    if let Some(mode) = mode {
        let name = saved.model.modes()[mode].name();
        found.concepts.retain(|concept| concept.mode == name);
        let own: Vec<String> = found.concepts.iter().map(|concept| concept.name.clone()).collect();
        found.interactions.retain(|interaction| interaction.concepts.iter().any(|name| own.contains(name)));
    }
    if args.json {
        print::json(&found)?;
    } else {
        print::out(|out| write_all(out, &found))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(out: &mut dyn Write, found: &Concepts) -> io::Result<()> {
    for (number, of_mode) in found.concepts.chunk_by(|a, b| a.mode == b.mode).enumerate() {
        writeln!(out, "{}{}:", if number == 0 { "" } else { "\n" }, of_mode[0].mode)?;
        let (shown, weak): (Vec<&Concept>, Vec<&Concept>) =
            of_mode.iter().partition(|concept| concept.strength >= WEAK);
        shown.into_iter().try_for_each(|concept| show_one(out, concept))?;
        if let [first, ..] = weak[..] {
            writeln!(out, "  and {} from {} on that matter little; --json has them", weak.len(), first.name)?;
        }
    }
    if !found.interactions.is_empty() {
        writeln!(out, "\nwhat goes together, and what that adds:")?;
        for interaction in &found.interactions {
            writeln!(out, "  {:>+8.3}  {}", interaction.value, interaction.concepts.join(" with "))?;
        }
    }
    Ok(())
}

fn show_one(out: &mut dyn Write, concept: &Concept) -> io::Result<()> {
    let Concept { name, strength, about, opposite, strongest, weakest, columns, times, .. } = concept;
    let opposite = if opposite.is_empty() { String::new() } else { format!(" / {opposite}") };
    writeln!(out, "  {name:<4} {:>3.0} %  {about}{opposite}", 100.0 * strength)?;
    for (sign, entities) in [('+', strongest), ('-', weakest)] {
        if !entities.is_empty() {
            writeln!(out, "       {sign} {}", list(entities))?;
        }
    }
    for matrix in columns.iter().filter(|matrix| !matrix.columns.is_empty()) {
        writeln!(out, "       {}: {}", matrix.matrix, list(&matrix.columns))?;
    }
    if let Some([first, .., last]) = times.as_deref() {
        let values: Vec<f64> = times.iter().flatten().map(|time| time.score).collect();
        writeln!(out, "       {} {} {}", first.name, show::spark(&values), last.name)?;
    }
    Ok(())
}

fn list(scored: &[Scored]) -> String {
    let one = |scored: &Scored| format!("{} {}", scored.name, short(scored.score));
    scored.iter().map(one).collect::<Vec<_>>().join(", ")
}
