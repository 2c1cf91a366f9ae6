//! The bytes of an input file, compressed or not.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use opscope_files::MappedFile;

/// The first bytes of a file compressed with gzip (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How much a compressed file may hold. It is unpacked into memory, and a few kilobytes can claim
/// to be terabytes.
const UNPACKED_LIMIT: u64 = 8 << 30;

/// The bytes of a file, unpacked.
#[derive(Debug)]
pub enum Input {
    /// An uncompressed file.
    Mapped(MappedFile),
    /// Unpacked bytes, or bytes from elsewhere.
    Owned(Vec<u8>),
    /// The beginning of a compressed file that is cut off or damaged.
    Cut {
        /// The bytes before the damage.
        bytes: Vec<u8>,
        /// The reason why the unpacking ended.
        problem: String,
    },
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(bytes) => bytes,
            Self::Owned(bytes) | Self::Cut { bytes, .. } => bytes,
        }
    }
}

impl Input {
    /// Maps a file into memory, or unpacks it there if it is compressed. Where the compression is
    /// cut off or damaged, what stands before that is kept.
    ///
    /// # Errors
    /// Errors of the system, compression that gives nothing, and more than 8 GiB of unpacked bytes.
    pub fn open(path: &Path) -> io::Result<Self> {
        let bytes = Self::open_packed(path)?;
        if bytes.starts_with(&GZIP_MAGIC) { unpack(&bytes, UNPACKED_LIMIT) } else { Ok(bytes) }
    }

    /// The reason why the unpacking of a compressed file stopped before its end.
    pub fn damage(&self) -> Option<&str> {
        match self {
            Self::Cut { problem, .. } => Some(problem),
            Self::Mapped(_) | Self::Owned(_) => None,
        }
    }

    /// Whether the file is compressed, and the first `limit` bytes of what it holds.
    ///
    /// # Errors
    /// Errors of the system, and compression that gives nothing.
    pub fn head(path: &Path, limit: u64) -> io::Result<(bool, Vec<u8>)> {
        let mut head = Vec::new();
        File::open(path)?.take(limit).read_to_end(&mut head)?;
        if !head.starts_with(&GZIP_MAGIC) {
            return Ok((false, head));
        }
        let mut unpacked = Vec::new();
        match MultiGzDecoder::new(File::open(path)?).take(limit).read_to_end(&mut unpacked) {
            Err(error) if unpacked.is_empty() => Err(damaged(&error)),
            _ => Ok((true, unpacked)),
        }
    }

    fn open_packed(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let found = file.metadata()?;
        if found.is_file() && found.len() > 0 {
            return MappedFile::new(&file, path).map(Self::Mapped);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }
}

fn unpack(packed: &[u8], limit: u64) -> io::Result<Input> {
    let mut bytes = Vec::new();
    let unpacked = MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > limit {
        let text = format!("it unpacks to more than {limit} bytes; unpack it with gunzip first");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    match unpacked {
        Ok(_) => Ok(Input::Owned(bytes)),
        Err(error) if bytes.is_empty() => Err(damaged(&error)),
        Err(error) => Ok(Input::Cut { problem: damaged(&error).to_string(), bytes }),
    }
}

/// The fault of a compressed file, in words that say so.
fn damaged(error: &io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "the compressed file is cut off"),
        kind => io::Error::new(kind, format!("the compressed file is damaged: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_file_reads_like_the_plain_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        for (content, compressed) in [(b"[1, 2]".to_vec(), false), (packed(b"[1, 2]"), true)] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(&*Input::open(&path).unwrap(), b"[1, 2]");
            assert_eq!(Input::head(&path, 3).unwrap(), (compressed, b"[1,".to_vec()));
        }
        std::fs::write(&path, "").unwrap();
        assert!(Input::open(&path).unwrap().is_empty());
    }

    #[test]
    fn a_file_that_claims_to_be_endless_is_refused() {
        let failed = unpack(&packed(&[0; 5_000]), 4_999).unwrap_err();
        assert!(failed.to_string().contains("4999 bytes"), "{failed}");
        assert_eq!(unpack(&packed(&[0; 5_000]), 5_000).unwrap().len(), 5_000);
    }

    #[test]
    fn what_stands_before_the_damage_of_a_compressed_file_is_kept() {
        let text: Vec<u8> =
            (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut bytes = packed(&text);
        bytes.truncate(bytes.len() / 2);
        let cut = unpack(&bytes, 1 << 20).unwrap();
        assert!(cut.len() > 1_000 && text.starts_with(&cut), "{}", cut.len());
        assert_eq!(cut.damage(), Some("the compressed file is cut off"));
        assert!(unpack(&bytes[..12], 100).unwrap_err().to_string().contains("cut off"));
        let mut bytes = packed(&text);
        let middle = bytes.len() / 2;
        bytes[middle..middle + 64].fill(0xff);
        assert!(unpack(&bytes, 1 << 20).unwrap().damage().is_some_and(|problem| problem.contains("damaged")));
    }
}
