//! A run on many ranks behind the same door.

use super::*;
use crate::ranks::{Ranks, RanksLoader};

struct Run {
    fails: bool,
}

impl RanksLoader for Run {
    fn name(&self) -> String {
        "run".to_owned()
    }

    fn load(&self, reading: &Arc<Reading>) -> Result<Box<dyn Ranks>, Problem> {
        reading.step("read");
        match self.fails {
            true => Err(Problem { is_question: false, error: "no ranks".to_owned(), hint: None }),
            false => Ok(Box::new(Found)),
        }
    }
}

struct Found;

impl Ranks for Found {
    fn content(&self) -> Result<(Value, Vec<u8>), Problem> {
        Ok((json!({ "name": "run" }), b"columns".to_vec()))
    }

    fn timeline(&self, ranks: &str, steps: Option<&str>) -> Result<Vec<u8>, Problem> {
        match ranks {
            "x" => Err(Problem { is_question: true, error: "no such rank".to_owned(), hint: None }),
            _ => Ok(format!("{ranks} {steps:?}").into_bytes()),
        }
    }
}

fn running(fails: bool) -> Running {
    let server = Server::bind(Some(0)).unwrap();
    let (port, token) = (server.port(), server.door.token.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    let thread =
        std::thread::spawn(move || server.run_ranks(Run { fails }, || ends.load(Ordering::Relaxed), None));
    let running = Running { port, token, stop, thread: Some(thread) };
    while running.json("/api/status")["profiles"][0]["state"] == "reading" {
        std::thread::sleep(Duration::from_millis(5));
    }
    running
}

#[test]
fn a_run_is_told_of_to_those_with_the_token_only_and_its_page_is_its_own() {
    let server = running(false);
    assert_eq!(
        server.json("/api/status")["profiles"][0],
        json!({ "number": 0, "name": "run", "state": "ready" })
    );
    assert_eq!(server.json("/api/report"), json!({ "name": "run" }));
    assert_eq!(server.get("/api/columns").body(), b"columns");
    assert_eq!(server.get("/api/timeline?ranks=0-3,49").body(), b"0-3,49 None");
    assert_eq!(server.get("/api/timeline?ranks=1&steps=10").body(), b"1 Some(\"10\")");
    for (path, status) in
        [("/api/timeline", 400), ("/api/timeline?ranks=x", 400), ("/api/0/report", 404), ("/nothing", 404)]
    {
        assert_eq!(server.get(path).status(), status, "{path}");
    }
    for path in ["/api/status", "/api/report", "/api/columns", "/api/timeline?ranks=1"] {
        assert_eq!(server.ask("GET", path, &[("Authorization", "")]).status(), 401, "{path}");
        assert_eq!(server.ask("GET", path, &[("Host", "evil.example")]).status(), 421, "{path}");
        assert_eq!(server.ask("GET", path, &[("Origin", "http://evil.example")]).status(), 403, "{path}");
        assert_eq!(server.ask("POST", path, &[]).status(), 405, "{path}");
    }
    let (script, of_profiles) = (server.get("/app.js"), Running::new().get("/app.js"));
    assert_eq!((script.status(), script.head("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_ne!(script.body(), of_profiles.body());
    assert!(
        server.get("/").head("content-security-policy").is_some_and(|it| it.contains("default-src 'none'"))
    );
    let tag = script.head("etag").unwrap();
    assert_eq!(server.ask("GET", "/app.js", &[("If-None-Match", tag)]).status(), 304);
}

#[test]
fn a_run_that_cannot_be_examined_says_why() {
    let server = running(true);
    let status = server.json("/api/status");
    assert_eq!(
        (&status["profiles"][0]["state"], &status["profiles"][0]["error"]),
        (&"failed".into(), &"no ranks".into())
    );
    assert_eq!(server.get("/api/report").status(), 422);
    assert_eq!(server.json("/api/report")["error"], "no ranks");
}
