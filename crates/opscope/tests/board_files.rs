//! Profiles of boards with SVP processors: exported files, and `JOB*` directories.

mod common;

use std::fs;
use std::path::Path;

use common::Place;

const LAYERS: &str = "\
Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,Mac Ppen Ratio,Vec Busy Ratio,Vec Ppen Ratio,Dstr Ratio,Dtrans Ratio,DLD Ratio,WLD Ratio,Memory Bound,DDR Read(byte),DDR Write(byte),DDR Total(byte)
0,conv1,conv1_relu1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
1,mish1,softplus1,Softplus,79.5,39.75,0,0,40,25,50,N/A,10,0,2,N/A,N/A,N/A
-,-,-,-,200,100,50,40,20,10,30,2,30,20,0.6,1001590000000,4096,1001590004096
";
const CALLS: &str = r#"[{"name": "svp_acl_mdl_execute", "ph": "X", "pid": 5, "tid": 6, "ts": 1000000, "dur": 210, "args": {"Mode": "ACL_MODEL"}}]"#;

/// A directory as the vendor's tool leaves it.
fn exported() -> Place {
    let place = Place::new();
    write(&place, "JOBAAA/summary/op_summary_0.yolo.v3.1.1.2.1.0.600.csv", LAYERS);
    write(&place, "JOBAAA/timeline/acl_0.yolo.v3.1.1.json", CALLS);
    place
}

fn write(place: &Place, name: &str, text: impl AsRef<[u8]>) {
    let path = place.path(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a writable temporary folder");
    fs::write(path, text).expect("a writable temporary folder");
}

/// A call in the layout of 2022.
fn call(name: &str, begin: u64, end: u64) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes[..2].copy_from_slice(&0x5A5Au16.to_le_bytes());
    bytes[4..8].copy_from_slice(&2u32.to_le_bytes());
    bytes[8..16].copy_from_slice(&begin.to_le_bytes());
    bytes[16..24].copy_from_slice(&end.to_le_bytes());
    bytes[32..32 + name.len()].copy_from_slice(name.as_bytes());
    bytes
}

#[test]
fn the_four_tables_of_the_guide_are_shown() {
    let place = exported();
    let answer = place.done(&["show", "JOBAAA"]);
    for heading in ["Core metrics", "Operator statistic", "API statistic", "Frequency"] {
        assert!(answer.stdout.contains(heading), "{heading}: {}", answer.stdout);
    }
    let answer = place.done(&["show", "JOBAAA", "--json"]).json();
    let metrics = answer["core_metrics"][1]["metrics"].as_array().expect("metrics");
    assert!(metrics.iter().any(|row| row["name"] == "Memory Bound" && row["mean"] == 2.0), "{metrics:?}");
    assert_eq!(answer["frequency"][0]["max_mhz"], 600.0);
    assert_eq!(answer["api_statistic"][0]["call"], "svp_acl_mdl_execute");
}

#[test]
fn where_only_tables_were_exported_their_totals_are_shown() {
    let place = Place::new();
    write(&place, "JOBAAA/summary/op_summary_0.net.3.1.2.1.0.600.csv", LAYERS);
    write(
        &place,
        "JOBAAA/summary/acl_statistic_0_3_1.csv",
        "Process ID,Thread ID,Type,Name,Total Time Ratio(%),Total Time(us),Count,Avg(us),Max(us),Min(us)\n\
         5,6,model,svp_acl_mdl_execute,80,900,3,300,500,100\n5,6,runtime,svp_acl_rt_malloc,20,225,1,225,225,225\n",
    );
    write(
        &place,
        "JOBAAA/summary/op_statistic_0_3_1_1.csv",
        "Task ID,Stream ID,OP Name,Task Type,Total Time Ratio(%),Total Time(us),Count,Avg(us),Max(us),Min(us)\n\
         0,0,conv1_relu1,AA_CORE,60,361.5,3,120.5,121.5,119.5\n1,0,softplus1,AA_CPU,40,240,3,80,81,79\n",
    );
    let shown = place.done(&["show", "JOBAAA", "--json"]).json();
    let calls = &shown["api_statistic"];
    let time = |ns: [u64; 5]| serde_json::json!({"count": ns[0], "total_ns": ns[1], "mean_ns": ns[2], "min_ns": ns[3], "max_ns": ns[4]});
    assert_eq!(calls[0]["call"], "svp_acl_mdl_execute");
    assert_eq!(calls[0]["time"], time([3, 900_000, 300_000, 100_000, 500_000]));
    assert_eq!((&calls[1]["level"], &calls[1]["time"]["total_ns"]), (&"runtime".into(), &225_000.into()));
    // The table of totals knows where a layer ran.
    assert_eq!(shown["core_metrics"][1]["unit"], "ai-cpu");
    let exported = place.done(&["export", "timeline", "JOBAAA"]);
    assert_eq!(exported.stdout, "", "no timeline is made up: {}", exported.stdout);

    // Totals alone, in the order of the file, as often as they were counted.
    fs::remove_file(place.path("JOBAAA/summary/op_summary_0.net.3.1.2.1.0.600.csv")).expect("the table");
    let shown = place.done(&["show", "JOBAAA", "--json"]).json();
    assert_eq!(shown["operator_statistic"][0]["time"], time([3, 361_500, 120_500, 119_500, 121_500]));
    place.done(&["import", "JOBAAA"]);
    let database = rusqlite::Connection::open(place.path("JOBAAA/sqlite/opscope.db")).expect("a database");
    let table = "JOBAAA/summary/acl_statistic_0_3_1.csv";
    assert_eq!(place.done(&["show", table, "--json"]).json()["api_statistic"], shown["api_statistic"]);
    let labels = "SELECT count(*) FROM property_values WHERE value LIKE '%totals only%'";
    assert_eq!(database.query_row(labels, [], |row| row.get::<_, i64>(0)).expect("a count"), 2);
}

#[test]
fn operators_are_located_with_the_ids_that_the_files_state() {
    let place = Place::new();
    let ids = |operator: &str, path: &str| {
        let found = place.done(&["where", operator, path, "--json"]).json();
        found["locations"][0]["tasks"][0]["task_id"].clone()
    };
    let table = "JOBAAA/summary/op_summary_0.net.3.1.2.1.0.600.csv";
    write(&place, table, LAYERS.replace("\n1,mish1", "\n41,mish1"));
    let text = place.done(&["where", "softplus1", "JOBAAA"]).stdout;
    assert!(text.lines().any(|line| line.starts_with("softplus1") && line.ends_with(" 41")), "{text}");
    // A timeline's own ids count for its tasks.
    let timeline = r#"[{"name": "softplus1", "ph": "X", "ts": 5, "dur": 2, "args": {"Task Type": "AA CPU", "Task Id": 7}},
                       {"name": "conv1_relu1", "ph": "X", "ts": 9, "dur": 2, "args": {"Task Type": "AA CORE"}}]"#;
    write(&place, "JOBAAA/timeline/task_time_0.net.3.1.json", timeline);
    assert_eq!(ids("softplus1", "JOBAAA"), 7);
    assert_eq!(ids("conv1_relu1", "JOBAAA"), serde_json::Value::Null, "no id is made up");
    place.done(&["import", "JOBAAA"]);
    assert_eq!(ids("softplus1", "JOBAAA/sqlite/opscope.db"), 7);
    let totals = "Task ID,Stream ID,OP Name,Task Type,Total Time(us),Count\n9,0,conv1,AA_CORE,361.5,3\n";
    write(&place, "op_statistic_0_3_1_1.csv", totals);
    assert_eq!(ids("conv1", "op_statistic_0_3_1_1.csv"), 9);
}

#[test]
fn a_memory_bound_that_does_not_follow_from_its_row_is_shown_as_it_follows_and_counted() {
    let place = Place::new();
    let wrong = LAYERS.replace("10,0,2,N/A,N/A,N/A", "10,0,9.9,N/A,N/A,N/A");
    assert_ne!(wrong, LAYERS);
    write(&place, "JOBAAA/summary/op_summary_0.net.3.1.2.1.0.600.csv", wrong);
    let shown = place.done(&["show", "JOBAAA", "--json"]).json();
    let metrics = shown["core_metrics"][1]["metrics"].as_array().expect("metrics");
    assert!(metrics.iter().any(|row| row["name"] == "Memory Bound" && row["mean"] == 2.0), "{metrics:?}");
    let said = place.done(&["import", "JOBAAA"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("a memory bound that does not follow from its row"), "{said}");
}

#[test]
fn raw_calls_as_many_as_a_board_keeps_are_warned_of_and_so_are_unfinished_files_beside_tables() {
    let place = Place::new();
    write(&place, "JOBCCC/info.json.0", "{}");
    let calls: Vec<u8> =
        (0..512).flat_map(|index| call("svp_acl_mdl_execute", index * 10, index * 10 + 5)).collect();
    write(&place, "JOBCCC/data/acl_api.0.kws.31", &calls[..511 * 128]);
    write(&place, "JOBCCC/data/acl_api.0.kws.31.done", "");
    let said = |place: &Place| {
        let answer = place.done(&["import", "JOBCCC"]);
        format!("{}{}", answer.stdout, answer.stderr)
    };
    assert!(!said(&place).contains("a board keeps 512"));
    write(&place, "JOBCCC/data/acl_api.0.kws.31", calls);
    assert!(said(&place).contains("a board keeps 512"), "{}", said(&place));
    write(&place, "JOBCCC/data/aicore.0.1.1", "half");
    write(&place, "JOBCCC/summary/op_summary_0.kws.31.1.2.1.0.600.csv", LAYERS);
    assert!(said(&place).contains("aicore.0.1.1 was not finished"), "{}", said(&place));
}

#[test]
fn a_folder_of_collections_stands_for_the_only_one_or_names_them() {
    let place = exported();
    let shown = place.done(&["show", "JOBAAA", "--json"]).stdout;
    fs::create_dir(place.path("profiling")).expect("a folder");
    fs::rename(place.path("JOBAAA"), place.path("profiling/JOBAAA")).expect("the profile");
    assert_eq!(place.done(&["show", "profiling", "--json"]).stdout, shown);
    write(&place, "profiling/JOBBBB/summary/op_summary_0.net.1.1.1.1.0.600.csv", LAYERS);
    write(&place, "profiling/JOBBBB/info.json.0", r#"{"platform_version": "SS928"}"#);
    let names = ["2 profiles of boards", "profiling/JOBAAA", "profiling/JOBBBB"];
    for command in [&["show", "profiling"][..], &["export", "all", "profiling"], &["query", "profiling"]] {
        place.fails(1, &names, command);
    }
    // The vendor's tool tells of errors on standard output.
    for command in
        [&["msprof", "export", "summary", "-dir", "profiling"][..], &["msprof", "query", "-dir", "profiling"]]
    {
        let answer = place.run(command);
        assert_eq!(answer.status, Some(1));
        assert!(names.iter().all(|name| answer.stdout.contains(name)), "{command:?}: {}", answer.stdout);
    }
    let board = "profiling/JOBBBB: this is a profile of an SVP board, and not a raw directory of Ascend";
    place.fails(1, &[board], &["query", "profiling/JOBBBB"]);
}

#[test]
fn exporting_writes_the_guides_names_columns_and_digits() {
    let place = exported();
    let answer = place.done(&["export", "all", "JOBAAA", "--output", "again"]);
    assert_eq!(answer.stdout.lines().count(), 2, "{}", answer.stdout);
    let table = fs::read_to_string(place.path("again/summary/op_summary_0.yolo.v3.1.1.2.1.0.600.csv"));
    assert_eq!(table.expect("the table"), LAYERS);
    let json = place.done(&["export", "summary", "JOBAAA", "--output", "json", "--format", "json"]);
    assert!(json.stdout.trim().ends_with("op_summary_0.yolo.v3.1.1.2.1.0.600.json"), "{}", json.stdout);
    let refused = place.run(&["export", "db", "JOBAAA"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("opscope import"), "{}", refused.stderr);
}

#[test]
fn what_the_vendors_tool_wrote_is_never_replaced_and_its_own_columns_are_kept_elsewhere() {
    let place = Place::new();
    let table = "JOBAAA/summary/op_summary_0.net.1.1.2.1.0.600.csv";
    let own = "Layer Id,Layer Name,Layer Type,Time(us),Input Shapes,Mystery\n0,a,Conv,10,1;3,x\n-,-,-,10,,\n";
    let totals = "JOBAAA/summary/op_statistic_0_1_1_1.csv";
    let own_totals = "Task ID,OP Name,Total Time(us),Block\n0,a,10,7\n-,-,10,\n";
    write(&place, table, own);
    write(&place, totals, own_totals);
    write(&place, "JOBAAA/timeline/acl_0.net.1.1.json", CALLS);
    for _ in 0..2 {
        let answer = place.done(&["export", "all", "JOBAAA"]);
        assert_eq!(answer.stdout, "");
        assert!(
            answer.stderr.contains("kept as it is") && answer.stderr.contains("and 2 more"),
            "{}",
            answer.stderr
        );
    }
    place.done(&["msprof", "show", "-dir", "JOBAAA"]);
    let read = |name: &str| fs::read_to_string(place.path(name)).expect(name);
    assert_eq!((&*read(table), &*read(totals)), (own, own_totals));
    assert_eq!(read("JOBAAA/timeline/acl_0.net.1.1.json"), CALLS);
    place.done(&["export", "all", "JOBAAA", "--output", "again"]);
    let again = read("again/summary/op_summary_0.net.1.1.2.1.0.600.csv");
    assert!(again.lines().next().expect("names").ends_with(",Input Shapes,Mystery"), "{again}");
    assert!(again.contains(",1;3,x\n"), "{again}");
    let again = read("again/summary/op_statistic_0_1_1_1.csv");
    assert!(again.contains(",Block\n") && again.contains(",7\n") && again.contains("\n-,"), "{again}");
    // Our own export is replaced, unless somebody changes it.
    let answer = place.done(&["export", "all", "JOBAAA", "--output", "again"]);
    assert_eq!(answer.stdout.lines().count(), 3, "{}", answer.stdout);
    write(&place, "again/summary/op_statistic_0_1_1_1.csv", "mine");
    let answer = place.done(&["export", "all", "JOBAAA", "--output", "again"]);
    assert_eq!(answer.stdout.lines().count(), 2, "{}", answer.stdout);
    assert_eq!(read("again/summary/op_statistic_0_1_1_1.csv"), "mine");
}

#[test]
fn a_table_of_another_model_than_the_timelines_is_a_counted_loss() {
    let place = exported();
    let layers = r#"[{"name": "a", "ph": "X", "pid": 0, "tid": 0, "ts": 1, "dur": 2, "args": {"Task Type": "AA CORE"}}]"#;
    write(&place, "JOBAAA/timeline/task_time_0.other.7.1.json", layers);
    let said = place.done(&["import", "JOBAAA"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("a table of another model than the timelines'"), "{said}");
    assert!(said.contains("op_summary_0.yolo.v3.1.1.2.1.0.600 (2 rows)"), "{said}");
}

#[test]
fn calls_that_were_cut_off_keep_their_whole_records_and_what_is_missing_is_said_first() {
    let place = Place::new();
    write(&place, "JOBCCC/info.json.0", "{}");
    write(&place, "JOBCCC/data/kws.v2.31.net.info", "net");
    write(&place, "JOBCCC/data/aicore.0.kws.v2.31.1.1.0.done", "secret layout");
    let calls = [call("svp_acl_init", 1_000, 2_000), call("svp_acl_mdl_execute", 60_000, 83_000)].concat();
    write(&place, "JOBCCC/data/AclModule.0.kws.v2.31.2", &calls[..200]);
    let shown = place.done(&["show", "JOBCCC"]);
    assert!(shown.stdout.starts_with("Missing: layers and their counters: "), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("--vendor-parser") && shown.stdout.contains("svp_acl_init"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.contains("svp_acl_mdl_execute"), "{}", shown.stdout);
    let json = place.done(&["show", "JOBCCC", "--json"]).json();
    assert_eq!(json["missing"][0]["what"], "layers and their counters");
    let said = place.done(&["import", "JOBCCC"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("a record that was cut off") && said.contains("72 bytes"), "{said}");
    let exported = place.done(&["export", "timeline", "JOBCCC"]).stdout;
    assert!(exported.contains("timeline/acl_0.kws.v2.31.NA.json"), "{exported}");
}

#[test]
fn importing_a_job_leaves_its_database_in_sqlite() {
    let place = exported();
    place.done(&["import", "JOBAAA"]);
    let database = place.path("JOBAAA/sqlite/opscope.db");
    assert!(database.exists());
    let from_database = place.done(&["show", "JOBAAA/sqlite/opscope.db", "--json"]).json();
    assert_eq!(from_database, place.done(&["show", "JOBAAA", "--json"]).json());
}

#[test]
fn a_raw_job_says_what_it_holds_and_what_is_missing() {
    let place = Place::new();
    fs::create_dir_all(place.path("JOBBBB")).expect("a folder");
    let answer = place.run(&["import", "JOBBBB"]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stderr.contains("data is missing") && answer.stderr.contains("--online_model_type=2"));
    write(&place, "JOBBBB/info.json.0", "{}");
    write(&place, "JOBBBB/data/aicore.0.kws.31.1.1.0.done", "secret layout");
    let answer = place.run(&["import", "JOBBBB"]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stderr.contains("layout that is not public"), "{}", answer.stderr);
    assert!(answer.stderr.contains("aicore.0.kws.31.1.1.0.done"), "{}", answer.stderr);
}

#[test]
fn calls_in_the_layout_of_2022_are_decoded_and_labelled() {
    let place = Place::new();
    write(&place, "JOBCCC/info.json.0", "{}");
    write(&place, "JOBCCC/data/kws.31.net.info", "net");
    let calls = [
        call("svp_acl_mdl_load_from_mem", 1_000_000, 51_000_000),
        call("svp_acl_mdl_execute", 60_000_000, 83_299_000),
    ];
    write(&place, "JOBCCC/data/acl_api.0.kws.31", calls.concat());
    write(&place, "JOBCCC/data/acl_api.0.kws.31.done", "");
    let answer = place.done(&["show", "JOBCCC", "--json"]).json();
    let execute = &answer["api_statistic"][1];
    assert_eq!(
        (&execute["call"], &execute["time"]["total_ns"]),
        (&"svp_acl_mdl_execute".into(), &23_299_000.into())
    );
    let label = place.done(&["show", "JOBCCC"]).stderr;
    assert!(label.contains("AclModule layout of 2022"), "{label}");
    let exported = place.done(&["export", "all", "JOBCCC"]);
    assert!(exported.stdout.contains("acl_statistic_0_31_1.csv"), "{}", exported.stdout);
    place.done(&["import", "JOBCCC"]);
    let database = rusqlite::Connection::open(place.path("JOBCCC/sqlite/opscope.db")).expect("a database");
    let label = "SELECT count(*) FROM property_values WHERE value LIKE '%AclModule layout of 2022%'";
    assert_eq!(database.query_row(label, [], |row| row.get::<_, i64>(0)).expect("a count"), 1);
    let lost = "SELECT count(*) FROM losses JOIN strings ON strings.id = detail_id \
                WHERE text LIKE '%kws.31.net.info%'";
    assert_eq!(database.query_row(lost, [], |row| row.get::<_, i64>(0)).expect("a count"), 1);
}
