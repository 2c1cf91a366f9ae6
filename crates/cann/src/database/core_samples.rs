//! `SAMPLE_PMU_TIMELINE` and `SAMPLE_PMU_SUMMARY`: what cores did over time.

use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::samples::begin;
use crate::database::schema;
use crate::facts::core_use::{CoreTotals, CoreUse, core_use};
use crate::facts::view::View;
use crate::tables::Core;

/// The kinds of cores, and their names here.
const KINDS: [(Core, &str); 2] = [(Core::Cube, "AIC"), (Core::Vector, "AIV")];

/// The rows of both tables.
pub(super) struct CoreSamples {
    /// Of which device and kind of core, and the cores' MHz.
    uses: Vec<(u32, usize, f64, CoreUse)>,
    totals: Vec<Total>,
}

/// A value of a core over the whole profile.
struct Total {
    device: u32,
    name: String,
    value: f64,
    core: u8,
    /// The place in [`KINDS`].
    kind: usize,
}

impl CoreSamples {
    /// The samples of the cores of all devices.
    pub(super) fn of_all(view: &View<'_>) -> Self {
        let (mut uses, mut totals) = (Vec::new(), Vec::new());
        for (device, kind) in view.devices.iter().flat_map(|device| [(device, 0), (device, 1)]) {
            let core_kind = KINDS[kind].0;
            let (id, megahertz) = (device.device.id, device.device.metadata.info.core_mhz.unwrap_or(0.0));
            let shown = core_use(device, core_kind).into_iter().filter(|used| used.time >= begin(device));
            uses.extend(shown.map(|used| (id, kind, megahertz, used)));
            let Some(of_device) = CoreTotals::new(device.device, core_kind) else { continue };
            let names: Vec<(String, f64)> = of_device.names().map(plain).collect();
            for (core, nanoseconds, values) in of_device.values() {
                let total =
                    |name: &str, value| Total { device: id, name: name.to_owned(), value, core, kind };
                totals.push(total("total_time", nanoseconds));
                totals
                    .extend(names.iter().zip(values).map(|((name, unit), value)| total(name, value * unit)));
            }
        }
        Self { uses, totals }
    }

    /// Writes both tables; one without rows is left out.
    pub(super) fn write<'a, W: Write + Seek + Send>(&'a self, out: &mut Output<'a, W>) -> io::Result<()> {
        if self.totals.is_empty() {
            return Ok(());
        }
        let kinds = KINDS.map(|(_, name)| i64::from(out.strings.add(name)));
        if !self.uses.is_empty() {
            out.table(&schema::SAMPLE_PMU_TIMELINE, self.uses.len(), |index, row| {
                let (device, kind, megahertz, used) = self.uses[index];
                row.integer(i64::from(device));
                row.integer(used.time);
                row.integer(i64::try_from(used.cycles).unwrap_or(i64::MAX));
                row.number(used.usage);
                row.number(megahertz);
                row.integer(i64::from(used.core));
                row.integer(kinds[kind]);
            })?;
        }
        let names: Vec<u32> = self.totals.iter().map(|total| out.strings.add(&total.name)).collect();
        out.table(&schema::SAMPLE_PMU_SUMMARY, self.totals.len(), |index, row| {
            let total = &self.totals[index];
            row.integer(i64::from(total.device));
            row.integer(i64::from(names[index]));
            row.number(total.value);
            row.integer(i64::from(total.core));
            row.integer(kinds[total.kind]);
        })
    }
}

/// A column's name without its unit, and how much a unit is in the database's units.
fn plain(name: &str) -> (String, f64) {
    const GIGABYTE: f64 = 1_073_741_824.0;
    match name.strip_suffix("(GB/s)") {
        Some(name) => (name.to_owned(), GIGABYTE),
        None => (name.to_owned(), 1.0),
    }
}
