//! How exported files of boards are told from those of other tools: by names that carry a model, and
//! tables of totals by their columns.

use std::path::{Path, PathBuf};

use opscope_formats::OwnFiles;

use crate::file_name::FileName;
use crate::files::{Exports, files_of};

impl Exports {
    /// Whether a folder holds files whose names only the tools of such boards give: those with the
    /// model's name in them.
    pub fn is_folder(path: &Path) -> bool {
        files_of(path).is_ok_and(|files| files.iter().any(|file| has_own_name(file)))
    }

    /// As [`Exports::is_folder`], for files that opscope didn't write there itself.
    pub fn is_folder_of_others(path: &Path) -> bool {
        let is_foreign = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            has_own_name(file) && file.parent().is_none_or(|folder| OwnFiles::of(folder).is_foreign(&name))
        };
        files_of(path).is_ok_and(|files| files.iter().any(is_foreign))
    }

    /// Whether a file is named as only the tools of such boards name theirs.
    pub fn is_file(path: &Path) -> bool {
        path.is_file() && has_own_name(path)
    }

    /// Whether a file, or one in a folder, is a table of totals as the tools of such boards write it.
    /// Others use these names, too, but for tables with other columns.
    pub fn has_totals(path: &Path) -> bool {
        let is_one = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let of_totals =
                |name| matches!(name, FileName::OpStatistic { .. } | FileName::AclStatistic { .. });
            FileName::parse(&name).is_some_and(of_totals) && Self::default().read_file(file).is_ok()
        };
        if path.is_file() {
            is_one(&path.to_owned())
        } else {
            files_of(path).is_ok_and(|files| files.iter().any(is_one))
        }
    }
}

fn has_own_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match FileName::parse(&name) {
        Some(FileName::OpSummary(_)) => true,
        Some(FileName::TaskTime(name) | FileName::Acl(name)) => name.model.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_told_from_others_of_that_name_by_their_columns() {
        let svp = "OP Name,Task Type,Total Time(us)\nconv1,AA_CORE,10\n";
        let of_ascend = "Device_id,OP Type,Core Type,Count,Total Time(us)\n0,Conv2D,AI_CORE,1,10\n";
        for (text, expected) in [(svp, true), (of_ascend, false), ("", false)] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("summary/op_statistic_0_3_200_1.csv");
            std::fs::create_dir(folder.path().join("summary")).unwrap();
            std::fs::write(&file, text).unwrap();
            assert_eq!(Exports::has_totals(folder.path()), expected, "{text}");
            assert_eq!(Exports::has_totals(&file), expected, "{text}");
        }
    }
}
