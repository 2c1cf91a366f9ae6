//! Ranks in every form that their profiles come in: whichever it is, the answer is the same, as far as the form tells.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::Place;
use opscope_testing::companions;
use serde_json::Value;

/// The folders or files below a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    entries
}

/// The database of each rank of a collection.
fn databases(collection: &Path) -> Vec<PathBuf> {
    let is_profilers = |path: &PathBuf| path.to_str().unwrap().contains("ascend_pytorch_profiler");
    let of_rank = |folder: &PathBuf| {
        entries(&folder.join("ASCEND_PROFILER_OUTPUT")).into_iter().find(is_profilers).unwrap()
    };
    entries(collection).iter().map(of_rank).collect()
}

/// An answer without the names of what it was read from.
fn answer(place: &Place, folder: &str) -> Value {
    let mut answer = place.done(&["cluster", folder, "--json"]).json();
    answer.as_object_mut().unwrap().remove("losses");
    answer
}

/// The named suspects, each by its name up to the bracket, with what it costs a step in milliseconds.
fn costs(answer: &Value) -> Vec<(String, f64)> {
    let suspects = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
    let cost = |it: &Value| {
        let name = it["name"].as_str().unwrap().split(" (").next().unwrap().to_owned();
        (name, it["saves_ns"].as_f64().unwrap() / 1e6)
    };
    suspects.map(cost).collect()
}

fn assert_same_costs(ours: &Value, theirs: &Value) {
    let (ours_named, theirs_named) = (costs(ours), costs(theirs));
    assert_eq!(ours_named.len(), theirs_named.len(), "{ours_named:?} {theirs_named:?}");
    for ((name, cost), (other_name, other_cost)) in ours_named.iter().zip(&theirs_named) {
        assert_eq!(name, other_name);
        assert!((cost - other_cost).abs() < 0.02 * other_cost + 0.1, "{name}: {cost} {other_cost}");
    }
}

const FAULTS: [&str; 6] =
    ["--fault", "low-frequency=3:1.4", "--fault", "ai-cpu=4:1.5ms", "--fault", "late-input=2:9ms"];

#[test]
fn timelines_of_pytorch_tell_the_suspects_that_databases_do() {
    let place = Place::new();
    place.done(&[&["sample", "cluster", "-o", "npus"][..], &FAULTS].concat());
    place.done(&[&["sample", "cluster", "-o", "gpus", "--format", "kineto"][..], &FAULTS].concat());
    let timelines = "gpus/cluster_8_ranks_seed_1/kineto";
    let expected = answer(&place, "npus/cluster_8_ranks_seed_1/db");
    assert!(costs(&expected).len() >= 3, "{expected:#}");
    let found = answer(&place, timelines);
    assert_same_costs(&found, &expected);
    // Their groups tell how the work is divided, which databases state.
    assert_eq!(found["layout"], expected["layout"]);
    let compared = place.done(&["cluster", "compare", timelines, "npus"]);
    assert!(!(compared.stdout + &compared.stderr).contains("isn't known"));
    let cause = |answer: &Value, name: &str| {
        let named = answer["suspects"].as_array().unwrap().iter();
        let mut named = named.filter(|it| it["name"].as_str().unwrap().starts_with(name));
        named.next().unwrap()["evidence"]["causes"][0]["cause"].clone()
    };
    // GPUs have no AI CPU and tell no frequency.
    let causes = ["rank 2 ", "rank 3 ", "rank 4 "].map(|name| cause(&found, name));
    assert_eq!(causes, ["late_input", "slow_device", "other_work"]);
    let step = |answer: &Value| answer["step_ns"].as_f64().unwrap();
    assert!((step(&found) / step(&expected) - 1.0).abs() < 0.005);

    // Compressed, and under names that tell nothing but the rank, they are the same; hosts are then not told.
    fs::create_dir(place.path("packed")).unwrap();
    for (rank, path) in entries(&place.path(timelines)).iter().enumerate() {
        let file = fs::File::create(place.path(&format!("packed/rank-{rank}.json.gz"))).unwrap();
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packer.write_all(&fs::read(path).unwrap()).unwrap();
        packer.finish().unwrap();
    }
    assert_same_costs(&answer(&place, "packed"), &expected);
    let told = place.done(&["cluster", "packed"]).stderr;
    assert!(told.contains("tells no host; counts as a host of its own"), "{told}");

    // A set of them answers as they do.
    place.done(&["cluster", "import", timelines, "-o", "set"]);
    assert_eq!(answer(&place, "set"), found);
    let info = place.done(&["cluster", "info", timelines, "--json"]).json();
    assert_eq!(info["ranks"][5]["format"], "timeline");
    // A rank's own file is cut: what can be read of it is used, and it is told.
    let cut = entries(&place.path(timelines))[6].clone();
    let text = fs::read(&cut).unwrap();
    fs::write(&cut, &text[..text.len() / 2]).unwrap();
    let told = place.done(&["cluster", timelines]);
    assert!(told.stderr.contains("rank 6: cut or damaged"), "{}", told.stderr);
}

#[test]
fn groups_that_a_timeline_does_not_tell_are_not_guessed() {
    let place = Place::new();
    for rank in 0..2 {
        let text = format!(
            r#"{{"distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 2}}, "traceEvents": [
            {{"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_RING_LL_Sum_float(x)", "pid": 0, "tid": 20,
             "ts": 1000000, "dur": 50, "args": {{"device": 0, "stream": 20}}}},
            {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000100, "dur": 50}}]}}"#
        );
        place.write(&format!("rank-{rank}.json"), text);
    }
    let refused = place.fails(
        1,
        &[
            "none of the collectives of these ranks (2)",
            "whose group isn't told",
            "newer versions of PyTorch",
        ],
        &["cluster", "."],
    );
    // A level of Ascend's profilers would be no help.
    assert!(!refused.stderr.contains("Level1"), "{}", refused.stderr);
    let told = place.done(&["cluster", "info", "."]);
    let why = "no collective of these ranks tells its group";
    assert!(told.stdout.contains(why) && !told.stdout.contains("Level1"), "{}", told.stdout);
    assert_eq!(place.done(&["cluster", "info", ".", "--json"]).json()["incomparable"], "no_groups");
    let chinese = place.run(&["cluster", ".", "--lang", "zh"]).stderr;
    assert!(chinese.contains("未写明集合通信所属的通信域"), "{chinese}");
}

#[test]
fn timelines_without_collectives_are_said_to_have_none_and_nothing_of_levels() {
    let place = Place::new();
    for rank in 0..2 {
        let text = format!(
            r#"{{"distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 2}}, "traceEvents": [
            {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000100, "dur": 50}}]}}"#
        );
        place.write(&format!("rank-{rank}.json"), text);
    }
    let refused = place.fails(1, &["give the folder above all ranks of one run"], &["cluster", "."]);
    let told = place.done(&["cluster", "info", "."]).stdout;
    assert!(told.contains("no rank has collectives\n"), "{told}");
    assert!(!refused.stderr.contains("Level1") && !told.contains("Level1"), "{}{told}", refused.stderr);
}

#[test]
fn a_rank_is_the_same_in_databases_by_themselves_and_in_those_of_opscope() {
    let place = Place::new();
    place.done(&[&["sample", "cluster"][..], &FAULTS].concat());
    let collection = place.path("cluster_8_ranks_seed_1/db");
    fs::create_dir_all(place.path("loose")).unwrap();
    fs::create_dir_all(place.path("own/sqlite")).unwrap();
    for (rank, database) in databases(&collection).iter().enumerate() {
        fs::copy(database, place.path("loose").join(database.file_name().unwrap())).unwrap();
        let to = format!("own/{rank}.db");
        place.done(&["import", database.to_str().unwrap(), "--db", &to]);
    }
    let loose = answer(&place, "loose");
    assert_same_costs(&loose, &answer(&place, "cluster_8_ranks_seed_1/db"));
    // The import beside a profile is no further rank.
    fs::copy(place.path("own/0.db"), place.path("own/sqlite/opscope.db")).unwrap();
    let own = answer(&place, "own");
    assert_eq!(costs(&own), costs(&loose));
    assert_eq!(own["account"], loose["account"]);

    // Forms can be mixed, and a rank that is there in two is used once.
    fs::create_dir(place.path("mixed")).unwrap();
    for rank in 0..5 {
        let from = entries(&place.path("own"))[rank].clone();
        fs::copy(&from, place.path("mixed").join(from.file_name().unwrap())).unwrap();
    }
    for path in &entries(&place.path("loose"))[4..] {
        fs::copy(path, place.path("mixed").join(path.file_name().unwrap())).unwrap();
    }
    let mixed = place.done(&["cluster", "mixed"]);
    assert!(mixed.stdout.starts_with("8 ranks on 1 host"), "{}", mixed.stdout);
    assert_eq!(costs(&answer(&place, "mixed")), costs(&loose));

    // A database without a rank, beside those that tell theirs, is none.
    fs::copy(place.path("own/7.db"), place.path("one.db")).unwrap();
    let database = rusqlite::Connection::open(place.path("one.db")).unwrap();
    database.execute("DELETE FROM remarks", []).unwrap();
    drop(database);
    fs::rename(place.path("one.db"), place.path("own/report.db")).unwrap();
    let told = place.done(&["cluster", "own"]);
    assert!(told.stdout.starts_with("8 ranks on 1 host"), "{}", told.stdout);
    let losses = place.done(&["cluster", "info", "own"]).stdout;
    assert!(losses.contains("names no rank, which others beside it do; not used"), "{losses}");
}

/// The traffic between ranks: sender, receiver and kind of collective, with bytes and time.
fn traffic(place: &Place, folder: &str) -> Vec<(String, [f64; 2])> {
    let told = place.done(&["cluster", "comm", folder, "--matrix", "--json"]).json();
    let link = |row: &Value| {
        let name = ["src", "dst", "role", "type", "transport"].map(|it| row[it].to_string()).join(" ");
        (name, ["bytes", "time_ns"].map(|it| row[it].as_f64().unwrap()))
    };
    told["links"].as_array().unwrap().iter().map(link).collect()
}

/// Asserts that the same goes over the same links, and takes as long but for a share.
fn assert_same_traffic(found: &[(String, [f64; 2])], expected: &[(String, [f64; 2])], share: f64) {
    let names = |links: &[(String, [f64; 2])]| links.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert!(!expected.is_empty());
    assert_eq!(names(found), names(expected));
    for ((name, [bytes, time]), (_, [known_bytes, known_time])) in found.iter().zip(expected) {
        assert!((bytes / known_bytes - 1.0).abs() < 1e-9, "{name}: {bytes} bytes, not {known_bytes}");
        assert!((time / known_time - 1.0).abs() < share, "{name}: {time} ns, not {known_time}");
    }
}

#[test]
fn links_of_a_recorded_database_are_those_of_the_matrix_beside_it() {
    let Some(data) = companions::shared("data/ascend-pytorch") else { return };
    for recording in ["db_level1_rank0", "db_level2_rank0"] {
        let place = Place::new();
        let (from, to) = (data.join(recording).join("ASCEND_PROFILER_OUTPUT"), "run/ASCEND_PROFILER_OUTPUT");
        fs::create_dir_all(place.path(to)).unwrap();
        let names = ["analysis.db", "ascend_pytorch_profiler_0.db"];
        for name in names {
            fs::write(place.path(to).join(name), fs::read(from.join(name)).unwrap()).unwrap();
        }
        place.write("run/profiler_info_0.json", "{}");
        // Who the others of its group were the run didn't say.
        let told = place.done(&["cluster", "comm", "run", "--matrix"]).stderr;
        assert!(told.contains("tell of 7 links of these") && told.contains("aren't declared"), "{told}");
        let database = rusqlite::Connection::open(place.path(to).join(names[1])).unwrap();
        let declared = "INSERT INTO META_DATA SELECT 'parallel_group_info', json_object(value, json(?1)) \
                        FROM STRING_IDS WHERE id = (SELECT groupName FROM COMMUNICATION_OP LIMIT 1)";
        let members = r#"{"group_name": "dp", "group_rank": 0, "global_ranks": [0, 1, 2, 3, 4, 5, 6, 7]}"#;
        assert_eq!(database.execute(declared, [members]).unwrap(), 1);
        drop(database);
        let of_matrix = traffic(&place, "run");
        assert_eq!(of_matrix.len(), 7);
        fs::remove_file(place.path(to).join(names[0])).unwrap();
        // The matrix has milliseconds of floating point, which the vendor's tool sums up.
        assert_same_traffic(&traffic(&place, "run"), &of_matrix, 1e-5);
    }
}

#[test]
fn databases_by_themselves_tell_slow_links_by_the_tasks_of_their_collectives() {
    for more in [&[][..], &["--devices-per-host", "2"]] {
        let place = Place::new();
        place.done(&[&["sample", "cluster", "--steps", "3"], more].concat());
        let collection = "cluster_8_ranks_seed_1/db";
        let (expected, links) = (answer(&place, collection), traffic(&place, collection));
        assert!(costs(&expected)[0].0.starts_with("link 0 "), "{expected:#}");
        fs::create_dir(place.path("loose")).unwrap();
        for database in databases(&place.path(collection)) {
            fs::copy(&database, place.path("loose").join(database.file_name().unwrap())).unwrap();
        }
        if !more.is_empty() {
            // Messages between hosts whose ends no task tells: their links aren't made up, and groups stand for them.
            let told = place.done(&["cluster", "loose"]);
            assert!(
                told.stderr.contains("transfers by RDMA of which no task tells the end"),
                "{}",
                told.stderr
            );
            assert!(told.stdout.contains("group of 0, 2"), "{}", told.stdout);
            assert!(traffic(&place, "loose").iter().all(|(name, _)| !name.contains("RDMA")));
            entries(&place.path("loose")).iter().for_each(|database| end_messages(database));
            assert!(!place.done(&["cluster", "loose"]).stderr.contains("RDMA"));
        }
        assert_same_traffic(&traffic(&place, "loose"), &links, 0.01);
        assert_same_costs(&answer(&place, "loose"), &expected);
    }
}

/// Gives messages over RDMA their ends, as the vendor's library has them: the task that posts one is done at once, and
/// notices and waits follow it in its plane, until the other side has answered.
fn end_messages(database: &Path) {
    let database = rusqlite::Connection::open(database).unwrap();
    let messages = "SELECT globalTaskId FROM COMMUNICATION_TASK_INFO WHERE rdmaType = 1 AND size > 0";
    let behind = |number: i64| {
        format!(
            "INSERT INTO TASK SELECT endNs, endNs, deviceId, connectionId, globalTaskId + {number}, globalPid, taskType,
                 contextId, streamId, taskId, modelId FROM TASK WHERE globalTaskId IN ({messages});
             INSERT INTO COMMUNICATION_TASK_INFO SELECT name, globalTaskId + {number}, taskType, planeId, groupName,
                 notifyId, 0, srcRank, dstRank, transportType, 4, dataType, linkType, opId
                 FROM COMMUNICATION_TASK_INFO WHERE rdmaType = 1 AND size > 0;"
        )
    };
    let posted = format!("UPDATE TASK SET endNs = startNs + 2000 WHERE globalTaskId IN ({messages});");
    let sql = (1..=4).map(|place| behind(place * 10_000_000)).collect::<String>() + &posted;
    database.execute_batch(&sql).unwrap();
}

#[test]
fn raw_directories_are_decoded_and_say_what_their_databases_do() {
    let place = Place::new();
    for (folder, seed, rank) in [("a", "1", 3), ("b", "2", 4)] {
        let sample = ["sample", "prof", "--chip", "950", "--mode", "collective", "--tasks", "3000"];
        place.done(&[&sample[..], &["-o", &format!("raw/{folder}"), "--seed", seed]].concat());
        let raw = entries(&place.path(&format!("raw/{folder}"))).remove(0);
        // Both samples are of one device of one host, which would be one rank.
        if folder == "b" {
            for path in entries(&raw).iter().flat_map(|part| entries(part)).filter(|path| path.is_file()) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                if text.contains(r#""hostname":"#) || text.contains(r#""hostname" :"#) {
                    fs::write(&path, text.replace("sample", "sample-b")).unwrap();
                }
            }
        }
        place.done(&["export", "db", raw.to_str().unwrap(), "-o", &format!("exported/{folder}")]);
        // The same within the folder of a framework's profiler, which was never asked to parse it.
        let within = place.path(&format!("unparsed/host_{seed}_2025100908532000{seed}_ascend_pt"));
        fs::create_dir_all(&within).unwrap();
        let copied = std::process::Command::new("cp").arg("-r").arg(&raw).arg(&within).status().unwrap();
        assert!(copied.success());
        fs::write(within.join(format!("profiler_info_{rank}.json")), "{}").unwrap();
    }
    let info = place.done(&["cluster", "info", "raw", "--json"]).json();
    assert_eq!((&info["ranks"][0]["format"], &info["ranks"][1]["operators"]), (&"raw".into(), &3000.into()));
    let raw = answer(&place, "raw");
    assert!(raw["step_ns"].as_f64().unwrap() > 1e6, "{raw:#}");
    assert_eq!(raw, answer(&place, "exported"));
    let unparsed = place.done(&["cluster", "info", "unparsed", "--json"]).json();
    let ranks: Vec<&Value> = unparsed["ranks"].as_array().unwrap().iter().map(|it| &it["rank"]).collect();
    assert_eq!(ranks, [3, 4]);
    let told = answer(&place, "unparsed");
    assert_eq!((&told["step_ns"], &told["account"]), (&raw["step_ns"], &raw["account"]));
    // A set tells a raw directory that has changed from one that it has.
    let import = ["cluster", "import", "raw", "-o", "set"];
    place.done(&import);
    assert_eq!(answer(&place, "set"), raw);
    let data = entries(&entries(&place.path("raw/a")).remove(0).join("device_0/data")).remove(0);
    fs::OpenOptions::new().append(true).open(data).unwrap().write_all(&[0; 64]).unwrap();
    place.fails(1, &["rank 0"], &import);
}

/// A place with ranks in `cluster_16_ranks_seed_3/FORMAT`, and with what `msprof-analyze` leaves of them in `results`,
/// whose answer is that of the ranks, as far as results tell.
fn with_results(format: &str) -> Place {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "16", "--seed", "3", "--format", format]);
    let collection = format!("cluster_16_ranks_seed_3/{format}");
    place.done(&["msprof-analyze", "-d", &collection, "-o", "results"]);
    let expected = answer(&place, &collection);
    let found = place.done(&["cluster", "results/cluster_analysis_output"]);
    assert!(found.stdout.contains("link ") && found.stdout.contains("no operators"), "{}", found.stdout);
    let results = answer(&place, "results");
    let (results_costs, expected_costs) = (costs(&results), costs(&expected));
    for (name, cost) in &expected_costs {
        let step = expected["step_ns"].as_f64().unwrap() / 1e6;
        let told = results_costs.iter().find(|(other, _)| other == name);
        let (_, told) = told.unwrap_or_else(|| panic!("{name} is missing: {results_costs:?}"));
        assert!((told - cost).abs() < (0.1 * cost).max(0.005 * step), "{name}: {told}, not {cost}");
    }
    // Computing comes from the table of steps, so the host isn't blamed for it.
    let part = |answer: &Value, name: &str| answer["account"][name].as_f64().unwrap();
    let (host, step) = (part(&results, "host_ns"), results["step_ns"].as_f64().unwrap());
    assert!(host.abs() < 0.02 * step && part(&results, "compute_ns") > 0.1 * step, "{results:#}");
    place
}

#[test]
fn what_is_left_of_all_ranks_tells_who_costs_how_much() {
    let place = with_results("db");
    place.write("results/cluster_analysis_output/cluster_analysis.db", "no database");
    place.fails(1, &["cluster_analysis.db: cut or damaged"], &["cluster", "results"]);
}

#[test]
fn texts_that_are_left_of_all_ranks_tell_who_costs_how_much() {
    let place = with_results("text");
    let whole = answer(&place, "results");
    let given = answer(&place, "results/cluster_analysis_output/cluster_communication.json");
    assert_eq!(given, whole, "a text that is given stands for all of them");
    let text = |name: &str| place.path("results/cluster_analysis_output").join(name);
    let cut = |name: &str| {
        let bytes = fs::read(text(name)).unwrap();
        fs::write(text(name), &bytes[..bytes.len() * 9 / 10]).unwrap();
    };
    // Steps without the traffic, which is cut off.
    cut("cluster_communication_matrix.json");
    let found = place.done(&["cluster", "results"]);
    let told = "cut or damaged; what could be read of it is used: results/cluster_analysis_output/\
                cluster_communication_matrix.json (";
    assert!(found.stderr.contains(told), "{}", found.stderr);
    let without = answer(&place, "results");
    assert_eq!((&without["step_ns"], &without["account"]), (&whole["step_ns"], &whole["account"]));
    fs::remove_file(text("communication_group.json")).unwrap();
    let named = |answer: &Value| costs(answer).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        named(&answer(&place, "results")),
        named(&without),
        "groups stand beside their collectives as well"
    );
    for name in
        ["cluster_communication.json", "cluster_step_trace_time.csv", "cluster_communication_matrix.json"]
    {
        place.write(&format!("results/cluster_analysis_output/{name}"), "{\"a\": 3}");
    }
    place.fails(1, &["cluster_communication.json", "cut or damaged"], &["cluster", "results"]);
}

#[test]
fn steps_that_no_profile_tells_are_inferred_from_collectives_that_come_again() {
    let place = Place::new();
    let sample = ["sample", "cluster", "--ranks", "16", "--seed", "3", "--steps", "4"];
    place.done(&[&sample[..], &["--fault", "low-frequency=3:1.4", "--fault", "ai-cpu=9:1.5ms"]].concat());
    let collection = "cluster_16_ranks_seed_3/db";
    let told = answer(&place, collection);
    let remark = "steps that were inferred";
    assert!(!place.done(&["cluster", collection]).stderr.contains(remark));
    for database in databases(&place.path(collection)) {
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute("DROP TABLE STEP_TIME", []).unwrap();
        fs::remove_file(database.with_file_name("analysis.db")).unwrap();
    }
    let found = place.done(&["cluster", collection]);
    let text = found.stderr.clone() + &found.stdout;
    assert!(found.stderr.contains(remark) && found.stdout.contains("4 steps"), "{text}");
    let inferred = answer(&place, collection);
    let step = |answer: &Value| answer["step_ns"].as_f64().unwrap();
    assert!((step(&inferred) / step(&told) - 1.0).abs() < 0.02, "{} and {}", step(&inferred), step(&told));
    assert_same_costs(&inferred, &told);
    // A set knows that they were, and ranks whose steps don't agree have none.
    place.done(&["cluster", "import", collection, "-o", "set"]);
    assert_eq!(answer(&place, "set"), inferred);
    let last = databases(&place.path(collection)).pop().unwrap();
    let connection = rusqlite::Connection::open(last).unwrap();
    let middle = "(SELECT (min(startNs) + max(startNs)) / 2 FROM COMMUNICATION_OP)";
    connection.execute(&format!("DELETE FROM COMMUNICATION_OP WHERE startNs > {middle}"), []).unwrap();
    connection.execute(&format!("DELETE FROM TASK WHERE startNs > {middle}"), []).unwrap_or_default();
    let found = place.done(&["cluster", collection]);
    assert!(found.stderr.contains("the whole recording counts as one"), "{}", found.stderr);
    assert!(!found.stderr.contains(remark), "{}", found.stderr);
}

#[test]
fn operators_are_there_though_what_tells_of_their_host_is_damaged() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--fault", "ai-cpu=5:1.5ms"]);
    let collection = "cluster_8_ranks_seed_1/db";
    let causes = |folder: &str| answer(&place, folder)["suspects"][0]["evidence"]["causes"].clone();
    let whole = causes(collection);
    assert_eq!(whole[0]["cause"], "ai_cpu");
    let database = &databases(&place.path(collection))[5];
    let connection = rusqlite::Connection::open(database).unwrap();
    // A call that fetches input at a time that no sum has room for.
    let insert = "INSERT INTO PYTORCH_API (startNs, endNs, name) \
                  SELECT '-3000000000000000000', '-2999999999990000000', id FROM STRING_IDS WHERE value LIKE '%DataLoader%'";
    assert_eq!(connection.execute(insert, []).unwrap(), 1);
    assert_eq!(causes(collection), whole);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
    let root = number("SELECT rootpage FROM sqlite_master WHERE name = 'CANN_API'");
    let size = number("PRAGMA page_size");
    drop(connection);
    let mut bytes = fs::read(database).unwrap();
    bytes[(root - 1) * size..][..8].fill(0xff);
    fs::write(database, bytes).unwrap();
    assert_eq!(causes(collection), whole);
    let told = "cut or damaged";
    assert!(place.done(&["cluster", collection]).stderr.contains(told));
    let imported = place.done(&["cluster", "import", collection, "-o", "set"]);
    assert!(imported.stderr.contains(told), "{}", imported.stderr);
    assert_eq!(causes("set"), whole);
}

#[test]
fn ranks_of_two_runs_of_the_same_time_are_refused_with_all_of_them() {
    let place = Place::new();
    for folder in ["one", "other"] {
        place.done(&["sample", "cluster", "-o", folder]);
    }
    fs::remove_dir_all(entries(&place.path("other/cluster_8_ranks_seed_1/db"))[5].clone()).unwrap();
    place.fails(
        1,
        &["two runs, neither of which is known to be newer: 0-4, 6-7", "one", "other", "folders of one run"],
        &["cluster", "."],
    );
}

#[test]
fn what_of_a_folder_is_a_rank_is_told_by_what_lies_in_it() {
    let place = Place::new();
    place.done(&[&["sample", "cluster"][..], &FAULTS].concat());
    let expected = answer(&place, "cluster_8_ranks_seed_1/db");
    // A folder that is only called as raw directories are.
    fs::rename(place.path("cluster_8_ranks_seed_1/db"), place.path("PROF_experiments")).unwrap();
    assert_eq!(answer(&place, "PROF_experiments"), expected);
    // The row of the profiler that knows no rank stands beside that of the framework, as in databases of torch_npu.
    fs::create_dir(place.path("loose")).unwrap();
    for database in databases(&place.path("PROF_experiments")) {
        fs::copy(&database, place.path("loose").join(database.file_name().unwrap())).unwrap();
    }
    let loose = answer(&place, "loose");
    for database in entries(&place.path("loose")) {
        let database = rusqlite::Connection::open(database).unwrap();
        let twice = "INSERT INTO RANK_DEVICE_MAP SELECT -1, deviceId FROM RANK_DEVICE_MAP";
        assert_eq!(database.execute(twice, []).unwrap(), 1);
    }
    assert_eq!(answer(&place, "loose"), loose);
    // Files that are given are ranks, or refused by their name.
    let files: Vec<String> =
        entries(&place.path("loose")).iter().map(|it| it.display().to_string()).collect();
    let mut command = vec!["cluster", "--json"];
    command.extend(files.iter().map(String::as_str));
    let given = place.done(&command).json();
    assert_eq!(given["step_ns"], loose["step_ns"]);
    place.write("none.json", "{}");
    place.fails(1, &["none.json: no profiles of ranks"], &["cluster", "loose", "none.json"]);
    place.done(&["msprof-analyze", "-d", "PROF_experiments", "-o", "results"]);
    let results = "results/cluster_analysis_output/cluster_analysis.db";
    assert_eq!(answer(&place, results), answer(&place, "results"));
}

#[test]
fn devices_of_one_profile_are_ranks_with_nothing_of_their_neighbours() {
    let place = Place::new();
    let sample = ["sample", "prof", "--chip", "910b", "--mode", "graph", "--tasks", "2000", "-o", "raw"];
    place.done(&sample);
    let raw = entries(&place.path("raw")).remove(0);
    fs::create_dir(place.path("own")).unwrap();
    place.done(&["import", raw.to_str().unwrap(), "--db", "own/both.db"]);
    place.done(&["export", "db", raw.to_str().unwrap(), "-o", "exported"]);
    // The run has no collectives, so nothing can be compared; a set tells what each rank has.
    let operators = |path: &str| -> Vec<(i64, String)> {
        let set = format!("set of {path}");
        place.done(&["cluster", "import", path, "-o", &set, "--quiet"]);
        let folder = place.path(&format!("{set}/_manifest/run=run"));
        let manifest = entries(&folder).into_iter().find(|it| it.extension().is_some_and(|it| it == "json"));
        let manifest: Value = serde_json::from_slice(&fs::read(manifest.unwrap()).unwrap()).unwrap();
        let ranks = manifest["ranks"].as_object().unwrap();
        let rows = manifest["files"].as_array().unwrap().iter();
        let rows = rows.filter(|it| it["path"].as_str().unwrap().starts_with("operators"));
        let rows: i64 = rows.map(|it| it["rows"].as_i64().unwrap()).sum();
        ranks.keys().map(|rank| (rows, rank.clone())).collect()
    };
    let expected = operators("raw");
    assert_eq!(expected.len(), 2, "{expected:?}");
    assert!(expected[0].0 > 1000, "{expected:?}");
    assert_eq!((operators("own"), operators("exported")), (expected.clone(), expected.clone()));
    // A device that did nothing is a rank without anything.
    let database =
        entries(&place.path("exported")).into_iter().find(|it| it.extension().is_some_and(|it| it == "db"));
    let database = rusqlite::Connection::open(database.unwrap()).unwrap();
    let left =
        database.execute("DELETE FROM TASK WHERE deviceId = (SELECT max(deviceId) FROM TASK)", []).unwrap();
    assert!(left > 100);
    drop(database);
    let told = place.fails(1, &["none of the collectives of these ranks (2)"], &["cluster", "exported"]);
    drop(told);
    fs::rename(place.path("exported"), place.path("idle")).unwrap();
    let idle = operators("idle");
    assert!(idle.len() == 2 && idle[0].0 < expected[0].0, "{idle:?} {expected:?}");
}

#[test]
fn timelines_of_two_runs_are_not_mixed() {
    let place = Place::new();
    for (folder, seed) in [("a", "1"), ("b", "2")] {
        place
            .done(&["sample", "cluster", "--ranks", "4", "--format", "kineto", "--seed", seed, "-o", folder]);
        let made = place.path(&format!("{folder}/cluster_4_ranks_seed_{seed}/kineto"));
        for (rank, path) in entries(&made).iter().enumerate() {
            fs::rename(path, place.path(&format!("{folder}/rank{rank}.json"))).unwrap();
        }
    }
    fs::remove_file(place.path("a/rank3.json")).unwrap();
    place.fails(1, &["neither of which is known to be newer: 0-2"], &["cluster", "a", "b"]);
    place.done(&["cluster", "b"]);
}

#[test]
fn ranks_in_folders_without_a_host_have_clocks_of_their_own_where_these_are_apart() {
    let place = Place::new();
    let words =
        ["sample", "cluster", "-o", "runs", "--format", "text", "--devices-per-host", "4", "--steps", "3"];
    place.done(&[&words[..], &["--seed", "20", "--clocks", "near", "--fault", "low-frequency=5"]].concat());
    let saved = |run: &str| {
        let told = place.done(&["cluster", run, "--json"]).json();
        let named = told["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
        let saves: Vec<f64> = named.map(|it| it["saves_ns"].as_f64().unwrap()).collect();
        let losses = told["losses"].as_array().unwrap().iter();
        (saves, losses.map(|it| it["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let run = "runs/cluster_8_ranks_seed_20/text";
    let (whole, _) = saved(run);
    assert_eq!(whole.len(), 1);
    std::fs::create_dir(place.path("renamed")).unwrap();
    for folder in std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap()) {
        let name = folder.file_name().into_string().unwrap();
        let rank = name.split('_').nth(1).unwrap().trim_start_matches("1000");
        std::fs::rename(folder.path(), place.path(&format!("renamed/rank{rank}"))).unwrap();
    }
    let (renamed, losses) = saved("renamed");
    assert!(renamed.len() == 1 && (renamed[0] / whole[0] - 1.0).abs() < 0.05, "{renamed:?} and {whole:?}");
    let count = |kind: &str| losses.iter().filter(|it| *it == kind).count();
    assert_eq!((count("host_above"), count("own_clock")), (8, 1), "{losses:?}");
}

#[test]
fn a_timeline_beside_its_packed_copy_is_one_rank_that_is_there_twice() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "4", "--format", "kineto", "-o", "made"]);
    let whole = place.done(&["cluster", "made", "--json"]).json();
    let timelines = entries(&place.path("made/cluster_4_ranks_seed_1/kineto"));
    let text = fs::read(&timelines[2]).unwrap();
    let mut packed = timelines[2].clone().into_os_string();
    packed.push(".gz");
    let pack = |text: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).unwrap();
        fs::write(&packed, packer.finish().unwrap()).unwrap();
    };
    pack(&text);
    let twice = place.done(&["cluster", "made", "--json"]).json();
    assert_eq!((&twice["suspects"], &twice["ranks"]), (&whole["suspects"], &whole["ranks"]));
    let doubles = twice["losses"].as_array().unwrap().iter().filter(|it| it["kind"] == "double");
    assert_eq!(doubles.count(), 1, "{:#}", twice["losses"]);
    // Another content is another run.
    pack(&text[..text.len() - 1]);
    place.fails(1, &["neither of which is known to be newer: 2"], &["cluster", "made"]);
}

/// The first causes of the named suspects.
fn causes(answer: &Value) -> Vec<Value> {
    let suspects = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
    suspects.map(|it| it["evidence"]["causes"][0]["cause"].clone()).collect()
}

#[test]
fn ranks_of_several_forms_in_one_folder_are_judged_as_those_of_one() {
    let place = Place::new();
    place.done(&[&["sample", "cluster", "--format", "both"][..], &FAULTS].concat());
    let expected = answer(&place, "cluster_8_ranks_seed_1/db");
    assert_eq!(causes(&expected), ["ai_cpu", "late_input", "frequency"]);
    let [databases, texts] =
        ["db", "text"].map(|form| entries(&place.path(&format!("cluster_8_ranks_seed_1/{form}"))));
    fs::create_dir(place.path("mixed")).unwrap();
    for rank in 0..8 {
        let from = if [3, 4].contains(&rank) { &texts[rank] } else { &databases[rank] };
        let name = from.file_name().unwrap().to_str().unwrap();
        let is_mindspores = rank > 4;
        let to = match is_mindspores {
            true => place.path("mixed").join(name.replace("_ascend_pt", "_ascend_ms")),
            false => place.path("mixed").join(name),
        };
        fs::rename(from, &to).unwrap();
        if is_mindspores {
            let rename = |own: &str, others: &str| {
                let outputs = to.join("ASCEND_PROFILER_OUTPUT");
                fs::rename(outputs.join(own), outputs.join(others)).unwrap();
            };
            rename("analysis.db", "communication_analyzer.db");
            rename(
                &format!("ascend_pytorch_profiler_{rank}.db"),
                &format!("ascend_mindspore_profiler_{rank}.db"),
            );
        }
    }
    let mixed = answer(&place, "mixed");
    assert_same_costs(&mixed, &expected);
    assert_eq!(causes(&mixed), causes(&expected));
    let info = place.done(&["cluster", "info", "mixed", "--json"]).json();
    assert_eq!(info["losses"], serde_json::json!([]));
    let format = |rank: usize| info["ranks"][rank]["format"].as_str().unwrap();
    assert_eq!([2, 3, 4, 5].map(format), ["database", "text", "text", "database"]);
}

#[test]
fn operators_without_a_type_are_called_by_their_names() {
    let place = Place::new();
    place.done(&[&["sample", "cluster"][..], &FAULTS].concat());
    let collection = "cluster_8_ranks_seed_1/db";
    let reason = || place.done(&["cluster", "slow", collection, "--rank", "4"]).stdout;
    let told = reason();
    assert!(told.contains(": IndexPut runs on the AI CPU, "), "{told}");
    for database in databases(&place.path(collection)) {
        let connection = rusqlite::Connection::open(database).unwrap();
        connection.execute_batch("ALTER TABLE COMPUTE_TASK_INFO DROP COLUMN opType").unwrap();
    }
    let told = reason();
    assert!(told.contains(": aclnnIndexPutImpl_IndexPutAiCpu_IndexPut runs on the AI CPU, "), "{told}");
}

#[test]
fn a_rank_whose_tables_lack_a_column_is_read_unless_nothing_is_told_without_it() {
    let place = Place::new();
    place.done(&[&["sample", "cluster"][..], &FAULTS].concat());
    let collection = "cluster_8_ranks_seed_1/db";
    let expected = answer(&place, collection);
    let database = &databases(&place.path(collection))[5];
    let without = |table: &str, columns: &[&str]| {
        let connection = rusqlite::Connection::open(database).unwrap();
        for column in columns {
            connection.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {column}")).unwrap();
        }
    };
    without("COMMUNICATION_OP", &["relay", "retry", "algType"]);
    without("COMPUTE_TASK_INFO", &["blockDim", "mixBlockDim"]);
    without("TASK", &["contextId"]);
    assert_eq!(answer(&place, collection), expected);
    // Another table tells the collectives as well, as long as it is there.
    without("COMMUNICATION_OP", &["groupName"]);
    let told = place.done(&["cluster", collection]);
    assert_eq!(told.stderr, "");
    assert_same_costs(&answer(&place, collection), &expected);
    fs::remove_file(database.with_file_name("analysis.db")).unwrap();
    let told = place.done(&["cluster", collection]).stderr;
    assert!(told.contains("rank 5: collectives whose group isn't told"), "{told}");
    assert!(told.contains("rank 5: no collectives, which others have"), "{told}");
    let left = answer(&place, collection);
    assert_same_costs(&left, &expected);
    assert_eq!(causes(&left), causes(&expected));
}
