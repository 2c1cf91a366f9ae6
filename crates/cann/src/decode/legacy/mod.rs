//! Decodes the host-side files of the tool chain of 2022 (CANN 5.x).
//!
//! That tool chain reported per component instead of per level of software, and wrote names into
//! its records. All of it is put into the same tables: calls of AscendCL and the runtime, and
//! inferences, become calls; notes on tasks become [`DescribedTask`]s, because it names
//! a task's operator and model itself, where later tool chains leave that to the nesting of calls.
//!
//! The files lie in the host's directory, in those of the devices, or in a `JOB*` directory that is
//! both. As the layouts were never published for all products, a file is taken only if most of its
//! records have the magic number, the tag and possible content; every record taken is counted under
//! [`LossKind::OldLayout`], so that results say where they come from.
//!
//! [`DescribedTask`]: crate::tables::DescribedTask

mod calls;
mod models;
pub(super) mod records;
mod tasks;

use crate::decode::legacy::records::Source;
use crate::tables::HostTables;
use opscope_trace::LossKind;

/// The components whose files are decoded here.
const COMPONENTS: [&str; 3] = ["AclModule.", "Framework.", "runtime."];

/// Decodes what the directories hold of that tool chain. Where files of a later one told of tasks
/// already, nothing is added, so that nothing counts twice.
pub(super) fn add(sources: &[Source<'_>], tables: &mut HostTables) {
    let is_old = |name: &str| COMPONENTS.iter().any(|component| name.starts_with(component));
    let has_newer = !(tables.task_tracks.is_empty() && tables.nodes.is_empty() && tables.api.is_empty());
    if has_newer || !sources.iter().any(|source| source.catalogue.names().any(is_old)) {
        return;
    }
    for source in sources {
        tables.names.read_more(source.catalogue, &mut tables.losses);
    }
    calls::add(sources, tables);
    models::add(sources, tables);
    tasks::add(sources, tables);
    tables.legacy = tables.losses.total(LossKind::OldLayout) > 0;
}
