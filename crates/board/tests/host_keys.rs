//! Which hosts are trusted: the same as OpenSSH's own client trusts, with the same file, at the same server.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use opscope_board::collect;
use opscope_testing::board::{Board, board};

/// The public key of a private one, as `type base64`.
fn public_key(path: &Path) -> String {
    let text = fs::read_to_string(path.with_extension("pub")).unwrap();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// A name as `HashKnownHosts` would write it.
fn hashed(board: &Board, line: &str) -> String {
    let path = board.path("to_hash");
    fs::write(&path, line).unwrap();
    let status = Command::new("ssh-keygen").args(["-H", "-f"]).arg(&path).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
    fs::read_to_string(path).unwrap()
}

/// Whether OpenSSH's client lets the user in.
fn ssh_accepts(board: &Board, accept_new: bool) -> bool {
    let known = format!("UserKnownHostsFile={}", board.path("known_hosts").display());
    let strict = format!("StrictHostKeyChecking={}", if accept_new { "accept-new" } else { "yes" });
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", "none", "-n", "-o", "BatchMode=yes", "-o", "UpdateHostKeys=no"]);
    ssh.args(["-o", "GlobalKnownHostsFile=none", "-o", &known, "-o", &strict, "-o", "IdentitiesOnly=yes"]);
    // The key exchange that it prefers takes half a second of processor time, and has no part in this.
    ssh.args(["-o", "KexAlgorithms=curve25519-sha256"]);
    ssh.arg("-i").arg(board.path("user_key")).args(["-p", &board.port.to_string(), "127.0.0.1", "true"]);
    let output = ssh.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || error.contains("Host key verification failed"), "{error}");
    output.status.success()
}

#[test]
fn the_hosts_that_openssh_trusts_are_trusted_and_no_others() {
    let Some(mut board) = board() else { return };
    for kind in ["rsa", "ecdsa"] {
        let path = board.path(&format!("host_{kind}_key"));
        let made = Command::new("ssh-keygen").args(["-q", "-N", "", "-t", kind, "-f"]).arg(path).status();
        assert!(made.unwrap().success());
    }
    let more = ["rsa", "ecdsa"]
        .map(|kind| format!("HostKey {}\n", board.path(&format!("host_{kind}_key")).display()))
        .concat();
    board.restart(|config| format!("{more}{config}"));

    let own = public_key(&board.path("host_key"));
    let own_rsa = public_key(&board.path("host_rsa_key"));
    let own_ecdsa = public_key(&board.path("host_ecdsa_key"));
    let (other, other_rsa) = (public_key(&board.path("user_key")), public_key(&board.path("rsa_key")));
    let port = board.port;
    let host = format!("[127.0.0.1]:{port}");
    let cases = [
        ("nothing", String::new()),
        ("its key", format!("{host} {own}\n")),
        ("its RSA key alone", format!("{host} {own_rsa} a comment\n")),
        ("its RSA and ECDSA keys", format!("{host} {own_rsa}\n{host} {own_ecdsa}\n")),
        ("another host's key", format!("{host} {other}\n")),
        ("another host's key of another kind", format!("{host} {other_rsa}\n")),
        ("another host's key, and its own of another kind", format!("{host} {other_rsa}\n{host} {own}\n")),
        ("its key, revoked", format!("{host} {own}\n@revoked * {own}\n")),
        ("its key, revoked first", format!("@revoked {host} {own}\n{host} {own}\n")),
        ("its key, revoked and not listed", format!("@revoked * {own}\n")),
        ("another key revoked", format!("@revoked * {other}\n{host} {own}\n")),
        ("its key, by tabs", format!("{host}\t{own}\n").replace(' ', "\t")),
        ("another host's key, by tabs", format!("\t{host}\t {other}\n").replace(' ', "\t")),
        ("its key, hashed", hashed(&board, &format!("{host} {own}\n"))),
        ("another host's key, hashed", hashed(&board, &format!("{host} {other}\n"))),
        ("a pattern", format!("[127.0.?.*]:* {own}\n")),
        ("a pattern of other ports", format!("[127.0.0.1]:2? {other}\n")),
        ("a pattern that rules it out", format!("*,!{host} {own}\n")),
        ("a pattern that rules another out", format!("![127.0.0.2]:*,[127.0.0.*]:* {own}\n")),
        ("a list", format!("board,{host},10.0.0.1 {own}\n")),
        ("its key without the port", format!("127.0.0.1 {own}\n")),
        ("another key without the port", format!("127.0.0.1 {other}\n")),
        ("its key without the port, another with it", format!("127.0.0.1 {own}\n{host} {other}\n")),
        ("its key at another port", format!("[127.0.0.1]:1 {own}\n")),
        ("another key at another port", format!("[127.0.0.1]:1 {other}\n")),
        ("an authority of its key", format!("@cert-authority {host} {own}\n")),
        ("a marker that nobody knows", format!("@trusted {host} {own}\n")),
        ("a comment", format!("# {host} {own}\n  #\n\n")),
        ("a comment of the key's", format!("{host} {own} #1 of 2\n")),
        ("a key under another kind's name", format!("{host} ssh-rsa {}\n", own.split(' ').nth(1).unwrap())),
        ("a key that is damaged", format!("{host} {}\n", &own[..own.len() - 9])),
        ("a damaged line before its key", format!("{host} ssh-ed25519 ###\n{host} {own}\n")),
        ("lines that end as on Windows", format!("{host} {own}\r\n")),
    ];
    for (name, text) in cases {
        for accept_new in [false, true] {
            let path = board.path("known_hosts");
            fs::write(&path, &text).unwrap();
            let expected = ssh_accepts(&board, accept_new);
            fs::write(&path, &text).unwrap();
            let mut request = board.request();
            request.host_keys.accept_new = accept_new;
            let result = collect(&request, &mut opscope_testing::board::Log::default());
            assert_eq!(result.is_ok(), expected, "{name}, new ones accepted: {accept_new}: {result:?}");
            let after = fs::read_to_string(&path).unwrap();
            assert!(expected || after == text, "{name}: a refused host was written: {after}");
        }
    }
}

#[test]
fn a_key_that_was_revoked_without_the_port_is_refused_where_it_is_known_with_it() {
    // OpenSSH looks for the name without its port only where none is known with it, and lets such a key in.
    let Some(board) = board() else { return };
    let own = public_key(&board.path("host_key"));
    let text = format!("[127.0.0.1]:{} {own}\n@revoked 127.0.0.1 {own}\n", board.port);
    fs::write(board.path("known_hosts"), text).unwrap();
    assert!(ssh_accepts(&board, false), "OpenSSH is as strict by now");
    let error = opscope_testing::board::fail(&board.request());
    assert!(error.contains("REVOKED") && error.contains("line 2"), "{error}");
}

#[test]
fn a_key_that_was_revoked_by_a_line_with_tabs_is_refused() {
    // OpenSSH 9.2 passes over a marker with a tab behind it if a blank follows later in the line, so
    // that the key is good; whoever wrote the line wanted it refused.
    let Some(board) = board() else { return };
    let own = public_key(&board.path("host_key"));
    fs::write(board.path("known_hosts"), format!("@revoked\t*\t{own}\n")).unwrap();
    let error = opscope_testing::board::fail(&board.request());
    assert!(error.contains("REVOKED") && error.contains("line 1"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_not_an_empty_one() {
    let Some(board) = board() else { return };
    fs::create_dir(board.path("known_hosts")).unwrap();
    let error = opscope_testing::board::fail(&board.request());
    assert!(error.contains("known hosts cannot be used"), "{error}");
}
