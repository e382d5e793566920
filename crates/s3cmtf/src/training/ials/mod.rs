//! Alternating least squares for implicit feedback: what is absent was not chosen, and counts a little.
//!
//! Every user chooses from all items. A cell that is there is a choice, with the value 1; all others that the user could have
//! chosen in the same context are zeros of less weight, and are never visited: their sum over all items is a Gram matrix (Hu,
//! Koren and Volinsky, 2008). How strong the regulariser is and what an absent cell counts is found on choices held out, by how
//! far up they are in the ranking. docs/method.md has the objective.

mod choice;
mod choices;
mod engine;
mod held_out;
mod new_users;
mod search;
mod setting;
mod sweep;
#[cfg(test)]
mod tests;

pub(super) use choice::choice;
pub(super) use engine::IalsEngine;
pub(super) use new_users::rows_of_new_users;
