//! The command `s3cmtf`: what was typed ([`args`]) becomes objects of the library, which a verb then runs.
//!
//! Exit codes: 0 done, 1 failed (files, data), 2 wrong usage, 130 interrupted.

mod args;
mod bench;
mod check;
mod clusters;
mod columns;
mod concepts;
mod convert;
mod couple;
mod demo;
mod entity;
mod evaluate;
mod export;
mod failure;
mod fit;
mod folds;
mod generate;
mod import;
mod interrupt;
mod memory;
mod modes;
mod new_data;
mod out;
mod pages;
mod predict;
mod print;
mod problem;
mod progress;
mod recommend;
mod report;
mod reproduce;
mod saved;
mod show;
mod similar;
mod source;
mod split;
mod summary;
mod tune;
mod unknown;

use std::process::ExitCode;

use args::Verb;

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let verb = args::parse().verb;
    s3cmtf::internal::files::limit_memory(verb.memory());
    let outcome = match verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Fit(args) => fit::run(&args),
        Verb::Predict(args) => predict::run(&args),
        Verb::Recommend(args) => recommend::run(&args),
        Verb::Similar(args) => similar::run(&args),
        Verb::Concepts(args) => concepts::run(&args),
        Verb::Clusters(args) => clusters::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Evaluate(args) => evaluate::run(&args),
        Verb::Tune(args) => tune::run(&args),
        Verb::Split(args) => split::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Reproduce(args) => reproduce::run(&args),
        Verb::FoldIn(args) => new_data::fold_in(&args),
        Verb::Update(args) => new_data::update(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Convert(args) => convert::run(&args),
        Verb::Generate(args) => generate::run(&args),
        Verb::Completions(args) => pages::completions(&args),
        Verb::Man(args) => pages::man(&args),
    };
    outcome.unwrap_or_else(failure::report)
}
