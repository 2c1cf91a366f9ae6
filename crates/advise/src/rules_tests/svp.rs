//! Cases for the rules about boards.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    let svp = |case| on(Target::Svp, case);
    let layer = |values: &[(&str, f64)]| on(Target::Svp, metrics(values));
    let all = |busy, last| {
        layer(&[
            ("Mac Ppen Ratio", busy),
            ("Vec Ppen Ratio", busy),
            ("DLD Ratio", busy),
            ("WLD Ratio", busy),
            ("Dstr Ratio", last),
        ])
    };
    let busy =
        |nodes: &[&str]| Case { shape: Some(vec![1, 3, 16, 16]), ..with_model(sequence(&["Conv"]), nodes) };
    // Half precision comes from a cast to type 10.
    let argmax = |axis: u64| shaped(&[1, axis], &["Cast x to=10 -> h", "ArgMax h axis=1 -> y"]);
    vec![
        ("S01", layer(&[("Mac Ppen Ratio", 0.6)]), layer(&[("Mac Ppen Ratio", 0.65)])),
        ("S02", layer(&[("Mac Ppen Ratio", 0.7)]), layer(&[("Mac Ppen Ratio", 0.75)])),
        (
            "S03",
            layer(&[("Mac Ppen Ratio", 0.0), ("Vec Ppen Ratio", 0.5)]),
            layer(&[("Mac Ppen Ratio", 0.0), ("Vec Ppen Ratio", 0.54)]),
        ),
        ("S04", layer(&[("DLD Ratio", 0.75)]), layer(&[("DLD Ratio", 0.7)])),
        ("S05", layer(&[("WLD Ratio", 0.85)]), layer(&[("WLD Ratio", 0.8)])),
        ("S06", layer(&[("Dstr Ratio", 0.75)]), layer(&[("Dstr Ratio", 0.7)])),
        ("S07", all(0.48, 0.48), all(0.48, 0.5)),
        ("S08", layer(&[("Memory Bound", 1.05)]), layer(&[("Memory Bound", 1.0)])),
        ("S09", svp(busy(&["Conv x,W:16x3x3x3 -> y"])), svp(busy(&["Identity x -> y"]))),
        ("S10", svp(ops(&[("a", "Softplus", CPU, 5, &[])])), svp(ops(&[("a", "Conv", AI, 5, &[])]))),
        (
            "S11",
            svp(graph(&["Transpose x perm=0.3.2.1 -> y"])),
            svp(graph(&["Transpose x perm=0.2.3.1 -> y"])),
        ),
        ("S12", svp(graph(&["ArgMax x select_last_index=1 -> y"])), svp(graph(&["ArgMax x -> y"]))),
        ("S13", svp(argmax(2049)), svp(argmax(2048))),
        ("S14", svp(of(Profile::new(&[]).call("c", 1, 512))), svp(of(Profile::new(&[]).call("c", 1, 511)))),
    ]
}
