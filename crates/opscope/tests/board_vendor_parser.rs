//! `--vendor-parser`: a board's raw files, read by the vendor's parser. Its stand-in takes the
//! manual's command lines and no others, and writes the files that the manual names.
#![cfg(unix)]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use common::Place;

/// The stand-in. It refuses whatever the manual doesn't say, and data of a result that isn't raw.
const PARSER: &str = r#"#!/bin/sh
fail() { echo "$1" >&2; exit 2; }
case "$1 $2 $3" in
    "import -dir "*) job=$3 ;;
    "export timeline -dir"|"export summary -dir") job=$4 ;;
    *) fail "unknown words: $*" ;;
esac
case "$(basename "$job")" in JOB*) ;; *) fail "$job is no JOB directory" ;; esac
[ -d "$job/data" ] && [ -f "$job/info.json.0" ] || fail "data or info.json.0 is missing"
[ -f "$job/data/aicore.0.net.1.1.1.0.done" ] || fail "there are no raw files"
case "$1 $2" in
    "import -dir")
        [ ! -e "$job/summary" ] || fail "results of earlier parsing are in the way"
        mkdir -p "$job/sqlite" && echo db > "$job/sqlite/aicore_0.db" ;;
    "export timeline")
        [ -f "$job/sqlite/aicore_0.db" ] || fail "not imported"
        mkdir -p "$job/timeline"
        echo '[{"name": "conv1", "ph": "X", "pid": 0, "tid": 0, "ts": 1000, "dur": 12.5, "args": {"Task Type": "AA CORE", "Stream Id": 0, "Task Id": 0}}]' \
            > "$job/timeline/task_time_0.net.1.1.json"
        echo '[{"name": "svp_acl_mdl_execute", "ph": "X", "pid": 5, "tid": 6, "ts": 990, "dur": 30, "args": {"Mode": "ACL_MODEL"}}]' \
            > "$job/timeline/acl_0.net.1.1.json" ;;
    "export summary")
        [ "$5 $6" = "--format csv" ] || fail "unknown words: $*"
        mkdir -p "$job/summary"
        printf 'Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Mac Busy Ratio,Vec Ppen Ratio,Dstr Ratio,DLD Ratio,WLD Ratio,Memory Bound\n0,conv1,conv1,Convolution,12.5,80,5,20,40,30,0.5\n-,-,-,-,12.5,80,5,20,40,30,0.5\n' \
            > "$job/summary/op_summary_0.net.1.1.1.1.0.600.csv" ;;
esac
"#;

/// A directory of raw files, and a parser.
fn job(parser: &str) -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path("JOBAAA/data")).expect("a folder");
    place.write("JOBAAA/info.json.0", "{}");
    place.write("JOBAAA/data/aicore.0.net.1.1.1.0.done", "a layout that is not public");
    let path = place.write("parser", parser);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    place
}

#[test]
fn the_vendors_parser_reads_what_is_not_public_and_its_result_is_imported() {
    let place = job(PARSER);
    let answer = place.run(&["show", "JOBAAA"]);
    assert_eq!(answer.status, Some(1), "without it the raw files can't be read: {}", answer.stdout);
    assert!(answer.stderr.contains("--vendor-parser"), "{}", answer.stderr);

    let shown = place.done(&["show", "JOBAAA", "--vendor-parser", "./parser", "--json"]).json();
    assert_eq!(shown["core_metrics"][0]["operator"], "conv1");
    assert_eq!(shown["api_statistic"][0]["call"], "svp_acl_mdl_execute");
    assert_eq!(shown["frequency"][0]["max_mhz"], 600.0);
    // The directory itself is as it was.
    let mut names: Vec<_> =
        fs::read_dir(place.path("JOBAAA")).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["data", "info.json.0"]);

    place.done(&["import", "JOBAAA", "--vendor-parser", "./parser"]);
    let from_database = place.done(&["show", "JOBAAA/sqlite/opscope.db", "--json"]).json();
    assert_eq!(from_database, shown);

    let exported = place.done(&["export", "all", "JOBAAA", "--vendor-parser", "./parser"]);
    assert_eq!(exported.stdout.lines().count(), 3, "{}", exported.stdout);
    let table = fs::read_to_string(place.path("JOBAAA/summary/op_summary_0.net.1.1.1.1.0.600.csv")).unwrap();
    assert!(table.contains("0,conv1,conv1,Convolution,12.5,N/A,80,"), "{table}");
    // Once exported, nothing else is needed; and parsing again starts from the raw files.
    assert_eq!(place.done(&["show", "JOBAAA", "--json"]).json(), shown);
    place.done(&["show", "JOBAAA", "--vendor-parser", "./parser"]);
}

#[test]
fn scripts_are_run_by_python_and_found_below_the_toolkits_folder() {
    let place = job(PARSER);
    let folder = place.path("Ascend/toolkit/tools/profiler/profiler_tool/analysis/msprof");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir(place.path("bin")).unwrap();
    // In the place of Python: it takes the script's name first and hands the words on.
    let python = place.write(
        "bin/python3.7.5",
        format!(
            "#!/bin/sh\n[ -f \"$1\" ] || exit 9\nshift\nexec {} \"$@\"\n",
            place.path("parser").display()
        ),
    );
    fs::set_permissions(python, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("msprof.pyc"), "compiled").unwrap();
    let mut command = place.command(&["show", "JOBAAA", "--json", "--vendor-parser", "Ascend"]);
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let answer = common::Answer::from(command.env("PATH", path).output().unwrap());
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert_eq!(answer.json()["core_metrics"][0]["operator"], "conv1");
    let mut command = place.command(&["show", "JOBAAA", "--vendor-parser", "Ascend"]);
    let answer = common::Answer::from(command.env("PATH", "/nowhere").output().unwrap());
    assert!(answer.stderr.contains("3.7.5"), "{}", answer.stderr);
}

#[test]
fn mindcmd_is_told_to_merge() {
    let place = job(PARSER);
    let merge = "#!/bin/sh\n[ \"$1 $2 $3 $5 $6\" = 'profile merge -d -f csv' ] || exit 7\nmkdir -p \"$4/summary\" \"$4/eventview\"\n\
                 printf 'Layer Id,Layer Name,Layer Type,Time(us)\\n0,conv9,Pooling,12.5\\n' > \"$4/summary/op_summary_0.net.1.1.1.1.0.600.csv\"\n";
    let path = place.write("mindcmd", merge);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let shown = place.done(&["show", "JOBAAA", "--vendor-parser", "./mindcmd", "--json"]).json();
    assert_eq!(shown["operator_statistic"][0]["type"], "Pooling");
}

#[test]
fn a_parser_that_fails_is_quoted() {
    let place = job("#!/bin/sh\necho 'SyntaxError: bad magic number' >&2\nexit 3\n");
    let answer = place.fails(
        1,
        &["failed", "bad magic number", "import -dir"],
        &["import", "JOBAAA", "--vendor-parser", "./parser"],
    );
    assert!(!place.path("JOBAAA/sqlite/opscope.db").exists(), "{}", answer.stderr);
    place.fails(
        1,
        &["the vendor's parser is not there"],
        &["show", "JOBAAA", "--vendor-parser", "./nothing"],
    );
    place.write("other.txt", "x");
    place.fails(2, &["JOB* directories"], &["show", "other.txt", "--vendor-parser", "./parser"]);
}

#[test]
fn a_parser_that_writes_nothing_is_named() {
    let place = job("#!/bin/sh\necho nothing to do\n");
    place.fails(
        1,
        &["left nothing to read", "op_summary_*", "nothing to do"],
        &["show", "JOBAAA", "--vendor-parser", "./parser"],
    );
    fs::remove_file(place.path("JOBAAA/info.json.0")).unwrap();
    place.fails(1, &["info.json.0 is missing"], &["show", "JOBAAA", "--vendor-parser", "./parser"]);
}

#[test]
fn a_parser_that_hangs_is_stopped_with_whatever_it_started() {
    let place =
        job("#!/bin/sh\n(sleep 1000 & echo $! > \"$HOME/pid\"; wait; touch \"$HOME/awaited\") &\nwait\n");
    let mut command =
        place.command(&["show", "JOBAAA", "--vendor-parser", "./parser", "--vendor-timeout", "1s"]);
    let answer = common::Answer::from(command.env("HOME", place.path(".")).output().unwrap());
    assert_eq!(answer.status, Some(1));
    assert!(answer.stderr.contains("did not end within 1 s"), "{}", answer.stderr);
    assert!(!place.path("awaited").exists(), "nobody waits for the end of what hangs");
    let pid = fs::read_to_string(place.path("pid")).expect("it ran");
    let left = format!("/proc/{}/exe", pid.trim());
    let deadline = Instant::now() + Duration::from_secs(5);
    while fs::read_link(&left).is_ok() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(fs::read_link(&left).is_err(), "{left} is still running");
}

#[test]
fn a_parser_that_is_interrupted_ends_with_the_status_for_that_and_leaves_nothing() {
    let place = job(
        "#!/bin/sh\necho $$ > \"$HOME/pid.part\"; mv \"$HOME/pid.part\" \"$HOME/pid\"\nexec sleep 1000\n",
    );
    for words in [["show", "JOBAAA"], ["import", "JOBAAA"]] {
        let _ = fs::remove_file(place.path("pid"));
        let mut command = place.command(&[words[0], words[1], "--vendor-parser", "./parser"]);
        command.env("HOME", place.path(".")).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !place.path("pid").exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = fs::read_to_string(place.path("pid")).expect("it runs");
        let kill = std::process::Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let answer = common::Answer::from(child.wait_with_output().unwrap());
        assert_eq!(answer.status, Some(130), "{}", answer.stderr);
        assert!(answer.stderr.contains("interrupted"), "{}", answer.stderr);
        assert!(fs::read_link(format!("/proc/{}/exe", pid.trim())).is_err(), "{pid} is still running");
        assert!(!place.path("JOBAAA/sqlite").join("opscope.db").exists());
    }
}

#[test]
fn hostile_results_of_the_parser_are_dropped_and_counted() {
    let place = job(&format!(
        "{PARSER}\nln -s /etc/passwd \"$job/op_summary_0.passwd.1.1.1.1.0.600.csv\"\n\
         ln -s /dev/zero \"$job/timeline/task_time_0.zero.1.1.json\"\n\
         printf '\\377\\376garbage' > \"$job/op_summary_0.bad.1.1.1.1.0.600.csv\"\nmkdir -p \"$job/op_summary_0.folder.1.1.1.1.0.600.csv\"\n\
         exit 0\n"
    ));
    place.done(&["import", "JOBAAA", "--vendor-parser", "./parser"]);
    let database = rusqlite::Connection::open(place.path("JOBAAA/sqlite/opscope.db")).expect("a database");
    let lost = "SELECT sum(count) FROM losses WHERE reason LIKE ?1";
    let count = |like: &str| database.query_row(lost, [like], |row| row.get::<_, Option<i64>>(0)).unwrap();
    assert_eq!(count("%no regular file%"), Some(2));
    assert_eq!(count("%could not be read%"), Some(1));
    let operators = database.query_row("SELECT count(*) FROM operators", [], |row| row.get::<_, i64>(0));
    assert_eq!(operators.unwrap(), 1);
    // A link to a whole folder leads nowhere either.
    let place = job("#!/bin/sh\ncase \"$2\" in -dir) ln -s \"$OLD/stolen\" \"$3/summary\";; esac\nexit 0\n");
    fs::create_dir_all(place.path("stolen")).unwrap();
    place.write(
        "stolen/op_summary_0.net.1.1.1.1.0.600.csv",
        "Layer Id,Layer Name,Layer Type,Time(us)\n0,a,b,1\n",
    );
    symlink(place.path("stolen"), place.path("JOBAAA/data/link")).unwrap();
    let mut command = place.command(&["show", "JOBAAA", "--vendor-parser", "./parser"]);
    let answer = common::Answer::from(command.env("OLD", place.path(".")).output().unwrap());
    assert!(answer.stderr.contains("left nothing to read"), "{}\n{}", answer.stdout, answer.stderr);
}
