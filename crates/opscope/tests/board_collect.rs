//! `opscope collect --main`: the command line over a real SSH server. What goes on behind it is
//! tested where it is written, in the crate for boards.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::Place;

/// A server for one test.
struct Server {
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
fn board() -> Option<(Place, Server)> {
    let program = std::env::var("OPSCOPE_SSHD").unwrap_or_else(|_| "/usr/sbin/sshd".to_owned());
    if !Path::new(&program).exists() {
        eprintln!("skipped: no SSH server ({program}); install openssh-server or set OPSCOPE_SSHD");
        return None;
    }
    let place = Place::new();
    // As root, the server needs this folder.
    let _ = fs::create_dir_all("/run/sshd");
    for name in ["host_key", "user_key"] {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-N", "", "-t", "ed25519", "-f"]).arg(place.path(name));
        assert!(command.status().expect("ssh-keygen").success());
    }
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let path = |name: &str| place.path(name).display().to_string();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\nLogLevel ERROR\n",
        path("host_key"),
        path("user_key.pub")
    );
    place.write("sshd_config", config);
    let mut command = Command::new(program);
    command.args(["-D", "-e", "-f"]).arg(place.path("sshd_config")).stdin(Stdio::null());
    let server = Server { child: command.spawn().expect("the server starts") };
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the SSH server did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::create_dir(place.path("app")).expect("a folder");
    let main = place.write("app/main", MAIN);
    fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).expect("a mode");
    let user = String::from_utf8(Command::new("id").arg("-un").output().expect("id").stdout).expect("a name");
    let ini = format!(
        "[ssh_config]\nip = 127.0.0.1\nusername = {user}\nport = {port}\nkey = {}\n",
        path("user_key")
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
    let again =
        fs::read_to_string(place.path("app/profiling/JOBABC/summary/op_summary_0.net.1.1.1.1.0.600.csv"));
    assert!(again.expect("the table").contains("0,,conv1,Convolution,12.5,N/A"));

    let quiet = collect(&place, &["--", "quiet"]);
    assert_eq!(quiet.status, Some(0), "{}", quiet.stderr);
    assert!(quiet.stderr.contains("left no JOB directory") && quiet.stderr.contains("svp_acl_init()"));

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
