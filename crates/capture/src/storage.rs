//! The limit on what the slices may take: the oldest go first.

use std::path::Path;
use std::time::SystemTime;

use opscope_cann_raw::SLICE_BYTES;

use crate::output::{LEAST_FREE, free_bytes};

/// The streams whose beginning may be dropped.
const AGING: &str = "aging.";

/// Deletes the oldest whole slices until the rest fits; returns how many bytes went.
///
/// The limit is kept with one slice to spare, because the one being written still grows.
pub(crate) fn enforce(data: &Path, limit: Option<u64>) -> u64 {
    let Ok(entries) = std::fs::read_dir(data) else { return 0 };
    let mut total = 0;
    let mut slices: Vec<(SystemTime, u64, std::path::PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let Ok(status) = entry.metadata() else { continue };
        total += status.len();
        let name = entry.file_name();
        let is_slice = name.to_str().is_some_and(|name| name.starts_with(AGING) && !name.ends_with(".done"));
        // The marker tells that nobody writes to it any more.
        let mut marker = entry.path().into_os_string();
        marker.push(".done");
        if is_slice && Path::new(&marker).exists() {
            slices.push((status.modified().unwrap_or(SystemTime::UNIX_EPOCH), status.len(), entry.path()));
        }
    }
    let short_of_space = limit.is_some() && free_bytes(data).is_some_and(|free| free < LEAST_FREE);
    let allowed = limit.map_or(u64::MAX, |limit| limit.saturating_sub(SLICE_BYTES));
    slices.sort();
    let mut dropped = 0;
    for (_, size, path) in slices {
        let excess = total - dropped > allowed || (short_of_space && dropped < LEAST_FREE);
        if !excess {
            break;
        }
        if std::fs::remove_file(&path).is_ok() {
            dropped += size;
            let mut marker = path.into_os_string();
            marker.push(".done");
            let _ = std::fs::remove_file(marker);
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_finished_slices_go_and_the_rest_stays() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let put = |name: &str, done: bool, age: u64| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![0; 1 << 20]).expect("a file");
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            std::fs::File::options()
                .append(true)
                .open(&path)
                .and_then(|file| file.set_modified(time))
                .expect("a time");
            if done {
                std::fs::write(folder.path().join(format!("{name}.done")), "").expect("a file");
            }
        };
        put("aging.additional.msproftx.slice_0", true, 10);
        put("aging.additional.msproftx.slice_1", true, 30);
        put("aging.additional.msproftx.slice_2", false, 40);
        put("unaging.additional.hash_dic.slice_0", true, 50);
        assert_eq!(enforce(folder.path(), Some((4 << 20) + SLICE_BYTES)), 0);
        assert_eq!(enforce(folder.path(), Some((3 << 20) + SLICE_BYTES)), 1 << 20);
        let there = |number| folder.path().join(format!("aging.additional.msproftx.slice_{number}")).exists();
        assert_eq!([there(0), there(1), there(2)], [true, false, true]);
        assert_eq!(enforce(folder.path(), Some(0)), 1 << 20, "only what is finished and may age goes");
    }
}
