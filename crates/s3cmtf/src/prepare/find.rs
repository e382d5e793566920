//! Which mode, and which entity, is meant by a name.

use crate::Error;
use crate::problem::Mode;
use crate::table::{Binning, did_you_mean, did_you_mean_any, time};

/// The mode that goes by this name, or by this number from 1, among modes of these names; counted from 0. `what` is what
/// it was wanted for, which the error starts with.
///
/// # Errors
/// If there is no such mode.
pub fn find_mode(wanted: &str, names: &[impl AsRef<str>], what: &str) -> Result<usize, Error> {
    let number = wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let place = number.filter(|&mode| mode < names.len());
    place.or_else(|| names.iter().position(|name| name.as_ref() == wanted)).ok_or_else(|| {
        let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        Error::Unknown(format!(
            "{what}: there is no mode {wanted}{} (the modes are {}, or 1 to {})",
            did_you_mean(all.iter().copied(), wanted),
            all.join(", "),
            all.len()
        ))
    })
}

/// The id of the entity of a mode that goes by this name; a point in time goes by the name of its bin, too.
///
/// # Errors
/// If there is none, or the mode has no row for it.
pub fn find_entity(mode: &Mode, name: &str) -> Result<u32, Error> {
    let in_bin = || match mode.naming().and_then(|naming| naming.binning.as_ref()) {
        Some(Binning::Time(bin)) => mode.find(&bin.label(bin.number(time::parse(name.as_bytes())?))),
        _ => None,
    };
    let id = mode.find(name).or_else(in_bin).filter(|&id| mode.row(id).is_some());
    id.ok_or_else(|| {
        let rule = match mode.naming() {
            Some(naming) => did_you_mean_any(naming.labels.iter(), name),
            None => format!(" (they are numbers from 1 to {}, of which some may not occur)", mode.size()),
        };
        Error::Unknown(format!("the model knows no {} {name}{rule}", mode.name()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Naming;
    use crate::table::time::Bin;

    #[test]
    fn modes_go_by_name_or_by_number() {
        let names = ["user", "item"];
        assert_eq!(find_mode("item", &names, "x").unwrap(), 1);
        assert_eq!(find_mode("1", &names, "x").unwrap(), 0);
        let error = find_mode("itm", &names, "x").unwrap_err().to_string();
        assert_eq!(
            error,
            "x: there is no mode itm, did you mean \"item\"? (the modes are user, item, or 1 to 2)"
        );
        assert!(find_mode("3", &names, "x").is_err() && find_mode("0", &names, "x").is_err());
    }

    #[test]
    fn entities_go_by_name_and_times_by_their_bin() {
        let labels = ["2017-03", "2017-05"].iter().collect();
        let binning = Some(Binning::Time(Bin::Month));
        let mode = Mode::new("when", 2).named(Naming { column: "date".into(), binning, labels }).unwrap();
        assert_eq!(find_entity(&mode, "2017-05").unwrap(), 1);
        assert_eq!(find_entity(&mode, "2017-03-31 23:59:59").unwrap(), 0);
        let error = find_entity(&mode, "2017-04-01").unwrap_err().to_string();
        assert!(error.starts_with("the model knows no when 2017-04-01"), "{error}");
        assert_eq!(find_entity(&Mode::new("user", 3), "3").unwrap(), 2);
        assert!(find_entity(&Mode::new("user", 3), "4").unwrap_err().to_string().contains("1 to 3"));
    }
}
