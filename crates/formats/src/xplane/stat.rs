//! The values beside events.

/// A value beside an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat<'a> {
    /// A whole number.
    Whole(i64),
    /// A number.
    Double(f64),
    /// A text.
    Text(&'a [u8]),
}

impl<'a> Stat<'a> {
    /// The text; nothing of a number.
    pub fn text(self) -> &'a [u8] {
        if let Self::Text(text) = self { text } else { &[] }
    }

    /// A whole number from 0.
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Whole(number) => u64::try_from(number).ok(),
            Self::Double(number) if number >= 0.0 && number < u64::MAX as f64 => Some(number as u64),
            Self::Double(_) => None,
            Self::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        }
    }
}

/// The meaning of a value beside an event, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatMeaning {
    Category,
    HloOp,
    /// The name of the module that an operator is of, and the number of its program: names of operators are those of one.
    Module,
    Program,
    /// The operator of TensorFlow, or the scope, of which the first counts.
    TfOp,
    Flops,
    Correlation,
    /// The number of a program's step (`jax.profiler.StepTraceAnnotation`).
    Step,
    /// None to opscope.
    Other,
}

impl StatMeaning {
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"hlo_category" => Self::Category,
            b"hlo_op" => Self::HloOp,
            b"hlo_module" => Self::Module,
            b"program_id" => Self::Program,
            b"tf_op" | b"name_scope" => Self::TfOp,
            b"flops" => Self::Flops,
            b"correlation_id" => Self::Correlation,
            b"step_num" => Self::Step,
            _ => Self::Other,
        }
    }
}

/// The values beside an event that mean something to opscope.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    pub category: &'a [u8],
    pub hlo_op: &'a [u8],
    pub module: &'a [u8],
    pub program: Option<u64>,
    pub tf_op: &'a [u8],
    pub flops: Option<u64>,
    pub correlation: Option<u64>,
    pub step: Option<u32>,
    /// Where an operator ran, which makes it one.
    pub is_operator: bool,
}

impl<'a> Known<'a> {
    pub fn take(&mut self, meaning: StatMeaning, stat: Stat<'a>) {
        match meaning {
            StatMeaning::Category => self.category = stat.text(),
            StatMeaning::HloOp => (self.hlo_op, self.is_operator) = (stat.text(), true),
            StatMeaning::Module => self.module = stat.text(),
            StatMeaning::Program => self.program = stat.number(),
            StatMeaning::TfOp if self.tf_op.is_empty() => self.tf_op = stat.text(),
            StatMeaning::Flops => self.flops = stat.number(),
            StatMeaning::Correlation => self.correlation = stat.number().filter(|number| *number != 0),
            StatMeaning::Step => self.step = stat.number().and_then(|number| number.try_into().ok()),
            StatMeaning::TfOp | StatMeaning::Other => {}
        }
    }

    /// Whether there is nothing but a correlation, so that all else is as the event's kind has it.
    pub fn is_of_kind(&self) -> bool {
        self.category.is_empty()
            && self.hlo_op.is_empty()
            && self.module.is_empty()
            && self.program.is_none()
            && self.tf_op.is_empty()
            && self.flops.is_none()
            && self.step.is_none()
            && !self.is_operator
    }

    /// These values, and of `common` those that are missing among them.
    pub fn or(self, common: &Self) -> Self {
        let text = |own: &'a [u8], common: &'a [u8]| if own.is_empty() { common } else { own };
        Self {
            category: text(self.category, common.category),
            hlo_op: text(self.hlo_op, common.hlo_op),
            module: text(self.module, common.module),
            program: self.program.or(common.program),
            tf_op: text(self.tf_op, common.tf_op),
            flops: self.flops.or(common.flops),
            correlation: self.correlation.or(common.correlation),
            step: self.step.or(common.step),
            is_operator: self.is_operator || common.is_operator,
        }
    }
}
