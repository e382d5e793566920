//! The private module of the Python package: it converts, lets go of the interpreter, calls the library, and converts back.
//! What is right, what is the default and how it is done is said there.

mod ablate;
mod convert;
mod discover;
mod error;
mod evaluate;
mod later;
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
    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use s3cmtf::Params;

    use crate::convert::{json, said};

    #[pymodule_export]
    use crate::ablate::ablate;
    #[pymodule_export]
    use crate::discover::{clusters, concepts, profile, recommend, similar, write_report};
    #[pymodule_export]
    use crate::evaluate::evaluate;
    #[pymodule_export]
    use crate::later::take_in;
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

    /// The vector instructions that runs on this machine use unless told otherwise.
    #[pyfunction]
    fn instructions() -> &'static str {
        s3cmtf::instructions()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
