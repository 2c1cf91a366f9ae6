//! The lanes of the timeline: which process of the viewer shows what, and in which order.

use crate::dialect::Dialect;
use crate::lane_choice::Layer;
use crate::quantities::INSTRUCTIONS;
use crate::timeline::event::{Events, Lane};
use opscope_cann_raw::Chip;

/// The process of devices' tasks, today and in 2022.
pub(super) const HARDWARE: [&str; 2] = ["Ascend Hardware", "Task Scheduler"];

/// The process of calls; in 2022 it was named after their libraries, separated by commas.
pub(super) const CALLS: &str = "CANN";

/// The processes of what happens within tasks on chips 15 and 16: work of the units for collective communication,
/// instructions of cores, parts of fused tasks, and blocks.
pub(super) const WITHIN_TASKS: [&str; 4] = ["CCU", INSTRUCTIONS, "Fusion Task", "Block Detail"];

/// The process of calls of the operating system.
pub(super) const OS_CALLS: &str = "OS Runtime API";

/// The libraries that only an Ascend timeline names: [`CALLS`] of 2022 has one of them at least.
pub(super) const ACL: &str = "AscendCL";
pub(super) const RUNTIME: &str = "Runtime";

/// The process of the program's ranges in 2022; today it has the program's name.
pub(super) const RANGES_OF_2022: &str = "MsprofTx";

/// The inferences: a process in a file of their own, where its number is that of the real process, and
/// otherwise the begin of the names of lanes of [`HARDWARE`].
pub(super) const STEPS: &str = "Step Trace";

/// The numbers that these layers have in every timeline.
pub(super) const PROGRAM_LAYER: u64 = 6;
pub(super) const CALLS_LAYER: u64 = 7;
pub(super) const HARDWARE_LAYER: u64 = 14;
const DPU_LAYER: u64 = 8;

/// The number that PyTorch's profiler gives [`HARDWARE`].
pub(super) const PYTORCH_HARDWARE_LAYER: u64 = 13;

/// How many layers there are.
const LAYERS: usize = Layer::OtherRecorders as usize + 1;

/// The number by which the viewer's process ids name the host.
const HOST: u64 = 31;

/// The numbers of the layers, which go into the viewer's process ids and give the order.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    pid: u64,
    dialect: Dialect,
    /// By layer; 0 for those that aren't shown.
    numbers: [u64; LAYERS],
    shown: Vec<Layer>,
    /// Whether layers have the names that they had in 2022.
    has_old_names: bool,
}

impl Lanes {
    /// The numbers of the layers that are shown. The accelerated reference has a fixed one for
    /// each; the other numbers those above 19 as they come, and layers that it passes over have the numbers
    /// behind.
    pub(super) fn new(dialect: Dialect, pid: u32, chip: Chip, shown: &[Layer]) -> Self {
        let mut next = 20;
        let mut number = |layer: Layer| match (layer, dialect) {
            // Above the program's ranges, with a number that the reference doesn't use.
            (Layer::OtherRecorders, _) => 5,
            (Layer::Program, _) => PROGRAM_LAYER,
            (Layer::Cann, _) => CALLS_LAYER,
            (Layer::Dpu, _) => DPU_LAYER,
            (Layer::Hardware, _) => HARDWARE_LAYER,
            (Layer::Frequency, _) => 15,
            (Layer::Communication, Dialect::Accelerated) => 16,
            (Layer::Communication, _) => 17,
            // The accelerated reference has no such lane, and communication in its place.
            (Layer::Voltage, Dialect::Accelerated) => 13,
            (Layer::Voltage, _) => 16,
            // The accelerated reference has no such lane, and data processing units in its place.
            (Layer::CoreUse, Dialect::Accelerated) if shown.contains(&Layer::Dpu) => 36,
            (Layer::CoreUse, Dialect::Accelerated) => DPU_LAYER,
            (Layer::HostCpu, _) => 9,
            (Layer::HostMemory, _) => 10,
            (Layer::HostNetwork, _) => 11,
            (Layer::HostDisk, _) => 12,
            (Layer::OsCalls, _) => 13,
            (Layer::NpuMemory, Dialect::Accelerated) => 17,
            (Layer::Ddr, Dialect::Accelerated) => 18,
            (Layer::Accelerators, Dialect::Accelerated) => 19,
            (Layer::Hccs, Dialect::Accelerated) => 20,
            (Layer::Nic, Dialect::Accelerated) => 21,
            (Layer::Roce, Dialect::Accelerated) => 22,
            (Layer::Pcie, Dialect::Accelerated) => 23,
            (Layer::Hbm, Dialect::Accelerated) => 24,
            (Layer::Bandwidths, Dialect::Accelerated) => 25,
            (Layer::ChipLinks, Dialect::Accelerated) => 26,
            (Layer::Llc, Dialect::Accelerated) => 27,
            (Layer::Dies, Dialect::Accelerated) => 28,
            (Layer::Quality, Dialect::Accelerated) => 29,
            (Layer::Ccu, Dialect::Accelerated) => 30,
            // More than the bits for it hold, as in the reference.
            (Layer::Instructions, Dialect::Accelerated) => 32,
            (Layer::UnifiedBus, Dialect::Accelerated) => 33,
            (Layer::Blocks, Dialect::Accelerated) => 34,
            (Layer::Fused, Dialect::Accelerated) => 35,
            (Layer::Fused, _) => 18,
            (Layer::Overlap, Dialect::Accelerated) => 31,
            _ => {
                next += 1;
                next - 1
            }
        };
        let mut numbers = [0; LAYERS];
        for passed_over in [false, true] {
            let layers = shown.iter().filter(|layer| is_passed_over(**layer, chip) == passed_over);
            layers.for_each(|&layer| numbers[layer as usize] = number(layer));
        }
        Self { pid: u64::from(pid), dialect, numbers, shown: shown.to_vec(), has_old_names: false }
    }

    /// The reference whose words are used.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The same with the names that layers had in 2022.
    pub(super) fn with_names_of_2022(self) -> Self {
        Self { has_old_names: true, ..self }
    }

    /// The name of a layer: the one that it has today, or the one that it had in 2022.
    pub(super) fn name_of<'a>(&self, today: &'a str, in_2022: &'a str) -> &'a str {
        if self.has_old_names { in_2022 } else { today }
    }

    /// The layers that are shown, in the order of their numbers.
    pub(super) fn shown(&self) -> &[Layer] {
        &self.shown
    }

    /// The viewer's process for a layer of a device, or of the host.
    pub(super) fn pid(&self, layer: Layer, device: Option<u32>) -> u64 {
        let number = self.numbers[layer as usize];
        self.pid << 10 | number << 5 | device.map_or(HOST, u64::from)
    }

    /// A lane of a layer.
    pub(super) fn lane(&self, layer: Layer, device: Option<u32>, tid: u64) -> Lane {
        Lane { pid: self.pid(layer, device), tid }
    }

    /// Names a layer, with a label that says where it runs.
    pub(super) fn name_layer(&self, events: &mut Events, layer: Layer, device: Option<u32>, name: &str) {
        let label = device.map_or_else(|| "CPU".to_owned(), |device| format!("NPU {device}"));
        self.name_layer_as(events, layer, device, name, &label);
    }

    /// As [`Lanes::name_layer`], with another label.
    pub(super) fn name_layer_as(
        &self,
        events: &mut Events,
        layer: Layer,
        device: Option<u32>,
        name: &str,
        label: &str,
    ) {
        let lane = self.lane(layer, device, 0);
        let number = self.numbers[layer as usize];
        events.metadata("process_name", lane, |args| {
            args.text("name", name);
        });
        events.metadata("process_labels", lane, |args| {
            args.text("labels", label);
        });
        events.metadata("process_sort_index", lane, |args| {
            args.integer("sort_index", number);
        });
    }
}

/// Whether the plain reference doesn't show a layer of a chip, of which the collector may have sampled it all the
/// same (`msconfig/data_parsers_config.py` there).
fn is_passed_over(layer: Layer, chip: Chip) -> bool {
    use Chip::*;
    let small = matches!(chip, V1_1_1 | V1_1_2 | V1_1_3);
    let wide = matches!(chip, V6_1_0 | V6_2_0);
    let of_2020 = matches!(chip, V3_1_0 | V3_2_0 | V3_3_0);
    match layer {
        Layer::Ddr => chip == V4_1_0 || wide,
        Layer::Nic => of_2020 || wide,
        Layer::Roce => of_2020 || small || wide,
        Layer::Pcie => small,
        Layer::Hccs => small || wide,
        Layer::Quality => chip != V4_1_0,
        Layer::NpuMemory => chip == V3_1_0,
        _ => false,
    }
}

/// Names a lane and gives its place among the others.
pub(super) fn name_lane(events: &mut Events, lane: Lane, name: &str, place: u64) {
    events.metadata("thread_name", lane, |args| {
        args.text("name", name);
    });
    events.metadata("thread_sort_index", lane, |args| {
        args.integer("sort_index", place);
    });
}

/// Begin and end of a slice as Perfetto's trace processor takes them from a timeline, where the end isn't
/// written.
pub(super) fn seen(start: i64, end: i64) -> (i64, i64) {
    let length = seen_time(end.saturating_sub(start));
    let start = seen_time(start);
    (start, start.saturating_add(length))
}

/// A time in nanoseconds as Perfetto's trace processor takes it from a timeline: microseconds in
/// double precision, which at present-day times go in steps of a quarter, and those times 1,000,
/// which go in steps of 256. So slices that touch may overlap for it.
fn seen_time(nanoseconds: i64) -> i64 {
    let micros = (nanoseconds / 1_000) as f64 + (nanoseconds % 1_000) as f64 / 1_000.0;
    let whole = micros as i64;
    match whole as f64 == micros {
        true => whole.saturating_mul(1_000),
        false => (micros * 1_000.0) as i64,
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::LanePacker;

    use super::*;

    #[test]
    fn times_are_taken_as_a_viewer_takes_them() {
        // As the trace processor showed them.
        for (time, shown) in [
            (1_760_000_000_001_950_750, 1_760_000_000_001_950_720),
            (1_760_000_000_002_095_050, 1_760_000_000_002_095_000),
            (1_760_000_000_002_099_660, 1_760_000_000_002_099_712),
            (500, 500),
            (289_740, 289_740),
        ] {
            assert_eq!(seen_time(time), shown, "{time}");
        }
        // A call within another, which a viewer takes to end later.
        let mut tracks = LanePacker::default();
        let places = [(2_095_050, 500), (2_095_150, 200)].map(|(start, length)| {
            let start = 1_760_000_000_000_000_000 + start;
            tracks.place(seen(start, start + length))
        });
        assert_eq!(places, [0, 1]);
    }

    #[test]
    fn process_ids_name_process_layer_and_device() {
        let lanes = Lanes::new(Dialect::Accelerated, 4_242, Chip::V4_1_0, &[Layer::Hardware, Layer::Cann]);
        assert_eq!(lanes.pid(Layer::Hardware, Some(0)), 4_344_256);
        assert_eq!(lanes.pid(Layer::Cann, None), 4_344_063);
        let of_units = Lanes::new(Dialect::Accelerated, 7, Chip::V6_1_0, &[Layer::CoreUse, Layer::Dpu]);
        assert_ne!(of_units.pid(Layer::CoreUse, Some(0)), of_units.pid(Layer::Dpu, Some(0)));
        let shown = [Layer::Hbm, Layer::Nic, Layer::NpuMemory, Layer::Overlap];
        let number = |chip, layer| {
            let lanes = Lanes::new(Dialect::Plain, 4_242, chip, &shown);
            lanes.pid(layer, Some(0)) >> 5 & 31
        };
        assert_eq!(shown.map(|layer| number(Chip::V2_1_0, layer)), [20, 21, 22, 23]);
        // The reference doesn't show the network cards of a 310P.
        assert_eq!(shown.map(|layer| number(Chip::V3_3_0, layer)), [20, 23, 21, 22]);
    }
}
