//! Which cells there are: for each figure what is run on what, in the order in which it is run.

use super::cell::{Cell, Data, Experiment, Set};
use super::methods::OPPONENTS;
use crate::args::Figure;

/// The epochs of a run whose error is followed. The steps of `naive`, and of `opt` on one thread, are those of `opt` on all: of these
/// only the time is of interest.
const EPOCHS: usize = 50;
const NAIVE_EPOCHS: usize = 3;
pub(super) const SINGLE_EPOCHS: usize = 10;
/// Those of the default, and of what is looked at; a sampler that is cut short is worse than a shorter one that comes to its end, so
/// that a share of made-up data has fewer from the start.
const WHOLE_EPOCHS: usize = 120;
const FEWER_EPOCHS: usize = 40;
/// Those of a run of which only the time matters.
const TIMED_EPOCHS: usize = 3;
/// The rank of synthetic data, which the paper does not say.
const RANK: usize = 10;
/// What the paper varies: sizes of modes, and the entries and cores beside them.
const SIZES: [u32; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
const SIZES_ENTRIES: f64 = 1e6;
const ENTRIES: [f64; 2] = [1e4, 1e8];
const ENTRIES_SIZE: u32 = 10_000;
const RANKS: [usize; 4] = [4, 8, 12, 16];
/// The ratings of the made-up world at a hundredth and above.
const WORLD: f64 = 60_000.0;
const WORLD_SCALE: f64 = 0.01;

/// What the cells depend on.
pub(super) struct Options {
    pub(super) scale: f64,
    pub(super) threads: usize,
    /// The sets of ratings that are asked for.
    pub(super) sets: Vec<Set>,
    /// The sets whose downloads are there.
    pub(super) originals: Vec<Set>,
}

/// The rank that the paper has for a set.
pub(super) fn rank(set: Set) -> usize {
    match set {
        Set::MovieLens => 12,
        Set::Netflix => 11,
        Set::Yelp => 10,
    }
}

fn whole_epochs(scale: f64) -> usize {
    if scale < 1.0 { FEWER_EPOCHS } else { WHOLE_EPOCHS }
}

/// The experiments that a figure shows.
pub(super) fn experiments(figure: Figure) -> &'static [Experiment] {
    match figure {
        Figure::Fig1 | Figure::Fig4 => &[Experiment::Ratings],
        Figure::Fig5a => &[Experiment::Sizes],
        Figure::Fig5b => &[Experiment::Entries],
        Figure::Fig5c => &[Experiment::Cores],
        Figure::Fig6 => &[Experiment::Single],
        Figure::Fig7 | Figure::Table5 | Figure::Fig8 => &[Experiment::Discovery],
        Figure::Table3 => &[Experiment::Sizes, Experiment::Entries, Experiment::Cores, Experiment::Ranks],
    }
}

/// The cells of the given figures, each once.
pub(super) fn cells(figures: &[Figure], options: &Options) -> Vec<Cell> {
    let mut wanted: Vec<Experiment> = Vec::new();
    for &experiment in figures.iter().flat_map(|&figure| experiments(figure)) {
        if !wanted.contains(&experiment) {
            wanted.push(experiment);
        }
    }
    wanted.into_iter().flat_map(|experiment| options.experiment(experiment)).collect()
}

impl Options {
    fn experiment(&self, experiment: Experiment) -> Vec<Cell> {
        match experiment {
            Experiment::Ratings => self.sets.iter().flat_map(|&set| self.ratings(set)).collect(),
            Experiment::Single => self.single(),
            Experiment::Sizes => {
                let entries = self.entries(SIZES_ENTRIES);
                let data = |size: u32| Data::Made { size, entries };
                SIZES.iter().flat_map(|&size| self.timed(experiment, &data(size), RANK)).collect()
            }
            Experiment::Entries => {
                let data = |entries: usize| Data::Made { size: ENTRIES_SIZE, entries };
                self.many().into_iter().flat_map(|many| self.timed(experiment, &data(many), RANK)).collect()
            }
            Experiment::Ranks => {
                let data = Data::Made { size: ENTRIES_SIZE, entries: self.entries(SIZES_ENTRIES) };
                RANKS.iter().flat_map(|&rank| self.timed(experiment, &data, rank)).collect()
            }
            Experiment::Cores => self.cores(),
            Experiment::Discovery => self.discovery(),
        }
    }

    fn entries(&self, whole: f64) -> usize {
        (whole * self.scale).round().max(200.0) as usize
    }

    /// Five numbers of entries, of which each is as many times the one before. Below ten thousand there is nothing to time, unless
    /// there are no more.
    fn many(&self) -> Vec<usize> {
        let top = (ENTRIES[1] * self.scale).max(2000.0);
        let bottom = (top / 1e4).max(ENTRIES[0]).min(top / 10.0);
        (0..5).map(|step| (bottom * (top / bottom).powf(f64::from(step) / 4.0)).round() as usize).collect()
    }

    fn ratings(&self, set: Set) -> Vec<Cell> {
        let original = self.originals.contains(&set);
        let scale = if original { 1.0 } else { self.scale };
        let data = Data::Ratings { set, original, scale, coupled: true };
        let cell = |method: &str, threads: usize, epochs: usize| Cell {
            experiment: Experiment::Ratings,
            data: data.clone(),
            method: method.into(),
            rank: (method != "default").then(|| rank(set)),
            threads,
            epochs,
        };
        let mut cells =
            vec![cell("default", self.threads, whole_epochs(scale)), cell("opt", self.threads, EPOCHS)];
        if self.threads > 1 {
            cells.push(cell("opt", 1, SINGLE_EPOCHS));
        }
        cells.push(cell("naive", 1, NAIVE_EPOCHS));
        cells.extend(OPPONENTS.map(|method| cell(method, self.threads, EPOCHS)));
        cells
    }

    fn single(&self) -> Vec<Cell> {
        let original = self.originals.contains(&Set::MovieLens);
        let scale = if original { 1.0 } else { self.scale };
        let data = Data::Ratings { set: Set::MovieLens, original, scale, coupled: false };
        let cell = |method: &str| Cell {
            experiment: Experiment::Single,
            data: data.clone(),
            method: method.into(),
            rank: (method != "default").then(|| rank(Set::MovieLens)),
            threads: self.threads,
            epochs: if method == "default" { whole_epochs(scale) } else { EPOCHS },
        };
        ["cp", "tucker", "sals", "sals-best", "default"].map(cell).into()
    }

    /// Every method on data of which only the time matters.
    fn timed(&self, experiment: Experiment, data: &Data, rank: usize) -> Vec<Cell> {
        let cell = |method: &str, threads: usize| Cell {
            experiment,
            data: data.clone(),
            method: method.into(),
            rank: Some(rank),
            threads,
            epochs: TIMED_EPOCHS,
        };
        let mut cells = vec![cell("naive", 1), cell("opt", 1)];
        if self.threads > 1 {
            cells.push(cell("opt", self.threads));
        }
        cells.push(cell("default", self.threads));
        cells.extend(OPPONENTS.map(|method| cell(method, self.threads)));
        cells
    }

    fn cores(&self) -> Vec<Cell> {
        let data = Data::Made { size: ENTRIES_SIZE, entries: self.entries(SIZES_ENTRIES) };
        let mut threads: Vec<usize> = std::iter::successors(Some(1), |&threads| Some(2 * threads))
            .take_while(|&n| n < self.threads)
            .collect();
        threads.push(self.threads);
        let cell = |method: &str, threads: usize| Cell {
            experiment: Experiment::Cores,
            data: data.clone(),
            method: method.into(),
            rank: Some(RANK),
            threads,
            epochs: TIMED_EPOCHS,
        };
        threads
            .iter()
            .flat_map(|&threads| ["naive", "opt", "default"].map(|method| cell(method, threads)))
            .collect()
    }

    fn discovery(&self) -> Vec<Cell> {
        let original = self.originals.contains(&Set::Yelp);
        let ratings = (WORLD * (self.scale / WORLD_SCALE).min(1.0)).round().max(2000.0) as usize;
        let cell = |method: &str, coupled: bool| Cell {
            experiment: Experiment::Discovery,
            data: Data::World { original, ratings: if original { 0 } else { ratings }, coupled },
            method: method.into(),
            rank: (method != "signed").then(|| rank(Set::Yelp)),
            threads: self.threads,
            epochs: WHOLE_EPOCHS,
        };
        let methods = ["nonnegative-paper", "nonnegative", "signed"];
        methods.iter().flat_map(|method| [cell(method, true), cell(method, false)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(scale: f64) -> Options {
        Options { scale, threads: 4, sets: Set::ALL.into(), originals: vec![Set::Netflix] }
    }

    #[test]
    fn figures_share_cells_and_no_cell_is_there_twice() {
        let both = cells(&[Figure::Fig1, Figure::Fig4], &options(0.01));
        assert_eq!(both, cells(&[Figure::Fig4], &options(0.01)));
        let all =
            cells(&[Figure::Fig1, Figure::Fig5a, Figure::Table3, Figure::Fig6, Figure::Fig7], &options(0.01));
        for (place, cell) in all.iter().enumerate() {
            assert!(!all[place + 1..].contains(cell), "{cell:?}");
        }
        assert!(all.iter().any(|cell| cell.threads == 2 && cell.experiment == Experiment::Cores));
    }

    #[test]
    fn only_the_sets_that_are_asked_for_are_run() {
        let all = cells(&[Figure::Fig1], &options(0.01)).len();
        let one = Options { sets: vec![Set::Yelp], ..options(0.01) };
        let found = cells(&[Figure::Fig1], &one);
        assert!(3 * found.len() == all);
        assert!(found.iter().all(|cell| matches!(cell.data, Data::Ratings { set: Set::Yelp, .. })));
    }

    #[test]
    fn a_scale_is_for_made_up_data_alone() {
        let scales = |set: Set| {
            let all = cells(&[Figure::Fig1], &options(0.01));
            let of = all.into_iter().find_map(|cell| match cell.data {
                Data::Ratings { set: of, original, scale, .. } if of == set => Some((original, scale)),
                _ => None,
            });
            of.unwrap()
        };
        assert_eq!(scales(Set::Netflix), (true, 1.0));
        assert_eq!(scales(Set::Yelp), (false, 0.01));
    }

    #[test]
    fn entries_go_as_far_as_the_papers_at_full_scale() {
        assert_eq!(options(1.0).many(), [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]);
        assert_eq!(options(0.01).many(), [10_000, 31_623, 100_000, 316_228, 1_000_000]);
        let tiny = options(1e-5).many();
        assert_eq!((tiny[0], tiny[4]), (200, 2000));
    }
}
