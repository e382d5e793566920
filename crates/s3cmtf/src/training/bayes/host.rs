//! Without the feature `cuda`, this machine's cores draw.

use super::engine::BayesEngine;
use crate::Error;
use crate::params::{BayesParams, Device};
use crate::training::engine::Engine;
use crate::training::job::{FitJob, RunContext};

/// The engine of a job.
pub(in crate::training) fn engine<'a>(
    job: FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'a, '_>,
) -> Result<Box<dyn Engine + 'a>, Error> {
    if let device @ Device::Cuda(_) = params.device {
        return Err(Error::param(
            "device",
            "cpu, as this program was built without the feature cuda",
            device,
        ));
    }
    Ok(Box::new(BayesEngine::new(job, params, context)?))
}
