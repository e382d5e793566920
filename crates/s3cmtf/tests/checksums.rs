//! On fixed data and seeds, models are bitwise what they have always been: whoever changes how they are computed, and not
//! what, finds out here. A change of the method changes these numbers in the same commit, and says so.

use s3cmtf::internal::world::{WorldParams, generate};
use s3cmtf::{CoreKind, HoldOut, Instructions, Model, Params, Problem, Run, Training};

fn world() -> Problem {
    let world = WorldParams { users: 300, businesses: 120, ratings: 6_000, ..WorldParams::default() };
    generate(&world).problem().expect("a world is a problem")
}

fn checksum(model: &Model) -> u64 {
    let factors = model.factors().iter().flat_map(|factor| factor.values());
    let coupled = model.coupled().iter().flat_map(|matrix| matrix.factor.values());
    let numbers = model.core().values().iter().chain(factors).chain(coupled);
    // FNV-1a over the bits.
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        number
            .to_bits()
            .to_le_bytes()
            .iter()
            .fold(hash, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

/// Plain instructions, so that every machine has the same sums.
fn run(params: Params, holdout: Option<HoldOut>) -> Run {
    let params = Params { threads: 2, instructions: Some(Instructions::Portable), ..params };
    let training = Training::new(world(), params);
    let training = match holdout {
        Some(how) => training.holdout_by(how),
        None => training,
    };
    training.run().expect("a run")
}

#[track_caller]
fn expect(run: &Run, expected: u64) {
    let found = checksum(&run.model);
    assert_eq!(found, expected, "{found:#018x} after {} epochs", run.record.summary.epochs);
}

#[test]
fn bayes() {
    expect(&run(Params { ranks: vec![6], epochs: 24, ..Params::default() }, None), 0xf6c8_c8e4_83e4_5c8c);
    expect(&run(Params { epochs: 24, ..Params::default() }, None), 0x1283_d716_5fce_3506);
    let diagonal = Params { ranks: vec![8], core: CoreKind::Diagonal, epochs: 24, ..Params::default() };
    expect(&run(diagonal, None), 0x4e67_c270_a40c_ad34);
    let patient = Params { ranks: vec![4], epochs: 24, patience: Some(2), ..Params::default() };
    expect(&run(patient, Some(HoldOut::Random(0.2))), 0xad40_8539_1b66_cdc3);
}

#[test]
fn sgd() {
    let params = || Params { ranks: vec![4], epochs: 6, deterministic: true, ..Params::sgd() };
    expect(&run(params(), None), 0x740d_d8c5_8618_2741);
    expect(&run(Params { rate: Some(4.0), ..params() }, None), 0xa524_5cf0_b8c3_893e);
    expect(
        &run(Params { epochs: 20, patience: Some(1), ..params() }, Some(HoldOut::Random(0.2))),
        0x5c4f_2660_ff96_d594,
    );
    expect(
        &run(Params { nonnegative: true, core: CoreKind::Diagonal, ..params() }, None),
        0xb2f5_5840_9408_1a7b,
    );
}

#[test]
fn als() {
    let tensor = Problem::builder(world().entries().clone()).build().unwrap();
    let params = Params { ranks: vec![3], epochs: 60, threads: 2, ..Params::als() };
    expect(&Training::new(tensor, params).run().unwrap(), 0xdf1e_0f93_fc49_e426);
}
