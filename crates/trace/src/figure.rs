//! Figures that a profile's files state of whole steps, operations or operators, beside what was recorded one by one.

use crate::table::table;
use crate::{StringId, Trace, words};

words! {
    /// The things that figures are about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FigureTopic {
        /// The parts of a step's time: computing, communicating, free.
        Step = "step",
        /// A collective operation: where its time went.
        Collective = "collective",
        /// The bytes of a collective operation over one kind of link.
        Transport = "transport",
        /// The bytes that one rank sent to another.
        Link = "link",
        /// Memory that an operator of a framework took from the device.
        Allocation = "allocation",
        /// Memory of a module or operator that is held where a device holds most.
        PeakMemory = "peak-memory",
        /// Memory that a module or operator took over the whole recording, given back or not.
        TakenMemory = "taken-memory",
        /// Memory that a model's operators have by its plan.
        PlannedMemory = "planned-memory",
        /// Calls of a framework's operator.
        FrameworkCall = "framework-call",
        /// Executions of a type of operators.
        OperatorType = "operator-type",
        /// An operator in a step of the run.
        Operator = "operator",
        /// An operation that prepares data for the network.
        DataOperation = "data-operation",
        /// Calls of a function of the runtime's.
        HostCall = "host-call",
        /// A domain of what was recorded: the calls of an interface, or kernels.
        Domain = "domain",
        /// A cache while a task ran.
        Cache = "cache",
        /// A function of the program, by the samples of a profiler.
        Function = "function",
    }
}

table! {
    /// Figures that files state, in the order of the files.
    FigureTable,
    /// Names a row of the [`FigureTable`].
    FigureId,
    /// One stated figure.
    Figure {
        /// The kind of its subject.
        topic: FigureTopic,
        /// The file or table that states it.
        source: StringId,
        /// The step that it is about; empty where it is about the whole profile.
        step: StringId,
        /// Its subject, such as the name of an operation.
        subject: StringId,
        /// A part of the subject, such as a kind of link; empty for the whole.
        part: StringId,
        /// The quantity.
        name: StringId,
        /// The unit of the value, such as `ns` or `B`; empty for counts and ratios.
        unit: StringId,
        /// The value.
        value: f64,
    }
}

/// The subject of figures, before they are in a trace.
#[derive(Clone, Copy, Debug)]
pub struct FigureSubject<'t> {
    /// The kind of subject.
    pub topic: FigureTopic,
    /// The file or table that states the figures.
    pub source: &'t str,
    /// The step; empty for the whole profile.
    pub step: &'t str,
    /// The subject.
    pub subject: &'t str,
    /// A part of it; empty for the whole.
    pub part: &'t str,
}

impl Trace {
    /// Adds figures of one subject: quantity, unit and value of each. A value that is missing, infinite or no
    /// number is left out.
    pub fn push_figures(&mut self, about: FigureSubject<'_>, figures: &[(&str, &str, Option<f64>)]) {
        let FigureSubject { topic, source, step, subject, part } = about;
        let [source, step, subject, part] =
            [source, step, subject, part].map(|text| self.strings.intern(text));
        for &(name, unit, value) in figures {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let (name, unit) = (self.strings.intern(name), self.strings.intern(unit));
            self.figures.push(Figure { topic, source, step, subject, part, name, unit, value });
        }
    }
}
