//! The last line of defence against broken files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::Error;

/// Runs a reader of another crate, of which some promises are kept by panics where a file breaks them: a file is
/// never a reason to panic, so they become the error that they are.
pub(in crate::files) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // What the closure has touched is dropped with it, so nothing half-done is seen again.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
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
    }
}
