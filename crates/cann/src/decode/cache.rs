//! Counters of caches and the address translation for each task.

use opscope_cann_raw::cache::{CacheCounters, SocCounters, WideSocCounters, unit};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::metadata::Metadata;
use crate::metrics::cache_rates::CacheRates;
use crate::tables::{DeviceTables, TaskEvents, TaskEventsTable};
use opscope_trace::{LossKind, Losses};

/// Counters of the cache, and of the translation.
type Both = (TaskEventsTable, TaskEventsTable);

/// Decodes both files on chips whose events are known; elsewhere they stay unread.
pub(super) fn decode_caches(catalogue: &Catalogue, metadata: &Metadata, tables: &mut DeviceTables) {
    let chip = metadata.chip();
    let DeviceTables { cache, translation, losses, .. } = tables;
    let of_cache = CacheRates::of_cache(chip);
    if of_cache.is_some() {
        *cache = decode(
            catalogue.streams("l2_cache.data"),
            None,
            losses,
            |table: &mut TaskEventsTable, raw: CacheCounters, _| {
                let CacheCounters { stream, task, counters, .. } = raw;
                table.push(TaskEvents { stream, task: u32::from(task), counters });
                Ok(())
            },
        );
    }
    let of_translation = CacheRates::of_translation(chip);
    if of_translation.is_some() {
        let streams = catalogue.streams("socpmu.data");
        let (mut further, translated): Both = match chip.has_wide_task_ids() {
            true => decode(streams, None, losses, |both: &mut Both, raw: WideSocCounters, _| {
                let WideSocCounters { stream, task, counters, .. } = raw;
                sort(both, raw.unit, TaskEvents { stream, task, counters })
            }),
            false => decode(streams, None, losses, |both: &mut Both, raw: SocCounters, _| {
                let SocCounters { stream, task, counters, .. } = raw;
                sort(both, raw.unit, TaskEvents { stream, task: u32::from(task), counters })
            }),
        };
        cache.append(&mut further);
        *translation = translated;
    }
    let sample = &metadata.sample;
    expect(of_cache, cache, &sample.cache_events, "l2CacheTaskProfilingEvents", losses);
    expect(of_translation, translation, &sample.translation_events, "npuEvents, SMMU", losses);
}

fn sort(both: &mut Both, counted: u16, row: TaskEvents) -> Result<(), LossKind> {
    match counted {
        unit::CACHE => both.0.push(row),
        unit::TRANSLATION => both.1.push(row),
        _ => return Err(LossKind::UnknownRecord),
    }
    Ok(())
}

/// Drops counters of which nobody knows what they count, and says so.
fn expect(
    rates: Option<CacheRates>,
    table: &mut TaskEventsTable,
    events: &[u32],
    option: &str,
    losses: &mut Losses,
) {
    if !table.is_empty() && !rates.is_some_and(|rates| rates.are_counted(events)) {
        losses.count(LossKind::MissingMetadata, &format!("sample.json, {option}"), 1);
        *table = TaskEventsTable::default();
    }
}
