//! Tensors in NumPy's `.npy` files.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use npyz::{DType, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};
use opscope_trace::DataType;

use crate::host_tensor::{HostTensor, shape_text};

/// Why a `.npy` file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file isn't there, isn't readable or isn't of this format.
    #[error("{path}: cannot read it as a NumPy file: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The words of the system or of the format's reader.
        source: io::Error,
    },
    /// The file is there, but the elements are of a type that isn't supported.
    #[error(
        "{path}: elements of type {found} are not supported; save the array as bool, an integer or a float"
    )]
    ElementType {
        /// The file.
        path: PathBuf,
        /// The type in NumPy's own spelling.
        found: String,
    },
    /// The file ends too early or holds more than its header says.
    #[error("{path}: its header says {shape}, which takes {expected} bytes of data, but {found} follow")]
    Length {
        /// The file.
        path: PathBuf,
        /// The shape in its header.
        shape: String,
        /// How many bytes that needs.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The file could not be written.
    #[error("{path}: cannot write it: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The words of the system.
        source: io::Error,
    },
}

/// The element types with their kind and size in NumPy's spelling.
const TYPES: [(TypeChar, u64, DataType); 12] = [
    (TypeChar::Bool, 1, DataType::Bool),
    (TypeChar::Int, 1, DataType::Int8),
    (TypeChar::Int, 2, DataType::Int16),
    (TypeChar::Int, 4, DataType::Int32),
    (TypeChar::Int, 8, DataType::Int64),
    (TypeChar::Uint, 1, DataType::Uint8),
    (TypeChar::Uint, 2, DataType::Uint16),
    (TypeChar::Uint, 4, DataType::Uint32),
    (TypeChar::Uint, 8, DataType::Uint64),
    (TypeChar::Float, 2, DataType::Float16),
    (TypeChar::Float, 4, DataType::Float32),
    (TypeChar::Float, 8, DataType::Float64),
];

/// Reads a tensor from a `.npy` file of any version, in either byte order and either element order.
///
/// # Errors
/// When the file can't be read, isn't of this format, or holds a type that isn't a plain number.
pub fn read(path: &Path) -> Result<HostTensor, NpyError> {
    let failed = |source| NpyError::Read { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let npy = header(&mut file).map_err(failed)?;
    let shape: Vec<usize> = npy.shape().iter().map(|&n| n as usize).collect();
    let dtype = npy.dtype();
    let unsupported = || NpyError::ElementType { path: path.to_owned(), found: dtype.descr() };
    let DType::Plain(plain) = &dtype else { return Err(unsupported()) };
    let found =
        TYPES.iter().find(|(kind, size, _)| *kind == plain.type_char() && *size == plain.size_field());
    let &(_, size, data_type) = found.ok_or_else(unsupported)?;
    let big_endian = plain.endianness() == npyz::Endianness::Big;
    let order = npy.order();

    let size = size as usize;
    let elements = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
    let expected = elements.and_then(|elements| elements.checked_mul(size)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    // The header may promise far more than the file holds, so it reserves nothing.
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() != expected {
        let shape = shape_text(&shape);
        return Err(NpyError::Length { path: path.to_owned(), shape, expected, found: bytes.len() });
    }
    if big_endian {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    if order == Order::Fortran {
        bytes = row_major(&bytes, &shape, size);
    }
    Ok(HostTensor { data_type, shape, bytes })
}

/// The header of a file. The library's own arithmetic gives up on sizes beyond all bounds, in builds
/// that check it with a panic.
fn header(file: &mut impl Read) -> io::Result<NpyHeader> {
    let text = header_text(file)?;
    let beyond = || invalid("its header gives a size beyond all bounds");
    catch_unwind(AssertUnwindSafe(|| NpyHeader::from_reader(&text[..]))).unwrap_or_else(|_| Err(beyond()))
}

/// The bytes of a header: six that are always the same, two of the version, the length in two bytes
/// or from version 2 on in four, and the text. The library's parser takes twice as long for each
/// further bracket within others, so only as many are let through as real headers have.
fn header_text(file: &mut impl Read) -> io::Result<Vec<u8>> {
    const LONGEST: u64 = 1 << 20;
    const DEEPEST: usize = 8;
    let mut bytes = vec![0; 8];
    file.read_exact(&mut bytes)?;
    let field = if bytes[6] < 2 { 2 } else { 4 };
    let mut length = [0; 4];
    file.read_exact(&mut length[..field])?;
    bytes.extend(&length[..field]);
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST {
        return Err(invalid("its header is longer than any real one"));
    }
    file.take(length).read_to_end(&mut bytes)?;
    let mut depth = 0usize;
    for byte in &bytes[8 + field..] {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(invalid("its header has more brackets within each other than any real one"));
        }
    }
    Ok(bytes)
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// The elements of a column-major array in row-major order.
fn row_major(bytes: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for dimension in shape {
        strides.push(stride);
        stride *= dimension;
    }
    let mut ordered = Vec::with_capacity(bytes.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..bytes.len() / size {
        let position: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        ordered.extend_from_slice(&bytes[position * size..][..size]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    ordered
}

/// Writes a tensor as a `.npy` file, whole or not at all. BFloat16, which NumPy lacks, becomes
/// float32 without loss.
///
/// # Errors
/// When the element type has no counterpart in NumPy, or the system refuses.
pub fn write(path: &Path, tensor: &HostTensor) -> Result<(), NpyError> {
    if tensor.data_type == DataType::BFloat16 {
        // A bfloat16 is the upper half of a float32.
        let bytes =
            tensor.bytes.as_chunks::<2>().0.iter().flat_map(|&[low, high]| [0, 0, low, high]).collect();
        return write(path, &HostTensor { data_type: DataType::Float32, shape: tensor.shape.clone(), bytes });
    }
    let unsupported =
        || NpyError::ElementType { path: path.to_owned(), found: tensor.data_type.name().to_owned() };
    let &(kind, size, _) =
        TYPES.iter().find(|(_, _, known)| *known == tensor.data_type).ok_or_else(unsupported)?;
    let endianness = if size == 1 { '|' } else { '<' };
    let dtype: TypeStr = format!("{endianness}{}{size}", kind.to_str()).parse().map_err(|_| unsupported())?;
    let shape: Vec<u64> = tensor.shape.iter().map(|&n| n as u64).collect();

    opscope_files::write_atomically(path, |file| {
        let header = npyz::WriteOptions::new_header_only().dtype(DType::Plain(dtype)).shape(&shape);
        header.writer(&mut *file).write_header_only()?;
        file.write_all(&tensor.bytes)
    })
    .map_err(|source| NpyError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor() -> HostTensor {
        let bytes = (0..6u16).flat_map(u16::to_le_bytes).collect();
        HostTensor { data_type: DataType::Uint16, shape: vec![2, 3], bytes }
    }

    #[test]
    fn a_tensor_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for (_, size, data_type) in TYPES {
            let bytes = (0..6 * size as u8).map(|byte| byte % 2).collect();
            let written = HostTensor { data_type, shape: vec![3, 1, 2], bytes };
            write(&path, &written).unwrap();
            assert_eq!(read(&path).unwrap(), written);
        }
    }

    #[test]
    fn bfloat16_becomes_float32_of_the_same_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let bytes = 0x3fc0u16.to_le_bytes().to_vec();
        write(&path, &HostTensor { data_type: DataType::BFloat16, shape: vec![], bytes }).unwrap();
        let read = read(&path).unwrap();
        assert_eq!((read.data_type, read.bytes), (DataType::Float32, 1.5f32.to_le_bytes().to_vec()));
    }

    /// A file with the given header text and data, as NumPy would write it.
    fn file(header: &str, data: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn column_major_and_big_endian_arrays_are_put_in_order() {
        let columns = [0u16, 3, 1, 4, 2, 5].iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>();
        let (_folder, path) = file("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n", &columns);
        assert_eq!(read(&path).unwrap(), tensor());
    }

    #[test]
    fn a_short_file_says_what_is_missing() {
        let (_folder, path) = file("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }\n", &[0; 11]);
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains("2x3, which takes 12 bytes of data, but 11 follow"), "{text}");
    }

    #[test]
    fn an_impossible_shape_is_an_error_and_not_an_allocation() {
        let header = "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }\n";
        let (_folder, path) = file(header, &[0; 12]);
        assert!(matches!(read(&path), Err(NpyError::Length { .. } | NpyError::Read { .. })));
    }

    #[test]
    fn text_arrays_are_refused_by_their_type() {
        let (_folder, path) = file("{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }\n", &[0; 16]);
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains("<U4"), "{text}");
    }

    /// Found by fuzzing: the parser of the library would be at it for centuries.
    #[test]
    fn brackets_within_each_other_do_not_take_forever() {
        for open in ["[", "(", "{", "[("] {
            let header = format!("{}'or .  '\n", open.repeat(60));
            let (_folder, path) = file(&header, &[1; 24]);
            assert!(matches!(read(&path), Err(NpyError::Read { .. })), "{open}");
        }
        let begin = std::time::Instant::now();
        for open in ["[", "(", "{"] {
            let (_folder, path) = file(&format!("{}'or .  '\n", open.repeat(8)), &[1; 24]);
            let _ = read(&path);
        }
        assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    }

    proptest::proptest! {
        #[test]
        fn no_header_makes_the_reader_panic(header in "\\PC{0,80}", data in proptest::collection::vec(0u8.., 0..40)) {
            let (_folder, path) = file(&header, &data);
            let _ = read(&path);
        }
    }
}
