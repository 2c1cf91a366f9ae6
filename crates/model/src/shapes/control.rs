//! Operators that run graphs of their own.

use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, contradiction, same};

/// `If`: what its branches agree on, or the branch that is taken where that is known.
pub(super) fn branch(op: &Op) -> Inferred {
    let run = |attribute| {
        let graph = op.attributes().graph(attribute).ok_or(Gap::Unknown)?;
        op.inference.run_subgraph(op, graph, Vec::new())
    };
    match op.integer(0) {
        Ok(0) => run("else_branch"),
        Ok(_) => run("then_branch"),
        Err(_) => {
            let (left, right) = (run("then_branch")?, run("else_branch")?);
            Ok(left.iter().zip(&right).map(|(left, right)| agreed(left, right)).collect())
        }
    }
}

/// The common part of two facts.
fn agreed(left: &Fact, right: &Fact) -> Fact {
    let dims = match (&left.dims, &right.dims) {
        (Some(left), Some(right)) if left.len() == right.len() => Some(
            left.iter().zip(right).map(|(left, right)| if left == right { *left } else { None }).collect(),
        ),
        _ => None,
    };
    let data_type = if left.data_type == right.data_type { left.data_type } else { Default::default() };
    Fact { data_type, dims, elements: None }
}

/// States that change in more ways than this, one after the other, are given up.
const MAX_ROUNDS: usize = 8;

/// `Loop`: the final states, then what each round gave, stacked. The number of rounds is rarely
/// known.
pub(super) fn repeat(op: &Op) -> Inferred {
    let body = op.attributes().graph("body").ok_or(Gap::Unknown)?;
    let states: Vec<Fact> = (2..op.input_count())
        .map(|input| op.fact(input).map_or_else(|_| Fact::default(), Fact::without_elements))
        .collect();
    let run = |states: &[Fact]| {
        let mut inputs =
            vec![Fact::scalar(opscope_trace::DataType::Int64), Fact::scalar(opscope_trace::DataType::Bool)];
        inputs.extend_from_slice(states);
        op.inference.run_subgraph(op, body, inputs)
    };
    // Facts about the states must hold before and after every round, so they are weakened until it
    // does: a dimension that changes from round to round isn't known.
    let mut steady = states;
    for _ in 0..MAX_ROUNDS {
        let outputs = run(&steady)?;
        // The first output says whether to go on.
        let (next, stacked) = split_states(&outputs, 1, steady.len())?;
        let weaker: Vec<Fact> =
            steady.iter().zip(next).map(|(before, after)| agreed(before, after)).collect();
        if weaker == steady {
            let stacked = stacked.iter().map(|fact| with_axis(fact, 0, None));
            return Ok(steady.into_iter().chain(stacked).collect());
        }
        steady = weaker;
    }
    Err(Gap::Unknown)
}

/// The outputs of a body that are states, and those that are stacked.
fn split_states(outputs: &[Fact], skipped: usize, states: usize) -> Inferred<(&[Fact], &[Fact])> {
    let outputs = outputs.get(skipped..).unwrap_or(&[]);
    outputs
        .split_at_checked(states)
        .ok_or_else(|| contradiction!("{} outputs of the body for {states} states", outputs.len()))
}

/// The same tensor with another axis.
fn with_axis(fact: &Fact, axis: usize, size: Option<u64>) -> Fact {
    let dims = fact.dims.as_ref().map(|dims| {
        let mut dims = dims.clone();
        dims.insert(axis.min(dims.len()), size);
        dims
    });
    Fact { data_type: fact.data_type, dims, elements: None }
}

/// `Scan`: the body runs once for each place along an axis of the inputs that are scanned; the final
/// states come first, then what each run gave, stacked.
pub(super) fn scan(op: &Op) -> Inferred {
    let body = op.attributes().graph("body").ok_or(Gap::Unknown)?;
    // The first version has a batch dimension and a list of lengths.
    if op.version < 9 {
        return Err(Gap::Unknown);
    }
    let scanned = usize::try_from(op.int("num_scan_inputs", 0)).map_err(|_| Gap::Unknown)?;
    let states = op.input_count().checked_sub(scanned).ok_or(Gap::Unknown)?;
    let in_axes = op.attributes().ints("scan_input_axes").unwrap_or(&[]);
    let out_axes = op.attributes().ints("scan_output_axes").unwrap_or(&[]);
    let mut inputs = Vec::new();
    for input in 0..states {
        inputs.push(op.fact(input).map_or_else(|_| Fact::default(), Fact::without_elements));
    }
    let mut steps = None;
    for place in 0..scanned {
        let mut dims: Dims = op.dims(states + place)?.to_vec();
        let axis = super::operator::axis(in_axes.get(place).copied().unwrap_or(0), dims.len())?;
        steps = same(steps, dims.remove(axis))?;
        inputs.push(Fact::new(op.data_type(states + place), dims));
    }
    let before = inputs[..states].to_vec();
    let outputs = op.inference.run_subgraph(op, body, inputs)?;
    let (next, stacked) = split_states(&outputs, 0, states)?;
    let last = before.iter().zip(next).map(|(before, after)| agreed(before, after));
    let mut all: Vec<Fact> = last.collect();
    for (place, fact) in stacked.iter().enumerate() {
        let rank = fact.dims.as_ref().map_or(0, Vec::len);
        let axis = super::operator::axis(out_axes.get(place).copied().unwrap_or(0), rank + 1)?;
        all.push(with_axis(fact, axis, steps));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use crate::proto::GraphProto;
    use crate::testing::{Case, declared, dims, node, untyped};

    fn branch(op_type: &str) -> GraphProto {
        GraphProto {
            node: vec![node(op_type, &["in1"], &["inner"])],
            output: vec![untyped("inner")],
            ..Default::default()
        }
    }

    fn choice(case: Case) -> Case {
        case.input(&[2, 3]).graph("then_branch", branch("Relu")).graph("else_branch", branch("GlobalMaxPool"))
    }

    #[test]
    fn branches_agree_on_what_is_certain() {
        let unknown = choice(Case::new("If").typed(DataType::Bool, &[]));
        assert_eq!(unknown.first(), dims(&[2, 3]));
        let differing = Case::new("If").typed(DataType::Bool, &[]).input(&[2, 3]);
        let differing =
            differing.graph("then_branch", branch("Relu")).graph("else_branch", branch("Transpose"));
        assert_eq!(differing.first(), Some(vec![None, None]));
    }

    #[test]
    fn a_known_condition_takes_one_branch() {
        let case = |condition| {
            let case = Case::new("If").scalar(condition).input(&[2, 3]);
            case.graph("then_branch", branch("Relu")).graph("else_branch", branch("Transpose")).first()
        };
        assert_eq!((case(1), case(0)), (dims(&[2, 3]), dims(&[3, 2])));
    }

    /// A body that passes its condition on, changes its state and gives one row.
    fn body(changes: &str) -> GraphProto {
        GraphProto {
            node: vec![node("Identity", &["go"], &["on"]), node(changes, &["state", "in3"], &["next"])],
            input: vec![untyped("i"), untyped("go"), untyped("state")],
            output: vec![untyped("on"), untyped("next"), untyped("state")],
            ..Default::default()
        }
    }

    #[test]
    fn a_loop_stacks_what_its_body_gives() {
        let case = |changes| {
            let case = Case::new("Loop").typed(DataType::Int64, &[]).typed(DataType::Bool, &[]);
            let mut case = case.input(&[1, 4]).graph("body", body(changes)).outputs(2);
            // Only the body reads this one.
            case.add_input(declared("in3", DataType::Float32, &[3, 4]));
            case.dims()
        };
        // The sum grows to 3 x 4 in the first round, so that its first dimension isn't steady.
        assert_eq!(case("Add"), [Some(vec![None, Some(4)]), Some(vec![None, None, Some(4)])]);
        assert_eq!(case("PRelu"), [dims(&[1, 4]), Some(vec![None, Some(1), Some(4)])]);
    }

    #[test]
    fn a_state_that_takes_over_another_changes_with_it() {
        // Each round joins a row to `grown`, and keeps what `grown` was as `before`.
        let mut join = node("Concat", &["grown", "in4"], &["joined"]);
        join.attribute = vec![crate::proto::AttributeProto {
            name: Some("axis".into()),
            i: Some(0),
            ..Default::default()
        }];
        let body = GraphProto {
            node: vec![node("Identity", &["go"], &["on"]), join, node("Identity", &["grown"], &["kept"])],
            input: ["i", "go", "grown", "before"].map(untyped).to_vec(),
            output: ["on", "joined", "kept", "before"].map(untyped).to_vec(),
            ..Default::default()
        };
        let case = Case::new("Loop").typed(DataType::Int64, &[]).typed(DataType::Bool, &[]);
        let mut case = case.input(&[1, 4]).input(&[1, 4]).graph("body", body).outputs(3);
        case.add_input(declared("in4", DataType::Float32, &[1, 4]));
        let changing = Some(vec![None, Some(4)]);
        assert_eq!(case.dims(), [changing.clone(), changing, Some(vec![None, None, Some(4)])]);
    }

    #[test]
    fn a_scan_runs_along_an_axis() {
        let body = GraphProto {
            node: vec![node("Add", &["state", "row"], &["next"]), node("Identity", &["next"], &["copy"])],
            input: vec![untyped("state"), untyped("row")],
            output: vec![untyped("next"), untyped("copy")],
            ..Default::default()
        };
        let case = Case::new("Scan").input(&[2]).input(&[5, 2]).int("num_scan_inputs", 1).graph("body", body);
        assert_eq!(case.outputs(2).dims(), [dims(&[2]), dims(&[5, 2])]);
    }

    #[test]
    fn loops_in_loops_come_to_an_end() {
        // Each starts from the same state again and needs two rounds until that is steady, so the body
        // of the innermost would be gone through 2^28 times.
        let mut inner = body("Add");
        for _ in 0..27 {
            let mut outer = body("Add");
            let mut nested = node("Loop", &["i", "go", "in2"], &["next"]);
            nested.attribute = vec![crate::testing::graph_attribute("body", inner)];
            outer.node[1] = nested;
            inner = outer;
        }
        let case = Case::new("Loop").typed(DataType::Int64, &[]).typed(DataType::Bool, &[]).input(&[1, 4]);
        let mut case = case.graph("body", inner).outputs(1);
        case.add_input(declared("in3", DataType::Float32, &[3, 4]));
        assert_eq!(case.first(), None);
    }
}
