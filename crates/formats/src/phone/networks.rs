//! Figures of whole networks: a line each, `mobilenet  min = 11.36  max = 11.46  avg = 11.41` of benchncnn, and
//! `[ - ] MobileNetV2_224.mnn  max = 8.10 ms  min = 6.98 ms  avg = 7.32 ms` of MNN's benchmark. Times are in
//! milliseconds; no layer is told.

use std::collections::{BTreeSet, HashMap};

use opscope_trace::{
    DeviceKind, ExecutionUnit, FigureSubject, FigureTopic, LossKind, Nanoseconds, ProfileFormat, Trace,
};

use super::{any_line, lines, open_last_line};
use crate::layers::{Layers, MILLI, time};
use crate::reading::Stop;

/// The mark that MNN puts before a network.
const MNN: &str = "[ - ] ";

/// A line, taken apart.
pub(super) struct Line<'l> {
    /// The network.
    pub name: &'l str,
    least: Option<Nanoseconds>,
    greatest: Option<Nanoseconds>,
    mean: Option<Nanoseconds>,
}

impl<'l> Line<'l> {
    /// Whether a line of a network is one of MNN's.
    fn is_of_mnn(line: &str) -> bool {
        line.trim_start().starts_with(MNN)
    }

    pub fn of(line: &'l str) -> Option<Self> {
        let line = line.trim();
        let line = line.strip_prefix(MNN).unwrap_or(line);
        let name_end = [" min =", " max ="].iter().filter_map(|key| line.find(key)).min()?;
        let (name, figures) = line.split_at(name_end);
        let name = name.trim();
        let figure = |key: &str| {
            let (_, value) = figures.split_once(key)?;
            let value = value.trim_start().split([' ', 'm']).next()?;
            Some(value.parse::<f64>().ok().and_then(|value| time(value, MILLI)))
        };
        // All three are there, though one may be no number.
        let (least, greatest, mean) = (figure("min =")?, figure("max =")?, figure("avg =")?);
        (!name.is_empty()).then_some(Self { name, least, greatest, mean })
    }

    /// Notes the figures, of a run among several.
    pub fn state(&self, trace: &mut Trace, run: &str) {
        let nanoseconds = |time: Option<Nanoseconds>| time.map(|time| time.0 as f64);
        let about = FigureSubject {
            topic: FigureTopic::Step,
            source: "the benchmark's text",
            step: run,
            subject: self.name,
            part: "",
        };
        let figures = [
            ("shortest inference", "ns", nanoseconds(self.least)),
            ("mean inference", "ns", nanoseconds(self.mean)),
            ("longest inference", "ns", nanoseconds(self.greatest)),
        ];
        trace.push_figures(about, &figures);
    }
}

/// Whether text that begins so has a line of a network.
pub fn looks_like(head: &[u8]) -> bool {
    any_line(head, |line| Line::of(line).is_some())
}

/// A run of the benchmark over its networks, with the settings that it prints before them.
#[derive(Default)]
struct Run {
    settings: Vec<(String, String)>,
    lines: Vec<String>,
}

/// Reads the networks as a trace: of each a model with its mean inference, until `stop` is wanted. Networks of several
/// runs, such as with other numbers of threads, are models of their own, named by what is set otherwise.
pub fn read(text: &[u8], stop: &Stop) -> Trace {
    let runs = runs(text, stop);
    let is_mnn = runs.iter().flat_map(|run| &run.lines).any(|line| Line::is_of_mnn(line));
    let format = if is_mnn { ProfileFormat::Mnn } else { ProfileFormat::Ncnn };
    let mut layers = Layers::new(format, DeviceKind::Other, ExecutionUnit::Other);
    set_common(&mut layers.trace, &runs);
    for (run, label) in runs.iter().zip(&labels(&runs)) {
        for found in run.lines.iter().filter_map(|line| Line::of(line)) {
            let Some(mean) = found.mean else {
                layers.losses.count(LossKind::LayerWithoutDuration, found.name, 1);
                continue;
            };
            layers.enter_model(&labelled(found.name, label));
            layers.begin_inference();
            layers.end_inference(Some(mean));
            found.state(&mut layers.trace, label);
        }
    }
    if let Some(number) = open_last_line(text) {
        layers.losses.count(LossKind::OpenLastLine, &format!("line {number}"), 1);
    }
    layers.finish()
}

/// The name of a network in a run.
pub(super) fn labelled(network: &str, run: &str) -> String {
    if run.is_empty() { network.to_owned() } else { format!("{network} ({run})") }
}

/// The run that a line of a network is of.
#[derive(Clone, Debug, Default)]
pub(super) struct RunOfLine {
    /// Its label.
    pub label: String,
    /// How many inferences of each network it measured, the last ones; those before warmed up.
    pub measured: Option<usize>,
}

/// The run of each line of a network, in the order of the text; enters the settings that all runs have.
pub(super) fn runs_of_lines(trace: &mut Trace, text: &[u8], stop: &Stop) -> Vec<RunOfLine> {
    let runs = runs(text, stop);
    set_common(trace, &runs);
    // Each inference is told by its layers; nothing is summed up.
    trace.run.summed_runs = None;
    let labels = labels(&runs);
    let of_run = |(run, label): (&Run, String)| {
        let measured =
            run.value("loop_count").and_then(|count| count.parse().ok()).filter(|count| *count > 0);
        vec![RunOfLine { label, measured }; run.lines.len()]
    };
    runs.iter().zip(labels).flat_map(of_run).collect()
}

impl Run {
    fn value(&self, key: &str) -> Option<&String> {
        self.settings.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

/// The runs of a text: settings behind a network belong to the next.
fn runs(text: &[u8], stop: &Stop) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for line in stop.within(lines(text)) {
        let settings = settings(&line);
        if settings.is_empty() && Line::of(&line).is_none() {
            continue;
        }
        if runs.last().is_none_or(|run| !settings.is_empty() && !run.lines.is_empty()) {
            runs.push(Run::default());
        }
        let Some(run) = runs.last_mut() else { continue };
        match settings.is_empty() {
            true => run.lines.push(line.into_owned()),
            false => run.settings.extend(settings),
        }
    }
    runs.retain(|run| !run.lines.is_empty());
    runs
}

/// The words that tell each run apart from the others: the settings that aren't the same in all, and a number where several are
/// alike in those. Empty for a single run.
fn labels(runs: &[Run]) -> Vec<String> {
    if runs.len() < 2 {
        return vec![String::new(); runs.len()];
    }
    let is_common = |key: &&str| runs.iter().all(|run| run.value(key) == runs[0].value(key));
    let keys: BTreeSet<&str> = runs[0].settings.iter().map(|(key, _)| key.as_str()).collect();
    // Looked at once: a document may have thousands of runs.
    let common: BTreeSet<&str> = keys.into_iter().filter(is_common).collect();
    let told = |run: &Run| {
        let own = run.settings.iter().filter(|(key, _)| !common.contains(key.as_str()));
        own.map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
    };
    let told: Vec<String> = runs.iter().map(told).collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut all: HashMap<&str, usize> = HashMap::new();
    told.iter().for_each(|label| *all.entry(label).or_default() += 1);
    let numbered = told.iter().map(|label| {
        let number = seen.entry(label).or_default();
        *number += 1;
        match (all[label.as_str()] > 1, label.is_empty()) {
            (false, _) => label.clone(),
            (true, true) => format!("run {number}"),
            (true, false) => format!("{label}, run {number}"),
        }
    });
    numbered.collect()
}

/// The settings of the benchmark that a line tells: `loop_count = 8` of benchncnn; `Forward type: **CPU** thread=4** precision=2`
/// and `--------> Benchmarking... loop = 10, warmup = 5` of MNN's.
fn settings(line: &str) -> Vec<(String, String)> {
    let line = line.trim();
    let pair = |text: &str| text.split_once('=').map(|(key, value)| (key.trim().into(), value.trim().into()));
    if let Some(type_and_more) = line.strip_prefix("Forward type:") {
        let words = type_and_more.split([' ', '*']).filter(|word| !word.is_empty());
        let (further, types): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let forward = ("Forward type".to_owned(), types.join(" "));
        return [forward].into_iter().chain(further.into_iter().filter_map(pair)).collect();
    }
    if let Some((_, counts)) = line.split_once("Benchmarking...") {
        return counts.split(',').filter_map(pair).collect();
    }
    let is_known = |(key, _): &(String, String)| {
        matches!(key.as_str(), "loop_count" | "num_threads" | "powersave" | "gpu_device" | "cooling_down")
    };
    pair(line).filter(is_known).into_iter().collect()
}

/// Enters the settings that all runs have.
fn set_common(trace: &mut Trace, runs: &[Run]) {
    let Some(first) = runs.first() else { return };
    let are_common = |(key, value): &&(String, String)| runs.iter().all(|run| run.value(key) == Some(value));
    // For a GPU MNN's number is a mode.
    let is_on_gpu = first.value("Forward type").is_some_and(|it| it != "CPU");
    for (key, value) in first.settings.iter().filter(are_common) {
        match key.as_str() {
            "thread" if is_on_gpu => trace.run.remark(key, value),
            _ => set(trace, key, value),
        }
    }
}

fn set(trace: &mut Trace, key: &str, value: &str) {
    match key {
        "loop_count" | "loop" => trace.run.summed_runs = value.parse().ok().filter(|runs| *runs > 0),
        "num_threads" | "thread" => trace.run.threads = value.parse().ok(),
        _ => trace.run.remark(key, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_both_programs_have_their_mean() {
        let text =
            b"loop_count = 8\nnum_threads = 4\n  squeezenet  min =    8.84  max =    8.89  avg =    8.87\n\
            vgg16  min =    nan  max =    1  avg =    nan\n";
        assert!(looks_like(text));
        let trace = read(text, &Stop::default());
        assert_eq!(trace.iterations.duration(), [Nanoseconds(8_870_000)]);
        assert_eq!((trace.run.summed_runs, trace.run.threads), (Some(8), Some(4)));
        assert_eq!((trace.figures.len(), trace.losses.count()), (3, &[1][..]));

        let text = b"Forward type: **CPU** thread=4** precision=2** sparsity=0\n--------> Benchmarking... loop = 10, warmup = 5\n\
            [ - ] MobileNetV2_224.mnn          max = 8.100 ms  min = 6.980 ms  avg = 7.320 ms\n";
        let trace = read(text, &Stop::default());
        assert_eq!(trace.run.format, Some(ProfileFormat::Mnn));
        assert_eq!((trace.run.summed_runs, trace.run.threads), (Some(10), Some(4)));
        let of_gpu = String::from_utf8_lossy(text).replace("CPU** thread=4", "OpenCL** thread=68");
        assert_eq!(read(of_gpu.as_bytes(), &Stop::default()).run.threads, None, "a mode");
        let device = trace.devices.iter().next().expect("a device").1;
        assert_eq!(trace.strings.get(device.name), "MNN");
        assert_eq!(trace.figures.value(), [6_980_000.0, 7_320_000.0, 8_100_000.0]);
        assert!(!looks_like(b"min = 3\nx min = 3 max = 4\n"));
    }

    #[test]
    fn a_last_line_without_an_end_is_told_whatever_is_there_of_it() {
        let text = b"a  min =    1.00  max =    3.00  avg =    2.00\nb  min =    5.00  max =    7.00  avg =    6.25\n";
        assert!(read(text, &Stop::default()).losses.is_empty());
        let first = text.iter().position(|byte| *byte == b'\n').unwrap();
        for end in (first + 2)..text.len() {
            let trace = read(&text[..end], &Stop::default());
            assert!(trace.losses.kind().contains(&LossKind::OpenLastLine), "{end}");
        }
    }

    #[test]
    fn networks_of_several_runs_are_told_apart_by_what_is_set_otherwise() {
        let run = |threads: u32, mean: u32| {
            format!(
                "loop_count = 8\nnum_threads = {threads}\ngpu_device = -1\n\
                 squeezenet  min = 1  max = 9  avg = {mean}\nvgg16  min = 1  max = 9  avg = {mean}\n"
            )
        };
        let trace = read([run(1, 7), run(4, 2)].concat().as_bytes(), &Stop::default());
        let names: Vec<_> = trace.models.name().iter().map(|name| trace.strings.get(*name)).collect();
        let [one, four] = ["(num_threads = 1)", "(num_threads = 4)"];
        let expected = [("squeezenet", one), ("vgg16", one), ("squeezenet", four), ("vgg16", four)];
        assert_eq!(names, expected.map(|(name, run)| format!("{name} {run}")));
        let steps: Vec<_> = trace.figures.step().iter().map(|step| trace.strings.get(*step)).collect();
        assert_eq!((steps[0], steps[11]), ("num_threads = 1", "num_threads = 4"));
        assert_eq!((trace.run.summed_runs, trace.run.threads), (Some(8), None), "no one number of threads");

        let same = read([run(4, 7), run(4, 2)].concat().as_bytes(), &Stop::default());
        let names: Vec<_> = same.models.name().iter().map(|name| same.strings.get(*name)).collect();
        assert_eq!(names[..3], ["squeezenet (run 1)", "vgg16 (run 1)", "squeezenet (run 2)"]);
        assert_eq!(same.run.threads, Some(4));

        let mnn = |threads: u32| {
            format!(
                "Forward type: **CPU** thread={threads}** precision=2\n[ - ] net.mnn  max = 8 ms  min = 6 ms  avg = 7 ms\n"
            )
        };
        let trace = read([mnn(1), mnn(4)].concat().as_bytes(), &Stop::default());
        assert_eq!(trace.strings.get(trace.models.name()[1]), "net.mnn (thread = 4)");
    }
}
