//! The methods that are compared, and how each is run: the only place that knows their settings. A method whose settings this
//! version does not have fails as a cell, and nothing else does.

use s3cmtf::internal::Preset;

/// The kind of a method, by which its memory is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Naive,
    Opt,
    Bayes,
    /// With so many pairs of steps kept by the quasi-Newton method; conjugate gradients keep none.
    CmtfOpt {
        pairs: usize,
    },
    TuckerAls,
    Sals,
    CmtfAls,
}

/// Whose settings a method has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Of this program.
    Ours,
    /// Of the original: its start, its treatment of absent cells, its regulariser.
    Published,
    /// The strongest that we know: data less their mean and offsets, observed cells only, a regulariser that was chosen.
    Best,
}

/// A setting that is chosen on a tenth of the training entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) setting: &'static str,
    pub(super) values: [f64; 5],
}

/// A method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Method {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) preset: Preset,
    /// What is said beside rank, threads, epochs and seed, by the names of settings.
    pub(super) settings: &'static str,
    pub(super) grid: Option<Grid>,
    /// Whether friends are a graph within users; else they are a matrix of users by users, as in the paper.
    pub(super) graph: bool,
    /// Whether the run is not cut short by the budget: its settings count on all its epochs.
    pub(super) whole: bool,
}

const fn method(
    key: &'static str,
    name: &'static str,
    kind: Kind,
    form: Form,
    settings: &'static str,
) -> Method {
    let preset = match kind {
        Kind::Naive | Kind::Opt => Preset::Paper,
        _ => Preset::Default,
    };
    Method { key, name, kind, form, preset, settings, grid: None, graph: false, whole: false }
}

const fn chosen(method: Method, setting: &'static str, values: [f64; 5]) -> Method {
    Method { grid: Some(Grid { setting, values }), ..method }
}

/// Weights of a regulariser, of one that grows with the entries of a row, and of coupled matrices.
const REGULARISERS: [f64; 5] = [0.1, 1.0, 5.0, 20.0, 100.0];
const PER_ENTRY: [f64; 5] = [0.003, 0.01, 0.03, 0.1, 0.3];
const COUPLINGS: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];

/// All of them.
pub(super) const METHODS: [Method; 16] = [
    method("naive", "S3CMTF-naive", Kind::Naive, Form::Ours, r#"{"algorithm":"sgd","method":"naive"}"#),
    method("opt", "S3CMTF-opt", Kind::Opt, Form::Ours, r#"{"algorithm":"sgd","method":"opt"}"#),
    Method {
        graph: true,
        whole: true,
        ..method("default", "our default (bayes)", Kind::Bayes, Form::Ours, r#"{"algorithm":"bayes"}"#)
    },
    method(
        "cmtf-opt",
        "CMTF-OPT",
        Kind::CmtfOpt { pairs: 0 },
        Form::Published,
        r#"{"algorithm":"cmtf-opt","start":"random","optimizer":"cg","lambda_reg":0,"lambda_couple":1}"#,
    ),
    chosen(
        method(
            "cmtf-opt-best",
            "CMTF-OPT*",
            Kind::CmtfOpt { pairs: 10 },
            Form::Best,
            r#"{"algorithm":"cmtf-opt","start":"offsets","absent":"missing","optimizer":"lbfgs"}"#,
        ),
        "lambda_reg",
        REGULARISERS,
    ),
    method(
        "tucker-als",
        "CMTF-Tucker-ALS",
        Kind::TuckerAls,
        Form::Published,
        r#"{"algorithm":"tucker-als","start":"random","absent":"zeros","lambda_couple":1}"#,
    ),
    // Its factors are orthonormal, so that there is nothing to regularise but the matrices.
    chosen(
        method(
            "tucker-als-best",
            "CMTF-Tucker-ALS*",
            Kind::TuckerAls,
            Form::Best,
            r#"{"algorithm":"tucker-als","start":"offsets","absent":"missing"}"#,
        ),
        "lambda_couple",
        COUPLINGS,
    ),
    method(
        "sals",
        "SALS",
        Kind::Sals,
        Form::Published,
        r#"{"algorithm":"sals","start":"random","lambda_reg":0.1}"#,
    ),
    chosen(
        method(
            "sals-best",
            "SALS*",
            Kind::Sals,
            Form::Best,
            r#"{"algorithm":"sals","start":"offsets","weighted":true}"#,
        ),
        "lambda_reg",
        PER_ENTRY,
    ),
    method(
        "cmtf-als",
        "CMTF-ALS",
        Kind::CmtfAls,
        Form::Published,
        r#"{"algorithm":"cmtf-als","start":"random","absent":"zeros","lambda_reg":0,"lambda_couple":1}"#,
    ),
    chosen(
        method(
            "cmtf-als-best",
            "CMTF-ALS*",
            Kind::CmtfAls,
            Form::Best,
            r#"{"algorithm":"cmtf-als","start":"offsets","absent":"missing"}"#,
        ),
        "lambda_reg",
        REGULARISERS,
    ),
    // The paper's Figure 6.
    method(
        "cp",
        "S3CMTF-CP",
        Kind::Opt,
        Form::Ours,
        r#"{"algorithm":"sgd","method":"opt","core":"diagonal"}"#,
    ),
    method("tucker", "S3CMTF-TUCKER", Kind::Opt, Form::Ours, r#"{"algorithm":"sgd","method":"opt"}"#),
    // Figure 7: the paper's numbers, but not its schedule, so that every run of it comes to the same.
    Method {
        graph: true,
        whole: true,
        preset: Preset::Default,
        ..method(
            "nonnegative-paper",
            "non-negative, the paper's settings",
            Kind::Opt,
            Form::Ours,
            r#"{"algorithm":"sgd","nonnegative":true,"start":"random","rate":0.0005,"decay":0.1,"lambda_reg":0.1,"lambda_couple":10}"#,
        )
    },
    Method {
        graph: true,
        whole: true,
        preset: Preset::Default,
        ..method(
            "nonnegative",
            "non-negative, our settings",
            Kind::Opt,
            Form::Ours,
            r#"{"algorithm":"sgd","nonnegative":true}"#,
        )
    },
    Method {
        graph: true,
        whole: true,
        ..method("signed", "our default (bayes)", Kind::Bayes, Form::Ours, r#"{"algorithm":"bayes"}"#)
    },
];

/// The opponents, each in both forms.
pub(super) const OPPONENTS: [&str; 8] = [
    "cmtf-opt",
    "cmtf-opt-best",
    "tucker-als",
    "tucker-als-best",
    "sals",
    "sals-best",
    "cmtf-als",
    "cmtf-als-best",
];

/// The method with this key.
pub(super) fn find(key: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.key == key)
}

/// What a method is called with so many threads, if it is one that is shown with several.
pub(super) fn shown(key: &str, threads: usize) -> String {
    let name = find(key).map_or(key, |method| method.name);
    match key {
        "opt" if threads == 1 => format!("{name}, 1 thread"),
        "opt" => format!("{name}, {threads} threads"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_settings_are_objects() {
        for (place, method) in METHODS.iter().enumerate() {
            assert!(METHODS[place + 1..].iter().all(|other| other.key != method.key), "{}", method.key);
            let said: serde_json::Value = serde_json::from_str(method.settings).unwrap();
            assert!(said["algorithm"].is_string(), "{}", method.key);
        }
        assert!(OPPONENTS.iter().all(|key| find(key).is_some_and(|method| method.form != Form::Ours)));
    }
}
