//! A file system of its own for tests of full and read-only disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::companions;

/// A file system in memory, mounted at a folder as long as the value lives.
pub struct SmallDisk(pub PathBuf);

impl SmallDisk {
    /// A disk of some megabytes, if this machine lets the tests mount one.
    pub fn new(path: impl Into<PathBuf>, megabytes: u32) -> Option<Self> {
        mount(path.into(), &format!("size={megabytes}m"))
    }

    /// A disk that nothing can be written to.
    pub fn read_only(path: impl Into<PathBuf>) -> Option<Self> {
        mount(path.into(), "ro,size=1m")
    }

    /// The folder at which it is mounted.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn mount(path: PathBuf, options: &str) -> Option<SmallDisk> {
    fs::create_dir_all(&path).expect("a folder to mount at");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&path).output();
    if mounted.is_ok_and(|output| output.status.success()) {
        return Some(SmallDisk(path));
    }
    companions::skip("a small disk can be mounted by root only");
    None
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
