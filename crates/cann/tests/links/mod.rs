//! Links, levels of bandwidth and quality of service.
//!
//! Sample k of generated profiles is taken k + 1 intervals of 10 ms after the begin, with values that are
//! simple functions of k. The events of the timeline were compared with those of the vendor's own parser on
//! the same profiles; all are equal but for traffic between dies, which its plain form shows 1,000 times as
//! large, because it takes microseconds for nanoseconds.

use std::collections::BTreeMap;

use opscope_cann::{ExportOptions, LossKind, export_database, export_timeline, to_trace};
use opscope_cann_raw::device::{MAGIC, StarsLog, function as task};
use opscope_cann_raw::links::{
    AcceleratorLevels, BandwidthLevels, ChipLink, DiePcie, DieTraffic, function, link,
};
use opscope_cann_raw::{Chip, Record};
use serde_json::{Value, json};

use crate::common::edited::Edited;
use crate::sample;

/// The arguments of a timeline's counters, by process, name and time.
fn counters(events: &[Value]) -> BTreeMap<(String, String, String), Vec<Value>> {
    let processes: BTreeMap<u64, &str> = events
        .iter()
        .filter(|event| event["name"] == "process_name")
        .filter_map(|event| Some((event["pid"].as_u64()?, event["args"]["name"].as_str()?)))
        .collect();
    let mut found: BTreeMap<_, Vec<Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "C") {
        let process = processes[&event["pid"].as_u64().expect("a process")].to_owned();
        let text = |key: &str| event[key].as_str().expect("text").to_owned();
        found.entry((process, text("name"), text("ts"))).or_default().push(event["args"].clone());
    }
    found
}

fn drawn(chip: Chip) -> BTreeMap<(String, String, String), Vec<Value>> {
    let (directory, joined) = sample(chip);
    assert!(joined.all_losses().rows().is_empty(), "{:?}", joined.all_losses().rows());
    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    counters(&super::events(files.last().expect("a timeline")))
}

#[test]
fn levels_and_links_are_drawn_as_the_vendors_parser_draws_them() {
    let second = "1760000000020000.000";
    for chip in [Chip::V4_1_0, Chip::V1_1_1] {
        let drawn = drawn(chip);
        let at = |process: &str, name: &str| {
            drawn[&(process.to_owned(), name.to_owned(), second.to_owned())].clone()
        };
        // The highest of three accelerators.
        assert_eq!(at("Acc PMU", "write_bandwidth"), [json!({"value": 3})], "{chip:?}");
        assert_eq!(at("Acc PMU", "read_bandwidth"), [json!({"value": 13})]);
        assert_eq!(at("Acc PMU", "write_ost"), [json!({"value": 23})]);
        assert_eq!(at("Acc PMU", "read_ost"), [json!({"value": 33})]);
        assert_eq!(at("Stars Soc Info", "L2 Buffer Bw Level"), [json!({"L2 Buffer Bw Level": 1})]);
        assert_eq!(at("Stars Soc Info", "Mata Bw Level"), [json!({"Mata Bw Level": 1})]);
        assert_eq!(at("Stars Chip Trans", "PA Link Rx"), [json!({"PA Link Rx": 501, "PA Link ID": 4})]);
        assert_eq!(at("Stars Chip Trans", "PA Link Tx"), [json!({"PA Link Tx": 601, "PA Link ID": 4})]);
        let pcie = json!({"PCIE Write Bandwidth": 501, "PCIE ID": 1});
        assert_eq!(at("Stars Chip Trans", "PCIE Write Bandwidth"), [pcie]);
        // 1,000,001 bytes in 10 ms.
        let rate = 95.367_527_008_056_64;
        assert_eq!(at("SIO", "req_rx"), [json!({"die 0": rate, "die 1": rate})]);
        let quality = if chip == Chip::V4_1_0 { "value" } else { "bandwidth(MB/s)" };
        assert_eq!(at("QoS", "QoS dvpp"), [json!({quality: 201})]);
        let of = |process: &str| drawn.keys().filter(|(known, ..)| known == process).count();
        assert_eq!(
            ["Acc PMU", "Stars Soc Info", "Stars Chip Trans", "SIO", "QoS"].map(of),
            [16, 8, 16, 24, 12]
        );
    }
}

#[test]
fn dies_of_wide_chips_are_drawn_side_by_side() {
    let drawn = drawn(Chip::V6_1_0);
    let second = "1760000000020000.000";
    let at =
        |process: &str, name: &str| drawn[&(process.to_owned(), name.to_owned(), second.to_owned())].clone();
    let rate = 95.367_527_008_056_64;
    assert_eq!(at("SIO", "req_rx"), [json!({"D-DIE0": rate, "U-DIE0": rate})]);
    assert_eq!(at("QoS", "QoS aicore"), [json!({"die 0": 1, "die 1": 2})]);
    let bus = json!({"bandwidth_rx(MB/s)": 42.0, "bandwidth_tx(MB/s)": 52.0});
    assert_eq!(at("Ub", "UB Port001"), [bus]);
    let read = at("Stars Chip Trans", "PCIE Read Bandwidth");
    assert_eq!(read, [json!({"U-Die0": 801}), json!({"U-Die1": 801})]);
}

#[test]
fn the_unified_bus_has_a_table_rows_in_the_database_and_counters() {
    let (directory, joined) = sample(Chip::V6_1_0);
    let table = &crate::tables(&joined, ExportOptions::default())["ub"];
    let lines: Vec<String> = table[..3].iter().map(|row| row.join(",")).collect();
    assert_eq!(
        lines,
        [
            "Device_id,PortId,TimeStamp,UBRxPortBandWidth(MB/s),UBTxPortBandWidth(MB/s)",
            "0,0,1760000000010000.000\t,40,50",
            "0,1,1760000000010000.000\t,41,51",
        ]
    );
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let row = "SELECT portId || ' ' || timestampNs || ' ' || rxUdmaBind || ' ' || txUdmaBind FROM UB LIMIT 1";
    let row: String = database.query_row(row, [], |row| row.get(0)).expect("an answer");
    assert_eq!(row, "0 1760000000010000000 40 50");
    let trace = to_trace(&joined);
    let names = trace.counters.ids().map(|id| trace.strings.get(trace.counters.get(id).name));
    assert_eq!(names.filter(|name| name.starts_with("UB port")).count(), 4);
}

#[test]
fn the_database_has_levels_traffic_of_dies_and_quality() {
    let (directory, joined) = sample(Chip::V4_1_0);
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let one = |query: &str| -> String {
        database.query_row(query, [], |row| row.get::<_, String>(0)).expect("an answer")
    };
    let levels = "SELECT group_concat(accId || ' ' || readBwLevel || ' ' || writeBwLevel || ' ' || readOstLevel \
                  || ' ' || writeOstLevel) FROM ACC_PMU WHERE timestampNs = 1760000000020000000 AND deviceId = 0";
    assert_eq!(one(levels), "0 11 1 31 21,1 12 2 32 22,2 13 3 33 23");
    let levels = "SELECT group_concat(l2BufferBwLevel || ' ' || mataBwLevel || ' ' || timestampNs) \
                  FROM (SELECT * FROM SOC_BANDWIDTH_LEVEL LIMIT 2)";
    assert_eq!(one(levels), "0 0 1760000000010000000,1 1 1760000000020000000");
    let dies = "SELECT count(*) || ' ' || group_concat(DISTINCT value) || ' ' || CAST(max(txDat) AS INTEGER) \
                FROM SIO JOIN STRING_IDS ON id = name";
    assert_eq!(one(dies), "6 die 0,die 1 800000300");
    let quality = "SELECT group_concat(value || ' ' || (bandwidth / 1048576) || ' ' || dieId) FROM QOS \
                   JOIN STRING_IDS ON id = eventName WHERE timestampNs = 1760000000020000000";
    assert_eq!(one(quality), "QoS aicore 101 -1,QoS dvpp 201 -1,QoS sdma 301 -1");
}

#[test]
fn the_trace_has_a_counter_for_each_level_link_and_event() {
    let (_directory, joined) = sample(Chip::V4_1_0);
    let trace = to_trace(&joined);
    let names: Vec<&str> =
        trace.counters.ids().map(|id| trace.strings.get(trace.counters.get(id).name)).collect();
    for name in [
        "accelerator 2 outstanding writes level",
        "SoC L2 buffer bandwidth level",
        "SoC MATA bandwidth level",
        "SIO die 1 sent data",
        "PA link 4 received",
        "chip PCIe 1 read",
        "QoS sdma",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

/// The log of tasks has such records in between; unknown ones are counted, and nothing else is lost.
#[test]
fn records_of_links_among_tasks_are_read_and_unknown_ones_counted() {
    let time = Edited::new(Chip::V4_1_0, 1).device_begin() + 50;
    let mut bytes = Vec::new();
    let (stream, magic) = (3, MAGIC);
    StarsLog { word: task::TASK_START, magic, stream, task: 1, time, ..StarsLog::default() }
        .append_to(&mut bytes);
    BandwidthLevels { word: function::BANDWIDTH, magic, time, levels: 0xFFFF }.append_to(&mut bytes);
    let level =
        AcceleratorLevels { word: function::ACCELERATOR, magic, time, accelerator: 7, ..Default::default() };
    level.append_to(&mut bytes);
    // A link that isn't known, and a kind of record that isn't.
    ChipLink { word: function::CHIP_LINK | 5 << 10, magic, time, ..Default::default() }.append_to(&mut bytes);
    ChipLink { word: function::CHIP_LINK | link::PA << 10, magic, time, id: 0xFFFF, ..Default::default() }
        .append_to(&mut bytes);
    StarsLog { word: 30, magic, stream, time, ..StarsLog::default() }.append_to(&mut bytes);
    StarsLog { word: task::TASK_END, magic, stream, task: 1, time: time + 50, ..StarsLog::default() }
        .append_to(&mut bytes);
    let edited = Edited::new(Chip::V4_1_0, 1)
        .with_bytes(0, "stars_soc.data", &bytes)
        .with_bytes(0, "stars_soc_profile.data", &[])
        .with_bytes(0, "qos.data", &[]);
    let joined = edited.joined();
    let tables = &joined.data.devices[&0].tables;
    let losses = joined.all_losses();
    assert_eq!(losses.total(LossKind::UnknownRecord), 2, "{:?}", losses.rows());
    assert_eq!(losses.total(LossKind::BrokenMagic), 0);
    assert_eq!((tables.tasks.len(), tables.samples.links.accelerators.accelerator()), (1, &[7][..]));
    let levels = tables.samples.links.bandwidths.row(0);
    assert_eq!((levels.buffer, levels.access_table), (255, 7));
    assert_eq!(tables.samples.links.links.id(), [63]);
}

#[test]
fn what_was_damaged_is_counted_and_the_rest_kept() {
    let time = 77_000_000_100;
    let whole =
        DieTraffic { word: function::DIES, magic: MAGIC, time, received: [1; 4], ..Default::default() };
    let mut bytes = Vec::new();
    whole.append_to(&mut bytes);
    DieTraffic { magic: 0, ..whole }.append_to(&mut bytes);
    // The same time again, which has no rate, and one that is cut off.
    whole.append_to(&mut bytes);
    DieTraffic { time: time + 500, ..whole }.append_to(&mut bytes);
    bytes.extend([0; 10]);
    let edited = Edited::new(Chip::V4_1_0, 1).with_bytes(0, "stars_soc_profile.data", &bytes);
    let joined = edited.joined();
    let losses = joined.all_losses();
    assert_eq!(losses.total(LossKind::BrokenMagic), 1, "{:?}", losses.rows());
    assert_eq!(losses.total(LossKind::PartialRecord), 1, "{:?}", losses.rows());
    let drawn = counters(&edited.timeline());
    assert_eq!(drawn.keys().filter(|(process, ..)| process == "SIO").count(), 8, "one rate of eight kinds");

    let none = DiePcie { word: function::CHIP_LINK, magic: MAGIC, time, written: u64::MAX, read: 1 };
    let edited = Edited::new(Chip::V6_1_0, 1).with(0, "stars_soc_profile.data", &[none]);
    assert_eq!(edited.joined().all_losses().total(LossKind::InvalidRecord), 1);
}
