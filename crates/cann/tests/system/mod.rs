//! Use of processors and memory by whole systems and their processes, engines for pictures and videos, and
//! network devices.
//!
//! The literal tables were typed in from the output of the vendor's own parser on the same files, but for
//! the time of a process whose name has a space, by which that parser takes other fields for the times.

use opscope_cann::{ExportOptions, LossKind, export_database, to_trace};
use opscope_cann_raw::Chip;

use crate::common::edited::Edited;
use crate::{sample, tables};

const MEMORY: &str = "32000000,29998498,101,2001,31,16000000,4000001,16,7";

#[test]
fn systems_and_processes_have_the_tables_of_the_vendors_parser() {
    for chip in [Chip::V4_1_0, Chip::V2_1_0, Chip::V3_3_0] {
        let (_directory, joined) = sample(chip);
        assert!(joined.all_losses().rows().is_empty(), "{chip:?}: {:?}", joined.all_losses().rows());
        let tables = tables(&joined, ExportOptions::default());
        let expect = |kind: &str, rows: &[&str]| {
            let found: Vec<String> = tables[kind].iter().map(|row| row.join(",")).collect();
            assert_eq!(found, rows, "{chip:?}: {kind}");
        };
        expect(
            "cpu_usage",
            &[
                "Device_id,Cpu Type,User(%),Sys(%),IoWait(%),Irq(%),Soft(%),Idle(%)",
                "0,aicpu,7.143,3.061,2.041,1.02,4.082,81.633",
                "0,ctrlcpu,7.143,3.061,2.041,1.02,4.082,81.633",
                "host,host,7.143,3.061,2.041,1.02,4.082,81.633",
            ],
        );
        expect(
            "process_cpu_usage",
            &[
                "Device_id,PID,Name,CPU(%)",
                "0,4242,sample_infer,10.286",
                "0,77,slog daemon,0.233",
                "host,4242,sample_infer,10.286",
                "host,77,slog daemon,0.233",
            ],
        );
        expect(
            "sys_mem",
            &[
                "Device_id,Memory Total(kB),Memory Free(kB),Buffers(kB),Cached(kB),Share Memory(kB),\
                 Commit Limit(kB),Committed AS(kB),Huge Pages Total(pages),Huge Pages Free(pages)",
                &format!("0,{MEMORY}"),
                &format!("host,{MEMORY}"),
            ],
        );
        expect(
            "process_mem",
            &[
                "Device_id,PID,Name,Size(pages),Resident(pages),Shared(pages)",
                "0,4242,sample_infer,4243,104,21",
                "0,77,slog daemon,78,104,21",
                "host,4242,sample_infer,4243,104,21",
                "host,77,slog daemon,78,104,21",
            ],
        );
        expect(
            "dvpp",
            &[
                "Device_id,Dvpp Id,Engine Type,Engine ID,All Time(us),All Frame,All Utilization(%)",
                "0,0,JPEGD,0,750.0,6.0,14",
                "0,0,VPC,0,750.0,6.0,17",
                "0,0,VPC,1,750.0,6.0,17",
            ],
        );
    }
}

/// Counts between samples, 10 ms apart: count n grows by n thousand.
#[test]
fn the_database_and_the_trace_tell_what_went_through_the_network_device() {
    let (directory, joined) = sample(Chip::V4_1_0);
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let one = |query: &str| -> String {
        database.query_row(query, [], |row| row.get::<_, String>(0)).expect("an answer")
    };
    let row = "SELECT timestampNs || ' ' || macTxPfcPkt || ' ' || macTxByte || ' ' || macTxBandwidth || ' ' \
               || roceNewPktRty || ' ' || nicRxByte || ' ' || nicRxBandwidth FROM NETDEV_STATS LIMIT 1";
    assert_eq!(one(row), "1760000000020000000 1000 3000 300000 13000 15000 1500000");
    assert_eq!(one("SELECT '' || count(*) FROM NETDEV_STATS"), "3");
    let trace = to_trace(&joined);
    let names: Vec<&str> =
        trace.counters.ids().map(|id| trace.strings.get(trace.counters.get(id).name)).collect();
    let of_device: Vec<&&str> = names.iter().filter(|name| name.starts_with("network device ")).collect();
    assert_eq!(of_device.len(), 19);
    assert!(of_device.contains(&&"network device NIC received rate"), "{of_device:?}");
}

#[test]
fn blocks_and_lines_that_are_damaged_are_counted_and_the_others_kept() {
    let memory =
        b"MemTotal: 3 kB\nTimeStamp:1\nIndex:0\nDataLen:9\nMemTotal: 100 kB\nMemFree: x kB\nnonsense\n\n\
                   TimeStamp:2\nMemTotal: 5 kB\nTimeStamp:3\nMemTotal: 200 kB\nSwapTotal: 9 kB\n\n\
                   TimeStamp:4\nMemTotal: 7 kB\n";
    let process =
        b"TimeStamp:1\n1 2 3 4 5 6\nProcessName:a,b\n\nTimeStamp:2\n10 20 30 4 5 6 7\nProcessName:a,b\n\n";
    let edited = Edited::new(Chip::V4_1_0, 1)
        .with_bytes(0, "Memory.data", memory)
        .with_bytes(0, "77-Memory.data", process)
        .with_bytes(0, "dvpp.data", b"time dvpp_id\n1: 0 4 0 1 2 3% 4 5 6% 7 8\n1: 0 4\n")
        .with_bytes(0, "netdev_stats.data", b"5 1 2\n");
    let joined = edited.joined();
    let lost = |kind: LossKind, place: &str| -> u64 {
        let rows = joined.all_losses();
        rows.rows().iter().filter(|row| row.kind == kind && row.place == place).map(|row| row.count).sum()
    };
    // A line outside of a block, a value that is no number, a line that is no value; two blocks without an end.
    assert_eq!(lost(LossKind::InvalidLine, "Memory.data"), 3);
    assert_eq!(lost(LossKind::PartialRecord, "Memory.data"), 2);
    assert_eq!(lost(LossKind::InvalidLine, "77-Memory.data"), 1);
    assert_eq!(lost(LossKind::InvalidLine, "dvpp.data"), 1);
    assert_eq!(lost(LossKind::InvalidLine, "netdev_stats.data"), 1);
    let columns = ["Device_id", "Memory Total(kB)", "Memory Free(kB)"];
    assert_eq!(edited.cells("sys_mem", &columns)[0], ["0", "150", ""]);
    // The other file of the process has the name that it has in the end.
    let processes = edited.cells("process_mem", &["Device_id", "PID", "Name", "Size(pages)"]);
    assert!(
        processes.contains(&["0", "77", "slog daemon", "10"].map(str::to_owned).to_vec()),
        "{processes:?}"
    );
}
