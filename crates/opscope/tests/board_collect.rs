//! `opscope collect --main`: the command line over a real SSH server. The steps behind it are
//! tested where it is written, in the crate for boards.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Place;
use opscope_testing::companions;
use opscope_testing::ssh_server::{self, SshServer};

/// A program that leaves a `JOB*` directory as the vendor's manual says, with the calls in a layout that
/// can be read.
const MAIN: &str = r#"#!/bin/sh
[ "$1" = quiet ] && exit 0
output=$(sed -n 's/.*"output": *"\([^"]*\)".*/\1/p' acl.json)
mkdir -p "$output/JOBABC/data" "$output/JOBABC/summary"
echo '{}' > "$output/JOBABC/info.json.0"
echo x > "$output/JOBABC/data/aicore.0.net.1.1.1.0"
printf 'Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,12.5\n' > "$output/JOBABC/summary/op_summary_0.net.1.1.1.1.0.600.csv"
echo "it ran with $1"
exit 4
"#;

/// A server, a project and a configuration; nothing where there is no server to be had.
fn board() -> Option<(Place, SshServer)> {
    let place = Place::new();
    let server = SshServer::start(&place.path(""))?;
    fs::create_dir(place.path("app")).expect("a folder");
    let main = place.write("app/main", MAIN);
    fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).expect("a mode");
    let ini = format!(
        "[ssh_config]\nip = 127.0.0.1\nusername = {}\nport = {}\nkey = {}\n",
        ssh_server::user(),
        server.port,
        place.path("user_key").display()
    );
    place.write("board.ini", ini);
    Some((place, server))
}

fn collect(place: &Place, more: &[&str]) -> common::Answer {
    let remote = place.path("on_board").display().to_string();
    let known = place.path("known_hosts").display().to_string();
    let mut arguments = vec!["collect", "-m", "app/main", "--config", "board.ini", "--remote-dir", &remote];
    arguments.extend(["--known-hosts", &known, "--accept-new-host-key", "--connect-timeout", "30s"]);
    arguments.extend(more);
    place.run(&arguments)
}

#[test]
fn a_collection_prints_what_the_program_prints_and_ends_with_its_status() {
    let Some((place, _server)) = board() else { return };
    let answer = collect(&place, &["--all", "--", "an argument"]);
    assert_eq!(answer.status, Some(4), "{}", answer.stderr);
    assert_eq!(answer.stdout, "it ran with an argument\n");
    assert!(answer.stderr.contains("was not finished: without svp_acl_finalize()"), "{}", answer.stderr);
    let last = answer.stderr.lines().last().unwrap_or_default();
    assert!(last.ends_with("app/profiling/JOBABC"), "{}", answer.stderr);
    // Files of the vendor's tool are not written again.
    let table = "app/profiling/JOBABC/summary/op_summary_0.net.1.1.1.1.0.600.csv";
    let table = fs::read_to_string(place.path(table)).expect("the table");
    assert_eq!(table, "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,12.5\n");
    assert!(answer.stderr.contains("kept as it is"), "{}", answer.stderr);
    // Missing parts stand above the rest.
    let missing = answer.stderr.find("missing: counters of layers").expect(&answer.stderr);
    assert!(missing < answer.stderr.find("kept as it is").expect("a note"), "{}", answer.stderr);
    assert!(answer.stderr.contains("missing: calls"), "{}", answer.stderr);

    let quiet = collect(&place, &["--", "quiet"]);
    assert_eq!(quiet.status, Some(1), "{}", quiet.stderr);
    assert!(
        quiet.stderr.contains("left no JOB or PROF directory") && quiet.stderr.contains("svp_acl_init()")
    );

    let vendor = place.path("known_hosts").display().to_string();
    let remote = place.path("on_board").display().to_string();
    let answer = place.run(&[
        "msprof",
        "collect",
        "-m",
        "app/main",
        "--config",
        "board.ini",
        "--switch",
        "off",
        "--known-hosts",
        &vendor,
        "--remote-dir",
        &remote,
        "--",
        "quiet",
    ]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    let on_board = fs::read_to_string(place.path("on_board/acl.json")).expect("acl.json");
    assert!(on_board.contains(r#""switch": "off""#), "{on_board}");
}

#[test]
fn what_a_host_with_ascend_processors_leaves_is_brought_back_read_and_shown() {
    let Some((place, _server)) = board() else { return };
    place.done(&["sample", "prof", "-o", "vendor", "--tasks", "60"]);
    let main = place.write(
        "app/main",
        format!("#!/bin/sh\ncp -r {}/PROF_* profiling/\n", place.path("vendor").display()),
    );
    fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).expect("a mode");
    let answer = collect(&place, &["--key-style", "ascend", "--aic-metrics", "Memory"]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.contains("Conv2D"), "{}", answer.stdout);
    let last = answer.stderr.lines().last().unwrap_or_default();
    let profile = last.rsplit(' ').next().expect("a path");
    assert!(profile.contains("app/profiling/PROF_"), "{}", answer.stderr);
    let analyzed = place.done(&["analyze", profile]);
    assert!(analyzed.stdout.contains("Conv2D"), "{}", analyzed.stdout);
    let on_board = fs::read_to_string(place.path("on_board/acl.json")).expect("acl.json");
    assert!(on_board.contains(r#""aic_metrics": "Memory""#) && !on_board.contains("aacpu"), "{on_board}");
}

#[test]
fn a_configuration_alone_tests_the_connection() {
    let Some((place, _server)) = board() else { return };
    let test = |config: &str| {
        let words = ["collect", "--config", config, "--known-hosts", "known", "--accept-new-host-key"];
        place.run(&words)
    };
    let answer = test("board.ini");
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert!(
        answer.stdout.contains("The connection works") && answer.stdout.contains("Linux"),
        "{}",
        answer.stdout
    );
    assert!(!place.path("on_board").exists());
    let ini = fs::read_to_string(place.path("board.ini")).expect("the configuration");
    place.write("wrong.ini", ini.replace("username = ", "username = nobody_"));
    let answer = test("wrong.ini");
    assert_eq!(answer.status, Some(125), "{}", answer.stderr);
    assert!(answer.stderr.contains("the private key was refused"), "{}", answer.stderr);
}

/// A program that runs until it is told to end, and leaves something all the same.
const ENDLESS: &str = r#"#!/bin/sh
output=$(sed -n 's/.*"output": *"\([^"]*\)".*/\1/p' acl.json)
mkdir -p "$output/JOBABC/data"
echo '{}' > "$output/JOBABC/info.json.0"
echo x > "$output/JOBABC/data/aicore.0.net.1.1.1.0.done"
trap 'echo told > "$output/JOBABC/told"; exit 0' TERM
echo "running as $$"
while :; do sleep 0.1; done
"#;

#[test]
fn the_key_that_interrupts_stops_the_program_and_brings_what_there_is() {
    let Some((place, _server)) = board() else { return };
    if companions::program("script").is_none() {
        return;
    }
    let main = place.write("app/main", ENDLESS);
    fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).expect("a mode");
    let line = format!(
        "exec '{}' collect -m app/main --config board.ini --remote-dir '{}' --known-hosts known_hosts \
         --accept-new-host-key --connect-timeout 30s",
        env!("CARGO_BIN_EXE_opscope"),
        place.path("on_board").display()
    );
    let mut command = Command::new("/usr/bin/script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path("."));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a terminal");
    let mut screen = child.stdout.take().expect("its screen");
    let mut keys = child.stdin.take().expect("its keys");
    let mut shown = String::new();
    let mut block = [0; 4096];
    while !shown.contains("running as") {
        let count = screen.read(&mut block).expect("the screen");
        assert!(count > 0, "{shown}");
        shown.push_str(&String::from_utf8_lossy(&block[..count]));
    }
    keys.write_all(b"\x03").expect("the key");
    screen.read_to_string(&mut shown).expect("the screen");
    assert_eq!(child.wait().expect("its end").code(), Some(130), "{shown}");
    assert!(shown.contains("the program on the board was stopped"), "{shown}");
    assert!(place.path("app/profiling/JOBABC/data/aicore.0.net.1.1.1.0.done").exists(), "{shown}");
    // It was asked to end before it was made to, and nothing of it is left.
    assert!(place.path("app/profiling/JOBABC/told").exists(), "{shown}");
    let pid =
        shown.split("running as ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a number");
    assert!(!Path::new("/proc").join(pid).exists());
    let id = String::from_utf8(Command::new("id").arg("-u").output().expect("id").stdout).expect("a number");
    assert!(!Path::new(&format!("/tmp/opscope-collection-{}", id.trim())).exists());
    assert!(!place.path("on_board/.opscope-run").exists());
}

/// All that is in the files below a folder.
fn everything(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            bytes.extend(everything(&entry));
        } else {
            bytes.extend(entry.display().to_string().into_bytes());
            bytes.extend(fs::read(&entry).unwrap_or_default());
        }
    }
    bytes
}

#[test]
fn the_password_is_neither_shown_nor_stored() {
    let Some((user, password)) = companions::user_with_password() else { return };
    let Some((place, _server)) = board() else { return };
    let ini = fs::read_to_string(place.path("board.ini")).expect("the configuration");
    let port = ini.lines().find(|line| line.starts_with("port")).expect("a port");
    // Beside the program, as in a user's first attempt: what is there is uploaded.
    let ini = |password: &str| {
        format!("[ssh_config]\nip = 127.0.0.1\nusername = {user}\n{port}\npwd = {password}\n")
    };
    place.write("app/board.ini", ini(&password));
    fs::set_permissions(place.path("app/board.ini"), fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::create_dir(place.path("remote")).expect("a folder");
    for folder in [".", "remote"] {
        fs::set_permissions(place.path(folder), fs::Permissions::from_mode(0o777)).expect("a mode");
    }
    let remote = place.path("remote/app").display().to_string();
    let run = |config: &str, more: &[&str]| {
        let mut words = vec!["-v", "collect", "-m", "app/main", "--config", config, "--known-hosts", "known"];
        words.extend(["--remote-dir", &remote, "--accept-new-host-key", "--connect-timeout", "30s"]);
        words.extend(more);
        let answer = place.run(&words);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(!said.contains(&password), "{said}");
        (answer.status, said)
    };
    let (status, said) = run("app/board.ini", &["--all", "--", "x"]);
    assert_eq!(status, Some(4), "{said}");
    let contains =
        |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    for folder in ["remote", "app/profiling"] {
        assert!(!contains(&everything(&place.path(folder)), &password), "{folder}");
    }
    assert!(contains(&everything(&place.path("app")), &password), "else this would prove nothing");
    // A wrong one isn't shown either, nor one that stands where something else belongs.
    place.write("app/wrong.ini", ini(&format!("{password}!")));
    fs::set_permissions(place.path("app/wrong.ini"), fs::Permissions::from_mode(0o600)).expect("a mode");
    let (status, said) = run("app/wrong.ini", &[]);
    assert!(status == Some(125) && said.contains("the password was refused"), "{said}");
    place.write("app/wrong.ini", format!("[ssh_config]\nip = a\nusername = b\n{password}\n"));
    let (status, said) = run("app/wrong.ini", &[]);
    assert!(status == Some(125) && said.contains("line 4"), "{said}");
}

#[test]
fn a_configuration_that_others_can_read_or_that_is_wrong_is_named() {
    let place = Place::new();
    place.write("main", "");
    let ini =
        place.write("board.ini", "[ssh_config]\nip = 127.0.0.1\nusername = a\npwd = topsecret\nport = 1\n");
    fs::set_permissions(&ini, fs::Permissions::from_mode(0o644)).expect("a mode");
    let answer = place.run(&["collect", "-m", "main", "--config", "board.ini"]);
    assert_eq!(answer.status, Some(125));
    assert!(answer.stderr.contains("others can read the password"), "{}", answer.stderr);
    assert!(answer.stderr.contains("cannot be reached") && !answer.stderr.contains("topsecret"));
    place.write("board.ini", "[ssh_config]\nip = a\nuser name = b\n");
    let answer = place.run(&["collect", "-m", "main", "--config", "board.ini"]);
    assert!(answer.stderr.contains("line 3: unknown key 'user name'"), "{}", answer.stderr);
    let answer = place.run(&["collect", "-m", "main"]);
    assert_eq!(answer.status, Some(2));
    assert!(answer.stderr.contains("--config"), "{}", answer.stderr);
    let answer = place.run(&["collect", "-m", "main", "--config", "board.ini", "--nfs", "127.0.1.1:/x"]);
    assert_eq!(answer.status, Some(2));
    assert!(answer.stderr.contains("/etc/hosts"), "{}", answer.stderr);
}
