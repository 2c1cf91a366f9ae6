//! Finding the program within the project that is uploaded.

use std::path::Path;

use crate::error::Error;
use crate::remote::portable;

/// The program's path within the project, with forward slashes.
pub(crate) fn main_in_project(project: &Path, main: &Path) -> Result<String, Error> {
    let outside = || Error::Check {
        what: format!("{} is not in the project folder {}", main.display(), project.display()),
        remedy: "name the folder to upload with --project".to_owned(),
    };
    let local = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Local { path, source }
    };
    let root = project.canonicalize().map_err(local(project))?;
    let missing = |_| Error::Check {
        what: format!("{} is not there", main.display()),
        remedy: "build the program for the board, or name another with --main".to_owned(),
    };
    // The program's own folder is resolved, but not the program: a link goes to the board as one.
    let folder = main.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(missing)?;
    let name = main.file_name().ok_or_else(outside)?;
    let found = main.symlink_metadata().map_err(missing)?;
    let path = folder.join(name);
    let path = portable(path.strip_prefix(&root).map_err(|_| outside())?);
    if found.is_symlink() {
        check_link(&root, main)?;
    }
    Ok(path)
}

/// A link that leads nowhere, or out of the project, would dangle on the board.
fn check_link(root: &Path, main: &Path) -> Result<(), Error> {
    let target = std::fs::read_link(main).unwrap_or_default();
    let (what, remedy) = match main.canonicalize() {
        Ok(real) if real.starts_with(root) => return Ok(()),
        Ok(_) => ("which is not in the project", "put its target into the project, or name that with --main"),
        Err(_) => ("which is not there", "name the program itself with --main, or mend the link"),
    };
    let what = format!("{} is a link to {}, {what}", main.display(), target.display());
    Err(Error::Check { what, remedy: remedy.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::project;

    #[test]
    fn the_program_must_be_within_the_project() {
        let (folder, _) = project(&["app/out/main", "other"]);
        let root = folder.path().join("app");
        assert_eq!(main_in_project(&root, &root.join("out/main")).unwrap(), "out/main");
        let error = main_in_project(&root, &folder.path().join("other")).unwrap_err();
        assert!(error.to_string().contains("--project"), "{error}");
        let error = main_in_project(&root, &root.join("none")).unwrap_err().to_string();
        assert!(error.contains("none is not there; build"), "{error}");
    }
}
