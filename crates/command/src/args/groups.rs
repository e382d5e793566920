//! The verbs of `s3cmtf --help` in groups, in the order in which people come to need them. What a verb does is said by
//! its definition alone.

use clap::builder::Styles;
use clap::{Command, Subcommand};

use super::Verb;

/// The groups; a test holds that every verb is in one of them, in the order of their definition.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["demo", "check", "fit"]),
    ("Use a model", &["predict", "recommend", "similar", "concepts", "clusters", "report", "export"]),
    ("Compare", &["evaluate", "tune", "split", "bench", "reproduce"]),
    ("More data", &["fold-in", "update"]),
    ("Data files", &["import", "convert", "generate"]),
    ("Shell", &["completions", "man", "help"]),
];

/// The widest that help becomes; clap wraps its own parts to the same.
pub(super) const WIDEST: usize = 110;

/// The help of the command, for clap to fill in.
pub(super) fn template() -> String {
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{}\n{{options}}{{after-help}}",
        verbs(width.min(WIDEST)),
        heading("Options")
    )
}

fn heading(text: &str) -> String {
    let style = Styles::styled().get_header().to_owned();
    format!("{style}{text}:{style:#}")
}

/// A line or more per verb, below the heading of its group.
fn verbs(width: usize) -> String {
    let mut command = Verb::augment_subcommands(Command::new("s3cmtf"));
    // So that it has the help that clap adds.
    command.build();
    let names = command.get_subcommands().map(|verb| verb.get_name().len());
    let indent = names.max().unwrap_or(0) + 4;
    let style = Styles::styled().get_literal().to_owned();
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &heading(group);
        text.push('\n');
        for verb in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let name = verb.get_name();
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let about =
                wrapped(&about, width.saturating_sub(indent).max(20)).join(&format!("\n{:indent$}", ""));
            text += &format!("  {style}{name}{style:#}{:1$}{about}\n", "", indent - 2 - name.len());
        }
        text.push('\n');
    }
    text
}

/// Lines of whole words that are at most so wide, unless a word alone is wider.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_in_one_group_in_the_order_of_their_definition() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut command = Verb::augment_subcommands(Command::new("s3cmtf"));
        command.build();
        let defined: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(grouped, defined);
    }

    #[test]
    fn lines_are_no_wider_than_the_terminal() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 2), ["one", "two", "three"]);
        for width in [60, 80, WIDEST] {
            let text = anstream::adapter::strip_str(&verbs(width)).to_string();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.contains("\n  fold-in"), "{text}");
        }
    }
}
