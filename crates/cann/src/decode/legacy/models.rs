//! Models: their names, when they were loaded, and what was fused in them.

use std::collections::BTreeMap;

use opscope_cann_raw::host::level;
use opscope_cann_raw::legacy::{FusionOp, IdMap, ModelLoad, tag};

use crate::decode::api::sort_calls;
use crate::decode::legacy::records::{Source, hash_of_name, is_mixed_name, model_call, records};
use crate::tables::{Api, ApiTable, Fusion, HostTables, Model};

/// Adds the models, the calls that loaded them, and their fused operators.
pub(super) fn add(sources: &[Source<'_>], tables: &mut HostTables) {
    let is_possible = |map: &IdMap| map.tag == tag::ID_MAP;
    let maps = records(sources, &mut tables.losses, |name| name == "Framework.id_map_info", is_possible);
    let graphs: BTreeMap<u32, u32> = maps.into_iter().map(|(_, map)| (map.model, map.graph)).collect();
    loads(sources, &graphs, tables);
    fusions(sources, tables);
}

fn loads(sources: &[Source<'_>], graphs: &BTreeMap<u32, u32>, tables: &mut HostTables) {
    let is_possible = |load: &ModelLoad| {
        load.tag == tag::MODEL_LOAD && load.start <= load.end && is_mixed_name(load.name.get())
    };
    let is_stream = |name: &str| name.starts_with("Framework.model_load_info");
    let loads = records(sources, &mut tables.losses, is_stream, is_possible);
    let mut calls = Vec::with_capacity(loads.len());
    for (_, load) in loads {
        let name = hash_of_name(&mut tables.names, load.name.get());
        if !tables.models.model().contains(&load.model) {
            let graph = graphs.get(&load.model).copied().unwrap_or(0);
            tables.models.push(Model { model: load.model, graph, name });
        }
        if load.start > 0 {
            calls.push(Api {
                level: level::MODEL,
                kind: model_call::LOAD,
                thread: loading_thread(&tables.api, load.start, load.end),
                request: 0,
                begin: load.start,
                end: load.end,
                item: u64::from(load.model),
                from_events: true,
            });
        }
    }
    calls.into_iter().for_each(|call| tables.api.push(call));
    sort_calls(&mut tables.api);
}

/// The thread that loaded a model, which the record doesn't tell: that of the call around it, or
/// else of the first call at all.
fn loading_thread(api: &ApiTable, start: u64, end: u64) -> u32 {
    let contains = |row: &usize| api.begin()[*row] <= start && api.end()[*row] >= end;
    let began = api.begin().partition_point(|begin| *begin <= start);
    let around = (0..began).rev().find(contains);
    around.or((!api.is_empty()).then_some(0)).map_or(0, |row| api.thread()[row])
}

fn fusions(sources: &[Source<'_>], tables: &mut HostTables) {
    let is_possible = |fusion: &FusionOp| {
        fusion.tag == tag::FUSION_OP
            && fusion.count as usize <= fusion.originals.len()
            && is_mixed_name(fusion.name.get())
    };
    let is_stream = |name: &str| name.starts_with("Framework.fusion_op_info");
    for (_, raw) in records(sources, &mut tables.losses, is_stream, is_possible) {
        let start = tables.originals.len() as u32;
        tables.originals.extend(raw.originals.iter().take(raw.count as usize));
        let name = hash_of_name(&mut tables.names, raw.name.get());
        tables.described_fusion_models.push(u64::from(raw.model));
        tables.fusions.push(Fusion {
            thread: 0,
            time: 0,
            name,
            input_bytes: raw.input_bytes,
            output_bytes: raw.output_bytes,
            weight_bytes: raw.weight_bytes,
            workspace_bytes: raw.workspace_bytes,
            total_bytes: raw.total_bytes,
            start,
            count: raw.count,
        });
    }
}
