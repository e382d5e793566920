//! The page: one file of HTML that needs nothing else, the same in Markdown, and each plot as a file of its own.

use std::fmt::Write;
use std::path::Path;

use s3cmtf::internal::files::write_atomically;

use super::section::{Picture, Row, Section, percent};
use super::verdict::Verdict;
use crate::args::{ReproduceArgs, typed_line};
use crate::bench::machine::Machine;
use crate::bench::plot::escaped;
use crate::bench::table::Table;
use crate::bench::units::digits;

const TITLE: &str = "The S3CMTF paper, reproduced";
const STYLE: &str = include_str!("page.css");
const HEAD: [&str; 5] = ["what", "the paper", "ours", "ratio", "verdict"];

/// What the page says of the whole.
pub(super) struct About {
    machine: String,
    command: String,
    data: String,
    cells: String,
}

impl About {
    pub(super) fn new(args: &ReproduceArgs, done: usize, all: usize) -> Self {
        let downloads = [("MovieLens", &args.movielens), ("Netflix", &args.netflix), ("Yelp", &args.yelp)];
        let named = |there: bool| -> Vec<&str> {
            downloads.iter().filter(|(_, path)| path.is_some() == there).map(|(name, _)| *name).collect()
        };
        let (original, made) = (named(true), named(false));
        let mut data = Vec::new();
        if !original.is_empty() {
            data.push(format!("{}: the original downloads.", original.join(", ")));
        }
        if !made.is_empty() {
            let share = if args.scale < 1.0 {
                format!(" at {} % of its size", percent(args.scale))
            } else {
                String::new()
            };
            data.push(format!(
                "{}: made-up data of the same shape{share}. Errors on them say which method is better there, and nothing about the \
                 paper's errors.",
                made.join(", ")
            ));
        }
        About {
            machine: Machine::here().described(),
            command: typed_line(),
            data: data.join(" "),
            cells: if done == all { format!("{all} cells") } else { format!("{done} of {all} cells so far") },
        }
    }
}

/// Writes all files.
pub(super) fn write(out: &Path, sections: &[Section], about: &About) -> anyhow::Result<()> {
    for section in sections {
        for picture in &section.plots {
            save(&out.join(file(section, picture)), &picture.plot.svg(&picture.title, &about.machine))?;
        }
    }
    save(&out.join("reproduce.md"), &markdown(sections, about))?;
    save(&out.join("index.html"), &html(sections, about))
}

fn save(path: &Path, text: &str) -> anyhow::Result<()> {
    Ok(write_atomically(path, |out| out.write_all(text.as_bytes()))?)
}

fn file(section: &Section, picture: &Picture) -> String {
    let part = if picture.part.is_empty() { String::new() } else { format!("-{}", picture.part) };
    format!("{}{part}.svg", section.key)
}

fn cells(row: &Row) -> [String; 5] {
    let ratio = row.ratio.map_or("-".to_owned(), digits);
    [row.what.clone(), row.paper.clone(), row.ours.clone(), ratio, row.verdict.text()]
}

/// How many verdicts of each kind a section has.
fn tally(section: &Section) -> String {
    let count = |word: &str| section.rows.iter().filter(|row| row.verdict.word() == word).count();
    let words = ["agrees", "differs", "not comparable"];
    let said = words.iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
    said.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

fn markdown(sections: &[Section], about: &About) -> String {
    let mut text =
        format!("# {TITLE}\n\n{}: `{}`\n\n{} {}.\n", about.machine, about.command, about.data, about.cells);
    for section in sections {
        let _ = write!(text, "\n## {}\n\nThe paper: {}\n\n", section.title, section.paper);
        let mut table = Table::new(&HEAD);
        section.rows.iter().for_each(|row| table.row(cells(row).map(|cell| cell.replace('|', "\\|"))));
        text += &table.markdown();
        for note in &section.notes {
            let _ = write!(text, "\n- {note}");
        }
        text += if section.notes.is_empty() { "" } else { "\n" };
        for picture in &section.plots {
            let _ = write!(text, "\n![{}]({})\n", picture.title, file(section, picture));
        }
        for (caption, table) in &section.tables {
            let _ = write!(text, "\n{caption}\n\n{}", table.markdown());
        }
    }
    text
}

fn html(sections: &[Section], about: &About) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{TITLE}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header>\n<h1>{TITLE}</h1>\n<p>{}</p>\n<p class=\"small\">{} &middot; {} &middot; <code>{}</code></p>\n</header>\n<nav>\n",
        escaped(&about.data),
        escaped(&about.machine),
        escaped(&about.cells),
        escaped(&about.command)
    );
    for section in sections {
        let _ = writeln!(
            page,
            "<a href=\"#{}\">{} <span class=\"small\">{}</span></a>",
            section.key,
            escaped(&section.title),
            tally(section)
        );
    }
    page += "</nav>\n<main>\n";
    for section in sections {
        let _ = write!(
            page,
            "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"paper-says\"><b>The paper:</b> {}</p>\n",
            section.key,
            escaped(&section.title),
            escaped(&section.paper)
        );
        page += &comparison(&section.rows);
        if !section.notes.is_empty() {
            let notes = section.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note)));
            let _ = write!(page, "<ul class=\"notes\">\n{}</ul>\n", notes.collect::<String>());
        }
        for picture in &section.plots {
            let _ = write!(page, "<figure>\n{}</figure>\n", picture.plot.svg(&picture.title, &about.machine));
        }
        for (caption, table) in &section.tables {
            let _ = write!(
                page,
                "<details><summary>{}</summary>\n<div class=\"wide\">{}</div></details>\n",
                escaped(caption),
                plain_table(table)
            );
        }
        page += "</section>\n";
    }
    page + "</main>\n</body>\n</html>\n"
}

fn head(names: &[impl AsRef<str>]) -> String {
    let names: String = names.iter().map(|name| format!("<th>{}</th>", escaped(name.as_ref()))).collect();
    format!("<thead><tr>{names}</tr></thead>\n")
}

fn comparison(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("<div class=\"wide\"><table class=\"comparison\">\n{}<tbody>\n", head(&HEAD));
    for row in rows {
        let [what, paper, ours, ratio, _] = cells(row).map(|cell| escaped(&cell));
        let class = match row.verdict {
            Verdict::Agrees(_) => "agrees",
            Verdict::Differs(_) => "differs",
            Verdict::NotComparable(_) => "unknown",
        };
        let why = match row.verdict.why() {
            "" => String::new(),
            why => format!(" <span class=\"why\">{}</span>", escaped(why)),
        };
        let _ = writeln!(
            text,
            "<tr><td>{what}</td><td>{paper}</td><td>{ours}</td><td>{ratio}</td>\
             <td><span class=\"verdict {class}\">{}</span>{why}</td></tr>",
            row.verdict.word()
        );
    }
    text + "</tbody></table></div>\n"
}

fn plain_table(table: &Table) -> String {
    let mut text = format!("<table>\n{}<tbody>\n", head(table.head()));
    for row in table.rows() {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        let _ = writeln!(text, "<tr>{cells}</tr>");
    }
    text + "</tbody></table>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_cannot_be_taken_for_a_tag() {
        let section = Section {
            key: "fig1",
            title: "<b>".into(),
            paper: "a & b".into(),
            rows: vec![
                Row::numbers("x|y", 2.0, 4.0, Verdict::Differs("a < b".into())),
                Row::lacking("z", "1", "it was not run"),
            ],
            plots: Vec::new(),
            tables: Vec::new(),
            notes: vec!["<script>".into()],
        };
        let about = About {
            machine: "here".into(),
            command: "s3cmtf".into(),
            data: "data".into(),
            cells: "2 cells".into(),
        };
        let page = html(std::slice::from_ref(&section), &about);
        assert!(
            !page.contains("<script>")
                && page.contains("a &lt; b")
                && page.contains("1 differs, 1 not comparable")
        );
        let text = markdown(&[section], &about);
        assert!(
            text.contains("x\\|y") && text.contains("| 2.00") && text.contains("differs: a < b"),
            "{text}"
        );
    }
}
