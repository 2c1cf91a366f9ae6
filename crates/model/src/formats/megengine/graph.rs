//! The graph of a model: inputs and weights are operators in the file, all others become nodes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::super::FormatError;
use super::super::assembly::{self, Assembly, Tensor, Told};
use super::super::flatbuffer::Table;
use super::operator::{Data, Form, Operator, Stored, described};
use crate::model_kind::ModelKind;
use crate::proto::NodeProto;
use crate::provenance::{ReadModel, StatedValue};

/// Types of operators that store tensors and make a value of each.
const STORES: [&str; 6] = [
    "ImmutableTensor",
    "SharedDeviceTensor",
    "SharedDeviceTensorWithFormat",
    "VolatileSharedDeviceTensor",
    "MultipleDeviceTensorHolder",
    "MultipleDeviceTensorWithFormatHolder",
];

/// A model as its graph is put together.
pub(super) struct Reader<'b> {
    file: &'b Bytes,
    /// The data of tensors that haven't been passed yet, in the first form.
    tensors: Option<&'b [u8]>,
    assembly: Assembly,
    /// The names of values by their numbers.
    values: HashMap<u32, String>,
    names: HashSet<String>,
    /// The number of the next value, in the first form; `None` behind an operator of which nobody knows how many
    /// values it makes.
    next: Option<u32>,
    uncounted: Told,
    unknown: Told,
    unread: usize,
    version: u32,
}

/// The model's outputs: structures in the first form, tables in the second.
const OUTPUTS: usize = 4;

/// The fields that the tables of both forms have.
struct Root<'b> {
    form: Form,
    operators: usize,
    metadata: usize,
    user_info: usize,
    table: Table<'b>,
}

impl<'b> Root<'b> {
    fn of(table: Table<'b>, form: Form) -> Self {
        let (operators, metadata, user_info) = match form {
            Form::First => (3, 5, 2),
            Form::Second => (2, 7, 3),
        };
        Self { form, operators, metadata, user_info, table }
    }

    /// Names of outputs by the numbers of their values, in the second form: an alias has the number of the
    /// operator's own variable.
    fn aliases(&self) -> HashMap<u32, Cow<'b, str>> {
        if self.form == Form::First {
            return HashMap::new();
        }
        let names: HashMap<u32, Cow<'b, str>> =
            self.table.tables(5).flatten().map(|alias| (alias.u32(0), alias.text(1))).collect();
        let outputs = self.outputs().into_iter();
        outputs.filter_map(|[value, variable]| Some((value, names.get(&variable)?.clone()))).collect()
    }

    /// The numbers of the model's outputs, and those of their variables when the file was written.
    fn outputs(&self) -> Vec<[u32; 2]> {
        match self.form {
            Form::First => self.table.pairs(OUTPUTS).collect(),
            Form::Second => {
                let outputs = self.table.tables(OUTPUTS).flatten();
                outputs.map(|output| [output.u32(0), output.u32(1)]).collect()
            }
        }
    }
}

impl<'b> Reader<'b> {
    /// A reader of a file; `tensors` are the data in front of the graph, in the first form.
    pub fn new(file: &'b Bytes, tensors: Option<&'b [u8]>) -> Self {
        Self {
            file,
            tensors,
            assembly: Assembly::new(""),
            values: HashMap::new(),
            names: HashSet::new(),
            next: Some(0),
            uncounted: Told::default(),
            unknown: Told::default(),
            unread: 0,
            version: 0,
        }
    }

    /// Reads the model that a table is.
    ///
    /// # Errors
    /// When the graph is too large.
    pub fn model(&mut self, table: &Table<'b>) -> Result<(), FormatError> {
        let form = if self.tensors.is_some() { Form::First } else { Form::Second };
        let root = Root::of(*table, form);
        self.version = table.u32(0);
        let aliases = root.aliases();
        for operator in table.tables(root.operators) {
            match operator {
                Some(operator) => self.operator(&Operator::of(operator, form), &root, &aliases)?,
                None => self.unread += 1,
            }
        }
        for [value, _] in root.outputs() {
            self.assembly.count(1)?;
            match self.values.get(&value) {
                Some(name) => self.assembly.output(name, None),
                None => self.uncounted.add(|| format!("the model's output {value}")),
            }
        }
        let user_info = table.table(root.metadata).map(|metadata| metadata.bytes(root.user_info));
        // Objects of Python's are no text.
        let user_info = user_info.and_then(|bytes| str::from_utf8(bytes).ok());
        let user_info = user_info.filter(|text| !text.contains(char::is_control));
        let provenance = &mut self.assembly.provenance;
        provenance.state("form", "form", StatedValue::Count(if form == Form::First { 1 } else { 2 }));
        provenance.state_text("note", "user_info", user_info.unwrap_or_default());
        Ok(())
    }

    fn operator(
        &mut self,
        operator: &Operator<'b>,
        root: &Root<'b>,
        aliases: &HashMap<u32, Cow<'b, str>>,
    ) -> Result<(), FormatError> {
        let outputs = self.outputs(operator, root.form)?;
        let names: Vec<String> = outputs
            .iter()
            .enumerate()
            .map(|(place, value)| {
                let middle = root.table.table_of(3, *value as usize).filter(|_| root.form == Form::Second);
                let own = operator.output_name(place).or(middle.map(|middle| middle.text(0)));
                let own = own.filter(|name| !name.is_empty()).or_else(|| aliases.get(value).cloned());
                let own = own.or_else(|| operator.tensor_name(place).filter(|name| !name.is_empty()));
                self.name(own, operator, *value, (place, outputs.len()))
            })
            .collect();
        if !operator.is_known {
            self.unknown.add(|| assembly::shortened(operator.label()));
        }
        match operator.kind() {
            "Host2DeviceCopy" if operator.tensors().len() > 0 => self.input(operator, &names),
            kind if STORES.contains(&kind) => self.weights(operator, &names)?,
            _ => {
                if root.form == Form::Second {
                    for (name, value) in names.iter().zip(&outputs) {
                        if let Some(middle) = root.table.table_of(3, *value as usize) {
                            self.declare(name, &described(&middle));
                        }
                    }
                }
                self.node(operator, &names)?;
            }
        }
        for (value, name) in outputs.into_iter().zip(names) {
            self.values.insert(value, name);
        }
        Ok(())
    }

    /// The numbers of the values that an operator makes.
    fn outputs(&mut self, operator: &Operator<'b>, form: Form) -> Result<Vec<u32>, FormatError> {
        if form == Form::Second {
            self.assembly.count(operator.outputs().len())?;
            return Ok(operator.outputs().collect());
        }
        let next = self.next.zip(operator.output_count());
        let numbers =
            next.and_then(|(first, count)| Some(first..first.checked_add(u32::try_from(count).ok()?)?));
        self.next = numbers.as_ref().map(|numbers| numbers.end);
        match numbers {
            Some(numbers) => {
                self.assembly.count(numbers.len())?;
                Ok(numbers.collect())
            }
            None => {
                self.uncounted.add(|| assembly::shortened(operator.label()));
                Ok(Vec::new())
            }
        }
    }

    /// A name of a value that no other has: its own, or its operator's.
    fn name(
        &mut self,
        own: Option<Cow<'b, str>>,
        operator: &Operator<'b>,
        value: u32,
        (place, count): (usize, usize),
    ) -> String {
        let base = operator.label();
        let name = match own {
            Some(own) => own.into_owned(),
            None if count > 1 => format!("{base}:{place}"),
            None => base.to_string(),
        };
        let name = if self.names.contains(&name) { format!("{name}#{value}") } else { name };
        self.names.insert(name.clone());
        name
    }

    fn declare(&mut self, name: &str, tensor: &Tensor) {
        if tensor.dims.is_some() {
            self.assembly.declare(name, tensor);
        }
    }

    fn input(&mut self, operator: &Operator<'b>, names: &[String]) {
        let tensor = operator.tensors().flatten().next();
        for name in names {
            self.assembly.input(name, tensor.as_ref().map(|stored| &stored.tensor));
        }
    }

    fn weights(&mut self, operator: &Operator<'b>, names: &[String]) -> Result<(), FormatError> {
        for (place, stored) in operator.tensors().enumerate() {
            self.assembly.count(1)?;
            let Some(stored) = stored else {
                self.unread += 1;
                continue;
            };
            let data = self.data(&stored);
            let Some(name) = names.get(place) else { continue };
            let dims = stored.tensor.dims.unwrap_or_default();
            let mut weight = assembly::weight(name, stored.tensor.data_type, &dims);
            let elements = crate::element_count(&weight.dims.iter().map(|&n| n as u64).collect::<Vec<_>>());
            let expected = elements.and_then(|elements| stored.tensor.data_type.bytes(elements));
            let data = data.filter(|data| !data.is_empty() && Some(data.len() as u64) == expected);
            weight.raw_data = data.map(|data| self.file.slice_ref(data));
            self.assembly.weight(weight);
        }
        Ok(())
    }

    /// The data of a tensor, which lie in the order of the operators in the first form.
    fn data(&mut self, stored: &Stored<'b>) -> Option<&'b [u8]> {
        match stored.data {
            Data::Here(bytes) => Some(bytes),
            Data::InFront { passed, bytes } => {
                let rest = self.tensors?.get(passed as usize..)?;
                let data = rest.get(..bytes as usize)?;
                self.tensors = Some(&rest[data.len()..]);
                Some(data)
            }
        }
    }

    fn node(&mut self, operator: &Operator<'b>, names: &[String]) -> Result<(), FormatError> {
        // Other operators may store tensors as well.
        for stored in operator.tensors().flatten() {
            self.assembly.count(1)?;
            self.data(&stored);
        }
        self.assembly.count(operator.inputs().len())?;
        let mut inputs = Vec::new();
        for value in operator.inputs() {
            let name = self.values.get(&value);
            // The assembly tells of those that nothing makes.
            inputs.push(name.map_or_else(|| format!("value {value}"), Clone::clone));
        }
        let device = operator.device();
        let device = (!device.is_empty()).then(|| assembly::string("comp_node", &device));
        // Files lack names unless whoever wrote them kept them; those of values are there more often.
        let name = Some(operator.name.to_string()).filter(|name| !name.is_empty());
        let node = NodeProto {
            name: name.or_else(|| names.first().cloned()),
            op_type: Some(operator.kind().to_owned()),
            domain: Some(super::DOMAIN.to_owned()),
            input: inputs,
            output: names.to_vec(),
            attribute: device.into_iter().collect(),
            ..Default::default()
        };
        self.assembly.node(node, None)
    }

    /// Says how many inputs to try the file has behind the model.
    pub fn inputs_to_try(&mut self, count: u32) {
        let provenance = &mut self.assembly.provenance;
        provenance.state("with inputs", "inputs_to_try", StatedValue::Count(count.into()));
    }

    pub fn lost(&mut self, sentence: String) {
        self.assembly.provenance.losses.push(sentence);
    }

    pub fn finish(mut self, kind: ModelKind) -> ReadModel {
        let losses = &mut self.assembly.provenance.losses;
        losses.extend(self.uncounted.sentence(
            "{} of the operators and outputs stand at or behind one that makes nobody knows how many values, so that \
             their values aren't known: {}",
        ));
        losses.extend(
            self.unknown.sentence("{} of the operators are of types whose names aren't known here: {}"),
        );
        if self.unread > 0 {
            losses.push(format!("{} of the operators and tensors can't be read", self.unread));
        }
        let (mut proto, provenance) = self.assembly.finish(&[(super::DOMAIN, 1)]);
        proto.producer_name = Some("MegEngine".to_owned());
        // Two digits for the patch, three for the minor version.
        let (major, minor, patch) = (self.version / 100_000, self.version / 100 % 1000, self.version % 100);
        proto.producer_version = (self.version > 0).then(|| format!("{major}.{minor}.{patch}"));
        ReadModel { kind, proto, provenance }
    }
}
