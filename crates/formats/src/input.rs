//! The bytes of an input file, compressed or not; text in UTF-16 or GB 18030 becomes UTF-8, without a mark.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Deref;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use opscope_files::MappedFile;
use opscope_trace::units;

use crate::{encoding, memory};

/// The first bytes of a file compressed with gzip (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The most that a compressed file may hold: it is unpacked into memory, where what is made of it needs
/// room as well, and a few kilobytes can claim to be terabytes.
fn unpacked_limit() -> u64 {
    memory::allowed() / 3
}

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
        let bytes: &[u8] = match self {
            Self::Mapped(bytes) => bytes,
            Self::Owned(bytes) | Self::Cut { bytes, .. } => bytes,
        };
        without_mark(bytes)
    }
}

impl Input {
    /// Maps a file into memory, or unpacks it there if it is compressed. Where the compression is
    /// cut off or damaged, what stands before that is kept. Text in UTF-16, which begins with its mark, and in
    /// GB 18030, which the first line tells, is turned into UTF-8.
    ///
    /// # Errors
    /// Errors of the system, compression that gives nothing, and more unpacked bytes, or more text in another
    /// encoding, than a third of the memory that may be taken.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_until(path, &|| false)
    }

    /// As [`Input::open`], until it is to stop.
    ///
    /// # Errors
    /// As [`Input::open`], and of the kind [`io::ErrorKind::Interrupted`] where it was stopped.
    pub fn open_until(path: &Path, is_stopped: &dyn Fn() -> bool) -> io::Result<Self> {
        let bytes = Self::open_packed(path)?;
        let unpacked = match bytes.starts_with(&GZIP_MAGIC) {
            true => unpack(&bytes, unpacked_limit(), is_stopped)?,
            false => bytes,
        };
        unpacked.into_utf8(unpacked_limit())
    }

    /// The same in UTF-8, if it is text in another encoding that is turned.
    fn into_utf8(self, limit: u64) -> io::Result<Self> {
        let Some(encoding) = encoding::turned_encoding(&self) else { return Ok(self) };
        if self.len() as u64 > limit {
            let text = format!(
                "it has more than {} of text in {}, a third of the memory that may be taken; save it as UTF-8, \
                 or allow more with --memory",
                units::bytes(limit as f64),
                encoding.name().to_uppercase()
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        let bytes = encoding::to_utf8(&self).unwrap_or_default().into_bytes();
        Ok(match self {
            Self::Cut { problem, .. } => Self::Cut { bytes, problem },
            Self::Mapped(_) | Self::Owned(_) => Self::Owned(bytes),
        })
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
            return Ok((false, as_utf8(head)));
        }
        let mut unpacked = Vec::new();
        match MultiGzDecoder::new(File::open(path)?).take(limit).read_to_end(&mut unpacked) {
            Err(error) if unpacked.is_empty() => Err(damaged(&error)),
            _ => Ok((true, as_utf8(unpacked))),
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

/// Whether two files have the same content, each packed or not; they are read side by side, so that neither has to fit into
/// memory.
///
/// # Errors
/// Errors of the system, and damage of a packed file.
pub fn have_same_content(first: &Path, second: &Path) -> io::Result<bool> {
    let (mut first, mut second) = (content_of(first)?, content_of(second)?);
    loop {
        let (left, right) = (first.fill_buf()?, second.fill_buf()?);
        let both = left.len().min(right.len());
        if both == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..both] != right[..both] {
            return Ok(false);
        }
        first.consume(both);
        second.consume(both);
    }
}

/// The content of a file, to be read piece by piece; unpacked where it is packed.
fn content_of(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(File::open(path)?);
    let is_packed = file.fill_buf()?.starts_with(&GZIP_MAGIC);
    Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) })
}

/// Bytes without the mark that spreadsheets and editors put before UTF-8.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// A begin of a file in UTF-8 without its mark, if it is text.
fn as_utf8(head: Vec<u8>) -> Vec<u8> {
    encoding::to_utf8(&head).map_or_else(|| without_mark(&head).to_vec(), String::into_bytes)
}

fn unpack(packed: &[u8], limit: u64, is_stopped: &dyn Fn() -> bool) -> io::Result<Input> {
    /// The bytes between two questions: some milliseconds.
    const PIECE: u64 = 4 << 20;
    let mut bytes = Vec::new();
    let mut decoder = MultiGzDecoder::new(packed).take(limit + 1);
    let unpacked = loop {
        if is_stopped() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the reading was stopped"));
        }
        match decoder.by_ref().take(PIECE).read_to_end(&mut bytes) {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    if bytes.len() as u64 > limit {
        let text = format!(
            "it unpacks to more than {}, a third of the memory that may be taken; unpack it with gunzip first, \
             or allow more with --memory",
            units::bytes(limit as f64)
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    match unpacked {
        Ok(()) => Ok(Input::Owned(bytes)),
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
    fn text_in_other_encodings_reads_like_the_same_in_utf_8() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let wide: Vec<u8> = "\u{feff}Name,时长".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (content, compressed) in [(wide.clone(), false), (packed(&wide), true)] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(&*Input::open(&path).unwrap(), "Name,时长".as_bytes());
            assert_eq!(Input::head(&path, 10).unwrap(), (compressed, b"Name".to_vec()));
        }
        // A mark before UTF-8 is no part of the text.
        let marked = "\u{feff}Name,时长".as_bytes();
        for (content, compressed) in [(marked.to_vec(), false), (packed(marked), true)] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(&*Input::open(&path).unwrap(), "Name,时长".as_bytes());
            assert_eq!(Input::head(&path, 7).unwrap(), (compressed, b"Name".to_vec()));
        }
        // "Name,任务" in GBK.
        std::fs::write(&path, b"Name,\xc8\xce\xce\xf1").unwrap();
        assert_eq!(&*Input::open(&path).unwrap(), "Name,任务".as_bytes());
        assert_eq!(Input::head(&path, 7).unwrap(), (false, "Name,任".as_bytes().to_vec()));
        let failed = Input::Owned(wide).into_utf8(8).unwrap_err();
        assert!(failed.to_string().contains("save it as UTF-8"), "{failed}");
    }

    #[test]
    fn a_file_that_claims_to_be_endless_is_refused() {
        let failed = unpack(&packed(&[0; 5_000]), 4_999, &|| false).unwrap_err();
        assert!(failed.to_string().contains("4.88 KiB"), "{failed}");
        assert_eq!(unpack(&packed(&[0; 5_000]), 5_000, &|| false).unwrap().len(), 5_000);
    }

    #[test]
    fn unpacking_can_be_stopped_between_its_pieces() {
        let bytes = packed(&vec![0; 20 << 20]);
        let asked = std::cell::Cell::new(0);
        let stop_at = |most| {
            asked.set(0);
            unpack(&bytes, 1 << 30, &|| {
                asked.set(asked.get() + 1);
                asked.get() > most
            })
        };
        assert_eq!(stop_at(usize::MAX).unwrap().len(), 20 << 20);
        let pieces = asked.get();
        assert!(pieces > 3, "{pieces}");
        assert_eq!(stop_at(2).unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn what_stands_before_the_damage_of_a_compressed_file_is_kept() {
        let text: Vec<u8> =
            (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut bytes = packed(&text);
        bytes.truncate(bytes.len() / 2);
        let cut = unpack(&bytes, 1 << 20, &|| false).unwrap();
        assert!(cut.len() > 1_000 && text.starts_with(&cut), "{}", cut.len());
        assert_eq!(cut.damage(), Some("the compressed file is cut off"));
        assert!(unpack(&bytes[..12], 100, &|| false).unwrap_err().to_string().contains("cut off"));
        let mut bytes = packed(&text);
        let middle = bytes.len() / 2;
        bytes[middle..middle + 64].fill(0xff);
        assert!(
            unpack(&bytes, 1 << 20, &|| false)
                .unwrap()
                .damage()
                .is_some_and(|problem| problem.contains("damaged"))
        );
    }
}
