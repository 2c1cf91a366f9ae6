//! A board for the tests: an SSH server, a relay that can cut the line, and a program that behaves as
//! the vendor's manual says.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opscope_board::{
    BoardConfig, Collected, HostKeys, Output, Progress, Request, Secret, Settings, Timeouts, collect,
};

use crate::companions;
pub use crate::small_disk::SmallDisk;
use crate::ssh_server::SshServer;
pub use crate::ssh_server::user;

/// A running server, and a folder with keys and a project.
pub struct Board {
    /// Where the server listens, on 127.0.0.1.
    pub port: u16,
    // The server ends before its folder goes.
    server: SshServer,
    /// Holds the keys, the project and the folders on the board.
    pub folder: tempfile::TempDir,
}

/// Starts a board, or says that the test is skipped.
pub fn board() -> Option<Board> {
    let folder = tempfile::Builder::new().prefix("opscope_board_").tempdir().unwrap();
    let server = SshServer::start(folder.path())?;
    let board = Board { port: server.port, server, folder };
    board.write_project();
    Some(board)
}

/// A stand-in for a program with the board's runtime. It reads `acl.json` as the manual describes,
/// and leaves a `JOB*` directory in the output folder, or beside itself where there is none.
const MAIN: &str = r#"#!/bin/sh
json=../src/acl.json
value() { sed -n 's/.*"'$1'": *"\([^"]*\)".*/\1/p' "$json"; }
echo "hello from $(basename "$PWD") with $*"
echo "a warning" >&2
[ "$(value switch)" = on ] || exit 0
output=$(value output)
[ -d "$output" ] || output=$PWD
job=$output/JOB$(od -An -N8 -tu8 /dev/urandom | tr -d ' ' | tr 0-9 A-J)
mkdir -p "$job/data"
echo '{"devices": "0"}' > "$job/info.json.0"
echo net > "$job/data/net.1.net.info"
head -c "${SIZE:-3000}" /dev/zero | tr '\0' x > "$job/data/aicore.0.net.1.1.1.0.done"
umask > "$job/data/umask"
[ -n "$FAIL" ] && exit 3
exit 0
"#;

impl Board {
    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_project(&self) {
        let out = self.path("my-app/out");
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(self.path("my-app/src")).unwrap();
        fs::write(self.path("my-app/src/main.cpp"), "int main() {}\n").unwrap();
        self.write_main(MAIN);
    }

    /// Writes another program in the place of the project's.
    pub fn write_main(&self, text: &str) {
        let path = self.path("my-app/out/main");
        let _ = fs::remove_file(&path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Puts a script in the place of one of the board's own programs.
    pub fn replace_program(&self, name: &str, script: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        fs::write(self.path("bin").join(name), script).unwrap();
        fs::set_permissions(self.path("bin").join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Starts the server anew with another configuration.
    pub fn restart(&mut self, change: impl FnOnce(&str) -> String) {
        self.server.restart(change);
    }

    /// The stand-in with another environment.
    pub fn set_main(&self, environment: &str) {
        self.write_main(&MAIN.replacen('\n', &format!("\n{environment}\n"), 1));
    }

    /// A collection from the project, with the usual settings.
    pub fn request(&self) -> Request {
        Request {
            config: BoardConfig {
                host: "127.0.0.1".to_owned(),
                user: user(),
                password: None,
                private_key: Some(self.path("user_key")),
                port: self.port,
                board_mount: None,
                host_mount: None,
            },
            host_keys: HostKeys { known_hosts: self.path("known_hosts"), accept_new: true },
            timeouts: Timeouts {
                connect: Duration::from_secs(30),
                reconnect: Duration::from_secs(20),
                mount: Duration::from_secs(60),
                program: Some(Duration::from_secs(60)),
            },
            project: self.path("my-app"),
            secrets: Vec::new(),
            main: self.path("my-app/out/main"),
            arguments: vec!["it's".to_owned(), "$HOME".to_owned()],
            remote: Some(self.path("on_board").display().to_string()),
            settings: Settings::default(),
            output: self.path("results"),
            nfs: None,
            collector: None,
            resume: false,
            clean_up: false,
        }
    }
}

/// Collects, which must succeed.
pub fn run(request: &Request) -> (Collected, Log) {
    let mut log = Log::default();
    let collected = collect(request, &mut log).unwrap_or_else(|error| panic!("{error}; {:?}", log.warnings));
    (collected, log)
}

/// Collects, which must fail, and says with what.
pub fn fail(request: &Request) -> String {
    let mut log = Log::default();
    match collect(request, &mut log) {
        Ok(collected) => panic!("collected {collected:?}"),
        Err(error) => error.to_string(),
    }
}

/// The names in a folder.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A user with a password, if the machine has one for the tests.
pub fn user_with_password() -> Option<(String, Secret)> {
    companions::user_with_password().map(|(name, password)| (name, Secret::new(password)))
}

/// The reports of a collection.
#[derive(Default)]
pub struct Log {
    /// Steps that were begun.
    pub steps: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The standard output of the program on the board.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Bytes that are through, and all of them, as reported last.
    pub last_bytes: (u64, u64),
    /// The user stops the program once this is printed.
    pub interrupt_at: Option<String>,
}

impl Progress for Log {
    fn step(&mut self, text: &str) {
        self.steps.push(text.to_owned());
    }

    fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    fn bytes(&mut self, done: u64, total: u64) {
        assert!(done <= total, "{done} of {total}");
        self.last_bytes = (done, total);
    }

    fn interrupted(&self) -> bool {
        self.interrupt_at.as_ref().is_some_and(|text| self.stdout.contains(text))
    }

    fn output(&mut self, stream: Output, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        match stream {
            Output::Stdout => self.stdout.push_str(&text),
            Output::Stderr => self.stderr.push_str(&text),
        }
    }
}

/// A relay to a port that cuts each line after some bytes, as often as `cuts` says; then it holds.
pub fn unreliable_relay(port: u16, bytes_before_cut: u64, cuts: i64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own_port = listener.local_addr().unwrap().port();
    let cuts = Arc::new(AtomicI64::new(cuts));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let budget = if cuts.fetch_sub(1, Ordering::Relaxed) > 0 { bytes_before_cut } else { u64::MAX };
            let left = Arc::new(AtomicI64::new(i64::try_from(budget).unwrap_or(i64::MAX)));
            for (mut from, mut to) in
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
            {
                let left = Arc::clone(&left);
                std::thread::spawn(move || {
                    let mut block = [0; 16384];
                    while let Ok(count @ 1..) = from.read(&mut block) {
                        if left.fetch_sub(count as i64, Ordering::Relaxed) < count as i64
                            || to.write_all(&block[..count]).is_err()
                        {
                            break;
                        }
                    }
                    let _ = from.shutdown(Shutdown::Both);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    own_port
}

/// A relay to a port that can be taken down, as when a board is unplugged from the network.
pub struct Switch {
    /// Where the relay listens, on 127.0.0.1.
    pub port: u16,
    is_down: Arc<AtomicBool>,
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

impl Switch {
    /// A relay to a port, which is up.
    pub fn new(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let is_down = Arc::new(AtomicBool::new(false));
        let lines: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let switch = Self { port: own_port, is_down: Arc::clone(&is_down), lines: Arc::clone(&lines) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_down.load(Ordering::SeqCst) {
                    continue;
                }
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                lines.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        switch
    }

    /// Takes the relay down or up; lines that were open are cut.
    pub fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
        for line in self.lines.lock().unwrap().drain(..) {
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}
