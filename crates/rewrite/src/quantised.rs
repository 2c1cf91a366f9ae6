//! Whether a value comes to be quantised.
//!
//! A rewrite that only rounds in another way changes a result by parts of a millionth. Where the result
//! is then rounded to whole steps, some elements fall on the other side of a border and differ by a whole
//! step; engines besides fuse what stands between a dequantisation and a quantisation into kernels of
//! their own, so that even the same product of the same numbers comes out otherwise. There "the same up
//! to rounding" isn't true of the outputs.

use std::collections::HashSet;

use opscope_model::proto::NodeProto;

use crate::constant::is_float;
use crate::draft::{Draft, Edit, NodeView};
use crate::rules::g12_cast::target;

/// Operators that round to whole steps.
const STEPS: [&str; 5] = ["QuantizeLinear", "DynamicQuantizeLinear", "Round", "Floor", "Ceil"];

/// Operators whose result depends on how large their input is, not on its elements.
const OF_SIZES: [&str; 3] = ["Shape", "Size", "ConstantOfShape"];

impl Draft<'_> {
    /// Whether any node rounds to whole steps.
    pub(crate) fn has_quantisers(&self) -> bool {
        self.nodes().any(quantises)
    }

    /// The node that quantises what an edit computes, if any does.
    pub(crate) fn quantiser_behind(&self, edit: &Edit) -> Option<String> {
        let removed = edit.removed().iter().filter_map(|id| self.node(*id));
        let mut open: Vec<&str> =
            removed.flat_map(|node| node.proto.output.iter().map(String::as_str)).collect();
        let mut seen: HashSet<&str> = open.iter().copied().collect();
        while let Some(value) = open.pop() {
            for reader in self.consumers(value).filter(|reader| !edit.removes(reader.id)) {
                if quantises(reader) {
                    let name = reader.name();
                    return Some(if name.is_empty() { reader.output(0) } else { name }.to_owned());
                }
                if OF_SIZES.contains(&reader.op_type()) {
                    continue;
                }
                let results = reader.proto.output.iter().map(String::as_str);
                open.extend(results.filter(|result| !result.is_empty() && seen.insert(*result)));
            }
        }
        None
    }
}

/// Whether a node rounds its input to whole steps.
fn quantises(node: NodeView<'_>) -> bool {
    if is_of_runtime(node.proto) {
        return true;
    }
    match node.op_type() {
        "Cast" => target(node).is_some_and(|to| !is_float(to)) && node.is_of_floats(),
        name => STEPS.contains(&name),
    }
}

/// ONNX Runtime's own operators that quantise, such as `QuantizeLinear` and `DynamicQuantizeMatMul`.
fn is_of_runtime(node: &NodeProto) -> bool {
    node.domain() == "com.microsoft" && node.op_type().contains("Quantize")
}

#[cfg(test)]
mod tests {
    use crate::info::Exactness;
    use crate::testing::{net, prove};
    use crate::{Refusal, Rewritten, Selection, rewrite};

    /// Patterns by the id of the rewrite that they are for: `y` of `x`, before it is quantised.
    const PATTERNS: [(&str, &str); 9] = [
        (
            "G01",
            "const s positive[4]; const b random[4]; const m random[4]; const v positive[4]; const w random[4,3,3,3]
             input x f32[1,3,9,9]; c = Conv(x, w); y = BatchNormalization(c, s, b, m, v)",
        ),
        (
            "G03",
            "const k positive[4,1,1]; const w random[4,3,3,3]; input x f32[1,3,9,9]; c = Conv(x, w); y = Mul(c, k)",
        ),
        ("G04a", "const e f32 3; input x f32[40,40]; y = Pow(x, e)"),
        ("G04b", "const e f32 0.5; input x f32[40,40]; a = Abs(x); y = Pow(a, e)"),
        ("G06b", "const one f32 1; input x f32[40,40]; e = Exp(x); t = Add(e, one); y = Log(t)"),
        ("G26", "const w random[40,30]; const b random[30]; input x f32[20,40]; p = MatMul(x, w); y = Add(p, b)"),
        (
            "G27a",
            "const k positive[4,1,1]; const w random[4,3,3,3]; input x f32[1,3,9,9]; c = Conv(x, w)
             r = LeakyRelu(c) alpha=0.1; y = Mul(r, k)",
        ),
        (
            "G28a",
            "const e f32 0.00001; const two f32 2; input x f32[30,16]; m = ReduceMean(x) axes=[-1]; d = Sub(x, m)
             p = Pow(d, two); v = ReduceMean(p) axes=[-1]; t = Add(v, e); r = Sqrt(t); y = Div(d, r)",
        ),
        ("G20", "input x f32[1,2,256,16]; y = AveragePool(x) kernel_shape=[32,16] strides=[32,16]"),
    ];

    /// Nodes that make whole steps of `y`, and an output of those.
    const CONSUMERS: [&str; 4] = [
        "const qs f32 0.05; const qz u8 128; q = QuantizeLinear(y, qs, qz); z = DequantizeLinear(q, qs, qz); output z",
        "q = Relu(y); z, qs, qz = DynamicQuantizeLinear(q); output z",
        "z = Round(y); output z",
        "q = Sigmoid(y); const qf f32 90; qm = Mul(q, qf); z = Cast(qm) to=6; output z",
    ];

    fn with(text: &str, allow_lossy: bool) -> Rewritten {
        let all = Selection { allow_lossy, all_uses: true, ..Selection::default() };
        // Other functions are another matter.
        let rewrites: Vec<_> = all.resolve().unwrap();
        let rewrites: Vec<_> =
            rewrites.into_iter().filter(|it| it.info().exactness != Exactness::Lossy).collect();
        rewrite(&net(text), &rewrites, None, allow_lossy).expect("a sound rewrite")
    }

    #[test]
    fn what_is_quantised_comes_out_the_same_to_the_last_bit() {
        for (id, pattern) in PATTERNS {
            for consumer in CONSUMERS {
                let text = format!("{pattern}; {consumer}");
                let rewritten = with(&text, false);
                let farther: Vec<_> =
                    rewritten.applications.iter().filter(|it| it.exactness != Exactness::Exact).collect();
                assert!(farther.is_empty(), "{text}: {farther:?}");
                let declined = rewritten.declined.iter().filter(|it| it.rewrite == id);
                let mut quantised = declined.map(|it| matches!(it.reason, Refusal::Quantised { .. }));
                assert!(quantised.next().is_some_and(|it| it), "{id} was not declined in {text}");
                if !rewritten.applications.is_empty() {
                    let after = opscope_model::Model::from_proto(rewritten.proto, None).unwrap();
                    prove(&net(&text), &after, 0.0);
                }
            }
        }
    }

    #[test]
    fn what_is_not_quantised_is_rewritten_and_agrees_but_for_rounding() {
        for (id, pattern) in PATTERNS {
            let text = format!("{pattern}; output y");
            let rewritten = with(&text, false);
            let done: Vec<_> =
                rewritten.applications.iter().map(|it| (it.rewrite.id, it.exactness)).collect();
            assert!(done.iter().any(|(done, _)| *done == id), "{id} in {text}: {done:?}");
            assert!(done.iter().all(|(_, exactness)| *exactness != Exactness::Lossy), "{done:?}");
            let after = opscope_model::Model::from_proto(rewritten.proto, None).unwrap();
            prove(&net(&text), &after, 1e-5);
        }
    }

    #[test]
    fn with_permission_what_is_quantised_is_rewritten_as_lossy() {
        for (id, pattern) in PATTERNS {
            let rewritten = with(&format!("{pattern}; {}", CONSUMERS[0]), true);
            let mut done = rewritten.applications.iter().filter(|it| it.rewrite.id == id);
            assert!(done.next().is_some_and(|it| it.exactness == Exactness::Lossy), "{id}");
        }
    }

    #[test]
    fn sizes_that_are_computed_of_a_result_do_not_quantise_it() {
        let text = format!(
            "{}; output y; n = Shape(y); f = Cast(n) to=1; h = Floor(f); o = Cast(h) to=7; output o",
            PATTERNS[0].1
        );
        assert!(with(&text, false).applications.iter().any(|it| it.rewrite.id == "G01"));
    }

    #[test]
    fn rewrites_that_only_move_numbers_are_exact_among_quantised_ones_as_well() {
        let text = format!(
            "input x f32[2,3,4]; a = Transpose(x) perm=[1,0,2]; b = Transpose(a) perm=[1,0,2]
             c = Identity(b); d = Cast(c) to=1; y = Abs(d); {}",
            CONSUMERS[0]
        );
        let rewritten = with(&text, false);
        assert!(rewritten.applications.len() >= 3, "{:?}", rewritten.applications);
        assert!(rewritten.applications.iter().all(|it| it.exactness == Exactness::Exact));
        prove(&net(&text), &opscope_model::Model::from_proto(rewritten.proto, None).unwrap(), 0.0);
        // Bounded for inputs without elements only.
        let text = format!(
            "input x f32[n,m,4]; const o i64[1] 0; const i0 i64 0; const i1 i64 1; const two i64[2] 2 2; s = Shape(x)
             d0 = Gather(s, i0); d1 = Gather(s, i1); u0 = Unsqueeze(d0, o); u1 = Unsqueeze(d1, o)
             t = Concat(u0, u1, two) axis=0; y = Reshape(x, t); {}",
            CONSUMERS[0]
        );
        assert!(with(&text, false).applications.iter().any(|it| it.rewrite.id == "G22"));
    }

    #[test]
    fn half_precision_and_integers_have_classes_of_their_own() {
        let class = |text: &str, id: &str| {
            let rewritten = with(text, false);
            rewritten.applications.iter().find(|it| it.rewrite.id == id).map(|it| it.exactness)
        };
        let half = "input x f16[1,1,4,4]; const w f16[1,1,1,1] 0.5; const s f16[1] 1; const b f16[1] 0
             const m f16[1] 100; const v f16[1] 1; y = Conv(x, w); z = BatchNormalization(y, s, b, m, v); output z";
        assert_eq!(class(half, "G01"), Some(Exactness::Bounded));
        let power = |kind: &str, exponent: u8| {
            format!("input x {kind}[4]; const e {kind} {exponent}; y = Pow(x, e); z = Neg(y); output z")
        };
        assert_eq!(class(&power("f32", 2), "G04a"), Some(Exactness::Rounding));
        assert_eq!(class(&power("i32", 2), "G04a"), Some(Exactness::Bounded));
        let first = with(&power("i64", 1), false).applications;
        assert!(!first.is_empty() && first.iter().all(|it| it.exactness == Exactness::Exact), "{first:?}");
    }

    #[test]
    fn products_are_powers_of_special_numbers_as_well() {
        let numbers =
            [0.0, -0.0, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e30];
        for x in numbers {
            let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(same(x * x, x.powf(2.0)), "{x}");
            assert!(
                same(x * x * x, x.powf(3.0)) || ((x * x * x) / x.powf(3.0) - 1.0).abs() <= f32::EPSILON,
                "{x}"
            );
        }
    }
}
