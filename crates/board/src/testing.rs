//! Projects for the tests of this crate.

use std::fs;

use crate::upload::Project;

/// A project of such files, which lies in the folder as long as that lives.
pub(crate) fn project(files: &[&str]) -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    for name in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let project = Project::list(folder.path(), &[]).unwrap();
    (folder, project)
}
