//! `ccu_mission` and `ccu_channel`: work of the units for collective communication, and how quick their channels
//! are.

use crate::export::sheet::{Row, Sheet};
use crate::facts::ccu::{arrivals, channel_rate, host_streams};
use crate::facts::view::{DeviceView, View};
use crate::headings::{owned, written};
use crate::tables::{ChannelSample, Mission};
use crate::text::numbers::{push_float, python_round};

/// A row of the table of loops and waits.
struct Line<'a> {
    device: &'a DeviceView<'a>,
    stream: u16,
    mission: Mission,
    /// Of a wait for a rank: the rank, and the ticks at which it arrived.
    arrival: Option<(u8, u64)>,
}

/// The table of loops and waits; a wait has a row for each rank.
pub(crate) fn missions<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for device in &view.devices {
        let streams = host_streams(view, device);
        for mission in device.device.tables.ccu.missions.rows() {
            let stream = streams.get(&mission.task).copied().unwrap_or(u16::MAX);
            if mission.wait_start == 0 {
                lines.push(Line { device, stream, mission, arrival: None });
            } else {
                let line = |arrival| Line { device, stream, mission, arrival: Some(arrival) };
                lines.extend(arrivals(&mission).map(line));
            }
        }
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "ccu_mission",
        headers: owned(&written::CCU_MISSION),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let Line { device, stream, mission, arrival } = &lines[index];
            row.integer(device.device.id);
            row.integer(*stream);
            row.integer(mission.task);
            row.integer(mission.loop_instruction);
            match mission.loop_start {
                0 => ["N/A"; 2].iter().for_each(|cell| row.text(cell)),
                start => {
                    row.time(device.time(start));
                    duration(device, row, mission.loop_end.saturating_sub(start));
                }
            }
            row.integer(mission.wait_instruction);
            match arrival {
                None => ["N/A"; 2].iter().for_each(|cell| row.text(cell)),
                Some((rank, time)) => {
                    row.integer(*rank);
                    duration(device, row, time.saturating_sub(mission.wait_start));
                }
            }
        }),
    })
}

/// Microseconds of ticks, with a tab behind them as times have it.
fn duration(device: &DeviceView<'_>, row: &mut Row<'_>, ticks: u64) {
    let mut text = Vec::new();
    push_float(&mut text, device.device.clock.duration_micros_f64(ticks));
    text.push(b'\t');
    row.text(&String::from_utf8_lossy(&text));
}

/// The table of the channels' rates.
pub(crate) fn channels<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &'a DeviceView<'a>| {
        device.device.tables.ccu.channels.rows().map(move |sample| (device, sample))
    };
    let lines: Vec<(&DeviceView<'_>, ChannelSample)> = view.devices.iter().flat_map(of_device).collect();
    (!lines.is_empty()).then(|| Sheet {
        kind: "ccu_channel",
        headers: owned(&written::CCU_CHANNEL),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, ChannelSample { channel, delays, .. }) = lines[index];
            row.integer(device.device.id);
            row.integer(channel);
            row.time(device.time(delays.time));
            // The shortest delay is the highest rate.
            for ticks in [delays.shortest, delays.longest, delays.mean] {
                match channel_rate(device, ticks) {
                    0.0 => row.integer(0u32),
                    rate => row.float(python_round(rate, 3)),
                }
            }
        }),
    })
}
