//! What is put into the program's environment, and the files behind it.
//!
//! The libraries are part of this program and are unpacked into a cache of the user's (root's is the
//! system's, because programs may leave root behind), under a name
//! that changes with their content, so that several versions can be in use at a time.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use opscope_mark::{CONTROL_VARIABLE, DIRECTORY_VARIABLE, EXCLUDE_VARIABLE, INCLUDE_VARIABLE};

use crate::error::CaptureError;
use crate::plan::{DeviceData, Domains, Plan};
use crate::program::Program;

const MARK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libopscope_mark.so"));
const PRELOAD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libopscope_preload.so"));
const SITECUSTOMIZE: &[u8] = include_bytes!("../assets/sitecustomize.py");

/// The Python package, for the stand-in of `acl`: where it lies, and what it is.
const PACKAGE: [(&str, &[u8]); 4] = [
    ("shim/acl.py", include_bytes!("../assets/acl.py")),
    ("shim/opscope/__init__.py", include_bytes!("../../../python/opscope/__init__.py")),
    ("shim/opscope/_library.py", include_bytes!("../../../python/opscope/_library.py")),
    ("shim/opscope/acl.py", include_bytes!("../../../python/opscope/acl.py")),
];

/// What the vendor's own collector puts into the environment.
const VENDOR_VARIABLE: &str = "PROFILER_SAMPLECONFIG";

/// The unpacked files.
#[derive(Clone, Debug)]
pub(crate) struct Injection {
    folder: PathBuf,
}

impl Injection {
    /// Unpacks what isn't there yet.
    pub(crate) fn prepare() -> Result<Self, CaptureError> {
        let mut files = vec![
            ("libopscope_mark.so", MARK),
            ("libopscope_preload.so", PRELOAD),
            ("site/sitecustomize.py", SITECUSTOMIZE),
        ];
        files.extend(PACKAGE);
        let mut hasher = DefaultHasher::new();
        files.hash(&mut hasher);
        let folder = cache().join(format!("opscope/injected-{:016x}", hasher.finish()));
        for (name, content) in files {
            let path = folder.join(name);
            unpack(&path, content).map_err(CaptureError::io("unpack", path))?;
        }
        Ok(Self { folder })
    }

    /// The instrumentation library.
    pub(crate) fn mark_library(&self) -> PathBuf {
        self.folder.join("libopscope_mark.so")
    }

    /// The variables for the program, and remarks about those that are left as they are. `data` is
    /// where records go, unless the control tells that later.
    pub(crate) fn variables(
        &self,
        plan: &Plan,
        data: Option<&Path>,
        control: &str,
    ) -> (Vec<(OsString, OsString)>, Vec<String>) {
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        let mut remarks = Vec::new();
        let mut set = |name: &str, value: &OsStr| variables.push((name.into(), value.into()));
        let mark = self.mark_library();
        set("OPSCOPE_MARK_LIBRARY", mark.as_os_str());
        set(CONTROL_VARIABLE, control.as_ref());
        if plan.marks {
            data.inspect(|data| set(DIRECTORY_VARIABLE, data.as_os_str()));
            match &plan.domains {
                Some(Domains::Include(names)) => set(INCLUDE_VARIABLE, names.as_ref()),
                Some(Domains::Exclude(names)) => set(EXCLUDE_VARIABLE, names.as_ref()),
                None => {}
            }
            for name in ["MSTX_INJECTION_PATH", "NVTX_INJECTION64_PATH"] {
                match present(plan, name) {
                    None if name.starts_with("MSTX") && present(plan, VENDOR_VARIABLE).is_some() => {
                        remarks.push("the vendor's own collector takes the marks of mstx".to_owned());
                    }
                    None => set(name, mark.as_os_str()),
                    Some(value) => remarks.push(format!(
                        "{name} is set to {} and stays so; marks of that interface go there",
                        value.display()
                    )),
                }
            }
        }
        if let Some(data) = data.filter(|_| plan.onnxruntime) {
            set("OPSCOPE_ORT_DIR", data.as_os_str());
        }
        let ascendcl = plan.ascendcl || plan.device_data != DeviceData::None;
        if let Some(data) = data.filter(|_| ascendcl) {
            set("OPSCOPE_ACL_DIR", data.as_os_str());
        }
        match plan.device_data {
            DeviceData::None => {}
            DeviceData::Subscription => set("OPSCOPE_ACL_VIA", "subscribe".as_ref()),
            DeviceData::Files { mask, metrics } => {
                set("OPSCOPE_ACL_VIA", "files".as_ref());
                set("OPSCOPE_ACL_FILES", plan.output.path().as_os_str());
                set("OPSCOPE_ACL_MASK", mask.to_string().as_ref());
                set("OPSCOPE_ACL_METRICS", metrics.to_string().as_ref());
            }
        }
        if plan.marks || plan.onnxruntime || ascendcl {
            set("LD_PRELOAD", &before(plan, "LD_PRELOAD", &self.folder.join("libopscope_preload.so")));
            // Programs built with this sanitizer refuse to start behind another library.
            set("ASAN_OPTIONS", &before(plan, "ASAN_OPTIONS", Path::new("verify_asan_link_order=0")));
        }
        if plan.acl_shim {
            set("OPSCOPE_ACL_SHIM", self.folder.join("shim").as_os_str());
        }
        if plan.onnxruntime || plan.acl_shim {
            set("PYTHONPATH", &before(plan, "PYTHONPATH", &self.folder.join("site")));
            if let Some(option) = plan.program.as_ref().and_then(Program::isolation) {
                remarks.push(format!(
                    "Python's option {option} keeps opscope out of it: ONNX Runtime is not recorded, and there is no \
                     stand-in for acl"
                ));
            }
        }
        (variables, remarks)
    }
}

/// What the program would find in a variable without us.
fn present(plan: &Plan, name: &str) -> Option<OsString> {
    let given = plan.environment.iter().rev().find(|(given, _)| given == name);
    let value = given.map(|(_, value)| OsString::from(value)).or_else(|| std::env::var_os(name));
    value.filter(|value| !value.is_empty())
}

/// A list of paths that begins with ours.
fn before(plan: &Plan, name: &str, first: &Path) -> OsString {
    let mut list = first.as_os_str().to_owned();
    if let Some(rest) = present(plan, name) {
        list.push(":");
        list.push(rest);
    }
    list
}

/// Where the system's own caches lie, which everybody may read.
const SYSTEM_CACHE: &str = "/var/cache";

/// A directory for files that can be made again.
fn cache() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    // SAFETY: the call has no preconditions.
    let user = unsafe { libc::geteuid() };
    // Programs that root starts may become other users, who can't enter its home.
    let of_root = || (user == 0).then(|| PathBuf::from(SYSTEM_CACHE)).filter(|path| path.is_dir());
    let chosen = named("XDG_CACHE_HOME").or_else(of_root).or_else(|| Some(named("HOME")?.join(".cache")));
    let own = |path: &PathBuf| {
        let there = path.ancestors().find(|above| above.exists());
        there.and_then(|there| there.metadata().ok()).is_some_and(|status| status.uid() == user)
    };
    let chosen = chosen.filter(|path| path.is_absolute() && own(path));
    chosen.unwrap_or_else(|| temporary(&std::env::temp_dir(), user))
}

/// A directory of the user's own among those that everybody can make: libraries that others can write
/// are not loaded into programs.
fn temporary(parent: &Path, user: u32) -> PathBuf {
    let candidate = |number: u32| parent.join(format!("opscope-{user}-{number}"));
    let is_ours = |path: &Path| {
        let _ = std::fs::DirBuilder::new().mode(0o755).create(path);
        let status = path.symlink_metadata();
        status.is_ok_and(|it| it.is_dir() && it.uid() == user && it.mode() & 0o022 == 0)
    };
    (0..1_000).map(candidate).find(|path| is_ours(path)).unwrap_or_else(|| candidate(std::process::id()))
}

/// Writes a file unless it is there with the same content; it appears whole.
fn unpack(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    // Others may run the program as another user, so all may read.
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let mut file = std::fs::File::create(&unfinished)?;
    file.write_all(content)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
    std::fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_can_write_holds_no_libraries() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        // SAFETY: the call has no preconditions.
        let user = unsafe { libc::geteuid() };
        let first = folder.path().join(format!("opscope-{user}-0"));
        std::fs::create_dir(&first).expect("a directory");
        std::fs::set_permissions(&first, PermissionsExt::from_mode(0o777)).expect("a mode");
        std::os::unix::fs::symlink("/tmp", folder.path().join(format!("opscope-{user}-1"))).expect("a link");
        let chosen = temporary(folder.path(), user);
        assert_eq!(chosen, folder.path().join(format!("opscope-{user}-2")));
        assert_eq!(temporary(folder.path(), user), chosen);
    }
}
