//! Ranges and marks that the program set.

use std::collections::BTreeMap;

use opscope_cann_raw::additional::Tx as RawTx;

use crate::decode::decode;
use crate::decode::nodes::keep;
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::{HostTables, Tx, TxTable};

/// Decodes all ranges and marks, by their begin. With mstx a long message has several records.
pub(super) fn ranges(streams: &[Stream], tables: &mut HostTables) {
    let records: Vec<RawTx> = decode(streams, Some(HOST_MAGIC), &mut tables.losses, keep);
    let mut marks: BTreeMap<u64, Vec<RawTx>> = BTreeMap::new();
    for raw in records {
        if raw.info_type == 1 {
            marks.entry(raw.mark).or_default().push(raw);
        } else {
            add(tables, &raw, text(&raw.message));
        }
    }
    for mut segments in marks.into_values() {
        segments.sort_by_key(|segment| segment.segment);
        let message = segments.iter().map(|segment| text(&segment.message)).collect::<String>();
        if let Some(first) = segments.first() {
            add(tables, first, message);
        }
    }
    tables.tx.sort_by_key(|t: &TxTable, i| t.start()[i]);
}

fn add(tables: &mut HostTables, raw: &RawTx, message: String) {
    tables.tx.push(Tx {
        mstx: raw.info_type == 1,
        process: raw.process,
        thread: raw.thread,
        category: raw.category,
        event_type: raw.event_type,
        payload_type: raw.payload_type,
        payload: raw.payload,
        start: raw.start,
        end: raw.end,
        mark: raw.mark,
        domain: raw.domain,
        message_type: raw.message_type,
        message: tables.messages.len() as u32,
    });
    tables.messages.push(message);
}

/// The text of a buffer up to its first zero.
pub(super) fn text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}
