//! `s3cmtf clusters`: which entities of a mode are alike, and what they have in common.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use s3cmtf::discovery::{self, Cluster, ClusterParams, Clusters, K, Mark, Marks};
use s3cmtf::internal::files::{self, OutFormat};
use s3cmtf::internal::table::{Column, Data, Labels, Table};
use s3cmtf::{Model, Run};

use crate::args::{ClustersArgs, Count};
use crate::progress::waiting;
use crate::show::{self, Cell};
use crate::{entity, out, print, saved};

/// Runs the verb.
pub(crate) fn run(args: &ClustersArgs) -> anyhow::Result<ExitCode> {
    let format = args.out.as_deref().map(out::format).transpose()?;
    let Run { model, record } = files::load(&args.model)?;
    let mode = entity::mode(&model, &args.mode, "--mode")?;
    let rows = model.modes()[mode].rows();
    let k = match args.k {
        Count::Auto => K::Auto(args.most.min(rows)),
        Count::Fixed(k) => K::Fixed(k),
    };
    let data = saved::data(&args.model, &model, &record)?;
    let found = waiting("looking for clusters", false, || {
        let params = ClusterParams { k, level: args.level, top: args.top, seed: args.seed };
        discovery::clusters(&model, data.as_ref(), mode, params)
    })?;
    if data.is_none() {
        print::note("the model was saved without its data: what clusters have in common is not known");
    }
    if let (Some(path), Some(format)) = (&args.out, format) {
        write(path, format, &model, mode, &found)?;
    }
    if args.json {
        print::json(&found)?;
    } else {
        print::styled(|out| write_all(out, &found, rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(out: &mut dyn Write, found: &Clusters, rows: usize) -> io::Result<()> {
    let (some, empty): (Vec<&Cluster>, Vec<&Cluster>) =
        found.clusters.iter().partition(|cluster| cluster.size > 0);
    let count = some.len();
    let title = format!("{}: {count} cluster{} of {rows}", found.mode, if count == 1 { "" } else { "s" });
    write!(out, "{}", Cell::new(show::HEADING, title))?;
    if let Some(curve) = &found.gap {
        write!(out, ", by the gap statistic over 1 to {}:", curve.gaps.len())?;
        let gaps: Vec<f64> = curve.gaps.iter().map(|gap| gap.gap).collect();
        write!(out, " {}", show::spark(&gaps))?;
    }
    if !empty.is_empty() {
        write!(out, "; {} more are empty, as rows are the same", empty.len())?;
    }
    writeln!(out)?;
    for cluster in some {
        let number = Cell::new(show::HEADING, format!("{:>3}", cluster.cluster));
        let size = Cell::from(format!("  {} of {rows}: ", cluster.size));
        let names: Vec<Vec<Cell>> = cluster.typical.iter().map(|one| vec![Cell::from(&one.name)]).collect();
        writeln!(out)?;
        write_list(out, &[number, size], &names)?;
        let width = cluster.marks.iter().map(|marks| marks.matrix.chars().count()).max().unwrap_or(0);
        for Marks { matrix, columns } in cluster.marks.iter().filter(|marks| !marks.columns.is_empty()) {
            let column = |mark: &Mark| {
                let numbers = format!("{:.0} % ({:.1}x)", 100.0 * mark.share, mark.lift);
                vec![Cell::from(&mark.name), Cell::new(show::DIM, numbers)]
            };
            let columns: Vec<Vec<Cell>> = columns.iter().map(column).collect();
            write_list(out, &[Cell::new(show::DIM, format!("     {matrix:width$}  "))], &columns)?;
        }
    }
    Ok(())
}

fn write_list(out: &mut dyn Write, before: &[Cell], things: &[Vec<Cell>]) -> io::Result<()> {
    show::list(before, things).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Writes the cluster of each entity.
fn write(path: &Path, format: OutFormat, model: &Model, mode: usize, found: &Clusters) -> anyhow::Result<()> {
    let known = &model.modes()[mode];
    let mut labels = Labels::new();
    let codes = (0..known.rows()).map(|row| labels.id(&known.label(known.id(row)))).collect();
    let column = |name: &str, data: Data| Column { name: name.into(), data };
    let numbers = found.of_row.iter().map(|&cluster| i64::from(cluster) + 1).collect();
    let table = Table {
        name: path.display().to_string(),
        columns: vec![
            column(&found.mode, Data::Texts { codes, labels }),
            column("cluster", Data::Integers(numbers)),
        ],
    };
    Ok(files::write_table(path, format, &table)?)
}
