//! From settings back to what would be typed for them.

use std::path::PathBuf;

use s3cmtf::{Algorithm, Params, Start};

use super::DataArgs;

/// The command line that fits a tensor with the given settings.
pub(crate) fn fit_line(tensor: &[PathBuf], data: &DataArgs, params: &Params) -> String {
    let mut words = vec!["s3cmtf".to_owned(), "fit".to_owned()];
    words.extend(tensor.iter().map(|path| path.display().to_string()));
    let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    if let Some(modes) = &data.modes {
        add("--modes", list(modes));
    }
    if let Some(value) = &data.value {
        add("--value", value.clone());
    }
    if let Some(duplicates) = data.duplicates {
        add("--duplicates", duplicates.name().to_owned());
    }
    if let Some(format) = data.file.format {
        add("--format", format.name().to_owned());
    }
    if let Some(header) = data.file.header {
        add("--header", header.to_string());
    }
    if let Some(sizes) = &data.sizes {
        add("--sizes", list(sizes));
    }
    for couple in &data.couple {
        add("--couple", couple.to_string());
    }
    words.extend(flags(params));
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// What was typed, as a shell takes it.
pub(crate) fn typed_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("s3cmtf".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The flags that make the given settings of the preset that they are nearest to.
fn flags(params: &Params) -> Vec<String> {
    let mut flags = Flags(Vec::new());
    let is_sgd = params.algorithm == Algorithm::Sgd;
    let usual = match params.start {
        // No flag asks for a rate that is fitted, which is the default.
        Start::Random if is_sgd && params.rate.is_some() => Params::paper(),
        _ if is_sgd => Params::sgd(),
        _ if params.algorithm == Algorithm::Als => Params::als(),
        _ => Params::default(),
    };
    if usual == Params::paper() {
        flags.value("--preset", "paper");
    } else if params.algorithm != Algorithm::Bayes {
        flags.value("--algorithm", params.algorithm.name());
    }
    match &params.ranks[..] {
        ranks if ranks == usual.ranks => {}
        [] => flags.value("--rank", "auto"),
        [rank] => flags.value("--rank", rank),
        ranks => flags.value("--ranks", list(ranks)),
    }
    if params.core != usual.core {
        flags.value("--core", params.core.name());
    }
    if params.epochs != usual.epochs {
        flags.value("--epochs", params.epochs);
    }
    if params.likelihood != usual.likelihood {
        flags.value("--likelihood", params.likelihood.name());
    }
    if params.algorithm != Algorithm::Bayes {
        add_sgd(&mut flags, params, &usual);
    } else if !params.without.is_empty() {
        let parts: Vec<&str> = params.without.iter().map(|part| part.name()).collect();
        flags.value("--without", parts.join(","));
    }
    match (params.orthogonal, usual.orthogonal) {
        (false, true) => flags.0.push("--orthogonal=false".to_owned()),
        (is_orthogonal, is_usual) => flags.switch("--orthogonal", is_orthogonal && !is_usual),
    }
    if let Some(patience) = params.patience {
        flags.value("--patience", patience);
    }
    if params.threads != usual.threads {
        flags.value("--threads", params.threads);
    }
    if let Some(instructions) = params.instructions {
        flags.value("--instructions", instructions.name());
    }
    if params.device != usual.device {
        flags.value("--device", params.device);
    }
    if params.seed != usual.seed {
        flags.value("--seed", params.seed);
    }
    flags.0
}

/// The flags that bayes does not have.
fn add_sgd(flags: &mut Flags, params: &Params, usual: &Params) {
    if let (Some(rate), true) = (params.rate, params.rate != usual.rate) {
        flags.value("--rate", rate);
    }
    for (flag, value, usual) in [
        ("--decay", params.decay, usual.decay),
        ("--lambda-reg", params.lambda_reg, usual.lambda_reg),
        ("--lambda-couple", params.lambda_couple, usual.lambda_couple),
    ] {
        if value != usual {
            flags.value(flag, value);
        }
    }
    if let (Some(tolerance), true) = (params.tolerance, params.tolerance != usual.tolerance) {
        flags.value("--tolerance", tolerance);
    }
    for (flag, word, usual) in [
        ("--method", params.method.name(), usual.method.name()),
        ("--scheme", params.scheme.name(), usual.scheme.name()),
        ("--start", params.start.name(), usual.start.name()),
        ("--shuffle", params.shuffle.name(), usual.shuffle.name()),
        ("--core-update", params.core_update.name(), usual.core_update.name()),
        ("--small-modes", params.small_modes.name(), usual.small_modes.name()),
        ("--zeros-update", params.zeros_update.name(), usual.zeros_update.name()),
    ] {
        if word != usual {
            flags.value(flag, word);
        }
    }
    flags.switch("--l1", params.l1);
    flags.switch("--nonnegative", params.nonnegative);
    flags.switch("--deterministic", params.deterministic);
}

/// Words of a command line.
struct Flags(Vec<String>);

impl Flags {
    fn value(&mut self, flag: &str, value: impl ToString) {
        self.0.extend([flag.to_owned(), value.to_string()]);
    }

    fn switch(&mut self, flag: &str, on: bool) {
        self.0.extend(on.then(|| flag.to_owned()));
    }
}

fn list<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What stands behind each use of a flag in a line that [`typed_line`] or [`fit_line`] made.
pub(crate) fn typed_values(line: &str, flag: &str) -> Vec<String> {
    let words = words(line);
    let behind = words.iter().zip(words.iter().skip(1));
    let values = behind.filter(|(word, _)| *word == flag).map(|(_, next)| next.clone());
    let joined = words.iter().filter_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
    values.chain(joined.map(str::to_owned)).collect()
}

/// The words that [`quoted`] made a line of.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut within, mut escaped) = (false, false);
    for c in line.chars() {
        match c {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            '\'' => within = !within,
            '\\' if !within => escaped = true,
            ' ' if !within => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, FitArgs, Verb};

    fn typed(line: &str) -> FitArgs {
        let Verb::Fit(args) = Args::parse_from(line.split_whitespace()).verb else { panic!("{line}") };
        *args
    }

    #[test]
    fn what_a_line_says_is_what_its_settings_say() {
        for flags in [
            "",
            "--rank 4",
            "--ranks 4,3,2 --epochs 7 --patience 3",
            "--seed 9 --threads 2 --instructions portable --device cpu --orthogonal",
            "--without row-noise,averaging",
            "--core diagonal",
            "--core diagonal --rank 8 --without row-noise",
            "--algorithm als --core diagonal --rank 3",
            "--algorithm sgd",
            "--algorithm sgd --epochs 100",
            "--lambda-reg 0.3 --lambda-couple 2.5 --decay 0.05 --rate 0.003 --tolerance 0.01",
            "--l1 --nonnegative --core diagonal --scheme lock-free --method opt",
            "--algorithm sgd --deterministic",
            "--preset paper --rank 5 --rate 0.002",
            "--preset paper-movielens --shuffle once --core-update averaged --small-modes private",
            "--preset paper-yelp --method naive --nonnegative",
            "--preset paper --orthogonal=false --zeros-update implicit --start mean",
            "--algorithm sgd --start random --orthogonal",
        ] {
            let line = format!("s3cmtf fit a.tns --modes u,i,t --sizes 9,8,7 --couple u=f.tns,graph {flags}");
            let args = typed(&line);
            let params = args.settings.params(None).unwrap();
            let again = fit_line(&args.tensor, &args.data, &params);
            assert_eq!(typed(&again).settings.params(None).unwrap(), params, "{again}");
            assert!(again.starts_with(line[..line.len() - flags.len()].trim()), "{again}");
        }
    }

    #[test]
    fn a_shell_takes_each_word_as_one() {
        assert_eq!(quoted("user=a/b.tns,zeros"), "user=a/b.tns,zeros");
        assert_eq!(quoted("my data.tns"), "'my data.tns'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
        let typed = ["s3cmtf", "my data.tns", "it's", "", "--couple", "film=f.csv:a,b,split=|"];
        let line = typed.map(quoted).join(" ");
        assert_eq!(words(&line), typed);
        assert_eq!(typed_values(&line, "--couple"), ["film=f.csv:a,b,split=|"]);
        assert_eq!(typed_values("s3cmtf fit --couple=u=f --rank 3", "--couple"), ["u=f"]);
    }
}
