//! The names of exported files, which carry the device, the model and the sample.
//!
//! | file | name |
//! |---|---|
//! | layers | `op_summary_{device}.{model}.{model id}.{batches}.{pictures}.{current picture}.{icache miss rate}.{frequency}.csv` |
//! | layer totals | `op_statistic_{device}_{model id}_{current picture}_{iteration}.csv` |
//! | call totals | `acl_statistic_{device}_{model id}_{iteration}.csv` |
//! | layer timeline | `task_time_{device}.{model}.{model id}.{batches}.json` |
//! | call timeline | `acl_{device}.{model}.{model id}.{batches}.json` |
//!
//! The guide's own example also names `acl_{device}_{model id}_{iteration}` and
//! `task_time_{device}_{model id}_{iteration}`, as JSON and as CSV; both forms are known.

use std::fmt;

/// The kind of an exported file, and the parts of its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileName {
    /// A table of layers with their counters.
    OpSummary(SampleName),
    /// Totals of layers.
    OpStatistic {
        /// The device.
        device: u32,
        /// The model's number.
        model_id: u64,
        /// Up to which picture it counts; the short form of the name doesn't say.
        picture: Option<u64>,
        /// The iteration.
        iteration: u64,
    },
    /// Totals of calls.
    AclStatistic {
        /// The device.
        device: u32,
        /// The model's number.
        model_id: u64,
        /// The iteration.
        iteration: u64,
    },
    /// A timeline of layers.
    TaskTime(TimelineName),
    /// A timeline of calls.
    Acl(TimelineName),
}

/// The parts of the name of a table of layers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampleName {
    /// The device.
    pub device: u32,
    /// The model's file without its extension; it may have dots.
    pub model: String,
    /// The model's number.
    pub model_id: u64,
    /// How many inputs an inference takes at once.
    pub batches: Option<u64>,
    /// How many pictures there are in all.
    pub pictures: Option<u64>,
    /// Up to which picture this sample goes.
    pub picture: Option<u64>,
    /// How often the instruction cache missed, as the name has it: a whole number, or one with decimals.
    pub icache_miss_rate: Option<String>,
    /// The processor's clock.
    pub frequency: Option<u64>,
    /// Whether the name can be divided in two ways: a rate with decimals takes the place of two fields.
    pub is_ambiguous: bool,
}

/// The parts of a timeline's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimelineName {
    /// The device.
    pub device: u32,
    /// The model's file without its extension; the short form doesn't say.
    pub model: Option<String>,
    /// The model's number.
    pub model_id: u64,
    /// How many inputs an inference takes at once, in the long form.
    pub batches: Option<u64>,
    /// The iteration, in the short form.
    pub iteration: Option<u64>,
}

impl FileName {
    /// Reads a name with its extension; `None` for a file that isn't one of these.
    pub fn parse(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        if !["csv", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
            return None;
        }
        // The longer prefix first: `acl_statistic_` begins with `acl_`.
        if let Some(rest) = stem.strip_prefix("op_summary_") {
            SampleName::parse(rest).map(Self::OpSummary)
        } else if let Some(rest) = stem.strip_prefix("op_statistic_") {
            Self::op_statistic(&numbers(rest)?)
        } else if let Some(rest) = stem.strip_prefix("acl_statistic_") {
            let [device, model_id, iteration] = numbers(rest)?[..] else { return None };
            Some(Self::AclStatistic { device: device.try_into().ok()?, model_id, iteration })
        } else if let Some(rest) = stem.strip_prefix("task_time_") {
            TimelineName::parse(rest).map(Self::TaskTime)
        } else {
            stem.strip_prefix("acl_").and_then(TimelineName::parse).map(Self::Acl)
        }
    }

    fn op_statistic(numbers: &[u64]) -> Option<Self> {
        let (device, model_id, picture, iteration) = match *numbers {
            [device, model_id, picture, iteration] => (device, model_id, Some(picture), iteration),
            [device, model_id, iteration] => (device, model_id, None, iteration),
            _ => return None,
        };
        Some(Self::OpStatistic { device: device.try_into().ok()?, model_id, picture, iteration })
    }

    /// The device that the file speaks of.
    pub fn device(&self) -> u32 {
        match self {
            Self::OpSummary(name) => name.device,
            Self::OpStatistic { device, .. } | Self::AclStatistic { device, .. } => *device,
            Self::TaskTime(name) | Self::Acl(name) => name.device,
        }
    }

    /// The number of the model that the file speaks of.
    pub fn model_id(&self) -> u64 {
        match self {
            Self::OpSummary(name) => name.model_id,
            Self::OpStatistic { model_id, .. } | Self::AclStatistic { model_id, .. } => *model_id,
            Self::TaskTime(name) | Self::Acl(name) => name.model_id,
        }
    }
}

impl SampleName {
    /// The numbers are taken from the right, because a model's name may have dots and digits. So may the
    /// rate: it has decimals where its last digits are no number by themselves, or where the other
    /// reading has more pictures done than there are.
    fn parse(text: &str) -> Option<Self> {
        let (device, rest) = text.split_once('.')?;
        let (rest, frequency) = rest.rsplit_once('.')?;
        let device = device.parse().ok()?;
        let frequency = number_or_nothing(frequency)?;
        let (before_whole, whole) = rest.rsplit_once('.')?;
        let read = |before, rate| Self::before_rate(device, before, rate, frequency);
        let of_decimals = before_whole.rsplit_once('.').and_then(|(before, _)| {
            let rate = &rest[before.len() + 1..];
            if is_rate(rate) { read(before, rate) } else { None }
        });
        let (of_whole, of_decimals) = match (read(before_whole, whole), of_decimals) {
            (Some(of_whole), Some(of_decimals)) => (of_whole, of_decimals),
            (one, other) => return one.or(other),
        };
        let is_possible = |name: &Self| name.picture.zip(name.pictures).is_none_or(|(done, all)| done <= all);
        let is_part = whole.len() > 1 && whole.starts_with('0');
        Some(match (is_possible(&of_whole) && !is_part, is_possible(&of_decimals)) {
            (_, false) => of_whole,
            (false, true) => of_decimals,
            // A sample is of a picture at least.
            (true, true) if of_whole.picture == Some(0) => Self { is_ambiguous: true, ..of_decimals },
            (true, true) => Self { is_ambiguous: true, ..of_whole },
        })
    }

    /// The fields before the rate.
    fn before_rate(device: u32, text: &str, rate: &str, frequency: Option<u64>) -> Option<Self> {
        let mut fields = text.rsplitn(5, '.');
        let mut number = || number_or_nothing(fields.next()?);
        let [picture, pictures, batches, model_id] = [number()?, number()?, number()?, number()?];
        let model = fields.next().filter(|model| !model.is_empty())?.to_owned();
        let rate = if is_rate(rate) { Some(rate) } else { number_or_nothing(rate)?.and(None) };
        Some(Self {
            device,
            model,
            model_id: model_id?,
            batches,
            pictures,
            picture,
            icache_miss_rate: rate.map(str::to_owned),
            frequency,
            is_ambiguous: false,
        })
    }
}

impl TimelineName {
    fn parse(text: &str) -> Option<Self> {
        if let Some([device, model_id, iteration]) =
            numbers(text).as_deref().and_then(|all| all.first_chunk())
        {
            if numbers(text)?.len() > 3 {
                return None;
            }
            let device = u32::try_from(*device).ok()?;
            let iteration = Some(*iteration);
            return Some(Self { device, model: None, model_id: *model_id, batches: None, iteration });
        }
        let (device, rest) = text.split_once('.')?;
        let mut fields = rest.rsplitn(3, '.');
        let [batches, model_id] = [number_or_nothing(fields.next()?)?, number_or_nothing(fields.next()?)?];
        let model = fields.next().filter(|model| !model.is_empty())?.to_owned();
        Some(Self {
            device: device.parse().ok()?,
            model: Some(model),
            model_id: model_id?,
            batches,
            iteration: None,
        })
    }
}

/// A number, or `N/A` in the place of one. A name with a slash can't be a file's, so tools write `NA`,
/// or nothing.
fn number_or_nothing(text: &str) -> Option<Option<u64>> {
    match text {
        "" | "NA" | "None" => Some(None),
        text => text.parse().ok().map(Some),
    }
}

/// Whether it is a number with decimals or without.
fn is_rate(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    [whole, decimals].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split('_').map(|number| number.parse().ok()).collect()
}

fn or_na(number: Option<u64>) -> String {
    number.map_or_else(|| "NA".to_owned(), |number| number.to_string())
}

impl fmt::Display for FileName {
    /// The name without an extension.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpSummary(name) => {
                let SampleName { device, model, model_id, .. } = name;
                write!(f, "op_summary_{device}.{model}.{model_id}")?;
                for number in [name.batches, name.pictures, name.picture] {
                    write!(f, ".{}", or_na(number))?;
                }
                let rate = name.icache_miss_rate.as_deref().unwrap_or("NA");
                write!(f, ".{rate}.{}", or_na(name.frequency))
            }
            Self::OpStatistic { device, model_id, picture: Some(picture), iteration } => {
                write!(f, "op_statistic_{device}_{model_id}_{picture}_{iteration}")
            }
            Self::OpStatistic { device, model_id, picture: None, iteration } => {
                write!(f, "op_statistic_{device}_{model_id}_{iteration}")
            }
            Self::AclStatistic { device, model_id, iteration } => {
                write!(f, "acl_statistic_{device}_{model_id}_{iteration}")
            }
            Self::TaskTime(name) => write!(f, "task_time_{name}"),
            Self::Acl(name) => write!(f, "acl_{name}"),
        }
    }
}

impl fmt::Display for TimelineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, model_id, batches, iteration, .. } = self;
        match &self.model {
            Some(model) => write!(f, "{device}.{model}.{model_id}.{}", or_na(*batches)),
            None => write!(f, "{device}_{model_id}_{}", iteration.unwrap_or(1)),
        }
    }
}

/// Whether a file with this name may be one that the vendor's tools export.
pub fn is_export(name: &str) -> bool {
    FileName::parse(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_layers_names_all_eight_fields_even_when_the_model_has_dots() {
        let name = FileName::parse("op_summary_0.yolo.v3.416x416.31.4.1000.200.12.600.csv").unwrap();
        let FileName::OpSummary(sample) = &name else { panic!("{name:?}") };
        assert_eq!(sample.model, "yolo.v3.416x416");
        assert_eq!((sample.device, sample.model_id, sample.batches), (0, 31, Some(4)));
        assert_eq!((sample.pictures, sample.picture), (Some(1000), Some(200)));
        assert_eq!((sample.icache_miss_rate.as_deref(), sample.frequency), (Some("12"), Some(600)));
        assert!(!sample.is_ambiguous);
        assert_eq!(name.to_string(), "op_summary_0.yolo.v3.416x416.31.4.1000.200.12.600");
    }

    #[test]
    fn a_miss_rate_with_decimals_moves_no_other_field() {
        for (text, model, pictures, rate, is_ambiguous) in [
            ("0.yolo.v4.mish.1.1.1.1.0.02.900", "yolo.v4.mish", (1, 1), "0.02", false),
            ("0.yolo.v4.mish.1.1.10.3.0.5.900", "yolo.v4.mish", (10, 3), "0.5", true),
            // Names lie, too.
            ("0.net.3.1.10.11.7.900", "net", (10, 11), "7", false),
            ("0.yolo.1.1.10.10.12.5.900", "yolo", (10, 10), "12.5", false),
            // Either 10 pictures of which 5 are done, and a rate of 3, or 10 of 20 and a rate of 5.3.
            ("0.net.2.1.1.20.10.5.3.900", "net.2.1", (10, 5), "3", true),
        ] {
            let name = FileName::parse(&format!("op_summary_{text}.csv")).unwrap();
            assert_eq!(name.to_string(), format!("op_summary_{text}"));
            let FileName::OpSummary(sample) = name else { panic!("{text}") };
            let found = (&*sample.model, sample.pictures, sample.picture);
            assert_eq!(found, (model, Some(pictures.0), Some(pictures.1)), "{text}");
            assert_eq!((sample.icache_miss_rate.as_deref(), sample.is_ambiguous), (Some(rate), is_ambiguous));
        }
    }

    #[test]
    fn both_forms_of_every_name_are_known() {
        let known = [
            "op_summary_0.kws-610-pro.31.1.1.0.NA.NA.csv",
            "op_statistic_0_31_200_1.csv",
            "op_statistic_0_31_1.json",
            "acl_statistic_0_31_1.csv",
            "task_time_0.resnet50.1.1.json",
            "task_time_0_1_1.json",
            "task_time_0_1_1.csv",
            "acl_0.resnet50.1.1.json",
            "acl_0_1_1.csv",
        ];
        for name in known {
            let parsed = FileName::parse(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(parsed.to_string(), name.rsplit_once('.').unwrap().0);
        }
        assert!(matches!(FileName::parse("acl_statistic_0_31_1.csv"), Some(FileName::AclStatistic { .. })));
        assert!(matches!(FileName::parse("acl_0.m.1.1.json"), Some(FileName::Acl(_))));
    }

    #[test]
    fn other_names_are_left_alone() {
        let others = [
            "op_summary_20250925171535.csv",
            "op_summary_0_1.csv",
            "op_summary_0.model.csv",
            "acl_statistic_x_1_1.csv",
            "acl_0_1_1.txt",
            "acl_0_1_1_1.json",
            "task_time_0.json",
            "acl.json",
            "",
        ];
        for name in others {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }
}
