//! The sections of the file, and what each becomes.

use std::mem::take;
use std::ops::Range;

use opscope_trace::{LossKind, Span, StringId};

use super::json::{JsonError, Piece, RawText, Scanner};
use super::keyed::{GraphId, Keyed};
use super::profile::{Chunk, Footprint, Interval, MemoryPlan, Operator, Profile, Shape, Var};
use super::symbols::RecentSymbols;
use crate::reading::Stop;

type Scanned<T> = Result<T, JsonError>;

/// The vars of a profile, read before the rest of it.
pub struct VarsAhead {
    /// Where the section's object begins and ends in the text.
    pub extent: Range<usize>,
    /// The tables that the vars refer to, without any other section.
    pub profile: Profile,
}

/// Waits for the vars that another thread reads; `None` when it found none.
pub type Ahead<'scope> = Box<dyn FnOnce() -> Option<VarsAhead> + 'scope>;

/// The tables under construction, and memory that is used again for each record.
#[derive(Default)]
pub struct Reader<'scope> {
    profile: Profile,
    has_profiler: bool,
    has_graph: bool,
    has_operators: bool,
    /// Whether an id was no number, so that it means something in this profile only.
    has_odd_ids: bool,
    ahead: Option<Ahead<'scope>>,
    stop: Stop,
    /// Whether what precedes damage is kept.
    keeps_rest: bool,
    recent: RecentSymbols,
    intervals: Vec<Interval>,
    ids: Vec<GraphId>,
    dimensions: Vec<i64>,
    shapes: Vec<Option<Shape>>,
}

impl<'scope> Reader<'scope> {
    /// A reader of a whole profile, which breaks off where `stop` is wanted; another thread may have begun with
    /// the vars.
    pub fn new(ahead: Option<Ahead<'scope>>, stop: Stop) -> Self {
        Self { ahead, stop, ..Self::default() }
    }

    /// A reader that keeps what it has read when the text breaks off or is no JSON further on.
    pub fn keeping_rest(self) -> Self {
        Self { keeps_rest: true, ..self }
    }

    /// The part of a profile that was read before `damage` ended that, if it has times. The graph stands
    /// behind the times, so operators that it doesn't tell of any more are known by their ids only.
    pub fn rest(mut self, damage: JsonError) -> Result<Profile, JsonError> {
        let timed = self.profile.device.iter().chain(self.profile.host.iter()).map(|(id, _)| id);
        let timed: Vec<GraphId> = timed.collect();
        if timed.is_empty() {
            return Err(damage);
        }
        let unnamed = self.unnamed_operator();
        let operators = &mut self.profile.operators;
        let before = operators.len();
        for id in timed {
            if operators.get(id).is_none() {
                operators.insert(id, unnamed);
            }
        }
        let added = operators.len() - before;
        self.profile.lose(LossKind::NamesBehindDamage, added as u64);
        Ok(Profile { damage: Some(damage), ..self.profile })
    }

    /// An operator of which nothing is known.
    fn unnamed_operator(&mut self) -> Operator {
        Operator {
            name: Piece::default(),
            op_type: self.symbol(b""),
            inputs: Span::default(),
            outputs: Span::default(),
            extra: Piece::default(),
            waiting_spec: Piece::default(),
        }
    }

    /// Puts up with the end of the reading within a section, so that its rows up to there are kept:
    /// nothing further is read, as nobody knows what level the text is on.
    fn survive(&self, read: Scanned<()>, scanner: &mut Scanner) -> Scanned<()> {
        match read {
            Err(damage) if self.keeps_rest => {
                scanner.end_with(damage);
                Ok(())
            }
            read => read,
        }
    }

    /// Reads the section of vars that begins at `start`.
    pub fn vars_ahead(text: &[u8], start: usize, stop: Stop) -> Option<VarsAhead> {
        let mut reader = Reader::new(None, stop);
        let mut scanner = Scanner::new(text);
        scanner.move_to(start);
        reader.profile.vars = reader.vars(&mut scanner).ok()?;
        let ahead = VarsAhead { extent: start..scanner.position(), profile: reader.profile };
        (!reader.has_odd_ids).then_some(ahead)
    }

    /// The profile, if the sections without which it is none were there; else the name of one that
    /// was not.
    pub fn finish(self) -> Result<Profile, &'static str> {
        match self {
            Self { has_profiler: false, .. } => Err("profiler"),
            Self { has_graph: false, .. } => Err("graph_exec"),
            Self { has_operators: false, .. } => Err("operator"),
            Self { profile, .. } => Ok(profile),
        }
    }

    /// `{ "profiler": …, "graph_exec": … }`
    pub fn root(&mut self, scanner: &mut Scanner) -> Scanned<()> {
        scanner.object("the object of a profile", |scanner, name| match name {
            b"profiler" => self.profiler(scanner),
            b"graph_exec" => self.graph(scanner),
            _ => scanner.skip().map(drop),
        })
    }

    fn profiler(&mut self, scanner: &mut Scanner) -> Scanned<()> {
        self.has_profiler = true;
        // As with all of Python's dictionaries, the last of equal names is the one that counts.
        self.profile.device = Keyed::default();
        self.profile.host = Keyed::default();
        self.profile.footprints = Keyed::default();
        self.profile.internal = Keyed::default();
        scanner.object("the object of the profiler", |scanner, name| {
            match name {
                b"device" => self.profile.device = self.times(scanner)?,
                b"host" => self.profile.host = self.times(scanner)?,
                b"opr_footprint" => self.footprints(scanner)?,
                b"opr_internal_pf" => {
                    self.profile.internal =
                        self.keyed(scanner, "an object of operators", |_, scanner| scanner.skip())?;
                }
                // The user guide's listing has the graph in here.
                b"graph_exec" => self.graph(scanner)?,
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })
    }

    fn graph(&mut self, scanner: &mut Scanner) -> Scanned<()> {
        (self.has_graph, self.has_operators) = (true, false);
        self.profile.order.clear();
        self.profile.operators = Keyed::default();
        self.profile.vars = Keyed::default();
        self.profile.chunks = Keyed::default();
        scanner.object("the object of the graph", |scanner, name| {
            match name {
                b"comp_seq" => {
                    let read = self.ids(scanner);
                    self.survive(read, scanner)?;
                    self.profile.order = take(&mut self.ids);
                }
                b"operator" => {
                    self.has_operators = true;
                    self.profile.operators = self.keyed(scanner, "an object of operators", Self::operator)?;
                }
                b"var" => self.profile.vars = self.vars(scanner)?,
                b"mem_chunk" => self.chunks(scanner)?,
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })
    }

    /// An object of rows by id.
    fn keyed<Row>(
        &mut self,
        scanner: &mut Scanner,
        expected: &'static str,
        mut row: impl FnMut(&mut Self, &mut Scanner) -> Scanned<Row>,
    ) -> Scanned<Keyed<Row>> {
        let mut rows = Keyed::default();
        let stop = self.stop.clone();
        let mut turns = stop.within(0u64..);
        let read = scanner.entries(expected, |scanner, name| {
            // To whoever reads on it is as if the text ended here.
            turns.next().ok_or_else(|| scanner.wrong("an end that nobody asked for"))?;
            let id = self.id(name);
            rows.insert(id, row(self, scanner)?);
            Ok(())
        });
        self.survive(read, scanner)?;
        Ok(rows)
    }

    /// `{ operator: { place: { start, kern, end } } }`
    fn times(&mut self, scanner: &mut Scanner) -> Scanned<Keyed<Span<Interval>>> {
        self.keyed(scanner, "an object of operators and their times", |reader, scanner| {
            let mut intervals = take(&mut reader.intervals);
            intervals.clear();
            if scanner.peek() == Some(b'{') {
                scanner.entries("an object of places", |scanner, place| {
                    let place = reader.symbol(place.bytes);
                    let Some(interval) = reader.interval(scanner, place)? else { return Ok(()) };
                    match intervals.iter_mut().find(|known| known.place == place) {
                        Some(known) => *known = interval,
                        None => intervals.push(interval),
                    }
                    Ok(())
                })?;
            } else {
                reader.profile.lose(LossKind::OperatorTimesNoObject, 1);
                scanner.skip()?;
            }
            let span = reader.profile.intervals.push(intervals.iter().copied());
            reader.intervals = intervals;
            Ok(span)
        })
    }

    fn interval(&mut self, scanner: &mut Scanner, place: StringId) -> Scanned<Option<Interval>> {
        let (mut start, mut kernel, mut end) = (None, None, None);
        self.object_or_loss(scanner, LossKind::PlaceTimesNoObject, |_, scanner, name| {
            match name {
                b"start" => start = scanner.number()?,
                b"kern" => kernel = scanner.number()?,
                b"end" => end = scanner.number()?,
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        if let (Some(start), Some(kernel), Some(end)) = (start, kernel, end) {
            return Ok(Some(Interval { place, start, kernel, end }));
        }
        self.profile.lose(LossKind::TimeNotNumber, 1);
        Ok(None)
    }

    fn footprints(&mut self, scanner: &mut Scanner) -> Scanned<()> {
        self.profile.footprints = self.keyed(scanner, "an object of footprints", |reader, scanner| {
            let mut footprint = Footprint::default();
            reader.object_or_loss(scanner, LossKind::FootprintNoObject, |reader, scanner, name| {
                match name {
                    b"memory" => footprint.memory = scanner.number()?,
                    b"computation" => footprint.computation = scanner.number()?,
                    b"in_shapes" => footprint.in_shapes = reader.shapes(scanner)?,
                    b"out_shapes" => footprint.out_shapes = reader.shapes(scanner)?,
                    b"in_layouts" => footprint.in_layouts = reader.shapes(scanner)?,
                    b"param" => footprint.param = scanner.skip()?,
                    _ => drop(scanner.skip()?),
                }
                Ok(())
            })?;
            Ok(footprint)
        })?;
        Ok(())
    }

    fn operator(&mut self, scanner: &mut Scanner) -> Scanned<Operator> {
        let mut operator = self.unnamed_operator();
        self.object_or_loss(scanner, LossKind::OperatorNoObject, |reader, scanner, name| {
            match name {
                b"name" => operator.name = scanner.skip()?,
                b"type" => operator.op_type = reader.symbol_value(scanner)?,
                b"input" => operator.inputs = reader.id_list(scanner)?,
                b"output" => operator.outputs = reader.id_list(scanner)?,
                b"extra" => operator.extra = scanner.skip()?,
                b"waiting_spec" => operator.waiting_spec = scanner.skip()?,
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        Ok(operator)
    }

    fn vars(&mut self, scanner: &mut Scanner) -> Scanned<Keyed<Var>> {
        scanner.peek();
        let ahead = self.ahead.take().and_then(|wait| wait());
        match ahead.filter(|ahead| ahead.extent.start == scanner.position()) {
            Some(ahead) => {
                scanner.move_to(ahead.extent.end);
                Ok(self.adopt(ahead.profile))
            }
            None => self.keyed(scanner, "an object of vars", Self::var),
        }
    }

    /// Takes over vars that refer to symbols and dimensions of another profile.
    fn adopt(&mut self, other: Profile) -> Keyed<Var> {
        let symbols: Vec<StringId> =
            other.symbols.iter().map(|(_, text)| self.profile.symbols.intern(text)).collect();
        let symbol = |id: StringId| symbols[id.index()];
        let mut vars = other.vars;
        for var in vars.rows_mut() {
            var.comp_node = symbol(var.comp_node);
            if let Some(plan) = &mut var.mem_plan {
                plan.data_type = symbol(plan.data_type);
            }
        }
        self.profile.plan_dimensions = other.plan_dimensions;
        self.profile.losses.merge(other.losses);
        vars
    }

    fn var(&mut self, scanner: &mut Scanner) -> Scanned<Var> {
        let mut var = Var {
            name: Piece::default(),
            comp_node: self.symbol(b""),
            dev_ptr: None,
            prev_dev_ptr: 0,
            prev_dev_ptr_end: None,
            mem_readonly_fwd_src: None,
            force_update_src: None,
            flags: Piece::default(),
            static_infer_tags: Piece::default(),
            mem_plan: None,
        };
        self.object_or_loss(scanner, LossKind::VarNoObject, |reader, scanner, name| {
            match name {
                b"name" => var.name = scanner.skip()?,
                b"comp_node" => var.comp_node = reader.symbol_value(scanner)?,
                b"dev_ptr" => var.dev_ptr = scanner.whole()?,
                b"prev_dev_ptr" => var.prev_dev_ptr = scanner.whole()?.unwrap_or(0),
                b"prev_dev_ptr_end" => var.prev_dev_ptr_end = scanner.whole()?,
                b"mem_readonly_fwd_src" => var.mem_readonly_fwd_src = reader.id_value(scanner)?,
                b"force_update_src" => var.force_update_src = reader.id_value(scanner)?,
                b"flag" => var.flags = scanner.skip()?,
                b"static_infer_tags" => var.static_infer_tags = scanner.skip()?,
                b"mem_plan" => var.mem_plan = reader.memory_plan(scanner)?,
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        Ok(var)
    }

    /// `{ mem_chunk_id, offset_byte, layout: { shape, stride, dtype } }`, or null.
    fn memory_plan(&mut self, scanner: &mut Scanner) -> Scanned<Option<MemoryPlan>> {
        if scanner.peek() == Some(b'n') {
            scanner.skip()?;
            return Ok(None);
        }
        let mut chunk = None;
        let mut plan = MemoryPlan {
            chunk: GraphId::from_number(0),
            offset: 0,
            shape: Span::default(),
            strides: Span::default(),
            data_type: self.symbol(b""),
        };
        self.object_or_loss(scanner, LossKind::MemoryPlanNoObject, |reader, scanner, name| {
            match name {
                b"mem_chunk_id" => {
                    chunk = text(scanner)?.map(|raw| reader.chunk_id(raw));
                }
                b"offset_byte" => plan.offset = scanner.whole()?.unwrap_or(0),
                b"layout" => {
                    let kind = LossKind::MemoryLayoutNoObject;
                    reader.object_or_loss(scanner, kind, |reader, scanner, name| {
                        match name {
                            b"shape" => plan.shape = reader.plan_shape(scanner)?,
                            b"stride" => plan.strides = reader.plan_shape(scanner)?,
                            b"dtype" => plan.data_type = reader.symbol_value(scanner)?,
                            _ => drop(scanner.skip()?),
                        }
                        Ok(())
                    })?;
                }
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        if chunk.is_none() {
            self.profile.lose(LossKind::MemoryPlanWithoutChunk, 1);
        }
        Ok(chunk.map(|chunk| MemoryPlan { chunk, ..plan }))
    }

    fn chunks(&mut self, scanner: &mut Scanner) -> Scanned<()> {
        let mut chunks = Keyed::default();
        let read = scanner.entries("an object of memory chunks", |scanner, name| {
            let id = self.chunk_id(name);
            let mut chunk = Chunk { owner: None, size: 0, dev_ptr: None };
            self.object_or_loss(scanner, LossKind::MemoryChunkNoObject, |reader, scanner, name| {
                match name {
                    b"owner_var" => chunk.owner = reader.id_value(scanner)?,
                    b"size" => chunk.size = scanner.whole()?.unwrap_or(0),
                    b"dev_ptr" => chunk.dev_ptr = scanner.whole()?,
                    _ => drop(scanner.skip()?),
                }
                Ok(())
            })?;
            chunks.insert(id, chunk);
            Ok(())
        });
        self.survive(read, scanner)?;
        self.profile.chunks = chunks;
        Ok(())
    }

    /// A list of shapes, or null.
    fn shapes(&mut self, scanner: &mut Scanner) -> Scanned<Option<Span<Option<Shape>>>> {
        if scanner.peek() != Some(b'[') {
            return self.null_or_loss(scanner, LossKind::ShapeNoList);
        }
        let mut shapes = take(&mut self.shapes);
        shapes.clear();
        scanner.array("a list of shapes", |scanner| {
            shapes.push(self.shape(scanner)?);
            Ok(())
        })?;
        let span = self.profile.shapes.push(shapes.iter().copied());
        self.shapes = shapes;
        Ok(Some(span))
    }

    /// A shape into the footprints' pool, or null.
    fn shape(&mut self, scanner: &mut Scanner) -> Scanned<Option<Shape>> {
        let found = self.numbers(scanner)?;
        Ok(found.then(|| self.profile.dimensions.push(self.dimensions.iter().copied())))
    }

    /// A shape into the memory plans' pool, an empty one for null.
    fn plan_shape(&mut self, scanner: &mut Scanner) -> Scanned<Shape> {
        self.numbers(scanner)?;
        Ok(self.profile.plan_dimensions.push(self.dimensions.drain(..)))
    }

    /// A list of whole numbers into `self.dimensions`; whether there was one and not null.
    fn numbers(&mut self, scanner: &mut Scanner) -> Scanned<bool> {
        self.dimensions.clear();
        if scanner.peek() != Some(b'[') {
            self.null_or_loss::<()>(scanner, LossKind::ShapeNoList)?;
            return Ok(false);
        }
        scanner.array("a list of whole numbers", |scanner| {
            let number = scanner.number()?;
            if number.is_none() {
                self.profile.lose(LossKind::DimensionNoNumber, 1);
            }
            // −1 stands for a dimension that isn't known.
            self.dimensions.push(number.map_or(-1, |number| number as i64));
            Ok(())
        })?;
        Ok(true)
    }

    /// A list of ids into the profile's pool, an empty one for anything else.
    fn id_list(&mut self, scanner: &mut Scanner) -> Scanned<Span<GraphId>> {
        if scanner.peek() != Some(b'[') {
            self.null_or_loss::<()>(scanner, LossKind::EdgesNoList)?;
            return Ok(Span::default());
        }
        self.ids(scanner)?;
        Ok(self.profile.ids.push(self.ids.iter().copied()))
    }

    /// A list of ids into `self.ids`.
    fn ids(&mut self, scanner: &mut Scanner) -> Scanned<()> {
        self.ids.clear();
        scanner.array("a list of ids", |scanner| {
            match self.id_value(scanner)? {
                Some(id) => self.ids.push(id),
                None => self.profile.lose(LossKind::IdNoText, 1),
            }
            Ok(())
        })
    }

    fn id_value(&mut self, scanner: &mut Scanner) -> Scanned<Option<GraphId>> {
        Ok(text(scanner)?.map(|raw| self.id(raw)))
    }

    fn symbol_value(&mut self, scanner: &mut Scanner) -> Scanned<StringId> {
        Ok(match text(scanner)? {
            Some(text) => self.symbol(text.bytes),
            None => self.symbol(b""),
        })
    }

    /// Reads an object, or counts another value as lost.
    fn object_or_loss(
        &mut self,
        scanner: &mut Scanner,
        kind: LossKind,
        mut field: impl FnMut(&mut Self, &mut Scanner, &[u8]) -> Scanned<()>,
    ) -> Scanned<()> {
        if scanner.peek() != Some(b'{') {
            self.profile.lose(kind, 1);
            return scanner.skip().map(drop);
        }
        scanner.object("an object", |scanner, name| field(self, scanner, name))
    }

    /// Reads over a value that should be null.
    fn null_or_loss<T>(&mut self, scanner: &mut Scanner, kind: LossKind) -> Scanned<Option<T>> {
        if scanner.peek() != Some(b'n') {
            self.profile.lose(kind, 1);
        }
        scanner.skip()?;
        Ok(None)
    }

    #[inline]
    fn id(&mut self, text: RawText) -> GraphId {
        GraphId::from_text(&text.plain(), |text| self.odd_id(text))
    }

    fn chunk_id(&mut self, text: RawText) -> GraphId {
        GraphId::from_chunk_text(&text.plain(), |text| self.odd_id(text))
    }

    fn odd_id(&mut self, text: &[u8]) -> StringId {
        self.has_odd_ids = true;
        self.profile.symbols.intern(&String::from_utf8_lossy(text))
    }

    fn symbol(&mut self, raw: &[u8]) -> StringId {
        self.recent.find(&mut self.profile.symbols, raw)
    }
}

/// A string's raw text, or nothing for null and any other value.
#[inline]
fn text<'a>(scanner: &mut Scanner<'a>) -> Scanned<Option<RawText<'a>>> {
    if scanner.peek() == Some(b'"') {
        return scanner.raw_string("a text").map(Some);
    }
    scanner.skip()?;
    Ok(None)
}
