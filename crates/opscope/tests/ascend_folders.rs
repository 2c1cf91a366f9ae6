//! Folders and tables of Ascend's tools as people keep them: devices, runs and forms side by side, tables that
//! spreadsheets saved in other encodings, and the results of other tools.

mod common;

use common::{Place, number};
use encoding_rs::GB18030;
use serde_json::Value;

const HEADINGS: [&str; 8] = [
    "Device_id",
    "Op Name",
    "OP Type",
    "Task Type",
    "Stream ID",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Input Shapes",
];

/// The same headings in Chinese, as the vendor's manuals have them.
const CHINESE: [&str; 8] = [
    "设备ID",
    "算子名称",
    "算子类型",
    "任务类型",
    "流ID",
    "任务开始时间（us）",
    "任务耗时（微秒）",
    "输入形状",
];

/// Microseconds since 1970.
const BEGIN: u64 = 1_736_412_474_000_000;
const DAY: u64 = 24 * 3_600 * 1_000_000;

/// A table of three operators on a device, each 5 µs long, the first `later` microseconds after the begin.
fn rows(device: u32, later: u64) -> Vec<[String; 8]> {
    let row = |number: u64| {
        [
            device.to_string(),
            format!("conv{number}"),
            "Conv2D".to_owned(),
            "AI_CORE".to_owned(),
            "2".to_owned(),
            format!("{}.250", BEGIN + later + 10 * number),
            "5.000".to_owned(),
            "\"1,3,224,224\"".to_owned(),
        ]
    };
    (0..3).map(row).collect()
}

/// A table with its cells in an order, between separators.
fn table(headings: [&str; 8], rows: &[[String; 8]], order: [usize; 8], separator: char) -> String {
    let written = |cell: &str| match cell.contains([separator, '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let line = |cells: [&str; 8]| order.map(|column| written(cells[column])).join(&separator.to_string());
    let mut lines = vec![line(headings)];
    lines.extend(rows.iter().map(|row| line(row.each_ref().map(String::as_str))));
    lines.join("\r\n") + "\r\n"
}

const IN_ORDER: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const TURNED: [usize; 8] = [7, 5, 3, 1, 6, 4, 2, 0];

fn utf16(text: &str, low_first: bool) -> Vec<u8> {
    let bytes = |unit: u16| if low_first { unit.to_le_bytes() } else { unit.to_be_bytes() };
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect()
}

/// The operators of a profile as `analyze` tells them, and how long they took together.
fn answer(place: &Place, path: &str) -> (Value, f64) {
    let answer = place.done(&["analyze", path, "--json"]).json();
    let rows = answer["rows"].as_array().expect("rows");
    let sum = rows.iter().map(|row| number(row, "/time_ns")).sum();
    (answer["rows"].clone(), sum)
}

#[test]
fn a_table_is_the_same_whatever_language_encoding_separator_and_order_it_was_saved_in() {
    let place = Place::new();
    let rows = rows(0, 0);
    let plain = table(HEADINGS, &rows, IN_ORDER, ',');
    let commas = |text: String| text.replace(".250", ",250").replace("5.000", "5,000");
    place.write("plain.csv", &plain);
    let (expected, sum) = answer(&place, "plain.csv");
    assert_eq!(sum, 15_000.0, "{expected:#}");
    let chinese = table(CHINESE, &rows, TURNED, ',');
    for (name, content) in [
        ("mark.csv", format!("\u{feff}{plain}").into_bytes()),
        ("order.csv", table(HEADINGS, &rows, TURNED, ',').into_bytes()),
        ("semicolons.csv", commas(table(HEADINGS, &rows, TURNED, ';')).into_bytes()),
        ("tabs.csv", table(HEADINGS, &rows, IN_ORDER, '\t').into_bytes()),
        ("chinese.csv", chinese.clone().into_bytes()),
        // As a Chinese edition of a spreadsheet saves it.
        ("gbk.csv", GB18030.encode(&chinese).0.into_owned()),
        ("utf16le.csv", utf16(&chinese, true)),
        ("utf16be.csv", utf16(&plain, false)),
        // Excel's "Unicode text".
        ("utf16tabs.txt", utf16(&table(CHINESE, &rows, IN_ORDER, '\t'), true)),
    ] {
        place.write(name, content);
        assert_eq!(answer(&place, name).0, expected, "{name}");
    }
}

#[test]
fn names_of_another_encoding_below_english_headings_are_replaced_and_counted() {
    let place = Place::new();
    let table = table(HEADINGS, &rows(0, 0), IN_ORDER, ',');
    // "算子" in GBK, for two of three names.
    let content = GB18030.encode(&table.replace("conv0", "算子0").replace("conv1", "算子1")).0.into_owned();
    place.write("names.csv", content);
    let told = place.done(&["analyze", "names.csv", "--json"]).json();
    assert_eq!(number(&told, "/overview/tasks"), 3.0, "{told:#}");
    let losses: Vec<_> = told["losses"].as_array().expect("losses").iter().collect();
    assert_eq!(losses.len(), 1, "{told:#}");
    assert_eq!((losses[0]["kind"].as_str(), number(losses[0], "/count")), (Some("replaced-bytes"), 2.0));
    // They are counted once also by those who read them from an imported file.
    place.done(&["import", "names.csv", "-o", "names.opscope"]);
    let again = place.done(&["analyze", "names.opscope", "--json"]).json();
    assert_eq!(again["losses"].as_array().map(Vec::len), Some(1), "{again:#}");
    assert_eq!(again["losses"][0]["reason"], told["losses"][0]["reason"]);
}

#[test]
fn an_encoding_that_is_not_read_is_named_with_what_to_do() {
    let place = Place::new();
    let unmarked = utf16(&table(HEADINGS, &rows(0, 0), IN_ORDER, ','), true)[2..].to_vec();
    place.write("unmarked.csv", &unmarked);
    for command in ["analyze", "import"] {
        place.fails(1, &["unmarked.csv", "UTF-16", "save it as UTF-8"], &[command, "unmarked.csv"]);
    }
    // In a folder it costs what it holds.
    std::fs::create_dir(place.path("run")).expect("a folder");
    place.write("run/op_summary_20250109101112.csv", table(HEADINGS, &rows(0, 0), IN_ORDER, ','));
    place.write("run/memory_record_20250109101112.csv", &unmarked);
    let told = place.done(&["analyze", "run", "--json"]).json();
    assert_eq!(number(&told, "/overview/tasks"), 3.0, "{told:#}");
    let losses = told["losses"].to_string();
    assert!(losses.contains("file-not-read") && losses.contains("UTF-16"), "{losses}");
}

#[test]
fn devices_runs_and_forms_side_by_side_are_told_apart() {
    let place = Place::new();
    std::fs::create_dir(place.path("run")).expect("a folder");
    let both: Vec<_> = rows(0, 0).into_iter().chain(rows(1, 3)).collect();
    place.write("run/op_summary_20250109101112.csv", table(HEADINGS, &both, IN_ORDER, ','));
    let slice = |device: u64, number: u64| {
        let start = BEGIN + 3 * device + 10 * number;
        format!(
            r#"{{"ph":"X","name":"conv{number}","pid":{},"tid":2,"ts":"{start}.250","dur":5,
                "args":{{"Task Type":"AI_CORE","Physic Stream Id":2}}}}"#,
            5_120 + device
        )
    };
    let named = |device: u64| {
        let pid = 5_120 + device;
        format!(
            r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"Ascend Hardware"}}}},
               {{"ph":"M","name":"process_labels","pid":{pid},"args":{{"labels":"NPU {device}"}}}}"#
        )
    };
    let slices = (0..2).flat_map(|device| {
        std::iter::once(named(device)).chain((0..3).map(move |number| slice(device, number)))
    });
    place.write("run/msprof_20250109101112.json", format!("[{}]", slices.collect::<Vec<_>>().join(",")));
    let records = |time: u64| {
        format!(
            "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n\
             0,GE,{time}.250\t,4,8,NPU:0\n"
        )
    };
    place.write("run/memory_record_20250109101112.csv", records(BEGIN + 5));
    // Of the day before.
    place.write("run/memory_record_20250108101112.csv", records(BEGIN - DAY));
    place.write("run/memory_usage_0.pb", b"\x0a\x00");
    place.write("run/cluster_step_trace_time.csv", "Step,Type\n");

    let told = place.done(&["analyze", "run", "--json"]).json();
    assert_eq!(number(&told, "/overview/tasks"), 6.0, "each once, on its device: {told:#}");
    let first = place.done(&["analyze", "run", "--device", "1", "--json"]).json();
    assert_eq!(number(&first, "/executions"), 3.0, "{first:#}");
    let json = place.done(&["info", "run", "--json"]).json();
    let fate = |name: &str| json["content"][format!("file {name}")].as_str().unwrap_or_default().to_owned();
    for (name, begins) in [
        ("op_summary_20250109101112.csv", "read: "),
        ("msprof_20250109101112.json", "read: "),
        ("memory_record_20250109101112.csv", "read: "),
        ("memory_record_20250108101112.csv", "of another run: "),
        ("memory_usage_0.pb", "not read: MindSpore's plan of memory"),
        ("cluster_step_trace_time.csv", "not read: it sums up several ranks"),
    ] {
        assert!(fate(name).starts_with(begins), "{name}: {}", fate(name));
    }
}

#[test]
fn profiles_beside_a_raw_directory_are_told_whoever_reads_it() {
    let place = Place::new();
    place.done(&["sample", "prof", "-o", "runs", "--tasks", "200", "--quiet"]);
    let layer = r#"{"name": "conv1", "timeMs": 1.0, "averageMs": 0.1, "percentage": 100.0}"#;
    place.write("runs/layers.json", format!(r#"[{{"count": 10}}, {layer}]"#));
    let told = place.done(&["info", "runs", "--json"]).json();
    assert_eq!(told["losses"].to_string().matches("other-profile").count(), 1, "{told:#}");
    for command in [&["import", "runs"][..], &["export", "summary", "runs"]] {
        let told = place.done(command).stderr;
        assert!(told.contains("layers.json: left out: another profile"), "{told}");
    }
}

#[test]
fn folders_of_a_server_s_requests_are_named_for_what_they_are() {
    let place = Place::new();
    std::fs::create_dir(place.path("output")).expect("a folder");
    for name in ["request.csv", "batch.csv", "kvcache.csv", "chrome_tracing.json"] {
        place.write(&format!("output/{name}"), "[]");
    }
    place.fails(1, &["output", "msServiceProfiler", "chrome_tracing.json"], &["analyze", "output"]);
    place.write(
        "output/request.csv",
        "http_rid,recv_token_size,reply_token_size,execution_time(ms),first_token_latency(ms),start_time(ms)\n\
         7,12,40,250.5,20.125,1745398331100\n8,10,30,100,10,1745398331200\n",
    );
    let told = place.done(&["info", "output", "--json"]).json();
    assert_eq!(number(&told, "/content/ranges"), 2.0, "{told:#}");
    let rows = place.done(&["sql", "output", "SELECT sum(duration_ns) FROM ranges", "--csv"]);
    assert!(rows.stdout.contains("350500000"), "{}", rows.stdout);
    place.write(
        "output/batch.csv",
        "name,res_list,batch_size,batch_type,start_time(ms),end_time(ms),during_time(ms)\n\
         modelExec,[7],1,Prefill,1745398331101,1745398331191,90\n\
         modelExec,[7],1,Decode,1745398331200,1745398331210,10\n\
         modelExec,[7],2,Decode,1745398331210,1745398331230,20\n\
         modelExec,[7],3,Decode,1745398331230,1745398331260,30\n\
         modelExec,[7],4,Decode,1745398331260,1745398331300,40\n",
    );
    let ranges = place.done(&["analyze", "output"]).stdout;
    for (domain, name) in [("Prefill", "modelExec"), ("Decode", "modelExec"), ("request", "7")] {
        let is_it = |line: &str| line.split_whitespace().rev().take(2).eq([name, domain]);
        assert!(ranges.lines().any(is_it), "{domain} {name}: {ranges}");
    }
    // The tables never hold what could cover their ranges, and batches aren't alike.
    let advice = place.done(&["advise", "output", "--json"]).json();
    for rule in ["A33", "H01", "H02"] {
        assert!(!advice["findings"].to_string().contains(rule), "{rule}: {advice:#}");
    }
    std::fs::create_dir(place.path("collected")).expect("a folder");
    place.write("collected/ms_service_4242.db", "");
    place.fails(1, &["collected", "ms_service_profiler.parse"], &["analyze", "collected"]);
}
