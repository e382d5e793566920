//! Tables: Arrow's files and streams.
#![no_main]

use libfuzzer_sys::fuzz_target;
use s3cmtf::internal::files::Format;
use s3cmtf_fuzz::{check_binary, let_others_panic};

fuzz_target!(init: let_others_panic(), |data: &[u8]| check_binary(Format::Arrow, data));
