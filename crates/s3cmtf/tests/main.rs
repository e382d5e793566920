//! Everything that is tested through the library's public interface, as one program: each file of its own would link the
//! library, and compile what is generic in it, once more.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod common;

mod ablation;
mod als;
mod auto;
mod bayes;
mod checksums;
mod diagonal;
mod discovery;
mod examples;
mod fold_in;
mod gradients;
mod implicit;
mod likelihood;
mod nodes;
mod recommend;
mod resume;
mod stored;
mod training;
mod tune;
mod zeros;
