//! `opscope peak`: how fast this machine computes and moves bytes, and the roof for an analysis.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use opscope_analyze::{BOUND_FROM, Roofline};
use opscope_run::peak::{Peaks, Rates};
use opscope_trace::{DeviceKind, Trace, units};
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, UsageError};
use crate::terminal::{Column, StepBar, Table, Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope peak
  opscope peak --json > peak.json
  opscope analyze run.db --roofline --peak peak.json

Arithmetic is measured with chains of fused multiplications and additions of 32-bit numbers in
registers, in the widest instructions that the processor has; memory by reading, filling and
copying arrays that no cache holds. A copy counts the bytes read and written. Each figure is the
best of several rounds. Nothing else should run meanwhile.";

/// The options of `opscope peak`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// How long to measure altogether: 500ms, 10s
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration, default_value = "3s")]
    duration: opscope_trace::Nanoseconds,

    /// Print JSON, which analyze --peak reads
    #[arg(long)]
    json: bool,
}

/// Options that give the peaks of a machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Roofline")]
pub struct CeilingArguments {
    /// Say of each operator whether computing or memory holds it back, and what share of its ceiling
    /// it reaches; this machine's peaks are measured unless others are given
    #[arg(long)]
    roofline: bool,

    /// The device's peak of operations a second: 22TFLOPS, 150GFLO/s
    #[arg(long, value_name = "RATE", value_parser = units::parse_flop_rate, requires = "peak_bandwidth")]
    peak_flops: Option<f64>,

    /// The device's peak of bytes a second: 1.2TB/s, 40GiB/s
    #[arg(long, value_name = "RATE", value_parser = units::parse_byte_rate, requires = "peak_flops")]
    peak_bandwidth: Option<f64>,

    /// Peaks that opscope peak --json measured on the machine of the profile
    #[arg(long, value_name = "FILE.json", conflicts_with = "peak_flops")]
    peak: Option<PathBuf>,
}

/// What `opscope peak --json` prints.
#[derive(Debug, Deserialize, Serialize)]
struct Report {
    schema_version: u32,
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

/// Rises when a member of the JSON changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

/// Measures and prints.
///
/// # Errors
/// When there is too little memory, or standard output can't take the answer.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let report = Report::of(&measure(Duration::from_nanos(arguments.duration.0.unsigned_abs()), terminal)?);
    let text = match arguments.json {
        true => format!("{}\n", serde_json::to_string_pretty(&report)?),
        false => report.to_text(terminal),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

fn measure(duration: Duration, terminal: &Terminal) -> anyhow::Result<Peaks> {
    let bar = StepBar::new(terminal);
    Ok(opscope_run::peak::measure(duration, &mut |step| bar.step(step))?)
}

impl Report {
    fn of(peaks: &Peaks) -> Self {
        let core = |rates: &Rates| CoreReport {
            threads: rates.threads,
            flops_per_second: rates.flops,
            read_bytes_per_second: rates.read,
            fill_bytes_per_second: rates.fill,
            copy_bytes_per_second: rates.copy,
            bytes_per_second: rates.bandwidth(),
        };
        Self {
            schema_version: SCHEMA_VERSION,
            processor: peaks.processor.clone(),
            instructions: peaks.instructions.to_owned(),
            one_core: core(&peaks.one_core),
            all_cores: core(&peaks.all_cores),
        }
    }

    fn to_text(&self, terminal: &Terminal) -> String {
        let processor = self.processor.as_deref().unwrap_or("this processor");
        let mut text = format!("{} {}\n\n", bold(processor), self.instructions);
        let columns = [
            Column::number("threads"),
            Column::number("computing"),
            Column::number("reading"),
            Column::number("filling"),
            Column::number("copying"),
            Column::number("ridge"),
        ];
        let mut table = Table::new(&columns, terminal.width());
        for core in [&self.one_core, &self.all_cores] {
            table.row([
                core.threads.to_string(),
                units::flop_rate(core.flops_per_second),
                units::byte_rate(core.read_bytes_per_second),
                units::byte_rate(core.fill_bytes_per_second),
                units::byte_rate(core.copy_bytes_per_second),
                format!("{:.1} FLO/B", core.flops_per_second / core.bytes_per_second),
            ]);
        }
        text.push_str(&table.render());
        text
    }

    fn roofline(&self, threads: Option<&str>) -> Roofline {
        let core = if threads == Some("1") { &self.one_core } else { &self.all_cores };
        Roofline { flops: core.flops_per_second, bandwidth: core.bytes_per_second }
    }
}

impl CeilingArguments {
    /// The roof, if one is asked for.
    ///
    /// # Errors
    /// When the profile is of another kind of machine than this and no peaks are given, or when they
    /// can't be read or measured.
    pub fn roofline(&self, trace: &Trace, terminal: &Terminal) -> anyhow::Result<Option<Roofline>> {
        if let (Some(flops), Some(bandwidth)) = (self.peak_flops, self.peak_bandwidth) {
            return Ok(Some(Roofline { flops, bandwidth }));
        }
        let threads = trace.property("threads");
        if let Some(path) = &self.peak {
            return Ok(Some(read(path)?.roofline(threads)));
        }
        if !self.roofline {
            return Ok(None);
        }
        let foreign =
            trace.devices.iter().find(|(_, device)| matches!(device.kind, DeviceKind::Gpu | DeviceKind::Npu));
        if let Some((_, device)) = foreign {
            let name = trace.strings.get(device.name);
            let name = if name.is_empty() { device.kind.name() } else { name };
            let text = format!(
                "the profile is of another device ({name}) than this machine's processor; give its peaks with \
                 --peak-flops and --peak-bandwidth"
            );
            return Err(UsageError(text).into());
        }
        terminal.note("measuring this machine's peaks; if the profile is from another, give its --peak-flops and --peak-bandwidth");
        let report = Report::of(&measure(Duration::from_secs(2), terminal)?);
        Ok(Some(report.roofline(threads)))
    }
}

fn read(path: &Path) -> anyhow::Result<Report> {
    let wrong = || format!("{}: this is not what opscope peak --json prints", path.display());
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let report: Report = serde_json::from_str(&text).with_context(wrong)?;
    let figures =
        [&report.one_core, &report.all_cores].map(|core| [core.flops_per_second, core.bytes_per_second]);
    if report.schema_version != SCHEMA_VERSION || figures.iter().flatten().any(|figure| *figure <= 0.0) {
        bail!(wrong());
    }
    Ok(report)
}

/// A line that says what operators are compared with.
pub fn roof_text(roof: &Roofline) -> String {
    format!(
        "{} {} and {}; from {:.1} operations a byte on, computing is the ceiling. What reaches {:.0} % of its \
         ceiling is bound by it; more than 100 % is the work of caches\n",
        bold("roof     "),
        units::flop_rate(roof.flops),
        units::byte_rate(roof.bandwidth),
        roof.ridge(),
        BOUND_FROM * 100.0,
    )
}
