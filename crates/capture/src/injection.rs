//! The variables of the program's environment, and the files behind them.
//!
//! The libraries are part of this program and are unpacked into a folder that is the user's alone
//! ([`own_folder`]), under a name that changes with their content, so that several versions can be in
//! use at a time.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use opscope_files::Draft;
use opscope_recorder::environment::{
    ACL_DIRECTORY, ACL_FILES, ACL_MASK, ACL_METRICS, ACL_VIA, ACL_VIA_FILES, ACL_VIA_SUBSCRIPTION, CONTROL,
    MARK_DIRECTORY, MARK_EXCLUDE, MARK_INCLUDE, MARK_LIBRARY, ORT_DIRECTORY, VENDOR_COLLECTOR,
};

use crate::error::CaptureError;
use crate::own_folder;
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
        let cache = own_folder::find().map_err(|tried| CaptureError::NoOwnFolder { tried })?;
        let folder = cache.join(format!("injected-{:016x}", hasher.finish()));
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
        set(MARK_LIBRARY, mark.as_os_str());
        set(CONTROL, control.as_ref());
        if plan.marks {
            data.inspect(|data| set(MARK_DIRECTORY, data.as_os_str()));
            match &plan.domains {
                Some(Domains::Include(names)) => set(MARK_INCLUDE, names.as_ref()),
                Some(Domains::Exclude(names)) => set(MARK_EXCLUDE, names.as_ref()),
                None => {}
            }
            for name in ["MSTX_INJECTION_PATH", "NVTX_INJECTION64_PATH"] {
                match present(plan, name) {
                    None if name.starts_with("MSTX") && present(plan, VENDOR_COLLECTOR).is_some() => {
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
            set(ORT_DIRECTORY, data.as_os_str());
        }
        let ascendcl = plan.ascendcl || plan.device_data != DeviceData::None;
        if let Some(data) = data.filter(|_| ascendcl) {
            set(ACL_DIRECTORY, data.as_os_str());
        }
        match plan.device_data {
            DeviceData::None => {}
            DeviceData::Subscription => set(ACL_VIA, ACL_VIA_SUBSCRIPTION.as_ref()),
            DeviceData::Files { mask, metrics } => {
                set(ACL_VIA, ACL_VIA_FILES.as_ref());
                set(ACL_FILES, plan.output.path().as_os_str());
                set(ACL_MASK, mask.to_string().as_ref());
                set(ACL_METRICS, metrics.to_string().as_ref());
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

/// The value that the program would find in a variable without us.
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

/// Writes a file unless it is there with the same content and is the user's alone; it appears whole.
fn unpack(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    own_folder::make(folder)?;
    if !own_folder::own(folder)? {
        return Err(std::io::Error::other("the folder belongs to another user, or others can write it"));
    }
    let is_ours = own_folder::own(path).unwrap_or(false);
    if is_ours && std::fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let mut file = Draft::new(folder)?;
    file.write_all(content)?;
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o755))?;
    file.keep_as(path)
}
