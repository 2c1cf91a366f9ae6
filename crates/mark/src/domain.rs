//! Domains: namespaces for the texts of marks. Records name them by a hash, which the dictionary of
//! the profile explains.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use opscope_cann_raw::hash_of;
use opscope_recorder::environment;
use opscope_recorder::sink::{create_slice, write_all};

/// A domain, by the hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain(pub(crate) u64);

/// The stream of the dictionary.
const STREAM: &str = "unaging.additional.hash_dic";

static DICTIONARY: Mutex<Dictionary> = Mutex::new(Dictionary { names: BTreeMap::new(), file: None });
/// The hash of the default domain's name, once that is in the dictionary.
static DEFAULT: AtomicU64 = AtomicU64::new(0);

/// All names that this process has used.
struct Dictionary {
    names: BTreeMap<u64, String>,
    /// Where they are written, once something is recorded.
    file: Option<PathBuf>,
}

/// Whether the collector wants the marks of a domain.
pub(crate) fn is_wanted(domain: Domain) -> bool {
    static FILTERS: OnceLock<[Option<Vec<u64>>; 2]> = OnceLock::new();
    let [include, exclude] = FILTERS.get_or_init(|| {
        [environment::MARK_INCLUDE, environment::MARK_EXCLUDE].map(|variable| {
            let names = environment::value(variable)?.into_string().ok()?;
            Some(names.split(',').map(|name| hash_of(name.trim())).collect())
        })
    });
    include.as_ref().is_none_or(|hashes| hashes.contains(&domain.0))
        && exclude.as_ref().is_none_or(|hashes| !hashes.contains(&domain.0))
}

/// The domain of marks that name none.
#[inline]
pub fn default() -> Domain {
    match DEFAULT.load(Ordering::Relaxed) {
        0 => {
            let domain = named("default");
            DEFAULT.store(domain.0, Ordering::Relaxed);
            domain
        }
        hash => Domain(hash),
    }
}

/// The domain of a name. This takes a lock and may take a file; keep the result.
pub fn named(name: &str) -> Domain {
    // A line of the dictionary is one name.
    let name = name.replace(['\n', '\r', '\0'], " ");
    let hash = hash_of(&name);
    // After a fork the lock may be held by a thread that isn't there: such a name stays unknown.
    if let Ok(mut dictionary) = DICTIONARY.try_lock()
        && !dictionary.names.contains_key(&hash)
    {
        if let Some(file) = &dictionary.file {
            let _ = append(file, &format!("{hash}:{name}\n"));
        }
        dictionary.names.insert(hash, name);
    }
    Domain(hash)
}

/// Writes down all names for a recorder that begins, and those that follow as they come.
pub(crate) fn begin(directory: &Path) {
    let Ok(mut dictionary) = DICTIONARY.try_lock() else { return };
    // Marks whose domain can't be written down are nameless, not lost.
    dictionary.file = create_slice(directory, STREAM, &mut 0).ok();
    let lines: String = dictionary.names.iter().map(|(hash, name)| format!("{hash}:{name}\n")).collect();
    if let Some(file) = &dictionary.file {
        let _ = append(file, &lines);
    }
}

fn append(file: &Path, lines: &str) -> io::Result<()> {
    write_all(&mut OpenOptions::new().append(true).open(file)?, lines.as_bytes())
}
