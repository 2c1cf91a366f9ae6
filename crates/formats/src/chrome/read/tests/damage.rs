//! Files that are cut off, damaged, or made to mislead.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use crate::chrome::loss_of_end;
use crate::reading::Stop;
use crate::testing::spelled_out;

/// One event of everything, with strings and arguments that look like the borders between events.
fn sample() -> String {
    let mut events = vec![
        r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"p \"},\n{\" "}}"#.to_owned(),
        r#"{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}}"#.to_owned(),
    ];
    for number in 0..30 {
        events.push(format!(
            r#"{{"ph":"X","cat":"op","name":"a }},{{ b {number}","pid":1,"tid":{},"ts":{number}.5,"dur":1,"args":{{"list":[{{"ph":"X","ts":1,"dur":1}},{{"ph":"X","ts":2}},{{"x":[{{}},{{"y":"}}, {{"}}]}}]}}}}"#,
            number % 3
        ));
        events.push(format!(r#"{{"ph":"B","name":"b","pid":1,"tid":9,"ts":{number}}}"#));
        events.push(format!("{{\"ph\":\"E\",\n \"pid\":1,\"tid\":9,\"ts\":{number}.25}}"));
        events.push(format!(r#"{{"ph":"C","name":"c","pid":1,"ts":{number},"args":{{"value":{number}}}}}"#));
        events.push(format!(r#"{{"ph":"s","cat":"x","id":{number},"pid":1,"tid":0,"ts":{number}.5}}"#));
    }
    format!("{{\"before\": 1, \"traceEvents\": [{}], \"after\": \"]\"}}", events.join(" ,\n"))
}

fn divided(text: &[u8], part: usize, slack: usize) -> Result<Trace, ReadError> {
    read_divided(text, &[], Division { part, slack }, &Stop::default())
}

#[test]
fn a_file_read_in_parts_gives_the_same_trace_as_one_read_at_once() {
    let sample = sample();
    let whole = spelled_out(&divided(sample.as_bytes(), usize::MAX, 0).unwrap());
    assert!(whole.len() > 150);
    for part in (1..400).chain([1_000, 5_000, 100_000]) {
        for slack in [0, 50, 10_000] {
            let parts = spelled_out(&divided(sample.as_bytes(), part, slack).unwrap());
            assert_eq!(parts, whole, "in parts of {part} bytes with {slack} more");
        }
    }
}

#[test]
fn a_cut_file_keeps_every_whole_event() {
    let sample = sample();
    let mut most = 0;
    for end in 0..sample.len() {
        let text = &sample.as_bytes()[..end];
        match divided(text, 300, 100) {
            Ok(trace) => {
                let tasks = trace.tasks.len();
                // Tasks that are whole already stay, and nothing is made up.
                assert!(tasks >= most, "{end}: {tasks} after {most}");
                most = tasks;
                let cut = losses(&trace);
                assert!(
                    cut.iter().any(|loss| loss.contains("cut off") && loss.contains("byte")),
                    "{end}: {cut:?}"
                );
            }
            Err(error) => {
                assert!(most == 0, "{end}: {error}");
                assert!(error.to_string().contains("the end of the file"), "{end}: {error}");
            }
        }
    }
    assert_eq!(most, 60);
}

#[test]
fn a_list_without_its_bracket_loses_no_event_but_says_so() {
    let event = r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}"#;
    for text in [format!("[{event}"), format!("[{event},\n"), format!("[\n{event}\n,\n")] {
        let trace = read(text.as_bytes()).unwrap();
        assert_eq!(trace.tasks.len(), 1, "{text}");
        let [loss] = &losses(&trace)[..] else { panic!("{text}: {:?}", losses(&trace)) };
        assert!(loss.starts_with("1 open or cut off: the list of events isn't closed"), "{loss}");
        assert_eq!(trace.losses.kind(), [LossKind::OpenEventList]);
    }
    for text in [format!("[{event},{{"), format!("{{\"traceEvents\":[{event},")] {
        let trace = read(text.as_bytes()).unwrap();
        assert_eq!((trace.tasks.len(), trace.losses_of(Severity::Lost)), (1, 1), "{text}");
    }
    // A comma behind the last event is common and harmless.
    let trace = read(format!("[{event},\n{{}}, ]").as_bytes()).unwrap();
    assert_eq!((trace.tasks.len(), losses(&trace).len()), (1, 0));
}

/// The loss that a text is cut, as reading it tells; none where it is whole.
fn loss_of_cut(text: &[u8]) -> Option<LossKind> {
    match read(text) {
        Ok(trace) => {
            let kinds = [LossKind::OpenEventList, LossKind::CutEventList];
            kinds.into_iter().find(|kind| trace.losses.kind().contains(kind))
        }
        Err(_) => Some(LossKind::CutEventList),
    }
}

#[test]
fn the_last_bytes_of_a_file_tell_that_it_is_cut_as_reading_all_of_it_does() {
    let object = sample();
    let (_, list) = object.split_once("\"traceEvents\": ").unwrap();
    let (list, _) = list.split_once(", \"after\"").unwrap();
    for text in [object.as_str(), list] {
        let mut found = BTreeSet::new();
        for end in text.len() - 1500..=text.len() {
            let cut = &text.as_bytes()[..end];
            let loss = loss_of_end(&cut[..40], &cut[end - 1000..], end as u64);
            assert_eq!(loss, loss_of_cut(cut), "{}", &text[end - 100..end]);
            found.insert(format!("{loss:?}"));
        }
        assert_eq!(found.len(), if text.starts_with('[') { 3 } else { 2 }, "{found:?}");
    }
}

#[test]
fn the_bytes_of_a_short_file_tell_that_it_is_cut_as_reading_it_does() {
    let event = r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"a":[{}]}}"#;
    let object = format!("{{\"traceEvents\": [{event},\n{event} ] ,\n \"other\":{{\"a\":[1]}}}}\n");
    for text in [format!("[{event}, {event}\n]\n"), object] {
        for end in 0..=text.len() {
            let cut = &text.as_bytes()[..end];
            assert_eq!(loss_of_end(cut, cut, end as u64), loss_of_cut(cut), "{}", &text[..end]);
        }
    }
    for other in ["[1, 2", "SQLite format 3", "{\"a\": x}"] {
        let loss = loss_of_end(other.as_bytes(), other.as_bytes(), other.len() as u64);
        assert_eq!(loss.is_some(), other.starts_with('['), "{other}");
    }
}

#[test]
fn invalid_json_is_reported_with_its_place_and_what_precedes_is_kept() {
    let text = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}, {"ph":"X" "name":"b"}, {}]"#;
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(names_of_tasks(&trace), ["a"]);
    let place = text.find("\"name\":\"b\"").unwrap();
    assert_eq!(
        losses(&trace),
        [format!(
            "1 damaged: everything behind invalid JSON is lost (byte {place}: expected ',' or '}}', found '\"')"
        )]
    );
    let error = read(b"[{\"ph\": x}]").unwrap_err();
    assert_eq!(error.to_string(), "this is no Chrome trace: byte 8: expected a value, found 'x'");
    let behind = read(br#"{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1}], "more": }"#).unwrap();
    assert_eq!((behind.tasks.len(), behind.losses.len()), (1, 1));
}

#[test]
fn other_files_are_refused_with_what_is_missing() {
    assert_eq!(read(b"{\"a\": [1]}").unwrap_err(), ReadError::NoEvents);
    assert!(read(b"").unwrap_err().to_string().contains("byte 0: expected '[' or '{'"));
    assert!(read(b"SQLite format 3\0").unwrap_err().to_string().contains("byte 0"));
    assert!(read(br#"{"traceEvents": {}}"#).unwrap_err().to_string().contains("list of events begins"));
}

#[test]
fn events_with_impossible_times_are_counted() {
    let text = r#"[
      {"ph":"X","name":"fine","ts":1,"dur":1},
      {"ph":"X","name":"before","ts":-1.5,"dur":1},
      {"ph":"X","name":"a","dur":1},
      {"ph":"X","name":"a","ts":"soon","dur":1},
      {"ph":"X","name":"a","ts":null,"dur":1},
      {"ph":"X","name":"a","ts":1e300,"dur":1},
      {"ph":"X","name":"a","ts":1,"dur":9999999999999999999},
      {"ph":"X","name":"a","ts":1,"dur":-1},
      {"ph":"X","name":"a","ts":1},
      {"ph":"C","name":"a","ts":1,"args":{"x":"many"}},
      {"ph":"Z","name":"a","ts":1},
      {"ph":"XY","name":"a","ts":1},
      {"name":"a","ts":1},
      17
    ]"#;
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(names_of_tasks(&trace), ["fine", "before"]);
    let counted: Vec<_> =
        losses(&trace).iter().map(|loss| loss.split(" (").next().unwrap().to_owned()).collect();
    assert_eq!(
        counted,
        [
            "1 dropped: an element of the list of events that is no object",
            "1 dropped: an event without a phase",
            "2 dropped: an event of a phase that no trace has a place for",
            "3 dropped: an event without a time",
            "2 dropped: an event with a time or duration beyond 292 years",
            "1 kept: an event with a negative time",
            "1 dropped: a complete event without a duration",
            "1 dropped: a complete event with a negative duration",
            "1 dropped: a value of a counter that is no number",
        ]
    );
    let place = text.find(r#"{"name":"a","ts":1}"#).unwrap();
    assert!(losses(&trace)[1].ends_with(&format!("(first at byte {place})")));
}

#[test]
fn the_ends_of_the_range_of_times_do_not_overflow() {
    let text = r#"[
      {"ph":"B","name":"a","pid":1,"tid":1,"ts":-9223372036854775.808},
      {"ph":"E","pid":1,"tid":1,"ts":9223372036854775.807},
      {"ph":"X","name":"b","pid":1,"tid":1,"ts":9223372036854775.807,"dur":9223372036854775.807},
      {"ph":"s","id":1,"pid":1,"tid":1,"ts":9223372036854775.807},
      {"ph":"f","id":1,"pid":1,"tid":1,"ts":-9223372036854775.808}
    ]"#;
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(names_of_tasks(&trace), ["b"]);
}

#[test]
fn deep_nesting_is_refused_without_exhausting_the_stack() {
    let deep = format!(r#"[{{"ph":"X","name":"a","ts":1,"dur":1}},{{"args":{}"#, "{\"a\":[".repeat(500_000));
    let trace = read(deep.as_bytes()).unwrap();
    assert_eq!(trace.tasks.len(), 1);
    assert!(losses(&trace)[0].contains("128 levels"), "{:?}", losses(&trace));
}

#[test]
fn names_that_are_no_utf_8_are_repaired() {
    let trace = read(b"[{\"ph\":\"X\",\"name\":\"caf\xe9 \\u00e9\",\"ts\":1,\"dur\":1}]").unwrap();
    assert_eq!(names_of_tasks(&trace), ["caf\u{fffd} \u{e9}"]);
}

#[test]
fn misleading_text_is_read_twice_at_most() {
    // Every part begins within one long string that is full of borders between events.
    let name = "},{ ".repeat(200_000);
    let text =
        format!(r#"[{{"ph":"X","name":"{name}","ts":1,"dur":1}},{{"ph":"X","name":"b","ts":2,"dur":1}}]"#);
    let trace = divided(text.as_bytes(), 1_000, 2_000).unwrap();
    assert_eq!(trace.tasks.len(), 2);
    let read =
        read_events(text.as_bytes(), 1, Division { part: 1_000, slack: 2_000 }, &Stop::default()).bytes_read;
    assert!((text.len()..=2 * text.len()).contains(&read), "{read} of {}", text.len());
}

#[test]
fn a_timeline_is_known_by_its_beginning() {
    use super::super::looks_like;
    let sample = sample();
    assert!(looks_like(sample.as_bytes()) && looks_like(&sample.as_bytes()[..40]));
    assert!(looks_like(b" \n[\n {\"name\": \"x\", \"ph\": \"M"));
    assert!(looks_like(b"[{}, {\"ph\":"));
    assert!(
        !looks_like(b"[]")
            && !looks_like(b"[1,2]")
            && !looks_like(b"{\"profiler\": {}}")
            && !looks_like(b"ph")
    );
}

proptest! {
    #[test]
    fn mutated_files_are_read_or_refused(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<proptest::sample::Index>(),
        part in 1usize..2000,
    ) {
        let mut text = sample().into_bytes();
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        text.truncate(cut.index(text.len()) + 1);
        let in_parts = divided(&text, part, 100).map(|trace| spelled_out(&trace));
        let at_once = divided(&text, usize::MAX, 0).map(|trace| spelled_out(&trace));
        prop_assert_eq!(in_parts, at_once);
    }

    #[test]
    fn random_bytes_are_refused(text: Vec<u8>) {
        let _ = read(&text);
        let _ = super::super::looks_like(&text);
    }
}

#[test]
fn a_reading_that_is_stopped_at_any_part_gives_no_trace() {
    let sample = sample();
    let division = Division { part: 200, slack: 0 };
    let asked = Arc::new(AtomicUsize::new(0));
    let read_until = |question: usize| {
        asked.store(0, Ordering::Relaxed);
        let counter = Arc::clone(&asked);
        let stop = Stop::when(move || counter.fetch_add(1, Ordering::Relaxed) >= question);
        read_divided(sample.as_bytes(), &[], division, &stop)
    };
    assert!(read_until(usize::MAX).is_ok());
    let questions = asked.load(Ordering::Relaxed);
    assert!(questions > sample.len() / division.part, "{questions}");
    for question in 0..questions {
        assert_eq!(
            read_until(question).err(),
            Some(ReadError::Stopped),
            "at question {question} of {questions}"
        );
    }
}
