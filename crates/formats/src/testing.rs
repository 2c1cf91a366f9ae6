//! Traces for the tests: one drawn by hand, and any number of random ones.

use opscope_trace::*;
use proptest::prelude::*;

/// Random traces of a few rows a table: every kind of value occurs, every reference holds, and
/// nothing else is promised; times run backwards, and slices cross.
pub(crate) fn any_trace() -> impl Strategy<Value = Trace> {
    (any::<u64>(), proptest::collection::vec(0usize..7, 14)).prop_map(|(seed, rows)| build(seed, &rows))
}

fn build(seed: u64, rows: &[usize]) -> Trace {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let mut trace = Trace::new();
    trace.clock.unix_zero = random.option(|r| r.next() as i64);
    trace.clock.domain = random.option(|r| r.text(&mut trace.strings));
    for _ in 0..rows[0] {
        let [key, value] = [(); 2].map(|()| random.text(&mut trace.strings)).map(|id| trace.strings.get(id));
        trace.run.remark(key, value);
        add_fact(&mut trace.run, &mut random);
    }
    for _ in 0..rows[1] {
        let row = Process { pid: random.next() as u32, name: random.text(&mut trace.strings) };
        trace.processes.push(row);
    }
    for process in random.some_of(trace.processes.ids(), rows[2]) {
        let row = Thread { process, tid: random.number(), name: random.text(&mut trace.strings) };
        trace.threads.push(row);
    }
    for _ in 0..rows[3] {
        let kind = random.one_of(&DeviceKind::ALL);
        let row = Device { number: random.next() as u32, kind, name: random.text(&mut trace.strings) };
        trace.devices.push(row);
    }
    for device in random.some_of(trace.devices.ids(), rows[4]) {
        let thread = random.maybe_of(trace.threads.ids());
        let row = Stream { device, number: random.number(), thread, name: random.text(&mut trace.strings) };
        trace.streams.push(row);
    }
    for _ in 0..rows[5] {
        let row = Model { number: random.number(), name: random.text(&mut trace.strings) };
        trace.models.push(row);
    }
    for _ in 0..rows[6] {
        let model = random.maybe_of(trace.models.ids());
        let (number, warm_up) = (random.next() as u32, random.coin());
        let row = Iteration { model, number, warm_up, start: random.time(), duration: random.time() };
        trace.iterations.push(row);
        let (number, start, duration) = (random.next() as u32, random.time(), random.time());
        trace.unrecorded_iterations.push(UnrecordedIteration { model, number, warm_up, start, duration });
    }
    for _ in 0..rows[7] {
        let row = ApiCall {
            thread: random.maybe_of(trace.threads.ids()),
            level: random.one_of(&ApiLevel::ALL),
            name: random.text(&mut trace.strings),
            start: random.time(),
            duration: random.time(),
            iteration: random.maybe_of(trace.iterations.ids()),
        };
        trace.api_calls.push(row);
    }
    for _ in 0..rows[8] {
        add_operator(&mut trace, &mut random);
    }
    for _ in 0..rows[9] * 3 {
        let row = Task {
            operator: random.maybe_of(trace.operators.ids()),
            name: random.text(&mut trace.strings),
            number: random.option(|random| random.below(1 << 32) as u32),
            stream: random.maybe_of(trace.streams.ids()),
            unit: random.one_of(&ExecutionUnit::ALL),
            iteration: random.maybe_of(trace.iterations.ids()),
            launched_by: random.maybe_of(trace.api_calls.ids()),
            start: random.time(),
            duration: random.time(),
            wait: random.option(Random::time),
        };
        trace.tasks.push(row);
    }
    for number in 0..rows[13] {
        let unit = random.text(&mut trace.strings);
        trace.enter_metric(&format!("metric {number}"), trace.strings.get(unit).to_owned().as_str());
    }
    for task in random.some_of(trace.tasks.ids(), rows[13]) {
        let metrics = random.some_of(trace.metrics.ids(), rows[12].min(3));
        let values: Vec<f64> =
            metrics.iter().map(|_| random.one_of(&[0.0, 0.1, -1.5e-9, 1e300, f64::NAN])).collect();
        trace.push_reading(task, &metrics, &values);
    }
    for _ in 0..rows[10] {
        let row = Range {
            thread: random.maybe_of(trace.threads.ids()),
            kind: random.one_of(&RangeKind::ALL),
            name: random.text(&mut trace.strings),
            domain: random.option(|r| r.text(&mut trace.strings)),
            start: random.time(),
            duration: random.time(),
        };
        trace.ranges.push(row);
    }
    for _ in 0..rows[11] {
        let (name, unit) = (random.text(&mut trace.strings), random.text(&mut trace.strings));
        trace.counters.push(Counter { name, unit, device: random.maybe_of(trace.devices.ids()) });
    }
    for counter in random.some_of(trace.counters.ids(), rows[11]) {
        let value = random.one_of(&[0.0, -1.5, 1e300, 9007199254740993.0, f64::NAN, f64::INFINITY]);
        trace.samples.push(Sample { counter, time: random.time(), value });
    }
    for task in random.some_of(trace.tasks.ids(), rows[13]) {
        let Some(call) = random.maybe_of(trace.api_calls.ids()) else { continue };
        let stack = random.option(|r| r.text(&mut trace.strings));
        trace.launch_sites.push(LaunchSite { task, call, stack });
        let [source, step, subject, part, name, unit] = [(); 6].map(|()| random.text(&mut trace.strings));
        let (topic, value) = (random.one_of(&FigureTopic::ALL), random.one_of(&[0.0, -1.5, 1e300]));
        trace.figures.push(Figure { topic, source, step, subject, part, name, unit, value });
    }
    for _ in 0..rows[12] {
        let (kind, detail) = (random.one_of(&LossKind::ALL), random.text(&mut trace.strings));
        trace.losses.push(Loss { kind, count: random.number(), detail });
    }
    trace
}

fn add_fact(run: &mut RunFacts, random: &mut Random) {
    let number = random.number();
    match random.below(7) {
        0 => run.engine = Some(random.one_of(&EngineName::ALL)),
        1 => run.format = Some(random.one_of(&ProfileFormat::ALL)),
        2 => run.threads = Some(number as u32),
        3 => run.peak_memory = Some(Bytes(number)),
        // Tasks without a place are on no timeline.
        4 => {
            run.layer_times = random.one_of(
                &TimeBasis::ALL.map(|basis| if basis.is_placed() { basis } else { TimeBasis::Totals }),
            )
        }
        5 => run.note = Some(format!("größe \"{number}\"\n")),
        _ => run.inputs.push(RunInput {
            name: format!("x {number}"),
            data_type: random.one_of(&DataType::ALL),
            shape: vec![number; random.below(3) as usize],
        }),
    }
}

fn add_operator(trace: &mut Trace, random: &mut Random) {
    let tensors: Vec<TensorId> = (0..random.below(5))
        .map(|_| {
            let dimensions: Vec<i64> = (0..random.below(4)).map(|_| random.below(300) as i64 - 1).collect();
            trace.tensors.push(Tensor {
                name: random.option(|r| r.text(&mut trace.strings)),
                data_type: random.one_of(&[DataType::Unknown, DataType::Float32, DataType::Int4]),
                dimensions: random.option(|_| trace.dimensions.push(dimensions)),
                layout: random.option(|r| r.text(&mut trace.strings)),
                parameter: random.coin(),
            })
        })
        .collect();
    let inputs = random.below(tensors.len() as u64 + 1) as usize;
    let origins: Vec<StringId> = (0..random.below(3)).map(|_| random.text(&mut trace.strings)).collect();
    let row = Operator {
        model: random.maybe_of(trace.models.ids()),
        position: random.option(|r| r.next() as u32),
        attribution: random.one_of(&Attribution::ALL),
        engine_type: random.option(|r| r.text(&mut trace.strings)),
        origins: trace.names.push(origins),
        first_input: tensors[..inputs].first().copied(),
        input_count: inputs as u32,
        first_output: tensors[inputs..].first().copied(),
        output_count: (tensors.len() - inputs) as u32,
        attributes: random.option(|r| r.text(&mut trace.strings)),
        dynamic: random.option(Random::coin),
        flops: random.option(Random::number),
        bytes_read: random.option(Random::number),
        bytes_written: random.option(Random::number),
        parameters: random.option(Random::number),
        ..Operator::new(random.text(&mut trace.strings), random.text(&mut trace.strings))
    };
    trace.operators.push(row);
}

/// Random values of a trace's kinds.
struct Random(fastrand::Rng);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    fn coin(&mut self) -> bool {
        self.0.bool()
    }

    /// Mostly small, now and then at the end of the range.
    fn number(&mut self) -> u64 {
        if self.below(8) == 0 { u64::MAX - self.below(2) } else { self.below(1 << 40) }
    }

    /// Mostly a few microseconds, so that spans cross; now and then at an end of the range.
    fn time(&mut self) -> Nanoseconds {
        Nanoseconds(match self.below(40) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => self.below(4_000) as i64 - 100,
        })
    }

    fn one_of<Value: Copy>(&mut self, values: &[Value]) -> Value {
        values[self.below(values.len() as u64) as usize]
    }

    fn option<Value>(&mut self, value: impl FnOnce(&mut Self) -> Value) -> Option<Value> {
        if self.coin() { Some(value(self)) } else { None }
    }

    fn maybe_of<Id: Copy>(&mut self, ids: impl ExactSizeIterator<Item = Id>) -> Option<Id> {
        let ids: Vec<Id> = ids.collect();
        if ids.is_empty() || self.coin() { None } else { Some(self.one_of(&ids)) }
    }

    /// `count` of the ids; none when there is none to choose from.
    fn some_of<Id: Copy>(&mut self, ids: impl ExactSizeIterator<Item = Id>, count: usize) -> Vec<Id> {
        let ids: Vec<Id> = ids.collect();
        if ids.is_empty() { Vec::new() } else { (0..count).map(|_| self.one_of(&ids)).collect() }
    }

    fn text(&mut self, strings: &mut StringTable) -> StringId {
        const TEXTS: [&str; 10] =
            ["", "conv1", "Conv", "a\"b\\c", "größe 😀", "line\nbreak\t\u{1}", "0", "x\0y", "MB", "stream"];
        strings.intern(TEXTS[self.below(TEXTS.len() as u64) as usize])
    }
}

/// A trace in words: every row with its text instead of ids, so that two traces can be compared
/// whatever order their pools and strings have.
pub(crate) fn spelled_out(trace: &Trace) -> Vec<String> {
    let text = |id: StringId| trace.strings.get(id);
    let maybe = |id: Option<StringId>| id.map(text);
    let mut lines = vec![format!("clock {:?} {:?}", trace.clock.unix_zero, maybe(trace.clock.domain))];
    let mut add = |line: String| lines.push(line);
    add(format!("{:?}", trace.run));
    trace.processes.iter().for_each(|(id, row)| add(format!("{id:?} {} {:?}", row.pid, text(row.name))));
    trace.threads.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    trace.devices.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    trace.streams.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    trace.models.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    trace.iterations.iter().for_each(|(id, row)| add(format!("{id:?} {row:?}")));
    trace.unrecorded_iterations.iter().for_each(|(id, row)| add(format!("{id:?} {row:?}")));
    trace.api_calls.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    for (id, row) in trace.operators.iter() {
        let origins: Vec<_> = trace.names.get(row.origins).iter().map(|&name| text(name)).collect();
        let words = [
            text(row.name),
            text(row.op_type),
            maybe(row.engine_type).unwrap_or("no engine type"),
            maybe(row.attributes).unwrap_or("no attributes"),
        ];
        let row = Operator { origins: Span::default(), ..row };
        add(format!("{id:?} {row:?} {words:?} {origins:?}"));
    }
    for (id, row) in trace.tensors.iter() {
        let shape = trace.shape(id);
        let words = (maybe(row.name), maybe(row.layout));
        let row = Tensor { dimensions: None, ..row };
        add(format!("{id:?} {row:?} {words:?} {shape:?}"));
    }
    trace.tasks.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    trace.metrics.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    for (id, row) in trace.readings.iter() {
        let values: Vec<_> = trace.readings_of(id).collect();
        add(format!("{id:?} {:?} {values:?}", row.task));
    }
    for (id, row) in trace.launch_sites.iter() {
        add(format!("{id:?} {row:?} {:?}", maybe(row.stack)));
    }
    trace.figures.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.subject))));
    for (id, row) in trace.ranges.iter() {
        add(format!("{id:?} {row:?} {:?} {:?}", text(row.name), maybe(row.domain)));
    }
    trace.counters.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.name))));
    trace.samples.iter().for_each(|(id, row)| add(format!("{id:?} {row:?}")));
    trace.losses.iter().for_each(|(id, row)| add(format!("{id:?} {row:?} {:?}", text(row.detail))));
    trace.strings.iter().for_each(|(id, text)| add(format!("{id:?} {text:?}")));
    lines
}
