//! Every kernel on every level against plain loops in f64.

use s3cmtf_kernels::{CHUNK, Kernels, Level, Reg, SharedRows, Side, Step, Sums};

/// A small generator of numbers in [-1, 1), some of them exactly zero.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bits = (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        if (self.0 >> 33).is_multiple_of(11) { 0.0 } else { bits }
    }

    fn list(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.next()).collect()
    }

    fn index(&mut self, below: usize) -> u32 {
        self.next();
        ((self.0 >> 33) % below as u64) as u32
    }
}

fn new_value(old: f64, gradient: f64, reg: f64, step: Step) -> f64 {
    let rate = f64::from(step.rate);
    let mut new = if step.l1 {
        let moved = old + rate * gradient;
        moved.signum() * (moved.abs() - rate * reg).max(0.0)
    } else {
        old + rate * (gradient - reg * old)
    };
    if step.nonnegative {
        new = new.max(0.0);
    }
    new
}

fn close(got: &[f32], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |scale, value| scale.max(value.abs()));
    for (place, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            (f64::from(got) - expected).abs() <= 5e-6 * scale,
            "{what}[{place}]: {got} and not {expected}"
        );
    }
}

struct Case {
    p: usize,
    q: usize,
    outer: usize,
    entries: usize,
    /// On each side: few, so that entries share them, or many, so that most do not.
    rows: usize,
    step: Step,
    shared: bool,
}

/// Steps short enough that rounding does not grow from entry to entry.
fn steps(rank: usize) -> Vec<Step> {
    let flags = [(false, false), (true, false), (false, true), (true, true)];
    flags.map(|(l1, nonnegative)| Step { rate: 0.2 / rank as f32, l1, nonnegative }).to_vec()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let ranks: Vec<(usize, usize)> =
        (1..=33).flat_map(|j| [(j, j), (j, 34 - j), (64, j)]).chain([(65, 3), (3, 65)]).collect();
    for (number, &(p, q)) in ranks.iter().enumerate() {
        for (variant, step) in steps(p + q).into_iter().enumerate() {
            let entries = [1, 2, 7, CHUNK][(number + variant) % 4];
            let outer = [1, 3, 12][number % 3];
            cases.push(Case { p, q, outer, entries, rows: 9, step, shared: (number + variant / 2) % 2 == 1 });
        }
    }
    cases
}

fn run_bilinear(
    kernels: &Kernels,
    case: &Case,
    data: &mut Data,
    buffers: &mut s3cmtf_kernels::Buffers,
) -> Sums {
    let Data { rows_p, rows_q, index_p, index_q, reg_p, reg_q, values, .. } = data;
    let (p, q) = (case.p, case.q);
    macro_rules! run {
        ($p:expr, $q:expr) => {{
            let mut side_p = Side { rows: $p, rank: p, indices: index_p, base: 5, reg: plain(reg_p) };
            let mut side_q = Side { rows: $q, rank: q, indices: index_q, base: 0, reg: plain(reg_q) };
            kernels.bilinear(&mut side_p, &mut side_q, values, case.step, buffers)
        }};
    }
    if case.shared {
        run!(SharedRows::new(rows_p), SharedRows::new(rows_q))
    } else {
        run!(rows_p.as_mut_slice(), rows_q.as_mut_slice())
    }
}

struct Data {
    rows_p: Vec<f32>,
    rows_q: Vec<f32>,
    index_p: Vec<u32>,
    index_q: Vec<u32>,
    reg_p: Vec<f32>,
    reg_q: Vec<f32>,
    values: Vec<f32>,
    weights: Vec<f32>,
    /// outer x p x q, unpadded.
    core: Vec<f32>,
}

/// The first side's indices count from 5.
fn data(case: &Case, numbers: &mut Numbers) -> Data {
    Data {
        rows_p: numbers.list(case.rows * case.p),
        rows_q: numbers.list(case.rows * case.q),
        index_p: (0..case.entries).map(|_| 5 + numbers.index(case.rows)).collect(),
        index_q: (0..case.entries).map(|_| numbers.index(case.rows)).collect(),
        reg_p: (0..case.rows + 5).map(|_| numbers.next().abs()).collect(),
        reg_q: if case.outer == 3 {
            Vec::new()
        } else {
            (0..case.rows).map(|_| numbers.next().abs()).collect()
        },
        values: numbers.list(case.entries),
        weights: numbers.list(case.outer),
        core: numbers.list(case.outer * case.p * case.q),
    }
}

fn plain(reg: &[f32]) -> Reg<'_> {
    if reg.is_empty() { Reg::None } else { Reg::Rows(reg) }
}

/// Codes for every other entry, and their table; the rest must ask the rows.
fn coded(reg: &[f32], indices: &[u32]) -> (Vec<u8>, [f32; 256]) {
    let code = |(entry, &index): (usize, &u32)| if entry % 2 == 0 { index as u8 + 1 } else { 0 };
    let table =
        std::array::from_fn(|code| if code == 0 { f32::NAN } else { *reg.get(code - 1).unwrap_or(&0.0) });
    (indices.iter().enumerate().map(code).collect(), table)
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

#[test]
fn full_core_kernels_agree_with_the_oracle_on_every_level() {
    for level in Level::available() {
        for (number, case) in cases().iter().enumerate() {
            let mut data = data(case, &mut Numbers(number as u64 + 1));
            let (p, q) = (case.p, case.q);
            let kernels = Kernels::new(level, p, q);
            let mut buffers = kernels.buffers();
            let mut core = vec![0.0; case.outer * kernels.slice_len()];
            for (place, &value) in data.core.iter().enumerate() {
                let (o, rest) = (place / (p * q), place % (p * q));
                core[o * kernels.slice_len() + kernels.place(rest / q, rest % q)] = value;
            }

            // The oracle.
            let (mut a, mut b, g, w) =
                (wide(&data.rows_p), wide(&data.rows_q), wide(&data.core), wide(&data.weights));
            let t = |i: usize, j: usize| (0..case.outer).map(|o| w[o] * g[(o * p + i) * q + j]).sum::<f64>();
            let t: Vec<f64> = (0..p * q).map(|place| t(place / q, place % q)).collect();
            let mut m = vec![0.0; p * q];
            let mut squared_error = 0.0;
            let mut predictions = Vec::new();
            for entry in 0..case.entries {
                let (i, j) = (data.index_p[entry] as usize - 5, data.index_q[entry] as usize);
                let (row_a, row_b) = (a[i * p..][..p].to_vec(), b[j * q..][..q].to_vec());
                let c0: Vec<f64> = (0..p).map(|x| (0..q).map(|y| t[x * q + y] * row_b[y]).sum()).collect();
                let c1: Vec<f64> = (0..q).map(|y| (0..p).map(|x| t[x * q + y] * row_a[x]).sum()).collect();
                let prediction: f64 = c0.iter().zip(&row_a).map(|(c, a)| c * a).sum();
                let error = f64::from(data.values[entry]) - prediction;
                predictions.push(prediction);
                squared_error += error * error;
                let reg =
                    |list: &[f32], index: u32| list.get(index as usize).map_or(0.0, |&reg| f64::from(reg));
                for x in 0..p {
                    let reg = reg(&data.reg_p, data.index_p[entry]);
                    a[i * p + x] = new_value(row_a[x], error * c0[x], reg, case.step);
                    for y in 0..q {
                        m[x * q + y] += error * row_a[x] * row_b[y];
                    }
                }
                for y in 0..q {
                    let reg = reg(&data.reg_q, data.index_q[entry]);
                    b[j * q + y] = new_value(row_b[y], error * c1[y], reg, case.step);
                }
            }
            let h: Vec<f64> = (0..case.outer)
                .map(|o| (0..p * q).map(|place| g[o * p * q + place] * m[place]).sum())
                .collect();
            let new_core: Vec<f64> = (0..g.len())
                .map(|place| new_value(g[place], w[place / (p * q)] * m[place % (p * q)], 0.3, case.step))
                .collect();

            // The kernels.
            let label = format!("{} {p}x{q} case {number}", level.name());
            kernels.combine(&core, &data.weights, &mut buffers);
            if case.entries == 1 {
                let mut got = vec![0.0; 1];
                let side_p =
                    Side { rows: &data.rows_p[..], rank: p, indices: &data.index_p, base: 5, reg: Reg::None };
                let side_q =
                    Side { rows: &data.rows_q[..], rank: q, indices: &data.index_q, base: 0, reg: Reg::None };
                kernels.predict(&side_p, &side_q, &mut buffers, &mut got);
                close(&got, &predictions, &format!("{label} prediction"));
            }
            let sums = run_bilinear(&kernels, case, &mut data, &mut buffers);
            let mut got_h = vec![0.0; case.outer];
            kernels.core_step(&mut core, &data.weights, 0.3, case.step, &buffers, &mut got_h);
            assert!(
                (sums.squared_error - squared_error).abs() <= 1e-4 * squared_error + 1e-4,
                "{label} error"
            );
            close(&data.rows_p, &a, &format!("{label} first rows"));
            close(&data.rows_q, &b, &format!("{label} second rows"));
            close(&got_h, &h, &format!("{label} h"));
            let got_core: Vec<f32> = (0..new_core.len())
                .map(|place| (place / (p * q), place % (p * q)))
                .map(|(o, rest)| core[o * kernels.slice_len() + kernels.place(rest / q, rest % q)])
                .collect();
            close(&got_core, &new_core, &format!("{label} core"));
        }
    }
}

#[test]
fn mixed_chunks_agree_with_the_oracle_on_every_level() {
    for level in Level::available() {
        // Long rows of few entries can cancel to less than what rounding leaves of them.
        let many_rows = cases().into_iter().filter(|case| case.p < 64);
        let many_rows = many_rows.map(|case| Case { rows: 240, ..case });
        for (number, case) in cases().into_iter().chain(many_rows).enumerate() {
            let (p, q, outer) = (case.p, case.q, case.outer);
            let kernels = Kernels::new(level, p, q);
            let case = Case { entries: case.entries.min(kernels.mixed()), ..case };
            let numbers = &mut Numbers(number as u64 + 1);
            let mut data = data(&case, numbers);
            let weights = numbers.list(case.entries * outer);
            let mut padded = weights.clone();
            padded.resize(case.entries.next_multiple_of(4) * outer, 0.0);
            let mut core = vec![0.0; outer * kernels.slice_len()];
            for (place, &value) in data.core.iter().enumerate() {
                let (o, rest) = (place / (p * q), place % (p * q));
                core[o * kernels.slice_len() + kernels.place(rest / q, rest % q)] = value;
            }

            // The oracle.
            let (mut a, mut b, g, w) =
                (wide(&data.rows_p), wide(&data.rows_q), wide(&data.core), wide(&weights));
            let (mut predictions, mut squares, mut h) = (Vec::new(), Vec::new(), Vec::new());
            let mut core_gradient = vec![0.0; g.len()];
            for entry in 0..case.entries {
                let (i, j) = (data.index_p[entry] as usize - 5, data.index_q[entry] as usize);
                let (row_a, row_b) = (a[i * p..][..p].to_vec(), b[j * q..][..q].to_vec());
                let t: Vec<f64> = (0..p * q)
                    .map(|place| (0..outer).map(|o| w[entry * outer + o] * g[o * p * q + place]).sum())
                    .collect();
                let c0: Vec<f64> = (0..p).map(|x| (0..q).map(|y| t[x * q + y] * row_b[y]).sum()).collect();
                let c1: Vec<f64> = (0..q).map(|y| (0..p).map(|x| t[x * q + y] * row_a[x]).sum()).collect();
                let prediction: f64 = c0.iter().zip(&row_a).map(|(c, a)| c * a).sum();
                let error = f64::from(data.values[entry]) - prediction;
                predictions.push(prediction);
                let length = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>();
                squares.push(length(&row_a) * length(&row_b));
                for o in 0..outer {
                    let mut sum = 0.0;
                    for place in 0..p * q {
                        let product = error * row_a[place / q] * row_b[place % q];
                        sum += g[o * p * q + place] * product;
                        core_gradient[o * p * q + place] += w[entry * outer + o] * product;
                    }
                    h.push(sum);
                }
                let reg =
                    |list: &[f32], index: u32| list.get(index as usize).map_or(0.0, |&reg| f64::from(reg));
                let (reg_a, reg_b) =
                    (reg(&data.reg_p, data.index_p[entry]), reg(&data.reg_q, data.index_q[entry]));
                (0..p).for_each(|x| a[i * p + x] = new_value(row_a[x], error * c0[x], reg_a, case.step));
                (0..q).for_each(|y| b[j * q + y] = new_value(row_b[y], error * c1[y], reg_b, case.step));
            }
            let new_core: Vec<f64> =
                g.iter().zip(&core_gradient).map(|(&g, &d)| new_value(g, d, 0.3, case.step)).collect();

            // The kernels, which leave nothing in the buffers that a second run would see.
            let label = format!("mixed {} {p}x{q} case {number}", level.name());
            let mut buffers = kernels.buffers();
            kernels.combine_mixed(&vec![9.0; core.len()], &padded, &mut buffers);
            kernels.combine_mixed(&core, &padded, &mut buffers);
            let mut got = vec![0.0; case.entries];
            let side_p =
                Side { rows: &data.rows_p[..], rank: p, indices: &data.index_p, base: 5, reg: Reg::None };
            let side_q =
                Side { rows: &data.rows_q[..], rank: q, indices: &data.index_q, base: 0, reg: Reg::None };
            kernels.predict_mixed(&side_p, &side_q, &mut buffers, &mut got);
            close(&got[..1], &predictions[..1], &format!("{label} prediction"));
            let mut got_squares = vec![0.0; case.entries];
            {
                let Data { rows_p, rows_q, index_p, index_q, reg_p, reg_q, values, .. } = &mut data;
                let (codes, table) = coded(reg_p, index_p);
                macro_rules! run {
                    ($p:expr, $q:expr) => {{
                        let mut p = Side {
                            rows: $p,
                            rank: p,
                            indices: index_p,
                            base: 5,
                            reg: Reg::Coded { rows: reg_p, codes: &codes, table: &table },
                        };
                        let mut q = Side { rows: $q, rank: q, indices: index_q, base: 0, reg: plain(reg_q) };
                        let (got, squares) = (&mut got, &mut got_squares);
                        kernels.bilinear_mixed(&mut p, &mut q, values, case.step, &mut buffers, got, squares)
                    }};
                }
                let sums = if case.shared {
                    run!(SharedRows::new(rows_p), SharedRows::new(rows_q))
                } else {
                    run!(rows_p.as_mut_slice(), rows_q.as_mut_slice())
                };
                let squared: f64 = predictions
                    .iter()
                    .zip(values.iter())
                    .map(|(x, &value)| (f64::from(value) - x).powi(2))
                    .sum();
                assert!((sums.squared_error - squared).abs() <= 1e-4 * squared + 1e-4, "{label} error");
            }
            let mut got_h = vec![f32::NAN; padded.len()];
            kernels.spread_mixed(&mut core, &padded, 0.3, case.step, &mut buffers, &mut got_h);
            close(&got, &predictions, &format!("{label} predictions"));
            close(&got_squares, &squares, &format!("{label} squares"));
            close(&data.rows_p, &a, &format!("{label} first rows"));
            close(&data.rows_q, &b, &format!("{label} second rows"));
            close(&got_h[..h.len()], &h, &format!("{label} h"));
            let got_core: Vec<f32> = (0..new_core.len())
                .map(|place| (place / (p * q), place % (p * q)))
                .map(|(o, rest)| core[o * kernels.slice_len() + kernels.place(rest / q, rest % q)])
                .collect();
            close(&got_core, &new_core, &format!("{label} core"));
        }
    }
}

#[test]
fn outer_rows_are_loaded_and_stepped_as_the_oracle_does_on_every_level() {
    for level in Level::available() {
        for rank in 1..=35 {
            for (variant, step) in steps(rank).into_iter().enumerate() {
                let numbers = &mut Numbers(rank as u64);
                let (mut rows, gradients) = (numbers.list(9 * rank), numbers.list(4 * rank));
                let (indices, rates) = ([7, 5, 7, 13], [0.3, 0.2, 0.1, 0.5f32]);
                let reg: Vec<f32> = (0..14).map(|_| numbers.next().abs()).collect();
                let kernels = Kernels::new(level, 3, 3);
                let mut expected = wide(&rows);
                let mut loaded = vec![0.0; 4 * rank];
                let side =
                    Side { rows: &mut rows[..], rank, indices: &indices, base: 5, reg: Reg::Rows(&reg) };
                kernels.load_rows(&side, &mut loaded);
                for (entry, &index) in indices.iter().enumerate() {
                    let start = (index as usize - 5) * rank;
                    assert_eq!(loaded[entry * rank..][..rank], rows[start..][..rank]);
                }
                for (entry, &index) in indices.iter().enumerate() {
                    let step = Step { rate: rates[entry], ..step };
                    for j in 0..rank {
                        let value = &mut expected[(index as usize - 5) * rank + j];
                        let gradient = f64::from(gradients[entry * rank + j]);
                        *value = new_value(*value, gradient, 3.0 * f64::from(reg[index as usize]), step);
                    }
                }
                macro_rules! run {
                    ($rows:expr) => {{
                        let mut side =
                            Side { rows: $rows, rank, indices: &indices, base: 5, reg: Reg::Rows(&reg) };
                        kernels.step_rows(&mut side, &gradients, &rates, 3.0, step);
                    }};
                }
                if variant % 2 == 0 {
                    run!(&mut rows[..])
                } else {
                    run!(SharedRows::new(&mut rows))
                }
                close(&rows, &expected, &format!("{} rank {rank}", level.name()));
            }
        }
    }
}

#[test]
fn diagonal_kernel_agrees_with_the_oracle_on_every_level() {
    for level in Level::available() {
        for rank in 1..=33 {
            for (variant, step) in steps(rank).into_iter().enumerate() {
                let entries = [1, 5, 33, CHUNK][variant];
                let case = Case { p: rank, q: rank, outer: 1, entries, rows: 9, step, shared: rank % 2 == 0 };
                let mut data = data(&case, &mut Numbers(rank as u64));
                let kernels = Kernels::new(level, rank, rank);
                let mut d = data.core[..rank].to_vec();
                d.resize(kernels.diagonal_len(), 0.0);
                let mut m = vec![f32::NAN; kernels.diagonal_len()];
                let (mut a, mut b) = (wide(&data.rows_p), wide(&data.rows_q));
                let mut expected_m = vec![0.0; rank];
                let mut squared_error = 0.0;
                for entry in 0..entries {
                    let (i, j) = (data.index_p[entry] as usize - 5, data.index_q[entry] as usize);
                    let (row_a, row_b) = (a[i * rank..][..rank].to_vec(), b[j * rank..][..rank].to_vec());
                    let product = |x: usize| f64::from(d[x]) * row_a[x] * row_b[x];
                    let error = f64::from(data.values[entry]) - (0..rank).map(product).sum::<f64>();
                    squared_error += error * error;
                    for x in 0..rank {
                        let (reg_p, reg_q) = (
                            f64::from(data.reg_p[data.index_p[entry] as usize]),
                            f64::from(data.reg_q[data.index_q[entry] as usize]),
                        );
                        a[i * rank + x] =
                            new_value(row_a[x], error * f64::from(d[x]) * row_b[x], reg_p, step);
                        b[j * rank + x] =
                            new_value(row_b[x], error * f64::from(d[x]) * row_a[x], reg_q, step);
                        expected_m[x] += error * row_a[x] * row_b[x];
                    }
                }
                let Data { rows_p, rows_q, index_p, index_q, reg_p, reg_q, values, .. } = &mut data;
                let mut side_p =
                    Side { rows: rows_p.as_mut_slice(), rank, indices: index_p, base: 5, reg: plain(reg_p) };
                let mut side_q =
                    Side { rows: rows_q.as_mut_slice(), rank, indices: index_q, base: 0, reg: plain(reg_q) };
                let mut buffers = kernels.buffers();
                let sums = kernels.diagonal(&mut side_p, &mut side_q, values, step, &d, &mut m, &mut buffers);
                let label = format!("{} rank {rank}", level.name());
                assert!(
                    (sums.squared_error - squared_error).abs() <= 1e-4 * squared_error + 1e-4,
                    "{label} error"
                );
                close(&data.rows_p, &a, &format!("{label} first rows"));
                close(&data.rows_q, &b, &format!("{label} second rows"));
                close(&m[..rank], &expected_m, &format!("{label} m"));
            }
        }
    }
}

#[test]
#[should_panic(expected = "lies outside its rows")]
fn an_index_outside_the_rows_is_refused() {
    let kernels = Kernels::new(Level::best(), 2, 2);
    let (mut a, mut b) = ([0.0f32; 4], [0.0f32; 4]);
    let mut p = Side { rows: &mut a[..], rank: 2, indices: &[2], base: 0, reg: Reg::None };
    let mut q = Side { rows: &mut b[..], rank: 2, indices: &[0], base: 0, reg: Reg::None };
    let step = Step { rate: 0.1, l1: false, nonnegative: false };
    kernels.bilinear(&mut p, &mut q, &[1.0], step, &mut kernels.buffers());
}

/// Two rows of 2^63 numbers wrap around to none, which would fit.
#[test]
#[should_panic(expected = "a row per index")]
fn rows_of_a_rank_that_wraps_around_are_not_loaded() {
    let mut rows = [0.0f32; 4];
    let side = Side { rows: &mut rows[..], rank: 1 << 63, indices: &[0, 0], base: 0, reg: Reg::None };
    Kernels::new(Level::best(), 2, 2).load_rows(&side, &mut []);
}

#[test]
#[should_panic(expected = "a gradient and a rate per index")]
fn rows_of_a_rank_that_wraps_around_take_no_step() {
    let mut rows = [0.0f32; 4];
    let mut side = Side { rows: &mut rows[..], rank: 1 << 63, indices: &[0, 0], base: 0, reg: Reg::None };
    let step = Step { rate: 0.1, l1: false, nonnegative: false };
    Kernels::new(Level::best(), 2, 2).step_rows(&mut side, &[], &[0.1, 0.1], 1.0, step);
}
