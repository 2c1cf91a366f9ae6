//! The samples of sample profiles' scheduler of links, levels of bandwidth and quality of service.
//!
//! Sample number k is taken k + 1 intervals after the begin, and its values are simple functions of k.

use std::io;
use std::path::Path;

use opscope_cann_raw::Chip;
use opscope_cann_raw::device::MAGIC;
use opscope_cann_raw::links::{
    AcceleratorLevels, BandwidthLevels, ChipLink, DiePcie, DiePower, DieQuality, DieTraffic, QUALITIES,
    Quality, WideDieTraffic, function, link,
};
use opscope_cann_raw::samples::UnifiedBus;

use crate::synthetic::clockwork::Clockwork;
use crate::synthetic::hardware::{File, INTERVAL};

/// The events of the quality of service, as `sample.json` names them.
pub(super) const EVENTS: &str = "aicore,dvpp,sdma";

/// How many accelerators there are.
const ACCELERATORS: u16 = 3;

/// Writes the samples of the device of a number.
pub(super) fn write(
    directory: &Path,
    number: usize,
    chip: Chip,
    clockwork: Clockwork,
    samples: u64,
) -> io::Result<()> {
    if !chip.has_stars() {
        return Ok(());
    }
    let mut profile = File::new(directory, &format!("stars_soc_profile.data.{number}"));
    let mut bus = File::new(directory, &format!("ub.data.{number}"));
    let mut quality = File::new(directory, &format!("qos.data.{number}"));
    for k in 0..samples {
        let time = clockwork.device((k + 1) * INTERVAL);
        let small = k as u32;
        for accelerator in 0..ACCELERATORS {
            let level = k + u64::from(accelerator);
            profile.put(&AcceleratorLevels {
                word: function::ACCELERATOR,
                magic: MAGIC,
                time,
                accelerator,
                write_bandwidth: level,
                read_bandwidth: level + 10,
                outstanding_writes: level + 20,
                outstanding_reads: level + 30,
            })?;
        }
        let [received, sent] =
            [1, 5].map(|first| [0, 1, 2, 3].map(|kind| (first + kind) * 1_000_000 + small));
        if chip.has_wide_task_ids() {
            for die in [0, 2] {
                let word = function::DIES as u8;
                profile.put(&WideDieTraffic { word, die: die << 2, magic: MAGIC, time, received, sent })?;
            }
            for die in 0..2 {
                let word = function::CHIP_LINK | die << 10;
                profile.put(&DiePcie { word, magic: MAGIC, time, written: 700 + k, read: 800 + k })?;
                let mut bandwidths = [0; QUALITIES];
                bandwidths[2..].iter_mut().for_each(|value| *value = small + u32::from(die));
                let word = function::QUALITY | die << 10;
                profile.put(&DieQuality { word, magic: MAGIC, time, bandwidths })?;
            }
            for die in 0..3 {
                // The third has no cores, and its readings mean something else.
                let mut readings = [0; 20];
                readings[DiePower::MEGAHERTZ] = if die < 2 { 1_650 - 50 * (k as u16 % 2) + die } else { 45 };
                let word = function::POWER | die << 10;
                profile.put(&DiePower { word, magic: MAGIC, time, readings })?;
            }
            for port in 0..2 {
                let (time, more) = ((k + 1) * INTERVAL / 1_000, u64::from(port));
                bus.put(&UnifiedBus { port, time, received: 40 + k + more, sent: 50 + k + more })?;
            }
            continue;
        }
        let levels = (k as u16 % 5) | (k as u16 % 200) << 3;
        profile.put(&BandwidthLevels { word: function::BANDWIDTH, magic: MAGIC, time, levels })?;
        for die in 0..2 {
            let word = function::DIES;
            profile.put(&DieTraffic { word, magic: MAGIC, time, die, received, sent })?;
        }
        for (kind, id) in [(link::PA, 4), (link::PCIE, 1)] {
            let word = function::CHIP_LINK | kind << 10;
            profile.put(&ChipLink { word, magic: MAGIC, time, id, received: 500 + k, sent: 600 + k })?;
        }
        let bandwidths = std::array::from_fn(|event| 100 * (event as u32 + 1) + small);
        quality.put(&Quality { time, bandwidths })?;
    }
    profile.finish()?;
    // On chips 15 and 16 the first file has the quality of service, and the others have no such bus.
    if chip.has_wide_task_ids() { bus.finish() } else { quality.finish() }
}
