//! What the paper reports, and what is doubtful in it: the only place with numbers that are not ours.
//!
//! Dongjin Choi, Jun-Gi Jang, U Kang: S3CMTF: Fast, accurate, and scalable method for incomplete coupled matrix-tensor factorization,
//! PLoS ONE 14(6): e0217316, 2019. On a Xeon E5-2630 v4 with 256 GB; 80 % of the entries for training, 20 % for the test.

use super::cell::Set;

/// What it reports of a set of ratings.
pub(super) struct Ratings {
    /// The best test RMSE of CMTF-OPT and of S3CMTF-opt (Figure 1 and its text).
    pub(super) cmtf_opt_rmse: f64,
    pub(super) opt_rmse: f64,
    /// Seconds of an iteration of CMTF-OPT, and of S3CMTF-opt on 20 cores (Figure 4 and its text).
    pub(super) cmtf_opt_seconds: f64,
    pub(super) opt_seconds: f64,
    /// Whether CMTF-Tucker-ALS ran out of memory.
    pub(super) tucker_out_of_memory: bool,
    /// The mean and the standard deviation of all its ratings: not in the paper, and from memory.
    pub(super) remembered: Option<(f64, f64)>,
}

const MOVIELENS: Ratings = Ratings {
    cmtf_opt_rmse: 2.904,
    opt_rmse: 0.8037,
    cmtf_opt_seconds: 415.0,
    opt_seconds: 18.0,
    tucker_out_of_memory: false,
    remembered: Some((3.512, 1.060)),
};

const NETFLIX: Ratings = Ratings {
    cmtf_opt_rmse: 3.764,
    opt_rmse: 0.9147,
    cmtf_opt_seconds: 6100.0,
    opt_seconds: 140.0,
    tucker_out_of_memory: true,
    remembered: Some((3.604, 1.085)),
};

const YELP: Ratings = Ratings {
    cmtf_opt_rmse: 2.663,
    opt_rmse: 1.253,
    cmtf_opt_seconds: 283.0,
    opt_seconds: 25.0,
    tucker_out_of_memory: true,
    remembered: None,
};

/// The cores of its machine.
pub(super) const CORES: usize = 20;
/// Bytes of its memory.
pub(super) const MEMORY: f64 = 256e9;
/// How many times as long an iteration of SALS takes as one of S3CMTF-CP (Figure 6b).
pub(super) const SALS_OVER_CP: f64 = 2.3;
/// The sizes of modes from which on CMTF-Tucker-ALS has no memory, and CMTF-OPT no time (Figure 5a).
pub(super) const TUCKER_SIZE: u32 = 10_000_000;
pub(super) const CMTF_OPT_SIZE: u32 = 100_000_000;

/// Table 3: for each method the time and the memory of an iteration, and the exponent of the rank in the time, with three modes.
pub(super) const COMPLEXITY: [(&str, &str, &str, f64); 4] = [
    ("naive", "nnz(X) N^2 J^N / P + nnz(Y) J / P", "P J", 3.0),
    ("opt", "nnz(X) N J^N / P + nnz(Y) J / P", "P J^N", 3.0),
    ("tucker-als", "N I^(N-1) J^2 + N I^2 J^(N-1) + I^2 K", "I J^(N-1)", 2.0),
    ("cmtf-opt", "nnz(X) N J + N I^(N-1) J + I J K", "I^(N-1) J + J K", 1.0),
];

/// Table 5: clusters of businesses with what marks them.
pub(super) const CLUSTERS: [(&str, &str); 4] = [
    ("C1", "Las Vegas, US; Travel & Entertainment"),
    ("C2", "Arizona, US; Real estate & Home services"),
    ("C11", "Ontario, Canada; Restaurants & Deserts"),
    ("C17", "Ohio, US; Food & Drinks"),
];

/// The set's numbers.
pub(super) fn ratings(set: Set) -> &'static Ratings {
    match set {
        Set::MovieLens => &MOVIELENS,
        Set::Netflix => &NETFLIX,
        Set::Yelp => &YELP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratios_of_the_text_are_those_of_its_numbers() {
        for (set, errors, times) in
            [(Set::MovieLens, 3.6, 23.0), (Set::Netflix, 4.1, 43.0), (Set::Yelp, 2.1, 11.0)]
        {
            let of = ratings(set);
            assert!((of.cmtf_opt_rmse / of.opt_rmse - errors).abs() < 0.05);
            assert!((of.cmtf_opt_seconds / of.opt_seconds - times).abs() < 0.6);
        }
    }
}
