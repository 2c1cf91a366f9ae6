//! The part of a task's event that its operator decides: name, type, shapes and sizes.

use std::hash::{BuildHasher, RandomState};

use opscope_trace::{DataType, NumberSet, Operator, OperatorId, TensorId, Trace};

use super::text::{push_number, push_string};

/// The fragments of all operators, rendered once where that pays.
///
/// A fragment begins with `,"name":` and ends inside the open `args` object, so that what differs
/// from task to task can follow.
pub(super) struct OperatorFragments<'a> {
    trace: &'a Trace,
    /// All fragments end to end, and where each ends; empty when they are rendered as needed.
    rendered: Vec<u8>,
    ends: Vec<usize>,
}

/// From how many tasks an operator on it pays to keep its fragment.
const TASKS_AN_OPERATOR: usize = 3;

impl<'a> OperatorFragments<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let (mut rendered, mut ends) = (Vec::new(), Vec::new());
        if trace.tasks.len() / TASKS_AN_OPERATOR >= trace.operators.len() {
            ends.reserve(trace.operators.len());
            for (_, operator) in trace.operators.iter() {
                render(trace, &operator, &mut rendered);
                ends.push(rendered.len());
            }
        }
        Self { trace, rendered, ends }
    }

    /// Appends the fragment of one operator.
    pub(super) fn push(&self, out: &mut Vec<u8>, id: OperatorId) {
        let index = id.index();
        match self.ends.get(index) {
            Some(&end) => {
                let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
                out.extend_from_slice(&self.rendered[start..end]);
            }
            None => render(self.trace, &self.trace.operators.get(id), out),
        }
    }
}

/// How many of some operators have the fragment of another one, so that a reader takes them for it.
pub(super) fn count_alike(trace: &Trace, operators: &[OperatorId]) -> usize {
    let hasher = RandomState::new();
    let (mut seen, mut fragment) = (NumberSet::<u64>::default(), Vec::new());
    let is_alike = |id: &&OperatorId| {
        fragment.clear();
        render(trace, &trace.operators.get(**id), &mut fragment);
        !seen.insert(hasher.hash_one(&fragment))
    };
    operators.iter().filter(is_alike).count()
}

fn render(trace: &Trace, operator: &Operator, out: &mut Vec<u8>) {
    let op_type = trace.strings.get(operator.op_type);
    let name = match trace.strings.get(operator.name) {
        "" => op_type,
        name => name,
    };
    out.extend_from_slice(b",\"name\":");
    push_string(out, name);
    out.extend_from_slice(b",\"args\":{\"type\":");
    push_string(out, op_type);
    if trace.models.len() > 1
        && let Some(model) = operator.model
    {
        out.extend_from_slice(b",\"model\":");
        push_string(out, trace.strings.get(trace.models.get(model).name));
    }
    push_tensors(trace, "inputs", operator.inputs(), out);
    push_tensors(trace, "outputs", operator.outputs(), out);
    let quantities = [
        ("flops", operator.flops),
        ("bytes_read", operator.bytes_read),
        ("bytes_written", operator.bytes_written),
        ("parameters", operator.parameters),
    ];
    for (key, value) in quantities {
        if let Some(value) = value {
            push_key(out, key);
            push_number(out, value);
        }
    }
    if let Some(position) = operator.position {
        push_key(out, "position");
        push_number(out, position);
    }
    if let Some(dynamic) = operator.dynamic {
        push_key(out, "dynamic");
        out.extend_from_slice(if dynamic { b"true".as_slice() } else { b"false" });
    }
    if let Some(attributes) = operator.attributes {
        push_key(out, "attributes");
        push_string(out, trace.strings.get(attributes));
    }
    if let Some(engine_type) = operator.engine_type {
        push_key(out, "engine_type");
        push_string(out, trace.strings.get(engine_type));
    }
    push_key(out, "attribution");
    push_string(out, operator.attribution.name());
    let origins = trace.names.get(operator.origins);
    if !origins.is_empty() {
        push_key(out, "origins");
        push_list(out, origins, |out, &origin| push_string(out, trace.strings.get(origin)));
    }
}

fn push_tensors(trace: &Trace, key: &str, ids: impl ExactSizeIterator<Item = TensorId>, out: &mut Vec<u8>) {
    if ids.len() == 0 {
        return;
    }
    push_key(out, key);
    push_list(out, ids, |out, id| {
        out.push(b'"');
        push_shape(trace, id, out);
        out.push(b'"');
    });
}

/// `1x3x224x224 float32`, with `?` for what isn't known; a scalar is only its type.
fn push_shape(trace: &Trace, id: TensorId, out: &mut Vec<u8>) {
    let data_type = trace.tensors.data_type()[id.index()];
    match trace.shape(id) {
        None => out.extend_from_slice(b"?x? "),
        Some([]) => {}
        Some(dimensions) => {
            for (index, &dimension) in dimensions.iter().enumerate() {
                if index > 0 {
                    out.push(b'x');
                }
                match dimension {
                    0.. => push_number(out, dimension),
                    _ => out.push(b'?'),
                }
            }
            out.push(b' ');
        }
    }
    let name = if data_type == DataType::Unknown { "?" } else { data_type.name() };
    out.extend_from_slice(name.as_bytes());
}

fn push_key(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

fn push_list<Item>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = Item>,
    push_item: impl Fn(&mut Vec<u8>, Item),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_item(out, item);
    }
    out.push(b']');
}
