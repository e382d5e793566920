//! The bytes of `model.safetensors`, and back.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors, View};
use serde::{Deserialize, Serialize};

use crate::{Core, CoreKind, CoupledFactor, Error, Factor, Kind, Mode, Model};

/// The version of the format that is written; it is also the only one that is read.
pub(super) const FORMAT: u64 = 1;

/// The key of [`Header`] in the metadata of the file.
const KEY: &str = "s3cmtf";

/// Everything about a model that is not a tensor.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u64,
    core: CoreKind,
    modes: Vec<ModeHeader>,
    coupled: Vec<CoupledHeader>,
    range: [f32; 2],
}

#[derive(Serialize, Deserialize)]
struct ModeHeader {
    name: String,
    size: u32,
}

#[derive(Serialize, Deserialize)]
struct CoupledHeader {
    name: String,
    mode: usize,
    kind: Kind,
    weight: f32,
    /// None for a graph.
    columns: Option<ModeHeader>,
}

impl ModeHeader {
    fn of(mode: &Mode) -> Self {
        ModeHeader { name: mode.name().to_owned(), size: mode.size() }
    }
}

impl Header {
    fn of(model: &Model) -> Self {
        let coupled = |matrix: &CoupledFactor| CoupledHeader {
            name: matrix.name.clone(),
            mode: matrix.mode,
            kind: matrix.kind,
            weight: matrix.weight,
            columns: (matrix.kind != Kind::Graph).then(|| ModeHeader::of(&matrix.columns)),
        };
        Header {
            format: FORMAT,
            core: model.core_kind(),
            modes: model.modes().iter().map(ModeHeader::of).collect(),
            coupled: model.coupled().iter().map(coupled).collect(),
            range: model.range(),
        }
    }
}

/// A tensor to be written; its bytes are made when they are asked for, so only one tensor is there twice at a time.
struct Tensor<'a> {
    shape: Vec<usize>,
    numbers: Numbers<'a>,
}

enum Numbers<'a> {
    F32(&'a [f32]),
    U32(&'a [u32]),
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        match self.numbers {
            Numbers::F32(_) => Dtype::F32,
            Numbers::U32(_) => Dtype::U32,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self.numbers {
            Numbers::F32(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Numbers::U32(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
        }
    }

    fn data_len(&self) -> usize {
        4 * match self.numbers {
            Numbers::F32(numbers) => numbers.len(),
            Numbers::U32(numbers) => numbers.len(),
        }
    }
}

fn factor_tensor(factor: &Factor) -> Tensor<'_> {
    Tensor { shape: vec![factor.rows(), factor.rank()], numbers: Numbers::F32(factor.values()) }
}

fn present_tensor(mode: &Mode) -> Option<Tensor<'_>> {
    mode.present().map(|ids| Tensor { shape: vec![ids.len()], numbers: Numbers::U32(ids) })
}

/// The bytes of a model.
pub(super) fn to_bytes(model: &Model) -> Result<Vec<u8>, SafeTensorError> {
    let shape = match model.core() {
        Core::Full { ranks, .. } => ranks.clone(),
        Core::Diagonal(values) => vec![values.len()],
    };
    let core = Tensor { shape, numbers: Numbers::F32(model.core().values()) };
    let mut tensors = vec![("core".to_owned(), core)];
    for (number, (mode, factor)) in model.modes().iter().zip(model.factors()).enumerate() {
        tensors.push((format!("factor.{number}"), factor_tensor(factor)));
        tensors.extend(present_tensor(mode).map(|present| (format!("present.{number}"), present)));
    }
    for (number, matrix) in model.coupled().iter().enumerate() {
        if matrix.kind != Kind::Graph {
            tensors.push((format!("coupled.{number}"), factor_tensor(&matrix.factor)));
            let present = present_tensor(&matrix.columns);
            tensors.extend(present.map(|present| (format!("coupled_present.{number}"), present)));
        }
    }
    let header = serde_json::to_string(&Header::of(model))?;
    safetensors::serialize(tensors, Some(HashMap::from([(KEY.to_owned(), header)])))
}

/// The model that the bytes of the file at `path` hold.
pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Model, Error> {
    build(bytes).map_err(|what| Error::file(path, what))
}

fn build(bytes: &[u8]) -> Result<Model, String> {
    let unreadable = |error: SafeTensorError| format!("is not a whole safetensors file: {error}");
    check_offsets(bytes)?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let header = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let header = read_header(header.ok_or(format!("is no model of s3cmtf: no \"{KEY}\" in its metadata"))?)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
    let mut tensors = Tensors(tensors.tensors().into_iter().collect());

    let core = tensors.core(header.core)?;
    let mut modes = Vec::new();
    let mut factors = Vec::new();
    for (number, mode) in header.modes.into_iter().enumerate() {
        modes.push(tensors.mode(mode, &format!("present.{number}"))?);
        factors.push(tensors.factor(&format!("factor.{number}"))?);
    }
    let mut coupled = Vec::new();
    for (number, matrix) in header.coupled.into_iter().enumerate() {
        coupled.push(tensors.coupled(number, matrix, &factors)?);
    }
    if let Some(name) = tensors.0.keys().next() {
        return Err(format!("has a tensor \"{name}\" that does not belong to its model"));
    }
    Model::new(modes, core, factors, coupled, header.range).map_err(|error| error.to_string())
}

/// Refuses tensors that would lie beyond the end of the file, before their offsets are added up: numbers near 2^64
/// would overflow there.
fn check_offsets(bytes: &[u8]) -> Result<(), String> {
    let cut = || "is cut off or no safetensors file: its header is longer than the file".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let header = rest.get(..length).ok_or_else(cut)?;
    let header: HashMap<String, serde_json::Value> = serde_json::from_slice(header)
        .map_err(|error| format!("is not a whole safetensors file: its header is not JSON: {error}"))?;
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let end = tensor.get("data_offsets").and_then(|offsets| offsets.get(1)).and_then(|end| end.as_u64());
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(format!("is cut off or broken: tensor \"{name}\" does not lie within the file"));
        }
    }
    Ok(())
}

fn read_header(text: &str) -> Result<Header, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    // The version on its own first: of another version nothing else may be as expected.
    let unreadable = |error| format!("its \"{KEY}\" metadata cannot be read: {error}");
    let Version { format } = serde_json::from_str(text).map_err(unreadable)?;
    if format != FORMAT {
        return Err(format!("has format version {format}, but this version of s3cmtf reads only {FORMAT}"));
    }
    serde_json::from_str(text).map_err(unreadable)
}

/// The tensors that have not been used yet.
struct Tensors<'a>(BTreeMap<String, TensorView<'a>>);

impl Tensors<'_> {
    /// The shape and the four-byte numbers of a tensor.
    fn take<T>(
        &mut self,
        name: &str,
        dtype: Dtype,
        read: fn([u8; 4]) -> T,
    ) -> Result<(Vec<usize>, Vec<T>), String> {
        let tensor = self.0.remove(name).ok_or(format!("has no tensor \"{name}\""))?;
        if tensor.dtype() != dtype {
            return Err(format!("tensor \"{name}\" should be {dtype}, but is {}", tensor.dtype()));
        }
        let (numbers, _) = tensor.data().as_chunks::<4>();
        Ok((tensor.shape().to_vec(), numbers.iter().map(|&bytes| read(bytes)).collect()))
    }

    fn core(&mut self, kind: CoreKind) -> Result<Core, String> {
        let (shape, values) = self.take("core", Dtype::F32, f32::from_le_bytes)?;
        if shape.contains(&0) {
            return Err(format!("the core has the ranks {shape:?}, but ranks are 1 or more"));
        }
        match kind {
            CoreKind::Full => Ok(Core::full(shape, values)),
            CoreKind::Diagonal if shape.len() == 1 => Ok(Core::Diagonal(values)),
            CoreKind::Diagonal => {
                Err(format!("a diagonal core has one dimension, but this has {}", shape.len()))
            }
        }
    }

    fn factor(&mut self, name: &str) -> Result<Factor, String> {
        let (shape, values) = self.take(name, Dtype::F32, f32::from_le_bytes)?;
        match shape[..] {
            [_, 0] => Err(format!("tensor \"{name}\" has rank 0, but ranks are 1 or more")),
            [_, rank] => Ok(Factor::new(rank, values)),
            _ => Err(format!("tensor \"{name}\" should have 2 dimensions, but has {}", shape.len())),
        }
    }

    fn mode(&mut self, mode: ModeHeader, name: &str) -> Result<Mode, String> {
        if !self.0.contains_key(name) {
            return Ok(Mode::new(mode.name, mode.size));
        }
        let (shape, present) = self.take(name, Dtype::U32, u32::from_le_bytes)?;
        let size = mode.size;
        Mode::with_present(mode.name, size, present).filter(|_| shape.len() == 1).ok_or(format!(
            "tensor \"{name}\" should be one row of ascending numbers below {size}, but is not"
        ))
    }

    fn coupled(
        &mut self,
        number: usize,
        matrix: CoupledHeader,
        factors: &[Factor],
    ) -> Result<CoupledFactor, String> {
        let CoupledHeader { name, mode, kind, weight, columns } = matrix;
        let rank = factors.get(mode).map(Factor::rank).ok_or(format!(
            "coupled matrix {name} is coupled to mode {mode} (counted from 0), but there are {} modes",
            factors.len()
        ))?;
        let (columns, factor) = match (kind, columns) {
            (Kind::Graph, _) => (Mode::new("", 0), Factor::new(rank, Vec::new())),
            (_, None) => return Err(format!("coupled matrix {name} has no columns in the metadata")),
            (_, Some(columns)) => (
                self.mode(columns, &format!("coupled_present.{number}"))?,
                self.factor(&format!("coupled.{number}"))?,
            ),
        };
        Ok(CoupledFactor { name, mode, kind, weight, columns, factor })
    }
}
