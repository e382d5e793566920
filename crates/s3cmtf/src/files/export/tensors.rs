//! Arrays as a safetensors file: codes in the place of texts, which are lists in the metadata.

use std::borrow::Cow;
use std::collections::HashMap;

use safetensors::{Dtype, SafeTensorError, View};

use super::{Out, Values};

impl View for &Out<'_> {
    fn dtype(&self) -> Dtype {
        match self.values {
            Values::Integers(_) | Values::Times(_) => Dtype::I64,
            Values::Texts(..) => Dtype::U32,
            Values::Numbers(_) => Dtype::F64,
            Values::Singles(_) => Dtype::F32,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self.values {
            Values::Integers(values) | Values::Times(values) => {
                values.iter().flat_map(|value| value.to_le_bytes()).collect()
            }
            Values::Texts(codes, _) => codes.iter().flat_map(|code| code.to_le_bytes()).collect(),
            Values::Numbers(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::Singles(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    fn data_len(&self) -> usize {
        let width = match self.values {
            Values::Integers(_) | Values::Times(_) | Values::Numbers(_) => 8,
            Values::Texts(..) | Values::Singles(_) => 4,
        };
        width * self.values.len()
    }
}

/// The bytes of a file; `labels.NAME` in its metadata is the list of texts, in JSON, that the codes of `NAME` count in.
pub(super) fn to_bytes(arrays: &[Out]) -> Result<Vec<u8>, SafeTensorError> {
    let mut metadata = HashMap::new();
    for array in arrays {
        if let Values::Texts(_, labels) = array.values {
            let texts: Vec<&str> = labels.iter().collect();
            metadata.insert(format!("labels.{}", array.name), serde_json::to_string(&texts)?);
        }
    }
    let metadata = (!metadata.is_empty()).then_some(metadata);
    safetensors::serialize(arrays.iter().map(|array| (array.name.as_str(), array)), metadata)
}
