//! Answers about boards' `JOB*` directories and the files that the model converter left, and the spellings
//! of the boards' own guide.

mod common;

use std::fs;
use std::path::Path;

use common::Place;
use opscope_cann_raw::board::{LAYER_TAG, LayerRun};
use opscope_cann_raw::legacy::AclCall;
use opscope_cann_raw::{Record, host};

fn write(place: &Place, name: &str, text: impl AsRef<[u8]>) {
    let path = place.path(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a writable temporary folder");
    fs::write(path, text).expect("a writable temporary folder");
}

/// The file of opscope's own collector: one inference of two layers, of 21 ms within 30 ms.
fn recorded(place: &Place) {
    let mut bytes = Vec::new();
    for (name, kind, begin, end) in [
        ("svp_acl_mdl_load_from_mem", 2, 1_000_000, 41_000_000),
        ("svp_acl_mdl_execute", 2, 50_000_000, 80_000_000),
    ] {
        let mut call =
            AclCall { magic: host::MAGIC, kind, begin, end, process: 7, thread: 8, ..AclCall::default() };
        call.name[..name.len()].copy_from_slice(name.as_bytes());
        call.append_to(&mut bytes);
    }
    write(place, "JOBOWN/data/opscope.calls.7", &bytes);
    let mut bytes = Vec::new();
    for (name, kind, begin, end) in
        [("conv1+relu1", "Convolution", 51_000, 70_000), ("mish1", "Softplus", 71_000, 73_000)]
    {
        let mut layer =
            LayerRun { magic: host::MAGIC, tag: LAYER_TAG, model: 1, begin, end, ..LayerRun::default() };
        layer.name[..name.len()].copy_from_slice(name.as_bytes());
        layer.kind[..kind.len()].copy_from_slice(kind.as_bytes());
        layer.append_to(&mut bytes);
    }
    write(place, "JOBOWN/data/opscope.layers.7", &bytes);
    write(place, "JOBOWN/info.json.0", "{\"collector\": \"opscope\"}");
}

fn converted(place: &Place, folder: &str) {
    let om = r#"{"model": {"tmp_buf_size": 4096}, "operator": [
        {"name": "conv1", "type": "Convolution", "device_type": "ENGINE"},
        {"name": "mish1", "type": "Softplus", "device_type": "CPU"}]}"#;
    write(place, &format!("{folder}/net.om"), "a model");
    write(place, &format!("{folder}/om.json"), om);
    write(
        place,
        &format!("{folder}/layer.json"),
        r#"[{"name": "relu1", "type": "Relu", "is_dump_available": 0}]"#,
    );
    write(
        place,
        &format!("{folder}/cnn_net_tree.dot"),
        "digraph {\n a [label=\"conv1\"]\n b [label=\"relu1\"]\n a -> b\n}\n",
    );
    write(place, &format!("{folder}/shape.json"), r#"{"conv1": [1, 2]}"#);
    write(place, &format!("{folder}/fusion_switch.cfg"), "ReluMerge:off\nBiasMergeToConv:on\n");
}

#[test]
fn what_our_own_collector_recorded_is_shown_exported_and_imported() {
    let place = Place::new();
    recorded(&place);
    let shown = place.done(&["show", "JOBOWN", "--json"]).json();
    let [load, execute] = [0, 1].map(|row| &shown["api_statistic"][row]);
    assert_eq!((&load["call"], &load["phase"]), (&"svp_acl_mdl_load_from_mem".into(), &"one-off".into()));
    assert_eq!(
        (&execute["call"], &execute["phase"]),
        (&"svp_acl_mdl_execute".into(), &"steady-state".into())
    );
    assert_eq!(shown["operator_statistic"][0]["type"], "Convolution");
    let located = place.done(&["where", "mish1", "JOBOWN", "--json"]).json();
    assert!(located["locations"][0]["tasks"][0]["task_id"].is_null(), "its records state no ids: {located}");
    let exported = place.done(&["export", "all", "JOBOWN"]);
    let summary = fs::read_to_string(place.path("JOBOWN/summary/op_summary_0.model.1.1.1.1.NA.NA.csv"));
    assert!(summary.expect(&exported.stdout).contains("1,mish1,mish1,Softplus,2000,9.524,N/A"));
    let calls = fs::read_to_string(place.path("JOBOWN/summary/acl_statistic_0_1_1.csv")).expect("the table");
    assert!(calls.contains("7,8,model,svp_acl_mdl_execute,42.857,30000,1,30000,30000,30000"), "{calls}");
    place.done(&["import", "JOBOWN"]);
    assert!(place.path("JOBOWN/sqlite/opscope.db").exists());
}

#[test]
fn the_share_of_an_execution_that_its_layers_account_for_is_printed() {
    let place = Place::new();
    recorded(&place);
    let shown = place.done(&["show", "JOBOWN"]);
    let says = "Operators account for 21.0 ms of the 30.0 ms that 1 call took to execute a model (70.0 %)";
    assert!(shown.stdout.contains(says), "{}", shown.stdout);
    let covered = place.done(&["show", "JOBOWN", "--json"]).json()["covered"].as_f64().expect("a number");
    assert!((covered - 0.7).abs() < 1e-9);
}

#[test]
fn what_the_converter_left_says_which_layers_run_on_the_cpu_and_which_were_fused() {
    let place = Place::new();
    converted(&place, "model");
    for path in ["model/net.om", "model"] {
        let info = place.done(&["info", path, "--json"]).json();
        assert_eq!(info["content"]["layers_on_cpu"], serde_json::json!(["mish1"]), "{path}");
        assert_eq!(info["content"]["layers_fused"], serde_json::json!(["relu1"]), "{path}");
        assert_eq!(info["content"]["cnn_net_tree.dot"]["layers"], 2, "{path}");
        assert_eq!(info["content"]["fusion_switch.cfg"]["off"], serde_json::json!(["ReluMerge"]), "{path}");
        assert_eq!(info["content"]["tmp_buf_size"], 4096, "{path}");
        assert_eq!(info["content"]["shape.json"]["shapes"], 1, "{path}");
    }
    let text = place.done(&["info", "model/om.json"]).stdout;
    assert!(text.contains("2 layers: 1 on the CPU, 0 fused"), "{text}");
    write(&place, "alone/net.om", "a model");
    let alone = place.run(&["info", "alone/net.om"]);
    assert_eq!(alone.status, Some(1), "nothing of it was read: {}", alone.stdout);
    assert!(
        alone.stdout.contains("--mode=1") && alone.stdout.contains("its content: text"),
        "{}",
        alone.stdout
    );
    write(&place, "alone/copied.om", "");
    let empty = place.run(&["info", "alone/copied.om"]);
    assert_eq!(empty.status, Some(1));
    assert!(
        empty.stdout.contains("an empty file") && !empty.stdout.contains("converted"),
        "{}",
        empty.stdout
    );

    recorded(&place);
    let without = place.done(&["show", "JOBOWN", "--json"]).json();
    assert_eq!(without["placement"], serde_json::json!([]));
    let shown = place.done(&["show", "JOBOWN", "--model", "model/net.om", "--json"]).json();
    let rows = shown["placement"].as_array().expect("rows");
    assert_eq!((&rows[0]["layer"], &rows[0]["fused"]), (&"relu1".into(), &true.into()));
    // The fused layer is found by its part of the whole's name.
    assert_eq!(rows[0]["total_ns"], 19_000_000);
    assert_eq!(
        (&rows[1]["layer"], &rows[1]["on_cpu"], &rows[1]["total_ns"]),
        (&"mish1".into(), &true.into(), &2_000_000.into())
    );
    let text = place.done(&["show", "JOBOWN", "--model", "model"]).stdout;
    assert!(text.contains("Layers on the CPU and fused layers"), "{text}");
    // Beside the profile they are found by themselves.
    converted(&place, ".");
    assert_eq!(place.done(&["show", "JOBOWN", "--json"]).json()["placement"], shown["placement"]);
    place.fails(1, &["left nothing here"], &["show", "JOBOWN", "--model", "alone/net.om"]);
}

#[test]
fn a_directory_of_raw_files_is_listed_with_sizes_and_completeness() {
    let place = Place::new();
    write(&place, "JOBRAW/info.json.0", "{}");
    write(&place, "JOBRAW/data/kws.31.net.info", "net");
    write(&place, "JOBRAW/data/aicore.0.kws.31.1.1.0.done", "x".repeat(3000));
    write(&place, "JOBRAW/data/aicore.0.1.1", "half");
    let info = place.done(&["info", "JOBRAW", "--json"]).json();
    let files = info["content"]["raw_files"].as_array().expect("files");
    let listed: Vec<_> = files
        .iter()
        .map(|file| (file["name"].as_str(), file["bytes"].as_u64(), file["complete"].as_bool()))
        .collect();
    assert_eq!(
        listed,
        [
            (Some("aicore.0.1.1"), Some(4), Some(false)),
            (Some("aicore.0.kws.31.1.1.0.done"), Some(3000), Some(true)),
            (Some("kws.31.net.info"), Some(3), Some(true)),
        ]
    );
    let text = place.done(&["info", "JOBRAW"]).stdout;
    assert!(text.contains("NOT FINISHED") && text.contains("svp_acl_finalize()"), "{text}");
    fs::remove_dir_all(place.path("JOBRAW/data")).expect("the folder");
    let answer = place.run(&["info", "JOBRAW"]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stdout.contains("--online_model_type=2"), "{}", answer.stdout);
}

#[test]
fn a_model_that_was_only_loaded_is_explained_and_is_no_failure() {
    let place = Place::new();
    write(&place, "JOBIDLE/info.json.0", "{}");
    fs::create_dir(place.path("JOBIDLE/data")).expect("a folder");
    let answer = place.done(&["import", "JOBIDLE"]);
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(said.contains("never executed"), "{said}");
}

#[test]
fn calls_that_may_have_been_overwritten_and_missing_samples_are_warned_of() {
    let place = Place::new();
    let layers = "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,10\n-,-,-,10\n";
    for picture in [200, 400, 800] {
        write(&place, &format!("JOBA/summary/op_summary_0.net.3.100.1000.{picture}.0.600.csv"), layers);
    }
    write(&place, "JOBA/summary/acl_statistic_0_3_1.csv", "Name,Total Time(us),Count\na,5,500\nb,5,12\n");
    let answer = place.done(&["import", "JOBA"]);
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(said.contains("a board keeps 512") && said.contains("pictures 600"), "{said}");
    assert!(said.contains("sleep in each round"), "{said}");
}

/// A directory whose calls can be read.
fn vendors(place: &Place) {
    let mut bytes = Vec::new();
    let mut call = AclCall { magic: host::MAGIC, kind: 2, begin: 1_000, end: 9_000, ..AclCall::default() };
    call.name[..19].copy_from_slice(b"svp_acl_mdl_execute");
    call.append_to(&mut bytes);
    write(place, "JOBSVP/info.json.0", "{}");
    write(place, "JOBSVP/data/AclModule.0.net.1", &bytes);
    write(place, "JOBSVP/data/AclModule.0.net.1.done", "");
}

#[test]
fn the_guides_own_spellings_leave_what_its_tool_leaves() {
    let place = Place::new();
    vendors(&place);
    place.done(&["msprof", "import", "-dir", "JOBSVP"]);
    let database = place.path("JOBSVP/sqlite/opscope.db");
    let first = fs::metadata(&database).expect("a database").modified().expect("a time");
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.done(&["msprof", "import", "--collection-dir", "JOBSVP"]);
    let second = fs::metadata(&database).expect("a database").modified().expect("a time");
    assert!(second > first, "an import makes the database anew");
    place.done(&["msprof", "export", "timeline", "-dir", "JOBSVP"]);
    // The names are those of the raw files, which don't tell the batches.
    assert!(place.path("JOBSVP/timeline/acl_0.net.1.NA.json").exists());
    // Without layers there is no file of them.
    let timelines = fs::read_dir(place.path("JOBSVP/timeline")).expect("the folder").flatten();
    let hidden = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with('.');
    assert_eq!(timelines.filter(|it| !hidden(it)).count(), 1);
    // A second export takes the place of the first.
    place.done(&["msprof", "export", "timeline", "-dir", "JOBSVP"]);
    place.done(&["msprof", "export", "summary", "-dir", "JOBSVP", "--format", "json"]);
    assert!(place.path("JOBSVP/summary/acl_statistic_0_1_1.json").exists());
    fs::remove_dir_all(place.path("JOBSVP/timeline")).expect("the folder");
    fs::remove_dir_all(place.path("JOBSVP/summary")).expect("the folder");
    let shown = place.done(&["msprof", "show", "-dir", "JOBSVP"]);
    assert!(shown.stdout.contains("svp_acl_mdl_execute"), "{}", shown.stdout);
    for left in ["sqlite", "timeline", "log"] {
        assert!(place.path("JOBSVP").join(left).is_dir(), "{left}");
    }
    place.done(&["msprof", "export", "timeline", "-h"]);
}

#[test]
fn an_export_reads_the_raw_files_first_where_nothing_was_imported() {
    let place = Place::new();
    vendors(&place);
    let answer = place.done(&["msprof", "export", "summary", "-dir", "JOBSVP"]);
    assert!(answer.stdout.contains("acl_statistic_0_1_1.csv"), "{}", answer.stdout);
}

#[test]
fn a_path_without_its_first_slash_is_suggested_and_what_is_missing_is_named() {
    let place = Place::new();
    vendors(&place);
    let whole = place.path("JOBSVP").display().to_string();
    let answer = place.run(&["msprof", "import", "-dir", whole.trim_start_matches('/')]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stdout.contains(&format!("did you mean {whole}?")), "{}", answer.stdout);
    fs::remove_file(place.path("JOBSVP/info.json.0")).expect("the file");
    let answer = place.run(&["msprof", "import", "-dir", "JOBSVP"]);
    assert!(answer.stdout.contains("info.json.0 is missing"), "{}", answer.stdout);
    let answer = place.run(&["msprof", "import"]);
    assert_eq!(answer.status, Some(2));
    assert!(answer.stdout.contains("-dir"), "{}", answer.stdout);
}

#[test]
fn layers_can_be_ordered_both_ways_by_their_time() {
    let place = Place::new();
    recorded(&place);
    let names = |more: &[&str]| {
        let mut words = vec!["analyze", "JOBOWN", "--json"];
        words.extend(more);
        let text = place.done(&words).stdout;
        (text.find("conv1+relu1"), text.find("mish1"))
    };
    let (conv, mish) = names(&["--sort", "time"]);
    assert!(conv < mish && conv.is_some(), "the most costly comes first");
    let (conv, mish) = names(&["--sort", "+time"]);
    assert!(mish < conv && mish.is_some());
}

#[test]
fn raw_files_in_slices_are_listed_with_what_reads_them() {
    let place = Place::new();
    write(&place, "JOBSLICES/info.json.0", r#"{"devices": "0", "platform_version": "SS928"}"#);
    for name in ["AAcore.data.0.slice_0", "AclModule.data.0.slice_0"] {
        write(&place, &format!("JOBSLICES/data/{name}"), "raw");
        write(&place, &format!("JOBSLICES/data/{name}.done"), "");
    }
    place.fails(1, &["a layout that is not public", "--vendor-parser"], &["analyze", "JOBSLICES"]);
    let said = place.done(&["info", "JOBSLICES"]).stdout;
    assert!(said.contains("AAcore.data.0.slice_0") && said.contains("counters of the engine"), "{said}");
}

#[test]
fn of_an_unfinished_collection_every_command_says_what_reads_its_raw_files() {
    let place = Place::new();
    write(&place, "JOBHALF/info.json.0", r#"{"devices": "0", "platform_version": "SS928"}"#);
    write(&place, "JOBHALF/data/AAcore.data.0.slice_0", "raw");
    for command in ["show", "analyze", "where conv", "info", "export all", "advise", "import"] {
        let words: Vec<&str> = command.split(' ').chain(["JOBHALF"]).collect();
        let answer = place.run(&words);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        let remedies =
            said.matches("--vendor-parser PATH (msprof.pyc or mindcmd; of show, import and export)").count();
        assert_eq!(remedies, 1, "{command}: {said}");
        assert!(said.contains("was not finished") || command == "export all", "{command}: {said}");
    }
    let imported = place.done(&["show", "JOBHALF/sqlite/opscope.db"]).stdout;
    assert!(
        imported.contains("--vendor-parser")
            && !imported.contains("layers and their counters: they were not")
    );
    // Tables that its parser made need no such word.
    let table = "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,10\n";
    write(&place, "JOBHALF/summary/op_summary_0.net.3.1.1.1.0.600.csv", table);
    assert!(!place.done(&["where", "conv1", "JOBHALF"]).stderr.contains("--vendor-parser"));
}
