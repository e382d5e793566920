//! Which device draws.

use s3cmtf_cuda::CudaDevice;

use super::super::engine::BayesEngine;
use super::super::start::Prepared;
use super::{DeviceEngine, failed};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::params::{BayesParams, Component, Device};
use crate::problem::{Absent, EntrySource, Problem};
use crate::training::engine::Engine;
use crate::training::job::{FitJob, RunContext};

/// Fewer entries are drawn from on a CPU before a GPU has begun.
const LEAST: usize = 500_000;
/// The most modes that there are kernels for.
const MODES: usize = 8;

/// The engine of a job, on the device that was asked for, or on the one that is best.
pub(in super::super) fn choose<'a>(
    job: FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'a, '_>,
) -> Result<Box<dyn Engine + 'a>, Error> {
    let refused = refused(job.problem, &job.entries, params, context);
    let note = match (params.device, refused) {
        (Device::Cpu, _) => None,
        (Device::Cuda(number), None) => return on(number, &job, params, context),
        (asked @ Device::Cuda(_), Some(why)) => {
            return Err(Error::param("device", format!("cpu, {why}"), asked));
        }
        (Device::Auto, refused) if job.entries.len() >= LEAST => match (CudaDevice::new(0), refused) {
            (Err(_), _) => None,
            (Ok(_), Some(why)) => Some(format!("the GPU was not used: it cannot be, {why}")),
            (Ok(device), None) => match with(device, 0, &job, params, context) {
                Ok(engine) => return Ok(engine),
                Err(error @ Error::Device { .. }) => Some(format!("the GPU was not used: {error:#}")),
                Err(error) => return Err(error),
            },
        },
        (Device::Auto, _) => None,
    };
    Ok(Box::new(BayesEngine::new(job, params, context)?.noting(note)))
}

fn on<'a>(
    number: u16,
    job: &FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'a, '_>,
) -> Result<Box<dyn Engine + 'a>, Error> {
    let device = CudaDevice::new(number.into());
    with(
        device.map_err(|error| failed(&Device::Cuda(number).to_string(), error))?,
        number,
        job,
        params,
        context,
    )
}

fn with<'a>(
    device: CudaDevice,
    number: u16,
    job: &FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'a, '_>,
) -> Result<Box<dyn Engine + 'a>, Error> {
    let asked = Device::Cuda(number);
    let called = device.name().map_err(|error| failed(&asked.to_string(), error))?;
    let named = (device, format!("{asked} ({called})"));
    let prepared = Prepared::new(job.problem, &job.entries, params, context.warm, context.nodes)?;
    let engine = DeviceEngine::new(named, prepared, &job.entries, &job.sets, params.common.epochs)?;
    Ok(Box::new(engine))
}

/// What a job has that there are no kernels for yet, if anything.
fn refused(
    problem: &Problem,
    entries: &EntrySource,
    params: &BayesParams,
    context: &RunContext<'_, '_>,
) -> Option<&'static str> {
    let ablated = |part: Component| params.without.contains(&part);
    let has = |is: &dyn Fn(&crate::problem::Coupled) -> bool| problem.coupled().iter().any(is);
    let all = [
        (params.likelihood != Likelihood::Gaussian, "where the likelihood is not gaussian"),
        (context.nodes.is_shared(), "where nodes share the entries"),
        (matches!(entries, EntrySource::Stored(_)), "where entries are not in memory"),
        (entries.len() >= u32::MAX as usize, "where there are more than 4,294,967,294 entries"),
        (problem.order() > MODES, "where the tensor has more than 8 modes"),
        (has(&|matrix| matrix.kind() == Absent::Graph), "where a coupled matrix is a graph"),
        (has(&|matrix| matrix.weight().is_some()), "where a coupled matrix has a weight of its own"),
        (ablated(Component::Averaging), "where averaging is ablated"),
        (ablated(Component::RaoBlackwell), "where rao-blackwell is ablated"),
    ];
    all.into_iter().find_map(|(is_asked, why)| is_asked.then_some(why))
}
