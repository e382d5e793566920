//! `s3cmtf similar`: what is most like an entity.

use std::process::ExitCode;

use s3cmtf::discovery::{self, Scored, Space};
use s3cmtf::internal::files;
use serde::Serialize;

use crate::args::SimilarArgs;
use crate::show::{self, Cell};
use crate::{entity, print};

#[derive(Serialize)]
struct Similar<'a> {
    mode: &'a str,
    name: &'a str,
    similar: Vec<Scored>,
}

/// Runs the verb.
pub(crate) fn run(args: &SimilarArgs) -> anyhow::Result<ExitCode> {
    let model = files::load(&args.model)?.model;
    let (mode, id) = entity::one(&model, &args.entity, "similar")?;
    let known = &model.modes()[mode];
    let similar = discovery::similar(&model, mode, id, args.level, args.top)?;
    if Space::new(&model, mode, args.level).is_line() {
        let name = known.name();
        print::note(format_args!(
            "the rows of {name} vary in one direction only, so that similarities say little"
        ));
    }
    if args.json {
        print::json(&Similar { mode: known.name(), name: &known.label(id), similar })?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |one: Scored| {
        vec![
            Cell::from(one.name),
            Cell::new(show::DIM, format!("{:.3}", one.score)),
            show::bar(one.score, 20),
        ]
    };
    let rows: Vec<Vec<Cell>> = similar.into_iter().map(row).collect();
    print::lines(&show::table(&[known.name(), ">likeness", ""], &rows))?;
    Ok(ExitCode::SUCCESS)
}
