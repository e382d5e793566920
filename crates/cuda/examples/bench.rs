//! How long draws take on a GPU, on made-up data of the shape of well-known sets; lines of JSON.
//!
//! `bench SHAPE RANK [FORM] [EPOCHS]`, where SHAPE is `netflix`, `movielens` or `small`, and FORM `auto`, `entries` or `tuples`.
#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::time::Instant;

use rayon::prelude::*;
use s3cmtf_cuda::{CudaDevice, Device, Entries, Error, Form, Generator, Sampler, Setup, State, zeros};

/// The deviation of the noise.
const NOISE: f64 = 0.5;
/// One entry in so many is for the test.
const TEST: usize = 80;

struct Data {
    rows: [usize; 3],
    train: (Vec<Vec<u32>>, Vec<f32>),
    test: (Vec<Vec<u32>>, Vec<f32>),
}

/// Some rows have far more entries than others; an item has months in which it is popular.
fn make(rows: [usize; 3], entries: usize) -> Data {
    let mut generator = Generator(1);
    let concepts = 4;
    let factors: Vec<Vec<f64>> =
        rows.iter().map(|&rows| (0..rows * concepts).map(|_| generator.normal()).collect()).collect();
    let from: Vec<f64> = (0..rows[1]).map(|_| generator.uniform()).collect();
    let entry = |number: usize| {
        let mut generator = Generator(0x1234_5678 ^ (number as u64) << 8);
        let pick = |generator: &mut Generator, mode: usize, skew: f64| {
            let place = generator.uniform().powf(skew) * rows[mode] as f64;
            // Busy rows are all over the place.
            (place as usize).min(rows[mode] - 1).wrapping_mul(2_654_435_761) % rows[mode]
        };
        let (user, item) = (pick(&mut generator, 0, 2.0), pick(&mut generator, 1, 2.6));
        let since = from[item] + (1.0 - from[item]) * generator.uniform();
        let month = ((since * rows[2] as f64) as usize).min(rows[2] - 1);
        let index = [user, item, month];
        let at = |mode: usize, k: usize| factors[mode][index[mode] * concepts + k];
        let offsets = 0.4 * at(0, 0) + 0.4 * at(1, 0) + 0.1 * at(2, 0);
        let pairs = 0.4 * at(0, 1) * at(1, 1) + 0.3 * at(0, 2) * at(1, 2) + 0.2 * at(1, 3) * at(2, 3);
        let value = offsets + pairs + 0.1 * at(0, 3) * at(1, 3) * at(2, 1) + NOISE * generator.normal();
        (index.map(|row| row as u32), value as f32)
    };
    let some = |range: std::ops::Range<usize>| {
        let all: Vec<([u32; 3], f32)> = range.into_par_iter().map(entry).collect();
        let indices = (0..3).map(|mode| all.par_iter().map(|(index, _)| index[mode]).collect()).collect();
        (indices, all.par_iter().map(|(_, value)| *value).collect())
    };
    let test = entries / TEST;
    Data { rows, train: some(0..entries), test: some(entries..entries + test) }
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let wrong = |what: &str| Error::Problem(format!("{what}: see the head of bench.rs"));
    let shape = arguments.next().ok_or_else(|| wrong("no shape"))?;
    let rank: usize = arguments.next().and_then(|rank| rank.parse().ok()).ok_or_else(|| wrong("no rank"))?;
    let form = match arguments.next().as_deref() {
        None | Some("auto") => Form::Auto,
        Some("entries") => Form::Entries,
        Some("tuples") => Form::Tuples,
        Some(_) => return Err(wrong("no such form")),
    };
    let epochs: u32 = arguments.next().and_then(|epochs| epochs.parse().ok()).unwrap_or(60);
    let (rows, entries) = match shape.as_str() {
        "netflix" => ([480_189, 17_770, 74], 100_000_000),
        "movielens" => ([71_567, 10_677, 157], 8_000_000),
        "small" => ([2_000, 500, 20], 100_000),
        _ => return Err(wrong("no such shape")),
    };
    let begin = Instant::now();
    let data = make(rows, entries);
    let made = begin.elapsed().as_secs_f64();
    let first = run(&data, rank, form, epochs, &shape, true)?;
    let second = run(&data, rank, form, epochs, &shape, false)?;
    println!(
        "{{\"shape\":\"{shape}\",\"rank\":{rank},\"data_s\":{made:.2},\"same_bits\":{}}}",
        first == second
    );
    Ok(())
}

/// Trains; says how long it took if `tells`.
fn run(data: &Data, rank: usize, form: Form, epochs: u32, shape: &str, tells: bool) -> Result<State, Error> {
    let rows = &data.rows;
    let ranks = rows.map(|rows| rank.min(rows / 2));
    let zero = zeros(&ranks);
    let train: Vec<&[u32]> = data.train.0.iter().map(Vec::as_slice).collect();
    let test: Vec<&[u32]> = data.test.0.iter().map(Vec::as_slice).collect();
    let start = State::start(rows, &ranks, 1);
    let begin = Instant::now();
    let device = CudaDevice::new(0)?;
    let context = begin.elapsed().as_secs_f64();
    let name = device.name()?;
    let entries = Entries { indices: &train, values: &data.train.1 };
    let setup = Setup { form, ..Setup::new(rows, &ranks, entries, &zero, 1) };
    let begin = Instant::now();
    let mut sampler = Sampler::new(device, &setup, &start)?;
    let prepared = begin.elapsed().as_secs_f64();
    let set = sampler.evaluation(Entries { indices: &test, values: &data.test.1 })?;
    let early = epochs * 3 / 4;
    let share = |epoch: u32| (epoch > early).then(|| 1.0 / (epoch - early).min(40) as f32);
    // The first epochs load kernels and have no core.
    (1..=5).try_for_each(|epoch| sampler.epoch(epoch, share(epoch)))?;
    sampler.device().synchronise()?;
    let timed = |sampler: &mut Sampler<CudaDevice>, range: std::ops::RangeInclusive<u32>| {
        let (begin, count) = (Instant::now(), range.clone().count());
        range.into_iter().try_for_each(|epoch| sampler.epoch(epoch, share(epoch)))?;
        sampler.device().synchronise()?;
        Ok::<f64, Error>(begin.elapsed().as_secs_f64() * 1e3 / count as f64)
    };
    let plain = timed(&mut sampler, 6..=early)?;
    let averaging = timed(&mut sampler, early + 1..=epochs)?;
    let range = [f32::NEG_INFINITY, f32::INFINITY];
    let begin = Instant::now();
    let squares = sampler.squared_error(Some(&set), true, range)?;
    let evaluated = begin.elapsed().as_secs_f64();
    let rmse = (squares / data.test.1.len() as f64).sqrt();
    let train_rmse = (sampler.squared_error(None, true, range)? / data.train.1.len() as f64).sqrt();
    let state = sampler.state()?;
    if tells {
        println!(
            "{{\"gpu\":\"{name}\",\"shape\":\"{shape}\",\"rank\":{rank},\"form\":\"{form:?}\",\"epochs\":{epochs},\
             \"context_s\":{context:.2},\"prepare_s\":{prepared:.2},\"epoch_ms\":{plain:.3},\
             \"averaging_epoch_ms\":{averaging:.3},\"test_rmse\":{rmse:.4},\"train_rmse\":{train_rmse:.4},\
             \"noise\":{:.4},\"evaluation_ms\":{:.2}}}",
            1.0 / state.tau.sqrt(),
            1e3 * evaluated
        );
        println!("{}", parts(&mut sampler, epochs)?);
    }
    Ok(state)
}

/// How long each part of an epoch takes, with a wait behind each.
fn parts(sampler: &mut Sampler<CudaDevice>, epochs: u32) -> Result<String, Error> {
    const REPEATS: u32 = 5;
    let mut parts: Vec<(String, f64)> = Vec::new();
    for epoch in epochs + 1..=epochs + REPEATS {
        let mut place = 0;
        let mut part = |name: String, sampler: &mut Sampler<CudaDevice>, begin: Instant| {
            sampler.device().synchronise()?;
            let took = begin.elapsed().as_secs_f64() * 1e3 / f64::from(REPEATS);
            if parts.len() == place {
                parts.push((name, 0.0));
            }
            parts[place].1 += took;
            place += 1;
            Ok::<(), Error>(())
        };
        sampler.device().synchronise()?;
        let begin = Instant::now();
        sampler.rescale(epoch)?;
        part("rescale".to_owned(), sampler, begin)?;
        for mode in sampler.modes() {
            let begin = Instant::now();
            sampler.sum(mode, epoch)?;
            part(format!("sums_{mode}"), sampler, begin)?;
            let begin = Instant::now();
            sampler.draw_rows(mode, epoch, None)?;
            part(format!("sums_and_rows_{mode}"), sampler, begin)?;
            let begin = Instant::now();
            sampler.draw_shares(mode, epoch)?;
            part(format!("shares_{mode}"), sampler, begin)?;
        }
        let begin = Instant::now();
        sampler.draw_core(epoch, true)?;
        part("core".to_owned(), sampler, begin)?;
    }
    let parts: Vec<String> = parts.iter().map(|(name, took)| format!("\"{name}_ms\":{took:.3}")).collect();
    Ok(format!("{{{}}}", parts.join(",")))
}
