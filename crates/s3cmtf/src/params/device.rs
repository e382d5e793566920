//! What a run is computed on.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What draws of [`Algorithm::Bayes`](super::Algorithm::Bayes) are computed on. Everything else is on this machine's cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// A GPU where there is one that can do all that the run asks for and the problem is large enough to gain by it; else
    /// the cores.
    #[default]
    Auto,
    /// The cores of this machine.
    Cpu,
    /// The NVIDIA GPU of this number, counted from 0.
    Cuda(u16),
}

impl fmt::Display for Device {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => to.write_str("auto"),
            Device::Cpu => to.write_str("cpu"),
            Device::Cuda(number) => write!(to, "cuda:{number}"),
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.split_once(':') {
            None if word == "auto" => Ok(Device::Auto),
            None if word == "cpu" => Ok(Device::Cpu),
            None if word == "cuda" => Ok(Device::Cuda(0)),
            Some(("cuda", number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => number
                .parse()
                .map(Device::Cuda)
                .map_err(|_| format!("should have the number of a GPU, not {number:?}")),
            _ => Err("should be auto, cpu, cuda or cuda:N, where N is the number of a GPU".to_owned()),
        }
    }
}

impl Serialize for Device {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        let all = [
            ("auto", Device::Auto),
            ("cpu", Device::Cpu),
            ("cuda:0", Device::Cuda(0)),
            ("cuda:12", Device::Cuda(12)),
        ];
        for (word, device) in all {
            assert_eq!((word.parse(), device.to_string().as_str()), (Ok(device), word));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for word in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:70000", "cpu:0", "Auto"] {
            assert!(word.parse::<Device>().is_err(), "{word}");
        }
    }
}
