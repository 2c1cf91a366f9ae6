//! The list of formats: complete, and the same in every form and in the README.

mod common;

use common::Place;
use opscope_open::formats::ALL;

#[test]
fn every_format_that_can_be_read_is_listed_once_and_says_on_what_it_was_tried() {
    let place = Place::new();
    let answer = place.done(&["formats", "--json"]).json();
    let listed = answer["formats"].as_array().expect("a list");
    let names: Vec<&str> = listed.iter().filter_map(|format| format["name"].as_str()).collect();
    let text = place.done(&["formats"]).stdout;
    for format in ALL.iter().filter(|format| format.about.is_some()) {
        let (article, bare) = format.name.split_once(' ').expect("an article");
        assert!(matches!(article, "a" | "an" | "the") || article == "collective", "{}", format.name);
        let bare = if article == "collective" { format.name } else { bare };
        assert_eq!(names.iter().filter(|name| **name == bare).count(), 1, "{bare} in {names:?}");
        assert!(text.contains(&format!("\n{bare} (")), "{bare} is missing in:\n{text}");
    }
    for format in listed {
        let tried = format["tried_on"].as_str().expect("a text");
        let is_known = tried.starts_with("real files") || tried.contains("; untested on a ");
        assert!(is_known, "{format}");
        let kinds = ["profile", "model", "library", "conversion"];
        assert!(format["kind"].as_str().is_some_and(|kind| kinds.contains(&kind)), "{format}");
    }
    // `info` and `advise` read it beside profiles.
    let library = "operator information library of Ascend's compiler";
    assert!(names.contains(&library) && text.contains(&format!("\n{library} (library)")), "{text}");
    assert!(listed.iter().any(|format| format["kind"] == "model"), "{names:?}");
}

#[test]
fn the_readmes_table_is_the_one_that_the_command_prints() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let table = Place::new().done(&["formats", "--markdown"]).stdout;
    assert!(table.lines().count() > 10, "{table}");
    assert!(readme.contains(&format!("\n\n{table}\n")), "put this into README.md:\n{table}");
}

#[test]
fn a_word_chooses_formats_and_one_that_fits_none_is_told() {
    let place = Place::new();
    let text = place.done(&["formats", "megengine"]).stdout;
    assert!(text.contains("MegEngine") && !text.contains("msprof op"), "{text}");
    let text = place.done(&["formats", "fusion_result"]).stdout;
    assert!(text.contains("(conversion)") && text.starts_with("1 format"), "{text}");
    place.fails(2, &["no format has to do with 'qqq'"], &["formats", "qqq"]);
    place.fails(2, &["cannot be used with"], &["formats", "--json", "--csv"]);
}
