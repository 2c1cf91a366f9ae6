//! Ranks whose AI Cores ran slower than they can: `freq_analysis`.

use std::collections::BTreeSet;
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{each_row, whole};

use crate::error::PeerError;
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const IDLE: Table = Table {
    name: "FreeFrequencyRanks",
    columns: &[("rankId", Kind::Integer), ("aicoreFrequency", Kind::Text)],
    index: &["rankId"],
};

const ABNORMAL: Table = Table { name: "AbnormalFrequencyRanks", ..IDLE };

/// The frequencies, in MHz, of a device that does nothing and of one that works.
const USUAL: [i64; 2] = [800, 1800];

/// Writes the ranks with other frequencies than the usual one; returns whether there are any. Without, nothing is
/// written.
///
/// # Errors
/// When the result can't be written.
pub fn analyze(ranks: &Ranks, path: &Path) -> Result<bool, PeerError> {
    let (mut idle, mut abnormal) = (Vec::new(), Vec::new());
    let read = |collection: &Collection| {
        let mut frequencies = BTreeSet::new();
        ranks.read(collection, File::Profile, |database| {
            each_row(database, "AICORE_FREQ", &["freq"], |row| frequencies.extend(whole(row, 0)))
        });
        frequencies
    };
    let Ok(()) = ranks.each(read, |collection, frequencies| {
        let list: Vec<i64> = frequencies.into_iter().collect();
        let text = format!("[{}]", list.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
        match &list[..] {
            [] => {}
            [only] if *only == USUAL[1] => {}
            both if *both == USUAL => idle.push((collection.rank, text)),
            _ => abnormal.push((collection.rank, text)),
        }
        Ok::<_, std::convert::Infallible>(())
    });
    if idle.is_empty() && abnormal.is_empty() {
        return Ok(false);
    }
    Output::write(path, |output| {
        for (table, rows) in [(&IDLE, &idle), (&ABNORMAL, &abnormal)] {
            if !rows.is_empty() {
                let mut table = output.table(table)?;
                rows.iter().try_for_each(|(rank, text)| table.row((rank, text)))?;
            }
        }
        Ok(())
    })?;
    Ok(true)
}
