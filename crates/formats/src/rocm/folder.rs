//! A folder of tables, which belong to one run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opscope_trace::{LossKind, Trace};

use super::reader::Reader;
use super::table::{Kind, ReadError, kind_of};
use crate::input::Input;
use crate::reading::Stop;

/// How many names of a folder are looked at.
const MOST_NAMES: usize = 10_000;

/// How much of a file tells its columns.
const HEAD_BYTES: u64 = 4096;

/// The tables of a folder with their names, by kind and name; those of no known kind come first.
fn tables(folder: &Path) -> Vec<(Option<Kind>, String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut tables: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_table = name.ends_with(".csv") && entry.file_type().ok()?.is_file();
            let (_, head) = is_table.then(|| Input::head(&entry.path(), HEAD_BYTES).ok())??;
            Some((kind_of(&head), name, entry.path()))
        })
        .collect();
    // Counters complete kernels, and names of devices are needed by all.
    tables.sort();
    tables
}

/// Whether a folder holds tables of a run.
pub fn is_folder(folder: &Path) -> bool {
    tables(folder).iter().any(|(kind, ..)| !matches!(kind, None | Some(Kind::Agents | Kind::Other)))
}

/// Reads all tables of a folder into one trace.
///
/// # Errors
/// When none can be read, or the reading was stopped.
pub fn read_folder(folder: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    let mut reader = Reader::default();
    let mut processes: BTreeMap<String, u32> = BTreeMap::new();
    let mut has_any = false;
    for (kind, name, path) in tables(folder) {
        if stop.is_wanted() {
            return Err(ReadError::Stopped);
        }
        let Some(kind) = kind else {
            reader.trace.count_loss(LossKind::FileNotUnderstood, 1, &name);
            continue;
        };
        let (next, word) = (processes.len() as u32 + 1, process_of(&name));
        let process = *processes.entry(word.to_owned()).or_insert(next);
        if !word.is_empty() {
            reader.name_process(process, word.trim_end_matches('_').to_owned());
        }
        match Input::open_until(&path, &|| stop.is_wanted()) {
            Ok(bytes) => {
                reader.table(kind, &bytes, &name, process, stop);
                has_any = true;
            }
            Err(error) => reader.trace.count_loss(LossKind::FileNotRead, 1, &format!("{name}: {error}")),
        }
    }
    if !has_any {
        return Err(ReadError::NoTables);
    }
    Ok(reader.finish())
}

/// The begin of a name, which the tables of one process share: `42_` of `42_kernel_trace.csv`.
fn process_of(name: &str) -> &str {
    const KINDS: [&str; 12] = [
        "kernel_trace",
        "hip_api",
        "hip_trace",
        "hsa_api",
        "hsa_trace",
        "rccl_api",
        "marker_api",
        "memory_copy",
        "counter_collection",
        "kernel_stats",
        "domain_stats",
        "agent_info",
    ];
    let end = KINDS.iter().filter_map(|kind| name.find(kind)).min();
    &name[..end.unwrap_or(0)]
}
