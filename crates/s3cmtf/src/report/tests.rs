use super::*;
use crate::discovery::{ClusterParams, RankBy, Recommender, clusters};
use crate::world::{WorldParams, generate};
use crate::{
    Absent, Cells, Core, Coupled, Duplicates, Entries, Factor, Likelihood, Naming, Params, Run, Training,
};

const ODD: &str = "<script>alert(1)</script>";

/// The made-up world with its names, of which one is no name to run, and a run of the default settings.
fn run() -> (Problem, Run) {
    let mut world = generate(&WorldParams::default());
    world.business_names[3] = ODD.into();
    let naming = |column: &str, names: &[String], binning| Naming {
        column: column.into(),
        binning,
        labels: names.iter().collect(),
    };
    let [categories, cities] =
        [("category", &world.categories, &world.category_names), ("city", &world.cities, &world.city_names)]
            .map(|(name, entries, names)| {
                let matrix = Coupled::new(1, Absent::Zeros, entries.clone()).unwrap();
                matrix.named(format!("business/{name}")).columns_named(naming(name, names, None)).unwrap()
            });
    let builder = Problem::builder(world.ratings.clone())
        .names(["user", "business", "month"].map(String::from).to_vec())
        .value("stars")
        .namings(vec![
            Some(naming("user", &world.user_names, None)),
            Some(naming("business", &world.business_names, None)),
            Some(naming("date", &world.month_names, Some(Binning::Time(Bin::Month)))),
        ])
        .couple(Coupled::new(0, Absent::Graph, world.friends.clone()).unwrap().named("user/friends"))
        .couple(categories)
        .couple(cities);
    let problem = builder.build().unwrap();
    let run = Training::new(problem.clone(), Params::default()).test(world.test).run().unwrap();
    (problem, run)
}

fn of(data: &Problem) -> Known<'_> {
    Known { data: Some(data), test: None }
}

fn options() -> Options {
    Options { title: format!("run of {ODD}"), command: "s3cmtf fit data.s3cmtf --rank 10".into() }
}

#[test]
fn the_page_of_a_usual_run_has_the_numbers_of_its_model_and_is_small() {
    let (problem, Run { model, record }) = run();
    let report = Report::new(&model, &record, of(&problem), &options()).unwrap();

    assert_eq!(report.course.train_rmse, record.summary.train_rmse);
    assert_eq!(report.course.test_rmse, record.summary.test_rmse);
    assert_eq!(report.course.mean_rmse, record.summary.mean_rmse);
    assert_eq!(report.course.offsets_rmse, record.summary.offsets_rmse);
    assert_eq!(report.course.kept, record.summary.best_epoch);
    assert_eq!(report.course.steps.len(), record.history.len());
    assert_eq!(report.glance.entries, problem.entries().len());
    assert_eq!(
        report.glance.modes[0].spread.as_ref().unwrap().most,
        *problem.counts(0).iter().max().unwrap()
    );

    let residuals = report.residuals.shown().unwrap();
    assert_eq!(residuals.entries, problem.entries().len());
    assert!((residuals.rmse / record.summary.train_rmse - 1.0).abs() < 1e-3, "{}", residuals.rmse);
    for parts in residuals.segments.iter().map(|by| &by.segments) {
        assert_eq!(parts.iter().map(|part| part.entries).sum::<usize>(), residuals.entries);
    }
    assert_eq!(residuals.segments.len(), 3);

    let found = concepts(&model, Some(&problem), TOP).unwrap();
    let core = report.core.shown().unwrap();
    assert_eq!(core.values, found.core);
    assert_eq!(core.modes.iter().map(|mode| mode.places.len()).collect::<Vec<_>>(), found.core_sizes);
    let cards = report.cards.shown().unwrap();
    assert_eq!(cards.cards.len() + cards.left_out, found.concepts.len());
    let business = found.concepts.iter().find(|concept| concept.mode == "business").unwrap();
    let card = cards.cards.iter().find(|card| card.name == business.name).unwrap();
    assert_eq!((card.strength, &card.columns[0].columns), (business.strength, &business.columns[0].columns));
    assert_eq!(card.times.as_ref().unwrap().len(), 24);

    let groups = report.groups.shown().unwrap();
    let params = ClusterParams { top: TOP, seed: record.params.seed, ..ClusterParams::default() };
    let expected = clusters(&model, Some(&problem), 1, params).unwrap();
    assert_eq!((groups.len(), &groups[1].gap), (2, &expected.gap));
    assert_eq!(
        groups[1].clusters.iter().map(|cluster| cluster.size).collect::<Vec<_>>(),
        expected.clusters.iter().map(|cluster| cluster.size).collect::<Vec<_>>()
    );

    let recommendations = report.recommendations.shown().unwrap();
    assert_eq!((recommendations.list.len(), recommendations.of), (300, 2000));
    let person = &recommendations.list[7];
    let id = |mode: usize, name: &str| problem.modes()[mode].find(name).unwrap();
    let (user, month) = (id(0, &person.name), crate::problem::UNKNOWN);
    assert!(person.best.iter().all(|(_, _, reason)| reason.is_some()));
    for (item, value, _) in &person.best {
        let business = id(1, &recommendations.items[*item]);
        let cell = vec![vec![user], vec![business], vec![month]];
        let cell = Cells::from_rows("cell".into(), cell);
        let predicted = model.predict(&cell, model.clips()).unwrap()[0];
        assert!((predicted - value).abs() < 1e-4, "{predicted} {value}");
        let entries = problem.entries();
        let row = |mode: usize, id: u32| problem.modes()[mode].row(id).unwrap();
        let (user, business) = (row(0, user), row(1, business));
        let mut pairs = entries.indices(0).iter().zip(entries.indices(1));
        assert!(!pairs.any(|pair| pair == (&user, &business)), "{} is known", recommendations.items[*item]);
    }
    let recommender = Recommender::new(&model, 0, 1, &[]).unwrap().ranked_by(None).unwrap();
    let recommender = recommender.without_seen(&problem).unwrap();
    assert_eq!(recommender.rank_by(), RankBy::Both);
    let best = &recommender.best(&[problem.modes()[0].row(user).unwrap()], person.best.len())[0];
    let label = |row: u32| problem.modes()[1].label(problem.modes()[1].id(row as usize)).into_owned();
    let listed = person.best.iter().map(|(item, ..)| recommendations.items[*item].clone());
    assert!(listed.eq(best.iter().map(|best| label(best.row))));

    let page = render(&report).unwrap();
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let column = business.columns[0].columns[0].name.replace('&', "&amp;");
    for word in ["user 2000 × business 800", "2016-12", "s3cmtf fit data.s3cmtf --rank 10", &column] {
        assert!(page.contains(word), "{word} is not in the page");
    }
    // A name is text, in the page as in its JSON.
    assert!(!page.contains("<script>alert"), "a name is run");
    assert!(page.contains("run of &lt;script&gt;alert(1)"), "the heading is not escaped");
    assert!(page.contains(r"\u003cscript\u003ealert(1)"), "the name is not in the JSON");
    assert_eq!(page.matches("<script").count(), 2);
}

#[test]
fn errors_are_of_entries_that_were_not_trained_on_where_there_are_any() {
    let params =
        WorldParams { users: 60, businesses: 40, months: 6, ratings: 1500, ..WorldParams::default() };
    let world = generate(&params);
    let problem = Problem::builder(world.ratings.clone()).build().unwrap();
    let params = Params { ranks: vec![4], epochs: 8, ..Params::default() };
    let on = |run: &Run, known: Known<'_>| {
        let report = Report::new(&run.model, &run.record, known, &options()).unwrap();
        let page = render(&report).unwrap();
        let residuals = report.residuals.shown().unwrap().clone();
        (residuals.on, residuals.entries, residuals.rmse, page)
    };
    // Held out by the run, and found again in the same data.
    let run = Training::new(problem.clone(), params.clone()).holdout(0.2).run().unwrap();
    let (of_held, entries, rmse, page) = on(&run, of(&problem));
    assert_eq!((of_held, entries), (Of::Held, run.record.data.test_entries));
    assert!((rmse / run.record.summary.test_rmse.unwrap() - 1.0).abs() < 1e-4, "{rmse}");
    assert!(page.contains("Errors on held-out entries"));
    // Given for a test; the same entries were reported after every epoch.
    let run = Training::new(problem.clone(), params.clone()).test(world.test.clone()).run().unwrap();
    let known = Known { test: Some(&world.test), ..of(&problem) };
    let (of_test, entries, rmse, page) = on(&run, known);
    assert_eq!((of_test, entries), (Of::Test, world.test.len()));
    assert!((rmse / run.record.summary.test_rmse.unwrap() - 1.0).abs() < 1e-4, "{rmse}");
    assert!(page.contains("Errors on test entries"));
    // A test whose entries are elsewhere now.
    assert_eq!(on(&run, of(&problem)).0, Of::Training);
}

/// A model of two modes without names that has never seen an epoch.
fn bare(rank: usize, order: usize) -> (Model, Record) {
    let entries = Entries::new(vec![vec![0, 1, 2]; order], vec![1.0, 2.0, 3.0]).unwrap();
    let problem = Problem::builder(entries).build().unwrap();
    let params = Params { ranks: vec![2], epochs: 1, ..Params::default() };
    let Run { model, mut record } = Training::new(problem, params).run().unwrap();
    record.history.clear();
    let factor = |_| Factor::new(rank, (0..3 * rank).map(|place| (place % 7) as f32 - 3.0).collect());
    let core = Core::Diagonal(vec![1.0; rank]);
    let factors = (0..order).map(factor).collect();
    (Model::new(model.modes().to_vec(), core, factors, Vec::new(), [1.0, 3.0]).unwrap(), record)
}

#[test]
fn what_cannot_be_known_is_absent_and_says_why() {
    let (model, record) = bare(2, 2);
    let report = Report::new(&model, &record, Known::default(), &Options::default()).unwrap();
    let why = "The training data are not saved with the model, so how single predictions err is unknown.";
    assert_eq!(report.residuals, Section::Absent(why.into()));
    assert!(report.recommendations.shown().is_none() && report.glance.values.is_none());
    assert!(report.groups.shown().is_none() && report.core.shown().is_some());
    let page = render(&report).unwrap();
    for line in
        [why, "what is new to whom", "No mode has enough entities", "The record of the run has no epochs"]
    {
        assert!(page.contains(line), "{line}");
    }
}

#[test]
fn a_core_too_large_to_be_read_is_not_turned() {
    for (rank, why) in [(128, "The core has 2097152 numbers"), (1024, "There are 1024 concepts")] {
        let (model, record) = bare(rank, 3);
        let report = Report::new(&model, &record, Known::default(), &Options::default()).unwrap();
        assert!(
            matches!(&report.core, Section::Absent(said) if said.contains(why)),
            "{why}: {:?}",
            report.core
        );
        assert_eq!(report.cards.shown().is_some(), rank == 128);
        assert!(render(&report).unwrap().contains("a lower rank tells more"));
    }
}

#[test]
fn data_of_another_order_are_refused() {
    let (model, record) = bare(2, 2);
    let entries = Entries::new(vec![vec![0, 1]; 3], vec![1.0, 2.0]).unwrap();
    let data = Problem::builder(entries).build().unwrap();
    let error = Report::new(&model, &record, of(&data), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the data have 3 modes, but the model has 2");
}

#[test]
fn two_modes_without_names_or_times_make_a_page() {
    let (model, record) = bare(2, 2);
    let entries = Entries::new(vec![vec![0, 1, 2, 3], vec![0, 1, 2, 0]], vec![1.0, 2.0, 3.0, 2.0]).unwrap();
    // The fourth id is one that the model does not have.
    let data = Problem::builder(entries).build().unwrap();
    let report = Report::new(&model, &record, of(&data), &Options::default()).unwrap();
    let recommendations = report.recommendations.shown().unwrap();
    assert_eq!((recommendations.list.len(), recommendations.at.as_str()), (3, ""));
    assert_eq!(report.residuals.shown().unwrap().entries, 4);
    render(&report).unwrap();
}

#[test]
fn answers_and_counts_have_their_own_measures() {
    for (likelihood, words) in [
        (Likelihood::Logistic, ["log-odds of value", "log loss (of the mean: ", "AUC"]),
        (Likelihood::Counts, ["logarithm of the expected value", "Poisson deviance", " (of the mean: "]),
    ] {
        let ids = |by: u32, size: u32| (0..200).map(|place| place * by % size).collect();
        let values = (0..200).map(|place| f32::from(place * place % 7 < 3)).collect();
        let entries = Entries::new(vec![ids(7, 23), ids(3, 17)], values).unwrap();
        let problem = Problem::builder(entries).duplicates(Duplicates::Last).build().unwrap();
        let params = Params { ranks: vec![3], epochs: 20, likelihood, ..Params::default() };
        let Run { model, record } = Training::new(problem.clone(), params).run().unwrap();
        let report = Report::new(&model, &record, of(&problem), &options()).unwrap();
        let page = render(&report).unwrap();
        words.iter().for_each(|word| assert!(page.contains(word), "{likelihood:?}: {word}"));
        assert!(
            report
                .residuals
                .shown()
                .unwrap()
                .levels
                .iter()
                .all(|level| (0.0..2.0).contains(&level.predicted))
        );
    }
}

#[test]
fn long_names_are_cut_between_characters() {
    assert_eq!(cut("kurz"), "kurz");
    let long = cut(&"ü".repeat(5000));
    assert_eq!(long.chars().count(), LONGEST + 1);
}
