//! Files mapped into memory, and which of them an address belongs to.
//!
//! A program that shortens a file while it is mapped makes the system end whoever reads the missing part
//! with a signal (`SIGBUS`). So every map is listed here with the name of its file, where a handler of that
//! signal finds it: no locks, no allocation.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use memmap2::Mmap;

/// Maps that have a place in the list; further ones are read as well, and have no name when they fail.
const PLACES: usize = 4096;

/// One map. A place is free while its length is zero.
struct Place {
    start: AtomicUsize,
    bytes: AtomicUsize,
    name: AtomicPtr<u8>,
    name_bytes: AtomicUsize,
}

static LIST: [Place; PLACES] = [const {
    Place {
        start: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        name: AtomicPtr::new(std::ptr::null_mut()),
        name_bytes: AtomicUsize::new(0),
    }
}; PLACES];

/// Free places, as far as they were used before; and how many were ever used.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// A file mapped into memory, for reading only.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
    place: Option<usize>,
}

impl MappedFile {
    /// Maps an open file that holds something; `path` is its name in messages.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(file: &File, path: &Path) -> io::Result<Self> {
        // SAFETY: the map is private and only read. A program that shortens the file meanwhile ends this
        // one with a signal, whose handler says so.
        let map = unsafe { Mmap::map(file) }?;
        let place = list(&map, path);
        Ok(Self { map, place })
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        let Some(index) = self.place else { return };
        let place = &LIST[index];
        place.bytes.store(0, Ordering::SeqCst);
        let name = place.name.swap(std::ptr::null_mut(), Ordering::SeqCst);
        let bytes = place.name_bytes.load(Ordering::SeqCst);
        // SAFETY: these are the parts of the box that `list` leaked into this place, which is this
        // map's alone. The handler reads the name of a map only while that map is being read, so not now.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(name, bytes)) });
        FREE.lock().unwrap_or_else(PoisonError::into_inner).0.push(index);
    }
}

/// Puts a map into the list; `None` where there is no room.
fn list(map: &Mmap, path: &Path) -> Option<usize> {
    if map.is_empty() {
        return None;
    }
    let index = {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        match free.0.pop() {
            Some(index) => index,
            None if free.1 < PLACES => {
                free.1 += 1;
                free.1 - 1
            }
            None => return None,
        }
    };
    let place = LIST.get(index)?;
    // As a terminal may show it, whatever the name holds.
    let name = path.to_string_lossy().escape_debug().to_string();
    let name = Box::leak(name.into_bytes().into_boxed_slice());
    place.name_bytes.store(name.len(), Ordering::SeqCst);
    place.name.store(name.as_mut_ptr(), Ordering::SeqCst);
    place.start.store(map.as_ptr().addr(), Ordering::SeqCst);
    place.bytes.store(map.len(), Ordering::SeqCst);
    Some(index)
}

/// The name of the mapped file to which an address belongs, for a handler of `SIGBUS`: it may be called
/// from one, on the thread that was reading there.
///
/// # Safety
/// The file is mapped until the answer is dropped. That is so on a thread that was just stopped while it
/// read from that address.
pub unsafe fn file_at<'a>(address: usize) -> Option<&'a [u8]> {
    let is_within = |place: &&Place| {
        let (start, bytes) = (place.start.load(Ordering::SeqCst), place.bytes.load(Ordering::SeqCst));
        bytes > 0 && address >= start && address - start < bytes
    };
    let place = LIST.iter().find(is_within)?;
    let (name, bytes) = (place.name.load(Ordering::SeqCst), place.name_bytes.load(Ordering::SeqCst));
    // SAFETY: the map is there, so its name is; the caller promises it.
    (!name.is_null()).then(|| unsafe { std::slice::from_raw_parts(name, bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_the_name_of_its_file_for_as_long_as_that_is_mapped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let map = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![7; 10_000]).expect("a file");
            MappedFile::new(&File::open(&path).expect("a file"), &path).expect("a map")
        };
        let (first, second) = (map("first"), map("se\u{1b}[2Jcond"));
        let name = |map: &MappedFile, offset: usize| {
            // SAFETY: the map is there while the name is copied.
            let name = unsafe { file_at(map.as_ptr().addr() + offset) };
            name.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
        };
        assert!(name(&first, 0).ends_with("/first") && name(&first, 9_999).ends_with("/first"));
        assert!(name(&second, 5_000).ends_with("/se\\u{1b}[2Jcond"), "{}", name(&second, 5_000));
        let address = first.as_ptr().addr();
        drop(first);
        // SAFETY: nothing is read behind the answer.
        assert!(unsafe { file_at(address) }.is_none());
    }
}
