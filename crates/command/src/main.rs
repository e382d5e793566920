//! See `lib.rs`: a program is compiled only when the library below it is done, a library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    s3cmtf_command::main()
}
