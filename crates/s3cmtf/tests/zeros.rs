//! Absent cells that are zeros in the sampler: the same model as if each of them was listed.

use s3cmtf::internal::files;
use s3cmtf::{
    Absent, CoreKind, Entries, Error, FoldIn, Likelihood, MemoryBudget, Model, Params, Problem, Training,
};

use crate::common::Numbers;

const SIZES: [u32; 3] = [40, 30, 6];
const GROUPS: u32 = 3;

/// Groups of rows that have to do with each other: about a third of the cells have a value, which depends on the group and on the last mode, and
/// some noise.
struct World {
    order: usize,
    cells: Vec<Vec<u32>>,
    truth: Vec<f32>,
    values: Vec<f32>,
}

impl World {
    fn new(order: usize) -> Self {
        let mut numbers = Numbers(17);
        let sizes = &SIZES[..order];
        let (mut cells, mut truth, mut values) = (vec![Vec::new(); order], Vec::new(), Vec::new());
        for place in 0..sizes.iter().product::<u32>() {
            let mut rest = place;
            let index: Vec<u32> = sizes
                .iter()
                .map(|&size| {
                    let id = rest % size;
                    rest /= size;
                    id
                })
                .collect();
            let group = index[0] % GROUPS;
            let season = index.get(2).map_or(1.0, |&season| 0.5 + 0.25 * season as f32);
            let is_there = group == index[1] % GROUPS;
            let value = if is_there { (1.0 + group as f32) * season } else { 0.0 };
            cells.iter_mut().zip(&index).for_each(|(list, &id)| list.push(id));
            truth.push(value);
            values.push(if is_there { value + 0.3 * numbers.next() } else { 0.0 });
        }
        World { order, cells, truth, values }
    }

    /// Some of the cells, those that are zeros left out or not.
    fn entries(&self, zeros: bool, is_wanted: impl Fn(usize) -> bool) -> Entries {
        let places: Vec<usize> = (0..self.values.len())
            .filter(|&place| (zeros || self.values[place] != 0.0) && is_wanted(place))
            .collect();
        let list = |list: &Vec<u32>| places.iter().map(|&place| list[place]).collect();
        let values = places.iter().map(|&place| self.values[place]).collect();
        Entries::new(self.cells.iter().map(list).collect(), values).unwrap()
    }

    fn problem(&self, entries: Entries) -> Problem {
        Problem::builder(entries).sizes(SIZES[..self.order].to_vec()).build().unwrap()
    }

    /// How far a model is from what was planted, in some of the cells.
    fn rmse(&self, model: &Model, is_wanted: impl Fn(usize) -> bool) -> f64 {
        let places: Vec<usize> = (0..self.truth.len()).filter(|&place| is_wanted(place)).collect();
        let list = |list: &Vec<u32>| places.iter().map(|&place| list[place]).collect();
        let truth = places.iter().map(|&place| self.truth[place]).collect();
        let cells = Entries::new(self.cells.iter().map(list).collect(), truth).unwrap();
        model.evaluate(&cells, false).unwrap().rmse
    }
}

fn params(absent: Absent, core: CoreKind, rank: usize) -> Params {
    let mut params = Params::default();
    (params.absent, params.core, params.ranks, params.epochs) = (absent, core, vec![rank], 60);
    params
}

fn fit(problem: Problem, params: Params) -> Model {
    Training::new(problem, params).run().unwrap().model
}

#[test]
fn zeros_need_not_be_listed() {
    for (order, core, rank) in [(2, CoreKind::Full, 5), (3, CoreKind::Full, 5), (3, CoreKind::Diagonal, 8)] {
        let world = World::new(order);
        let params = |absent| params(absent, core, rank);
        let listed = fit(world.problem(world.entries(true, |_| true)), params(Absent::Missing));
        let implied = fit(world.problem(world.entries(false, |_| true)), params(Absent::Zeros));
        let unknown = fit(world.problem(world.entries(false, |_| true)), params(Absent::Missing));
        let [listed, implied, unknown] = [listed, implied, unknown].map(|model| world.rmse(&model, |_| true));
        assert!(implied < 0.1, "order {order}, {core:?}: {implied}");
        assert!(implied < 1.15 * listed + 0.005, "order {order}, {core:?}: {implied}, and listed {listed}");
        assert!(unknown > 5.0 * implied, "order {order}, {core:?}: {implied}, and unknown {unknown}");
    }
}

#[test]
fn a_zero_of_less_weight_leaves_entries_more() {
    // Three in ten values are not there, and so are zeros to the model.
    let world = World::new(2);
    let is_held = |place: usize| place * 7919 % 101 < 30;
    let errors = [1.0, 0.1].map(|weight| {
        let mut params = params(Absent::Zeros, CoreKind::Full, 5);
        params.absent_weight = Some(weight);
        let model = fit(world.problem(world.entries(false, |place| !is_held(place))), params);
        world.rmse(&model, |place| is_held(place) && world.truth[place] > 0.0)
    });
    assert!(errors[1] < 0.7 * errors[0], "{errors:?}");
}

#[test]
fn threads_and_disks_change_no_bit() {
    let world = World::new(3);
    let with = |threads: usize| {
        let mut params = params(Absent::Zeros, CoreKind::Full, 4);
        (params.threads, params.epochs, params.absent_weight) = (threads, 12, Some(0.5));
        params
    };
    let problem = || world.problem(world.entries(false, |_| true));
    let one = fit(problem(), with(1));
    assert_eq!(one, fit(problem(), with(3)));
    let folder = tempfile::tempdir().unwrap();
    let (path, scratch) = (folder.path().join("problem"), folder.path().to_owned());
    files::save_problem(&problem(), &path).unwrap();
    let room = MemoryBudget::new(1000, move || files::scratch(&scratch));
    let stored = Training::stored(files::open_problem(&path).unwrap(), with(2), room).run().unwrap();
    assert_eq!(one, stored.model);
}

#[test]
fn rows_that_come_later_have_zeros_too() {
    let world = World::new(2);
    let is_later = |place: usize| world.cells[0][place] >= 34;
    let size = vec![34, SIZES[1]];
    let known = world.entries(false, |place| !is_later(place));
    let problem = Problem::builder(known).sizes(size).build().unwrap();
    let params = params(Absent::Zeros, CoreKind::Full, 5);
    let model = fit(problem, params.clone());
    let later = world.entries(false, is_later);
    let folded = FoldIn::new(&model, &params).entries(later).fold_in().unwrap().model;
    let (before, later) = (world.rmse(&model, |place| !is_later(place)), world.rmse(&folded, is_later));
    assert!(later < 1.5 * before, "{later}, and {before} of rows that were trained");
    assert_eq!(world.rmse(&folded, |place| !is_later(place)), before);
}

#[test]
fn what_cannot_be_had_with_zeros_is_said() {
    let world = World::new(2);
    let refused = |change: &dyn Fn(&mut Params)| {
        let mut params = params(Absent::Zeros, CoreKind::Full, 4);
        change(&mut params);
        let result = Training::new(world.problem(world.entries(false, |_| true)), params).run();
        match result {
            Err(error @ Error::Param { .. }) => error.to_string(),
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
    let said = refused(&|params| params.likelihood = Likelihood::Counts);
    assert!(said.contains("gaussian when absent cells are zeros"), "{said}");
    let said = refused(&|params| params.absent_weight = Some(1.5));
    assert!(said.contains("above 0 and at most 1"), "{said}");
    let said = refused(&|params| (params.absent, params.absent_weight) = (Absent::Missing, Some(0.5)));
    assert!(said.contains("zeros when there is absent-weight"), "{said}");
}
