//! The vendor's own files: tables of operators, calls, tasks and samples.

mod aicpu;
pub(crate) mod api_statistic;
mod cache;
mod cache_events;
mod ccu;
mod communication_statistic;
mod core_samples;
mod counters;
mod dp;
mod functions;
mod fusion_op;
mod host_usage;
mod media;
mod memory;
mod msprof_tx;
mod network;
mod op_memory;
mod op_statistic;
mod op_summary;
mod os_runtime_statistic;
mod readme;
pub(crate) mod sheet;
mod step_trace;
mod system;
mod task_time;
mod task_time_oldest;
mod traffic;

pub use readme::describe_results;

use crate::dialect::Dialect;
use crate::error::Result;
use crate::export::sheet::Sheet;
use crate::facts::cache_events::Holders;
use crate::facts::view::View;
use crate::options::SheetFormat;
use crate::parallel;
use crate::tables::Core;

/// Calls `save` with every table that has rows.
pub(crate) fn each_sheet(
    view: &View<'_>,
    format: SheetFormat,
    save: &mut dyn FnMut(&Sheet<'_>) -> Result<()>,
) -> Result<()> {
    type Prepare<'a> = &'a (dyn Fn() -> Option<Sheet<'a>> + Sync);
    let (ops, tasks) = parallel::join(|| view.op_tasks(), || view.tasks());
    // Tables of sums take long before the first row can be written.
    let prepare: [Prepare<'_>; 38] = [
        &|| op_summary::sheet(view, &ops, format),
        &|| op_statistic::sheet(view, &ops),
        &|| communication_statistic::sheet(view),
        &|| match view.dialect {
            Dialect::Oldest => task_time_oldest::sheet(view, &tasks),
            _ => task_time::sheet(view, &tasks),
        },
        &|| api_statistic::sheet(view),
        &|| step_trace::sheet(view),
        &|| msprof_tx::sheet(view, format),
        &|| aicpu::sheet(view),
        &|| dp::sheet(view),
        &|| fusion_op::sheet(view),
        &|| memory::npu_mem(view),
        &|| memory::hbm(view),
        &|| traffic::ddr(view),
        &|| traffic::llc(view),
        &|| cache_events::capacity(view, Holders::Ai),
        &|| cache_events::capacity(view, Holders::Control),
        &|| cache_events::bandwidth(view),
        &|| cache::l2_cache(view),
        &|| cache::soc_pmu(view),
        &|| traffic::pcie(view),
        &|| traffic::hccs(view),
        &|| network::nic(view),
        &|| network::roce(view),
        &|| op_memory::operator_memory(view),
        &|| op_memory::memory_record(view),
        &|| op_memory::npu_module_mem(view),
        &|| op_memory::static_op_mem(view),
        &|| core_samples::sheet(view, Core::Cube),
        &|| core_samples::sheet(view, Core::Vector),
        &|| media::sheet(view),
        &|| traffic::unified_bus(view),
        &|| ccu::missions(view),
        &|| ccu::channels(view),
        &|| system::cpu_usage(view),
        &|| system::process_cpu_usage(view),
        &|| system::sys_mem(view),
        &|| system::process_mem(view),
        &|| os_runtime_statistic::sheet(view),
    ];
    let sheets = parallel::map(&prepare, |prepare| prepare());
    let further = functions::sheets(view).into_iter().chain(host_usage::sheets(view));
    sheets.iter().flatten().try_for_each(&mut *save)?;
    further.collect::<Vec<_>>().iter().try_for_each(save)
}
