//! The vector kernels of s3cmtf.
