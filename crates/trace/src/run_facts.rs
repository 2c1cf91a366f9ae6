//! The facts that a profile tells of the run as a whole: typed fields, each with the key that names it in
//! answers and files.

use std::fmt;

use crate::{ClockRelation, DataType, EngineName, Optimization, ProfileFormat, TaskWait, TimeBasis};

/// Declares the facts together with their keys, for both directions.
macro_rules! facts {
    (
        $(#[$struct_doc:meta])* pub struct $name:ident {
            $($(#[$fact_doc:meta])* $fact:ident: $type:ty = $key:literal,)+
        }
        remarks: $(#[$remarks_doc:meta])*
    ) => {
        $(#[$struct_doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$fact_doc])* pub $fact: $type,)+
            $(#[$remarks_doc])*
            pub remarks: Vec<(String, String)>,
        }

        impl $name {
            /// The facts that are known as keys and values, in the order of the fields.
            pub fn facts(&self) -> Vec<(String, FactValue)> {
                let mut facts = Vec::new();
                $(self.$fact.list($key, &mut facts);)+
                facts
            }

            /// Takes a fact in the form in which [`facts`](Self::facts) lists it; whether it is one.
            pub fn read_fact(&mut self, key: &str, text: &str) -> bool {
                $(self.$fact.read($key, key, text))||+
            }

            /// Takes from another trace's run what isn't known of this one.
            pub(crate) fn complete(&mut self, other: &Self) {
                $(if self.$fact == <$type>::default() {
                    self.$fact.clone_from(&other.$fact);
                })+
                for (key, value) in &other.remarks {
                    if self.remarks.iter().all(|(known, _)| known != key) {
                        self.remarks.push((key.clone(), value.clone()));
                    }
                }
            }
        }
    };
}

facts! {
    /// The facts that a profile tells of the run as a whole.
    ///
    /// A fact that isn't known is `None`, empty or the default.
    pub struct RunFacts {
        /// The engine that executed the model on the host's processors.
        engine: Option<EngineName> = "engine",
        /// The version of the engine.
        engine_version: Option<String> = "engine_version",
        /// How far the engine could rewrite the model.
        optimization: Option<Optimization> = "optimization",
        /// How many threads the engine could use for an operator.
        threads: Option<u32> = "threads",
        /// The seed of random inputs.
        seed: Option<u64> = "seed",
        /// The tensors that the model was fed with.
        inputs: Vec<RunInput> = "input ",
        /// How many AI cores the first device has.
        ai_cores: Option<u32> = "ai_cores",
        /// How many vector cores the first device has.
        vector_cores: Option<u32> = "vector_cores",
        /// The kind of profile.
        format: Option<ProfileFormat> = "format",
        /// The name of the directory that was recorded.
        profile: Option<String> = "profile",
        /// The product name of the devices' chip.
        chip: Option<String> = "chip",
        /// The name of the machine.
        host: Option<String> = "host",
        /// The release of CANN.
        cann: Option<String> = "cann",
        /// The vendor's name of the set of hardware counters that was recorded.
        counters: Option<String> = "counters",
        /// Whether times of host and devices can be compared.
        clocks: ClockRelation = "clock",
        /// Whether tasks' durations include their waits.
        waiting: TaskWait = "task_wait",
        /// The most memory that the process had resident.
        peak_memory: Option<Bytes> = "peak_memory",
        /// The most memory that the engine's plan has in use on its devices.
        planned_peak: Option<Bytes> = "peak_memory_bytes",
        /// The operator at which that is so.
        planned_peak_operator: Option<String> = "peak_memory_operator",
        /// The largest of the values that are in memory then, in words.
        planned_peak_owners: Option<String> = "peak_memory_owners",
        /// The resident memory once the model was loaded.
        memory_at_start: Option<Bytes> = "memory_at_start",
        /// Whether the user stopped the run early.
        interrupted: bool = "interrupted",
        /// How the host's calls were decoded, where that needs a word.
        calls: Option<String> = "calls",
        /// Where the times of layers come from.
        layer_times: TimeBasis = "times of layers",
        /// Where the times of calls come from.
        call_times: TimeBasis = "times of calls",
        /// Of how many runs the times are the mean, where a profile tells sums over several alone.
        summed_runs: Option<u64> = "summed_runs",
        /// Whether the times are means over runs whose number the profile doesn't tell.
        are_means: bool = "are_means",
        /// Who collected the profile.
        collector: Option<String> = "collector",
        /// A sentence on how the profile was decoded, where readers of results have to know.
        note: Option<String> = "note",
    }
    remarks:
    /// Everything else that the producer says, in its own keys and words: shown to people, interpreted by
    /// nothing.
}

impl RunFacts {
    /// Notes a remark; a key noted again keeps its place and takes the new value.
    pub fn remark(&mut self, key: &str, value: &str) {
        match self.remarks.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => value.clone_into(known),
            None => self.remarks.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Everything that is told to people: the facts, then the remarks.
    pub fn shown(&self) -> Vec<(String, FactValue)> {
        let remarks = self.remarks.iter().map(|(key, value)| (key.clone(), FactValue::Text(value.clone())));
        self.facts().into_iter().chain(remarks).collect()
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A tensor that a model was fed with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunInput {
    /// The input's name in the model.
    pub name: String,
    /// The type of its elements.
    pub data_type: DataType,
    /// Its dimensions; a scalar has none.
    pub shape: Vec<u64>,
}

impl RunInput {
    /// The value of an input with the text `float32 1x3x224x224`, or `int64 scalar`.
    fn parse(name: &str, text: &str) -> Option<Self> {
        let (data_type, shape) = text.split_once(' ')?;
        let shape = match shape {
            "scalar" => Vec::new(),
            shape => shape.split('x').map(|size| size.parse().ok()).collect::<Option<_>>()?,
        };
        Some(Self { name: name.to_owned(), data_type: DataType::from_name(data_type)?, shape })
    }
}

impl fmt::Display for RunInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let shape = if sizes.is_empty() { "scalar".to_owned() } else { sizes.join("x") };
        write!(f, "{} {shape}", self.data_type)
    }
}

/// The value of a fact; its `Display` is the text in files and in answers for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactValue {
    /// A word, a name or a sentence.
    Text(String),
    /// A number without a unit.
    Number(u64),
    /// A size in bytes.
    Bytes(u64),
}

impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Number(number) | Self::Bytes(number) => number.fmt(f),
        }
    }
}

/// A field of the facts.
trait Fact {
    /// Adds what is known under the field's key.
    fn list(&self, key: &str, facts: &mut Vec<(String, FactValue)>);

    /// Takes the text of `key` if that is the field's own; whether it is.
    fn read(&mut self, own_key: &str, key: &str, text: &str) -> bool;
}

/// A value that a fact may have.
trait Readable: Sized {
    fn value(&self) -> FactValue;
    fn read(text: &str) -> Option<Self>;
}

impl<Value: Readable> Fact for Option<Value> {
    fn list(&self, key: &str, facts: &mut Vec<(String, FactValue)>) {
        facts.extend(self.iter().map(|value| (key.to_owned(), value.value())));
    }

    fn read(&mut self, own_key: &str, key: &str, text: &str) -> bool {
        let read = Value::read(text).filter(|_| key == own_key);
        read.map(|value| *self = Some(value)).is_some()
    }
}

/// Boards are a source of their own in answers.
impl Fact for Option<ProfileFormat> {
    fn list(&self, key: &str, facts: &mut Vec<(String, FactValue)>) {
        let key = if *self == Some(ProfileFormat::Svp) { SOURCE } else { key };
        facts.extend(self.map(|format| (key.to_owned(), FactValue::Text(format.name().to_owned()))));
    }

    fn read(&mut self, own_key: &str, key: &str, text: &str) -> bool {
        let fits =
            |format: &ProfileFormat| key == if *format == ProfileFormat::Svp { SOURCE } else { own_key };
        ProfileFormat::from_name(text).filter(fits).map(|format| *self = Some(format)).is_some()
    }
}

/// The key under which boards are named.
const SOURCE: &str = "source";

impl Fact for bool {
    fn list(&self, key: &str, facts: &mut Vec<(String, FactValue)>) {
        facts.extend(self.then(|| (key.to_owned(), FactValue::Text("true".to_owned()))));
    }

    fn read(&mut self, own_key: &str, key: &str, text: &str) -> bool {
        let is_it = key == own_key && text == "true";
        *self |= is_it;
        is_it
    }
}

/// A pair for each input: the field's key is what their keys begin with.
impl Fact for Vec<RunInput> {
    fn list(&self, key: &str, facts: &mut Vec<(String, FactValue)>) {
        let pair = |input: &RunInput| (format!("{key}{}", input.name), FactValue::Text(input.to_string()));
        facts.extend(self.iter().map(pair));
    }

    fn read(&mut self, own_key: &str, key: &str, text: &str) -> bool {
        let read = key.strip_prefix(own_key).and_then(|name| RunInput::parse(name, text));
        read.map(|input| self.push(input)).is_some()
    }
}

impl Readable for String {
    fn value(&self) -> FactValue {
        FactValue::Text(self.clone())
    }

    fn read(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

macro_rules! readable_numbers {
    ($($number:ty)+) => {
        $(impl Readable for $number {
            fn value(&self) -> FactValue {
                FactValue::Number(u64::from(*self))
            }

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })+
    };
}
readable_numbers!(u32 u64);

impl Readable for Bytes {
    fn value(&self) -> FactValue {
        FactValue::Bytes(self.0)
    }

    fn read(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

macro_rules! readable_words {
    ($($word:ident)+) => {
        $(impl Readable for $word {
            fn value(&self) -> FactValue {
                FactValue::Text(self.name().to_owned())
            }

            fn read(text: &str) -> Option<Self> {
                Self::from_name(text)
            }
        })+
    };
}
readable_words!(EngineName Optimization);

/// Words whose default goes without saying.
macro_rules! default_words {
    ($($word:ident)+) => {
        $(impl Fact for $word {
            fn list(&self, key: &str, facts: &mut Vec<(String, FactValue)>) {
                if *self != Self::default() {
                    facts.push((key.to_owned(), FactValue::Text(self.name().to_owned())));
                }
            }

            fn read(&mut self, own_key: &str, key: &str, text: &str) -> bool {
                Self::from_name(text).filter(|_| key == own_key).map(|word| *self = word).is_some()
            }
        })+
    };
}
default_words!(ClockRelation TaskWait TimeBasis);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_that_is_listed_is_read_back_as_the_same_fact() {
        let facts = RunFacts {
            engine: Some(EngineName::Ort),
            engine_version: Some("1.22".to_owned()),
            optimization: Some(Optimization::Basic),
            threads: Some(4),
            seed: Some(u64::MAX),
            inputs: vec![
                RunInput { name: "x y".to_owned(), data_type: DataType::Float32, shape: vec![1, 3] },
                RunInput { name: String::new(), data_type: DataType::Int64, shape: Vec::new() },
            ],
            ai_cores: Some(20),
            vector_cores: Some(40),
            profile: Some("PROF_1".to_owned()),
            chip: Some("Ascend 910B".to_owned()),
            host: Some(String::new()),
            cann: Some("8.0.RC1".to_owned()),
            counters: Some("PipeUtilization".to_owned()),
            clocks: ClockRelation::Apart,
            waiting: TaskWait::Within,
            peak_memory: Some(Bytes(1)),
            planned_peak: Some(Bytes(2)),
            planned_peak_operator: Some("conv".to_owned()),
            planned_peak_owners: Some("conv (2 B)".to_owned()),
            memory_at_start: Some(Bytes(3)),
            interrupted: true,
            calls: Some("decoded".to_owned()),
            layer_times: TimeBasis::Durations,
            call_times: TimeBasis::Totals,
            summed_runs: Some(100),
            are_means: true,
            collector: Some("opscope".to_owned()),
            note: Some("a note".to_owned()),
            format: None,
            remarks: Vec::new(),
        };
        for format in ProfileFormat::ALL {
            let facts = RunFacts { format: Some(format), ..facts.clone() };
            let listed = facts.facts();
            // Two inputs stand under keys of their own.
            assert_eq!(listed.len(), 30);
            let mut read = RunFacts::default();
            assert!(listed.iter().all(|(key, value)| read.read_fact(key, &value.to_string())));
            assert_eq!(read, facts);
            let mut completed = RunFacts::default();
            completed.complete(&facts);
            assert_eq!(completed, facts);
        }
        assert!(RunFacts::default().facts().is_empty());
    }

    #[test]
    fn a_key_or_value_that_is_no_fact_is_left_to_the_remarks() {
        let mut facts = RunFacts::default();
        for (key, text) in [
            ("engine", "another"),
            ("Engine", "tract"),
            ("threads", "many"),
            ("format", "SVP"),
            ("source", "CANN"),
            ("input x", "float32 1y3"),
            ("interrupted", "maybe"),
        ] {
            assert!(!facts.read_fact(key, text), "{key}");
        }
        assert_eq!(facts, RunFacts::default());
        facts.remark("engine", "another");
        facts.remark("version", "1");
        facts.remark("engine", "a third");
        assert_eq!(facts.engine, None);
        let shown: Vec<_> = facts.shown().into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(shown, ["engine=a third", "version=1"]);
    }
}
