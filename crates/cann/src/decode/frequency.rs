//! Changes of the AI cores' frequency.

use opscope_cann_raw::samples::Frequencies;

use crate::decode::decode;
use crate::losses::{Losses, Reason};
use crate::slices::Stream;
use crate::tables::{FrequencyChange, FrequencyTable};

/// Decodes `lpmFreqConv.data`, in the order of the file.
pub(super) fn changes(streams: &[Stream], losses: &mut Losses) -> FrequencyTable {
    decode(streams, None, losses, |table: &mut FrequencyTable, raw: Frequencies, _| {
        let used = raw.changes.get(..raw.count as usize).ok_or(Reason::InvalidRecord)?;
        for change in used {
            table.push(FrequencyChange { time: change.time, megahertz: change.megahertz });
        }
        Ok(())
    })
}
