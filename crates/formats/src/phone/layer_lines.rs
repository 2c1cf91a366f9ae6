//! ncnn's layers: `Convolution  conv1  0.52ms    | [224, 224, 3 *1] -> [112, 112, 8 *4]  kernel: 3 x 3  stride: 2 x 2`.
//!
//! Shapes are width, height, channels, and how many channels lie together. Layers on a GPU (Vulkan) tell their times in µs,
//! and no shapes: `Convolution  conv1  520.00us    |`. A layer that is told once more begins the next inference.
//! `benchncnn` runs several networks, and tells the name of each in a line behind its inferences.

use std::collections::HashSet;

use opscope_trace::{DeviceKind, ExecutionUnit, LossKind, Nanoseconds, ProfileFormat, Trace};

use super::networks::{Line as Network, RunOfLine, labelled, runs_of_lines};
use super::{any_line, lines, open_last_line};
use crate::layers::{Layer, Layers, MICRO, MILLI, Value, time};
use crate::reading::Stop;

/// A line, taken apart.
struct Line<'l> {
    op_type: &'l str,
    name: &'l str,
    time: Option<Nanoseconds>,
    rest: &'l str,
}

impl<'l> Line<'l> {
    fn of(line: &'l str) -> Option<Self> {
        let (op_type, rest) = word(line)?;
        let (name, rest) = word(rest)?;
        let (told, rest) = word(rest)?;
        let rest = rest.trim_start();
        // The bar stands behind every layer.
        if !op_type.starts_with(|letter: char| letter.is_ascii_uppercase()) || !rest.starts_with('|') {
            return None;
        }
        let in_unit = |name, unit| told.strip_suffix(name).map(|number| (number, unit));
        let (number, unit) = in_unit("ms", MILLI).or_else(|| in_unit("us", MICRO))?;
        Some(Self { op_type, name, time: time(number.parse().ok()?, unit), rest: rest[1..].trim() })
    }
}

/// The first word and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace)?;
    Some(text.split_at(end))
}

/// Whether text that begins so has a line of a layer.
pub fn looks_like(head: &[u8]) -> bool {
    any_line(head, |line| Line::of(line).is_some())
}

/// Reads the layers as a trace, an iteration for each inference, until `stop` is wanted. Other lines, which programs
/// print between them, are passed over.
pub fn read(text: &[u8], stop: &Stop) -> Trace {
    let mut layers = Layers::new(ProfileFormat::Ncnn, DeviceKind::Other, ExecutionUnit::Other);
    let runs = runs_of_lines(&mut layers.trace, text, stop);
    let mut networks = networks(text, &runs, stop).into_iter();
    let mut runs = runs.into_iter();
    let mut seen: HashSet<opscope_trace::OperatorId> = HashSet::new();
    let mut position = 0;
    // How many layers each inference of the network has.
    let mut counts: Vec<u32> = Vec::new();
    for line in stop.within(lines(text)) {
        let Some(line) = Line::of(&line) else {
            if let Some(network) = Network::of(&line) {
                let run = runs.next().unwrap_or_default();
                network.state(&mut layers.trace, &run.label);
                if let Some(measured) = run.measured {
                    layers.warm_up_before(counts.len(), measured);
                }
                layers.leave_model();
                seen.clear();
                counts.clear();
                position = 0;
            }
            continue;
        };
        if counts.is_empty()
            && let Some(network) = networks.next()
        {
            layers.enter_model(&network);
        }
        let (inputs, outputs) = shapes(line.rest);
        let kernel =
            line.rest.split_once("kernel:").map(|(_, kernel)| kernel.split_whitespace().collect::<Vec<_>>());
        let layer = Layer {
            name: line.name.to_owned(),
            op_type: line.op_type.to_owned(),
            position: Some(position),
            inputs,
            outputs,
            attributes: vec![("kernel", kernel.unwrap_or_default().join(" "))],
            ..Layer::default()
        };
        let operator = layers.operator(&layer);
        if seen.is_empty() || !seen.insert(operator) {
            layers.begin_inference();
            seen.clear();
            seen.insert(operator);
            position = 0;
            counts.push(0);
        }
        position += 1;
        if let Some(count) = counts.last_mut() {
            *count = position;
        }
        layers.task(operator, line.time, line.name);
    }
    if let Some(number) = open_last_line(text) {
        layers.losses.count(LossKind::OpenLastLine, &format!("line {number}"), 1);
    }
    if let [before @ .., last] = &counts[..]
        && !before.is_empty()
        && before.iter().all(|count| count > last)
    {
        layers.losses.count(LossKind::CutInference, "the last inference", 1);
        layers.leave_out_inference();
    }
    layers.finish()
}

/// The networks in their order, of those that have layers, by the run of each. Their names stand behind them.
fn networks(text: &[u8], runs: &[RunOfLine], stop: &Stop) -> Vec<String> {
    let (mut networks, mut has_layers) = (Vec::new(), false);
    let mut runs = runs.iter();
    for line in stop.within(lines(text)) {
        match Network::of(&line) {
            None => has_layers = has_layers || Line::of(&line).is_some(),
            Some(network) => {
                let run = runs.next().map_or("", |run| run.label.as_str());
                if std::mem::take(&mut has_layers) {
                    networks.push(labelled(network.name, run));
                }
            }
        }
    }
    networks
}

/// The values of a line: one input and one output at the most.
fn shapes(text: &str) -> (Vec<Value>, Vec<Value>) {
    let Some((input, output)) = text.split_once("->") else { return Default::default() };
    (shape(input).into_iter().collect(), shape(output).into_iter().collect())
}

/// `[224, 224, 3 *4]` is 12 channels of 224 by 224.
fn shape(text: &str) -> Option<Value> {
    let inner = text.trim().strip_prefix('[')?.split_once(']')?.0;
    let (sizes, pack) = inner.rsplit_once('*')?;
    let pack: i64 = pack.trim().parse().ok()?;
    let sizes: Option<Vec<i64>> = sizes.split(',').map(|size| size.trim().parse().ok()).collect();
    let mut sizes = sizes?;
    let last = sizes.last_mut()?;
    *last = last.checked_mul(pack)?;
    sizes.reverse();
    Some(Value { dimensions: Some(sizes), layout: format!("pack {pack}"), ..Value::default() })
}

#[cfg(test)]
mod tests {
    use opscope_trace::ModelId;

    use super::*;

    const TEXT: &str = "loading\n\
        Convolution              conv1                             0.50ms    | [224, 224,   3 *1] -> [112, 112,   8 *4]     kernel: 3 x 3     stride: 2 x 2\n\
        ReLU                     relu1                             0.25ms    |\n\
        result 7\n\
        Convolution              conv1                             0.75ms    | [224, 224,   3 *1] -> [112, 112,   8 *4]     kernel: 3 x 3     stride: 2 x 2\n\
        ReLU                     relu1                             nanms    |\n";

    #[test]
    fn a_layer_that_comes_again_begins_an_inference() {
        assert!(looks_like(TEXT.as_bytes()));
        let trace = read(TEXT.as_bytes(), &Stop::default());
        assert_eq!(trace.iterations.duration(), [750_000, 750_000].map(Nanoseconds));
        assert_eq!(trace.tasks.duration(), [500_000, 250_000, 750_000].map(Nanoseconds));
        assert_eq!(trace.operators.len(), 2);
        let outputs: Vec<_> = trace.tensors.ids().map(|id| trace.shape(id).unwrap().to_vec()).collect();
        assert_eq!(outputs, [vec![3, 224, 224], vec![32, 112, 112]]);
        assert_eq!(trace.losses.count(), [1], "the layer that took no number");
    }

    #[test]
    fn a_layer_whose_line_has_no_end_is_told_because_its_shape_may_be_a_part() {
        let whole = "ReLU  a  1.0ms    | [112, 112, 8 *4] -> [112, 112, 8 *4]\n";
        assert!(read(whole.as_bytes(), &Stop::default()).losses.is_empty());
        for cut in [&whole[..whole.len() - 1], &whole[..whole.len() - 8]] {
            let trace = read(cut.as_bytes(), &Stop::default());
            assert_eq!((trace.tasks.len(), trace.losses.kind()), (1, &[LossKind::OpenLastLine][..]));
        }
    }

    #[test]
    fn times_of_layers_on_a_gpu_are_told_in_microseconds() {
        let text = "Convolution  conv1  520.00us    |\nSoftmax  prob  0.02ms    | [1000 *1] -> [1000 *1]\n";
        assert!(looks_like(text.lines().next().unwrap().as_bytes()));
        let trace = read(text.repeat(2).as_bytes(), &Stop::default());
        assert_eq!(trace.tasks.duration(), [520_000, 20_000, 520_000, 20_000].map(Nanoseconds));
        assert_eq!(trace.iterations.len(), 2);
    }

    #[test]
    fn a_last_inference_that_lacks_layers_is_left_out_and_told() {
        let line = |name: &str, time: &str| format!("ReLU  {name}  {time}ms    |\n");
        let whole = [line("a", "1.0"), line("b", "2.0")].concat();
        let text = [&whole[..], &whole, &line("a", "5.0")].concat();
        let trace = read(text.as_bytes(), &Stop::default());
        assert_eq!(trace.iterations.duration(), [3_000_000, 3_000_000].map(Nanoseconds));
        assert_eq!(trace.tasks.len(), 4);
        assert_eq!(trace.losses.kind(), [LossKind::CutInference]);
        // Of a single one nothing tells what it should have.
        assert!(read(whole.as_bytes(), &Stop::default()).losses.is_empty());
    }

    #[test]
    fn the_line_of_a_network_ends_its_inferences() {
        let run = |layers: &[&str], time: &str| -> String {
            layers.iter().map(|name| format!("ReLU  {name}  {time}ms    |\n")).collect()
        };
        let end = |name: &str| format!("   {name}  min =  5.00  max =  5.10  avg =  5.05\n");
        let text = [
            // A network without layers before the others takes none of theirs.
            end("empty"),
            run(&["a", "b", "c"], "1.0").repeat(3),
            end("large"),
            run(&["a"], "6.0").repeat(2),
            end("small"),
            run(&["a", "b", "c"], "2.0"),
            end("large"),
        ];
        let trace = read(text.concat().as_bytes(), &Stop::default());
        let name = |model: &Option<ModelId>| trace.strings.get(trace.models.get(model.unwrap()).name);
        let rows: Vec<_> = (trace.iterations.iter())
            .map(|(_, row)| (name(&row.model), row.number, row.duration.0 / 1_000_000))
            .collect();
        let expected = [
            ("large", 1, 3),
            ("large", 2, 3),
            ("large", 3, 3),
            ("small", 1, 6),
            ("small", 2, 6),
            ("large", 4, 6),
        ];
        assert_eq!(rows, expected);
        let operators: Vec<_> = trace.operators.model().iter().map(name).collect();
        assert_eq!(operators, ["large", "large", "large", "small"]);
        assert!(trace.losses.is_empty());
        assert_eq!(trace.figures.len(), 12);
    }

    #[test]
    fn the_layers_of_each_network_are_counted_anew() {
        let run = |layers: &[&str]| -> String {
            layers.iter().map(|name| format!("ReLU  {name}  1.0ms    |\n")).collect()
        };
        let end = |name: &str| format!("   {name}  min =  5.00  max =  5.10  avg =  5.05\n");
        let text = [run(&["a", "b", "c"]), end("large"), run(&["d", "e"]), end("small")].concat();
        let trace = read(text.as_bytes(), &Stop::default());
        assert_eq!(trace.operators.position(), [0, 1, 2, 0, 1].map(Some));
    }

    #[test]
    fn other_text_has_no_layers() {
        for text in ["a b 3ms | c", "Convolution conv1 3 |\n", "Convolution conv1 3ms\n", "conv1 0.5ms |\n"] {
            assert!(!looks_like(text.as_bytes()), "{text}");
        }
    }
    #[test]
    fn layers_of_a_network_with_other_settings_are_of_another_model() {
        let run = |threads: u32, time: u32| {
            format!(
                "num_threads = {threads}\nConvolution  conv1  {time}.00ms    |\nConvolution  conv1  {time}.00ms    |\n\
                 net  min = 1  max = 9  avg = {time}\n"
            )
        };
        let trace = read([run(1, 7), run(4, 2)].concat().as_bytes(), &Stop::default());
        let names: Vec<_> = trace.models.name().iter().map(|name| trace.strings.get(*name)).collect();
        assert_eq!(names, ["net (num_threads = 1)", "net (num_threads = 4)"]);
        assert_eq!(trace.iterations.len(), 4);
        assert_eq!((trace.figures.len(), trace.run.threads), (6, None));
    }

    #[test]
    fn inferences_before_those_that_a_network_is_measured_by_warm_up() {
        let run = |time: u32| format!("ReLU  a  {time}.00ms    |\n");
        let end = "   net  min =  5.00  max =  5.10  avg =  5.05\n";
        let text = ["loop_count = 2\nnum_threads = 1\n", &run(20).repeat(8), &run(5).repeat(2), end];
        let trace = read(text.concat().as_bytes(), &Stop::default());
        assert_eq!(trace.iterations.warm_up().iter().filter(|it| **it).count(), 8);
        assert!(!trace.iterations.warm_up()[8] && !trace.iterations.warm_up()[9]);
        assert_eq!(trace.run.summed_runs, None, "each inference is told");
    }
}
