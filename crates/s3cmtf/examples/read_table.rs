//! How long a file takes to become a table: `cargo run --release --example read_table FILE COLUMN:KIND ..`, where a kind
//! is `id`, `number` or `time`. Prints the seconds of three readings and, on Linux, the peak of memory.

use std::error::Error;
use std::time::Instant;

use s3cmtf::files::{Source, read_table};
use s3cmtf::table::{Kind, Selector, Want};

fn want(text: &str) -> Result<Want, Box<dyn Error>> {
    let (column, kind) = text.rsplit_once(':').ok_or("expected COLUMN:KIND")?;
    let kind = match kind {
        "id" => Kind::Id,
        "number" => Kind::Number,
        "time" => Kind::Time,
        other => return Err(format!("\"{other}\" is not one of id, number, time").into()),
    };
    Ok(Want { column: Selector::Name(column.into()), kind })
}

#[expect(clippy::print_stdout, reason = "the output of an example")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = Source::new(arguments.next().ok_or("expected FILE COLUMN:KIND ..")?)?;
    let wants = arguments.map(|text| want(&text)).collect::<Result<Vec<Want>, _>>()?;
    for _ in 0..3 {
        let start = Instant::now();
        let table = read_table(&source, &wants)?;
        let rows = table.columns.first().map_or(0, |column| column.data.len());
        println!("{rows} rows in {:.3} s", start.elapsed().as_secs_f64());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    Ok(())
}
