//! Functions that a device's own processors ran, and calls of the host's operating system.
//!
//! The literal tables were typed in from the output of the vendor's own parser on the same files.

use opscope_cann::{ExportOptions, LossKind, export_database, export_timeline, to_trace};
use opscope_cann_raw::Chip;
use opscope_trace::ApiLevel;
use serde_json::Value;

use crate::common::edited::Edited;
use crate::{events, sample, tables};

#[test]
fn functions_events_and_calls_have_the_tables_of_the_vendors_parser() {
    // The samples of the task scheduler of a 610 have a form of their own.
    for chip in [Chip::V4_1_0, Chip::V1_1_0, Chip::V3_1_0] {
        let (_directory, joined) = sample(chip);
        assert!(joined.all_losses().rows().is_empty(), "{chip:?}: {:?}", joined.all_losses().rows());
        let tables = tables(&joined, ExportOptions::default());
        let expect = |kind: &str, rows: &[&str]| {
            let found: Vec<String> = tables[kind].iter().map(|row| row.join(",")).collect();
            assert_eq!(found, rows, "{chip:?}: {kind}");
        };
        expect(
            "ai_cpu_top_function",
            &[
                "Device_id,Function,Module,Cycles,Cycles(%)",
                "0,unknown,/usr/lib64/libaicpu.so,12102,59.899",
                "0,operator+(Shape const&),/usr/lib64/libaicpu.so,8102,40.101",
            ],
        );
        expect(
            "ai_cpu_pmu_events",
            &["Device_id,Event,Name,Count", "0,0x11,Cpu_cycles,20204", "0,0x8,Inst_retired,20096"],
        );
        expect(
            "ctrl_cpu_top_function",
            &["Device_id,Function,Module,Cycles,Cycles(%)", "0,__schedule,[kernel.kallsyms],4102,100.0"],
        );
        expect(
            "ctrl_cpu_pmu_events",
            &["Device_id,Event,Name,Count", "0,0x11,Cpu_cycles,4102", "0,0x8,Inst_retired,4048"],
        );
        expect(
            "ts_cpu_top_function",
            &[
                "Device_id,Function,Cycles,Cycles(%)",
                "0,0x4030,551,26.213",
                "0,0x4020,534,25.404",
                "0,0x4010,517,24.596",
                "0,0x4000,500,23.787",
            ],
        );
        expect(
            "ts_cpu_pmu_events",
            &["Device_id,Event,Name,Count", "0,0x11,Cpu_cycles,2102", "0,0x8,Inst_retired,2048"],
        );
        expect(
            "os_runtime_statistic",
            &[
                "Device_id,Process ID,Thread ID,Name,Time(%),Time(us),Count,Avg(us),Max(us),Min(us)",
                "host,4242,4243,pthread_mutex_lock,0.275,44.0,2,22.0,23.0,21.0",
                "host,4242,4242,pthread_mutex_lock,0.2625,42.0,2,21.0,22.0,20.0",
                "host,4242,4243,futex,0.2375,38.0,2,19.0,20.0,18.0",
                "host,4242,4242,futex,0.225,36.0,2,18.0,19.0,17.0",
            ],
        );
    }
}

/// Begin after that of the collection and length in microseconds, thread and name of the calls of the sample.
const CALLS: [(i64, i64, u64, &str); 8] = [
    (0, 17, 4_242, "futex"),
    (0, 20, 4_242, "pthread_mutex_lock"),
    (10_000, 18, 4_243, "futex"),
    (10_000, 21, 4_243, "pthread_mutex_lock"),
    (20_000, 19, 4_242, "futex"),
    (20_000, 22, 4_242, "pthread_mutex_lock"),
    (30_000, 20, 4_243, "futex"),
    (30_000, 23, 4_243, "pthread_mutex_lock"),
];

const BEGIN_MICROS: i64 = 1_760_000_000_000_000;

#[test]
fn calls_of_the_operating_system_are_in_the_timeline_the_database_and_the_trace() {
    let (directory, joined) = sample(Chip::V4_1_0);
    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let whole = files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the whole timeline");
    let events = events(whole);
    let is_process =
        |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == "OS Runtime API";
    let pid = &events.iter().find(is_process).expect("a process")["pid"];
    let slices = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == *pid);
    let mut found: Vec<(i64, i64, u64, &str)> = slices
        .map(|slice| {
            let start: f64 = slice["ts"].as_str().expect("a time").parse().expect("a number");
            let duration = slice["dur"].as_f64().expect("a duration");
            // Calls of a thread that overlap have a lane each, of the same name.
            let thread = slice["tid"].as_u64().expect("a lane") % (1 << 20);
            (start as i64 - BEGIN_MICROS, duration as i64, thread, slice["name"].as_str().expect("a name"))
        })
        .collect();
    found.sort();
    assert_eq!(found, CALLS);

    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let mut query = database
        .prepare(
            "SELECT startNs / 1000, (endNs - startNs) / 1000, globalTid & 0xFFFFFFFF, value \
             FROM OSRT_API JOIN STRING_IDS ON name = id ORDER BY startNs, endNs",
        )
        .expect("the table");
    let rows = query.query_map([], |row| {
        let start: i64 = row.get(0)?;
        Ok((start - BEGIN_MICROS, row.get(1)?, row.get::<_, i64>(2)? as u64, row.get::<_, String>(3)?))
    });
    let rows: Vec<(i64, i64, u64, String)> = rows.expect("rows").map(|row| row.expect("a row")).collect();
    let expected = CALLS.map(|(start, length, thread, name)| (start, length, thread, name.to_owned()));
    assert_eq!(rows, expected);

    let trace = to_trace(&joined);
    let of_system = trace.api_calls.iter().filter(|(_, call)| call.level == ApiLevel::System);
    let mut found: Vec<(i64, i64, u64, &str)> = of_system
        .map(|(_, call)| {
            let thread = trace.threads.get(call.thread.expect("a thread")).tid;
            (call.start.0 / 1_000, call.duration.0 / 1_000, thread, trace.strings.get(call.name))
        })
        .collect();
    found.sort();
    assert_eq!(found, CALLS);
}

#[test]
fn what_cannot_be_understood_is_counted_and_the_rest_is_kept() {
    let edited = Edited::new(Chip::V4_1_0, 120);
    let append = |file: &str, bytes: &[u8]| {
        let file = edited.profile.join(file);
        let whole = [std::fs::read(&file).expect("a file"), bytes.to_vec()].concat();
        std::fs::write(&file, whole).expect("space on disk");
    };
    append("host/data/host_syscall.data.slice_0", b"12.5 ( ms): a/1 read(\n9.9 ( 0.1 ms): infer/7 read(\n");
    append("host/data/host_pthreadcall.data.slice_0", b"--- SIGCHLD\n");
    append("device_0/data/ai_ctrl_cpu.data.0.slice_0", b"slogd 7/7 [000] 1.0: 5 r11:\n");
    append("device_0/data/tscpu.data.0.slice_0", &[0; 304]);
    let joined = edited.joined();
    let losses = joined.all_losses();
    assert_eq!(losses.total(LossKind::InvalidLine), 2, "{losses:?}");
    assert_eq!(losses.total(LossKind::PartialRecord), 1, "{losses:?}");
    assert_eq!(losses.total(LossKind::BrokenMagic), 1, "{losses:?}");
    let statistic = &tables(&joined, ExportOptions::default())["os_runtime_statistic"];
    assert!(statistic.iter().any(|row| row[3] == "read" && row[2] == "7" && row[6] == "1"), "{statistic:?}");
}
