//! `opscope cluster import`: sets of Parquet files, which answer as the folders do that they were made from, whoever
//! wrote them in whatever order, and which other programs read.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::Place;
use opscope_testing::companions;
use opscope_testing::small_disk::SmallDisk;
use serde_json::Value;

/// A simulated cluster: the folder of its databases, or of its text results.
fn sample(place: &Place, form: &str, more: &[&str]) -> String {
    let arguments = [&["sample", "cluster", "-o", "runs", "--format", form][..], more].concat();
    place.done(&arguments);
    let folder = place.path("runs");
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path().join(form)).collect();
    entries.sort();
    let first = entries.iter().find(|path| path.is_dir()).expect("a collection");
    first.strip_prefix(place.path("")).unwrap().to_str().unwrap().to_owned()
}

/// The answers of a command from the folder and from the set, which must be equal.
fn assert_same(place: &Place, folder: &str, set: &str, command: &[&str]) {
    let ask = |of: &str| {
        let answer = place.done(&[command, &[of, "--json"]].concat());
        (answer.json(), answer.stderr)
    };
    let (of_folder, of_set) = (ask(folder), ask(set));
    assert!(of_folder.0 == of_set.0, "{command:?}:\n{:#}\nand from the set\n{:#}", of_folder.0, of_set.0);
    assert_eq!(of_folder.1, of_set.1, "{command:?}");
}

/// The answers about experts, which must be equal; of a folder fewer tables are read for them than an import
/// reads, so that the set may tell of more damage.
fn assert_same_experts(place: &Place, folder: &str, set: &str) {
    let ask = |of: &str| {
        let mut answer = place.done(&["cluster", "experts", of, "--json"]).json();
        let losses = answer.as_object_mut().unwrap().remove("losses").unwrap();
        (answer, losses.as_array().unwrap().clone())
    };
    let (of_folder, of_set) = (ask(folder), ask(set));
    assert_eq!(of_folder.0, of_set.0);
    assert!(of_folder.1.iter().all(|loss| of_set.1.contains(loss)), "{:#?}\n{:#?}", of_folder.1, of_set.1);
}

/// All files of a folder, as paths below it.
fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => found.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// The set's tables: paths and contents.
fn tables(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let is_table = |path: &String| path.ends_with(".parquet");
    let read = |path: String| (path.clone(), std::fs::read(folder.join(path)).unwrap());
    files_below(folder).into_iter().filter(is_table).map(read).collect()
}

#[test]
fn a_set_answers_as_the_folder_does() {
    for (form, more) in [
        ("db", &["--ranks", "8", "--steps", "3"][..]),
        ("text", &["--ranks", "8"][..]),
        ("db", &["--ranks", "8", "--damage", "missing=5,cut=6,twice=7,empty=3,shifted=1"][..]),
        ("text", &["--ranks", "8", "--damage", "missing=5,cut=6,twice=7,empty=3,level0=2"][..]),
        // The rank that is cut is no suspect, so that nobody reads its timeline.
        ("text", &["--ranks", "8", "--fault", "low-frequency=5", "--damage", "cut=2"][..]),
    ] {
        let place = Place::new();
        let folder = sample(&place, form, more);
        let told = place.done(&["cluster", "import", &folder, "-o", "set", "--json"]).json();
        assert_eq!(told["whole"], true, "{told:#}");
        for command in [
            &["cluster"][..],
            &["cluster", "info"],
            &["cluster", "slow"],
            &["cluster", "summary", "--by", "stage"],
            &["cluster", "comm"],
            &["cluster", "comm", "--matrix", "--group", "dp"],
        ] {
            assert_same(&place, &folder, "set", command);
        }
        assert_same_experts(&place, &folder, "set");
        let screen = |of: &str| place.done(&["cluster", of]).stdout.replace(of, "");
        assert_eq!(screen(&folder), screen("set"));
    }
}

#[test]
fn shards_in_any_order_make_the_same_set_as_one_import() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8"]);
    place.done(&["cluster", "import", &folder, "-o", "whole", "--jobs", "1"]);
    for shard in ["2/3", "1/3"] {
        let told =
            place.done(&["cluster", "import", &folder, "-o", "set", "--shard", shard, "--json"]).json();
        assert_eq!(told["why_not_whole"], "ranks are still missing", "{told:#}");
    }
    let told = place.done(&["cluster", "import", &folder, "-o", "set", "--shard", "3/3", "--json"]).json();
    assert_eq!((&told["whole"], &told["missing"]), (&true.into(), &Value::Array(Vec::new())), "{told:#}");
    for command in [&["cluster"][..], &["cluster", "info"], &["cluster", "slow"]] {
        assert_same(&place, "whole", "set", command);
    }
    // The tables over all ranks don't tell who wrote the others.
    let of_all = |set: &str| {
        let mut found = tables(&place.path(set));
        found.retain(|(path, _)| path.contains("/whole-"));
        found
            .into_iter()
            .map(|(path, bytes)| (path.split('/').next().unwrap().to_owned(), bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_all("whole").len(), 9);
    assert!(of_all("whole") == of_all("set"), "shards give other tables over all ranks");
    // Numbers of jobs change nothing at all.
    place.done(&["cluster", "import", &folder, "-o", "again", "--jobs", "8"]);
    assert!(tables(&place.path("whole")) == tables(&place.path("again")), "jobs change the set");
}

#[test]
fn what_is_there_is_left_alone_and_other_data_are_refused() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "4"]);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    let before = tables(&place.path("set"));
    let told = place.done(&["cluster", "import", &folder, "-o", "set", "--json"]).json();
    assert_eq!(
        (told["imported"].as_array().unwrap().len(), told["present"].as_array().unwrap().len()),
        (0, 4)
    );
    assert!(before == tables(&place.path("set")), "a second import changes the set");
    let other = sample(&place, "db", &["--ranks", "4", "--seed", "2"]);
    let other =
        [other, "runs/cluster_4_ranks_seed_2/db".to_owned()].into_iter().find(|it| *it != folder).unwrap();
    place.fails(
        1,
        &["rank 0 is in run run of the set already", "--run"],
        &["cluster", "import", &other, "-o", "set"],
    );
    let imported = place.done(&["cluster", "import", &other, "-o", "set", "--run", "second"]).stdout;
    assert!(imported.ends_with("opscope cluster set --run second\n"), "{imported}");
    let screen = place.done(&["cluster", "set", "--run", "second"]).stdout;
    assert!(screen.ends_with("opscope cluster info set --run second\n"), "{screen}");
    assert!(screen.contains("opscope cluster slow set --run second"), "{screen}");
    place.fails(1, &["several runs, run, second", "--run"], &["cluster", "set"]);
    let third = ["--run", "third"];
    for command in
        [&["cluster", "set"][..], &["cluster", "info", "set"], &["cluster", "sql", "set", "SELECT 1"]]
    {
        place.fails(2, &["no run third", "run, second"], &[command, &third].concat());
    }
    place.fails(2, &["no run third"], &["cluster", "queries", "waits", "--set", "set", "--run", "third"]);
    place.fails(2, &["no run third"], &["cluster", "compare", "set", "set", "--run-a", "third"]);
    let second = place.done(&["cluster", "set", "--run", "second", "--json"]).json();
    place.fails(1, &["several runs, run, second", "--run-a"], &["cluster", "compare", "set", "set"]);
    let of_both = ["cluster", "compare", "set", "set", "--run-a", "run", "--run-b", "second", "--json"];
    assert_ne!(place.done(&of_both).json()["rows"], serde_json::json!([]));
    assert_eq!(second, place.done(&["cluster", &other, "--json"]).json());
}

#[test]
fn paths_and_options_that_make_no_sense_are_named() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "2"]);
    std::fs::create_dir(place.path("full")).unwrap();
    place.write("full/letter.txt", "Dear all");
    place.fails(1, &["full", "other things in it"], &["cluster", "import", &folder, "-o", "full"]);
    place.fails(2, &["1/16 to 16/16"], &["cluster", "import", &folder, "-o", "set", "--shard", "0/4"]);
    place.fails(2, &["letters, digits"], &["cluster", "import", &folder, "-o", "set", "--run", "../up"]);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    place.fails(1, &["set is a set: give it alone"], &["cluster", "set", &folder]);
    place.fails(2, &["has no runs to choose from"], &["cluster", &folder, "--run", "run"]);
}

#[test]
fn less_may_be_kept_and_what_it_no_longer_tells_is_said() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8"]);
    let less = ["cluster", "import", &folder, "-o", "less", "--keep", "communication", "--json"];
    let told = place.done(&less).json();
    let rows = |name: &str| {
        let table = told["tables"].as_array().unwrap().iter().find(|it| it["table"] == name);
        table.unwrap()["rows"].as_u64().unwrap()
    };
    assert!(rows("operators") == 0 && rows("collectives") > 0, "{told:#}");
    let (all, less) = (
        place.done(&["cluster", &folder, "--json"]).json(),
        place.done(&["cluster", "less", "--json"]).json(),
    );
    assert_eq!(all["step_ns"], less["step_ns"]);
    // Without operators nobody knows who would have the tokens that one has too many of.
    let reachable = |it: &Value| it["reachable_ns"].as_f64().unwrap();
    let (of_all, of_less) = (reachable(&all), reachable(&less));
    assert!((of_all - of_less).abs() < 0.01 * of_all, "{of_all} and {of_less}");
    let suspects = |it: &Value| -> Vec<(Value, f64)> {
        let all = it["suspects"].as_array().unwrap().iter();
        all.map(|it| (it["name"].clone(), it["saves_ns"].as_f64().unwrap())).collect()
    };
    let (of_all, of_less) = (suspects(&all), suspects(&less));
    assert!(!of_all.is_empty() && of_all.len() == of_less.len(), "{of_all:?} and {of_less:?}");
    for ((who, saves), (same, of_less)) in of_all.iter().zip(&of_less) {
        assert!(
            who == same && (saves - of_less).abs() < 0.01 * saves,
            "{who}: {saves} and {same}: {of_less}"
        );
    }
    let why = place.done(&["cluster", "slow", "less"]).stdout;
    assert!(why.contains("the set was imported without operators"), "{why}");
    assert!(!why.contains("its profile has no operators"), "{why}");
    place.fails(1, &["--keep all"], &["cluster", "experts", "less"]);
    place.done(&["cluster", "import", &folder, "-o", "least", "--keep", "summary"]);
    place.fails(1, &["--keep summary"], &["cluster", "least"]);
    // Tables that were left out can't be added to ranks that are there.
    let more = ["cluster", "import", &folder, "-o", "least", "--keep", "all"];
    place.fails(1, &["rank 0", "summary alone", "--run"], &more);
    place.done(&["cluster", "import", &folder, "-o", "all"]);
    let fewer = ["cluster", "import", &folder, "-o", "all", "--keep", "summary"];
    assert!(place.done(&fewer).stdout.contains("there already"));
}

#[test]
fn an_import_that_is_killed_goes_on_and_leaves_nothing_half_written() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8"]);
    place.done(&["cluster", "import", &folder, "-o", "whole"]);
    let expected = tables(&place.path("whole"));
    for milliseconds in [5, 20, 60, 150, 300, 600] {
        let set = format!("set{milliseconds}");
        let mut importer = place.command(&["cluster", "import", &folder, "-o", &set, "--jobs", "1"]);
        let mut importer = importer.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        importer.kill().unwrap();
        importer.wait().unwrap();
        // A file under the name of a table is whole.
        for (path, bytes) in if place.path(&set).is_dir() { tables(&place.path(&set)) } else { Vec::new() } {
            assert!(bytes.ends_with(b"PAR1"), "{path} is cut");
        }
        place.done(&["cluster", "import", &folder, "-o", &set]);
        assert!(expected == tables(&place.path(&set)), "killed after {milliseconds} ms, the set is another");
        let left: Vec<String> = files_below(&place.path(&set))
            .into_iter()
            .filter(|path| {
                !path.ends_with(".parquet") && !path.ends_with(".json") && !path.ends_with(".lock")
            })
            .collect();
        assert_eq!(left, [""; 0], "killed after {milliseconds} ms");
    }
}

#[test]
fn importers_at_the_same_time_make_one_set() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8"]);
    place.done(&["cluster", "import", &folder, "-o", "whole"]);
    let start = |shard: &str| {
        let mut arguments = vec!["cluster", "import", &folder, "-o", "set"];
        if !shard.is_empty() {
            arguments.extend(["--shard", shard]);
        }
        place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for shards in [["1/2", "2/2"], ["", ""]] {
        let _ = std::fs::remove_dir_all(place.path("set"));
        let both = shards.map(start).map(|importer| importer.wait_with_output().unwrap());
        for output in &both {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_same(&place, "whole", "set", &["cluster"]);
        assert_same(&place, "whole", "set", &["cluster", "info"]);
        assert!(has_tables_of_all(&place, "set"), "{shards:?}");
    }
}

/// Whether a set has the tables over all ranks.
fn has_tables_of_all(place: &Place, set: &str) -> bool {
    tables(&place.path(set)).iter().any(|(path, _)| path.starts_with("suspects"))
}

#[test]
fn the_last_of_several_importers_writes_the_tables_over_all_ranks() {
    let place = Place::new();
    // Three blocks, which the importers share.
    let small = ["--ranks", "136", "--layers", "1", "--microbatches", "1", "--steps", "1"];
    let folder = sample(&place, "db", &[&small[..], &["--damage", "missing=70"]].concat());
    let start = |_| {
        let mut importer = place.command(&["cluster", "import", &folder, "-o", "set", "--jobs", "1"]);
        importer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let importers: Vec<_> = (0..3).map(start).collect();
    for importer in importers {
        let output = importer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(has_tables_of_all(&place, "set"));
    assert_same(&place, &folder, "set", &["cluster"]);
}

#[test]
fn a_full_disk_is_named_and_leaves_no_table() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8"]);
    let Some(disk) = SmallDisk::new(place.path("small"), 4) else { return };
    // Some forty kilobytes are left, which are too little for all tables.
    let filled = std::fs::write(disk.path().join("filler"), vec![7; (4 << 20) - (40 << 10)]);
    assert!(filled.is_ok(), "{filled:?}");
    let set = disk.path().join("set");
    let answer = place.run(&["cluster", "import", &folder, "-o", set.to_str().unwrap()]);
    assert_eq!(answer.status, Some(1), "{}\n{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.contains("No space left"), "{}", answer.stderr);
    assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
    let left = if set.is_dir() { files_below(&set) } else { Vec::new() };
    assert!(!left.iter().any(|path| path.ends_with(".parquet")), "{left:?}");
    // With room again, the same command goes on.
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    place.done(&["cluster", "import", &folder, "-o", set.to_str().unwrap()]);
    assert_same(&place, &folder, set.to_str().unwrap(), &["cluster"]);
}

#[test]
fn damaged_newer_and_incomplete_sets_are_refused_by_name() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "4"]);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    let set = place.path("set");
    let whole = tables(&set);
    for (path, bytes) in &whole {
        // The tables over all ranks and those of no question here aren't read for an answer.
        if !path.starts_with("collectives") && !path.starts_with("steps") && !path.starts_with("ranks") {
            continue;
        }
        std::fs::write(set.join(path), &bytes[..bytes.len() / 2]).unwrap();
        place.fails(1, &[path, "bytes, not"], &["cluster", "set"]);
        for place_of_damage in [8, bytes.len() / 3, bytes.len() / 2, bytes.len() - 12, bytes.len() - 40] {
            let mut damaged = bytes.clone();
            for byte in &mut damaged[place_of_damage..place_of_damage + 4] {
                *byte ^= 0x5A;
            }
            std::fs::write(set.join(path), damaged).unwrap();
            let answer = place.run(&["cluster", "set"]);
            // A changed value can be a time like any other; whatever can't be is named.
            assert!(matches!(answer.status, Some(0 | 1)), "{path}: {}", answer.stderr);
            assert!(answer.status == Some(0) || answer.stderr.contains("set"), "{path}: {}", answer.stderr);
        }
        std::fs::remove_file(set.join(path)).unwrap();
        let manifest = "set/_manifest/run=run/00000000-00000003.json";
        let advice = format!("delete {manifest} and import its ranks again");
        place.fails(1, &[path, &advice], &["cluster", "set"]);
        std::fs::remove_file(place.path(manifest)).unwrap();
        place.done(&["cluster", "import", &folder, "-o", "set"]);
        assert_eq!(&std::fs::read(set.join(path)).unwrap(), bytes, "following the advice brings {path} back");
    }
    place.done(&["cluster", "set"]);
    let manifest = set.join("_manifest/run=run/00000000-00000003.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    for command in [&["cluster", "set"][..], &["cluster", "import", &folder, "-o", "set"]] {
        place.fails(1, &["00000000-00000003.json", "delete it and import its ranks again"], command);
    }
    // Another run is another matter.
    std::fs::remove_file(&manifest).unwrap();
    place.done(&["cluster", "import", &folder, "-o", "set", "--run", "second"]);
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    place.done(&["cluster", "set", "--run", "second"]);
    place.fails(1, &["00000000-00000003.json"], &["cluster", "set"]);
    for folder in std::fs::read_dir(&set).unwrap() {
        let _ = std::fs::remove_dir_all(folder.unwrap().path().join("run=second"));
    }
    let newer = text.replacen("\"schema\":1", "\"schema\":2", 1);
    assert_ne!(newer, text);
    // A later version may have other words, too.
    let others = newer.replacen("\"keep\":\"all\"", "\"keep\":\"more\"", 1);
    assert_ne!(newer, others);
    for newer in [newer, others] {
        std::fs::write(&manifest, newer).unwrap();
        let refused = place.fails(1, &["00000000-00000003.json", "version 2"], &["cluster", "set"]);
        assert!(!refused.stderr.contains("delete"), "{}", refused.stderr);
    }
    std::fs::remove_file(&manifest).unwrap();
    place.fails(1, &["no run in the set yet", "cluster import"], &["cluster", "set"]);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    assert_same(&place, &folder, "set", &["cluster"]);
    let file = set.join("opscope.json");
    std::fs::write(&file, r#"{"schema":2,"program":"opscope 9.1.0"}"#).unwrap();
    place.fails(1, &["version 2", "opscope 9.1.0", "up to version 1"], &["cluster", "set"]);
    place.fails(1, &["version 2"], &["cluster", "import", &folder, "-o", "set"]);
    std::fs::write(&file, "{").unwrap();
    for command in [&["cluster", "set"][..], &["cluster", "import", &folder, "-o", "set"]] {
        place.fails(1, &["opscope.json", "delete it"], command);
    }
    // As it says.
    std::fs::remove_file(&file).unwrap();
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    assert_same(&place, &folder, "set", &["cluster"]);
}

#[test]
fn tables_over_all_ranks_that_are_gone_or_cut_are_written_anew() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "4"]);
    let import = ["cluster", "import", &folder, "-o", "set"];
    place.done(&import);
    let before = tables(&place.path("set"));
    for (table, is_gone) in [("arrivals", true), ("instances", false)] {
        let (path, bytes) = before.iter().find(|(path, _)| path.starts_with(table)).unwrap();
        let file = place.path("set").join(path);
        let damage = || match is_gone {
            true => std::fs::remove_file(&file).unwrap(),
            false => std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap(),
        };
        damage();
        place.fails(1, &[path.as_str()], &["cluster", "sql", "set"]);
        let told = place.done(&[&import[..], &["--json"]].concat()).json();
        assert_eq!((&told["whole"], &told["mended"]), (&true.into(), &true.into()), "{told:#}");
        assert!(before == tables(&place.path("set")), "{table}");
        place.done(&["cluster", "sql", "set"]);
        damage();
        let told = place.done(&import).stdout;
        assert!(told.contains("lacked files or were cut, and are written anew"), "{told}");
        let told = place.done(&import).stdout;
        assert!(!told.contains("written anew"), "{told}");
    }
}

/// Reads every table with three engines, and prints a line for each: name, rows by each, and the sum of a column.
const READ: &str = r#"
import glob, json, os, sys
import duckdb, pyarrow.parquet as pq
seen = {}
for table in sorted(os.listdir(sys.argv[1])):
    files = sorted(glob.glob(os.path.join(sys.argv[1], table, '**', '*.parquet'), recursive=True))
    if not files:
        continue
    names = [c for c in pq.read_schema(files[0]).names]
    kinds = sorted({str(pq.read_schema(f).field(c).type) for f in files for c in names})
    metadata = [sorted(k.decode() for k in (pq.read_metadata(f).metadata or {})) for f in files]
    arrow = sum(pq.ParquetFile(f).read().num_rows for f in files)
    numbers = [c for c in names if str(pq.read_schema(files[0]).field(c).type).startswith('int')]
    sums = {c: sum(sum(v or 0 for v in pq.ParquetFile(f).read([c])[c].to_pylist()) for f in files) for c in numbers}
    query = 'SELECT count(*), ' + ', '.join(f'sum("{c}")::HUGEINT::VARCHAR' for c in numbers)
    row = duckdb.sql(query + f" FROM read_parquet('{sys.argv[1]}/{table}/**/*.parquet')").fetchall()[0]
    assert row[0] == arrow, (table, row[0], arrow)
    assert [int(v or 0) for v in row[1:]] == list(sums.values()), (table, row, sums)
    text = [c for c in names if str(pq.read_schema(files[0]).field(c).type) == 'string']
    if text:
        duckdb.sql(f"SELECT \"{text[0]}\", count(*) FROM read_parquet('{sys.argv[1]}/{table}/**/*.parquet') GROUP BY 1").fetchall()
    try:
        import polars
        assert polars.read_parquet(files).height == arrow, table
        import pandas
        assert sum(len(pandas.read_parquet(f)) for f in files) == arrow, table
    except ImportError:
        pass
    seen[table] = {'rows': arrow, 'types': kinds, 'keys': sorted({k for m in metadata for k in m}), 'sums': {k: str(v) for k, v in sums.items()}}
print(json.dumps(seen))
"#;

#[test]
fn duckdb_and_pyarrow_read_every_table_as_plain_columns() {
    let place = Place::new();
    let (Some(python), Some(_)) = (companions::python_with("duckdb"), companions::python_with("pyarrow"))
    else {
        return;
    };
    let folder = sample(&place, "db", &["--ranks", "8"]);
    let told = place.done(&["cluster", "import", &folder, "-o", "set", "--json"]).json();
    let output = Command::new(python).arg("-c").arg(READ).arg(place.path("set")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    for table in told["tables"].as_array().unwrap() {
        let name = table["table"].as_str().unwrap();
        assert_eq!(seen[name]["rows"], table["rows"], "{name}");
    }
    for (name, table) in seen.as_object().unwrap() {
        assert_eq!(table["keys"], serde_json::json!(["opscope.schema"]), "{name}");
        let types = table["types"].as_array().unwrap();
        let is_plain = |it: &Value| ["int32", "int64", "double", "string"].contains(&it.as_str().unwrap());
        assert!(types.iter().all(is_plain), "{name}: {types:?}");
    }
    // The engines' sums are those that opscope tells: every collective and operator of every rank.
    let info = place.done(&["cluster", "info", &folder, "--json"]).json();
    let sum = |member: &str| {
        info["ranks"].as_array().unwrap().iter().map(|it| it[member].as_i64().unwrap()).sum::<i64>()
    };
    assert_eq!(seen["collectives"]["rows"], sum("collectives"));
    assert_eq!(seen["operators"]["rows"], sum("operators"));
    // A transfer ends when the last part does: nobody waits less than nothing, and parts sum to their instances.
    assert_eq!(seen["arrivals"]["sums"]["wait_ns"], seen["instances"]["sums"]["wait_ns"]);
    // Where a step goes sums to the step.
    let sums = &seen["accounts"]["sums"];
    let of = |name: &str| sums[name].as_str().unwrap().parse::<i64>().unwrap();
    let parts =
        ["compute_ns", "waiting_ns", "bubble_ns", "transfer_ns", "idle_ns"].map(of).iter().sum::<i64>();
    assert!((parts - of("step_ns")).abs() < of("step_ns") / 1000, "{sums:#}");
}

#[test]
fn where_steps_go_sums_to_the_step_for_every_rank() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8", "--steps", "3"]);
    let truth = std::fs::read_to_string(place.path(&folder).parent().unwrap().join("truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    for (by, lines) in [("rank", 8), ("stage", 2), ("tp", 2), ("host", 1), ("step", 3)] {
        let answer = place.done(&["cluster", "summary", &folder, "--by", by, "--json"]).json();
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), lines, "{by}: {answer:#}");
        for row in rows {
            let of = |name: &str| row[name].as_i64().unwrap();
            let parts = ["compute_ns", "waiting_ns", "bubble_ns", "transfer_ns", "idle_ns"].map(of);
            let sum: i64 = parts.iter().sum();
            assert!((sum - of("step_ns")).abs() <= of("step_ns") / 1000, "{by}: {row:#}");
            assert!(parts.iter().all(|part| *part >= 0), "{by}: {row:#}");
        }
    }
    // Input comes late on one rank: its device idles for that long, and no other does.
    let late = truth["costs"]["faults"]["late_host"]["ranks"][0]
        .as_u64()
        .expect("the default faults have a late input");
    let answer = place.done(&["cluster", "summary", &folder, "--json"]).json();
    let idle = |row: &Value| row["idle_ns"].as_i64().unwrap();
    let most = answer["rows"].as_array().unwrap().iter().max_by_key(|row| idle(row)).unwrap();
    assert_eq!(most["rank"], late.to_string(), "{answer:#}");
    let csv = place.done(&["cluster", "summary", &folder, "--by", "stage", "--csv"]).stdout;
    assert!(csv.starts_with("stage,ranks,step_ns,compute_ns,waiting_ns"), "{csv}");
    let markdown = place.done(&["cluster", "summary", &folder, "--markdown"]).stdout;
    assert!(markdown.starts_with("| rank | ranks | step |"), "{markdown}");
}

#[test]
fn a_slow_link_shows_in_the_matrix_and_who_waited_in_one_collective() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8", "--fault", "slow-link=0-2"]);
    let matrix = place.done(&["cluster", "comm", &folder, "--matrix", "--group", "dp", "--json"]).json();
    let bandwidth = |it: &&Value| it["gb_per_s"].as_f64().unwrap();
    let links = matrix["links"].as_array().unwrap();
    let slowest = links.iter().min_by(|a, b| bandwidth(a).total_cmp(&bandwidth(b))).unwrap();
    assert_eq!((&slowest["src"], &slowest["dst"]), (&0.into(), &2.into()), "{matrix:#}");
    let told = place.done(&["cluster", "comm", &folder, "--group", "dp:0", "--json"]).json();
    let rows = told["collectives"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["role"] == "dp" && row["groups"] == 1), "{told:#}");
    let one = place.done(&["cluster", "comm", &folder, "--instance", "dp:0/0", "--json"]).json();
    let parts = one["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{one:#}");
    // Whoever came last waited for nobody, and the first waited until the last came.
    let last = parts.last().unwrap();
    assert_eq!((&last["is_last"], &last["waited_ns"]), (&true.into(), &0.into()), "{one:#}");
    let difference = parts[0]["waited_ns"].as_i64().unwrap() - last["came_ns"].as_i64().unwrap();
    assert!(difference.abs() <= 1, "{one:#}");
    let comm = ["cluster", "comm", &folder];
    let fails = |says: &[&str], more: &[&str]| place.fails(2, says, &[&comm[..], more].concat());
    fails(&["no group xy:3", "uses: "], &["--group", "xy:3"]);
    fails(&["no collective 999", "numbers go from 0"], &["--instance", "dp:0/999"]);
    fails(&["dp:28/7"], &["--instance", "dp:0"]);
    fails(&["allReduce"], &["--type", "nonsense"]);
}

#[test]
fn a_rank_with_more_tokens_leads_its_group_of_experts() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8", "--fault", "more-tokens=3:2.5"]);
    let answer = place.done(&["cluster", "experts", &folder, "--json"]).json();
    // The other rank of its group has less by as much.
    let tokens = |rank: usize| answer["ranks"][rank]["tokens"].as_f64().unwrap();
    assert!(tokens(3) > 1.5 * tokens(2) && tokens(1) < 0.5 * tokens(2), "{answer:#}");
    let groups = answer["groups"].as_array().unwrap();
    let led = groups.iter().find(|group| group["most"] == 3).expect("its group");
    assert!(led["imbalance"].as_f64().unwrap() > 0.4 && led["loses_ns"].as_i64().unwrap() > 0, "{led:#}");
    // Products of a group, together, are what the group has and loses.
    let products = place.done(&["cluster", "experts", &folder, "--by", "product", "--json"]).json();
    let products = products["products"].as_array().unwrap();
    let group = groups.iter().position(|group| group["most"] == 3).unwrap();
    let of_group: Vec<&Value> = products.iter().filter(|it| it["group"] == group).collect();
    let sum = |column: &str| of_group.iter().map(|it| it[column].as_f64().unwrap()).sum::<f64>();
    let mean = (tokens(1) + tokens(3)) / 2.0;
    assert!((sum("tokens") / mean - 1.0).abs() < 1e-9, "{} and {mean}", sum("tokens"));
    assert!((sum("loses_ns") / led["loses_ns"].as_f64().unwrap() - 1.0).abs() < 0.02, "{}", sum("loses_ns"));
    assert!(of_group.iter().all(|it| it["most"] == 3 && it["ranks"] == 2), "{of_group:#?}");
    let printed = place.done(&["cluster", "experts", &folder, "--by", "product", "--top", "3"]).stdout;
    assert_eq!(printed.lines().count(), 5, "{printed}");
    place.fails(2, &["--by product"], &["cluster", "experts", &folder, "--top", "3"]);
    place.fails(2, &["--top"], &["cluster", "experts", &folder, "--by", "product", "--top", "0"]);
}

/// Runs statements on DuckDB and prints a line of JSON for each: its rows.
const ASK: &str = r#"
import json, sys
import duckdb
def plain(value):
    return value if value is None or isinstance(value, (int, float, str)) else float(value)
for statement in json.load(sys.stdin):
    print(json.dumps([[plain(value) for value in row] for row in duckdb.sql(statement).fetchall()]))
"#;

/// The rows of each query, as DuckDB answers it.
fn ask_duckdb(python: &Path, place: &Place, statements: &[&Value]) -> Vec<Vec<Value>> {
    let mut duckdb = Command::new(python);
    let duckdb = duckdb.args(["-c", ASK]).current_dir(place.path(""));
    let mut duckdb = duckdb.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = serde_json::to_vec(&statements).unwrap();
    std::io::Write::write_all(&mut duckdb.stdin.take().unwrap(), &input).unwrap();
    let output = duckdb.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn questions_about_steps_leave_out_a_rank_without_collectives_as_the_commands_do() {
    let place = Place::new();
    let Some(python) = companions::python_with("duckdb") else { return };
    let folder = sample(&place, "kineto", &["--ranks", "8", "--fault", "none", "--damage", "cut=6"]);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    let printed = place.done(&["cluster", "queries", "--dialect", "duckdb", "--set", "set", "--json"]).json();
    let queries = printed["queries"].as_array().unwrap();
    let of = |name: &str| &queries.iter().find(|query| query["name"] == name).unwrap()["sql"];
    let answers = ask_duckdb(&python, &place, &["summary", "stages", "steps"].map(of));
    assert!(answers[0].len() == 7 && answers[0].iter().all(|row| row[0] != 6), "{:?}", answers[0]);
    for (by, rows) in [("stage", &answers[1]), ("step", &answers[2])] {
        let told = place.done(&["cluster", "summary", "set", "--by", by, "--json"]).json();
        let told = told["rows"].as_array().unwrap();
        assert_eq!(rows.len(), told.len(), "{by}");
        for (row, told) in rows.iter().zip(told) {
            assert_eq!(row[1], told["ranks"], "{by}: {row} and {told:#}");
            let difference = row[7].as_f64().unwrap() - told["idle_ns"].as_f64().unwrap();
            assert!(difference.abs() <= 0.5, "{by}: {row} and {told:#}");
        }
    }
}

#[test]
fn every_query_runs_on_duckdb_and_agrees_with_the_commands() {
    let place = Place::new();
    let Some(python) = companions::python_with("duckdb") else { return };
    let folder = sample(&place, "db", &["--ranks", "8", "--steps", "3"]);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    let printed = place.done(&["cluster", "queries", "--dialect", "duckdb", "--set", "set", "--json"]).json();
    let queries = printed["queries"].as_array().unwrap();
    let statements: Vec<&Value> = queries.iter().map(|query| &query["sql"]).collect();
    let answers = ask_duckdb(&python, &place, &statements);
    let rows = |name: &str| {
        let index = queries.iter().position(|query| query["name"] == name).unwrap();
        answers[index].clone()
    };
    for query in queries.iter().filter(|query| query["name"] != "losses") {
        assert!(!rows(query["name"].as_str().unwrap()).is_empty(), "{query:#} has no rows");
    }
    let told = place.done(&["cluster", "summary", "set", "--json"]).json();
    for (row, told) in rows("summary").iter().zip(told["rows"].as_array().unwrap()) {
        for (column, name) in [(3, "step_ns"), (4, "compute_ns"), (5, "waiting_ns"), (8, "idle_ns")] {
            let difference = row[column].as_f64().unwrap() - told[name].as_f64().unwrap();
            assert!(difference.abs() <= 0.5, "{name}: {row} and {told:#}");
        }
    }
    let told = place.done(&["cluster", "slow", "set", "--json"]).json();
    let told = told["suspects"].as_array().unwrap().iter();
    let told: Vec<Value> =
        told.map(|it| serde_json::json!([it["name"], it["saves_ns"], it["alone_ns"]])).collect();
    let found = rows("suspects");
    let found: Vec<Value> = found.iter().map(|row| serde_json::json!([row[0], row[1], row[2]])).collect();
    assert_eq!(found, told);
    // From, to, use, type and kind of link stand before bytes, time and bandwidth.
    let told = place.done(&["cluster", "comm", "set", "--matrix", "--json"]).json();
    let told: std::collections::BTreeMap<String, f64> = told["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let of = ["src", "dst", "role", "type", "transport"].map(|name| it[name].to_string());
            (of.join(" "), it["gb_per_s"].as_f64().unwrap())
        })
        .collect();
    let links = rows("links");
    assert_eq!(links.len(), told.len());
    for row in links {
        // A send and its receive are a receive in opscope's own table.
        let kind = if row[3] == "send" { Value::from("receive") } else { row[3].clone() };
        let of = [&row[0], &row[1], &row[2], &kind, &row[4]].map(Value::to_string);
        let expected = told[&of.join(" ")];
        assert!((row[7].as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{row}");
    }
    let sum =
        |name: &str, column: usize| rows(name).iter().map(|row| row[column].as_i64().unwrap()).sum::<i64>();
    assert!(sum("waits", 4) > 0);
    assert_eq!(sum("waits", 4), sum("comm", 4), "what is waited for somebody is what is waited");
    let info = place.done(&["cluster", "info", "set", "--json"]).json();
    let operators = info["ranks"].as_array().unwrap().iter().map(|it| it["operators"].as_i64().unwrap());
    assert_eq!(sum("operators", 3), operators.sum::<i64>());
    place.fails(2, &["no query nothing", "waits"], &["cluster", "queries", "nothing"]);
    let one = place.done(&["cluster", "queries", "waits"]).stdout;
    assert!(one.starts_with("-- Whom others wait for") && one.trim_end().ends_with(';'), "{one}");
}

#[test]
fn files_that_no_manifest_names_are_not_asked_and_go_with_the_next_import() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "4"]);
    let import = ["cluster", "import", &folder, "-o", "set"];
    place.done(&import);
    let ranks = files_below(&place.path("set/ranks"));
    assert_eq!(ranks.len(), 1);
    // Somebody wants it anew, from data that have changed.
    for entry in std::fs::read_dir(place.path("set/_manifest/run=run")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let changed =
        files_below(&place.path(&folder)).into_iter().find(|path| path.ends_with("profiler_3.db")).unwrap();
    let changed = place.path(&folder).join(changed);
    let change = "DELETE FROM TASK WHERE rowid = (SELECT max(rowid) FROM TASK)";
    assert_eq!(rusqlite::Connection::open(&changed).unwrap().execute(change, []).unwrap(), 1);
    place.done(&import);
    let again = files_below(&place.path("set/ranks"));
    assert!(again.len() == 1 && again != ranks, "{ranks:?} and {again:?}");
    assert_eq!(files_below(&place.path("set/suspects")).len(), 1);
    let ask = |dialect: &'static str| ["cluster", "queries", "experts", "--dialect", dialect, "--set", "set"];
    assert_eq!(place.done(&ask("spark")).stderr, "");
    assert!(place.done(&ask("duckdb")).stdout.contains("read_parquet('set/ranks/run=run/**/*.parquet'"));
    // An importer that was stopped between the names of its files and its manifest's.
    let block = place.path("set/ranks").join(&again[0]).with_file_name("00000064-00000127-0123abcd.parquet");
    std::fs::copy(place.path("set/ranks").join(&again[0]), &block).unwrap();
    let told = place.done(&ask("spark")).stderr;
    assert!(told.contains("1 files of the set") && told.contains("00000064-00000127"), "{told}");
    let asked = place.done(&ask("duckdb"));
    let named = format!("read_parquet(['set/ranks/{}'], union_by_name = true)", again[0]);
    assert!(asked.stdout.contains(&named) && asked.stderr.is_empty(), "{}\n{}", asked.stdout, asked.stderr);
    assert!(asked.stdout.contains("read_parquet('set/experts/run=run/**/*.parquet'"), "{}", asked.stdout);
    if let Some(python) = companions::python_with("duckdb") {
        let sql = Value::from(asked.stdout);
        let ranks = ask_duckdb(&python, &place, &[&sql]).remove(0);
        assert_eq!(ranks.len(), 4, "{ranks:?}");
        // Each of them once: the files' rows join with those of the ranks.
        let products = ranks.iter().map(|row| row[3].as_i64().unwrap()).sum::<i64>();
        let experts = "SELECT count(*) FROM read_parquet('set/experts/**/*.parquet')".into();
        assert_eq!(ask_duckdb(&python, &place, &[&experts])[0], [serde_json::json!([products])]);
    }
    // It may be one that is under way.
    place.done(&import);
    assert!(block.exists());
    let old = std::time::SystemTime::now() - Duration::from_secs(2 * 3600);
    std::fs::File::options().write(true).open(&block).unwrap().set_modified(old).unwrap();
    place.done(&import);
    assert!(!block.exists());
}

#[test]
fn a_set_without_tables_over_all_ranks_says_why_it_has_none() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "4"]);
    let rank = std::fs::read_dir(place.path(&folder)).unwrap().next().unwrap().unwrap().file_name();
    let alone = format!("{folder}/{}", rank.to_str().unwrap());
    place.done(&["cluster", "import", &alone, "-o", "one"]);
    place.done(&["cluster", "import", &folder, "-o", "little", "--keep", "summary"]);
    for (set, why) in [("one", "has a counterpart on another rank"), ("little", "keeps no collectives")] {
        for dialect in ["duckdb", "spark"] {
            let ask = ["cluster", "queries", "summary", "--dialect", dialect, "--set", set];
            place.fails(1, &["no table accounts", why], &ask);
        }
        let told =
            place.fails(1, &["no table accounts", why], &["cluster", "sql", set, "SELECT * FROM accounts"]);
        assert!(!told.stderr.contains("--shard"), "{}", told.stderr);
        assert!(!place.done(&["cluster", "sql", set]).stdout.contains("once all ranks are imported"));
    }
    place.done(&["cluster", "import", &folder, "-o", "one"]);
    place.done(&["cluster", "queries", "summary", "--dialect", "duckdb", "--set", "one"]);
}

#[test]
fn tables_over_fewer_ranks_than_the_set_has_go_and_are_asked_by_nobody() {
    let place = Place::new();
    let folder = sample(&place, "db", &["--ranks", "8"]);
    let entries = std::fs::read_dir(place.path(&folder)).unwrap();
    let mut ranks: Vec<String> =
        entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    ranks.sort();
    let half: Vec<&str> = ranks[..4].iter().map(String::as_str).collect();
    let told = place.done(&[&["cluster", "import"][..], &half[..], &["-o", "set", "--json"]].concat()).json();
    assert_eq!(told["whole"], true, "{told:#}");
    let ask = |name: &'static str, dialect: &'static str| {
        ["cluster", "queries", name, "--dialect", dialect, "--set", "set"]
    };
    place.done(&ask("summary", "duckdb"));
    let manifest = place.path("set/_manifest/run=run/whole.json");
    let of_half = (std::fs::read(&manifest).unwrap(), tables(&place.path("set")));
    // Two of the other ranks come in, and two are still missing.
    place.done(&["cluster", "import", &folder, "-o", "set", "--shard", "2/2"]);
    assert!(!has_tables_of_all(&place, "set") && !manifest.exists());
    // So they lie there where an importer was stopped in between.
    std::fs::write(&manifest, of_half.0).unwrap();
    for (path, bytes) in of_half.1.iter().filter(|(path, _)| path.contains("/whole-")) {
        std::fs::write(place.path("set").join(path), bytes).unwrap();
    }
    let lacks = ["table accounts is made once all ranks are in the set", "opscope cluster import"];
    for dialect in ["duckdb", "spark"] {
        place.fails(1, &lacks, &ask("summary", dialect));
        place.done(&ask("operators", dialect));
    }
    place.fails(1, &lacks, &["cluster", "sql", "set", "SELECT count(*) FROM accounts"]);
    let all = ["cluster", "queries", "--dialect", "duckdb", "--set", "set", "--json"];
    let told = place.done(&all).json();
    let query = |name: &str| {
        told["queries"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    assert!(query("summary")["sql"].is_null() && query("operators")["why_not"].is_null(), "{told:#}");
    assert!(query("summary")["why_not"].as_str().unwrap().contains(lacks[0]), "{told:#}");
    assert!(query("operators")["sql"].as_str().unwrap().starts_with("WITH operators"), "{told:#}");
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    assert_eq!(files_below(&place.path("set/accounts")).len(), 1);
    place.done(&ask("summary", "duckdb"));
}

#[test]
fn columns_that_nothing_is_judged_by_hold_what_the_profiles_say() {
    let place = Place::new();
    let Some(python) = companions::python_with("duckdb") else { return };
    let folder = sample(&place, "db", &["--ranks", "8", "--steps", "3"]);
    let of_rank_5 =
        files_below(&place.path(&folder)).into_iter().find(|path| path.ends_with("profiler_5.db"));
    let profile = rusqlite::Connection::open(place.path(&folder).join(of_rank_5.unwrap())).unwrap();
    let statements = "CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, message INTEGER);
                      INSERT INTO MSTX_EVENTS SELECT min(startNs), min(startNs) + 5000, (SELECT min(id) FROM STRING_IDS)
                      FROM TASK;";
    profile.execute_batch(statements).unwrap();
    let number = |sql: &str| profile.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    let table = |name: &str| format!("read_parquet('set/{name}/**/*.parquet')");
    let [steps, collectives, instances, operators] =
        ["steps", "collectives", "instances", "operators"].map(table);
    let statements = [
        format!(
            "SELECT count(*) FROM {steps} WHERE communication_ns <> exposed_ns + overlapped_ns OR overlapped_ns < 0"
        ),
        // Of a simulated rank all of a collective is waiting and transfer.
        format!(
            "SELECT count(*) FROM {collectives} WHERE transit_ns IS NULL OR abs(transit_ns + wait_ns - duration_ns) > 2000 \
             OR sync_ns > wait_ns OR data_type = '' OR algorithm = ''"
        ),
        format!(
            "SELECT count(*) FROM {collectives} WHERE compute_ns IS NULL OR least(compute_ns, ai_cpu_ns, copy_ns, host_ns) \
             < 0 OR compute_ns + ai_cpu_ns + copy_ns + host_ns > greatest(segment_ns, 0)"
        ),
        format!(
            "SELECT count(*) FROM {instances} WHERE (complete = 1) <> (seen = members) OR end_spread_ns < 0"
        ),
        format!("SELECT count(*) FROM {operators} WHERE gap_ns < 0 OR stream IS NULL OR types = ''"),
        format!("SELECT count(*) FROM {operators} WHERE gap_ns IS NULL"),
        format!("SELECT count(*), min(start_ns), max(megahertz) FROM {} WHERE rank = 5", table("frequency")),
        format!("SELECT rank, name <> '', start_ns, duration_ns FROM {}", table("marks")),
        format!(
            "SELECT count(*) FROM {} WHERE hash::UHUGEINT::VARCHAR <> hash OR name = ''",
            table("groups")
        ),
        format!("SELECT DISTINCT chip, state FROM {}", table("ranks")),
        format!("SELECT sum(ai_cpu_ns) > 0, sum(copy_ns) > 0 FROM {collectives}"),
        format!("SELECT count(*) FROM {steps} WHERE copy_ns < exposed_copy_ns OR exposed_copy_ns < 0"),
    ];
    let statements = statements.map(Value::from);
    let answers = ask_duckdb(&python, &place, &statements.iter().collect::<Vec<_>>());
    for (index, nothing) in [0, 1, 2, 3, 4, 8, 11].map(|index| (index, serde_json::json!([[0]]))) {
        assert_eq!(Value::from(answers[index].clone()), nothing, "{}", statements[index]);
    }
    assert_eq!(answers[5], [serde_json::json!([8])], "the first of each rank follows none");
    let frequencies = ["count(*)", "min(timestampNs)", "max(freq)"]
        .map(|of| number(&format!("SELECT {of} FROM AICORE_FREQ")));
    let whole = |it: &Value| it.as_i64().unwrap_or_else(|| it.as_f64().unwrap() as i64);
    let told: Vec<i64> = answers[6][0].as_array().unwrap().iter().map(whole).collect();
    assert_eq!(told, frequencies);
    let start = number("SELECT min(startNs) FROM MSTX_EVENTS");
    assert_eq!(answers[7], [serde_json::json!([5, true, start, 5000])]);
    assert_eq!(answers[9], [serde_json::json!(["Ascend910B3", "whole"])]);
    assert_eq!(answers[10], [serde_json::json!([true, true])]);
}

#[test]
fn the_table_of_losses_holds_what_info_tells_and_each_once() {
    for (form, damage, kind) in [
        ("db", "cut=6,twice=7,empty=3,shifted=1", "stated_computing"),
        ("text", "cut=6,shifted=1", "cut_step"),
    ] {
        let place = Place::new();
        let folder = sample(&place, form, &["--ranks", "8", "--damage", damage]);
        let told = place.done(&["cluster", "import", &folder, "-o", "set", "--json"]).json();
        let told = told["losses"].as_array().unwrap();
        let is_first = |(place, loss): (usize, &Value)| !told[..place].contains(loss);
        assert!(!told.is_empty() && told.iter().enumerate().all(is_first), "{told:#?}");
        let info = place.done(&["cluster", "info", "set", "--json"]).json();
        let mut expected: Vec<String> = info["losses"]
            .as_array()
            .unwrap()
            .iter()
            .map(|loss| {
                let rank = loss["scope"]
                    .as_str()
                    .unwrap()
                    .strip_prefix("rank ")
                    .map(|rank| rank.parse::<u32>().unwrap());
                serde_json::json!([rank, loss["source"], loss["kind"], loss["count"], loss["detail"]])
                    .to_string()
            })
            .collect();
        expected.sort();
        assert!(expected.iter().any(|loss| loss.contains(kind)), "{expected:#?}");
        let Some(python) = companions::python_with("duckdb") else { return };
        let statement =
            "SELECT rank, source, reason, count, detail FROM read_parquet('set/losses/**/*.parquet')".into();
        let rows = ask_duckdb(&python, &place, &[&statement]).remove(0);
        let mut rows: Vec<String> = rows.iter().map(Value::to_string).collect();
        rows.sort();
        assert_eq!(rows, expected);
    }
}

#[test]
fn of_text_nothing_is_said_of_copies_and_launches() {
    let place = Place::new();
    let Some(python) = companions::python_with("duckdb") else { return };
    let folder = sample(&place, "text", &["--ranks", "2"]);
    for rank in std::fs::read_dir(place.path(&folder)).unwrap() {
        // Without the timeline beside them, which tells more.
        let results = rank.unwrap().path().join("ASCEND_PROFILER_OUTPUT");
        std::fs::remove_file(results.join("trace_view.json")).unwrap();
    }
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    let statements = [
        "SELECT count(copy_ns), count(exposed_copy_ns), count(*) > 0 FROM read_parquet('set/steps/**/*.parquet')",
        "SELECT count(copy_ns), count(host_ns), count(compute_ns) = count(*) FROM read_parquet('set/collectives/**/*.parquet')",
    ]
    .map(Value::from);
    for rows in ask_duckdb(&python, &place, &statements.iter().collect::<Vec<_>>()) {
        assert_eq!(rows, [serde_json::json!([0, 0, true])]);
    }
}
