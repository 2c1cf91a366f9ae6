//! The functions that samples fell on, each once.

use opscope_trace::{ByteMap, FigureSubject, FigureTopic, LossKind, NumberMap, Trace};

/// Names a text of [`Texts`]; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct TextId(u32);

/// Texts, each once and in the order in which they were met.
#[derive(Debug, Default)]
struct Texts<'t> {
    known: ByteMap<&'t [u8], TextId>,
    all: Vec<&'t [u8]>,
}

impl<'t> Texts<'t> {
    fn id(&mut self, text: &'t [u8]) -> TextId {
        if text.is_empty() {
            return TextId::default();
        }
        *self.known.entry(text).or_insert_with(|| {
            self.all.push(text);
            TextId(self.all.len() as u32)
        })
    }

    fn get(&self, id: TextId) -> &'t [u8] {
        (id.0 as usize).checked_sub(1).map_or(&[], |index| self.all[index])
    }
}

/// A function of a program or library, in samples of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Function {
    event: TextId,
    name: TextId,
    library: TextId,
}

/// How often a function was met, by the weights of samples: most are whole numbers, but some tools write fractions.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Samples within itself.
    itself: f64,
    /// Samples within it or what it called.
    with_callees: f64,
    /// The last sample that counted for it: a function that calls itself counts once.
    last: u64,
}

/// The weights of an event's samples.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    all: f64,
    /// Of those within the function below which functions count.
    below: f64,
}

/// A weight to the thousandth: sums of fractions have further digits that nobody wrote.
fn rounded(weight: f64) -> f64 {
    (weight * 1e3).round() / 1e3
}

/// All functions, in the order in which they were met.
#[derive(Debug, Default)]
pub struct Functions<'t> {
    texts: Texts<'t>,
    known: NumberMap<Function, u32>,
    rows: Vec<(Function, Count)>,
    samples: u64,
    /// The event and weight of the present sample, and whether a function of it was met.
    event: TextId,
    weight: f64,
    is_innermost: bool,
    /// Samples that tell no function.
    without_function: u64,
    /// A part of the name of the function below which functions count, if not all do.
    below: Option<&'t str>,
    /// The stack of the present sample so far, where not all functions count.
    stack: Vec<(&'t [u8], &'t [u8])>,
    /// How much of each event is within the function.
    shares: NumberMap<TextId, Share>,
    /// Samples whose weight has a number before it, which counts as a part of the function's name.
    pub numbered: u64,
    /// How the weights of samples were understood, where that isn't plain.
    pub note: Option<&'static str>,
    /// Lines that are none of a sample.
    pub unreadable: u64,
    /// Samples and other records that the profiler says it had to drop, and how often it doesn't say how many.
    pub lost: u64,
    pub lost_without_number: u64,
    /// Whether the text ends where more may have stood of the last sample.
    pub is_open: bool,
    source: &'static str,
}

impl<'t> Functions<'t> {
    /// None yet; `source` says in words where they come from. With a text those only count that are a function with
    /// it in its name, or that such a one called.
    pub fn below(source: &'static str, below: Option<&'t str>) -> Self {
        Self { source, below, ..Self::default() }
    }

    /// Whether no sample was met.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Begins a sample, or so many that are alike.
    pub fn begin(&mut self, event: &'t [u8], weight: f64) {
        self.close();
        self.samples += 1;
        (self.event, self.weight, self.is_innermost) = (self.texts.id(event), weight, true);
    }

    fn close(&mut self) {
        self.count_stack();
        if std::mem::take(&mut self.is_innermost) {
            self.without_function += 1;
        }
    }

    /// Counts the functions of the present sample up to the outermost one that is asked for, if it is there.
    fn count_stack(&mut self) {
        let (Some(below), true) = (self.below, self.is_innermost) else { return };
        let stack = std::mem::take(&mut self.stack);
        let is_asked = |(name, _): &(&[u8], &[u8])| {
            name.windows(below.len().max(1)).any(|part| part == below.as_bytes())
        };
        let outermost = stack.iter().rposition(is_asked);
        let share = self.shares.entry(self.event).or_default();
        share.all += self.weight;
        if let Some(outermost) = outermost {
            share.below += self.weight;
            stack[..=outermost].iter().for_each(|(name, library)| self.count(name, library));
        }
        self.is_innermost = false;
        // The list is used again.
        self.stack = stack;
        self.stack.clear();
    }

    /// The next function of the sample's stack, from the innermost on.
    pub fn frame(&mut self, name: &'t [u8], library: &'t [u8]) {
        match self.below {
            Some(_) => self.stack.push((name, library)),
            None => self.count(name, library),
        }
    }

    fn count(&mut self, name: &'t [u8], library: &'t [u8]) {
        let (name, library) = (self.texts.id(name), self.texts.id(library));
        let row = self.row(Function { event: self.event, name, library });
        let count = &mut self.rows[row].1;
        if std::mem::take(&mut self.is_innermost) {
            count.itself += self.weight;
        }
        if count.last != self.samples {
            count.last = self.samples;
            count.with_callees += self.weight;
        }
    }

    /// The row of a function, entered if it is new.
    fn row(&mut self, function: Function) -> usize {
        let row = *self.known.entry(function).or_insert_with(|| {
            self.rows.push((function, Count::default()));
            (self.rows.len() - 1) as u32
        });
        row as usize
    }

    /// Takes the samples of a further part of the text in, which follow those that are here.
    pub fn append(&mut self, mut other: Functions<'t>) {
        self.close();
        other.close();
        let texts: Vec<TextId> = other.texts.all.iter().map(|text| self.texts.id(text)).collect();
        let here = |id: TextId| (id.0 as usize).checked_sub(1).map_or(id, |index| texts[index]);
        for (Function { event, name, library }, more) in other.rows {
            let row = self.row(Function { event: here(event), name: here(name), library: here(library) });
            let count = &mut self.rows[row].1;
            count.itself += more.itself;
            count.with_callees += more.with_callees;
        }
        self.without_function += other.without_function;
        for (event, more) in other.shares {
            let share = self.shares.entry(here(event)).or_default();
            share.all += more.all;
            share.below += more.below;
        }
        self.unreadable += other.unreadable;
        self.lost = self.lost.saturating_add(other.lost);
        self.lost_without_number += other.lost_without_number;
        self.numbered += other.numbered;
        self.is_open |= other.is_open;
    }

    /// How many samples are within functions that have a text in their names, of each event by itself: cycles and misses
    /// together would be nothing, nor the counts of two profiles.
    fn note_below(&self, below: &str) -> String {
        /// Real profiles have some few events; a file may claim any number of them.
        const MOST: usize = 16;
        let mut shares: Vec<(&[u8], Share)> =
            self.shares.iter().map(|(event, share)| (self.texts.get(*event), *share)).collect();
        shares.sort_by(|(left, of_left), (right, of_right)| {
            of_right.all.total_cmp(&of_left.all).then_with(|| left.cmp(right))
        });
        if let ([(_, share)], None) = (&*shares, self.note) {
            let [some, all] = [share.below, share.all].map(rounded);
            return format!("{some} of {all} samples are within functions with {below} in their names");
        }
        let told = shares.iter().take(MOST).map(|(event, share)| {
            let [some, all] = [share.below, share.all].map(rounded);
            format!("{some} of {all} ({})", String::from_utf8_lossy(event))
        });
        let further = if shares.len() > MOST { ", …" } else { "" };
        let shares = told.collect::<Vec<_>>().join(", ") + further;
        format!("samples within functions with {below} in their names, of each event: {shares}")
    }

    /// The figures of all functions, those with most samples first.
    pub fn into_trace(mut self) -> Trace {
        self.close();
        let mut trace = Trace::new();
        let of_below = self.below.map(|below| self.note_below(below));
        let notes: Vec<String> = of_below.into_iter().chain(self.note.map(str::to_owned)).collect();
        trace.run.note = (!notes.is_empty()).then(|| notes.join("; "));
        self.rows.sort_by(|(_, left), (_, right)| {
            let by_callees = right.with_callees.total_cmp(&left.with_callees);
            right.itself.total_cmp(&left.itself).then(by_callees)
        });
        for (function, count) in &self.rows {
            let [step, subject, part] = [function.event, function.name, function.library]
                .map(|id| String::from_utf8_lossy(self.texts.get(id)));
            let about = FigureSubject {
                topic: FigureTopic::Function,
                source: self.source,
                step: &step,
                subject: &subject,
                part: &part,
            };
            let figures =
                [("itself", "", Some(count.itself)), ("with what it calls", "", Some(count.with_callees))];
            trace.push_figures(about, &figures);
        }
        trace.count_loss(LossKind::UnreadableRecord, self.unreadable, self.source);
        trace.count_loss(LossKind::DroppedByProfiler, self.lost, self.source);
        let untold = "samples were lost, and the text doesn't say how many";
        trace.count_loss(LossKind::NotedByProfiler, self.lost_without_number, untold);
        trace.count_loss(LossKind::NumberBehindName, self.numbered, self.source);
        trace.count_loss(LossKind::UnreadableRecord, self.without_function, "samples without a function");
        trace.count_loss(LossKind::OpenLastSample, u64::from(self.is_open), self.source);
        trace
    }
}
