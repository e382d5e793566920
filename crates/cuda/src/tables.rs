//! What chains fold the core to, and where on the device that is.

use bytemuck::Pod;

use crate::Error;
use crate::chain::Chain;
use crate::device::{Array, Device};
use crate::stage::Stage;

/// Room for the tables of any one chain at a time, and for its lists, if they are on the host.
pub(crate) struct Tables<D: Device> {
    pub(crate) stage: Stage<D>,
    /// The core, and what each level's nodes have.
    pub(crate) numbers: Vec<Array<D, f32>>,
    /// The roots of shares; 1 for the core.
    pub(crate) roots: Vec<Array<D, f32>>,
}

impl<D: Device> Tables<D> {
    pub(crate) fn new(device: &D) -> Result<Self, Error> {
        let roots = vec![Array::new(device, &[1.0])?];
        Ok(Tables { stage: Stage::new(device)?, numbers: Vec::new(), roots })
    }

    /// Makes room for a chain.
    pub(crate) fn fit(&mut self, device: &D, chain: &Chain<D>) -> Result<(), Error> {
        let (numbers, roots) = chain.room();
        chain.part.as_ref().map_or(Ok(()), |part| self.stage.fit(device, part))?;
        grow(device, &mut self.numbers, &numbers)?;
        grow(device, &mut self.roots, &roots)
    }

    /// How large they are.
    pub(crate) fn sizes(&self) -> [Vec<usize>; 2] {
        [&self.numbers, &self.roots].map(|arrays| arrays.iter().map(Array::len).collect())
    }

    /// Makes them as small again as they were, if they are larger.
    pub(crate) fn cut(&mut self, device: &D, sizes: &[Vec<usize>; 2]) -> Result<(), Error> {
        for (arrays, sizes) in [&mut self.numbers, &mut self.roots].into_iter().zip(sizes) {
            arrays.truncate(sizes.len());
            for (array, &size) in arrays.iter_mut().zip(sizes).filter(|(array, size)| array.len() > **size) {
                *array = Array::zeros(device, 0)?;
                *array = Array::zeros(device, size)?;
            }
        }
        Ok(())
    }

    pub(crate) fn have_room(&self, chain: &Chain<D>) -> bool {
        let (numbers, roots) = chain.room();
        holds(&self.numbers, &numbers) && holds(&self.roots, &roots)
    }

    /// What the last nodes of a chain have, and the roots of their shares.
    pub(crate) fn last(&self, chain: &Chain<D>) -> (&Array<D, f32>, &Array<D, f32>) {
        (&self.numbers[chain.depth()], &self.roots[chain.depth()])
    }
}

fn holds<D: Device, T: Pod>(arrays: &[Array<D, T>], lens: &[usize]) -> bool {
    arrays.len() >= lens.len() && arrays.iter().zip(lens).all(|(array, &len)| array.len() >= len)
}

fn grow<D: Device, T: Pod>(device: &D, arrays: &mut Vec<Array<D, T>>, lens: &[usize]) -> Result<(), Error> {
    for (number, &len) in lens.iter().enumerate() {
        match arrays.get_mut(number) {
            None => arrays.push(Array::zeros(device, len)?),
            Some(array) => array.grow(device, len)?,
        }
    }
    Ok(())
}
