//! The sums that the vendor's profiler for PyTorch makes of a rank: steps, and what communication waited and moved
//! (`analysis.db`).

use std::io::{self, Cursor};

use opscope_formats::sqlite_file::SqliteWriter;

use crate::identity::Identity;
use crate::links::{by_transport, matrix, package, rate};
use crate::sqlite::Database;
use crate::tables::{Tables, Transport};

/// The analysis of a rank; `has_details` says whether with communication.
pub(crate) fn analysis(identity: &Identity, tables: &Tables, has_details: bool) -> io::Result<Vec<u8>> {
    let mut file = Cursor::new(Vec::new());
    let mut database = Database(SqliteWriter::new(&mut file)?);
    let columns = "step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, \
                   communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, \
                   communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC";
    database.table("StepTraceTime", columns, tables.steps.len(), |index, row| {
        let step = &tables.steps[index];
        row.text(&step.number.to_string());
        step.parts.iter().for_each(|part| row.number(part / 1e3));
    })?;
    let collectives = if has_details { &tables.collectives[..] } else { &[] };
    let hash = |group| identity.group(group).map_or("", |own| own.hash.as_str());
    let kind = |is_between_two| if is_between_two { "p2p" } else { "collective" };

    let columns = "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, \
                   transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, \
                   step TEXT, type TEXT";
    database.table("CommAnalyzerTime", columns, collectives.len(), |index, row| {
        let collective = &collectives[index];
        row.text(&collective.name);
        row.text(hash(collective.group));
        row.number(collective.start_ns as f64 / 1e3);
        row.number((collective.wait + collective.transit) / 1e6);
        row.number(collective.transit / 1e6);
        row.number(collective.wait / 1e6);
        row.number(collective.wait / 1e6);
        row.number(collective.idle_ms());
        row.text(&format!("step{}", collective.step));
        row.text(kind(collective.transfer.is_between_two()));
    })?;

    // By way between ranks, and once more what went by the copy engines within a host.
    let mut rows = Vec::with_capacity(collectives.len() * 3);
    for collective in collectives {
        let by_transport = by_transport(&collective.links);
        let near = by_transport.iter().find(|(transport, ..)| *transport == Transport::Hccs);
        let (bytes, duration) = near.map_or((0.0, 0.0), |(_, bytes, duration, _)| (*bytes, *duration));
        for (transport, bytes, duration, count) in &by_transport {
            rows.push((collective, transport.name(), *bytes, *duration, *count));
        }
        rows.push((collective, "SDMA", bytes, duration, 0));
    }
    let columns = "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, \
                   transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, \
                   count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT";
    database.table("CommAnalyzerBandwidth", columns, rows.len(), |index, row| {
        let (collective, transport, bytes, duration, count) = rows[index];
        row.text(&collective.name);
        row.text(hash(collective.group));
        row.text(transport);
        row.number(bytes / 1e6);
        row.number(duration / 1e6);
        row.number(rate(bytes, duration));
        let has_packets = count > 0;
        row.number(if has_packets { 1.0 } else { 0.0 });
        row.number(if has_packets { package(bytes, count) } else { 0.0 });
        row.number(f64::from(count));
        row.number(if has_packets { duration / 1e6 } else { 0.0 });
        row.text(&format!("step{}", collective.step));
        row.text(kind(collective.transfer.is_between_two()));
    })?;

    let rows = if has_details { matrix(tables) } else { Vec::new() };
    let columns = "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, \
                   transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, \
                   op_name TEXT";
    database.table("CommAnalyzerMatrix", columns, rows.len(), |index, row| {
        let cell = &rows[index];
        row.text(&format!("{}-{}", cell.transfer.name().to_lowercase(), cell.pick));
        row.text(hash(cell.group));
        row.text(&cell.source.to_string());
        row.text(&cell.target.to_string());
        row.text(cell.transport.name());
        row.number(cell.bytes / 1e6);
        row.number(cell.duration / 1e6);
        row.number(rate(cell.bytes, cell.duration));
        row.text(&format!("step{}", cell.step));
        row.text(kind(cell.transfer.is_between_two()));
        row.text(cell.operator.unwrap_or_default());
    })?;
    database.0.finish()?;
    Ok(file.into_inner())
}
