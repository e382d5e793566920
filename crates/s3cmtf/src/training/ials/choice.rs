//! What people choose, learnt beside a model of values from which cells have one.

use std::sync::atomic::AtomicBool;

use s3cmtf_kernels::Level;

use super::choices::Choices;
use super::new_users::weights;
use super::search::Asked;
use super::sweep::{Objective, State};
use crate::Error;
use crate::model::{Choice, ChoiceWeights, Factor};
use crate::nodes::Nodes;
use crate::problem::{Entries, Problem};

/// The length of rows, and the sweeps that find them: enough for a good ranking, and little beside what a model of values takes.
const RANK: usize = 32;
const SWEEPS: usize = 10;
/// Where more of the cells than this have a value, having one says little.
const DENSE: f64 = 0.5;

/// The choices of the first mode among the second, in the entries of all nodes; nothing where nearly all cells have a value, or if it
/// was interrupted.
///
/// # Errors
/// If other nodes cannot be reached.
pub(in crate::training) fn choice(
    problem: &Problem,
    entries: &Entries,
    (seed, level): (u64, Level),
    nodes: &Nodes,
    interrupt: &AtomicBool,
) -> Result<Option<(Choice, ChoiceWeights)>, Error> {
    let rows = Choice::MODES.map(|mode| problem.modes()[mode].rows());
    if nodes.add(entries.len() as u64)? as f64 > DENSE * rows[0] as f64 * rows[1] as f64 {
        return Ok(None);
    }
    let lists = Choice::MODES.map(|mode| entries.indices(mode).to_vec());
    let pairs = Entries::from_rows(String::new(), lists.into(), vec![1.0; entries.len()]);
    let choices = Choices::of_pairs(pairs, rows, RANK, nodes)?;
    let asked = Asked { lambda: Err(choices.usual_lambda()), absent: None, contexts: false, matrices: false };
    let objective = Objective { choices: &choices, matrices: &[], setting: asked.usual(), rank: RANK, level };
    let mut state = State::start(&choices, RANK, seed);
    for _ in 0..SWEEPS {
        if !objective.sweep(&mut state, interrupt)? {
            return Ok(None);
        }
    }
    let factor = |mode: usize| Factor::new(RANK, choices.filled(mode, &state.factors[mode], RANK));
    Ok(Some((Choice::new(Choice::MODES.map(factor)), weights(&choices, objective.setting, 0.0))))
}
