//! The kernels of solving for rows, on every level, against plain loops in f64.

use s3cmtf_kernels::{CHUNK, Level, NormalEquations};

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn list(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.next()).collect()
    }

    fn indices(&mut self, len: usize, below: u32) -> Vec<u32> {
        (0..len).map(|_| ((self.next() + 1.0) * 0.5 * below as f32) as u32 % below).collect()
    }
}

fn close(got: f32, expected: f64, scale: f64, what: &str) {
    assert!((f64::from(got) - expected).abs() <= 3e-6 * scale.max(1.0), "{what}: {got} and not {expected}");
}

/// `rows` rows of `len` random numbers, each with zeros up to `pad`.
fn padded(numbers: &mut Numbers, rows: usize, len: usize, pad: usize) -> Vec<f32> {
    let mut list = vec![0.0; rows * pad];
    list.chunks_mut(pad).for_each(|row| row[..len].iter_mut().for_each(|value| *value = numbers.next()));
    list
}

#[test]
fn designs_and_their_sums() {
    let mut numbers = Numbers(7);
    for level in Level::available() {
        for (rank, partner) in
            [(1, 1), (2, 3), (5, 8), (8, 8), (12, 12), (10, 17), (16, 5), (19, 12), (33, 40)]
        {
            let normal = NormalEquations::new(level, rank, partner);
            let pad = normal.pad();
            for count in [1, 2, 3, 4, 5, 7, 8, 13, CHUNK] {
                let tables = padded(&mut numbers, 3 * partner, rank, pad);
                let stride = normal.partner_pad();
                let rows = padded(&mut numbers, 20, partner, stride);
                let indices = numbers.indices(count + 30, 20);
                // Runs of entries with one table, and entries with one each.
                let places: Vec<u32> =
                    (0..count as u32).map(|e| if e < 21 { e / 10 } else { e % 3 }).collect();
                let (scales, values) = (numbers.list(count), numbers.list(count));
                let (mut d, mut targets) = (vec![0.0; count * pad], values.clone());
                let found = (&mut d[..], &mut targets[..]);
                normal.design((&tables, &places), &rows, &indices, &scales, found);
                let expected = |entry: usize, p: usize| -> f64 {
                    let row = &rows[indices[entry] as usize * stride..][..partner];
                    let t = &tables[places[entry] as usize * partner * pad..];
                    let terms =
                        row.iter().enumerate().map(|(k, &b)| f64::from(b) * f64::from(t[k * pad + p]));
                    f64::from(scales[entry]) * terms.sum::<f64>()
                };
                for entry in 0..count {
                    for p in 0..rank {
                        close(d[entry * pad + p], expected(entry, p), partner as f64, "d");
                    }
                    assert!(d[entry * pad + rank..(entry + 1) * pad].iter().all(|&value| value == 0.0));
                    let root = f64::from(rows[indices[entry] as usize * stride]);
                    let target = f64::from(scales[entry]) * root * f64::from(values[entry]);
                    close(targets[entry], target, 1.0, "a target");
                }
                let start = padded(&mut numbers, rank + 1, rank, pad);
                let (mut squares, mut products) =
                    (start[..rank * pad].to_vec(), start[rank * pad..].to_vec());
                normal.gram(&d, &values, &mut squares, &mut products);
                let at = |entry: usize, p: usize| f64::from(d[entry * pad + p]);
                for p in 0..rank {
                    for c in 0..=p {
                        let sum: f64 = (0..count).map(|entry| at(entry, p) * at(entry, c)).sum();
                        let whole = f64::from(start[p * pad + c]) + sum;
                        close(squares[p * pad + c], whole, (count * partner) as f64, "squares");
                    }
                    let sum: f64 = (0..count).map(|entry| at(entry, p) * f64::from(values[entry])).sum();
                    let whole = f64::from(start[rank * pad + p]) + sum;
                    close(products[p], whole, (count * partner) as f64, "products");
                }
            }
        }
    }
}

#[test]
fn projections_and_their_transpose() {
    let mut numbers = Numbers(8);
    for level in Level::available() {
        for rank in [1, 3, 4, 8, 12, 16, 21, 40] {
            let normal = NormalEquations::new(level, 12, rank);
            let pad = normal.partner_pad();
            for count in [1, 3, 4, 6, 64, 131] {
                // Two runs, the first of which may have no entries.
                let ends = [count as u32 / 3, count as u32];
                let w = padded(&mut numbers, 2, rank, pad);
                let rows = padded(&mut numbers, 15, rank, pad);
                let indices = numbers.indices(count + 5, 15);
                let weights = numbers.list(count);
                let row = |entry: usize| &rows[indices[entry] as usize * pad..][..rank];
                let run = |entry: usize| usize::from(entry as u32 >= ends[0]);
                let mut out = vec![0.0; count];
                normal.project(&w, &rows, (&indices, &ends), &mut out);
                for (entry, &out) in out.iter().enumerate() {
                    let terms = row(entry).iter().zip(&w[run(entry) * pad..]);
                    let terms = terms.map(|(&a, &b)| f64::from(a) * f64::from(b));
                    close(out, terms.sum(), rank as f64, "projection");
                }
                let mut sums = w.clone();
                normal.collect(&rows, (&indices, &ends), &weights, &mut sums);
                for (place, &sum) in sums.iter().enumerate().filter(|(place, _)| place % pad < rank) {
                    let entries = (0..count).filter(|&entry| run(entry) == place / pad);
                    let terms =
                        entries.map(|entry| f64::from(weights[entry]) * f64::from(row(entry)[place % pad]));
                    close(sum, terms.sum(), count as f64, "sum");
                }
            }
        }
    }
}

#[test]
fn products_of_runs() {
    let mut numbers = Numbers(9);
    for level in Level::available() {
        for rank in [1, 3, 8, 12, 16, 21, 40] {
            let normal = NormalEquations::new(level, 12, rank);
            let pad = normal.partner_pad();
            for (runs, slices) in [(1, 1), (2, 3), (3, 12), (7, 4), (8, 15), (13, 29)] {
                let core = padded(&mut numbers, slices, rank, pad);
                let rows = padded(&mut numbers, 15, rank, pad);
                let (table, places) = (numbers.list(5 * slices), numbers.indices(runs, 5));
                let precisions = numbers.list(runs);
                let lengths = numbers.indices(runs, 11);
                let ends = lengths.iter().scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                });
                let ends: Vec<u32> = ends.collect();
                let indices = numbers.indices(ends[runs - 1] as usize + 5, 15);
                let start = padded(&mut numbers, slices, rank, pad);
                let (mut products, mut buffer) = (start.clone(), vec![1.0; 2 * runs * pad]);
                let weights = ((&table[..], &places[..]), &precisions[..]);
                normal.product(&core, weights, &rows, (&indices, &ends), &mut buffer, &mut products);

                // What one run after the other comes to, in f64.
                let mut whole: Vec<f64> = start.iter().map(|&number| f64::from(number)).collect();
                let mut first = 0;
                for (run, &end) in ends.iter().enumerate() {
                    let weight = |o: usize| f64::from(table[places[run] as usize * slices + o]);
                    let along: Vec<f64> = (0..rank)
                        .map(|p| (0..slices).map(|o| weight(o) * f64::from(core[o * pad + p])).sum::<f64>())
                        .collect();
                    for &index in &indices[first..end as usize] {
                        let row = &rows[index as usize * pad..][..rank];
                        let predicted: f64 = row.iter().zip(&along).map(|(&a, b)| f64::from(a) * b).sum();
                        for o in 0..slices {
                            for (p, &number) in row.iter().enumerate() {
                                let error = f64::from(precisions[run]) * predicted;
                                whole[o * pad + p] += weight(o) * error * f64::from(number);
                            }
                        }
                    }
                    first = end as usize;
                }
                for (&got, &want) in products.iter().zip(&whole) {
                    close(got, want, (indices.len() * rank * slices) as f64, "product");
                }

                // The same bits, whether runs go through it together or not, and by its parts.
                let (mut alone, mut first) = (start.clone(), 0);
                let mut parts = start.clone();
                for run in 0..runs {
                    let weights = (&table[..], &places[run..=run]);
                    let (entries, end) = (&indices[first..], ends[run] - first as u32);
                    let mut two = vec![0.0; 2 * pad];
                    let precision = &precisions[run..=run];
                    normal.product(
                        &core,
                        (weights, precision),
                        &rows,
                        (entries, &[end]),
                        &mut two,
                        &mut alone,
                    );
                    let (w, sum) = two.split_at_mut(pad);
                    normal.fold_runs(&core, weights, precision, w);
                    let mut predictions = vec![0.0; end as usize];
                    normal.project(w, &rows, (entries, &[end]), &mut predictions);
                    normal.collect(&rows, (entries, &[end]), &predictions, sum);
                    normal.unfold_runs(sum, weights, &mut parts);
                    first = ends[run] as usize;
                }
                assert_eq!(products, alone, "{level:?}, rank {rank}, {runs} runs of {slices} slices");
                for (&got, &want) in products.iter().zip(&parts) {
                    close(got, f64::from(want), (indices.len() * rank * slices) as f64, "parts");
                }
            }
        }
    }
}

#[test]
fn residuals_of_runs() {
    let mut numbers = Numbers(12);
    for level in Level::available() {
        for (rank, runs, slices, first_sign) in
            [(1, 1, 1, 0), (3, 2, 3, 63), (8, 5, 4, 1), (12, 8, 12, 40), (19, 8, 5, 130), (40, 3, 7, 61)]
        {
            let normal = NormalEquations::new(level, rank, rank);
            let pad = normal.partner_pad();
            let core = padded(&mut numbers, slices, rank, pad);
            let rows = padded(&mut numbers, 15, rank, pad);
            let (table, places) = (numbers.list(5 * slices), numbers.indices(runs, 5));
            let bases = numbers.list(runs);
            let lengths = numbers.indices(runs, 31);
            let ends = lengths.iter().scan(0, |end, length| {
                *end += length + 1;
                Some(*end)
            });
            let ends: Vec<u32> = ends.collect();
            let count = ends[runs - 1] as usize;
            let (indices, values) = (numbers.indices(count + 5, 15), numbers.list(count));
            let signs = [0x9e37_79b9_7f4a_7c15u64, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210].repeat(4);
            let start = padded(&mut numbers, slices, rank, pad);
            let (mut gradients, mut buffer) = (start.clone(), vec![1.0; 2 * runs * pad]);
            let got = normal.residuals(
                &core,
                ((&table, &places), &bases),
                (&rows, (&indices, &ends)),
                (&values, (&signs, first_sign), 0.25),
                &mut buffer,
                &mut gradients,
            );

            let mut whole: Vec<f64> = start.iter().map(|&number| f64::from(number)).collect();
            let (mut first, mut squares) = (0, 0.0);
            for (run, &end) in ends.iter().enumerate() {
                let weight = |o: usize| f64::from(table[places[run] as usize * slices + o]);
                let base = f64::from(bases[run]);
                for entry in first..end as usize {
                    let row = &rows[indices[entry] as usize * pad..][..rank];
                    let along =
                        |p: usize| (0..slices).map(|o| weight(o) * f64::from(core[o * pad + p])).sum::<f64>();
                    let predicted: f64 =
                        row.iter().enumerate().map(|(p, &number)| f64::from(number) * along(p)).sum();
                    let error = base * (f64::from(row[0]) * f64::from(values[entry]) - predicted);
                    squares += error * error;
                    let place = first_sign + entry;
                    let z = if signs[place / 64] >> (place % 64) & 1 == 0 { 0.25 } else { -0.25 };
                    for o in 0..slices {
                        for (p, &number) in row.iter().enumerate() {
                            whole[o * pad + p] += weight(o) * base * (error + z) * f64::from(number);
                        }
                    }
                }
                first = end as usize;
            }
            let terms = (count * rank * slices) as f64;
            close(got as f32, squares, terms, "the sum of squares");
            for (&got, &want) in gradients.iter().zip(&whole) {
                close(got, want, terms, "gradient");
            }
        }
    }
}

#[test]
fn sums_over_a_partner_folded_once() {
    let mut numbers = Numbers(11);
    for level in Level::available() {
        for (rank, partner) in [(1, 1), (2, 3), (5, 8), (12, 12), (10, 17), (19, 12), (33, 40)] {
            let normal = NormalEquations::new(level, rank, partner);
            let (pad, stride) = (normal.pad(), normal.partner_pad());
            for count in [1, 3, 8, CHUNK] {
                let table = padded(&mut numbers, partner, rank, pad);
                let rows = padded(&mut numbers, 20, partner, stride);
                let indices = numbers.indices(2 * count, 20);
                let values = numbers.list(2 * count);
                let mut sums = vec![0.0; (partner + 1) * stride];
                let mut targets = values.clone();
                for (chunk, targets) in targets.chunks_mut(count).enumerate() {
                    normal.pair(&rows, &indices[chunk * count..], targets, &mut sums);
                }
                for (entry, &target) in targets.iter().enumerate() {
                    let first = rows[indices[entry] as usize * stride];
                    close(target, f64::from(values[entry]) * f64::from(first), 1.0, "a target");
                }
                let start = padded(&mut numbers, rank + 1, rank, pad);
                let (mut squares, mut products) =
                    (start[..rank * pad].to_vec(), start[rank * pad..].to_vec());
                let (places, scales) = ((0..=partner as u32).collect::<Vec<u32>>(), vec![0.7; partner + 1]);
                let mut buffer = vec![f32::NAN; (partner + 1) * pad];
                let memory = (&places[..], &mut buffer[..]);
                normal.fold_pair(&table, (&mut sums, &scales), memory, &mut squares, &mut products);
                let design = |entry: usize, p: usize| -> f64 {
                    let row = &rows[indices[entry] as usize * stride..][..partner];
                    row.iter().enumerate().map(|(k, &b)| f64::from(b) * f64::from(table[k * pad + p])).sum()
                };
                let designs: Vec<Vec<f64>> =
                    (0..2 * count).map(|entry| (0..rank).map(|p| design(entry, p)).collect()).collect();
                let size = (2 * count * partner * partner) as f64;
                for p in 0..rank {
                    for c in 0..=p {
                        let sum: f64 = designs.iter().map(|design| design[p] * design[c]).sum();
                        let whole = f64::from(start[p * pad + c]) + 0.7 * sum;
                        close(squares[p * pad + c], whole, size, "squares");
                    }
                    let both = designs.iter().zip(&targets);
                    let sum: f64 = both.map(|(design, &target)| design[p] * f64::from(target)).sum();
                    close(products[p], f64::from(start[rank * pad + p]) + 0.7 * sum, size, "products");
                }
            }
        }
    }
}

#[test]
fn folding_and_its_transpose() {
    let mut numbers = Numbers(9);
    for level in Level::available() {
        for (rank, slices, times) in [(12, 1, 1), (12, 5, 3), (20, 7, 12), (3, 4, 2)] {
            let normal = NormalEquations::new(level, rank, rank);
            let len = times * normal.pad();
            let (core, weights) = (numbers.list(slices * len), numbers.list(slices));
            let mut out = numbers.list(len);
            normal.fold(&core, &weights, &mut out);
            for at in 0..len {
                let terms = (0..slices).map(|o| f64::from(weights[o]) * f64::from(core[o * len + at]));
                close(out[at], terms.sum(), slices as f64, "folded");
            }
            let mut unfolded = core.clone();
            normal.unfold(&out, &weights, &mut unfolded);
            for (place, &value) in unfolded.iter().enumerate() {
                let added = f64::from(weights[place / len]) * f64::from(out[place % len]);
                close(value, f64::from(core[place]) + added, slices as f64, "unfolded");
            }
        }
    }
}

#[test]
#[should_panic(expected = "lies outside")]
fn an_index_outside_is_refused() {
    let normal = NormalEquations::new(Level::best(), 3, 3);
    let pad = normal.partner_pad();
    let (w, rows) = (vec![0.0; pad], vec![0.0; 2 * pad]);
    normal.project(&w, &rows, (&[0, 2], &[2]), &mut [0.0; 2]);
}

#[test]
#[should_panic(expected = "there is no table 1")]
fn a_table_that_is_not_there_is_refused() {
    let normal = NormalEquations::new(Level::best(), 3, 3);
    let (table, rows) = (vec![0.0; 3 * normal.pad()], vec![0.0; normal.partner_pad()]);
    let found = (&mut vec![0.0; normal.pad()][..], &mut [0.0][..]);
    normal.design((&table, &[1]), &rows, &[0], &[1.0], found);
}
