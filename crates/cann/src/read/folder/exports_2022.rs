//! Telling the tables of 2022 that sum up apart: each device, model and inference has its own, and many of them hold
//! the whole run.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use opscope_trace::Trace;

use super::mindspore::name_device;
use super::outputs::Outputs;
use crate::layout_2022;
use crate::read::tables::Stated;

/// A table by what its place and name tell, with its length and the hash of its bytes.
#[derive(PartialEq, Eq, Hash)]
struct Seen {
    kind: &'static str,
    device: Option<u32>,
    model: Option<String>,
    bytes: (usize, u64),
}

/// The tables that sum up, as far as they were read.
#[derive(Default)]
pub(super) struct Exports {
    several_devices: bool,
    seen: HashSet<Seen>,
    state: RandomState,
}

impl Exports {
    /// For the outputs of a folder.
    pub fn of(outputs: &Outputs) -> Self {
        let stated = outputs.stated.iter().map(|(_, path)| path);
        let devices: HashSet<u32> = stated
            .chain(&outputs.steps)
            .filter(|path| is_of_2022(path))
            .filter_map(|path| device_of(path))
            .collect();
        Self { several_devices: devices.len() > 1, ..Self::default() }
    }

    /// Whether an equal table of the same device and model was read before.
    pub fn repeats(&mut self, kind: Stated, path: &Path, text: &[u8]) -> bool {
        let seen = Seen {
            kind: kind.file(),
            // Tables of the host are the same for all devices.
            device: device_of_folder(path),
            model: numbers_of(path).and_then(|mut numbers| numbers.nth(1).map(str::to_owned)),
            bytes: (text.len(), self.state.hash_one(text)),
        };
        is_of_2022(path) && !self.seen.insert(seen)
    }

    /// Says in the figures of a table which device they are of, where there are several.
    pub fn name_device(&self, figures: &mut Trace, path: &Path) {
        if let Some(device) = device_of(path).filter(|_| self.several_devices && is_of_2022(path)) {
            name_device(figures, device);
        }
    }
}

/// Whether a table lies where those of 2022 do.
fn is_of_2022(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == layout_2022::TABLES)
}

/// The device that the folder of a table is of, or else its name: `acl_statistic_<device>_<model>_<iteration>.csv`.
fn device_of(path: &Path) -> Option<u32> {
    device_of_folder(path).or_else(|| numbers_of(path)?.next()?.parse().ok())
}

/// The device that the folder of a table is of: `device_<device>/summary`.
fn device_of_folder(path: &Path) -> Option<u32> {
    let folder = path.parent()?.parent()?.file_name()?.to_str()?;
    folder.strip_prefix("device_")?.parse().ok()
}

/// The numbers at the end of a table's name.
fn numbers_of(path: &Path) -> Option<impl Iterator<Item = &str>> {
    let name = path.file_stem()?.to_str()?;
    let begin = name.find(|letter: char| letter.is_ascii_digit())?;
    Some(name[begin..].split('_'))
}

#[cfg(test)]
mod tests {
    use opscope_formats::reading::Stop;

    use super::super::read_folder_until;

    const SUMMARY: &str =
        "Device_id,Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us)\n";

    /// The part, the step and the value of the figures that are called `total`, of two devices with two
    /// inferences whose tables all hold the whole run.
    fn totals() -> Vec<(String, String, f64)> {
        let place = tempfile::tempdir().unwrap();
        for (device, inference) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            let folder = place.path().join(format!("device_{device}/summary"));
            std::fs::create_dir_all(&folder).unwrap();
            let write = |name: &str, text: &str| {
                std::fs::write(folder.join(format!("{name}_{device}_1_{inference}.csv")), text).unwrap();
            };
            let task = format!("{device},conv{inference},Conv2D,AI_CORE,2,1043640017380.5,5\n");
            write("op_summary", &format!("{SUMMARY}{task}"));
            write(
                "step_trace",
                &format!("Iteration ID,Iteration End,Iteration Time(us)\n1,9,{}\n", 20 + device),
            );
            let calls = format!("run,ACL_MODEL,50,{},1,10,10,10,1,1\n", 10 + device);
            let headings = "Name,Type,Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Process ID,Thread ID";
            write("acl_statistic", &format!("{headings}\n{calls}"));
        }
        let trace = read_folder_until(place.path(), &Stop::default()).unwrap().trace;
        let text = |id| trace.strings.get(id).to_owned();
        let totals = trace.figures.iter().map(|(_, row)| row).filter(|row| text(row.name) == "total");
        totals.map(|row| (text(row.part), text(row.step), row.value)).collect()
    }

    #[test]
    fn sums_of_the_whole_run_are_taken_once_of_each_device_which_they_name() {
        let row = |part: &str, step: &str, value: f64| (part.to_owned(), step.to_owned(), value);
        assert_eq!(
            totals(),
            [
                row("device 0", "1", 20_000.0),
                row("device 1", "1", 21_000.0),
                row("device 0, ACL_MODEL", "", 10_000.0),
                row("device 1, ACL_MODEL", "", 11_000.0),
            ]
        );
    }
}
