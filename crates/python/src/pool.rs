//! The threads of this process.
//!
//! A process that was forked, as by `multiprocessing` on Linux and by servers, has the memory of its parent but not its
//! threads: whoever waits for those waits forever. So each process has its own, from when it needs them.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use s3cmtf::Error;

/// The process that threads were started in, and those.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Does some work with the threads of this process.
pub(crate) fn with_threads<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    threads()?.install(work)
}

/// Does some long work with threads that nobody else has: one that waits for others takes up what comes next, and would have
/// to end that first.
pub(crate) fn with_own_threads<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    started()?.install(work)
}

fn started() -> Result<ThreadPool, Error> {
    let started = ThreadPoolBuilder::new().build();
    started.map_err(|error| Error::Threads { source: error.into() })
}

fn threads() -> Result<Arc<ThreadPool>, Error> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let own = std::process::id();
    if let Some((process, threads)) = &*pool
        && *process == own
    {
        return Ok(Arc::clone(threads));
    }
    let threads = Arc::new(started()?);
    // Those of the parent cannot be ended, since they are not there.
    std::mem::forget(pool.replace((own, Arc::clone(&threads))));
    Ok(threads)
}
