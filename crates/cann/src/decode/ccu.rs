//! Work of the units for collective communication (CCU), and the host's notes on it.

use opscope_cann_raw::Record;
use opscope_cann_raw::ccu::{GroupInfo, Mission as RawMission, STATISTICS, WaitInfo, channels};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::slices::HOST_MAGIC;
use crate::tables::{
    CcuNotes, CcuTables, ChannelSample, ChannelTable, LoopNote, LoopNoteTable, Mission, MissionTable,
    WaitNote, WaitNoteTable,
};
use opscope_trace::{LossKind, Losses};

/// A record of statistics.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    bytes: [u8; STATISTICS],
}

impl Default for Statistics {
    fn default() -> Self {
        Self { bytes: [0; STATISTICS] }
    }
}

impl Record for Statistics {
    const SIZE: usize = STATISTICS;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { bytes: *bytes.first_chunk()? })
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[..STATISTICS].copy_from_slice(&self.bytes);
    }
}

/// Decodes the files of both units of a device.
pub(super) fn units(catalogue: &Catalogue, losses: &mut Losses) -> CcuTables {
    let mut tables = CcuTables::default();
    for unit in 0..2u8 {
        let streams = catalogue.streams(&format!("ccu{unit}.instr"));
        let mut missions = decode(streams, None, losses, |table: &mut MissionTable, raw: RawMission, _| {
            if raw.loop_end < raw.loop_start {
                return Err(LossKind::InvalidRecord);
            }
            table.push(Mission {
                task: u32::from(raw.task_high) << 16 | u32::from(raw.task_low),
                loop_instruction: raw.loop_instruction,
                loop_start: raw.loop_start,
                loop_end: raw.loop_end,
                wait_instruction: raw.wait_instruction,
                wait_start: raw.wait_start,
                arrivals: raw.arrivals,
            });
            Ok(())
        });
        tables.missions.append(&mut missions);
        let streams = catalogue.streams(&format!("ccu{unit}.stat"));
        let mut samples = decode(streams, None, losses, |table: &mut ChannelTable, raw: Statistics, _| {
            let all = channels(&raw.bytes).ok_or(LossKind::InvalidRecord)?;
            let used = (0..).zip(all).filter(|(_, delays)| delays.time != 0);
            used.for_each(|(channel, delays)| table.push(ChannelSample { unit, channel, delays }));
            Ok(())
        });
        tables.channels.append(&mut samples);
    }
    tables
}

/// Decodes the host's notes.
pub(super) fn notes(catalogue: &Catalogue, losses: &mut Losses) -> CcuNotes {
    let streams = catalogue.streams("additional.ccu_group_info");
    let loops = decode(streams, Some(HOST_MAGIC), losses, |table: &mut LoopNoteTable, raw: GroupInfo, _| {
        let GroupInfo { task, instruction, die, reduction, input, output, size, .. } = raw;
        table.push(LoopNote { task, instruction, die, reduction, input, output, size });
        Ok(())
    });
    let streams = catalogue.streams("additional.ccu_wait_signal_info");
    let waits = decode(streams, Some(HOST_MAGIC), losses, |table: &mut WaitNoteTable, raw: WaitInfo, _| {
        let WaitInfo { task, instruction, die, mask, mut channels, ranks, .. } = raw;
        for (channel, _) in channels.iter_mut().zip(ranks).filter(|(_, rank)| *rank == u32::MAX) {
            *channel = u16::MAX;
        }
        table.push(WaitNote { task, instruction, die, mask, channels });
        Ok(())
    });
    CcuNotes { loops, waits }
}
