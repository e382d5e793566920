//! What is found in a world whose truth is known.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use s3cmtf::discovery::{self, K, agreement};
use s3cmtf::world::{World, WorldParams, generate};
use s3cmtf::{Model, Params, Problem, Training};

/// The models of a world with its coupled matrices and without.
fn models(world: &World) -> [(Model, Problem); 2] {
    let coupled = world.problem().unwrap();
    let names = coupled.modes().iter().map(|mode| mode.name().to_owned()).collect();
    let sizes = coupled.modes().iter().map(|mode| mode.size()).collect();
    let plain = Problem::builder(world.ratings.clone()).names(names).sizes(sizes).build().unwrap();
    [coupled, plain].map(|problem| {
        let run = Training::new(problem.clone(), Params::default()).run(|_| ()).unwrap();
        (run.model, problem)
    })
}

#[test]
fn coupled_matrices_make_clusters_clearer() {
    let world = generate(&WorldParams::default());
    let [coupled, plain] = models(&world).map(|(model, problem)| {
        let mode = &model.modes()[1];
        let planted: Vec<u32> =
            (0..mode.rows()).map(|row| world.business_groups[mode.id(row) as usize]).collect();
        let given = discovery::clusters(&model, Some(&problem), 1, K::Given(5), 5, 1).unwrap();
        let auto = discovery::clusters(&model, Some(&problem), 1, K::Auto(10), 5, 1).unwrap();
        let curve = auto.gap.unwrap();
        (agreement(&planted, &given.of_row), curve.gaps[4].gap, curve.k)
    });
    assert!(coupled.0 > 0.9 && coupled.0 > plain.0 + 0.15, "{coupled:?} {plain:?}");
    assert!(coupled.1 > plain.1 + 0.05 && coupled.2 == 5, "{coupled:?} {plain:?}");
}
