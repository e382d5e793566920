//! Which device draws: a GPU, or this machine's cores.

use s3cmtf_cuda::{CudaDevice, Limited};

use super::device::{Begun, failed};
use super::engine::BayesEngine;
use super::start::Prepared;
use crate::Error;
use crate::likelihood::Likelihood;
use crate::params::{BayesParams, Component, Device};
use crate::problem::{Absent, Coupled, EntrySource};
use crate::training::engine::Engine;
use crate::training::job::{FitJob, RunContext};

/// Fewer entries are drawn from on a CPU before a GPU has begun.
const LEAST: usize = 500_000;
/// The most modes that there are kernels for.
const MODES: usize = 8;

/// The engine of a job, on the device that was asked for, or on the one that is best.
pub(in crate::training) fn engine<'a>(
    job: FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'a, '_>,
) -> Result<Box<dyn Engine + 'a>, Error> {
    let refused = refused(&job, params, context);
    let note = match (params.device, refused) {
        (Device::Cpu, _) => None,
        (asked @ Device::Cuda(_), Some(why)) => {
            return Err(Error::param("device", format!("cpu, {why}"), asked));
        }
        (Device::Cuda(number), None) => {
            let begun = begin(number, &job, params, context)?;
            return Ok(Box::new(begun.engine(job.entries)?));
        }
        (Device::Auto, _) if job.entries.len() < LEAST => None,
        (Device::Auto, Some(why)) => {
            CudaDevice::new(0).is_ok().then(|| format!("the GPU was not used: it cannot be, {why}"))
        }
        (Device::Auto, None) => match begin(0, &job, params, context) {
            Ok(begun) => return Ok(Box::new(begun.engine(job.entries)?)),
            // Most machines have none, which is no news.
            Err(Error::Device { source, .. }) if is_none(&*source) => None,
            Err(error @ Error::Device { .. }) => Some(format!("the GPU was not used: {error:#}")),
            Err(error) => return Err(error),
        },
    };
    Ok(Box::new(BayesEngine::new(job, params, context)?.noting(note)))
}

/// Puts what a job begins with on the GPU of a number.
fn begin(
    number: u16,
    job: &FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'_, '_>,
) -> Result<Begun<Limited<CudaDevice>>, Error> {
    let asked = Device::Cuda(number).to_string();
    let device = CudaDevice::new(number.into()).map_err(|error| failed(&asked, error))?;
    let called = device.name().map_err(|error| failed(&asked, error))?;
    let device = Limited::new(device, most_memory()?);
    let prepared = Prepared::new(job.problem, &job.entries, params, context.warm, context.nodes)?;
    Begun::new((device, format!("{asked} ({called})")), prepared, job)
}

/// How many bytes of a GPU's memory may be used, where it is not ours alone: as other settings of GPUs, this is one of the machine and not
/// of a run.
const MEMORY: &str = "S3CMTF_GPU_MEMORY";
const GIGABYTE: f64 = 1e9;

fn most_memory() -> Result<usize, Error> {
    let Some(set) = std::env::var_os(MEMORY) else { return Ok(usize::MAX) };
    set.to_str().and_then(bytes).ok_or_else(|| {
        let found = set.to_string_lossy();
        Error::Problem(format!("{MEMORY} is {found:?}, which is no size such as 8GB or 0.5GB"))
    })
}

fn bytes(size: &str) -> Option<usize> {
    let gigabytes: f64 = size.trim().trim_end_matches("GB").trim_end().parse().ok()?;
    (gigabytes.is_finite() && gigabytes > 0.0).then_some((gigabytes * GIGABYTE) as usize)
}

/// Whether the reason is that there is no GPU at all.
fn is_none(reason: &(dyn std::error::Error + 'static)) -> bool {
    use s3cmtf_cuda::Error::{NoDevice, NoDriver};
    matches!(reason.downcast_ref(), Some(NoDriver | NoDevice(_)))
}

/// What a job has that there are no kernels for yet, if anything.
fn refused(
    FitJob { problem, entries, .. }: &FitJob<'_>,
    params: &BayesParams,
    context: &RunContext<'_, '_>,
) -> Option<&'static str> {
    let ablated = |part: Component| params.without.contains(&part);
    let has = |is: &dyn Fn(&Coupled) -> bool| problem.coupled().iter().any(is);
    let all = [
        (params.likelihood != Likelihood::Gaussian, "where the likelihood is not gaussian"),
        (params.absent_weight.is_some(), "where absent cells are zeros"),
        (context.nodes.is_shared(), "where nodes share the entries"),
        (matches!(entries, EntrySource::Stored(_)), "where entries are not in memory"),
        (entries.len() >= u32::MAX as usize, "where there are more than 4,294,967,294 entries"),
        (problem.order() > MODES, "where the tensor has more than 8 modes"),
        (
            has(&|matrix| matrix.kind() == Absent::Missing && matrix.weight().is_some()),
            "where a coupled matrix with missing cells has a weight of its own",
        ),
        (ablated(Component::Averaging), "where averaging is ablated"),
        (ablated(Component::RaoBlackwell), "where rao-blackwell is ablated"),
    ];
    all.into_iter().find_map(|(is_asked, why)| is_asked.then_some(why))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_gigabytes() {
        let found = ["8GB", "0.5 GB", " 2 ", "1e1GB"].map(bytes);
        assert_eq!(
            found,
            [Some(8_000_000_000), Some(500_000_000), Some(2_000_000_000), Some(10_000_000_000)]
        );
        for wrong in ["", "GB", "8MB", "-1GB", "0", "NaN", "inf", "8GBs", "eight"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
