//! The bytes of an input file, compressed or not.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use memmap2::Mmap;

/// What a file compressed with gzip begins with (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How much a compressed file may hold. It is unpacked into memory, and a few kilobytes can claim
/// to be terabytes.
const UNPACKED_LIMIT: u64 = 8 << 30;

/// The bytes of a file, unpacked.
#[derive(Debug)]
pub(crate) enum Input {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Input {
    /// Maps a file into memory, or unpacks it there if it is compressed.
    ///
    /// # Errors
    /// What the system reports; damaged compression; and what unpacks to more than 8 GiB.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let bytes = Self::open_packed(path)?;
        if bytes.starts_with(&GZIP_MAGIC) {
            unpack(&bytes, UNPACKED_LIMIT).map(Self::Owned)
        } else {
            Ok(bytes)
        }
    }

    /// Whether the file is compressed, and the first `limit` bytes of what it holds.
    ///
    /// # Errors
    /// What the system reports, and damaged compression.
    pub(crate) fn head(path: &Path, limit: u64) -> io::Result<(bool, Vec<u8>)> {
        let mut head = Vec::new();
        File::open(path)?.take(limit).read_to_end(&mut head)?;
        if !head.starts_with(&GZIP_MAGIC) {
            return Ok((false, head));
        }
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(File::open(path)?).take(limit).read_to_end(&mut unpacked)?;
        Ok((true, unpacked))
    }

    fn open_packed(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let found = file.metadata()?;
        if found.is_file() && found.len() > 0 {
            // SAFETY: nobody writes through the map. A program that shortens the file meanwhile
            // ends this one with a signal, which the gain in speed is worth.
            return unsafe { Mmap::map(&file) }.map(Self::Mapped);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }
}

fn unpack(packed: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let text = format!("it unpacks to more than {limit} bytes; unpack it with gunzip first");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
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
    fn damaged_compression_is_an_error() {
        let mut bytes = packed(b"some text that is long enough");
        bytes.truncate(20);
        assert!(unpack(&bytes, 100).is_err());
    }
}
