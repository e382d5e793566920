//! The most memory that this process held at once, where the operating system tells.

use std::fs;

/// Watches the memory from here on.
pub(crate) struct Memory {
    /// Whether the peak of before could be forgotten; what is told then would be of something else.
    forgot: bool,
}

impl Memory {
    /// Forgets the peak so far.
    pub(crate) fn watch() -> Self {
        // Linux takes "5" for: forget the peak of the resident memory.
        Memory { forgot: fs::write("/proc/self/clear_refs", "5").is_ok() }
    }

    /// Watches the memory of a process from its start on.
    pub(crate) fn of_process() -> Self {
        Memory { forgot: true }
    }

    /// The peak since then, in bytes.
    pub(crate) fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok().filter(|_| self.forgot)?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn the_peak_has_what_was_held_and_given_back() {
        let memory = Memory::watch();
        let Some(before) = memory.peak() else { return };
        let held = vec![1u8; 64 << 20];
        assert_eq!(std::hint::black_box(&held)[5], 1);
        drop(held);
        assert!(memory.peak().unwrap() > before + (48 << 20));
    }
}
