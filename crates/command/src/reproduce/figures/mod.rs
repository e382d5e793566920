//! The figures and tables of the paper, one after the other.

mod discovery;
mod ratings;
mod scaling;
mod single;
mod table3;

use super::cell::Outcome;
use super::plan::Options;
use super::section::Section;
use crate::args::Figure;

/// The sections of the given figures, of whatever was run.
pub(super) fn sections(figures: &[Figure], outcomes: &[Outcome], options: &Options) -> Vec<Section> {
    let section = |figure: &Figure| match figure {
        Figure::Fig1 => ratings::errors(outcomes, options),
        Figure::Fig4 => ratings::times(outcomes, options),
        Figure::Fig5a => scaling::sizes(outcomes),
        Figure::Fig5b => scaling::entries(outcomes),
        Figure::Fig5c => scaling::cores(outcomes),
        Figure::Fig6 => single::section(outcomes),
        Figure::Fig7 => discovery::gaps(outcomes),
        Figure::Table3 => table3::section(outcomes),
        Figure::Table5 => discovery::clusters(outcomes),
        Figure::Fig8 => discovery::user(outcomes),
    };
    figures.iter().map(section).collect()
}
