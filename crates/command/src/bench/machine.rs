//! Where it was measured.

use serde::Serialize;

/// What a figure depends on besides the program.
#[derive(Serialize)]
pub(crate) struct Machine {
    version: &'static str,
    processor: String,
    cores: usize,
    instructions: &'static str,
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Self {
        let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Machine {
            version: env!("CARGO_PKG_VERSION"),
            processor: name.map_or("unknown processor".into(), |(_, name)| name.trim().to_owned()),
            cores: cores(),
            instructions: s3cmtf::internal::instructions(),
        }
    }

    /// The machine in a line.
    pub(crate) fn described(&self) -> String {
        let Machine { version, processor, cores, instructions } = self;
        let plural = if *cores == 1 { "" } else { "s" };
        format!("{processor}, {cores} core{plural}, {instructions}, s3cmtf {version}")
    }
}

/// The cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}
