//! The tables that lie in a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// More entries than a folder of results has are not looked at.
const MOST_ENTRIES: usize = 20_000;

/// The CSV files directly in a folder, compressed or not, by name.
pub(super) fn csv_files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_table = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".csv") || name.ends_with(".csv.gz")) && path.is_file()
    };
    let mut tables: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_table).collect();
    tables.sort();
    tables
}
