//! A folder for made-up files.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// A folder that goes away with what is in it.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new one, where temporary files go.
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("s3cmtf-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(Folder(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about a failure here.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
