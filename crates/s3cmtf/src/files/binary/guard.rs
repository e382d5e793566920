//! The last line of defence against broken files.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use crate::Error;

thread_local! {
    /// Whether a panic of this thread becomes an error, so that nobody is to be told of it.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Has panics that become errors say nothing; others go where they went before.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
}

/// Runs a reader of another crate, of which some promises are kept by panics where a file breaks them: a file is
/// never a reason to panic, so they become the error that they are.
pub(in crate::files) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    quieten();
    let outer = GUARDED.replace(true);
    // What the closure has touched is dropped with it, so nothing half-done is seen again.
    let read = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(outer);
    read.unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str);
        let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("its reader gave up");
        Err(Error::file(path, format!("is broken: {what}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let path = Path::new("t");
        assert_eq!(guarded(path, || Ok(7)).unwrap(), 7);
        let values: Vec<u8> = Vec::new();
        let error = guarded(path, || Ok(values[3])).unwrap_err().to_string();
        assert!(error.starts_with("t: is broken: index out of bounds"), "{error}");
        assert!(!GUARDED.get(), "later panics are told of");
    }
}
