//! The data of a tensor, in whichever of ONNX's storage forms a file keeps it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use bytes::Bytes;
use opscope_files::MappedFile;
use opscope_trace::DataType;

use crate::proto::{TensorProto, data_type_from_onnx};

/// A tensor with its data.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    /// The element type.
    pub data_type: DataType,
    /// The dimensions; none for a scalar.
    pub dims: Vec<u64>,
    /// The elements in row-major order, little-endian; types of less than a byte are packed, the
    /// first element in the low bits.
    pub bytes: Bytes,
}

/// Why the data of a tensor can't be had. `tensor` is its name.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum TensorError {
    #[error("the tensor `{tensor}` has elements of type number {number}, which is not a type of numbers")]
    NotNumbers { tensor: String, number: i32 },
    #[error("the tensor `{tensor}` has impossible dimensions {dims:?}")]
    Dimensions { tensor: String, dims: Vec<i64> },
    #[error(
        "the tensor `{tensor}` should have {expected} bytes of data ({data_type}, {dims:?}) but has {found}"
    )]
    Size { tensor: String, data_type: DataType, dims: Vec<u64>, expected: u64, found: u64 },
    #[error("the tensor `{tensor}` is stored in segments, which no known program writes")]
    Segmented { tensor: String },
    #[error(
        "the data of the tensor `{tensor}` lies in the file `{location}`, but the folder of the model \
         is not known"
    )]
    NoFolder { tensor: String, location: String },
    #[error(
        "the data of the tensor `{tensor}` should lie in `{location}`, which leaves the folder of the \
         model; a model may only name files beside or below itself"
    )]
    Outside { tensor: String, location: String },
    #[error(
        "the data of the tensor `{tensor}` lies in the file {path}, which cannot be opened: {source}; \
         it must be kept beside the model"
    )]
    Missing { tensor: String, path: PathBuf, source: std::io::Error },
    #[error(
        "the data of the tensor `{tensor}` should be {length} bytes at {offset} of the file {path}, \
         which has only {available} bytes; the file may be incomplete or belong to another model"
    )]
    TooShort { tensor: String, path: PathBuf, offset: u64, length: u64, available: u64 },
    #[error("the tensor `{tensor}` says that its data lies in another file, but its {key} is `{text}`")]
    Place { tensor: String, key: &'static str, text: String },
}

impl TensorData {
    /// Reads a tensor, looking into `files` if its data lies outside the model.
    pub(crate) fn read(tensor: &TensorProto, files: &ExternalFiles) -> Result<Self, TensorError> {
        let name = || tensor.name().to_owned();
        if tensor.segment.is_some() {
            return Err(TensorError::Segmented { tensor: name() });
        }
        let number = tensor.data_type.unwrap_or(0);
        let data_type = data_type_from_onnx(number);
        if data_type.bits().is_none() {
            return Err(TensorError::NotNumbers { tensor: name(), number });
        }
        let dimensions = || TensorError::Dimensions { tensor: name(), dims: tensor.dims.clone() };
        let dims: Option<Vec<u64>> = tensor.dims.iter().map(|&n| u64::try_from(n).ok()).collect();
        let dims = dims.ok_or_else(dimensions)?;
        let expected =
            element_count(&dims).and_then(|count| data_type.bytes(count)).ok_or_else(dimensions)?;
        let bytes = if tensor.data_location == Some(1) {
            files.read(tensor, expected)?
        } else if let Some(raw) = &tensor.raw_data {
            raw.clone()
        } else {
            packed_fields(tensor, data_type)
        };
        if bytes.len() as u64 != expected {
            let found = bytes.len() as u64;
            return Err(TensorError::Size { tensor: name(), data_type, dims, expected, found });
        }
        Ok(Self { data_type, dims, bytes })
    }

    /// How many elements there are.
    pub fn elements(&self) -> u64 {
        element_count(&self.dims).unwrap_or(u64::MAX)
    }

    /// The elements as integers; `None` for types that aren't, and for unsigned ones beyond `i64`.
    pub fn to_i64s(&self) -> Option<Vec<i64>> {
        Some(match self.data_type {
            DataType::Int64 => self.map(i64::from_le_bytes),
            DataType::Int32 => self.map(|b| i32::from_le_bytes(b).into()),
            DataType::Int16 => self.map(|b| i16::from_le_bytes(b).into()),
            DataType::Int8 => self.map(|b| i8::from_le_bytes(b).into()),
            DataType::Uint32 => self.map(|b| u32::from_le_bytes(b).into()),
            DataType::Uint16 => self.map(|b| u16::from_le_bytes(b).into()),
            DataType::Uint8 | DataType::Bool => self.map(|b| u8::from_le_bytes(b).into()),
            DataType::Uint64 => {
                let wide: Vec<u64> = self.map(u64::from_le_bytes);
                return wide.into_iter().map(|n| i64::try_from(n).ok()).collect();
            }
            DataType::Int4 => self.unpack(4, true),
            DataType::Uint4 => self.unpack(4, false),
            DataType::Int2 => self.unpack(2, true),
            DataType::Uint2 => self.unpack(2, false),
            _ => return None,
        })
    }

    /// The elements as floating-point numbers; integers are converted. `None` for complex numbers
    /// and types of eight bits and less that aren't integers.
    pub fn to_f64s(&self) -> Option<Vec<f64>> {
        Some(match self.data_type {
            DataType::Float64 => self.map(f64::from_le_bytes),
            DataType::Float32 => self.map(|b| f32::from_le_bytes(b).into()),
            DataType::Float16 => self.map(|b| half_to_f32(u16::from_le_bytes(b)).into()),
            DataType::BFloat16 => self.map(|b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16).into()),
            DataType::Uint64 => self.map(|b| u64::from_le_bytes(b) as f64),
            _ => self.to_i64s()?.into_iter().map(|n| n as f64).collect(),
        })
    }

    /// The elements as single-precision numbers, as [`TensorData::to_f64s`] has them.
    pub fn to_f32s(&self) -> Option<Vec<f32>> {
        if self.data_type == DataType::Float32 {
            return Some(self.map(f32::from_le_bytes));
        }
        Some(self.to_f64s()?.into_iter().map(|x| x as f32).collect())
    }

    fn map<const N: usize, T>(&self, convert: impl Fn([u8; N]) -> T) -> Vec<T> {
        self.bytes.as_chunks::<N>().0.iter().map(|chunk| convert(*chunk)).collect()
    }

    fn unpack(&self, bits: u32, signed: bool) -> Vec<i64> {
        let per_byte = 8 / bits;
        let element = |index: u64| {
            let byte = self.bytes.get((index / u64::from(per_byte)) as usize).copied().unwrap_or(0);
            let shift = (index % u64::from(per_byte)) as u32 * bits;
            let value = i64::from(byte >> shift) & ((1 << bits) - 1);
            if signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
        };
        (0..self.elements()).map(element).collect()
    }
}

/// The number of elements of a tensor of these dimensions; `None` when it is beyond what 64 bits can count.
pub fn element_count(dims: &[u64]) -> Option<u64> {
    // A zero makes the product zero even where the other dimensions alone would overflow.
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))
}

/// The data of a tensor that is kept in one of the fields of numbers, as bytes. Which field holds
/// which type is laid down in ONNX's interface definition: `int32_data` holds everything of up to 32
/// bits but `float` and `uint32`, each element (or byte of packed elements) in one number.
fn packed_fields(tensor: &TensorProto, data_type: DataType) -> Bytes {
    let bytes: Vec<u8> = match data_type {
        DataType::Float32 | DataType::Complex64 => bytes_of(&tensor.float_data, |x| x.to_le_bytes()),
        DataType::Float64 | DataType::Complex128 => bytes_of(&tensor.double_data, |x| x.to_le_bytes()),
        DataType::Int64 => bytes_of(&tensor.int64_data, |x| x.to_le_bytes()),
        DataType::Uint64 => bytes_of(&tensor.uint64_data, |x| x.to_le_bytes()),
        DataType::Uint32 => bytes_of(&tensor.uint64_data, |x| (x as u32).to_le_bytes()),
        DataType::Int32 => bytes_of(&tensor.int32_data, |x| x.to_le_bytes()),
        DataType::Float16 | DataType::BFloat16 | DataType::Int16 | DataType::Uint16 => {
            bytes_of(&tensor.int32_data, |x| (x as u16).to_le_bytes())
        }
        _ => bytes_of(&tensor.int32_data, |x| [x as u8]),
    };
    bytes.into()
}

fn bytes_of<T: Copy, const N: usize>(values: &[T], convert: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| convert(*value)).collect()
}

/// An IEEE 754 half-precision number: 1 bit of sign, 5 of exponent, 10 of fraction.
fn half_to_f32(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff) / 1024.0);
    sign * match exponent {
        0 => fraction * 2f32.powi(-14),
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1.0 + fraction) * 2f32.powi(exponent - 15),
    }
}

/// The files beside a model that hold the data of its tensors; each is mapped once, when its first
/// tensor is read.
#[derive(Debug, Default)]
pub(crate) struct ExternalFiles {
    folder: Option<PathBuf>,
    mapped: Mutex<BTreeMap<PathBuf, Bytes>>,
}

impl ExternalFiles {
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned), mapped: Mutex::default() }
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The data of a tensor that lies in another file.
    fn read(&self, tensor: &TensorProto, expected: u64) -> Result<Bytes, TensorError> {
        let place = |key| {
            let entry = tensor.external_data.iter().find(|entry| entry.key() == key);
            entry.map(|entry| entry.value())
        };
        let number = |key: &'static str| match place(key) {
            None => Ok(None),
            Some(text) => text.trim().parse::<u64>().map(Some).map_err(|_| TensorError::Place {
                tensor: tensor.name().to_owned(),
                key,
                text: text.to_owned(),
            }),
        };
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?.unwrap_or(expected));
        let path = self.path(tensor, place("location").unwrap_or(""))?;
        let file = self.map(tensor, &path)?;
        let end = offset.checked_add(length).filter(|end| *end <= file.len() as u64);
        let Some(end) = end else {
            let (tensor, available) = (tensor.name().to_owned(), file.len() as u64);
            return Err(TensorError::TooShort { tensor, path, offset, length, available });
        };
        Ok(file.slice(offset as usize..end as usize))
    }

    /// Where a file lies that a tensor names. Only the name is judged: links that the user's own
    /// file system holds are followed, because model hubs store every file as one.
    fn path(&self, tensor: &TensorProto, location: &str) -> Result<PathBuf, TensorError> {
        let (tensor, location_text) = (tensor.name().to_owned(), location.to_owned());
        if location.is_empty() {
            return Err(TensorError::Place { tensor, key: "location", text: location_text });
        }
        let relative = Path::new(location);
        let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !relative.components().all(inside) {
            return Err(TensorError::Outside { tensor, location: location_text });
        }
        match &self.folder {
            Some(folder) => Ok(folder.join(relative)),
            None => Err(TensorError::NoFolder { tensor, location: location_text }),
        }
    }

    fn map(&self, tensor: &TensorProto, path: &Path) -> Result<Bytes, TensorError> {
        let mut mapped = self.mapped.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(file) = mapped.get(path) {
            return Ok(file.clone());
        }
        let file = map_file(path).map_err(|source| TensorError::Missing {
            tensor: tensor.name().to_owned(),
            path: path.to_owned(),
            source,
        })?;
        mapped.insert(path.to_owned(), file.clone());
        Ok(file)
    }
}

/// Maps a file into memory.
///
/// # Errors
/// When it can't be opened or mapped, or is no regular file: a device or pipe has no end.
pub(crate) fn map_file(path: &Path) -> std::io::Result<Bytes> {
    let file = opscope_files::open_plain(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    Ok(Bytes::from_owner(MappedFile::new(&file, path)?))
}
