//! The answers about a profile, and what they refuse.

use super::*;

#[test]
fn tiles_bring_the_items_and_text_that_the_page_lacks() {
    let server = Running::new();
    let reply = server.get("/api/0/tiles?level=5&first=0&count=2&rows=1,2,3");
    let answer = Container::read(reply.body()).unwrap();
    // Of buckets of 32 ns: 40 and 8 are short, 2,000 is wide. Row 1 is that of both streams.
    assert_eq!(answer.numbers("tiles", "row").unwrap(), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(answer.numbers("tiles", "number").unwrap(), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(answer.numbers("tiles", "fine").unwrap(), [2.0, 0.0, 2.0, 0.0, 2.0, 0.0]);
    assert_eq!(answer.numbers("fine", "bucket").unwrap()[2..4], [0.0, 1.0]);
    assert_eq!(answer.numbers("fine", "busy").unwrap()[2..4], [255.0, 127.0]);
    assert_eq!(answer.numbers("fine", "count").unwrap()[2..4], [1.0, 1.0]);
    assert_eq!(answer.numbers("wide", "start").unwrap(), [1_000.0; 3]);
    assert_eq!(answer.numbers("wide", "duration").unwrap(), [2_000.0; 3]);
    let all = answer.count("strings").unwrap();
    let known = format!(
        "/api/0/tiles?level=5&first=0&count=2&rows=1,2,3&items={}&strings={all}",
        answer.count("items").unwrap()
    );
    let reply = server.get(&known);
    let answer = Container::read(reply.body()).unwrap();
    assert_eq!((answer.count("items").unwrap(), answer.count("strings").unwrap()), (0, 0));
    for wrong in [
        "level=53&first=0&count=1&rows=0",
        "level=1&first=0&count=33&rows=0",
        "level=1&first=0&count=1&rows=9",
        "level=1&first=0&count=1&rows=x",
        "level=1&first=-1&count=1&rows=0",
        "level=1",
        "",
    ] {
        assert_eq!(server.get(&format!("/api/0/tiles?{wrong}")).status(), 400, "{wrong}");
    }
    let last = server.get(&format!("/api/0/tiles?level=52&first={}&count=2&rows=0", u64::MAX));
    assert_eq!(last.status(), 200);
}

#[test]
fn a_slice_is_found_by_place_and_by_name() {
    let server = Running::new();
    let found = |question: &str| {
        let reply = server.get(&format!("/api/0/slice?{question}"));
        let container = Container::read(reply.body()).ok()?;
        let of = |name: &str| container.numbers("slices", name).unwrap()[0];
        Some((of("row"), of("start"), of("duration"), of("id")))
    };
    assert_eq!(found("row=2&at=51"), Some((2.0, 50.0, 8.0, 1.0)));
    assert_eq!(found("row=2&at=45"), None);
    assert_eq!(found("row=2&at=45&near=5"), Some((2.0, 0.0, 40.0, 0.0)));
    assert_eq!(found("row=3&from=0&to=5000"), Some((3.0, 1_000.0, 2_000.0, 5.0)));
    assert_eq!(found("kind=task&id=4"), Some((3.0, 50.0, 8.0, 4.0)));
    assert_eq!(found("kind=task&id=4&step=-1"), Some((3.0, 0.0, 40.0, 3.0)));
    assert_eq!(found("kind=task&id=5&step=1"), None);
    assert_eq!(server.get("/api/0/slice?kind=task&id=6").status(), 404);
    assert_eq!(server.get("/api/0/slice?row=1").status(), 400);
}

#[test]
fn a_stretch_of_time_is_summed_up_exactly() {
    let server = Running::new();
    let answer = server.json("/api/0/window?from=20&to=1500");
    assert_eq!(answer["groups"], json!([{ "group": 1, "busy": 20 + 8 + 500, "tasks": 6 }]));
    assert_eq!(answer["operators"], 6);
    let top: Vec<(&str, u64)> = answer["top"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["time"].as_u64().unwrap()))
        .collect();
    assert_eq!(top, [("op02", 500), ("op12", 500), ("op00", 20), ("op10", 20), ("op01", 8), ("op11", 8)]);
    assert_eq!(answer["gaps"], json!([[58, 1_000]]));
}

#[test]
fn names_are_found_whatever_their_case_and_a_limit_is_said() {
    let server = Running::new();
    let hits = |question: &str| server.json(&format!("/api/0/search?{question}"));
    let found = hits("q=Op");
    let kinds: Vec<(&str, &str)> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["kind"].as_str().unwrap(), it["name"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds.len(), 7);
    assert!(kinds[..6].iter().all(|(kind, name)| *kind == "operator" && name.starts_with("op")));
    assert_eq!(kinds[6], ("call", "OP at once"));
    assert_eq!((&found["hits"][6]["count"], &found["hits"][6]["ids"]), (&json!(2), &json!([0, 1])));
    assert_eq!(found["left_out"], 0);
    let few = hits("q=op&limit=2");
    assert_eq!((few["hits"].as_array().unwrap().len(), &few["left_out"]), (2, &json!(5)));
    assert_eq!(hits("q=nothing%20at%20all")["hits"], json!([]));
    for wrong in ["q=", "limit=3", "q=a&limit=1001", "q=a&limit=x"] {
        assert_eq!(server.get(&format!("/api/0/search?{wrong}")).status(), 400, "{wrong}");
    }
}

#[test]
fn the_executions_of_an_operator_are_told_by_its_row() {
    let server = Running::new();
    let row = server.json("/api/0/search?q=op02")["hits"][0]["row"].as_u64().unwrap();
    let found = server.json(&format!("/api/0/executions?row={row}"));
    assert_eq!(found["count"], 1);
    assert_eq!(found["slowest"], json!([{ "id": 2, "start": 1_000, "duration_ns": 2_000 }]));
    assert_eq!(found["histogram"]["counts"], json!([1]));
    assert_eq!(found["per_inference"], json!([]));
    assert_eq!(server.get("/api/0/executions?row=99").status(), 404);
    assert_eq!(server.get("/api/0/executions?row=x").status(), 400);
}

#[test]
fn counters_come_in_buckets_with_their_ends() {
    let server = Running::new();
    let reply = server.get("/api/0/counters?from=0&to=2000&width=4&ids=0");
    let answer = Container::read(reply.body()).unwrap();
    let column = |name: &str| -> Vec<Option<f64>> {
        let values = answer.numbers("buckets", name).unwrap();
        values.into_iter().map(|value| (!value.is_nan()).then_some(value)).collect()
    };
    assert_eq!(column("low"), [Some(1.0), None, None, None]);
    assert_eq!(column("high"), [Some(9.0), None, None, None]);
    assert_eq!(column("last"), [Some(9.0); 4]);
    for wrong in [
        "from=0&to=9&width=0&ids=0",
        "from=0&to=9&width=9000&ids=0",
        "from=9&to=9&width=1&ids=0",
        "from=0&to=9&width=1&ids=1",
        "from=0&to=9&width=1&ids=x",
        "from=0&to=9&width=1",
    ] {
        assert_eq!(server.get(&format!("/api/0/counters?{wrong}")).status(), 400, "{wrong}");
    }
    let far = server.get(&format!("/api/0/counters?from={}&to={}&width=8192&ids=0", u64::MAX - 1, u64::MAX));
    assert_eq!(far.status(), 200);
}

#[test]
fn a_table_comes_in_parts_or_whole_as_csv() {
    let server = Running::new();
    assert_eq!(server.json("/api/0/table?offset=3&limit=2")["rows"], json!([3, 4]));
    assert_eq!(server.json("/api/0/table?offset=8")["rows"], json!([8, 9]));
    assert_eq!(server.json("/api/0/table?offset=99")["rows"], json!([]));
    let csv = server.get("/api/0/table?format=csv&top=1");
    assert_eq!((csv.head("content-type"), csv.body()), (Some("text/csv; charset=utf-8"), &b"asked\n1\n"[..]));
    for wrong in ["offset=x", "limit=-1", "format=xml", "format=csv&limit=1"] {
        assert_eq!(server.get(&format!("/api/0/table?{wrong}")).status(), 400, "{wrong}");
    }
}

#[test]
fn a_timeline_is_sent_while_it_is_written_and_one_that_fails_breaks_off() {
    let server = Running::new();
    let whole = server.get("/api/0/trace?from=5&to=9");
    assert!(whole.head("content-disposition").unwrap().starts_with("attachment"));
    assert_eq!(whole.head("cache-control"), Some("no-store"));
    let text = String::from_utf8_lossy(whole.body()).into_owned();
    assert!(text.contains("5..9") && text.trim_end().ends_with('0'), "{}", &text[text.len() - 40..]);
    assert_eq!(server.get("/api/0/trace?from=9&to=5").status(), 400);
    assert_eq!(server.get("/api/0/trace?from=x").status(), 400);
    // The last piece of a whole answer has no bytes; this one never comes.
    assert!(!server.get("/api/0/trace?from=13").body().ends_with(b"\r\n0\r\n\r\n"));
    // Two who don't read on keep a third waiting, until they are gone.
    let request = |from: u32| {
        let mut stream = server.connect();
        let head = format!(
            "GET /api/0/trace?from={from} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            server.host(),
            server.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 16]).unwrap();
        stream
    };
    let held = [request(7), request(7)];
    assert_eq!(server.get("/api/0/trace").status(), 503);
    drop(held);
    let begun = Instant::now();
    while server.get("/api/0/trace").status() != 200 {
        assert!(begun.elapsed() < Duration::from_secs(10), "turns become free again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn two_profiles_are_compared_where_both_can_be_asked() {
    let server = Running::new();
    let answer = server.json("/api/compare?a=0&b=0");
    assert_eq!(answer["compare"], json!({ "before": 6, "after": 6 }));
    assert_eq!(answer["fingerprint"], server.json("/api/0/overview")["fingerprint"]);
    for (question, status) in
        [("a=0", 400), ("a=x&b=0", 400), ("a=0&b=9", 404), ("a=1&b=0", 422), ("a=0&b=2", 503)]
    {
        assert_eq!(server.get(&format!("/api/compare?{question}")).status(), status, "{question}");
    }
}
