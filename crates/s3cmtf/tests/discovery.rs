//! What is found in a world whose truth is known.

use s3cmtf::discovery::{self, ClusterParams, K, Reasons, Recommender, agreement};
use s3cmtf::internal::world::{World, WorldParams, generate};
use s3cmtf::{Absent, Core, Coupled, Entries, Factor, Mode, Model, Naming, Params, Problem, Training};

/// The models of a world with its coupled matrices and without.
fn models(world: &World) -> [(Model, Problem); 2] {
    let coupled = world.problem().unwrap();
    let names = coupled.modes().iter().map(|mode| mode.name().to_owned()).collect();
    let sizes = coupled.modes().iter().map(|mode| mode.size()).collect();
    let plain = Problem::builder(world.ratings.clone()).names(names).sizes(sizes).build().unwrap();
    [coupled, plain].map(|problem| {
        let run = Training::new(problem.clone(), Params::default()).run().unwrap();
        (run.model, problem)
    })
}

#[test]
fn coupled_matrices_make_clusters_clearer() {
    let world =
        generate(&WorldParams { users: 1000, businesses: 400, ratings: 30_000, ..WorldParams::default() });
    let [coupled, plain] = models(&world).map(|(model, problem)| {
        let mode = &model.modes()[1];
        let planted: Vec<u32> =
            (0..mode.rows()).map(|row| world.business_groups[mode.id(row) as usize]).collect();
        let clusters = |k| {
            let params = ClusterParams { k, ..ClusterParams::default() };
            discovery::clusters(&model, Some(&problem), 1, params).unwrap()
        };
        let (given, auto) = (clusters(K::Fixed(5)), clusters(K::Auto(10)));
        let curve = auto.gap.unwrap();
        (agreement(&planted, &given.of_row), curve.gaps[4].gap, curve.k)
    });
    assert!(coupled.0 > 0.9 && coupled.0 > plain.0 + 0.15, "{coupled:?} {plain:?}");
    assert!(coupled.1 > plain.1 + 0.05 && coupled.2 == 5, "{coupled:?} {plain:?}");
}

fn number(seed: usize) -> f32 {
    ((seed * 7919 + 13) % 1009) as f32 / 500.0 - 1.0
}

fn model_of(core: Core, rows: usize, modes: usize, rank: usize) -> Model {
    let factor =
        |mode: usize| Factor::new(rank, (0..rows * rank).map(|at| number(at * at + 31 * mode)).collect());
    let names = (0..modes).map(|mode| Mode::new(format!("mode{mode}"), rows as u32));
    Model::new(names.collect(), core, (0..modes).map(factor).collect(), Vec::new(), [0.0, 5.0]).unwrap()
}

/// Written out, these cores would be larger than any memory.
#[test]
fn diagonal_models_of_many_modes_and_concepts_are_read() {
    for (modes, rank) in [(11, 64), (10, 100), (4, 200)] {
        let model = model_of(Core::Diagonal((0..rank).map(number).collect()), 12, modes, rank);
        let found = discovery::concepts(&model, None, 3).unwrap();
        assert!(found.concepts.iter().all(|concept| concept.strength.is_finite() && concept.strength > 0.0));
        assert!(found.concepts.len() > modes && found.core.is_empty() && found.interactions.is_empty());
        let params = ClusterParams { k: K::Fixed(2), ..ClusterParams::default() };
        assert_eq!(discovery::clusters(&model, None, 1, params).unwrap().of_row.len(), 12);
        assert_eq!(discovery::similar(&model, 1, 0, false, 5).unwrap().len(), 5);
        let recommender = Recommender::new(&model, 0, 1, &[]).unwrap();
        let reasons = Reasons::new(&recommender, None, 3).unwrap();
        assert!(reasons.profile(0).iter().all(|worth| worth.own_strength.is_finite()));
        assert_eq!(reasons.explain(&[0], &recommender.best(&[0], 4))[0].len(), 4);
    }
}

/// A diagonal core and the same written out say the same.
#[test]
fn diagonal_and_full_cores_are_read_alike() {
    let core = Core::Diagonal((0..4).map(number).collect());
    let (diagonal, full) = (model_of(core.clone(), 30, 3, 4), model_of(core.to_full(3), 30, 3, 4));
    let [a, b] = [&diagonal, &full].map(|model| discovery::concepts(model, None, 5).unwrap());
    assert_eq!(a.concepts.len(), b.concepts.len());
    for (a, b) in a.concepts.iter().zip(&b.concepts) {
        assert!((a.strength - b.strength).abs() < 1e-3, "{} {}", a.strength, b.strength);
    }
    let [a, b] = [&diagonal, &full].map(|model| {
        let recommender = Recommender::new(model, 0, 1, &[]).unwrap();
        Reasons::new(&recommender, None, 3).unwrap().profile(3)
    });
    for (a, b) in a.iter().zip(&b) {
        assert!((a.own_strength - b.own_strength).abs() < 1e-3 && (a.adds - b.adds).abs() < 1e-3);
    }
}

/// Two columns of a factor without negative numbers that are the same are one finding.
#[test]
fn what_says_the_same_again_is_no_finding() {
    let rows = 40;
    let value = |row: usize| (row * 7 % 11) as f32;
    let factor = |_| {
        let row = |row: usize| [value(row), 2.0 * value(row), (row * 5 % 13) as f32];
        Factor::new(3, (0..rows).flat_map(row).collect())
    };
    let core = Core::full(vec![3, 3], vec![1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]);
    let modes = ["user", "item"].map(|name| Mode::new(name, rows as u32)).to_vec();
    let factors = (0..2).map(factor).collect();
    let model = Model::new(modes, core, factors, Vec::new(), [0.0, 5.0]).unwrap();
    let found = discovery::concepts(&model, None, 3).unwrap();
    let telling: Vec<bool> = found.concepts[..3].iter().map(|concept| concept.telling).collect();
    assert_eq!(telling.iter().filter(|telling| **telling).count(), 2, "{telling:?}");
}

/// Items of three kinds, and columns: their kind, one of a single extreme item, one that says nothing, and a number.
#[test]
fn labels_are_columns_that_were_observed_and_rare_ones_do_not_win() {
    let (users, items) = (40u32, 90u32);
    let kind = |item: u32| item % 3;
    let taste = |user: u32, item: u32| if user % 3 == kind(item) { 2.0 } else { -1.0 };
    let best = |item: u32| if item == 6 { 1.0 } else { 0.0 };
    let cells: Vec<(u32, u32)> = (0..users)
        .flat_map(|user| (0..items).map(move |item| (user, item)))
        .filter(|(u, i)| (u * 7 + i * 3) % 10 > 2)
        .collect();
    let noise = |(user, item): (u32, u32)| 0.3 * number((user * 131 + item * 17) as usize);
    let values = cells.iter().map(|&(u, i)| 3.0 + taste(u, i) * (1.0 + best(i)) + noise((u, i))).collect();
    let indices = vec![cells.iter().map(|cell| cell.0).collect(), cells.iter().map(|cell| cell.1).collect()];
    let mut has: Vec<(u32, u32, f32)> = (0..items).map(|item| (item, kind(item), 1.0)).collect();
    has.extend([(6, 3, 1.0), (9, 3, 1.0)]);
    has.extend((0..items).filter(|item| item % 2 == 0).map(|item| (item, 4, 1.0)));
    let matrix = |cells: &[(u32, u32, f32)], name: &str, names: &[&str]| {
        let indices =
            vec![cells.iter().map(|cell| cell.0).collect(), cells.iter().map(|cell| cell.1).collect()];
        let entries = Entries::new(indices, cells.iter().map(|cell| cell.2).collect()).unwrap();
        let naming = Naming { column: name.into(), binning: None, labels: names.iter().collect() };
        let matrix = Coupled::new(1, Absent::Zeros, entries).unwrap().named(format!("item/{name}"));
        matrix.columns_named(naming).unwrap()
    };
    let length: Vec<(u32, u32, f32)> =
        (0..items).map(|item| (item, 0, if kind(item) == 1 { 1.5 } else { -0.75 })).collect();
    let problem = Problem::builder(Entries::new(indices, values).unwrap())
        .names(vec!["user".into(), "item".into()])
        .couple(matrix(&has, "kind", &["red", "green", "blue", "rare", "even"]))
        .couple(matrix(&length, "length", &["length"]))
        .build()
        .unwrap();
    let run = Training::new(problem.clone(), Params { ranks: vec![6], ..Params::default() }).run().unwrap();
    let found = discovery::concepts(&run.model, Some(&problem), 5).unwrap();
    let of_items = || found.concepts.iter().filter(|concept| concept.mode == "item" && concept.telling);
    let words: Vec<&str> =
        of_items().flat_map(|concept| [&concept.about[..], &concept.opposite[..]]).collect();
    assert!(!words.iter().any(|words| words.contains("rare") || words.contains("even")), "{words:?}");
    for word in ["red", "green", "blue", "high length", "low length"] {
        assert!(words.iter().any(|words| words.contains(word)), "{word}: {words:?}");
    }
    // Without the data nothing is known of columns.
    let found = discovery::concepts(&run.model, None, 5).unwrap();
    assert!(found.concepts.iter().all(|concept| concept.columns.is_empty()));
}
