//! From the native tables to the file.

use std::io::{self, Write};
use std::path::Path;

use opscope_trace::{Span, StringId};

use super::analyze::numbers::{general, shortest};
use super::json::Piece;
use super::{GraphId, Interval, Keyed, Profile, Var};

impl Profile {
    /// Writes the profile to a file that `profile_analyze` reads, MegEngine's own as well as this
    /// one; the file is there when it is whole.
    ///
    /// # Errors
    /// Any that the system reports.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        opscope_files::write_atomically(path, |file| self.write_json(file))
    }

    /// Writes the profile as MegEngine's own writer does: on one line, a blank behind each opening
    /// bracket and comma, `/` escaped, numbers with 15 digits where those suffice.
    ///
    /// Two things differ so that every reader takes the file: control characters are escaped (but
    /// for JSON text that was read from a file and stays as it is), and a whole number of seconds
    /// keeps a decimal.
    ///
    /// # Errors
    /// Any that `out` reports.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer { profile: self, out };
        writer.root()?;
        writer.out.flush()
    }
}

struct Writer<'a> {
    profile: &'a Profile,
    out: &'a mut dyn Write,
}

impl Writer<'_> {
    fn root(&mut self) -> io::Result<()> {
        self.object(["profiler", "graph_exec"], |writer, name| match name {
            "profiler" => writer.profiler(),
            _ => writer.graph(),
        })
    }

    fn profiler(&mut self) -> io::Result<()> {
        let profile = self.profile;
        let sections = ["opr_internal_pf", "host", "opr_footprint", "device"];
        self.object(sections, |writer, name| match name {
            "opr_internal_pf" => writer.keyed(&profile.internal, |writer, _, piece| writer.piece(*piece)),
            "host" => writer.times(&profile.host),
            "device" => writer.times(&profile.device),
            _ => writer.footprints(),
        })
    }

    fn graph(&mut self) -> io::Result<()> {
        self.object(["comp_seq", "mem_chunk", "var", "operator"], |writer, name| match name {
            "comp_seq" => writer.ids(&writer.profile.order),
            "mem_chunk" => writer.chunks(),
            "var" => writer.vars(),
            _ => writer.operators(),
        })
    }

    fn times(&mut self, times: &Keyed<Span<Interval>>) -> io::Result<()> {
        let profile = self.profile;
        self.keyed(times, |writer, _, span| {
            let intervals = profile.intervals.get(*span);
            writer.members(intervals, |writer, interval| {
                writer.text(profile.symbols.get(interval.place))?;
                write!(writer.out, ": ")?;
                let times = [("end", interval.end), ("kern", interval.kernel), ("start", interval.start)];
                writer.members(&times, |writer, (name, time)| {
                    write!(writer.out, "\"{name}\": {}", seconds(*time))
                })
            })
        })
    }

    fn footprints(&mut self) -> io::Result<()> {
        let profile = self.profile;
        self.keyed(&profile.footprints, |writer, _, footprint| {
            let lists = [
                ("out_shapes", footprint.out_shapes),
                ("in_shapes", footprint.in_shapes),
                ("in_layouts", footprint.in_layouts),
            ];
            write!(writer.out, "{{ \"param\": ")?;
            if footprint.param.is_none() {
                write!(writer.out, "{{ }}")?
            } else {
                writer.piece(footprint.param)?
            }
            for (name, shapes) in lists {
                if let Some(shapes) = shapes {
                    write!(writer.out, ", \"{name}\": ")?;
                    writer.list(profile.shapes.get(shapes), |writer, shape| match shape {
                        Some(shape) => writer.numbers(profile.dimensions.get(*shape)),
                        None => write!(writer.out, "null"),
                    })?;
                }
            }
            let count = |count: Option<f64>| count.map_or("null".to_owned(), number);
            let (memory, computation) = (count(footprint.memory), count(footprint.computation));
            write!(writer.out, ", \"memory\": {memory}, \"computation\": {computation}}}")
        })
    }

    fn chunks(&mut self) -> io::Result<()> {
        let symbols = &self.profile.symbols;
        let chunks: Vec<_> = self.profile.chunks.iter().collect();
        self.members(&chunks, |writer, (id, chunk)| {
            let id = id.chunk_text(symbols);
            writer.text(&id)?;
            write!(writer.out, ": {{ \"dev_ptr\": {}, \"owner_var\": ", pointer(chunk.dev_ptr))?;
            writer.reference(chunk.owner)?;
            write!(writer.out, ", \"size\": {}, \"id\": ", chunk.size)?;
            writer.text(&id)?;
            write!(writer.out, ", \"node_type\": \"mem_chunk\"}}")
        })
    }

    fn vars(&mut self) -> io::Result<()> {
        let profile = self.profile;
        self.keyed(&profile.vars, |writer, id, var| {
            write!(writer.out, "{{ ")?;
            if let Some(end) = var.prev_dev_ptr_end {
                write!(writer.out, "\"prev_dev_ptr_end\": {end}, ")?;
            }
            write!(writer.out, "\"flag\": ")?;
            if var.flags.is_none() {
                write!(writer.out, "[]")?
            } else {
                writer.piece(var.flags)?
            }
            write!(writer.out, ", \"comp_node\": ")?;
            writer.symbol(var.comp_node)?;
            write!(writer.out, ", \"prev_dev_ptr\": {}, \"force_update_src\": ", var.prev_dev_ptr)?;
            writer.reference(var.force_update_src)?;
            write!(writer.out, ", \"dev_ptr\": {}, \"mem_plan\": ", pointer(var.dev_ptr))?;
            writer.memory_plan(var)?;
            write!(writer.out, ", \"mem_readonly_fwd_src\": ")?;
            writer.reference(var.mem_readonly_fwd_src)?;
            write!(writer.out, ", \"name\": ")?;
            writer.string_piece(var.name)?;
            write!(writer.out, ", \"static_infer_tags\": ")?;
            writer.object_piece(var.static_infer_tags)?;
            write!(writer.out, ", \"id\": ")?;
            writer.reference(Some(id))?;
            write!(writer.out, ", \"node_type\": \"var\"}}")
        })
    }

    fn memory_plan(&mut self, var: &Var) -> io::Result<()> {
        let Some(plan) = var.mem_plan else { return write!(self.out, "null") };
        write!(self.out, "{{ \"offset_byte\": {}, \"layout\": {{ \"dtype\": ", plan.offset)?;
        self.symbol(plan.data_type)?;
        write!(self.out, ", \"stride\": ")?;
        self.numbers(self.profile.plan_dimensions.get(plan.strides))?;
        write!(self.out, ", \"shape\": ")?;
        self.numbers(self.profile.plan_dimensions.get(plan.shape))?;
        write!(self.out, "}}, \"mem_chunk_id\": ")?;
        self.text(&plan.chunk.chunk_text(&self.profile.symbols))?;
        write!(self.out, "}}")
    }

    fn operators(&mut self) -> io::Result<()> {
        let profile = self.profile;
        self.keyed(&profile.operators, |writer, id, operator| {
            write!(writer.out, "{{ \"waiting_spec\": ")?;
            writer.object_piece(operator.waiting_spec)?;
            write!(writer.out, ", \"output\": ")?;
            writer.ids(profile.ids.get(operator.outputs))?;
            write!(writer.out, ", \"input\": ")?;
            writer.ids(profile.ids.get(operator.inputs))?;
            write!(writer.out, ", \"type\": ")?;
            writer.symbol(operator.op_type)?;
            write!(writer.out, ", \"name\": ")?;
            writer.string_piece(operator.name)?;
            write!(writer.out, ", \"id\": ")?;
            writer.reference(Some(id))?;
            write!(writer.out, ", \"extra\": ")?;
            writer.object_piece(operator.extra)?;
            write!(writer.out, ", \"node_type\": \"operator\"}}")
        })
    }

    /// An object of rows by id.
    fn keyed<Row>(
        &mut self,
        rows: &Keyed<Row>,
        mut value: impl FnMut(&mut Self, GraphId, &Row) -> io::Result<()>,
    ) -> io::Result<()> {
        if rows.is_empty() {
            return write!(self.out, "{{ }}");
        }
        let mut before = "{ ";
        for (id, row) in rows.iter() {
            write!(self.out, "{before}")?;
            self.reference(Some(id))?;
            write!(self.out, ": ")?;
            value(self, id, row)?;
            before = ", ";
        }
        write!(self.out, "}}")
    }

    /// An object with these names.
    fn object<const COUNT: usize>(
        &mut self,
        names: [&str; COUNT],
        mut value: impl FnMut(&mut Self, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        self.members(&names, |writer, name| {
            write!(writer.out, "\"{name}\": ")?;
            value(writer, name)
        })
    }

    /// An object whose members `member` writes, names included.
    fn members<T>(
        &mut self,
        members: &[T],
        member: impl FnMut(&mut Self, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        if members.is_empty() {
            return write!(self.out, "{{ }}");
        }
        write!(self.out, "{{ ")?;
        self.separated(members, member)?;
        write!(self.out, "}}")
    }

    fn list<T>(
        &mut self,
        elements: &[T],
        element: impl FnMut(&mut Self, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        if elements.is_empty() {
            return write!(self.out, "[]");
        }
        write!(self.out, "[ ")?;
        self.separated(elements, element)?;
        write!(self.out, "]")
    }

    fn separated<T>(
        &mut self,
        items: &[T],
        mut item: impl FnMut(&mut Self, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        for (at, value) in items.iter().enumerate() {
            if at > 0 {
                write!(self.out, ", ")?;
            }
            item(self, value)?;
        }
        Ok(())
    }

    fn ids(&mut self, ids: &[GraphId]) -> io::Result<()> {
        self.list(ids, |writer, id| writer.reference(Some(*id)))
    }

    fn numbers(&mut self, numbers: &[i64]) -> io::Result<()> {
        self.list(numbers, |writer, number| write!(writer.out, "{number}"))
    }

    /// An id in quotes, or null.
    fn reference(&mut self, id: Option<GraphId>) -> io::Result<()> {
        match id.map(|id| (id, id.number())) {
            Some((_, Some(number))) => write!(self.out, "\"{number}\""),
            Some((id, None)) => self.text(&id.text(&self.profile.symbols)),
            None => write!(self.out, "null"),
        }
    }

    fn symbol(&mut self, id: StringId) -> io::Result<()> {
        self.text(self.profile.symbols.get(id))
    }

    fn piece(&mut self, piece: Piece) -> io::Result<()> {
        self.out.write_all(self.profile.json(piece))
    }

    /// A piece that must be a string, an empty one where it is none.
    fn string_piece(&mut self, piece: Piece) -> io::Result<()> {
        if self.profile.json(piece).starts_with(b"\"") { self.piece(piece) } else { self.text("") }
    }

    /// A piece that is an object where there is one, else an empty object.
    fn object_piece(&mut self, piece: Piece) -> io::Result<()> {
        if piece.is_none() { write!(self.out, "{{ }}") } else { self.piece(piece) }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut quoted = Vec::with_capacity(text.len() + 2);
        push_string(&mut quoted, text);
        self.out.write_all(&quoted)
    }
}

/// Appends a text as a JSON string.
pub(super) fn push_string(json: &mut Vec<u8>, text: &str) {
    json.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'/' => json.extend([b'\\', byte]),
            0x08 => json.extend(b"\\b"),
            0x0c => json.extend(b"\\f"),
            b'\n' => json.extend(b"\\n"),
            b'\r' => json.extend(b"\\r"),
            b'\t' => json.extend(b"\\t"),
            0..0x20 => json.extend(format!("\\u{byte:04x}").bytes()),
            _ => json.push(byte),
        }
    }
    json.push(b'"');
}

/// Appends valid JSON with the blanks and escapes of MegEngine's writer.
pub(super) fn push_respaced(json: &mut Vec<u8>, other: &[u8]) {
    let mut escaped = false;
    let mut quoted = false;
    for &byte in other {
        let blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        if quoted {
            if byte == b'/' && !escaped {
                json.push(b'\\');
            }
            json.push(byte);
            quoted = byte != b'"' || escaped;
            escaped = byte == b'\\' && !escaped;
        } else if !blank {
            // The only blank before something that closes is that of an empty object.
            if byte == b']' && json.ends_with(b"[ ") {
                json.pop();
            }
            json.push(byte);
            quoted = byte == b'"';
            if matches!(byte, b'{' | b'[' | b',' | b':') {
                json.push(b' ');
            }
        }
    }
}

/// A number as MegEngine writes it, with more than 15 digits only where fewer would be another
/// number; what is not finite loses its sign and becomes a word in quotes.
fn number(value: f64) -> String {
    if value.is_nan() {
        "\"nan\"".to_owned()
    } else if value.is_infinite() {
        "\"inf\"".to_owned()
    } else if value == value.trunc() && value.abs() < 1e15 {
        (value as i64).to_string()
    } else {
        let text = general(value, 15);
        if text.parse() == Ok(value) { text } else { shortest(value) }
    }
}

/// A time, which is never a whole number without a decimal: MegEngine's analyser stops at those.
fn seconds(value: f64) -> String {
    let text = number(value);
    if text.contains(['.', 'e', '"']) { text } else { text + ".0" }
}

fn pointer(address: Option<u64>) -> String {
    address.map_or("null".to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_fifteen_digits_and_words_stand_in_quotes() {
        let expected = [
            (0.030904, "0.030904"),
            (231_211_008.0, "231211008"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e20, "1e+20"),
            (f64::NEG_INFINITY, "\"inf\""),
            (f64::NAN, "\"nan\""),
        ];
        for (value, text) in expected {
            assert_eq!(number(value), text);
        }
        assert_eq!([seconds(0.0), seconds(-1.0), seconds(1e-6)], ["0.0", "-1.0", "1e-06"]);
    }

    #[test]
    fn text_is_escaped_so_that_every_reader_takes_it() {
        let mut json = Vec::new();
        push_string(&mut json, "a/b\"\\\n\u{1}é");
        assert_eq!(String::from_utf8(json).unwrap(), "\"a\\/b\\\"\\\\\\n\\u0001é\"");
    }

    #[test]
    fn other_json_gets_the_same_blanks() {
        let mut json = Vec::new();
        push_respaced(&mut json, br#"{"a":[1 ,  2,[]],"b":{ },"c / \\":"[ {\"/\/","d":[{"e":null}]}"#);
        let expected = r#"{ "a": [ 1, 2, []], "b": { }, "c \/ \\": "[ {\"\/\/", "d": [ { "e": null}]}"#;
        assert_eq!(String::from_utf8(json).unwrap(), expected);
    }
}
