//! Completing slices that their writers could not complete, once all programs have ended.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tx;
use opscope_cann_raw::host::ApiEvent;
use opscope_recorder::sink::{CALLS, MARKS};

/// Cuts off records that a killed program left unfinished, and gives every slice its marker.
/// Returns how many bytes were cut off.
pub(crate) fn complete_slices(data: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(data) else { return 0 };
    let mut cut = 0;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.contains(".slice_") || name.ends_with(".done") {
            continue;
        }
        let Ok(status) = entry.metadata() else { continue };
        let mut size = status.len();
        let rest = match &*name {
            name if name.starts_with(MARKS) => size % Tx::SIZE as u64,
            name if name.starts_with(CALLS) => size % ApiEvent::SIZE as u64,
            _ => 0,
        };
        if rest > 0 {
            let file = OpenOptions::new().write(true).open(entry.path());
            if file.is_ok_and(|file| file.set_len(size - rest).is_ok()) {
                (size, cut) = (size - rest, cut + rest);
            }
        }
        let marker = data.join(format!("{name}.done"));
        if !marker.exists() {
            // Without it the slice is read as one that was cut off, which it nearly was.
            let _ =
                opscope_files::create_new(&marker).and_then(|mut marker| write!(marker, "filesize:{size}"));
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_record_is_cut_off_and_the_slice_is_marked() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let slice = folder.path().join(format!("{MARKS}.slice_3"));
        std::fs::write(&slice, vec![1; 600]).expect("a file");
        let text = folder.path().join("host_cpu.data.slice_0");
        std::fs::write(&text, "time 1\n").expect("a file");
        assert_eq!(complete_slices(folder.path()), 600 - 512);
        assert_eq!(std::fs::metadata(&slice).map(|status| status.len()).ok(), Some(512));
        assert_eq!(std::fs::read_to_string(&text).ok().as_deref(), Some("time 1\n"));
        let marker = std::fs::read_to_string(folder.path().join(format!("{MARKS}.slice_3.done")));
        assert_eq!(marker.ok().as_deref(), Some("filesize:512"));
    }
}
