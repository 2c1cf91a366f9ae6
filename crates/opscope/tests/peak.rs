//! `opscope peak`: what this machine can do at best.

mod common;

use common::{Place, number};

#[test]
fn peaks_are_measured_and_serve_as_a_roof() {
    let place = Place::new();
    let answer = place.done(&["peak", "--duration", "100ms", "--json"]);
    let json = answer.json();
    for core in ["one_core", "all_cores"] {
        assert!(number(&json, &format!("/{core}/flops_per_second")) > 1e7, "{json}");
        let best =
            ["read", "fill", "copy"].map(|way| number(&json, &format!("/{core}/{way}_bytes_per_second")));
        assert_eq!(number(&json, &format!("/{core}/bytes_per_second")), best.into_iter().fold(0.0, f64::max));
    }
    place.write("peak.json", &answer.stdout);
    let model = place.sample("mobilenet-v2");
    place.done(&["run", &model, "--iterations", "1", "--db", "run.db", "--quiet", "--threads", "1"]);
    let analysed = place.done(&["analyze", "run.db", "--peak", "peak.json", "--json"]).json();
    // The run had one thread, so one core is its roof.
    assert_eq!(number(&analysed, "/roofline/flops_per_second"), number(&json, "/one_core/flops_per_second"));
    let bounds = analysed["rows"].as_array().expect("rows").iter().filter_map(|row| row["bound"].as_str());
    assert!(bounds.count() > 10);
    place.write("other.json", "{}");
    place.fails(1, &["other.json", "opscope peak --json"], &["analyze", "run.db", "--peak", "other.json"]);
    place.fails(2, &["--duration"], &["peak", "--duration", "soon"]);
}
