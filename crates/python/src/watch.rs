//! Long work on other threads, while this one listens to Python: to callbacks, and for Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use s3cmtf::Error;

use crate::error::{exception, panicked};
use crate::pool::with_own_threads;

/// How long Ctrl-C may wait.
const WAIT: Duration = Duration::from_millis(100);

/// Does some work, which tells of itself by texts and stops when the flag is raised. `observe` is called with each text in
/// the thread of the caller, while the work waits; if it answers true, or an interrupt comes, the flag is raised. The
/// second interrupt is an error, as is what `observe` raises: once the work has stopped.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    observe: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&AtomicBool, &mut (dyn FnMut(String) + Send)) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (say, mut hear) = sync_channel::<(String, SyncSender<()>)>(0);
    let mut failed = None;
    let done = thread::scope(|scope| {
        let stop = &stop;
        let worker = scope.spawn(move || {
            let mut tell = |text| {
                let (answer, answered) = sync_channel(0);
                // Nobody listens any more once something has failed.
                if say.send((text, answer)).is_ok() {
                    let _ = answered.recv();
                }
            };
            with_own_threads(|| work(stop, &mut tell))
        });
        loop {
            let hear = &mut hear;
            match py.detach(move || hear.recv_timeout(WAIT)) {
                Ok((text, _answer)) => match observe.map(|observe| observe.call1((text,))?.is_truthy()) {
                    Some(Ok(true)) => stop.store(true, Ordering::Relaxed),
                    Some(Err(error)) if is_first_interrupt(py, stop, &error) => {
                        stop.store(true, Ordering::Relaxed)
                    }
                    Some(Err(error)) => fail(stop, &mut failed, error),
                    _ => {}
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            match py.check_signals() {
                Err(error) if is_first_interrupt(py, stop, &error) => stop.store(true, Ordering::Relaxed),
                Err(error) => fail(stop, &mut failed, error),
                Ok(()) => {}
            }
        }
        py.detach(|| worker.join())
    });
    let done = done.map_err(|panic| panicked(&*panic))?;
    failed.map_or(Ok(()), Err)?;
    done.map_err(exception)
}

/// Whether it is Ctrl-C, for the first time: also a callback may be what it interrupts.
fn is_first_interrupt(py: Python<'_>, stop: &AtomicBool, error: &PyErr) -> bool {
    error.is_instance_of::<PyKeyboardInterrupt>(py) && !stop.load(Ordering::Relaxed)
}

/// Keeps the first failure, and stops the work.
fn fail(stop: &AtomicBool, failed: &mut Option<PyErr>, error: PyErr) {
    stop.store(true, Ordering::Relaxed);
    failed.get_or_insert(error);
}
