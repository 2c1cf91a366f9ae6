//! A board for the tests: OpenSSH's server as a child process, a relay that can cut the line, and a
//! program that behaves as the vendor's manual says.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opscope_board::{
    BoardConfig, Collected, HostKeys, Output, Progress, Request, Secret, Settings, Timeouts, collect,
};

/// A running server, and a folder with keys and a project.
pub struct Board {
    pub folder: tempfile::TempDir,
    pub port: u16,
    child: Child,
    _turn: MutexGuard<'static, ()>,
}

/// A board takes one collection at a time, and all tests have the same one.
static TURN: Mutex<()> = Mutex::new(());

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn server() -> String {
    std::env::var("OPSCOPE_SSHD").unwrap_or_else(|_| "/usr/sbin/sshd".to_owned())
}

/// Starts a board, or says that the test is skipped.
pub fn board() -> Option<Board> {
    let server = server();
    if !Path::new(&server).exists() {
        eprintln!("skipped: no SSH server ({server}); install openssh-server or set OPSCOPE_SSHD");
        return None;
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::Builder::new().prefix("opscope_board_").tempdir().unwrap();
    // The server's own separation of rights needs this folder when it runs as root.
    let _ = fs::create_dir_all("/run/sshd");
    let path = |name: &str| folder.path().join(name);
    for (name, kind) in [("host_key", "ed25519"), ("user_key", "ed25519"), ("rsa_key", "rsa")] {
        let made =
            Command::new("ssh-keygen").args(["-q", "-N", "", "-t", kind, "-f"]).arg(path(name)).status();
        assert!(made.unwrap().success());
    }
    let authorized =
        ["user_key.pub", "rsa_key.pub"].map(|name| fs::read_to_string(path(name)).unwrap()).concat();
    fs::write(path("authorized_keys"), authorized).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication yes\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n\
         MaxStartups 100\nLogLevel ERROR\nSetEnv PATH={}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\n",
        path("host_key").display(),
        path("authorized_keys").display(),
        path("bin").display()
    );
    fs::write(path("sshd_config"), config).unwrap();
    let child = serve(&server, &path("sshd_config"), port);
    let board = Board { folder, port, child, _turn: turn };
    board.write_project();
    Some(board)
}

fn serve(server: &str, config: &Path, port: u16) -> Child {
    // The umask that most boards have.
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0022; exec \"$0\" \"$@\"", server, "-D", "-e", "-f"]).arg(config);
    let child = command.stdin(Stdio::null()).spawn();
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the SSH server did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.unwrap()
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
        let config = change(&fs::read_to_string(self.path("sshd_config")).unwrap());
        fs::write(self.path("sshd_config"), config).unwrap();
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.child = serve(&server(), &self.path("sshd_config"), self.port);
    }

    /// The stand-in with another environment.
    pub fn set_main(&self, environment: &str) {
        self.write_main(&MAIN.replacen('\n', &format!("\n{environment}\n"), 1));
    }

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

/// The user that the tests run as.
pub fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A user with a password, if the machine has one for the tests.
pub fn user_with_password() -> Option<(String, Secret)> {
    let name = std::env::var("OPSCOPE_BOARD_USER").ok();
    let password = std::env::var("OPSCOPE_BOARD_PASSWORD").ok();
    let found = name.zip(password.map(Secret::new));
    if found.is_none() {
        eprintln!("skipped: set OPSCOPE_BOARD_USER and OPSCOPE_BOARD_PASSWORD to a user of this machine");
    }
    found
}

/// What was reported.
#[derive(Default)]
pub struct Log {
    pub steps: Vec<String>,
    pub warnings: Vec<String>,
    pub stdout: String,
    pub stderr: String,
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
    pub port: u16,
    is_down: Arc<AtomicBool>,
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

impl Switch {
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

    pub fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
        for line in self.lines.lock().unwrap().drain(..) {
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}

/// A disk of a few megabytes, if the machine lets the tests make one.
pub struct SmallDisk(pub PathBuf);

impl SmallDisk {
    pub fn new(path: PathBuf, megabytes: u32) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(&path).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        eprintln!("skipped: a small disk can't be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
