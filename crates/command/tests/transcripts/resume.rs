//! `fit --checkpoint-every` and `--resume`: what a killed run leaves, and what becomes of it.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::harness::Folder;

/// Kills a run at random times until one comes to its end, and compares that with a run that was left alone.
fn kill_again_and_again(fit: &str) {
    let folder = Folder::with_ratings();
    folder.run(&format!("{fit} --out whole")).succeeds();
    let mut times = Vec::new();
    for turn in 0..200u64 {
        let begun = folder.path("model/checkpoint.safetensors").exists();
        if begun && times.len() == 1 {
            let said = "resume goes on with the settings of the run: no others can be given";
            folder.run("fit ratings.tns --rank 7 --resume model").fails(2, &[said]);
        }
        // The device may be said anew, and here it is the same.
        let flags = match (begun, turn % 2) {
            (false, _) => fit,
            (true, 0) => "fit ratings.tns --quiet --resume model",
            (true, _) => "fit ratings.tns --quiet --device cpu --resume model",
        };
        let line = format!("{flags} --checkpoint-every 0.001s --out model");
        let mut command = folder.command(env!("CARGO_BIN_EXE_s3cmtf"));
        command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Anywhere in a run of some tenths of a second, and later and later where the machine or its disk is slow.
        let random = RandomState::new().build_hasher().finish();
        let time = Duration::from_micros(5_000 + random % (60_000 + 500 * turn * turn));
        times.push(time);
        sleep(time);
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "a checkpoint could not be resumed, killed after {times:?}");
                break;
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    }
    assert!(times.len() > 1, "the run was never killed");
    let bytes = |name: &str| fs::read(folder.path(name)).unwrap();
    let same = bytes("model/model.safetensors") == bytes("whole/model.safetensors");
    assert!(same, "another model, killed after {times:?}");
    let record: Value = serde_json::from_slice(&bytes("model/run.json")).unwrap();
    let begun = format!("s3cmtf {fit} --checkpoint-every 0.001s --out model");
    assert_eq!(record["command"], begun, "the line that does it again");
    assert!(!folder.path("model/checkpoint.safetensors").exists(), "an ended run is not to be resumed");
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been() {
    kill_again_and_again("fit ratings.tns --rank 4 --epochs 3000 --quiet");
}

#[test]
fn so_does_a_deterministic_one_of_gradient_descent() {
    kill_again_and_again(
        "fit ratings.tns --rank 4 --epochs 12000 --algorithm sgd --deterministic --threads 2 --quiet",
    );
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let folder = Folder::with_model();
    folder.run("fit ratings.tns --resume model").fails(1, &["checkpoint.safetensors", "checkpoint-every"]);
    folder.run("fit ratings.tns --checkpoint-every 5m").fails(2, &["--out"]);
    folder.run("fit ratings.tns --checkpoint-every soon --out x").fails(2, &["30s, 5m or 2h"]);
}
