//! What people type who come from elsewhere, and what it is called here.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use s3cmtf::internal::table::nearest;

/// Flags of other programs and libraries, and ours.
const FLAGS: [(&str, &str); 27] = [
    ("--lr", "--rate"),
    ("--learning-rate", "--rate"),
    ("--lr-all", "--rate"),
    ("--factors", "--rank"),
    ("--n-factors", "--rank"),
    ("--components", "--rank"),
    ("--n-components", "--rank"),
    ("--dim", "--rank"),
    ("--k", "--rank"),
    ("--iterations", "--epochs"),
    ("--iters", "--epochs"),
    ("--iter", "--epochs"),
    ("--n-epochs", "--epochs"),
    ("--n-iter", "--epochs"),
    ("--max-iter", "--epochs"),
    ("--jobs", "--threads"),
    ("--n-jobs", "--threads"),
    ("--num-threads", "--threads"),
    ("--random-state", "--seed"),
    ("--regularization", "--lambda-reg"),
    ("--reg", "--lambda-reg"),
    ("--lambda", "--lambda-reg"),
    ("--output", "--out"),
    ("--valid", "--test"),
    ("--validation", "--test"),
    ("--early-stopping", "--patience"),
    ("--side", "--couple"),
];

/// Verbs of others, and ours.
const VERBS: [(&str, &str); 8] = [
    ("train", "fit"),
    ("learn", "fit"),
    ("run", "fit"),
    ("test", "evaluate"),
    ("score", "evaluate"),
    ("topk", "recommend"),
    ("neighbors", "similar"),
    ("inspect", "concepts"),
];

/// What a word that is not known is called here, if that is known; `flags` are those of the verb, `verbs` all verbs.
fn meant<'a>(kind: ErrorKind, word: &str, flags: &[&'a str], verbs: &[&'a str]) -> Option<&'a str> {
    let (synonyms, known) = match kind {
        ErrorKind::UnknownArgument => (&FLAGS[..], flags),
        ErrorKind::InvalidSubcommand => (&VERBS[..], verbs),
        _ => return None,
    };
    let plain = word.replace('_', "-");
    let synonym = synonyms.iter().find(|(other, _)| *other == plain).map(|(_, ours)| *ours);
    let synonym = synonym.and_then(|ours| known.iter().copied().find(|known| *known == ours));
    synonym.or_else(|| nearest(known.iter().copied(), &plain))
}

/// An error about a word that is not known, with what was meant in place of what merely has similar letters.
pub(crate) fn told(mut error: Error, command: &clap::Command, typed: &[String]) -> Error {
    let (invalid, suggested) = match error.kind() {
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        _ => return error,
    };
    let Some(ContextValue::String(word)) = error.get(invalid) else { return error };
    let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let verb = typed.iter().skip(1).find_map(|word| command.find_subcommand(word));
    let flags: Vec<String> = verb.map_or(Vec::new(), |verb| {
        verb.get_arguments().filter_map(|flag| flag.get_long()).map(|long| format!("--{long}")).collect()
    });
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let Some(meant) = meant(error.kind(), word, &flags, &verbs) else { return error };
    let value = match suggested {
        ContextKind::SuggestedSubcommand => ContextValue::Strings(vec![meant.to_owned()]),
        _ => ContextValue::String(meant.to_owned()),
    };
    error.insert(suggested, value);
    // clap would have it taken for a file, which nobody means.
    error.remove(ContextKind::Suggested);
    // And the usage that it shows is that of what it suggested before.
    error.remove(ContextKind::Usage);
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn message(line: &str) -> String {
        let typed: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let command = crate::args::Args::command();
        told(crate::args::Args::try_parse_from(&typed).unwrap_err(), &command, &typed).to_string()
    }

    #[test]
    fn words_of_others_name_ours() {
        for (line, ours) in [
            ("s3cmtf fit r.csv --lr 0.1", "'--rate'"),
            ("s3cmtf fit r.csv --learning-rate 0.1", "'--rate'"),
            ("s3cmtf fit r.csv --factors 10", "'--rank'"),
            ("s3cmtf fit r.csv --k 10", "'--rank'"),
            ("s3cmtf fit r.csv --iterations 10", "'--epochs'"),
            ("s3cmtf fit r.csv --n_jobs 10", "'--threads'"),
            ("s3cmtf fit r.csv --random_state 10", "'--seed'"),
            ("s3cmtf fit r.csv --rnk 10", "'--rank'"),
            ("s3cmtf train r.csv", "'fit'"),
            ("s3cmtf fti r.csv", "'fit'"),
            ("s3cmtf recomend model", "'recommend'"),
        ] {
            let told = message(line);
            assert!(
                told.contains(ours) && !told.contains("-- --") && !told.contains("tolerance"),
                "{line}: {told}"
            );
        }
        assert!(!message("s3cmtf fit r.csv --qwxyz").contains("similar"));
    }

    #[test]
    fn every_word_of_ours_is_one() {
        let command = crate::args::Args::command();
        let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let flags: Vec<&str> = command
            .get_subcommands()
            .flat_map(|verb| verb.get_arguments())
            .filter_map(|flag| flag.get_long())
            .collect();
        assert!(FLAGS.iter().all(|(_, ours)| flags.contains(&ours.trim_start_matches("--"))));
        assert!(VERBS.iter().all(|(_, ours)| verbs.contains(ours)));
    }
}
