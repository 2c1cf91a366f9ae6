//! The server over real sockets: who is turned away, and what the others are told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use opscope_analyze::Answer;
use opscope_trace::*;
use serde_json::{Value, json};

use super::*;
use crate::columns::Container;
use crate::graph::Graph;
use crate::session::{Problem, Reading, Subject};
use crate::{Embedded, fingerprint};

mod answers;
mod ranks;

/// Tasks on two streams; the second profile can't be read, the third never is.
struct Profiles {
    stop: Arc<AtomicBool>,
}

struct Profile(Trace);

impl Loader for Profiles {
    fn names(&self) -> Vec<String> {
        ["good", "bad", "slow"].map(str::to_owned).to_vec()
    }

    fn load(&self, profile: usize, reading: &Arc<Reading>) -> Result<Box<dyn Subject>, Problem> {
        match profile {
            0 => Ok(Box::new(Profile(trace()))),
            1 => Err(Problem { is_question: false, error: "it is damaged".to_owned(), hint: None }),
            _ => {
                reading.step("reading for long");
                reading.read(0, 100);
                reading.read(70, 0);
                reading.read(70, 50);
                while !self.stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(Problem { is_question: false, error: "stopped".to_owned(), hint: None })
            }
        }
    }
}

impl Subject for Profile {
    fn trace(&self) -> &Trace {
        &self.0
    }

    fn graph(&self, operators: &Answer) -> Graph {
        Graph::of(&self.0, operators, None, &[])
    }

    fn answers(&self, _: &Answer, embedded: &Embedded) -> Result<Value, Problem> {
        let fingerprint = fingerprint(&embedded.columns);
        Ok(
            json!({ "fingerprint": fingerprint, "overview": { "tasks": 6 }, "about": {}, "losses": [], "timeline": embedded.timeline }),
        )
    }

    fn since(&self, before: &dyn Subject) -> Result<Value, Problem> {
        let before = before.as_any().downcast_ref::<Self>().map(|before| before.0.tasks.len());
        Ok(json!({ "compare": { "before": before, "after": self.0.tasks.len() } }))
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn table(&self, options: &[(String, String)]) -> Result<Value, Problem> {
        if options.iter().any(|(name, _)| name == "wait") {
            std::thread::sleep(Duration::from_secs(3));
        }
        if options.iter().any(|(name, _)| name == "wrong") {
            return Err(Problem { is_question: true, error: "no such option".to_owned(), hint: None });
        }
        let rows: Vec<usize> = (0..10).collect();
        Ok(json!({ "asked": options, "rows": rows }))
    }

    fn csv(&self, options: &[(String, String)]) -> Result<String, Problem> {
        Ok(format!("asked\n{}\n", options.len()))
    }

    fn timeline(&self, from: u64, to: u64, out: &mut (dyn Write + Send)) -> io::Result<()> {
        if from == 13 {
            out.write_all(b"the beginning")?;
            out.flush()?;
            return Err(io::Error::other("the disk is gone"));
        }
        // More than the pieces that wait for a reader.
        for _ in 0..if from == 7 { 1_000 } else { 1 } {
            out.write_all(&vec![b' '; 100_000])?;
        }
        write!(out, "{from}..{to}")
    }
}

fn trace() -> Trace {
    let mut trace = Trace::new();
    let name = trace.strings.intern("npu");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name });
    for number in 0..2 {
        let name = trace.strings.intern("");
        let stream = trace.streams.push(Stream { device, number, thread: None, name });
        for (task, (start, duration)) in [(0, 40), (50, 8), (1_000, 2_000)].into_iter().enumerate() {
            let name = trace.strings.intern(&format!("op{number}{task}"));
            let task = Task::new(name, Nanoseconds(start), Nanoseconds(duration));
            trace.tasks.push(Task { stream: Some(stream), unit: ExecutionUnit::AiCore, ..task });
        }
    }
    let (name, unit) = (trace.strings.intern("memory"), trace.strings.intern("B"));
    let counter = trace.counters.push(Counter { device: Some(device), name, unit });
    for (time, value) in [(0, 5.0), (90, 1.0), (100, 9.0), (1_500, f64::NAN), (2_000, 2.0)] {
        trace.samples.push(Sample { counter, time: Nanoseconds(time), value });
    }
    let name = trace.strings.intern("OP at once");
    for start in [70, 10] {
        let (start, duration) = (Nanoseconds(start), Nanoseconds(5));
        let level = ApiLevel::Application;
        trace.api_calls.push(ApiCall { thread: None, level, name, start, duration, iteration: None });
    }
    trace
}

/// A server that runs until it is dropped.
struct Running {
    port: u16,
    token: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Ended, ServerError>>>,
}

impl Running {
    fn new() -> Self {
        Self::with_patience(PATIENCE)
    }

    fn with_patience(patience: Duration) -> Self {
        let server = Server { patience, ..Server::bind(Some(0)).unwrap() };
        let (port, token) = (server.port(), server.door.token.clone());
        assert_eq!(server.url(), format!("http://127.0.0.1:{port}/#token={token}"));
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, loader) = (Arc::clone(&stop), Profiles { stop: Arc::clone(&stop) });
        let thread = std::thread::spawn(move || server.run(loader, || ends.load(Ordering::Relaxed), None));
        let running = Self { port, token, stop, thread: Some(thread) };
        while running.json("/api/status")["profiles"][2]["state"] != "reading" {
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes, and what comes back.
    fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that has refused already closes.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Reply(bytes)
    }

    /// Asks with heads beside host and token, of which empty ones take those away.
    fn ask(&self, method: &str, path: &str, heads: &[(&str, &str)]) -> Reply {
        let (host, token) = (self.host(), format!("Bearer {}", self.token));
        let mut all = vec![("Host", &*host), ("Authorization", &*token), ("Connection", "close")];
        for &(name, value) in heads {
            all.retain(|(known, _)| *known != name || name == "Origin");
            all.push((name, value));
        }
        let heads: String = all
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        self.raw(format!("{method} {path} HTTP/1.1\r\n{heads}\r\n").as_bytes())
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[])
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(self.get(path).body()).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            assert_eq!(ended.unwrap().unwrap(), Ended::Told);
        }
    }
}

struct Reply(Vec<u8>);

impl Reply {
    fn parts(&self) -> (&str, &[u8]) {
        let end = self.0.windows(4).position(|four| four == b"\r\n\r\n").map_or(self.0.len(), |at| at + 4);
        (std::str::from_utf8(&self.0[..end]).unwrap(), &self.0[end..])
    }

    fn status(&self) -> u16 {
        self.parts().0.split(' ').nth(1).map_or(0, |status| status.parse().unwrap())
    }

    fn head(&self, name: &str) -> Option<&str> {
        self.parts().0.lines().find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn body(&self) -> &[u8] {
        self.parts().1
    }
}

#[test]
fn only_hosts_of_this_machine_are_answered_to() {
    let server = Running::new();
    let port = server.port;
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        assert_eq!(server.ask("GET", "/", &[("Host", &format!("{host}:{port}"))]).status(), 200, "{host}");
    }
    let wrong =
        ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example", "localhost.", "0.0.0.0"];
    for host in wrong.map(|host| if host == "127.0.0.1" { host.to_owned() } else { format!("{host}:{port}") })
    {
        for path in ["/", "/app.js", "/api/status", "/api/0/trace", "/api/0/search?q=op", "/nothing"] {
            assert_eq!(server.ask("GET", path, &[("Host", &host)]).status(), 421, "{host}{path}");
        }
    }
    let own = server.host();
    assert_eq!(server.raw(b"GET / HTTP/1.0\r\n\r\n").status(), 421);
    let twice = format!("GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(server.raw(twice.as_bytes()).status(), 421);
    let absolute = format!("GET http://evil.example/ HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n");
    assert_eq!(server.raw(absolute.as_bytes()).status(), 421);
    // The name is asked first, whatever else is wrong.
    assert_eq!(
        server.ask("POST", "/api/status", &[("Host", "evil.example"), ("Authorization", "")]).status(),
        421
    );
}

#[test]
fn profiles_are_told_of_to_those_with_the_token_only() {
    let server = Running::new();
    let own = server.token.clone();
    let other = own.chars().rev().collect::<String>();
    let wrong = [
        String::new(),
        own.clone(),
        format!("Bearer {other}"),
        format!("Bearer {}", &own[1..]),
        format!("Bearer {own}0"),
        format!("Basic {own}"),
    ];
    for path in [
        "/api/status",
        "/api/0/report",
        "/api/0/columns",
        "/api/0/tiles?level=0",
        "/api/0/search?q=op",
        "/api/0/executions?row=0",
        "/api/0/counters?from=0&to=9&width=1&ids=0",
        "/api/0/table?format=csv",
        "/api/0/trace",
        "/api/7/nothing",
    ] {
        for token in &wrong {
            let reply = server.ask("GET", path, &[("Authorization", token)]);
            assert_eq!(
                (reply.status(), reply.head("www-authenticate")),
                (401, Some("Bearer")),
                "{path} {token}"
            );
            assert!(!String::from_utf8_lossy(reply.body()).contains("good"));
        }
        assert_ne!(server.get(path).status(), 401, "{path}");
    }
    // An address carries no token.
    assert_eq!(
        server.ask("GET", &format!("/api/status?token={own}"), &[("Authorization", "")]).status(),
        401
    );
    for path in ["/", "/app.js", "/app.css"] {
        assert_eq!(server.ask("GET", path, &[("Authorization", "")]).status(), 200, "{path}");
    }
}

#[test]
fn requests_of_other_sites_are_turned_away() {
    let server = Running::new();
    let own = format!("http://{}", server.host());
    let port = server.port;
    for origin in [own.clone(), format!("http://localhost:{port}"), format!("http://[::1]:{port}")] {
        assert_eq!(server.ask("GET", "/api/status", &[("Origin", &origin)]).status(), 200, "{origin}");
    }
    for origin in [
        "null",
        "http://evil.example",
        "http://127.0.0.1:1",
        "https://127.0.0.1",
        &own.replace("http", "https"),
        &format!("{own}.evil.example"),
    ] {
        assert_eq!(server.ask("GET", "/api/status", &[("Origin", origin)]).status(), 403, "{origin}");
    }
    assert_eq!(server.ask("GET", "/api/status", &[("Origin", &own), ("Origin", "null")]).status(), 403);
    for (site, status) in
        [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("x", 403)]
    {
        for path in ["/api/status", "/api/0/trace", "/api/0/search?q=op", "/app.js", "/"] {
            assert_eq!(
                server.ask("GET", path, &[("Sec-Fetch-Site", site)]).status(),
                status,
                "{site} {path}"
            );
        }
    }
    // A link to the page may be followed, in a window of its own; nothing else may.
    let visit = |path: &str, dest: &str, mode: &str| {
        let heads = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)];
        server.ask("GET", path, &heads).status()
    };
    assert_eq!(visit("/", "document", "navigate"), 200);
    for (path, dest, mode) in [
        ("/", "iframe", "navigate"),
        ("/", "document", "no-cors"),
        ("/app.js", "document", "navigate"),
        ("/api/status", "document", "navigate"),
    ] {
        assert_eq!(visit(path, dest, mode), 403, "{path} {dest} {mode}");
    }
    assert_eq!(server.get("/api/status").head("access-control-allow-origin"), None);
}

#[test]
fn only_get_and_head_without_a_body_are_answered() {
    let server = Running::new();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "BREW"] {
        let reply = server.ask(method, "/api/status", &[]);
        let status = reply.status();
        assert!(status == 405 || (method == "CONNECT" && status >= 400), "{method} {status}");
    }
    assert_eq!(server.ask("POST", "/", &[]).head("allow"), Some("GET, HEAD"));
    let head = server.ask("HEAD", "/api/status", &[]);
    assert_eq!((head.status(), head.body()), (200, &b""[..]));
    assert_eq!(server.ask("GET", "/api/status", &[("Content-Length", "5")]).status(), 413);
    assert_eq!(server.ask("GET", "/api/status", &[("Transfer-Encoding", "chunked")]).status(), 413);
}

#[test]
fn every_answer_forbids_the_browser_what_it_need_not_do() {
    let server = Running::new();
    for path in ["/", "/app.js", "/api/status", "/api/0/columns", "/nothing"] {
        let reply = server.get(path);
        let policy = reply.head("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {part}");
        }
        assert!(!policy.contains("unsafe"));
        assert_eq!(reply.head("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.head("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(reply.head("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert_eq!(reply.head("cross-origin-opener-policy"), Some("same-origin"), "{path}");
        let is_kept = !path.starts_with("/api/");
        assert_eq!(reply.head("cache-control") == Some("no-store"), !is_kept, "{path}");
    }
    // Refusals as well.
    assert!(server.ask("GET", "/", &[("Host", "evil.example")]).head("content-security-policy").is_some());
    assert_eq!(
        server.ask("GET", "/api/status", &[("Authorization", "")]).head("cache-control"),
        Some("no-store")
    );
}

#[test]
fn heads_and_addresses_have_an_end() {
    let server = Running::new();
    let long = |bytes: usize| "x".repeat(bytes);
    assert_eq!(server.get(&format!("/api/status?{}", long(9_000))).status(), 414);
    assert_eq!(server.ask("GET", "/api/status", &[("X-Long", &long(12_000))]).status(), 200);
    assert_eq!(server.ask("GET", "/api/status", &[("X-Long", &long(20_000))]).status(), 431);
    let heads = "X: 1\r\n".repeat(150);
    assert_eq!(
        server.raw(format!("GET / HTTP/1.1\r\nHost: {}\r\n{heads}\r\n", server.host()).as_bytes()).status(),
        431
    );
    assert_eq!(server.raw(b"\x16\x03\x01 no HTTP at all\r\n\r\n").status(), 400);
    assert_eq!(server.get("/api/status").status(), 200);
}

#[test]
fn there_are_only_so_many_connections_at_once() {
    let server = Running::new();
    let held: Vec<TcpStream> = (0..MOST_CONNECTIONS).map(|_| server.connect()).collect();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(server.raw(b"").status(), 503);
    held.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    drop(held);
    let begun = Instant::now();
    while server.get("/api/status").status() != 200 {
        assert!(begun.elapsed() < Duration::from_secs(10), "places become free again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn who_is_slow_is_not_waited_for() {
    let server = Running::with_patience(Duration::from_secs(1));
    let begun = Instant::now();
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(begun.elapsed() < Duration::from_secs(10), "a head that never ends");
    assert_eq!(server.get("/api/0/table?wait=1").status(), 503, "an answer that never comes");
    assert_eq!(server.get("/api/0/table?top=1").status(), 200);
}

#[test]
fn a_server_that_nobody_asks_ends_by_itself() {
    let server = Server::bind(Some(0)).unwrap();
    let loader = Profiles { stop: Arc::new(AtomicBool::new(true)) };
    assert_eq!(server.run(loader, || false, Some(Duration::from_millis(150))).unwrap(), Ended::Idle);
}

#[test]
fn a_page_that_only_looks_for_changes_keeps_no_server_awake() {
    let server = Server::bind(Some(0)).unwrap();
    let (port, token) = (server.port(), server.door.token.clone());
    let loader = Profiles { stop: Arc::new(AtomicBool::new(true)) };
    let page = std::thread::spawn(move || {
        let ask = format!(
            "GET /api/status?watch HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        let mut answers = 0;
        while let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let mut answer = String::new();
            let asked = stream.write_all(ask.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
            answers += u32::from(asked.is_ok() && answer.starts_with("HTTP/1.1 200"));
            std::thread::sleep(Duration::from_millis(20));
        }
        answers
    });
    let begun = Instant::now();
    let ended =
        server.run(loader, || begun.elapsed() > Duration::from_secs(60), Some(Duration::from_secs(1)));
    assert_eq!(ended.unwrap(), Ended::Idle);
    assert!(page.join().unwrap() > 0, "it was answered to");
}

#[test]
fn only_this_machine_is_listened_to_and_a_port_in_use_is_named() {
    let first = Server::bind(None).unwrap();
    assert!((FIRST_PORT..FIRST_PORT + PORTS).contains(&first.port()));
    assert!(first.listeners.iter().all(|listener| listener.local_addr().unwrap().ip().is_loopback()));
    let second = Server::bind(None).unwrap();
    assert!(second.port() > first.port(), "the next free one is taken");
    let problem = Server::bind(Some(first.port())).unwrap_err().to_string();
    assert!(problem.contains(&format!("port {}", first.port())) && problem.contains("--port"), "{problem}");
}

#[test]
fn the_page_is_sent_once() {
    let server = Running::new();
    for (path, kind, text) in [
        ("/", "text/html", "<div id=\"app\">"),
        ("/app.js", "text/javascript", "use strict"),
        ("/app.css", "text/css", "{"),
    ] {
        let reply = server.get(path);
        assert!(reply.head("content-type").unwrap().starts_with(kind));
        assert!(String::from_utf8_lossy(reply.body()).contains(text), "{path}");
        let tag = reply.head("etag").unwrap();
        let known = server.ask("GET", path, &[("If-None-Match", tag)]);
        assert_eq!((known.status(), known.body()), (304, &b""[..]), "{path}");
    }
    for path in
        ["/nothing", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "/api", "/api/", "/api/0", "/etc/passwd", "//"]
    {
        assert_eq!(server.get(path).status(), 404, "{path}");
    }
}

#[test]
fn each_profile_says_how_far_it_is() {
    let server = Running::new();
    let status = server.json("/api/status");
    let states: Vec<&str> =
        status["profiles"].as_array().unwrap().iter().filter_map(|it| it["state"].as_str()).collect();
    assert_eq!(states, ["ready", "failed", "reading"]);
    assert_eq!(status["profiles"][1]["error"], "it is damaged");
    assert_eq!(status["profiles"][2]["step"], "reading for long");
    assert_eq!(
        (&status["profiles"][2]["bytes"], &status["profiles"][2]["of_bytes"]),
        (&json!(140), &json!(150))
    );
    assert_eq!(status["profiles"][0]["fingerprint"], server.json("/api/0/overview")["fingerprint"]);
    assert_eq!(server.json("/api/0/overview")["tasks"], 6);
    let refused = |path: &str, status: u16| {
        let reply = server.get(path);
        assert_eq!(reply.status(), status, "{path}");
        assert!(serde_json::from_slice::<Value>(reply.body()).unwrap()["error"].is_string(), "{path}");
    };
    refused("/api/1/report", 422);
    refused("/api/2/report", 503);
    for number in ["3", "-1", "x", "99999999999999999999", "%00"] {
        refused(&format!("/api/{number}/report"), 404);
    }
    refused("/api/0/table?wrong=1", 400);
    assert_eq!(server.json("/api/0/table?top=3&by=x")["asked"], json!([["by", "x"], ["top", "3"]]));
}
