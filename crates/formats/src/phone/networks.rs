//! Figures of whole networks: a line each, `mobilenet  min = 11.36  max = 11.46  avg = 11.41` of benchncnn, and
//! `[ - ] MobileNetV2_224.mnn  max = 8.10 ms  min = 6.98 ms  avg = 7.32 ms` of MNN's benchmark. Times are in
//! milliseconds; no layer is told.

use opscope_trace::{
    DeviceKind, ExecutionUnit, FigureSubject, FigureTopic, LossKind, Nanoseconds, ProfileFormat, Trace,
};

use super::{any_line, lines};
use crate::layers::{Layers, MILLI, time};
use crate::reading::Stop;

/// The mark that MNN puts before a network.
const MNN: &str = "[ - ] ";

/// A line, taken apart.
pub(super) struct Line<'l> {
    is_mnn: bool,
    /// The network.
    pub name: &'l str,
    least: Option<Nanoseconds>,
    greatest: Option<Nanoseconds>,
    mean: Option<Nanoseconds>,
}

impl<'l> Line<'l> {
    pub fn of(line: &'l str) -> Option<Self> {
        let line = line.trim();
        let (is_mnn, line) = line.strip_prefix(MNN).map_or((false, line), |rest| (true, rest));
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
        (!name.is_empty()).then_some(Self { is_mnn, name, least, greatest, mean })
    }

    /// Notes the figures.
    pub fn state(&self, trace: &mut Trace) {
        let nanoseconds = |time: Option<Nanoseconds>| time.map(|time| time.0 as f64);
        let about = FigureSubject {
            topic: FigureTopic::Step,
            source: "the benchmark's text",
            step: "",
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

/// Reads the networks as a trace: of each a model with its mean inference, until `stop` is wanted.
pub fn read(text: &[u8], stop: &Stop) -> Trace {
    let is_mnn = lines(text).any(|line| Line::of(&line).is_some_and(|line| line.is_mnn));
    let format = if is_mnn { ProfileFormat::Mnn } else { ProfileFormat::Ncnn };
    let mut layers = Layers::new(format, DeviceKind::Other, ExecutionUnit::Other);
    for line in stop.within(lines(text)) {
        let Some(found) = Line::of(&line) else {
            option(&mut layers.trace, &line);
            continue;
        };
        let Some(mean) = found.mean else {
            layers.losses.count(LossKind::LayerWithoutDuration, found.name, 1);
            continue;
        };
        layers.enter_model(found.name);
        layers.begin_inference();
        layers.end_inference(Some(mean));
        found.state(&mut layers.trace);
    }
    layers.finish()
}

/// Takes a line that says how the benchmark was run, such as `loop_count = 8`.
fn option(trace: &mut Trace, line: &str) {
    let Some((key, value)) = line.split_once('=') else { return };
    let (key, value) = (key.trim(), value.trim());
    match key {
        "loop_count" => trace.run.summed_runs = value.parse().ok().filter(|runs| *runs > 0),
        "num_threads" => trace.run.threads = value.parse().ok(),
        "powersave" | "gpu_device" | "cooling_down" => trace.run.remark(key, value),
        _ => {}
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

        let text = b"Forward type: CPU\n[ - ] MobileNetV2_224.mnn          max = 8.100 ms  min = 6.980 ms  avg = 7.320 ms\n";
        let trace = read(text, &Stop::default());
        assert_eq!(trace.run.format, Some(ProfileFormat::Mnn));
        let device = trace.devices.iter().next().expect("a device").1;
        assert_eq!(trace.strings.get(device.name), "MNN");
        assert_eq!(trace.figures.value(), [6_980_000.0, 7_320_000.0, 8_100_000.0]);
        assert!(!looks_like(b"min = 3\nx min = 3 max = 4\n"));
    }
}
