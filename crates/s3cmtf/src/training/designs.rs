//! The designs of a row's entries, and the sums of their products.

use s3cmtf_kernels::{Aligned, CHUNK, NormalEquations};

/// The designs of entries, until there are enough to be summed up.
pub(super) struct Designs {
    kernels: NormalEquations,
    width: usize,
    /// The product of the rows that the entries of a run share.
    head: Vec<f32>,
    designs: Aligned,
    values: Vec<f32>,
    squares: Vec<f32>,
    products: Vec<f32>,
}

impl Designs {
    pub(super) fn new(kernels: NormalEquations, width: usize) -> Self {
        let pad = kernels.pad();
        Designs {
            kernels,
            width,
            head: vec![1.0; width],
            designs: Aligned::new(CHUNK * pad),
            values: Vec::with_capacity(CHUNK),
            squares: vec![0.0; width * pad],
            products: vec![0.0; pad],
        }
    }

    /// Begins a run.
    pub(super) fn head(&mut self, factors: &[Vec<f32>], modes: &[usize], rows: &[u32]) {
        self.head.fill(1.0);
        for (&row, &mode) in rows.iter().zip(modes) {
            let row = &factors[mode][row as usize * self.width..][..self.width];
            self.head.iter_mut().zip(row).for_each(|(product, row)| *product *= row);
        }
    }

    /// The product of the rows that the entries of the run share.
    pub(super) fn shared(&self) -> &[f32] {
        &self.head
    }

    /// Takes up an entry of the run, with its row of the last mode; the design is multiplied by `scale`.
    pub(super) fn add(&mut self, row: &[f32], scale: f32, value: f32, sums: &mut [f64]) {
        let start = self.values.len() * self.kernels.pad();
        let design = &mut self.designs.as_mut_slice()[start..][..self.width];
        design
            .iter_mut()
            .zip(self.head.iter().zip(row))
            .for_each(|(design, (a, b))| *design = scale * (a * b));
        self.take(value, sums);
    }

    /// Takes up a design, multiplied by `scale`.
    pub(super) fn push(&mut self, design: &[f32], scale: f32, value: f32, sums: &mut [f64]) {
        let start = self.values.len() * self.kernels.pad();
        let to = &mut self.designs.as_mut_slice()[start..][..self.width];
        to.iter_mut().zip(design).for_each(|(to, design)| *to = scale * design);
        self.take(value, sums);
    }

    fn take(&mut self, value: f32, sums: &mut [f64]) {
        self.values.push(value);
        if self.values.len() == CHUNK {
            self.flush(sums);
        }
    }

    /// Adds what was taken up to the sums: the products of designs, and designs times values.
    pub(super) fn flush(&mut self, sums: &mut [f64]) {
        let (pad, width) = (self.kernels.pad(), self.width);
        self.squares.fill(0.0);
        self.products.fill(0.0);
        let designs = &self.designs.as_slice()[..self.values.len() * pad];
        self.kernels.gram(designs, &self.values, &mut self.squares, &mut self.products);
        self.values.clear();
        let (system, target) = sums.split_at_mut(width * width);
        for (k, (sum, squares)) in
            system.chunks_exact_mut(width).zip(self.squares.chunks_exact(pad)).enumerate()
        {
            sum[..=k].iter_mut().zip(squares).for_each(|(sum, &square)| *sum += f64::from(square));
        }
        target.iter_mut().zip(&self.products).for_each(|(sum, &product)| *sum += f64::from(product));
    }
}
