//! The command `s3cmtf`.

fn main() {}
