//! OpenSSH's server as a child process, with keys and a configuration of its own in a folder.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::companions;

/// A running server; it ends with the value. One runs at a time, because the tests' boards share what
/// one collection at a time may use.
pub struct SshServer {
    /// The port on 127.0.0.1.
    pub port: u16,
    program: PathBuf,
    config: PathBuf,
    child: Child,
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());

impl SshServer {
    /// Starts a server whose files lie in `folder`: `host_key`, `user_key` and `rsa_key`, which let the
    /// user of the tests in, and `sshd_config`. Programs in `folder/bin` stand before the system's.
    pub fn start(folder: &Path) -> Option<Self> {
        let program = server_program()?;
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // The server's own separation of rights needs this folder when it runs as root.
        let _ = fs::create_dir_all("/run/sshd");
        let path = |name: &str| folder.join(name);
        for (name, kind) in [("host_key", "ed25519"), ("user_key", "ed25519"), ("rsa_key", "rsa")] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-N", "", "-t", kind, "-f"]).arg(path(name)).status();
            assert!(made.expect("ssh-keygen comes with the server").success());
        }
        let public = |name: &str| fs::read_to_string(path(name)).expect("a public key");
        fs::write(path("authorized_keys"), public("user_key.pub") + &public("rsa_key.pub"))
            .expect("a writable folder");
        let port = free_port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication yes\nPermitRootLogin yes\nPidFile none\n\
             Subsystem sftp internal-sftp\nMaxStartups 100\nLogLevel ERROR\n\
             SetEnv PATH={}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\n",
            path("host_key").display(),
            path("authorized_keys").display(),
            path("bin").display()
        );
        fs::write(path("sshd_config"), config).expect("a writable folder");
        let child = serve(&program, &path("sshd_config"), port);
        Some(Self { port, program, config: path("sshd_config"), child, _turn: turn })
    }

    /// Starts the server anew with another configuration.
    pub fn restart(&mut self, change: impl FnOnce(&str) -> String) {
        let config = change(&fs::read_to_string(&self.config).expect("the configuration"));
        fs::write(&self.config, config).expect("a writable folder");
        self.stop();
        self.child = serve(&self.program, &self.config, self.port);
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The name of the user that the tests run as.
pub fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("the program id");
    String::from_utf8(output.stdout).expect("a name").trim().to_owned()
}

fn server_program() -> Option<PathBuf> {
    let program =
        std::env::var_os("OPSCOPE_SSHD").map_or_else(|| PathBuf::from("/usr/sbin/sshd"), PathBuf::from);
    if program.exists() {
        return Some(program);
    }
    companions::skip(&format!(
        "no SSH server {}; install openssh-server or set OPSCOPE_SSHD",
        program.display()
    ));
    None
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

fn serve(program: &Path, config: &Path, port: u16) -> Child {
    // The umask that most boards have.
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0022; exec \"$0\" \"$@\""]).arg(program).args(["-D", "-e", "-f"]).arg(config);
    let child = command.stdin(Stdio::null()).spawn().expect("the server starts");
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the SSH server did not start");
        thread::sleep(Duration::from_millis(20));
    }
    child
}
