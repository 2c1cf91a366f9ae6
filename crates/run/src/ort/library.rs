//! Finding the shared library of ONNX Runtime.

use std::env;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::RunError;

/// How the library's file is called on this system, apart from a version.
const FILE_NAME: &str = if cfg!(target_os = "windows") {
    "onnxruntime.dll"
} else if cfg!(target_os = "macos") {
    "libonnxruntime.dylib"
} else {
    "libonnxruntime.so"
};

/// The library to use: the one that is named, or else the first one found in `ORT_DYLIB_PATH`, in
/// the packages of the active Python, and in the system's library paths.
///
/// # Errors
/// When a named file isn't there, or when nothing is found (the error lists where it looked).
pub fn find(named: Option<&Path>) -> Result<PathBuf, RunError> {
    let given_by_environment =
        env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or(given_by_environment) {
        let file = if path.is_dir() { newest_in(&path).unwrap_or(path.join(FILE_NAME)) } else { path };
        return std::path::absolute(&file)
            .ok()
            .filter(|file| file.is_file())
            .ok_or(RunError::Library { path: file, message: "there is no such file".to_owned() });
    }
    let mut looked = vec!["--ort-lib: not given".to_owned(), "ORT_DYLIB_PATH: not set".to_owned()];
    for folder in python_folders(&mut looked).into_iter().chain(system_folders()) {
        if let Some(found) = newest_in(&folder) {
            return Ok(found);
        }
        looked.push(format!("{} in {}", FILE_NAME, folder.display()));
    }
    Err(RunError::LibraryNotFound { looked })
}

/// The library in a folder, whatever version its name ends with; the greatest name if there are
/// several.
fn newest_in(folder: &Path) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let libraries = entries.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // macOS puts the version before the ending: libonnxruntime.1.20.0.dylib.
        let stem = FILE_NAME.trim_end_matches(".dylib");
        name.starts_with(FILE_NAME)
            || (cfg!(target_os = "macos") && name.starts_with(stem) && name.ends_with(".dylib"))
    });
    libraries.filter(|path| path.is_file()).max()
}

/// Where the active Python would import `onnxruntime` from. Asking Python itself costs little and
/// is right for virtual environments, Conda and user installations alike.
fn python_folders(looked: &mut Vec<String>) -> Vec<PathBuf> {
    const QUESTION: &str = "import site, sys, sysconfig\n\
        print('\\n'.join(dict.fromkeys(sys.path + [sysconfig.get_path('platlib')] + site.getsitepackages() + [site.getusersitepackages()])))";
    let mut folders = Vec::new();
    let interpreters = ["python3", "python"].map(PathBuf::from).into_iter();
    let in_environment = env::var_os("VIRTUAL_ENV").map(|folder| {
        let folder = PathBuf::from(folder);
        if cfg!(windows) { folder.join("Scripts/python.exe") } else { folder.join("bin/python3") }
    });
    for python in in_environment.into_iter().chain(interpreters) {
        let answer =
            Command::new(&python).args(["-c", QUESTION]).stderr(Stdio::null()).stdin(Stdio::null()).output();
        let Ok(answer) = answer.inspect_err(|_| looked.push(format!("{}: not found", python.display())))
        else {
            continue;
        };
        let paths = String::from_utf8_lossy(&answer.stdout).into_owned();
        for path in paths.lines().filter(|path| !path.is_empty()) {
            let folder = Path::new(path).join("onnxruntime/capi");
            if folder.is_dir() {
                folders.push(folder);
            }
        }
        if folders.is_empty() {
            looked.push(format!("{}: the packages of this Python have no onnxruntime", python.display()));
        } else {
            break;
        }
    }
    folders
}

/// The system's library folders, those of the loader's own variable first.
fn system_folders() -> impl Iterator<Item = PathBuf> {
    let variable = if cfg!(target_os = "windows") {
        "PATH"
    } else if cfg!(target_os = "macos") {
        "DYLD_LIBRARY_PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
    let from_variable: Vec<PathBuf> =
        env::var_os(variable).map(|paths| env::split_paths(&paths).collect()).unwrap_or_default();
    let fixed: &[&str] = if cfg!(target_os = "windows") {
        &[]
    } else if cfg!(target_os = "macos") {
        &["/opt/homebrew/lib", "/usr/local/lib"]
    } else {
        &[
            "/usr/local/lib",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
        ]
    };
    from_variable
        .into_iter()
        .chain(fixed.iter().map(PathBuf::from))
        .filter(|folder| !folder.as_os_str().is_empty())
}

/// The version that a library of ONNX Runtime, which has been loaded already, gives itself; empty
/// if it doesn't tell.
pub fn version(library: &Path) -> String {
    type GetApiBase = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    // SAFETY: loading it a second time runs nothing anew; the entry point has this signature in
    // every release, and returns a static structure whose function returns a static string.
    unsafe {
        let Ok(library) = libloading::Library::new(library) else { return String::new() };
        let Ok(get_api_base) = library.get::<GetApiBase>(b"OrtGetApiBase") else { return String::new() };
        let Some(base) = get_api_base().as_ref() else { return String::new() };
        CStr::from_ptr((base.GetVersionString)()).to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_with_a_version_in_its_name_is_found_in_a_named_folder() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["libonnxruntime.so.1.20.0", "libonnxruntime.so.1.21.1", "libonnxruntime_providers_shared.so"]
        {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        let found = find(Some(folder.path())).unwrap();
        assert_eq!(found.file_name().unwrap(), "libonnxruntime.so.1.21.1");
    }

    #[test]
    fn a_named_library_that_is_missing_is_an_error_and_not_searched_for_elsewhere() {
        let error = find(Some(Path::new("nowhere/libonnxruntime.so"))).unwrap_err().to_string();
        assert!(error.contains("nowhere/libonnxruntime.so") && error.contains("no such file"), "{error}");
    }
}
