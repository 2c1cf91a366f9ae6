//! The data of constants, in a `.bin` of the model's name.

use std::path::Path;

use bytes::Bytes;
use opscope_trace::DataType;

use super::super::assembly;
use super::document::Layer;
use crate::element_count;
use crate::proto::TensorProto;
use crate::provenance::{Provenance, StatedValue};
use crate::tensor::{ExternalFiles, TensorData, map_file};

/// The elements of a constant that are looked at; sizes, axes and the like are fewer.
const MOST_LISTED: u64 = 1024;

/// The file with the data.
#[derive(Debug, Default)]
pub(super) struct Weights {
    bytes: Option<Bytes>,
}

/// A constant.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub tensor: TensorProto,
    /// Whether there is a file, but not the data.
    pub is_outside: bool,
}

impl Weights {
    /// The data beside a model; none where there are none.
    pub fn beside(path: &Path, provenance: &mut Provenance) -> Self {
        let file = path.with_extension("bin");
        let bytes = match map_file(&file) {
            Ok(bytes) if bytes.starts_with(b"version https://git-lfs") => {
                provenance.losses.push(format!(
                    "{} is a Git LFS pointer: fetch the file itself with `git lfs pull`; constants are known by their \
                     sizes alone",
                    file.display()
                ));
                return Self::default();
            }
            Ok(bytes) => bytes,
            Err(error) => {
                provenance.losses.push(format!(
                    "the weights beside it cannot be read ({}: {error}); constants are known by their sizes alone",
                    file.display()
                ));
                return Self::default();
            }
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        provenance.state("weights of", "weights_file", StatedValue::Text(name));
        Self { bytes: Some(bytes) }
    }

    /// The constant of a layer, whose data stay in the file. One whose place isn't within the file, or whose bytes
    /// don't fit its sizes, has none.
    pub fn constant(&self, layer: &Layer<'_>, data_type: DataType, dims: &[i64]) -> Constant {
        let mut tensor = assembly::weight("", data_type, dims);
        let sizes: Vec<u64> = tensor.dims.iter().map(|&size| size.unsigned_abs()).collect();
        // Texts have lengths of their own.
        let expected = element_count(&sizes).and_then(|count| data_type.bytes(count));
        let mut is_outside = false;
        if let (Some(file), Some(expected)) = (&self.bytes, expected) {
            let number = |key| layer.data.get(key).and_then(|text| text.trim().parse::<u64>().ok());
            let place = number("offset").zip(number("size")).filter(|(_, size)| *size == expected);
            // Of a tensor of nothing, one byte is written.
            let range = if expected == 0 { Some(0..0) } else { None };
            let range = range.or_else(|| {
                place.and_then(|(offset, size)| {
                    let end = offset.checked_add(size).filter(|end| *end <= file.len() as u64)?;
                    Some(offset as usize..end as usize)
                })
            });
            is_outside = range.is_none();
            tensor.raw_data = range.map(|range| file.slice(range));
        }
        Constant { tensor, is_outside }
    }
}

impl Constant {
    fn data(&self) -> Option<TensorData> {
        let sizes: Vec<u64> = self.tensor.dims.iter().map(|&size| size.unsigned_abs()).collect();
        let is_short = element_count(&sizes).is_some_and(|count| count <= MOST_LISTED);
        let is_there = is_short && self.tensor.raw_data.is_some();
        is_there.then(|| TensorData::read(&self.tensor, &ExternalFiles::default()).ok()).flatten()
    }

    /// The elements of a short list of integers.
    pub fn ints(&self) -> Option<Vec<i64>> {
        self.data()?.to_i64s()
    }

    /// The elements of a short list of numbers.
    pub fn floats(&self) -> Option<Vec<f64>> {
        self.data()?.to_f64s()
    }
}
