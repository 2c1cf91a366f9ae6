//! Units that chips 15 and 16 alone have: for collective communication, instructions of cores, parts of fused
//! tasks, and the frequency of each die.
//!
//! Round number k begins k + 1 intervals of 10 ms after the begin; the device's counter has nanoseconds.

use opscope_cann::read::AscendTimeline;
use opscope_cann::{ExportOptions, LossKind, export_database, export_timeline, to_trace};
use opscope_cann_raw::Chip;
use opscope_formats::reading::Stop;
use serde_json::Value;

use crate::common::edited::Edited;
use crate::{events, sample, tables};

const CHIPS: [Chip; 2] = [Chip::V6_1_0, Chip::V6_2_0];

/// The slices of a process of the viewer.
fn slices<'e>(events: &'e [Value], process: &str) -> Vec<&'e Value> {
    let is_process = |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == process;
    let pid = &events.iter().find(is_process).unwrap_or_else(|| panic!("no {process}"))["pid"];
    events.iter().filter(|event| event["ph"] == "X" && event["pid"] == *pid).collect()
}

#[test]
fn loops_waits_and_channels_of_communicating_units_have_tables() {
    for chip in CHIPS {
        let (_directory, joined) = sample(chip);
        assert!(joined.all_losses().rows().is_empty(), "{:?}", joined.all_losses().rows());
        let tables = tables(&joined, ExportOptions::default());
        let missions = &tables["ccu_mission"];
        assert_eq!(
            missions[0].join(","),
            "Device_id,Stream ID,Task Id,Instruction ID,Instruction Start Time(us),Instruction Duration(us),\
             Notify Instruction ID,Notify Rank ID,Notify Duration(us)"
        );
        // Each of four rounds has a loop, and a wait for 16 ranks.
        assert_eq!(missions.len(), 1 + 4 * 17);
        let first = ["1", "1760000000010000.000\t", "50.0\t", "0", "N/A", "N/A"];
        assert_eq!([&missions[1][2], &missions[1][4], &missions[1][5]], [first[0], first[1], first[2]]);
        assert_eq!(missions[1][6..], first[3..]);
        let waits = &missions[2..18];
        assert!(waits.iter().all(|row| row[2] == "2" && row[4] == "N/A" && row[6] == "8"), "{waits:?}");
        let of_rank = |rank: &str| waits.iter().find(|row| row[7] == rank).map(|row| row[8].as_str());
        assert_eq!([of_rank("15"), of_rank("3")], [Some("0.04\t"), Some("10.0\t")]);
        assert!(missions[1..].iter().all(|row| row[1] != "65535"), "the host's tasks tell the stream");

        let channels: Vec<String> = tables["ccu_channel"].iter().map(|row| row.join(",")).collect();
        assert_eq!(
            channels[..4],
            [
                "Device_id,Channel Id,Timestamp(us),Max Bandwidth(MB/s),Min Bandwidth(MB/s),Avg Bandwidth(MB/s)",
                "0,2,1760000000010000.002\t,7659.314,1914.828,3829.657",
                "0,11,1760000000010000.011\t,7038.288,1759.572,3519.144",
                "0,124,1760000000010000.124\t,3487.723,871.931,1743.862",
            ]
        );
    }
}

#[test]
fn the_timeline_shows_units_instructions_fused_tasks_and_the_frequency_of_dies() {
    let (directory, joined) = sample(Chip::V6_1_0);
    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let events = events(files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the timeline"));

    let units = slices(&events, "CCU");
    assert_eq!(units.len(), 8);
    let repeated = units.iter().find(|slice| slice["name"] == "LoopGroup").expect("a loop");
    assert_eq!((&repeated["ts"], &repeated["dur"]), (&"1760000000010000.000".into(), &50.0.into()));
    // A MiB in 50 µs, largest values of FP32 in, FP16 out.
    assert_eq!(repeated["args"]["Bandwidth (MB/s)"], 20_000.0);
    let reduced = ["Reduce Op Type", "Input Data Type", "Output Data Type"].map(|key| &repeated["args"][key]);
    assert_eq!(reduced, ["MAX", "FP32", "FP16"]);
    let wait = units.iter().find(|slice| slice["name"] == "Wait").expect("a wait");
    let args = &wait["args"];
    assert_eq!((&args["Notify Rank ID"], &args["Mask"], &wait["dur"]), (&3.into(), &7.into(), &10.0.into()));
    assert_eq!(
        (&args["Maximum Delay Channel"], &args["Maximum Channel Delay"]),
        (&124.into(), &2_240.into())
    );

    let instructions = slices(&events, "Biu Perf");
    // Three slices for each of three cores and four rounds.
    assert_eq!(instructions.len(), 3 * 3 * 4);
    let lanes: std::collections::BTreeSet<&str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .filter(|name| name.starts_with("Group") && name.contains("-ai"))
        .collect();
    assert_eq!(lanes.into_iter().collect::<Vec<_>>(), ["Group0-aic", "Group0-aiv0", "Group11-aiv1"]);
    let checkpoint = instructions.iter().find(|slice| slice["name"] == "MTE2").expect("a checkpoint");
    assert_eq!((&checkpoint["dur"], &checkpoint["args"]["Checkpoint Info"]), (&0.0.into(), &9.into()));
    assert_eq!(checkpoint["args"]["Block Id"], 256);
    for (unit, begins) in [("VEC", 100.0), ("CUBE", 100.0)] {
        let slice = instructions.iter().find(|slice| slice["name"] == unit).expect("a unit");
        let start: f64 = slice["ts"].as_str().expect("a time").parse().expect("a number");
        assert!(
            start >= 1_760_000_000_010_000.0 && start < 1_760_000_000_010_000.0 + begins,
            "{unit}: {start}"
        );
        assert!(slice["dur"].as_f64().is_some_and(|duration| duration > 0.0), "{slice}");
    }

    let fused = slices(&events, "Fusion Task");
    assert!(!fused.is_empty());
    for part in &fused {
        let args = &part["args"];
        assert_eq!(part["name"], "Fusion CCU");
        assert_eq!([&args["Acc Id"], &args["Mission Id"], &args["Ccu Die Id"]], [9, 5, 0]);
    }
    for (die, first) in [(0, 1_650), (1, 1_651)] {
        let name = format!("AI Core Freq Die {die}");
        let values: Vec<_> = events.iter().filter(|event| event["name"] == *name).collect();
        assert_eq!((values.len(), &values[0]["args"]["MHz"]), (4, &first.into()));
    }
    assert!(!events.iter().any(|event| event["name"] == "AI Core Freq Die 2"), "it has no cores");
}

#[test]
fn what_happens_within_tasks_becomes_neither_ranges_nor_tasks_of_a_timeline_that_is_read() {
    let (directory, joined) = sample(Chip::V6_1_0);
    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let whole = files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the timeline");
    let bytes = std::fs::read(whole).expect("a file");
    let trace =
        opscope_formats::chrome::read_with(&bytes, &[&AscendTimeline], &Stop::default()).expect("a timeline");
    let raw = to_trace(&joined);
    assert_eq!((trace.tasks.len(), trace.ranges.len()), (raw.tasks.len(), raw.ranges.len()));
}

#[test]
fn the_database_and_the_trace_have_them_too() {
    let (directory, joined) = sample(Chip::V6_1_0);
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let one = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).expect(sql);
    assert_eq!(one("SELECT count(*) FROM CCU"), 8);
    let loops = "FROM CCU JOIN STRING_IDS ON name = id WHERE value = 'LoopGroup'";
    assert_eq!(one(&format!("SELECT min(endNs - startNs) {loops}")), 50_000);
    assert!(one("SELECT count(*) FROM CCU JOIN TASK USING (globalTaskId)") > 0, "tasks of the run");
    let args: String = database
        .query_row(
            &format!("SELECT s.value FROM (SELECT args {loops}) JOIN STRING_IDS s ON s.id = args"),
            [],
            |row| row.get(0),
        )
        .expect("a text");
    // Names and values in turn, as the vendor's library writes them.
    let args: Vec<Value> = serde_json::from_str(&args).expect("a list");
    assert_eq!(args[4..8], ["Instruction ID".into(), 7.into(), "Die Id".into(), Value::from(0)]);
    assert_eq!(one("SELECT count(*) FROM AICORE_FREQ WHERE dieId IN (0, 1)"), 8);

    let trace = to_trace(&joined);
    let mut names: Vec<&str> =
        trace.counters.iter().map(|(_, counter)| trace.strings.get(counter.name)).collect();
    names.retain(|name| name.starts_with("CCU") || name.starts_with("AI core"));
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        [
            "AI core 0 frequency",
            "AI core 1 frequency",
            "AI core frequency",
            "CCU 1 channel 11 bandwidth",
            "CCU 1 channel 124 bandwidth",
            "CCU 1 channel 2 bandwidth",
        ]
    );
}

#[test]
fn damage_to_their_files_is_counted_and_the_rest_is_kept() {
    let edited = Edited::new(Chip::V6_1_0, 120);
    let data = |name: &str| edited.profile.join("device_0/data").join(format!("{name}.0.slice_0"));
    let change = |name: &str, change: fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(data(name)).expect("a file");
        change(&mut bytes);
        std::fs::write(data(name), bytes).expect("space on disk");
    };
    // A loop that ends before it begins, a record of statistics whose begin is gone, and words without their time.
    change("ccu0.instr", |bytes| bytes[42..50].fill(0));
    change("ccu1.stat", |bytes| drop(bytes.drain(..2_816 - 100)));
    change("instr.biu_perf_group0_aic", |bytes| drop(bytes.drain(..4)));
    let joined = edited.joined();
    let losses = joined.all_losses();
    let count = |kind, place: &str| {
        let found = losses.rows().iter().filter(|loss| loss.kind == kind && loss.place == place);
        found.map(|loss| loss.count).sum::<u64>()
    };
    assert_eq!(count(LossKind::InvalidRecord, "ccu0.instr"), 1, "{losses:?}");
    assert_eq!(count(LossKind::PartialRecord, "ccu1.stat"), 1, "{losses:?}");
    // Three words of the time, and the four behind it.
    assert_eq!(count(LossKind::InvalidRecord, "instr.biu_perf_group0_aic"), 7, "{losses:?}");
    let tables = tables(&joined, ExportOptions::default());
    assert_eq!((tables["ccu_mission"].len(), tables["ccu_channel"].len()), (4 * 17, 1 + 3 * 3));
}
