//! Data that are unlike ratings.

use s3cmtf::Entries;

/// Each set with its name.
pub fn odd_data() -> Vec<(&'static str, Entries)> {
    let mut sets: Vec<(&'static str, Entries)> = Vec::new();
    let grid = |value: &dyn Fn(u32) -> f32| {
        let ids: Vec<u32> = (0..600).collect();
        let indices = vec![
            ids.iter().map(|id| id % 30).collect(),
            ids.iter().map(|id| id * 7 % 20).collect(),
            ids.iter().map(|id| id / 120).collect(),
        ];
        Entries::new(indices, ids.iter().map(|&id| value(id)).collect()).unwrap()
    };
    sets.push(("constant", grid(&|_| 4.0)));
    sets.push(("all zero", grid(&|_| 0.0)));
    sets.push(("centred", grid(&|id| (id as f32 * 0.7).sin())));
    sets.push(("negative", grid(&|id| -50.0 + (id as f32 * 0.7).sin())));
    sets.push(("one to a hundred", grid(&|id| 1.0 + (id * 37 % 100) as f32)));
    sets.push(("heavy-tailed counts", grid(&|id| if id % 97 == 0 { 50_000.0 } else { (id % 4) as f32 })));
    sets.push(("tiny", grid(&|id| 1e-20 * (id % 5) as f32)));
    sets.push(("huge", grid(&|id| 1e15 * (id % 5) as f32)));
    sets.push(("one entry", Entries::new(vec![vec![3], vec![0], vec![7]], vec![2.5]).unwrap()));
    sets
}
