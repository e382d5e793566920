//! Settings of which only some were said, by their names: on a command line, in Python.

use serde_json::{Map, Value};

use super::{
    Algorithm, Component, CoreKind, CoreUpdate, Instructions, Method, OptimizerKind, Params, Scheme, Shuffle,
    SmallModes, Start, ZerosUpdate,
};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::problem::Absent;
use crate::table::did_you_mean;

/// Where settings start that nobody has said anything about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Those that fit most data.
    #[default]
    Default,
    /// The paper's algorithm, see [`Params::paper`].
    Paper,
    /// The same with the rank and rate that the paper has for MovieLens.
    PaperMovielens,
    /// The same for Netflix.
    PaperNetflix,
    /// The same for Yelp.
    PaperYelp,
    /// FlexiFaCT, an opponent of the paper: gradient descent over blocks on CP factors, from a random start.
    Flexifact,
}

impl Preset {
    const ALL: [Preset; 6] = [
        Preset::Default,
        Preset::Paper,
        Preset::PaperMovielens,
        Preset::PaperNetflix,
        Preset::PaperYelp,
        Preset::Flexifact,
    ];

    /// The preset's name in the command and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Default => "default",
            Preset::Paper => "paper",
            Preset::PaperMovielens => "paper-movielens",
            Preset::PaperNetflix => "paper-netflix",
            Preset::PaperYelp => "paper-yelp",
            Preset::Flexifact => "flexifact",
        }
    }

    /// The preset of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let names = Preset::ALL.map(Preset::name);
        Preset::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| {
            let hint = did_you_mean(names, name);
            Error::Request(format!("preset should be one of {}, but is {name:?}{hint}", names.join(", ")))
        })
    }

    /// Settings of gradient descent, with the rank and the first rate of the paper's data sets (its section 4.1).
    fn sgd(self) -> Option<Params> {
        let with = |rank: usize, rate: f32| Params { ranks: vec![rank], rate: Some(rate), ..Params::paper() };
        match self {
            Preset::Default => None,
            Preset::Paper => Some(Params::paper()),
            Preset::PaperMovielens => Some(with(12, 0.001)),
            Preset::PaperNetflix => Some(with(11, 0.001)),
            Preset::PaperYelp => Some(with(10, 0.0005)),
            Preset::Flexifact => Some(Params::flexifact()),
        }
    }

    fn params(self, algorithm: Algorithm) -> Params {
        match (self.sgd(), algorithm) {
            (Some(sgd), Algorithm::Bayes | Algorithm::Sgd) => sgd,
            (_, algorithm) => Params::usual(algorithm),
        }
    }
}

/// What was said about settings: values by the names that the fields of [`Params`] have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartialParams(Map<String, Value>);

impl PartialParams {
    /// What was said; settings that are null were not.
    pub fn new(settings: Map<String, Value>) -> Self {
        PartialParams(settings.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }

    /// A number as it can be said; also one that is not finite, which JSON does not have.
    pub fn number(number: f64) -> Value {
        super::number::value(number)
    }

    /// The same for so many modes, where the algorithm may be any: a rank that leaves draws with a diagonal core nothing but the mean
    /// and offsets chooses stochastic gradient descent, unless another was said.
    #[must_use]
    pub fn with_any_rank(mut self, order: usize) -> Self {
        let is_low = |rank: &Value| rank.as_u64().is_some_and(|rank| rank < order as u64 + 2);
        let low = self.0.get("ranks").and_then(Value::as_array).is_some_and(|ranks| ranks.iter().any(is_low));
        if low && self.0.get("core") == Some(&"diagonal".into()) && !self.0.contains_key("algorithm") {
            self.0.insert("algorithm".to_owned(), Algorithm::Sgd.name().into());
        }
        self
    }

    /// The first thing that was said and that the given algorithm does not have, such as `rate` or `rank 1`, and the
    /// algorithm that has it; the first of several.
    pub fn needs(&self, algorithm: Algorithm) -> Option<(&str, Algorithm)> {
        // Those that have no such setting take absent cells for missing ones.
        let usual = |name: &str, value: &Value| {
            *value == Value::Bool(false) || (name == "absent" && value == "missing")
        };
        let asked = |(name, value): &(&String, &Value)| !algorithm.has(name) && !usual(name, value);
        let own = self.0.iter().find(asked).and_then(|(name, _)| {
            let other = Algorithm::with(name).next()?;
            Some((name.as_str(), other))
        });
        let one = |ranks: &Value| ranks.as_array().is_some_and(|ranks| ranks.contains(&1.into()));
        let one = algorithm == Algorithm::Bayes && self.0.get("ranks").is_some_and(one);
        own.or(one.then_some(("rank 1", Algorithm::Sgd)))
    }

    /// Whether absent cells are zeros, and nothing is said that implicit feedback has no use for.
    fn has_zeros(&self) -> bool {
        let said = |name: &str, value: &str| self.0.get(name).is_some_and(|said| said == value);
        (said("absent", "zeros") || self.0.contains_key("absent_weight")) && !said("core", "full")
    }

    /// The algorithm: as said, else as in the model to start from, else what the other settings ask for. `init` are the
    /// settings of that model.
    fn algorithm(&self, preset: Preset, init: Option<&Params>) -> Result<Algorithm, Error> {
        if let Some(said) = self.0.get("algorithm") {
            return serde_json::from_value(said.clone()).map_err(|_| wrong("algorithm", said));
        }
        Ok(match (init, preset) {
            (Some(params), _) => params.algorithm,
            // Most who have them want to know what is chosen next.
            (None, Preset::Default) if self.has_zeros() => Algorithm::Ials,
            (None, Preset::Default) => {
                self.needs(Algorithm::Bayes).map_or(Algorithm::Bayes, |(_, algorithm)| algorithm)
            }
            (None, _) => Algorithm::Sgd,
        })
    }

    /// The settings: the preset's, then ranks and core of the model to start from, then what was said.
    ///
    /// # Errors
    /// If there is no setting of a name, if a value is not of its kind, or if it is something that only another algorithm
    /// has. Ranges are held by [`Params::check`].
    pub fn params(&self, preset: Preset, init: Option<&Params>) -> Result<Params, Error> {
        let algorithm = self.algorithm(preset, init)?;
        if let Some((what, _)) = self.needs(algorithm) {
            return Err(Error::Request(format!("{what} needs algorithm {}", with(what))));
        }
        let mut params = Params { algorithm, ..preset.params(algorithm) };
        if let Some(init) = init {
            params.ranks.clone_from(&init.ranks);
            params.core = init.core;
        }
        // QR makes signs: of the two, the one that was said.
        if self.0.get("nonnegative") == Some(&Value::Bool(true)) {
            params.orthogonal = false;
        }
        let mut settings = by_name(&params);
        for (name, value) in &self.0 {
            let Some(setting) = settings.get_mut(name) else {
                let hint = did_you_mean(settings.keys().map(String::as_str), name);
                let names: Vec<&str> = settings.keys().map(String::as_str).collect();
                let all = names.join(", ");
                return Err(Error::Request(format!("there is no setting {name}{hint} (they are {all})")));
            };
            *setting = value.clone();
            let known = serde_json::from_value(Value::Object(settings.clone()));
            params = known.map_err(|_| wrong(name, value))?;
        }
        Ok(params)
    }
}

impl Params {
    /// The same settings, but those that the algorithm does not have are as usual.
    pub(crate) fn without_ignored(&self) -> Params {
        let (mut settings, usual) = (by_name(self), by_name(&Params::default()));
        settings.retain(|name, _| self.algorithm.has(name));
        usual.into_iter().for_each(|(name, value)| {
            settings.entry(name).or_insert(value);
        });
        serde_json::from_value(Value::Object(settings)).unwrap_or_else(|_| self.clone())
    }

    /// The names of all settings.
    pub fn names() -> Vec<String> {
        by_name(&Params::default()).into_iter().map(|(name, _)| name).collect()
    }
}

/// The algorithms that have a setting, in words.
pub(super) fn with(setting: &str) -> String {
    // The only other thing that some have not.
    let one = |algorithm: &Algorithm| setting != "rank 1" || *algorithm != Algorithm::Bayes;
    let names: Vec<&str> = Algorithm::with(setting).filter(one).map(Algorithm::name).collect();
    either(&names)
}

/// One of some words.
fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// Settings by their names.
pub(super) fn by_name(params: &Params) -> Map<String, Value> {
    match serde_json::to_value(params) {
        Ok(Value::Object(settings)) => settings,
        other => unreachable!("settings are numbers and words by name, not {other:?}"),
    }
}

fn wrong(name: &str, value: &Value) -> Error {
    let words = words(name);
    let expected = match (name, &words[..]) {
        ("ranks", _) => "a whole number, a list of them or \"auto\"".to_owned(),
        ("epochs" | "patience" | "threads" | "seed" | "block", _) => "a whole number, 0 or more".to_owned(),
        ("l1" | "nonnegative" | "orthogonal" | "deterministic" | "weighted", _) => "true or false".to_owned(),
        ("device", _) => "auto, cpu, cuda or cuda:N, where N is the number of a GPU".to_owned(),
        ("without", all) => format!("a list of {}", all.join(", ")),
        (_, []) => "a number".to_owned(),
        (_, all) => either(all),
    };
    let typed = value.as_str().or_else(|| value.as_array()?.iter().find_map(Value::as_str));
    let hint = typed.map_or(String::new(), |typed| did_you_mean(words.iter().copied(), typed));
    Error::Request(format!("{name} cannot be {value}: it should be {expected}{hint}"))
}

/// The words to choose from, where a setting is one of some.
fn words(name: &str) -> Vec<&'static str> {
    match name {
        "core" => [CoreKind::Full, CoreKind::Diagonal].map(CoreKind::name).into(),
        "algorithm" => Algorithm::ALL.map(Algorithm::name).into(),
        "without" => Component::ALL.map(Component::name).into(),
        "likelihood" => Likelihood::ALL.map(Likelihood::name).into(),
        "method" => [Method::Fast, Method::Opt, Method::Naive].map(Method::name).into(),
        "start" => [Start::Mean, Start::Random, Start::Offsets].map(Start::name).into(),
        "absent" => [Absent::Missing, Absent::Zeros].map(Absent::name).into(),
        "optimizer" => [OptimizerKind::Lbfgs, OptimizerKind::Cg].map(OptimizerKind::name).into(),
        "scheme" => [Scheme::Blocks, Scheme::LockFree].map(Scheme::name).into(),
        "shuffle" => [Shuffle::Once, Shuffle::EveryEpoch].map(Shuffle::name).into(),
        "core_update" => [CoreUpdate::Averaged, CoreUpdate::OneThread].map(CoreUpdate::name).into(),
        "small_modes" => [SmallModes::Private, SmallModes::Shared].map(SmallModes::name).into(),
        "zeros_update" => [ZerosUpdate::Implicit, ZerosUpdate::PerCell].map(ZerosUpdate::name).into(),
        "instructions" => Instructions::available().into_iter().map(Instructions::name).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(value: Value) -> PartialParams {
        let Value::Object(settings) = value else { panic!("{value}") };
        PartialParams::new(settings)
    }

    fn params(value: Value) -> Result<Params, String> {
        said(value).params(Preset::Default, None).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_not_said_is_as_it_was() {
        assert_eq!(params(json!({})), Ok(Params::default()));
        assert_eq!(params(json!({ "seed": null })), Ok(Params::default()));
        assert_eq!(params(json!({ "algorithm": "sgd" })), Ok(Params::sgd()));
        assert_eq!(said(json!({})).params(Preset::Paper, None).unwrap(), Params::paper());
        let rank_and_rate = |preset: Preset| {
            let params = said(json!({})).params(preset, None).unwrap();
            assert_eq!(params, Params { ranks: params.ranks.clone(), rate: params.rate, ..Params::paper() });
            (params.ranks[0], params.rate.unwrap())
        };
        assert_eq!(rank_and_rate(Preset::PaperMovielens), (12, 0.001));
        assert_eq!(rank_and_rate(Preset::PaperNetflix), (11, 0.001));
        assert_eq!(rank_and_rate(Preset::PaperYelp), (10, 0.0005));
        for preset in Preset::ALL {
            assert_eq!(Preset::parse(preset.name()).unwrap(), preset);
        }
        let nonnegative = said(json!({ "nonnegative": true })).params(Preset::Paper, None).unwrap();
        assert!(nonnegative.nonnegative && !nonnegative.orthogonal);
        let some = params(json!({ "ranks": [4, 3], "seed": 7, "patience": 2, "instructions": "portable" }));
        let some = some.unwrap();
        assert_eq!((some.ranks, some.seed, some.patience), (vec![4, 3], 7, Some(2)));
    }

    #[test]
    fn zeros_choose_implicit_feedback_unless_something_else_is_said() {
        for (value, algorithm) in [
            (json!({ "absent": "zeros" }), Algorithm::Ials),
            (json!({ "absent": "missing" }), Algorithm::Bayes),
            (json!({ "absent_weight": 0.2 }), Algorithm::Ials),
            (json!({ "absent": "zeros", "core": "diagonal" }), Algorithm::Ials),
            (json!({ "absent": "zeros", "core": "full" }), Algorithm::Bayes),
            (json!({ "absent": "zeros", "algorithm": "bayes" }), Algorithm::Bayes),
            (json!({ "absent": "zeros", "algorithm": "tucker-als" }), Algorithm::TuckerAls),
        ] {
            assert_eq!(params(value.clone()).unwrap().algorithm, algorithm, "{value}");
        }
    }

    #[test]
    fn settings_that_only_sgd_has_choose_it_and_are_refused_by_bayes() {
        for (value, what) in [
            (json!({ "rate": 0.01 }), "rate needs algorithm sgd"),
            (json!({ "nonnegative": true }), "nonnegative needs algorithm sgd"),
            (json!({ "scheme": "lock-free" }), "scheme needs algorithm sgd"),
            (
                json!({ "start": "random" }),
                "start needs algorithm sgd, cmtf-opt, cmtf-als, sals or tucker-als",
            ),
            (
                json!({ "lambda_reg": 2.0 }),
                "lambda_reg needs algorithm sgd, als, ials, cmtf-opt, cmtf-als or sals",
            ),
            (
                json!({ "ranks": [1] }),
                "rank 1 needs algorithm sgd, als, ials, cmtf-opt, cmtf-als, sals or tucker-als",
            ),
        ] {
            assert_eq!(params(value.clone()).unwrap().algorithm, Algorithm::Sgd, "{value}");
            let mut more = value;
            more["algorithm"] = "bayes".into();
            assert_eq!(params(more).unwrap_err(), what);
        }
        assert_eq!(params(json!({ "nonnegative": false })), Ok(Params::default()));
        let diagonal = Params { core: CoreKind::Diagonal, ..Params::default() };
        assert_eq!(params(json!({ "core": "diagonal" })), Ok(diagonal));
    }

    #[test]
    fn a_rank_too_low_for_draws_with_a_diagonal_core_chooses_sgd_where_it_may() {
        let chosen = |value: Value, order: usize| {
            said(value).with_any_rank(order).params(Preset::Default, None).unwrap().algorithm
        };
        assert_eq!(chosen(json!({ "core": "diagonal", "ranks": [4] }), 3), Algorithm::Sgd);
        assert_eq!(chosen(json!({ "core": "diagonal", "ranks": [5] }), 3), Algorithm::Bayes);
        assert_eq!(chosen(json!({ "core": "diagonal", "ranks": [4] }), 2), Algorithm::Bayes);
        assert_eq!(chosen(json!({ "core": "diagonal", "ranks": "auto" }), 3), Algorithm::Bayes);
        assert_eq!(chosen(json!({ "core": "full", "ranks": [3] }), 3), Algorithm::Bayes);
        assert_eq!(
            chosen(json!({ "core": "diagonal", "ranks": [3], "algorithm": "als" }), 3),
            Algorithm::Als
        );
    }

    #[test]
    fn als_takes_what_it_has_and_refuses_the_rest() {
        assert_eq!(params(json!({ "algorithm": "als" })), Ok(Params::als()));
        let some = json!({ "algorithm": "als", "core": "diagonal", "ranks": [1], "lambda_reg": 0.5 });
        assert_eq!(params(some).unwrap().algorithm, Algorithm::Als);
        let error = params(json!({ "algorithm": "als", "patience": 2 })).unwrap_err();
        assert_eq!(error, "patience needs algorithm bayes, sgd, cmtf-opt, cmtf-als, sals or tucker-als");
        for what in ["rate", "decay"] {
            let error = params(json!({ "algorithm": "als", what: 0.1 })).unwrap_err();
            assert_eq!(error, format!("{what} needs algorithm sgd"));
        }
    }

    #[test]
    fn a_setting_that_is_wrong_is_named() {
        let error = params(json!({ "epoch": 3 })).unwrap_err();
        assert!(error.starts_with("there is no setting epoch, did you mean \"epochs\"?"), "{error}");
        for wrong in [json!({ "epochs": -1 }), json!({ "epochs": "many" }), json!({ "epochs": 1.5 })] {
            let error = params(wrong).unwrap_err();
            assert!(error.starts_with("epochs cannot be "), "{error}");
        }
        for (wrong, what) in [
            (json!({ "decay": "much" }), "decay cannot be \"much\": it should be a number"),
            (json!({ "epochs": -1 }), "epochs cannot be -1: it should be a whole number, 0 or more"),
            (json!({ "l1": 3 }), "l1 cannot be 3: it should be true or false"),
            (
                json!({ "algorithm": "bays" }),
                "algorithm cannot be \"bays\": it should be bayes, sgd, als, ials, cmtf-opt, cmtf-als, sals or tucker-als, did you mean \"bayes\"?",
            ),
            (
                json!({ "scheme": "block" }),
                "scheme cannot be \"block\": it should be blocks or lock-free, did you mean \"blocks\"?",
            ),
        ] {
            assert_eq!(params(wrong).unwrap_err(), what);
        }
        // The words are those that are taken.
        let names = ["core", "algorithm", "method", "scheme", "start", "instructions"];
        for name in names.into_iter().chain(["shuffle", "core_update", "small_modes", "zeros_update"]) {
            for word in words(name) {
                assert!(params(json!({ "algorithm": "sgd", name: word })).is_ok(), "{name} {word}");
            }
        }
        assert!(params(json!({ "without": words("without") })).is_ok());
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let params =
                params(json!({ "decay": PartialParams::number(odd), "rate": PartialParams::number(odd) }))
                    .unwrap();
            assert_eq!(params.decay.to_string(), odd.to_string());
            assert_eq!(params.rate.map(|rate| rate.to_string()), Some(odd.to_string()));
        }
    }
}
