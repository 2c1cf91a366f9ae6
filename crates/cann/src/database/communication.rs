//! `COMMUNICATION_OP` and `COMMUNICATION_TASK_INFO`: collective operations and their steps.

use std::io::{self, Seek, Write};

use crate::database::ids::{TaskIds, TaskKey};
use crate::database::output::Output;
use crate::database::schema;
use crate::facts::collectives::Collectives;
use crate::facts::view::View;
use crate::kinds::communication::{DATA_TYPES, LINKS, NOT_APPLICABLE, Names, OTHER, RDMA, TRANSPORTS};

/// For each step its task's number in the database.
pub(super) fn step_ids(view: &View<'_>, found: &Collectives<'_>, ids: &mut TaskIds) -> Vec<u32> {
    let id = |step: &crate::facts::collectives::StepRun<'_>| {
        let device = view.device(step.place).device;
        ids.id(TaskKey::of_device(device.id, &device.tables.tasks.row(step.place.task as usize)))
    };
    found.steps.iter().map(id).collect()
}

/// The number of a kind in the table that names it.
fn known(names: Names, kind: Option<u32>) -> i64 {
    let Some(kind) = kind else { return i64::from(NOT_APPLICABLE.0) };
    let is_known = names.iter().any(|(number, _)| u32::from(*number) == kind);
    if is_known { i64::from(kind) } else { i64::from(OTHER.0) }
}

/// Writes both tables; one without rows is left out.
pub(super) fn write<'a, W: Write + Seek + Send>(
    view: &View<'_>,
    found: &'a Collectives<'a>,
    ids: &[u32],
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let texts: Vec<[i64; 4]> = found
        .operations
        .iter()
        .map(|whole| {
            [whole.name.as_str(), &whole.group, whole.algorithm, whole.op_type]
                .map(|text| i64::from(out.strings.add(text)))
        })
        .collect();
    out.table(&schema::COMMUNICATION_OP, found.operations.len(), |index, row| {
        let (whole, [name, group, algorithm, op_type]) = (&found.operations[index], texts[index]);
        let flag = |flag: Option<bool>| flag.map_or(-1, i64::from);
        row.integer(name);
        row.integer(whole.start);
        row.integer(whole.end);
        row.integer(i64::from(whole.call.connection()));
        row.integer(group);
        row.key(index as i64);
        row.integer(flag(whole.note.map(|note| note.relayed)));
        row.integer(flag(whole.note.map(|note| note.retried)));
        row.integer(known(DATA_TYPES, whole.note.map(|note| u32::from(note.data_type))));
        row.integer(algorithm);
        row.integer(whole.note.map_or(-1, |note| note.count as i64));
        row.integer(op_type);
        row.integer(i64::from(view.devices[whole.device as usize].device.id));
        row.integer(i64::from(whole.rank_size));
    })?;
    let texts: Vec<[i64; 2]> = found
        .steps
        .iter()
        .map(|step| [step.name, &step.group].map(|text| i64::from(out.strings.add(text))))
        .collect();
    let operations: Vec<i64> =
        found.operations.iter().map(|whole| i64::from(out.strings.add(&whole.name))).collect();
    out.table(&schema::COMMUNICATION_TASK_INFO, found.steps.len(), |index, row| {
        let (step, [name, group]) = (&found.steps[index], texts[index]);
        let note = step.note;
        let rank = |rank: Option<u32>| rank.map_or(i64::from(u32::MAX), i64::from);
        row.integer(operations[step.operation]);
        row.integer(i64::from(ids[index]));
        row.integer(name);
        row.integer(note.map_or(-1, |note| i64::from(note.plane)));
        row.integer(group);
        row.integer(note.map_or(-1, |note| note.notify as i64));
        row.integer(known(RDMA, note.map(|note| note.rdma)));
        row.integer(rank(note.map(|note| note.local_rank)));
        row.integer(rank(note.map(|note| note.remote_rank)));
        row.integer(known(TRANSPORTS, note.map(|note| note.transport)));
        row.integer(note.map_or(-1, |note| note.size as i64));
        row.integer(known(DATA_TYPES, note.map(|note| note.data_type)));
        row.integer(known(LINKS, note.map(|note| note.link)));
        row.integer(step.operation as i64);
        row.integer(i64::from(step.is_master));
        row.number(step.bandwidth * 1e9);
    })?;
    let mut entries: Vec<[i64; 2]> = (1..).zip(ids).map(|(key, id)| [i64::from(*id), key]).collect();
    entries.sort_unstable();
    out.index("CommunicationTaskIndex", &schema::COMMUNICATION_TASK_INFO, &["globalTaskId"], &entries)
}
