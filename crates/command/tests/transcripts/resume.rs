//! `fit --checkpoint-every` and `--resume`: what a killed run leaves, and what becomes of it.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::harness::Folder;

const FIT: &str = "fit ratings.tns --rank 4 --epochs 400 --quiet";

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been() {
    let folder = Folder::with_ratings();
    folder.run(&format!("{FIT} --out whole")).succeeds();
    let mut kills = 0;
    for turn in 0..200u64 {
        let begun = folder.path("model/checkpoint.safetensors").exists();
        if begun && kills == 1 {
            let said = "--resume goes on with the settings of the run: no others can be given";
            folder.run("fit ratings.tns --rank 7 --resume model").fails(2, &[said]);
        }
        let resume = if begun { "--resume model" } else { "" };
        let flags = if begun { "fit ratings.tns --quiet" } else { FIT };
        let line = format!("{flags} {resume} --checkpoint-every 0.001s --out model");
        let mut command = folder.command(env!("CARGO_BIN_EXE_s3cmtf"));
        command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Times that fall anywhere into a run of some tenths of a second.
        sleep(Duration::from_millis(15 + turn * 37 % 90));
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "a checkpoint could not be resumed");
                break;
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
        }
    }
    assert!(kills > 0, "the run was never killed");
    let bytes = |name: &str| fs::read(folder.path(name)).unwrap();
    assert_eq!(bytes("model/model.safetensors"), bytes("whole/model.safetensors"));
    assert!(!folder.path("model/checkpoint.safetensors").exists(), "an ended run is not to be resumed");
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let folder = Folder::with_model();
    folder.run("fit ratings.tns --resume model").fails(1, &["checkpoint.safetensors", "--checkpoint-every"]);
    folder.run("fit ratings.tns --checkpoint-every 5m").fails(2, &["--out"]);
    folder.run("fit ratings.tns --checkpoint-every soon --out x").fails(2, &["30s, 5m or 2h"]);
}
