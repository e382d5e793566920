//! What is said of a figure of the paper and ours: agrees, differs and why, or not comparable and why. A reason that no cell has
//! tested begins with "perhaps".

use super::slope::Slope;

/// How far a slope may be from what it should be.
pub(super) const SLOPE_ROOM: f64 = 0.1;
/// The share by which an RMSE on the same data may differ: splits differ.
pub(super) const RMSE_ROOM: f64 = 0.03;
/// The factor by which a ratio of two times may differ: machines and programs differ.
pub(super) const TIMES_ROOM: f64 = 2.0;

/// A verdict and its reason.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Agrees(String),
    Differs(String),
    NotComparable(String),
}

impl Verdict {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Verdict::Agrees(_) => "agrees",
            Verdict::Differs(_) => "differs",
            Verdict::NotComparable(_) => "not comparable",
        }
    }

    pub(super) fn why(&self) -> &str {
        let (Verdict::Agrees(why) | Verdict::Differs(why) | Verdict::NotComparable(why)) = self;
        why
    }

    /// The word, and the reason if there is one.
    pub(super) fn text(&self) -> String {
        let why = self.why();
        if why.is_empty() { self.word().to_owned() } else { format!("{}: {why}", self.word()) }
    }
}

/// Of a slope that should be `expected`; `otherwise` says why it may not be.
pub(super) fn of_slope(found: Option<Slope>, expected: f64, room: f64, otherwise: &str) -> Verdict {
    match found {
        None => Verdict::NotComparable("too few cells came to a time long enough to be told".into()),
        Some(found) if (found.slope - expected).abs() <= room + 1e-9 => Verdict::Agrees(String::new()),
        Some(_) => Verdict::Differs(otherwise.to_owned()),
    }
}

/// Of an RMSE on the paper's own data.
pub(super) fn of_rmse(paper: f64, ours: f64, original: bool) -> Verdict {
    let ratio = ours / paper;
    match original {
        false => Verdict::NotComparable("the data are made up".into()),
        true if (ratio - 1.0).abs() <= RMSE_ROOM => Verdict::Agrees(String::new()),
        true if ratio < 1.0 => Verdict::Differs("ours is lower".into()),
        true => Verdict::Differs("ours is higher".into()),
    }
}

/// Of how many times as much one method takes as another, or errs: also a machine that is not the paper's has the same ratio.
/// `less` says why it may be less here.
pub(super) fn of_times(paper: f64, ours: f64, less: &str) -> Verdict {
    match ours / paper {
        ratio if ratio > TIMES_ROOM => Verdict::Differs("here it is more".into()),
        ratio if ratio < 1.0 / TIMES_ROOM => Verdict::Differs(less.to_owned()),
        _ => Verdict::Agrees(String::new()),
    }
}

/// Of something that either holds or does not.
pub(super) fn of_claim(holds: bool, otherwise: &str) -> Verdict {
    if holds { Verdict::Agrees(String::new()) } else { Verdict::Differs(otherwise.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_agrees_within_its_room() {
        let found = |slope| Some(Slope { slope, error: None, points: 3 });
        assert_eq!(of_slope(found(1.09), 1.0, SLOPE_ROOM, "x").word(), "agrees");
        assert_eq!(of_slope(found(0.9), 1.0, SLOPE_ROOM, "x").word(), "agrees");
        assert_eq!(of_slope(found(0.8), 1.0, SLOPE_ROOM, "the start").text(), "differs: the start");
        assert_eq!(of_slope(None, 1.0, SLOPE_ROOM, "x").word(), "not comparable");
    }

    #[test]
    fn errors_are_compared_on_the_same_data_alone() {
        assert_eq!(of_rmse(0.80, 0.81, true).word(), "agrees");
        assert_eq!(of_rmse(2.9, 0.9, true).text(), "differs: ours is lower");
        assert_eq!(of_rmse(0.80, 0.80, false).word(), "not comparable");
    }

    #[test]
    fn ratios_agree_within_a_factor() {
        assert_eq!(of_times(23.0, 12.0, "x").word(), "agrees");
        assert_eq!(of_times(23.0, 0.5, "theirs is slow").text(), "differs: theirs is slow");
        assert_eq!(of_times(3.0, 8.4, "theirs is slow").text(), "differs: here it is more");
        assert_eq!(of_claim(true, "x").text(), "agrees");
    }
}
