//! How much memory this process may take: as its user says, else most of what is free when it is first
//! asked. Whoever is about to allocate what a file claims asks first.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use opscope_trace::units;

static ALLOWED: OnceLock<u64> = OnceLock::new();

/// The memory that is taken for free where the system doesn't tell.
const UNKNOWN: u64 = 8 << 30;

/// More memory would be needed than may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that takes {} of memory, and {} may be taken (--memory allows more)",
    units::bytes(*needed as f64), units::bytes(*allowed as f64)
)]
pub struct TooMuchMemory {
    /// The bytes that would be needed.
    pub needed: u64,
    /// The bytes that may be taken.
    pub allowed: u64,
}

/// The bytes that the user said.
static SAID: OnceLock<u64> = OnceLock::new();

/// Allows so many bytes, once, before anybody asks.
pub fn allow(bytes: u64) {
    let _ = SAID.set(bytes);
    let _ = ALLOWED.set(bytes);
}

/// How many bytes may be taken, where the user said so.
pub fn asked_for() -> Option<u64> {
    SAID.get().copied()
}

/// How many bytes may be taken.
pub fn allowed() -> u64 {
    // The rest is left to whatever is small, and to others.
    *ALLOWED.get_or_init(|| free().unwrap_or(UNKNOWN) / 10 * 8)
}

/// Whether so many bytes may be taken.
///
/// # Errors
/// When they are more than are allowed.
pub fn check(needed: u64) -> Result<(), TooMuchMemory> {
    let allowed = allowed();
    if needed > allowed { Err(TooMuchMemory { needed, allowed }) } else { Ok(()) }
}

/// The bytes that this process can still get without driving anybody's pages out: what the machine has,
/// and what the control groups above the process leave.
fn free() -> Option<u64> {
    let of_machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(Group::of_line).filter_map(|group| group.free()).min();
    of_machine.into_iter().chain(of_groups).min()
}

/// The line `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The names of a memory controller's files, of which the kernel has two versions.
struct Group {
    mount: &'static str,
    path: PathBuf,
    limit: &'static str,
    usage: &'static str,
    cache: &'static str,
}

impl Group {
    /// The group of a line of `/proc/self/cgroup` (cgroups(7)): `0::/path`, or `4:memory:/path`.
    fn of_line(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let path = Path::new(path).strip_prefix("/").ok()?.to_owned();
        match controllers {
            "" if number == "0" => Some(Self {
                mount: "/sys/fs/cgroup",
                path,
                limit: "memory.max",
                usage: "memory.current",
                cache: "inactive_file ",
            }),
            _ if controllers.split(',').any(|controller| controller == "memory") => Some(Self {
                mount: "/sys/fs/cgroup/memory",
                path,
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                cache: "total_inactive_file ",
            }),
            _ => None,
        }
    }

    /// The least that the group or any above it leaves. In a container, whose paths begin elsewhere, those
    /// that can be seen.
    fn free(&self) -> Option<u64> {
        self.path.ancestors().filter_map(|path| self.free_in(&Path::new(self.mount).join(path))).min()
    }

    fn free_in(&self, folder: &Path) -> Option<u64> {
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
        let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
        // `max` is no number: no limit.
        let limit = number(self.limit)?;
        let stat = read("memory.stat").unwrap_or_default();
        let cache = stat.lines().find_map(|line| line.strip_prefix(self.cache)?.trim().parse::<u64>().ok());
        Some(limit.saturating_sub(number(self.usage)?.saturating_sub(cache.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_that_is_free_is_the_kernels_own_figure() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn groups_of_both_versions_are_told_by_their_lines() {
        let path = |line| Group::of_line(line).map(|group| (group.limit, group.path));
        assert_eq!(path("0::/user.slice/a:b"), Some(("memory.max", "user.slice/a:b".into())));
        assert_eq!(path("4:cpu,memory:/jobs/7"), Some(("memory.limit_in_bytes", "jobs/7".into())));
        assert_eq!(path("3:cpuset:/"), None);
    }

    #[test]
    fn a_group_leaves_its_limit_less_what_is_used_but_for_what_can_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::of_line("0::/").unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
        write("memory.current", "700\n");
        write("memory.stat", "anon 1\ninactive_file 200\n");
        write("memory.max", "max\n");
        assert_eq!(group.free_in(folder.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(group.free_in(folder.path()), Some(500));
    }
}
