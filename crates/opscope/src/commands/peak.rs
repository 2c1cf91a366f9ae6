//! `opscope peak`: how fast this machine computes and moves bytes, and the roof for an analysis.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use opscope_analyze::Roofline;
use opscope_run::peak::Peaks;
use opscope_say::{say, word};
use opscope_trace::{DeviceKind, Trace, units};

use crate::exit::{Exit, UsageError};
use crate::report::peak::PeakReport;
use crate::terminal::{StepBar, Terminal};

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

    /// The device's peak of operations a second: 22TFLOPS, 150GFLOP/s
    #[arg(long, value_name = "RATE", value_parser = units::parse_flop_rate, requires = "peak_bandwidth")]
    peak_flops: Option<f64>,

    /// The device's peak of bytes a second: 1.2TB/s, 40GiB/s
    #[arg(long, value_name = "RATE", value_parser = units::parse_byte_rate, requires = "peak_flops")]
    peak_bandwidth: Option<f64>,

    /// Peaks that opscope peak --json measured on the machine of the profile
    #[arg(long, value_name = "FILE.json", conflicts_with = "peak_flops")]
    peak: Option<PathBuf>,
}

/// Measures and prints.
///
/// # Errors
/// When there is too little memory, or standard output can't take the answer.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let report =
        PeakReport::of(&measure(Duration::from_nanos(arguments.duration.0.unsigned_abs()), terminal)?);
    let text = match arguments.json {
        true => report.to_json().to_text()?,
        false => report.to_text(terminal.width()),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

fn measure(duration: Duration, terminal: &Terminal) -> anyhow::Result<Peaks> {
    let bar = StepBar::new(terminal);
    Ok(opscope_run::peak::measure(duration, &mut |step| bar.step(step))?)
}

impl CeilingArguments {
    /// The options as words of a command; rates are plain numbers.
    pub fn words(&self) -> Vec<String> {
        let rate = |rate: Option<f64>, unit: &str| rate.map(|rate| format!("{rate}{unit}"));
        let options = [
            ("--peak-flops", rate(self.peak_flops, "FLOPS")),
            ("--peak-bandwidth", rate(self.peak_bandwidth, "B/s")),
            ("--peak", self.peak.as_ref().map(|path| path.display().to_string())),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        self.roofline.then(|| "--roofline".to_owned()).into_iter().chain(given.flatten()).collect()
    }

    /// The roof, if one is asked for.
    ///
    /// # Errors
    /// When the profile is of another kind of machine than this and no peaks are given, or when they
    /// can't be read or measured.
    pub fn roofline(&self, trace: &Trace, terminal: &Terminal) -> anyhow::Result<Option<Roofline>> {
        if let (Some(flops), Some(bandwidth)) = (self.peak_flops, self.peak_bandwidth) {
            return Ok(Some(Roofline { flops, bandwidth }));
        }
        let threads = trace.run.threads;
        if let Some(path) = &self.peak {
            return Ok(Some(PeakReport::read(path)?.roofline(threads)));
        }
        if !self.roofline {
            return Ok(None);
        }
        let foreign =
            trace.devices.iter().find(|(_, device)| matches!(device.kind, DeviceKind::Gpu | DeviceKind::Npu));
        if let Some((_, device)) = foreign {
            let name = trace.strings.get(device.name);
            let name = if name.is_empty() { device.kind.name() } else { name };
            let text = say!(
                "the profile is of another device ({name}) than this machine's processor; give its peaks with \
                 --peak-flops and --peak-bandwidth"
            );
            return Err(UsageError(text).into());
        }
        terminal.note(word("measuring this machine's peaks; if the profile is from another, give its --peak-flops and --peak-bandwidth"));
        let report = PeakReport::of(&measure(Duration::from_secs(2), terminal)?);
        Ok(Some(report.roofline(threads)))
    }
}
