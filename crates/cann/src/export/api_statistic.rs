//! `api_statistic`: the calls of each layer of software, by name; `acl_statistic`: of AscendCL alone.

use std::collections::BTreeMap;

use opscope_cann_raw::host::level;

use crate::dialect::Dialect;
use crate::export::sheet::{Row, Sheet};
use crate::facts::calls::call_name;
use crate::facts::view::View;
use crate::headings::{api_statistic, owned};
use crate::kinds::level_name;
use crate::text::numbers;
use opscope_columns::Column;
use opscope_trace::NumberMap;

/// The table, or `None` if there are no calls.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    of_levels(view, "api_statistic", |_| true)
}

/// The table of the calls of AscendCL alone, which results of 2022 have.
pub(crate) fn acl_sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    of_levels(view, "acl_statistic", |level| level == level::ACL)
}

fn of_levels<'a>(view: &'a View<'a>, kind: &'static str, is_shown: fn(u16) -> bool) -> Option<Sheet<'a>> {
    // Calls are grouped by number first, because comparing names of millions takes long.
    let mut by_number: NumberMap<(u16, u64), (&str, Column<f64>)> = NumberMap::default();
    for call in view.joined.data.host.api.rows() {
        if !is_shown(call.level) || !view.counts_call(&call) {
            continue;
        }
        let number = if call.level == level::COMMUNICATION { call.item } else { u64::from(call.kind) };
        let group =
            by_number.entry((call.level, number)).or_insert_with(|| (call_name(view, &call), Column::new()));
        group.1.push(view.unrounded_host_duration(call.begin, call.end));
    }
    let mut groups: BTreeMap<(&str, u16), Column<f64>> = BTreeMap::new();
    // Sums depend on their order.
    let mut by_number: Vec<_> = by_number.into_iter().collect();
    by_number.sort_unstable_by_key(|(number, _)| *number);
    for ((level, _), (name, mut durations)) in by_number {
        groups.entry((name, level)).or_default().append(&mut durations);
    }
    let mut lines: Vec<(&str, u16, Column<f64>)> =
        groups.into_iter().map(|((name, level), durations)| (name, level, durations)).collect();
    let accelerated = view.dialect == Dialect::Accelerated;
    if !accelerated {
        lines.sort_by_key(|(name, level, _)| (*name, level_name(*level)));
    }
    let devices = view.devices_of_host_tables();
    (!lines.is_empty()).then(|| Sheet {
        kind,
        headers: owned(api_statistic::ALL),
        rows: lines.len() * devices.len(),
        write: Box::new(move |index, row| {
            let (device, (name, level, durations)) =
                (devices[index / lines.len()], &lines[index % lines.len()]);
            let count = durations.len() as f64;
            // The plain form goes on with what it has rounded, the accelerated one only with the average.
            let rounded = |value: f64| if accelerated { value } else { numbers::python_round(value, 3) };
            let sum = rounded(durations.iter().sum());
            let average = numbers::python_round(sum / count, 3);
            let deviations = durations.iter().map(|duration| duration - average);
            let variance = deviations.map(|deviation| rounded(deviation * deviation)).sum::<f64>() / count;
            let min = durations.iter().copied().fold(f64::INFINITY, f64::min);
            let max = durations.iter().copied().fold(0.0, f64::max);
            match device {
                Some(device) => row.integer(device),
                None => row.text("host"),
            }
            row.text(level_name(*level));
            row.text(name);
            let number = |row: &mut Row<'_>, value: f64| {
                let value = numbers::python_round(value, 3);
                row.number(|out| {
                    if accelerated {
                        numbers::push_trimmed(out, value)
                    } else {
                        numbers::push_float(out, value)
                    }
                });
            };
            number(row, sum);
            row.integer(durations.len());
            [average, min, max, variance].into_iter().for_each(|value| number(row, value));
        }),
    })
}
