//! `ai_core_utilization` and `ai_vector_core_utilization`: what cores did over time.

use crate::export::sheet::Sheet;
use crate::facts::core_use::CoreTotals;
use crate::facts::view::View;
use crate::tables::Core;
use crate::text::numbers::python_round;

/// The columns whose ratio says that a core waits for its memory.
const BOUNDS: [[&str; 3]; 2] =
    [["mte2_ratio", "vec_ratio", "mac_ratio"], ["mte2_exe_ratio", "vec_exe_ratio", "mac_exe_ratio"]];

/// The lines of the table of a device: a name and the values, for each core and for the mean of all.
fn lines(totals: &CoreTotals<'_>) -> Vec<(String, Vec<f64>)> {
    let rounded = |values: Vec<f64>| values.into_iter().map(|value| python_round(value, 3)).collect();
    let mut lines: Vec<(String, Vec<f64>)> =
        totals.values().map(|(core, _, values)| (format!("Core{core}"), rounded(values))).collect();
    let mean = |column: usize| {
        let sum: f64 = lines.iter().map(|(_, values)| values[column]).sum();
        python_round(sum / lines.len() as f64, 3)
    };
    let means = (0..totals.names().count()).map(mean).collect();
    lines.push(("Average".to_owned(), means));
    if let Some(places) = bound_places(totals) {
        for (_, values) in &mut lines {
            let [mte2, vector, cube] = places.map(|place| values[place]);
            let busy = vector.max(cube);
            values.push(if busy > 0.0 { python_round(mte2 / busy, 3) } else { 0.0 });
        }
    }
    lines
}

/// Where the columns of [`BOUNDS`] are.
fn bound_places(totals: &CoreTotals<'_>) -> Option<[usize; 3]> {
    let place = |wanted: &str| totals.names().position(|name| name == wanted);
    BOUNDS.iter().find_map(|[mte2, vector, cube]| Some([place(mte2)?, place(vector)?, place(cube)?]))
}

/// The table of one kind of cores.
pub(crate) fn sheet<'a>(view: &'a View<'a>, core: Core) -> Option<Sheet<'a>> {
    let totals: Vec<CoreTotals<'_>> =
        view.devices.iter().filter_map(|device| CoreTotals::new(device.device, core)).collect();
    let first = totals.first()?;
    let mut headers = vec!["Device_id".to_owned(), "Core ID".to_owned()];
    headers.extend(first.names().map(str::to_owned));
    if bound_places(first).is_some() {
        headers.push("memory_bound".to_owned());
    }
    let width = headers.len() - 2;
    let of_device = |totals: &CoreTotals<'_>| {
        let id = totals.device.id;
        lines(totals).into_iter().map(move |(name, values)| (id, name, values)).collect::<Vec<_>>()
    };
    let lines: Vec<(u32, String, Vec<f64>)> = totals.iter().flat_map(of_device).collect();
    Some(Sheet {
        kind: match core {
            Core::Cube => "ai_core_utilization",
            Core::Vector => "ai_vector_core_utilization",
        },
        headers,
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, name, values) = &lines[index];
            row.integer(*device);
            row.text(name);
            for column in 0..width {
                // Another device may have counted another group.
                match values.get(column) {
                    Some(value) => row.float(*value),
                    None => row.missing(),
                }
            }
        }),
    })
}
