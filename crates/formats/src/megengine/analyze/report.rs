//! The printed answer: the summary, and a table for the devices and one for the host.

use std::borrow::Cow;
use std::io::{self, Write};

use opscope_trace::{Span, StringId};

use super::grid::write_grid;
use super::numbers::{brief, fixed, percent};
use super::options::{EndKey, Options, Part};
use super::records::{Record, Side, Subject, copies, select, table, total};
use super::tabulate::{Cell, write_piped, write_simple};
use super::wrap::wrap;
use crate::megengine::{Profile, Shape};

/// How wide an operator's name may be before it goes on in the next line.
const NAME_WIDTH: usize = 30;

/// How many characters the bar of the largest value has.
const BAR: f64 = 15.0;

/// Everything that is printed, computed before the first byte of it is.
pub struct Report<'a> {
    profile: &'a Profile,
    options: &'a Options,
    device_total: Option<f64>,
    host_total: Option<f64>,
    device: Vec<Record>,
    host: Vec<Record>,
}

impl<'a> Report<'a> {
    /// Answers what the options ask.
    ///
    /// # Errors
    /// When there are rows to order by a column that doesn't exist.
    pub fn new(profile: &'a Profile, options: &'a Options) -> Result<Self, String> {
        let shows = |part| options.print_only.is_none_or(|only| only == part);
        let shows_host = shows(Part::Host) && (options.show_host || options.print_only.is_some());
        let selected = select(profile, options);
        let records = |side, shown: bool| match shown {
            true => table(profile, options, &selected, side),
            false => Ok(Vec::new()),
        };
        Ok(Self {
            profile,
            options,
            device_total: total(profile, Side::Device),
            host_total: total(profile, Side::Host),
            device: records(Side::Device, shows(Part::Device))?,
            host: records(Side::Host, shows_host)?,
        })
    }

    /// Prints it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.options.print_only {
            Some(Part::Summary) => self.write_summary(out),
            Some(Part::Device) => self.write_table(out, Side::Device),
            Some(Part::Host) => self.write_table(out, Side::Host),
            None => {
                self.write_summary(out)?;
                writeln!(out)?;
                self.write_table(out, Side::Device)?;
                if self.options.show_host {
                    writeln!(out)?;
                    self.write_table(out, Side::Host)?;
                }
                Ok(())
            }
        }
    }

    fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let total = |total: Option<f64>| total.map_or("N/A".into(), Cell::from);
        let mut rows = vec![
            vec!["total device time".into(), total(self.device_total)],
            vec!["total host time".into(), total(self.host_total)],
        ];
        if self.options.copy_time {
            for (name, key) in [("copy time", EndKey::End), ("copy wait time", EndKey::Kernel)] {
                let text = copies(self.profile, key).map_or("N/A".to_owned(), |(total, mean)| {
                    format!("tot={} avg={}", fixed(total, 4), fixed(mean, 4))
                });
                rows.push(vec![name.into(), text.into()]);
            }
        }
        match self.options.piped {
            true => write_piped(out, &["name", "value"], rows),
            false => write_simple(out, rows),
        }
    }

    fn write_table(&self, out: &mut dyn Write, side: Side) -> io::Result<()> {
        let (records, total, title) = match side {
            Side::Device => (&self.device, self.device_total, "device self time"),
            Side::Host => (&self.host, self.host_total, "host self time"),
        };
        // Without a total there is no record either.
        let total = total.unwrap_or(f64::NAN);
        if self.options.dump_only_opr {
            return self.write_names(out, records);
        }
        if self.options.piped {
            return self.write_pipes(out, records, total);
        }
        let mut cumulative = 0.0;
        let rows: Vec<[String; 9]> = records
            .iter()
            .enumerate()
            .map(|(number, record)| {
                cumulative += record.time;
                [
                    format!("#{number}\n{}\n{}", brief(record.time), percent(record.time / total)),
                    format!("{}\n{}", brief(cumulative), percent(cumulative / total)),
                    self.info(record).map(|line| wrapped(&line)).join("\n"),
                    scaled(
                        record.computation,
                        1000.0,
                        ["FLO", "KFLO", "MFLO", "GFLO", "TFLO", "PFLO", "EFLO", "ZFLO", "YFLO"],
                    ),
                    scaled(
                        record.flops(),
                        1000.0,
                        [
                            "FLOPS", "KFLOPS", "MFLOPS", "GFLOPS", "TFLOPS", "PFLOPS", "EFLOPS", "ZFLOPS",
                            "YFLOPS",
                        ],
                    ),
                    scaled(
                        record.memory,
                        1024.0,
                        ["byte", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"],
                    ),
                    scaled(
                        record.bandwidth(),
                        1024.0,
                        ["byte/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s", "EiB/s", "ZiB/s", "YiB/s"],
                    ),
                    self.shapes(record, true, "\n"),
                    self.shapes(record, false, "\n"),
                ]
            })
            .collect();
        let headers = [
            title,
            "cumulative",
            "operator info",
            "computation",
            "FLOPS",
            "memory",
            "bandwidth",
            "in_shapes",
            "out_shapes",
        ];
        write_grid(out, headers, &rows)
    }

    /// A line a record: name, type and id, for comparing two profiles line by line.
    fn write_names(&self, out: &mut dyn Write, records: &[Record]) -> io::Result<()> {
        for record in records {
            writeln!(out, "{}", self.info(record).join(" "))?;
        }
        if records.is_empty() { writeln!(out) } else { Ok(()) }
    }

    fn write_pipes(&self, out: &mut dyn Write, records: &[Record], total: f64) -> io::Result<()> {
        let longest = largest(records, |record| Some(record.time));
        let (fastest, widest) = (largest(records, Record::flops), largest(records, Record::bandwidth));
        let scaled =
            |value: Option<f64>, scale: f64| value.map_or("N/A".to_owned(), |value| fixed(value / scale, 1));
        let mut cumulative = 0.0;
        let mut rows = Vec::with_capacity(records.len());
        for (number, record) in records.iter().enumerate() {
            cumulative += record.time;
            let [first, second, third] = self.info(record).map(|text| text.into_owned().into());
            rows.push(vec![
                number.to_string().into(),
                brief(record.time).into(),
                percent(record.time / total).into(),
                bar(Some(record.time), longest).into(),
                cumulative.into(),
                (cumulative / total).into(),
                first,
                second,
                third,
                scaled(record.computation, 1e6).into(),
                scaled(record.flops(), 1e6).into(),
                bar(record.flops(), fastest).into(),
                scaled(record.memory, 1_048_576.0).into(),
                scaled(record.bandwidth(), 1_048_576.0).into(),
                bar(record.bandwidth(), widest).into(),
                self.shapes(record, true, ", ").into(),
                self.shapes(record, false, ", ").into(),
            ]);
        }
        let grouped = self.options.aggregate.is_some();
        let info =
            if grouped { ["opr type", "opr count", "opr id"] } else { ["opr name", "opr type", "opr id"] };
        let headers = [
            "#",
            "time",
            "ratio",
            "time bar",
            "cum-time",
            "cum-time ratio",
            info[0],
            info[1],
            info[2],
            "computation (MFLO)",
            "MFLOPS",
            "MFLOPS-bar",
            "memory (MB)",
            "bandwidth (MiB/s)",
            "bandwidth bar",
            "in_shapes",
            "out_shapes",
        ];
        write_piped(out, &headers, rows)
    }

    /// Name, type and id of an operator; type, count and no id of a group.
    fn info(&self, record: &Record) -> [Cow<'a, str>; 3] {
        let profile = self.profile;
        let symbol = |id: StringId| Cow::from(profile.symbols.get(id));
        match record.subject {
            Subject::Operator(at) => {
                let (id, operator) = profile.operators.at(at);
                [profile.string(operator.name), symbol(operator.op_type), id.text(&profile.symbols)]
            }
            Subject::Group { op_type, count } => {
                [op_type.map_or("all".into(), symbol), count.to_string().into(), "N/A".into()]
            }
        }
    }

    /// The shapes of a record's inputs or outputs, with the strides of inputs that have gaps.
    fn shapes(&self, record: &Record, inputs: bool, separator: &str) -> String {
        if let Subject::Group { .. } = record.subject {
            return "None".to_owned();
        }
        let (shapes, layouts) = match record.footprint(self.profile) {
            Some(footprint) if inputs => (footprint.in_shapes, footprint.in_layouts),
            Some(footprint) => (footprint.out_shapes, None),
            None => (None, None),
        };
        let Some(shapes) = shapes else { return "N/A".to_owned() };
        let list = |span: Span<Option<Shape>>| self.profile.shapes.get(span).iter().copied();
        let layouts = layouts.into_iter().flat_map(list).chain(std::iter::repeat(None));
        let texts = list(shapes).zip(layouts).map(|(shape, strides)| {
            let mut text = format!("{{{}}}", self.numbers(shape.unwrap_or_default()));
            if let Some(strides) = strides {
                text += &format!("\n -[{}]", self.numbers(strides));
            }
            text
        });
        texts.collect::<Vec<_>>().join(separator)
    }

    fn numbers(&self, shape: Shape) -> String {
        let numbers = self.profile.dimensions.get(shape).iter();
        numbers.map(i64::to_string).collect::<Vec<_>>().join(",")
    }
}

/// A line of an operator's info; what doesn't fit goes on in further lines, which are marked.
fn wrapped(line: &str) -> String {
    wrap(line, NAME_WIDTH).join("\n-  ")
}

/// A value divided by `step` until it is below it, above its unit.
///
/// The unit is not adjusted after rounding: 1023.999 KiB stays `1024.00`. Negative values and those
/// that aren't finite keep the plain unit.
fn scaled(value: Option<f64>, step: f64, units: [&str; 9]) -> String {
    let mut unit = 0;
    let Some(mut value) = value else { return format!("N/A\n{}", units[0]) };
    while value.is_finite() && value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{}\n{}", fixed(value, 2), units[unit])
}

/// The largest finite value of a column.
fn largest(records: &[Record], value: impl Fn(&Record) -> Option<f64>) -> f64 {
    let finite = records.iter().filter_map(value).filter(|value| value.is_finite());
    finite.fold(f64::NEG_INFINITY, f64::max)
}

/// A bar in proportion to the largest finite value; an infinite one is as long as the largest.
fn bar(value: Option<f64>, largest: f64) -> String {
    let length = match value {
        Some(f64::INFINITY) => BAR,
        Some(value) => value / largest * BAR,
        None => 0.0,
    };
    // Negative lengths and NaN, of 0/0, become 0.
    "#".repeat((length as usize).min(BAR as usize))
}
