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

/// What is true of both facts.
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
    // The first output says whether to go on. States that change their dimensions from round to round
    // are known as far as they stay the same.
    let first = run(&states)?;
    let (next, _) = split_states(&first, 1, states.len())?;
    let steady: Vec<Fact> = states.iter().zip(next).map(|(before, after)| agreed(before, after)).collect();
    let outputs = if steady == states { first } else { run(&steady)? };
    let (next, stacked) = split_states(&outputs, 1, states.len())?;
    let last = steady.iter().zip(next).map(|(before, after)| agreed(before, after));
    let stacked = stacked.iter().map(|fact| with_axis(fact, 0, None));
    Ok(last.chain(stacked).collect())
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
