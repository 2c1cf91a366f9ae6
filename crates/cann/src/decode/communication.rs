//! Notes on collective operations and their steps.

use opscope_cann_raw::additional::{HcclInfo, MultiThread};
use opscope_cann_raw::host::{HcclOpInfo, Head};
use opscope_trace::LossKind;

use crate::catalogue::Catalogue;
use crate::decode::{decode, launching};
use crate::slices::HOST_MAGIC;
use crate::tables::{
    CollectiveNote, CollectiveNoteTable, CommunicationNote, CommunicationNoteTable, Helper, HelperTable,
    HostTables,
};

/// Whether an operation is relayed, and whether it is repeated when it fails.
pub(super) fn collective_flags(flags: u8) -> (bool, bool) {
    const RELAYED: u8 = 1;
    const RETRIED: u8 = 2;
    (flags & RELAYED != 0, flags & RETRIED != 0)
}

/// Decodes both kinds of notes, and which threads help others, each by thread and time.
pub(super) fn decode_communication(catalogue: &Catalogue, tables: &mut HostTables) {
    let losses = &mut tables.losses;
    tables.communication_notes = decode(
        catalogue.streams("additional.hccl_info"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut CommunicationNoteTable, raw: HcclInfo, _| {
            table.push(CommunicationNote {
                thread: raw.head.thread,
                time: raw.head.time,
                name: raw.item,
                group: raw.group,
                local_rank: raw.local_rank,
                remote_rank: raw.remote_rank,
                rank_size: raw.rank_size,
                plane: raw.plane,
                context: raw.context,
                notify: raw.notify,
                estimate: raw.estimate,
                size: raw.size,
                data_type: raw.data_type,
                link: raw.link,
                transport: raw.transport,
                rdma: raw.rdma,
            });
            Ok(())
        },
    );
    tables.communication_notes.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    tables.collective_notes = decode(
        catalogue.streams("compact.hccl_op_info"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut CollectiveNoteTable, raw: HcclOpInfo, _| {
            let (relayed, retried) = collective_flags(raw.flags);
            table.push(CollectiveNote {
                thread: raw.head.thread,
                time: raw.head.time,
                relayed,
                retried,
                data_type: raw.data_type,
                algorithm: raw.algorithm,
                count: raw.count,
                group: raw.group,
            });
            Ok(())
        },
    );
    tables.collective_notes.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    tables.helpers = decode(
        catalogue.streams("additional.Multi_Thread"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut HelperTable, raw: MultiThread, _| {
            let Head { time, thread: owner, .. } = raw.head;
            let used = raw.threads.get(..raw.count as usize).ok_or(LossKind::InvalidRecord)?;
            // The thread itself needs no help, and 0 is one that hasn't begun.
            let others = used.iter().copied().filter(|thread| ![0, owner].contains(thread));
            others.for_each(|thread| table.push(Helper { thread, time, owner }));
            Ok(())
        },
    );
    tables.helpers.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    tables.group_streams = launching::group_streams(catalogue, losses);
}
