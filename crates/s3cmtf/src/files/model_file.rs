//! The bytes of `model.safetensors`, and back.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::seal;
use crate::error::Reason;
use crate::model::ChoiceWeights;
use crate::table::{Binning, Labels};
use crate::{
    Absent, Choice, Core, CoreKind, CoupledFactor, Effects, Error, Factor, Likelihood, Mode, Model, Naming,
    Offsets, StdScale, Uncertainty,
};

/// The version of the format that is written; older ones are read as well.
pub(super) const FORMAT: u64 = 6;
/// From this version on, files have a checksum.
const SEALED: u64 = 4;

/// The key of [`Header`] in the metadata of the file.
const KEY: &str = "s3cmtf";

/// Everything about a model that is not a tensor.
#[derive(Serialize, Deserialize)]
struct Header {
    /// That of the whole file, see [`seal`]; since version 4. It comes first.
    #[serde(default)]
    checksum: String,
    format: u64,
    core: CoreKind,
    modes: Vec<ModeHeader>,
    coupled: Vec<CoupledHeader>,
    range: [f32; 2],
    /// The noise of [`Uncertainty`], whose other numbers are tensors; since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise: Option<f32>,
    /// Its scale; not in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    std_scale: Option<StdScale>,
    /// What of [`Offsets`] is no tensor; not in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offsets: Option<OffsetsHeader>,
    /// What the values are called; since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Gaussian unless it is said; since version 6.
    #[serde(default, skip_serializing_if = "is_gaussian")]
    likelihood: Likelihood,
    /// Whether there are the rows of [`Choice`]; since version 5.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    choice: bool,
    /// What its rows were found by; not in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choice_weights: Option<ChoiceWeights>,
    /// What an absent cell counted, if those were zeros; not in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent_weight: Option<f32>,
}

fn is_gaussian(likelihood: &Likelihood) -> bool {
    *likelihood == Likelihood::Gaussian
}

#[derive(Serialize, Deserialize)]
struct OffsetsHeader {
    mean: f32,
    lambdas: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ModeHeader {
    pub(super) name: String,
    pub(super) size: u32,
    /// What the ids are called, whose names themselves are tensors; since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) naming: Option<NamingHeader>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct NamingHeader {
    pub(super) column: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) binning: Option<Binning>,
}

#[derive(Serialize, Deserialize)]
struct CoupledHeader {
    name: String,
    mode: usize,
    kind: Absent,
    weight: f32,
    /// None for a graph.
    columns: Option<ModeHeader>,
    /// The share that [`Effects`] explain, whose other numbers are tensors; since version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explained: Option<f32>,
}

impl ModeHeader {
    pub(super) fn from_mode(mode: &Mode) -> Self {
        let naming = mode
            .naming()
            .map(|naming| NamingHeader { column: naming.column.clone(), binning: naming.binning.clone() });
        ModeHeader { name: mode.name().to_owned(), size: mode.size(), naming }
    }
}

impl Header {
    fn from_model(model: &Model) -> Self {
        let coupled = |matrix: &CoupledFactor| CoupledHeader {
            name: matrix.name.clone(),
            mode: matrix.mode,
            kind: matrix.kind,
            weight: matrix.weight,
            columns: (matrix.kind != Absent::Graph).then(|| ModeHeader::from_mode(&matrix.columns)),
            explained: matrix.effects.as_ref().map(|effects| effects.explained),
        };
        Header {
            checksum: seal::EMPTY.to_owned(),
            format: FORMAT,
            core: model.core_kind(),
            modes: model.modes().iter().map(ModeHeader::from_mode).collect(),
            coupled: model.coupled().iter().map(coupled).collect(),
            range: model.range(),
            noise: model.uncertainty().map(|uncertainty| uncertainty.noise),
            std_scale: model.uncertainty().and_then(|uncertainty| uncertainty.scale.clone()),
            offsets: model
                .offsets()
                .map(|offsets| OffsetsHeader { mean: offsets.mean, lambdas: offsets.lambdas.clone() }),
            value: model.value().map(str::to_owned),
            likelihood: model.likelihood(),
            choice: model.choice().is_some(),
            choice_weights: model.choice_weights,
            absent_weight: model.absent_weight,
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
    U64(Vec<u64>),
    U8(&'a [u8]),
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        match self.numbers {
            Numbers::F32(_) => Dtype::F32,
            Numbers::U32(_) => Dtype::U32,
            Numbers::U64(_) => Dtype::U64,
            Numbers::U8(_) => Dtype::U8,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match &self.numbers {
            Numbers::F32(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Numbers::U32(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Numbers::U64(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Numbers::U8(bytes) => Cow::Borrowed(bytes),
        }
    }

    fn data_len(&self) -> usize {
        match &self.numbers {
            Numbers::F32(numbers) => 4 * numbers.len(),
            Numbers::U32(numbers) => 4 * numbers.len(),
            Numbers::U64(numbers) => 8 * numbers.len(),
            Numbers::U8(bytes) => bytes.len(),
        }
    }
}

fn factor_tensor(factor: &Factor) -> Tensor<'_> {
    Tensor { shape: vec![factor.rows(), factor.rank()], numbers: Numbers::F32(factor.values()) }
}

/// The tensors of a mode that are not its factor; `prefix` tells those of a coupled matrix's columns.
fn mode_tensors<'a>(mode: &'a Mode, prefix: &str, number: usize, tensors: &mut Vec<(String, Tensor<'a>)>) {
    if let Some(ids) = mode.present() {
        let present = Tensor { shape: vec![ids.len()], numbers: Numbers::U32(ids) };
        tensors.push((format!("{prefix}present.{number}"), present));
    }
    if let Some(naming) = mode.naming() {
        let (text, ends) = naming.labels.parts();
        let ends = ends.iter().map(|&end| end as u64).collect();
        let ends = Tensor { shape: vec![naming.labels.len()], numbers: Numbers::U64(ends) };
        let text = Tensor { shape: vec![text.len()], numbers: Numbers::U8(text.as_bytes()) };
        tensors.push((format!("{prefix}label.{number}"), text));
        tensors.push((format!("{prefix}label_end.{number}"), ends));
    }
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
        mode_tensors(mode, "", number, &mut tensors);
    }
    for (number, matrix) in model.coupled().iter().enumerate() {
        if matrix.kind != Absent::Graph {
            tensors.push((format!("coupled.{number}"), factor_tensor(&matrix.factor)));
            mode_tensors(&matrix.columns, "coupled_", number, &mut tensors);
        }
        if let Some(effects) = &matrix.effects {
            let list = |values| Tensor { shape: vec![<[f32]>::len(values)], numbers: Numbers::F32(values) };
            tensors.push((format!("effect.{number}"), factor_tensor(&effects.factor)));
            tensors.push((format!("effect_base.{number}"), list(&effects.base)));
            tensors.push((format!("effect_offset.{number}"), list(&effects.offsets)));
        }
    }
    if let Some(uncertainty) = model.uncertainty() {
        for (number, (shares, variances)) in uncertainty.shares.iter().zip(&uncertainty.variances).enumerate()
        {
            let shares = Tensor { shape: vec![shares.len()], numbers: Numbers::F32(shares) };
            tensors.push((format!("share.{number}"), shares));
            tensors.push((format!("variance.{number}"), factor_tensor(variances)));
        }
    }
    for (number, rows) in model.offsets().iter().flat_map(|offsets| &offsets.rows).enumerate() {
        let rows = Tensor { shape: vec![rows.len()], numbers: Numbers::F32(rows) };
        tensors.push((format!("offset.{number}"), rows));
    }
    for (number, factor) in model.choice().iter().flat_map(|choice| choice.factors()).enumerate() {
        tensors.push((format!("choice.{number}"), factor_tensor(factor)));
    }
    let header = serde_json::to_string(&Header::from_model(model))?;
    let mut bytes = safetensors::serialize(tensors, Some(HashMap::from([(KEY.to_owned(), header)])))?;
    seal::seal(&mut bytes);
    Ok(bytes)
}

/// The model that the bytes of the file at `path` hold.
pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Model, Error> {
    build(bytes).map_err(|what| Error::file(path, what))
}

fn build(bytes: &[u8]) -> Result<Model, Reason> {
    let unreadable = |error: SafeTensorError| Reason::new("is not a whole safetensors file", error);
    check_offsets(bytes)?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let header = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let header = read_header(header.ok_or(format!("is no model of s3cmtf: no \"{KEY}\" in its metadata"))?)?;
    if header.format >= SEALED {
        seal::check(bytes)?;
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
    let mut tensors = Tensors(tensors.tensors().into_iter().collect());

    let core = tensors.core(header.core)?;
    let mut modes = Vec::new();
    let mut factors = Vec::new();
    for (number, mode) in header.modes.into_iter().enumerate() {
        modes.push(tensors.mode(mode, "", number)?);
        factors.push(tensors.factor(&format!("factor.{number}"))?);
    }
    let mut coupled = Vec::new();
    for (number, matrix) in header.coupled.into_iter().enumerate() {
        coupled.push(tensors.coupled(number, matrix, &factors)?);
    }
    let scale = header.std_scale;
    let uncertainty =
        header.noise.map(|noise| tensors.uncertainty(noise, scale, factors.len())).transpose()?;
    let offsets = header.offsets.map(|header| tensors.offsets(header, factors.len())).transpose()?;
    let choice = header.choice.then(|| tensors.choice()).transpose()?;
    if let Some(name) = tensors.0.keys().next() {
        return Err(format!("has a tensor \"{name}\" that does not belong to its model").into());
    }
    let model = Model::new(modes, core, factors, coupled, header.range);
    let model = model.and_then(|model| match uncertainty {
        Some(uncertainty) => model.with_uncertainty(uncertainty),
        None => Ok(model),
    });
    let model = model.and_then(|model| match offsets {
        Some(offsets) => model.with_offsets(offsets),
        None => Ok(model),
    });
    let model = model.and_then(|model| match choice {
        Some(choice) => model.with_choice(choice),
        None => Ok(model),
    });
    let choice_weights = header.choice_weights;
    if choice_weights.as_ref().is_some_and(|weights| !weights.are_usable()) {
        return Err("has choice_weights that no training gives: they are numbers above zero".into());
    }
    let absent_weight = header.absent_weight;
    if absent_weight.is_some_and(|weight| !(weight > 0.0 && weight <= 1.0)) {
        return Err("has an absent_weight that is not above 0 and at most 1".into());
    }
    let model = model.map(|model| Model { choice_weights, absent_weight, ..model });
    let model = model.map(|model| model.with_value(header.value).with_likelihood(header.likelihood));
    model.map_err(|error| error.to_string().into())
}

/// Refuses tensors that would lie beyond the end of the file, before their offsets are added up: numbers near 2^64
/// would overflow there.
pub(super) fn check_offsets(bytes: &[u8]) -> Result<(), Reason> {
    let cut = || "is cut off or no safetensors file: its header is longer than the file".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let header = rest.get(..length).ok_or_else(cut)?;
    let header: HashMap<String, serde_json::Value> = serde_json::from_slice(header)
        .map_err(|error| Reason::new("is not a whole safetensors file: its header is not JSON", error))?;
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let end = tensor.get("data_offsets").and_then(|offsets| offsets.get(1)).and_then(|end| end.as_u64());
        if end.is_none_or(|end| end > bytes.len() as u64) {
            let what = format!("is cut off or broken: tensor \"{name}\" does not lie within the file");
            return Err(what.into());
        }
    }
    Ok(())
}

/// Whether a file is a model of ours, by what it says of itself; the rest of it may be damaged.
pub(super) fn is_model(path: &Path) -> bool {
    own_text(path, KEY).is_some()
}

/// The text of a key in the metadata of a safetensors file, if there is such a file.
pub(super) fn own_text(path: &Path, key: &str) -> Option<String> {
    /// No header of ours is nearly as long.
    const LONGEST: u64 = 1 << 30;
    let mut file = File::open(path).ok()?;
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST.min(file.metadata().ok()?.len()) {
        return None;
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).ok()?;
    let header: HashMap<String, serde_json::Value> = serde_json::from_slice(&header).ok()?;
    header.get("__metadata__")?.get(key)?.as_str().map(str::to_owned)
}

fn read_header(text: &str) -> Result<Header, Reason> {
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    // The version on its own first: of another version nothing else may be as expected.
    let unreadable =
        |error: serde_json::Error| Reason::new(format!("its \"{KEY}\" metadata cannot be read"), error);
    let Version { format } = serde_json::from_str(text).map_err(unreadable)?;
    if !(1..=FORMAT).contains(&format) {
        let what = format!("has format version {format}, but this version of s3cmtf reads 1 to {FORMAT}");
        return Err(what.into());
    }
    serde_json::from_str(text).map_err(unreadable)
}

/// The tensors that have not been used yet.
struct Tensors<'a>(BTreeMap<String, TensorView<'a>>);

impl Tensors<'_> {
    /// The shape and the numbers of a tensor.
    fn take<T, const BYTES: usize>(
        &mut self,
        name: &str,
        dtype: Dtype,
        read: fn([u8; BYTES]) -> T,
    ) -> Result<(Vec<usize>, Vec<T>), String> {
        let tensor = self.0.remove(name).ok_or(format!("has no tensor \"{name}\""))?;
        if tensor.dtype() != dtype {
            return Err(format!("tensor \"{name}\" should be {dtype}, but is {}", tensor.dtype()));
        }
        let (numbers, _) = tensor.data().as_chunks::<BYTES>();
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

    fn uncertainty(
        &mut self,
        noise: f32,
        scale: Option<StdScale>,
        modes: usize,
    ) -> Result<Uncertainty, String> {
        let (mut shares, mut variances) = (Vec::new(), Vec::new());
        for number in 0..modes {
            shares.push(self.take(&format!("share.{number}"), Dtype::F32, f32::from_le_bytes)?.1);
            variances.push(self.factor(&format!("variance.{number}"))?);
        }
        Ok(Uncertainty { noise, shares, variances, scale })
    }

    fn offsets(
        &mut self,
        OffsetsHeader { mean, lambdas }: OffsetsHeader,
        modes: usize,
    ) -> Result<Offsets, String> {
        let rows =
            |number: usize| Ok(self.take(&format!("offset.{number}"), Dtype::F32, f32::from_le_bytes)?.1);
        let rows = (0..modes).map(rows).collect::<Result<_, String>>()?;
        Ok(Offsets { mean, lambdas, rows })
    }

    fn choice(&mut self) -> Result<Choice, String> {
        let factors = [self.factor("choice.0")?, self.factor("choice.1")?];
        if factors[0].rank() != factors[1].rank() {
            return Err("tensors \"choice.0\" and \"choice.1\" have rows of different lengths".into());
        }
        Ok(Choice::new(factors))
    }

    fn mode(&mut self, header: ModeHeader, prefix: &str, number: usize) -> Result<Mode, String> {
        let (name, size) = (format!("{prefix}present.{number}"), header.size);
        let mode = if self.0.contains_key(&name) {
            let (shape, present) = self.take(&name, Dtype::U32, u32::from_le_bytes)?;
            let wrong = || {
                format!("tensor \"{name}\" should be one row of ascending numbers below {size}, but is not")
            };
            Mode::with_present(header.name, size, present).filter(|_| shape.len() == 1).ok_or_else(wrong)?
        } else {
            Mode::new(header.name, size)
        };
        let Some(naming) = header.naming else { return Ok(mode) };
        let (text, ends) = (format!("{prefix}label.{number}"), format!("{prefix}label_end.{number}"));
        let (_, bytes) = self.take(&text, Dtype::U8, u8::from_le_bytes)?;
        let (_, numbers) = self.take(&ends, Dtype::U64, u64::from_le_bytes)?;
        let labels = String::from_utf8(bytes).ok().and_then(|text| Labels::from_parts(&text, &numbers));
        let NamingHeader { column, binning } = naming;
        let named = labels.and_then(|labels| mode.named(Naming { column, binning, labels }));
        named.ok_or_else(|| {
            format!("tensors \"{text}\" and \"{ends}\" should hold {size} distinct names, but do not")
        })
    }

    fn coupled(
        &mut self,
        number: usize,
        matrix: CoupledHeader,
        factors: &[Factor],
    ) -> Result<CoupledFactor, String> {
        let CoupledHeader { name, mode, kind, weight, columns, explained } = matrix;
        let rank = factors.get(mode).map(Factor::rank).ok_or(format!(
            "coupled matrix {name} is coupled to mode {mode} (counted from 0), but there are {} modes",
            factors.len()
        ))?;
        let (columns, factor) = match (kind, columns) {
            (Absent::Graph, _) => (Mode::new("", 0), Factor::new(rank, Vec::new())),
            (_, None) => return Err(format!("coupled matrix {name} has no columns in the metadata")),
            (_, Some(columns)) => {
                (self.mode(columns, "coupled_", number)?, self.factor(&format!("coupled.{number}"))?)
            }
        };
        let effects = explained.map(|explained| self.effects(number, explained)).transpose()?;
        Ok(CoupledFactor { name, mode, kind, weight, columns, factor, effects })
    }

    fn effects(&mut self, number: usize, explained: f32) -> Result<Effects, String> {
        Ok(Effects {
            factor: self.factor(&format!("effect.{number}"))?,
            base: self.take(&format!("effect_base.{number}"), Dtype::F32, f32::from_le_bytes)?.1,
            offsets: self.take(&format!("effect_offset.{number}"), Dtype::F32, f32::from_le_bytes)?.1,
            explained,
        })
    }
}
