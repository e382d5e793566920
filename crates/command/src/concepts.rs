//! `s3cmtf concepts`: what a model has found, in names.

use std::io::{self, Write};
use std::process::ExitCode;

use s3cmtf::Run;
use s3cmtf::discovery::{self, Concept, Concepts, Scored};
use s3cmtf::internal::files;

use crate::args::ConceptsArgs;
use crate::print::{self, short};
use crate::show::{self, Cell};
use crate::{entity, saved};

/// The most concepts of each mode that are shown where no mode was asked for.
const MOST: usize = 4;

/// Runs the verb.
pub(crate) fn run(args: &ConceptsArgs) -> anyhow::Result<ExitCode> {
    let Run { model, record } = files::load(&args.model)?;
    let mode = args.mode.as_deref().map(|wanted| entity::mode(&model, wanted, "--mode")).transpose()?;
    let data = saved::data(&args.model, &model, &record)?;
    if data.is_none() {
        print::note("the model was saved without its data: what concepts have in common is not known");
    }
    let mut found = discovery::concepts(&model, data.as_ref(), args.top)?;
    if let Some(mode) = mode {
        let name = model.modes()[mode].name();
        found.concepts.retain(|concept| concept.mode == name);
        let own: Vec<String> = found.concepts.iter().map(|concept| concept.name.clone()).collect();
        found.interactions.retain(|interaction| interaction.concepts.iter().any(|name| own.contains(name)));
    }
    if args.json {
        print::json(&found)?;
    } else {
        let most = if mode.is_some() { usize::MAX } else { MOST };
        print::styled(|out| write_all(out, &found, most))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(out: &mut dyn Write, found: &Concepts, most: usize) -> io::Result<()> {
    for (number, of_mode) in found.concepts.chunk_by(|a, b| a.mode == b.mode).enumerate() {
        let title = Cell::new(show::HEADING, format!("{}:", of_mode[0].mode));
        writeln!(out, "{}{title}", if number == 0 { "" } else { "\n" })?;
        let (telling, weak): (Vec<&Concept>, Vec<&Concept>) =
            of_mode.iter().partition(|concept| concept.telling);
        telling.iter().take(most).try_for_each(|concept| show_one(out, concept))?;
        let (more, weak) = (telling.len().saturating_sub(most), weak.len());
        let more = (more > 0).then(|| format!("{more} more with --mode {}", of_mode[0].mode));
        let weak = (weak > 0).then(|| format!("{weak} that say little in --json"));
        let rest: Vec<String> = more.into_iter().chain(weak).collect();
        if !rest.is_empty() {
            writeln!(out, "  {}", Cell::new(show::DIM, format!("and {}", rest.join(", "))))?;
        }
    }
    if !found.interactions.is_empty() {
        writeln!(out, "\n{}", Cell::new(show::HEADING, "strongest interactions, and what they add:"))?;
        let largest = found.interactions.iter().map(|one| one.value.abs()).fold(f64::MIN_POSITIVE, f64::max);
        for interaction in &found.interactions {
            let names = interaction.concepts.join(" with ");
            let bar = show::bar(interaction.value / largest, 8);
            writeln!(out, "  {:>+8.3}  {names}  {bar}", interaction.value)?;
        }
    }
    Ok(())
}

fn show_one(out: &mut dyn Write, concept: &Concept) -> io::Result<()> {
    let Concept { name, strength, about, opposite, strongest, weakest, columns, times, .. } = concept;
    let share = format!("{:>3.0} %", 100.0 * strength);
    let [name, share] = [Cell::new(show::HEADING, format!("{name:<4}")), Cell::new(show::DIM, share)];
    let about = if opposite.is_empty() { about.clone() } else { format!("{about} / {opposite}") };
    for line in show::list(&["  ".into(), name, " ".into(), share, "  ".into()], &[vec![about.into()]]) {
        writeln!(out, "{}", line.trim_end())?;
    }
    for (sign, style, entities) in [("+ ", show::BAR, strongest), ("- ", show::MINUS, weakest)] {
        if !entities.is_empty() {
            write_list(out, Cell::new(style, sign), entities)?;
        }
    }
    for matrix in columns.iter().filter(|matrix| !matrix.columns.is_empty()) {
        write_list(out, Cell::new(show::DIM, format!("{}: ", matrix.matrix)), &matrix.columns)?;
    }
    if let Some([first, .., last]) = times.as_deref() {
        let values: Vec<f64> = times.iter().flatten().map(|time| time.score).collect();
        let [first, last] = [first, last].map(|time| Cell::new(show::DIM, &time.name));
        writeln!(out, "       {first} {} {last}", show::spark(&values))?;
    }
    Ok(())
}

fn write_list(out: &mut dyn Write, before: Cell, scored: &[Scored]) -> io::Result<()> {
    let one = |scored: &Scored| vec![Cell::from(&scored.name), Cell::new(show::DIM, short(scored.score))];
    let things: Vec<Vec<Cell>> = scored.iter().map(one).collect();
    show::list(&["       ".into(), before], &things).iter().try_for_each(|line| writeln!(out, "{line}"))
}
