//! The rules of the file's layout, which written profiles and MegEngine's own must both keep.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// The breaches of the layout's rules in a profile; none if all is well.
pub fn faults(text: &[u8]) -> Vec<String> {
    let root: Value = match serde_json::from_slice(text) {
        Ok(root) => root,
        Err(error) => return vec![format!("it is no strict JSON: {error}")],
    };
    let mut rules = Rules { root: &root, faults: Vec::new() };
    rules.line(text);
    rules.graph();
    rules.times("device", &|place| place.starts_with("CompNode(\"") && place.contains("\" from \""));
    rules.times("host", &|place| !place.is_empty());
    rules.footprints();
    rules.faults
}

struct Rules<'a> {
    root: &'a Value,
    faults: Vec<String>,
}

impl<'a> Rules<'a> {
    fn require(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(rule());
        }
    }

    fn section(&mut self, part: &str, name: &str) -> &'a Map<String, Value> {
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let found = self.root[part][name].as_object();
        self.require(found.is_some(), || format!("{part}.{name} is no object"));
        found.unwrap_or(&EMPTY)
    }

    /// One line, with a blank behind each comma and opening brace outside strings.
    fn line(&mut self, text: &[u8]) {
        self.require(!text.contains(&b'\n'), || "it has several lines".to_owned());
        let (mut quoted, mut escaped) = (false, false);
        let mut wrong = 0;
        for pair in text.windows(2) {
            match pair[0] {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'/' if quoted => wrong += 1,
                b',' | b'{' | b':' if !quoted && pair[1] != b' ' => wrong += 1,
                b'[' if !quoted && ![b' ', b']'].contains(&pair[1]) => wrong += 1,
                _ => {}
            }
        }
        self.require(wrong == 0, || format!("{wrong} blanks or escapes are missing"));
    }

    /// Ids come from one counter, and every one leads somewhere.
    fn graph(&mut self) {
        let operators = self.section("graph_exec", "operator");
        let vars = self.section("graph_exec", "var");
        let chunks = self.section("graph_exec", "mem_chunk");
        let mut makers: HashMap<&str, usize> = HashMap::new();
        for (id, operator) in operators {
            self.require(id.parse::<u64>().is_ok(), || format!("the operator's id {id} is no number"));
            self.require(!vars.contains_key(id), || format!("{id} is an operator and a var"));
            self.require(operator["id"] == id.as_str(), || format!("operator {id} has another id inside"));
            for field in ["name", "type"] {
                self.require(operator[field].is_string(), || format!("operator {id} has no {field}"));
            }
            self.require(operator["node_type"] == "operator", || format!("{id} is of no node_type"));
            for field in ["input", "output"] {
                for var in operator[field].as_array().into_iter().flatten() {
                    let var = var.as_str().unwrap_or("");
                    self.require(vars.contains_key(var), || format!("operator {id} names no var by {var}"));
                    if field == "output" {
                        *makers.entry(var).or_default() += 1;
                    }
                }
            }
        }
        for (id, var) in vars {
            self.require(makers.get(id.as_str()) == Some(&1), || {
                format!("var {id} is not made by one operator")
            });
            self.require(var["id"] == id.as_str(), || format!("var {id} has another id inside"));
            if let Some(plan) = var["mem_plan"].as_object() {
                let chunk = plan["mem_chunk_id"].as_str().unwrap_or("");
                self.require(chunks.contains_key(chunk), || format!("var {id} lies in no chunk {chunk}"));
                let dtype = plan["layout"]["dtype"].as_str().unwrap_or("");
                let class = dtype.chars().next().is_some_and(|first| first.is_ascii_uppercase());
                self.require(class, || format!("var {id} has the element type {dtype}"));
                let ranks = ["shape", "stride"].map(|name| plan["layout"][name].as_array().map(Vec::len));
                self.require(ranks[0] == ranks[1], || format!("var {id} has shape and strides that differ"));
            }
        }
        for (id, chunk) in chunks {
            let owner = chunk["owner_var"].as_str().unwrap_or("");
            self.require(*id == format!("chk{owner}"), || format!("chunk {id} belongs to {owner}"));
            self.require(chunk["size"].is_u64(), || format!("chunk {id} has no size"));
        }
        let order = self.root["graph_exec"]["comp_seq"].as_array();
        self.require(order.is_some(), || "comp_seq is no list".to_owned());
        let mut seen = HashSet::new();
        for id in order.into_iter().flatten() {
            let id = id.as_str().unwrap_or("");
            self.require(operators.contains_key(id), || format!("comp_seq names no operator by {id}"));
            self.require(seen.insert(id), || format!("comp_seq names {id} twice"));
        }
    }

    /// Every operator of the order has times with start, kern and end, as floating-point numbers.
    fn times(&mut self, section: &str, is_place: &dyn Fn(&str) -> bool) {
        let times = self.section("profiler", section);
        let order = self.root["graph_exec"]["comp_seq"].as_array();
        // Profiles without device or host times at all exist as well.
        for id in order.into_iter().flatten().filter(|_| !times.is_empty()) {
            let places = times.get(id.as_str().unwrap_or("")).and_then(Value::as_object);
            self.require(places.is_some_and(|places| !places.is_empty()), || {
                format!("no {section} times of {id}")
            });
            for (place, record) in places.into_iter().flatten() {
                self.require(is_place(place), || format!("{section} times of {id} in {place}"));
                let [start, kern, end] = ["start", "kern", "end"].map(|name| &record[name]);
                let numbers = [start, kern, end].iter().all(|time| time.is_f64());
                self.require(numbers, || format!("{section} times of {id} are not floating-point numbers"));
                let ordered = start.as_f64() <= kern.as_f64() && kern.as_f64() <= end.as_f64();
                self.require(ordered, || format!("{section} times of {id} don't follow one another"));
            }
        }
    }

    fn footprints(&mut self) {
        for (id, footprint) in self.section("profiler", "opr_footprint") {
            let known = footprint["memory"].is_u64()
                && (footprint["computation"].is_u64() || footprint["computation"].is_null());
            self.require(known, || format!("the footprint of {id} has no figures"));
            for field in ["in_shapes", "out_shapes"] {
                let shapes = footprint[field].as_array();
                let integers = shapes.is_some_and(|shapes| {
                    let dimensions =
                        |shape: &Value| shape.as_array().is_some_and(|list| list.iter().all(Value::is_i64));
                    shapes.iter().all(dimensions)
                });
                self.require(integers, || format!("{field} of {id} is no list of shapes"));
            }
            let param = &footprint["param"];
            self.require(param.is_object() || param.is_array(), || format!("the param of {id} is no object"));
        }
    }
}
