//! The message `BenchmarkProfilingData`, by the fields of the public `profiling_info.proto`.
//!
//! | message | fields |
//! |---|---|
//! | `BenchmarkProfilingData` | 1 the model's name, 2 the preparation, 3 the runs (`ModelProfilingData`) |
//! | `ModelProfilingData` | 1 subgraphs, 2 delegates |
//! | `SubGraphProfilingData` | 1 name, 2 index, 3 operators; `DelegateProfilingData`: 1 name, 2 operators |
//! | `OpProfileData` | 1 type, 2 times in microseconds, 3 memory in KB (`OpProfilingStat`), 4 calls, 5 name, 6 place |
//! | `OpProfilingStat` | 1 first, 2 last, 3 mean, 6 least, 7 greatest, 8 sum, 9 how many, 4 and 5 spread |

use opscope_trace::{LossKind, Trace};

use super::{Operator, ReadError, Runs};
use crate::layers::{MICRO, time};
use crate::reading::Stop;
use opscope_protobuf::{Fault, Fields, Value};

/// The fields of a message, and where it breaks off, if it does: then the part of the last that is there is among them.
fn fields(message: &[u8]) -> (Vec<(u32, Value<'_>)>, Option<usize>) {
    let mut found = Vec::new();
    for field in Fields::of(message) {
        match field {
            Ok(field) => found.push(field),
            Err(Fault::Cut(at)) => {
                found.extend(cut_field(&message[at..]));
                return (found, Some(at));
            }
            Err(Fault::Malformed(at)) => return (found, Some(at)),
        }
    }
    (found, None)
}

/// The place in a message of a place in a part of it.
fn place(message: &[u8], part: &[u8], at: usize) -> usize {
    (part.as_ptr().addr() - message.as_ptr().addr()).saturating_add(at)
}

/// A field of bytes that goes on behind the end. Its tag is one byte: no message here has a 16th field.
fn cut_field(rest: &[u8]) -> Option<(u32, Value<'_>)> {
    let (tag, rest) = rest.split_first()?;
    let end_of_length = rest.iter().position(|byte| *byte < 0x80)?;
    (*tag < 0x80 && tag & 7 == 2).then(|| (u32::from(tag >> 3), Value::Bytes(&rest[end_of_length + 1..])))
}

/// Figures of an operator.
#[derive(Clone, Copy, Default)]
struct Stat {
    mean: Option<i64>,
    sum: Option<i64>,
    count: Option<u64>,
}

impl Stat {
    fn of(message: &[u8]) -> Self {
        let mut stat = Self::default();
        for (field, value) in fields(message).0 {
            match field {
                3 => stat.mean = Some(value.signed()),
                8 => stat.sum = Some(value.signed()),
                9 => stat.count = Some(value.number()),
                _ => {}
            }
        }
        stat
    }

    /// The mean, exactly where sum and count are told: the mean itself has no decimals.
    fn mean(self) -> Option<f64> {
        let exact = self.sum.zip(self.count.filter(|count| *count > 0));
        exact.map(|(sum, count)| sum as f64 / count as f64).or(self.mean.map(|mean| mean as f64))
    }
}

/// An operator as its message tells it.
struct Profiled<'m> {
    op_type: std::borrow::Cow<'m, str>,
    name: std::borrow::Cow<'m, str>,
    times: Option<Stat>,
    memory: Option<Stat>,
    calls: Option<u64>,
    place: u64,
}

impl<'m> Profiled<'m> {
    /// The operator of a message, if it has a type or a name.
    fn of(message: &'m [u8]) -> Option<Self> {
        let nothing = || std::borrow::Cow::Borrowed("");
        let mut found =
            Self { op_type: nothing(), name: nothing(), times: None, memory: None, calls: None, place: 0 };
        let (fields, cut) = fields(message);
        for (field, value) in fields {
            match field {
                1 => found.op_type = String::from_utf8_lossy(value.bytes()),
                2 => found.times = Some(Stat::of(value.bytes())),
                3 => found.memory = Some(Stat::of(value.bytes())),
                4 => found.calls = Some(value.number()),
                5 => found.name = String::from_utf8_lossy(value.bytes()),
                6 => found.place = value.number(),
                _ => {}
            }
        }
        let is_nameless = found.op_type.is_empty() && found.name.is_empty();
        (cut.is_none() && !is_nameless).then_some(found)
    }
}

/// Whether bytes that begin so are such a message: its name is text, and its first operator has a type and times.
pub fn looks_like(head: &[u8]) -> bool {
    let is_text =
        |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(char::is_control));
    for (field, value) in fields(head).0 {
        match (field, value) {
            (1, Value::Bytes(name)) if is_text(name) => {}
            (2 | 3, Value::Bytes(model)) if first_operator(model).is_some_and(is_operator) => return true,
            // A run may have had no preparation that was told.
            (2, Value::Bytes(_)) => {}
            _ => return false,
        }
    }
    false
}

/// The first operator of the first subgraph, if the message begins with one.
fn first_operator(model: &[u8]) -> Option<&[u8]> {
    let (1, Value::Bytes(graph)) = *fields(model).0.first()? else { return None };
    let operators = fields(graph).0.into_iter().filter(|(field, _)| *field == 3);
    operators.map(|(_, value)| value.bytes()).next()
}

fn is_operator(message: &[u8]) -> bool {
    Profiled::of(message).is_some_and(|found| {
        let is_word = !found.op_type.is_empty() && !found.op_type.contains(char::is_control);
        is_word && found.times.is_some_and(|times| times.mean().is_some())
    })
}

/// Reads the message as a trace of one mean inference, until `stop` is wanted.
///
/// # Errors
/// When there is no operator of a run.
pub fn read(message: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let mut runs = Runs::new();
    let mut count = None;
    let (fields, mut cut) = fields(message);
    for (field, value) in fields {
        // The innermost message that breaks off does so last.
        match (field, value) {
            (1, Value::Bytes(name)) => runs.layers.enter_model(&String::from_utf8_lossy(name)),
            (2, Value::Bytes(model)) => {
                let within = operators(&mut runs, model, true, &mut None, stop);
                cut = cut.max(within.map(|at| place(message, model, at)));
            }
            (3, Value::Bytes(model)) => {
                runs.layers.begin_inference();
                let within = operators(&mut runs, model, false, &mut count, stop);
                cut = cut.max(within.map(|at| place(message, model, at)));
            }
            _ => {}
        }
    }
    if let Some(at) = cut {
        let place = format!("byte {at}, at which no whole field begins");
        runs.layers.losses.count(LossKind::CutLayers, &place, 1);
    }
    if runs.is_empty() {
        return Err(ReadError::NoOperator);
    }
    Ok(runs.finish(count, None))
}

/// Enters the operators of subgraphs; those of delegates are told beside the calls of the delegate, which they are
/// parts of. Returns where the message breaks off, if it does.
fn operators(
    runs: &mut Runs,
    model: &[u8],
    is_preparation: bool,
    count: &mut Option<u64>,
    stop: &Stop,
) -> Option<usize> {
    let mut found: Vec<Profiled<'_>> = Vec::new();
    let mut parts = 0;
    let (graphs, mut cut) = fields(model);
    for (field, graph) in graphs {
        let operators_at = match field {
            1 => 3,
            2 => 2,
            _ => continue,
        };
        let (members, within) = fields(graph.bytes());
        cut = cut.max(within.map(|at| place(model, graph.bytes(), at)));
        // A further subgraph, whose second member is its number, runs within operators of the first.
        let has_number = members.iter().any(|(member, value)| *member == 2 && value.number() != 0);
        let is_within = field == 2 || has_number;
        let operators = members.into_iter().filter(|(member, _)| *member == operators_at);
        for (_, operator) in stop.within(operators) {
            match (is_within, Profiled::of(operator.bytes())) {
                (false, Some(profiled)) => found.push(profiled),
                (true, Some(_)) => parts += 1,
                (_, None) => runs.layers.losses.count(LossKind::NoLayer, "operators", 1),
            }
        }
    }
    runs.layers.losses.count(LossKind::LayerWithinAnother, "operators of delegates and subgraphs", parts);
    found.sort_by_key(|operator| operator.place);
    for profiled in found {
        let times = profiled.times.unwrap_or_default();
        // Its calls are counted, of which a run may have several.
        let calls = profiled.calls.unwrap_or(1).max(1);
        let runs_of_it = times.count.map(|count| count / calls).filter(|count| *count > 0);
        let operator = Operator {
            op_type: &profiled.op_type,
            name: &profiled.name,
            mean: times.mean().and_then(|mean| time(mean, MICRO)),
            calls: profiled.calls.unwrap_or(1),
            memory_kb: profiled.memory.and_then(Stat::mean),
        };
        match is_preparation {
            true => runs.preparation(&operator),
            false => {
                *count = (*count).max(runs_of_it);
                runs.operator(&operator);
            }
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::Nanoseconds;
    use proptest::prelude::*;

    /// A field of a message in bytes.
    fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
        let mut message = vec![field << 3 | 2];
        let mut length = content.len();
        while length > 0x7f {
            message.push(length as u8 | 0x80);
            length >>= 7;
        }
        message.push(length as u8);
        [message, content.to_vec()].concat()
    }

    fn number(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    fn operator(op_type: &str, name: &str, sum: u8, count: u8, place: u8) -> Vec<u8> {
        let stat = [number(3, sum / count), number(8, sum), number(9, count)].concat();
        let fields = [
            bytes(1, op_type.as_bytes()),
            bytes(2, &stat),
            number(4, 1),
            bytes(5, name.as_bytes()),
            number(6, place),
        ];
        bytes(3, &fields.concat())
    }

    fn message() -> Vec<u8> {
        let graph = [operator("RELU", "[r]:1", 30, 4, 1), operator("CONV_2D", "[c]:0", 90, 4, 0)].concat();
        [bytes(1, b"net.tflite"), bytes(3, &bytes(1, &graph))].concat()
    }

    #[test]
    fn operators_stand_in_their_order_with_the_exact_mean() {
        let message = message();
        assert!(looks_like(&message) && looks_like(&message[..message.len() - 3]));
        let trace = read(&message, &Stop::default()).unwrap();
        assert_eq!(trace.tasks.duration(), [22_500, 7_500].map(Nanoseconds));
        assert_eq!(trace.run.summed_runs, Some(4));
        let names: Vec<_> = trace.operators.name().iter().map(|name| trace.strings.get(*name)).collect();
        assert_eq!(names, ["c", "r"]);
        assert!(!looks_like(b"\x08\x08\x12\x07opscope\x3a\xac\x02"), "an ONNX model");
        assert!(!looks_like(b"\n\x05plane\x12\x03abc"));
    }

    #[test]
    fn a_message_that_breaks_off_tells_the_byte_of_what_is_lost() {
        let message = message();
        let last = operator("CONV_2D", "[c]:0", 90, 4, 0).len();
        let trace = read(&message[..message.len() - 3], &Stop::default()).unwrap();
        let cut = trace.losses.iter().find(|(_, loss)| loss.kind == LossKind::CutLayers).unwrap().1;
        let told = trace.strings.get(cut.detail);
        let begin = message.len() - last;
        assert!(told.starts_with(&format!("byte {begin},")), "{told}");
        assert_eq!(trace.tasks.len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_and_any_cut_are_survived(end in 0usize..60, noise in proptest::collection::vec(any::<u8>(), 0..60)) {
            let message = message();
            let cut = &message[..end.min(message.len())];
            looks_like(cut);
            let _ = read(cut, &Stop::default());
            looks_like(&noise);
            let _ = read(&[cut, &noise].concat(), &Stop::default());
        }
    }
}
