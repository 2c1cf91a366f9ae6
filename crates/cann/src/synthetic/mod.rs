//! Writes sample profiles: raw directories like those of a real run, of any size.
//!
//! The profiles are made through the same record layouts that the decoders read, in constant
//! memory, and are the same for the same options. They serve benchmarks and tests; that decoding
//! is right is shown by profiles of other origin.

mod clockwork;
mod collective;
mod device;
mod dpu;
mod execution;
mod graph;
mod hardware;
mod host;
mod host_2022;
mod links;
mod machine;
mod metadata;
mod network;
mod options;
mod processors;
mod single_operators;
mod system;
mod wide;

pub use crate::synthetic::options::{SampleLayout, SampleMode, SampleOptions};
pub use crate::synthetic::single_operators::write_single_operators;

use std::io;
use std::path::{Path, PathBuf};

use opscope_files::{Unfinished, create_folder};

use crate::error::{Error, Result};
use crate::synthetic::clockwork::{Clockwork, Random};
use crate::synthetic::collective::Collectives;
use crate::synthetic::device::DeviceFiles;
use crate::synthetic::execution::{Execution, HostSide, Lane};
use crate::synthetic::host::HostFiles;
use crate::synthetic::host_2022::HostFiles2022;
use crate::synthetic::network::Network;

/// Writes a sample profile below `directory` and returns its path. When that fails, or the program
/// is stopped, nothing of it stays.
///
/// # Errors
/// If a directory or file can't be created or written; an existing profile of that name is one.
pub fn write_sample(directory: &Path, options: SampleOptions) -> Result<PathBuf> {
    let (name, host, devices) = match (options.layout, options.mode) {
        (SampleLayout::Job2022, _) => ("JOBSAMPLEAAAAAAAAAAAAAAAAAAAAAAA", "", vec![String::new()]),
        (_, mode) => {
            let count = if mode == SampleMode::Graph { graph::DEVICES } else { 1 };
            let devices = (0..count).map(|number| format!("device_{number}")).collect();
            ("PROF_000001_20251009085320000_SAMPLEAA", "host", devices)
        }
    };
    let profile = directory.join(name);
    if profile.exists() {
        let there = io::Error::new(io::ErrorKind::AlreadyExists, "it is there already");
        return Err(Error::io("write a sample profile to", &profile)(there));
    }
    if !options.is_possible() {
        let problem = "captured graphs and collective operations are of today's layout, graphs of the 310P, \
                       910B and 950 alone, collective operations of the 910B and 950";
        let impossible = io::Error::new(io::ErrorKind::Unsupported, problem);
        return Err(Error::io("write a sample profile to", &profile)(impossible));
    }
    let _unfinished = Unfinished::new(profile.clone());
    let host = profile.join(host);
    let devices: Vec<PathBuf> = devices.iter().map(|device| profile.join(device)).collect();
    let write = || -> io::Result<()> {
        let clockwork = Clockwork::new(options.chip);
        let network = Network::new(options.chip);
        let host_data = host.join("data");
        let device_data: Vec<PathBuf> = devices.iter().map(|device| device.join("data")).collect();
        create_folder(&host_data)?;
        device_data.iter().try_for_each(|data| create_folder(data))?;
        let new_device = |(number, data): (usize, &PathBuf)| {
            DeviceFiles::new(data, number, options.chip, clockwork, options.layout)
        };
        let mut device_sides: Vec<DeviceFiles> = device_data.iter().enumerate().map(new_device).collect();
        let end = match options.layout {
            SampleLayout::Current => {
                let mut host_side = HostFiles::new(&host_data, clockwork);
                let end = if options.mode == SampleMode::Graph {
                    graph::run(options, &network, &mut host_side, &mut device_sides)?
                } else {
                    let mut collectives = (options.mode == SampleMode::Collective)
                        .then(|| Collectives::new(&host_data, &device_data[0], options.chip, clockwork));
                    let end = run(
                        options,
                        &network,
                        &mut host_side,
                        &mut device_sides[0],
                        |host, device, time| match &mut collectives {
                            Some(collectives) => collectives.round(host, device, time),
                            None => Ok(time),
                        },
                    )?;
                    collectives.map_or(Ok(()), Collectives::finish)?;
                    end
                };
                Box::new(host_side).finish(&network)?;
                end
            }
            layout => {
                let mut host_side = HostFiles2022::new(&host_data, &device_data[0], clockwork, layout);
                let between = |_: &mut HostFiles2022, _: &mut DeviceFiles, time| Ok(time);
                let end = run(options, &network, &mut host_side, &mut device_sides[0], between)?;
                Box::new(host_side).finish(&network)?;
                end
            }
        };
        device_sides.into_iter().try_for_each(DeviceFiles::finish)?;
        if options.layout == SampleLayout::Current {
            hardware::write(&host_data, &device_data, options.chip, clockwork, &network, end)?;
        }
        metadata::write(&host, &devices, options, clockwork, end)
    };
    if let Err(problem) = write() {
        // An unfinished profile is of no use, and would be in the way of another try.
        let _ = std::fs::remove_dir_all(&profile);
        return Err(Error::io("write a sample profile to", &profile)(problem));
    }
    Ok(profile)
}

/// Executes the network until enough tasks ran, and `between` after each inference, which returns when what it
/// executes has ended; returns when all ended.
fn run<H: HostSide>(
    options: SampleOptions,
    network: &Network,
    host: &mut H,
    device: &mut DeviceFiles,
    mut between: impl FnMut(&mut H, &mut DeviceFiles, u64) -> io::Result<u64>,
) -> io::Result<u64> {
    let mut random = Random::new(options.seed);
    let ops = network.ops.len() as u64;
    // The first device task starts two milliseconds after the collection; loading comes before.
    let mut time = 2_000_000;
    if options.mode == SampleMode::Static {
        time = host.load(network, time)?;
    }
    let mut executed = 0;
    let mut inference = 0;
    while executed < options.tasks {
        inference += 1;
        let count = ops.min(options.tasks - executed);
        let begin = time;
        if options.mode == SampleMode::Static {
            device.model_start(begin, inference)?;
        }
        for op in 0..count as usize {
            let number = match options.mode {
                SampleMode::Static => op as u64 + 1,
                SampleMode::Dynamic | SampleMode::Graph | SampleMode::Collective => executed + op as u64,
            };
            time += 600 + random.below(900);
            let base = network.ops[op].nanoseconds;
            let duration = base + random.below(base / 8 + 1);
            let task =
                if options.chip.has_wide_task_ids() { number as u32 } else { u32::from(number as u16) };
            let execution = Execution { lane: Lane::FIRST, op, task, start: time, duration };
            if options.mode != SampleMode::Static {
                // Task numbers have 16 bits; that they start again is told on both sides.
                if task == 0 && number > 0 {
                    let flip = (number >> 16) as u16;
                    host.flip(execution, flip)?;
                    device.flip(execution, flip)?;
                }
                host.launch(network, execution, true)?;
            }
            device.execute(network, execution, &mut random)?;
            time += duration;
        }
        executed += count;
        time = between(host, device, time + 1_000)?;
        if options.mode == SampleMode::Static {
            device.model_end(time, inference)?;
            host.execute(begin, time, inference as u32)?;
            time += 100_000;
        }
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use opscope_cann_raw::Chip;

    use super::*;
    use crate::join::Joined;
    use crate::tables::HostTaskRow;
    use crate::{Data, discover};

    fn sample(chip: Chip, mode: SampleMode, tasks: u64) -> Joined {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options = SampleOptions { chip, tasks, mode, layout: SampleLayout::Current, seed: 1 };
        write_sample(directory.path(), options).expect("space on disk");
        let profile = discover(directory.path()).expect("a profile").remove(0);
        Joined::new(Data::load(profile).expect("a readable profile"))
    }

    #[test]
    fn every_sampled_task_is_found_with_its_operator_and_counters() {
        for chip in [Chip::V4_1_0, Chip::V2_1_0, Chip::V3_3_0, Chip::V1_1_0] {
            for mode in [SampleMode::Static, SampleMode::Dynamic] {
                let joined = sample(chip, mode, 100);
                let losses = joined.all_losses();
                assert!(losses.rows().is_empty(), "{chip:?} {mode:?}: {:?}", losses.rows());
                let device = &joined.devices[&0];
                assert_eq!(device.matches.host_of.len(), 100, "{chip:?} {mode:?}");
                let counted = device.counters.cube.iter().zip(&device.counters.vector);
                let without = counted.filter(|(cube, vector)| cube.is_none() && vector.is_none()).count();
                assert_eq!(without, 0, "{chip:?} {mode:?}");
            }
        }
    }

    #[test]
    fn every_sampled_task_of_a_captured_graph_is_found_with_its_operator_and_graph() {
        for chip in [Chip::V3_2_0, Chip::V3_3_0, Chip::V4_1_0, Chip::V6_1_0, Chip::V6_2_0] {
            let joined = sample(chip, SampleMode::Graph, 1_000);
            assert!(joined.all_losses().rows().is_empty(), "{chip:?}: {:?}", joined.all_losses().rows());
            assert_eq!(joined.devices.len(), 2);
            for device in joined.devices.values() {
                let hosts = device.matches.host_of.iter().map(|host| host.expect("a host task"));
                let hosts: Vec<_> = hosts.map(|host| joined.host_tasks.row(host.index())).collect();
                assert_eq!(hosts.len(), 500, "{chip:?}");
                let graphs = hosts.iter().filter(|host| host.captured);
                assert!(graphs.clone().count() > 400, "{chip:?}");
                assert!(graphs.clone().all(|host| [101, 102].contains(&host.model)), "{chip:?}");
                let unknown = graphs.filter(|host| host.node.is_none() && host.kernel != 0).count();
                assert_eq!(unknown, 0, "{chip:?}");
            }
        }
    }

    #[test]
    fn wrapped_task_numbers_are_told_apart() {
        let joined = sample(Chip::V4_1_0, SampleMode::Dynamic, 140_000);
        let matches = &joined.devices[&0].matches;
        assert!(joined.all_losses().rows().is_empty(), "{:?}", joined.all_losses().rows());
        assert!(
            matches.host_of.iter().enumerate().all(|(task, host)| host.map(HostTaskRow::index) == Some(task))
        );
        assert_eq!(joined.data.devices[&0].tables.tasks.batch().last(), Some(&2));
    }

    #[test]
    fn task_numbers_beyond_sixteen_bits_are_whole_where_records_have_room_for_them() {
        for chip in [Chip::V6_1_0, Chip::V6_2_0] {
            let joined = sample(chip, SampleMode::Dynamic, 200_000);
            assert!(joined.all_losses().rows().is_empty(), "{chip:?}: {:?}", joined.all_losses().rows());
            let (tasks, matches) = (&joined.data.devices[&0].tables.tasks, &joined.devices[&0].matches);
            let numbers: std::collections::HashSet<u32> = tasks.task().iter().copied().collect();
            assert_eq!((tasks.len(), numbers.len()), (200_000, 200_000), "{chip:?}");
            assert!(
                matches
                    .host_of
                    .iter()
                    .enumerate()
                    .all(|(task, host)| host.map(HostTaskRow::index) == Some(task)),
                "{chip:?}"
            );
            let counters = &joined.devices[&0].counters;
            let counted = counters.cube.iter().zip(&counters.vector);
            let without = counted.filter(|(cube, vector)| cube.is_none() && vector.is_none()).count();
            assert_eq!(without, 0, "{chip:?}");
        }
    }

    #[test]
    fn the_collection_is_described_with_all_that_the_accelerated_reference_asks_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mode, layout) = (SampleMode::Dynamic, SampleLayout::Current);
        let options = SampleOptions { chip: Chip::V4_1_0, tasks: 1, mode, layout, seed: 1 };
        let profile = write_sample(directory.path(), options).expect("space on disk");
        let text = std::fs::read_to_string(profile.join("device_0/sample.json")).expect("the description");
        let sample: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for core in ["ai_core", "aiv"] {
            for key in ["profiling", "metrics", "profiling_events", "profiling_mode"] {
                assert!(sample[format!("{core}_{key}")].is_string(), "{core} {key}");
            }
        }
        for key in ["aicore_sampling_interval", "aiv_sampling_interval"] {
            assert!(sample[key].is_u64(), "{key}");
        }
    }

    #[test]
    fn the_same_options_give_the_same_bytes() {
        let bytes = || {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let (mode, layout) = (SampleMode::Dynamic, SampleLayout::Current);
            let options = SampleOptions { chip: Chip::V4_1_0, tasks: 50, mode, layout, seed: 7 };
            let profile = write_sample(directory.path(), options).expect("space on disk");
            std::fs::read(profile.join("device_0/data/ffts_profile.data.0.slice_0")).expect("counters")
        };
        assert_eq!(bytes(), bytes());
    }
}
