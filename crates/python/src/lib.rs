//! The private module of the Python package: it converts, lets go of the interpreter, calls the library, and converts back.
//! What is right, what is the default and how it is done is said there.

mod ablate;
mod convert;
mod discover;
mod error;
mod evaluate;
mod exchange;
mod new_data;
mod pool;
mod problem;
mod run;
mod table;
mod train;
mod tune;
mod watch;
mod world;

use pyo3::prelude::*;

#[pymodule]
mod _s3cmtf {
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use s3cmtf::discovery::{MOST_CLUSTERS, SEED, TOP, TOP_OF_CONCEPTS};
    use s3cmtf::internal::files;
    use s3cmtf::internal::world::WorldParams;
    use s3cmtf::{Ablation, Checkpoint, Params, Tuning};

    use crate::convert::{json, said};

    #[pymodule_export]
    use crate::ablate::ablate;
    #[pymodule_export]
    use crate::discover::{clusters, concepts, profile, recommend, similar, write_report};
    #[pymodule_export]
    use crate::evaluate::evaluate;
    #[pymodule_export]
    use crate::new_data::take_in;
    #[pymodule_export]
    use crate::problem::Problem;
    #[pymodule_export]
    use crate::run::{Run, load};
    #[pymodule_export]
    use crate::table::{Couple, Table};
    #[pymodule_export]
    use crate::train::train;
    #[pymodule_export]
    use crate::tune::tune;
    #[pymodule_export]
    use crate::world::world;

    /// The names of all settings.
    #[pyfunction]
    fn settings() -> Vec<String> {
        Params::names()
    }

    /// All settings, as JSON: those that were said, and what goes with them.
    #[pyfunction]
    fn params(settings: &Bound<'_, PyDict>, preset: Option<&str>) -> PyResult<String> {
        json(&said(settings, preset, None, None)?)
    }

    /// What goes without saying beside settings, as JSON: what signatures in Python show, and a test holds to this.
    #[pyfunction]
    fn defaults() -> PyResult<String> {
        let world = WorldParams::default();
        json(&serde_json::json!({
            "n": TOP,
            "concepts_n": TOP_OF_CONCEPTS,
            "most": MOST_CLUSTERS,
            "seed": SEED,
            "budget": Tuning::BUDGET.as_secs_f64(),
            "tune_holdout": Tuning::HOLDOUT,
            "ablate_holdout": Ablation::HOLDOUT,
            "checkpoint_every": Checkpoint::EVERY.as_secs_f64(),
            "world": {
                "users": world.users,
                "businesses": world.businesses,
                "months": world.months,
                "ratings": world.ratings,
                "noise": world.noise,
                "seed": world.seed,
            },
        }))
    }

    /// The vector instructions that runs on this machine use unless told otherwise.
    #[pyfunction]
    fn instructions() -> &'static str {
        s3cmtf::internal::instructions()
    }

    /// Refuses files that would take more than so many bytes of memory, or more than the machine has.
    #[pyfunction]
    fn limit_memory(bytes: Option<u64>) {
        files::limit_memory(bytes);
    }

    /// A number of bytes such as `8GB`.
    #[pyfunction]
    fn parse_size(text: &str) -> PyResult<u64> {
        files::parse_size(text).map_err(PyValueError::new_err)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
