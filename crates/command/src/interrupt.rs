//! Ctrl-C, once: stop and keep the model so far. Twice: leave at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// The exit code of an interrupted command, as shells have it: 128 + SIGINT.
pub(crate) const EXIT: u8 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on the flag that comes back is raised by the first interrupt; the second ends the process.
///
/// Called just before training: while files are read there is nothing to keep, and the system's own handling
/// ends the process at once.
pub(crate) fn flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            process::exit(i32::from(EXIT));
        }
    })
    .context("cannot handle Ctrl-C")?;
    Ok(&INTERRUPTED)
}
