//! The peaks of a machine, as text and JSON, and the roof that they are for an analysis.

use std::path::Path;

use anyhow::{Context, bail};
use opscope_analyze::{BOUND_FROM, Roofline};
use opscope_run::peak::{Peaks, Rates};
use opscope_say::{say, word};
use opscope_trace::units;
use serde::{Deserialize, Serialize};

use super::{Envelope, Table, TableColumn, label};
use crate::terminal::{bold, printable};

/// The peaks of a machine, as `opscope peak --json` prints them.
#[derive(Debug, Deserialize, Serialize)]
pub struct PeakReport {
    processor: Option<String>,
    instructions: String,
    one_core: CoreReport,
    all_cores: CoreReport,
}

#[derive(Debug, Deserialize, Serialize)]
struct CoreReport {
    threads: usize,
    flops_per_second: f64,
    read_bytes_per_second: f64,
    fill_bytes_per_second: f64,
    copy_bytes_per_second: f64,
    /// The best of them.
    bytes_per_second: f64,
}

/// The version of the members.
const SCHEMA_VERSION: u32 = 1;

impl PeakReport {
    /// The report of what was measured.
    pub fn of(peaks: &Peaks) -> Self {
        let core = |rates: &Rates| CoreReport {
            threads: rates.threads,
            flops_per_second: rates.flops,
            read_bytes_per_second: rates.read,
            fill_bytes_per_second: rates.fill,
            copy_bytes_per_second: rates.copy,
            bytes_per_second: rates.bandwidth(),
        };
        Self {
            processor: peaks.processor.clone(),
            instructions: peaks.instructions.to_owned(),
            one_core: core(&peaks.one_core),
            all_cores: core(&peaks.all_cores),
        }
    }

    /// A row for one core and one for all of them.
    pub fn to_text(&self, width: Option<u16>) -> String {
        let processor = self.processor.as_deref().unwrap_or(word("this processor"));
        let mut text = format!("{} {}\n\n", bold(&printable(processor)), self.instructions);
        let columns = [
            TableColumn::number("threads"),
            TableColumn::number("computing"),
            TableColumn::number("reading"),
            TableColumn::number("filling"),
            TableColumn::number("copying"),
            TableColumn::number("ridge"),
        ];
        let mut table = Table::new(columns);
        for core in [&self.one_core, &self.all_cores] {
            table.row([
                core.threads.to_string(),
                units::flop_rate(core.flops_per_second),
                units::byte_rate(core.read_bytes_per_second),
                units::byte_rate(core.fill_bytes_per_second),
                units::byte_rate(core.copy_bytes_per_second),
                format!("{:.1} FLOP/B", core.flops_per_second / core.bytes_per_second),
            ]);
        }
        text.push_str(&table.to_text(width));
        text
    }

    /// The same for programs.
    pub fn to_json(&self) -> Envelope<&Self> {
        Envelope::new(SCHEMA_VERSION, self)
    }

    /// The roof for a profile of so many threads.
    pub fn roofline(&self, threads: Option<u32>) -> Roofline {
        let core = if threads == Some(1) { &self.one_core } else { &self.all_cores };
        Roofline { flops: core.flops_per_second, bandwidth: core.bytes_per_second }
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// When the file can't be read or is something else.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Stored {
            schema_version: u32,
            #[serde(flatten)]
            report: PeakReport,
        }
        let wrong = || say!("{}: this is not what opscope peak --json prints", path.display());
        let text =
            std::fs::read_to_string(path).with_context(|| say!("{}: cannot be read", path.display()))?;
        let Stored { schema_version, report } = serde_json::from_str(&text).with_context(wrong)?;
        let cores = [&report.one_core, &report.all_cores];
        let figures = cores.map(|core| [core.flops_per_second, core.bytes_per_second]);
        if schema_version != SCHEMA_VERSION || figures.iter().flatten().any(|figure| *figure <= 0.0) {
            bail!(wrong());
        }
        Ok(report)
    }
}

/// A line that says what operators are compared with.
pub fn roof_text(roof: &Roofline) -> String {
    say!(
        "{} {} and {}; from {:.1} operations a byte on, computing is the ceiling. What reaches {:.0} % of its \
         ceiling is bound by it; more than 100 % is the work of caches\n",
        label("roof", 9),
        units::flop_rate(roof.flops),
        units::byte_rate(roof.bandwidth),
        roof.ridge(),
        BOUND_FROM * 100.0,
    )
}
