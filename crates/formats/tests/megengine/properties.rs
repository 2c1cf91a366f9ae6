//! Nothing panics or hangs, whatever a file holds.

use opscope_formats::megengine::{Profile, Recorded};
use proptest::prelude::*;

use crate::small::{Op, profile};
use crate::support::{TestFile, run};
use opscope_testing::megengine_network::network;

/// Reads, analyses in several ways, projects and writes; whether the text was a profile.
fn survives(text: &[u8]) -> bool {
    let Ok(profile) = Profile::parse(text.to_vec()) else { return false };
    let trace = profile.to_trace();
    profile.peak_memory();
    let mut written = Vec::new();
    profile.write_json(&mut written).unwrap();
    let again = Profile::parse(written).expect("what is written can be read");
    assert_eq!(again.operators.len(), profile.operators.len());
    let mut from_trace = Vec::new();
    Profile::from_trace(&trace, Recorded::DeviceAndHost).write_json(&mut from_trace).unwrap();
    Profile::parse(from_trace).expect("what is written can be read");
    let file = TestFile::new(text);
    for options in [
        &["-t", "0", "--show-host"][..],
        &["-t", "0", "--confluence", "--show-host", "--order-by", "flops"],
        &["-t", "-3", "--aggregate-by", "type", "--aggregate", "min", "--wiki"],
        &["--order-by", "+in_shapes", "--input-dtype", "Float32", "--copy-time", "--opr-name", ".*"],
    ] {
        let run = run(file.path(), options);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert!(!run.stdout.is_empty());
    }
    true
}

/// A change at a place of the text.
#[derive(Clone, Debug)]
enum Change {
    Put(u8),
    Remove(usize),
    Repeat(usize),
    Insert(&'static str),
    Cut,
}

fn change() -> impl Strategy<Value = Change> {
    let words = [
        "null",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        "-1",
        "1e999",
        "\"inf\"",
        "\"nan\"",
        "99999999999999999999",
        "0.0",
        "\u{1}",
        "{ }",
        "[]",
        "\"\\ud800\"",
        "\"0\": ",
        "true",
        ", ",
    ];
    prop_oneof![
        any::<u8>().prop_map(Change::Put),
        (1_usize..40).prop_map(Change::Remove),
        (1_usize..200).prop_map(Change::Repeat),
        proptest::sample::select(words.to_vec()).prop_map(Change::Insert),
        Just(Change::Cut),
    ]
}

fn changed(text: &mut Vec<u8>, at: usize, change: &Change) {
    let at = at % (text.len() + 1);
    let until = |length: usize| (at + length).min(text.len());
    match change {
        Change::Put(byte) => text.splice(at..until(1), [*byte]).for_each(drop),
        Change::Remove(length) => text.drain(at..until(*length)).for_each(drop),
        Change::Repeat(length) => {
            let part = text[at..until(*length)].to_vec();
            text.splice(at..at, part).for_each(drop);
        }
        Change::Insert(word) => text.splice(at..at, word.bytes()).for_each(drop),
        Change::Cut => text.truncate(at),
    }
}

#[test]
fn the_unchanged_samples_are_profiles() {
    assert!(survives(&network(12)));
    assert!(survives(profile(&[Op::default(), Op { op_type: "Copy", ..Op::default() }]).as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn changed_profiles_never_panic(
        operators in 0_usize..12,
        changes in prop::collection::vec((any::<usize>(), change()), 1..4),
    ) {
        let mut text = network(operators);
        for (at, change) in &changes {
            changed(&mut text, *at, change);
        }
        survives(&text);
    }

    #[test]
    fn values_of_any_kind_in_any_place_never_panic(
        value in prop_oneof![
            Just("null"), Just("-5"), Just("1e308"), Just("\"inf\""), Just("[ [ -1, 99999999999999999999]]"),
            Just("{ \"a\": [ { }]}"), Just("\"\\u0000\""), Just("18446744073709551615"), Just("true"), Just("\"\""),
        ],
        place in any::<prop::sample::Index>(),
    ) {
        // The value takes the place of another one, so that the text stays JSON.
        let text = String::from_utf8(network(6)).unwrap();
        let starts: Vec<usize> = text.match_indices("\": ").map(|(at, _)| at + 3).collect();
        let start = starts[place.index(starts.len())];
        let rest = &text[start..];
        let end = start + value_length(rest);
        let text = format!("{}{value}{}", &text[..start], &text[end..]);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok() || value.contains("e308"));
        survives(text.as_bytes());
    }

    #[test]
    fn random_bytes_are_no_profile(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(!survives(&bytes));
    }

    #[test]
    fn any_command_line_ends_with_a_status(
        words in prop::collection::vec(
            prop_oneof![
                "(-t|--top|--type|--opr-name|--order-by|--aggregate|--agg|--min-time|--wiki|--|-h)",
                "[-+(\\[{*?a-z0-9.=,]{0,6}",
            ],
            0..6,
        ),
    ) {
        let options: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = run("nowhere.json", &options);
        prop_assert!(matches!(run.status, 0..=2));
        prop_assert!(run.status == 0 || run.stderr.lines().count() == 1, "{}", run.stderr);
    }
}

/// How long the JSON value is that a text begins with; the generated text has no brackets in
/// strings that don't close again.
fn value_length(text: &str) -> usize {
    let (mut depth, mut quoted) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '"' if !text[..at].ends_with('\\') => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' | ',' if !quoted && depth == 0 => return at,
            '}' | ']' if !quoted => depth -= 1,
            _ => {}
        }
    }
    text.len()
}
