//! The chains that an accelerator can fuse, as text and JSON.

use std::collections::HashSet;
use std::fmt::Write;

use opscope_advise::converter::{Conversion, Remark};
use opscope_advise::fusion::{Chain, Fusion, Split};
use opscope_model::{Model, ModelKind};
use opscope_say::{Language, chosen, say, word};
use opscope_trace::units;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Envelope, conversion, count};
use crate::terminal::{bold, dim, printable};

/// The answer about a model and its conversion.
pub struct Answer<'a> {
    /// The chains, where there is a model before its conversion.
    pub found: Option<Fusion>,
    /// The operators that the converter fused, where there is a converted model.
    pub fused: Option<Fused>,
    /// How a batch is divided so that it fits the chip's L2.
    pub split: Option<Split>,
    /// The converter's options, and what it did with them.
    pub conversion: Conversion<'a>,
    /// Remarks on what is wrong or costly about that.
    pub remarks: Vec<Remark>,
    /// The command to convert with, where one is asked for.
    pub command: Option<String>,
}

impl Answer<'_> {
    /// The chains (`all` with those of a single operator), and what the converter's files say.
    pub fn to_text(&self, all: bool, width: Option<u16>) -> String {
        let mut text = String::new();
        if let Some(found) = &self.found {
            push_chains(&mut text, found, all);
            if let Some(split) = &self.split {
                let _ = writeln!(text, "\n{}", of_split(split));
            }
            let _ = writeln!(
                text,
                "\n{}",
                dim(word("limits of the Ascend 310 as published in 2020; the converter has the last word"))
            );
        }
        if let Some(fused) = &self.fused {
            push_fused(&mut text, fused, all);
        }
        let of_files = conversion::to_text(&self.conversion, &self.remarks, width);
        if !of_files.is_empty() {
            let _ = write!(text, "{}{of_files}", if text.is_empty() { "" } else { "\n" });
        }
        if let Some(command) = &self.command {
            let _ = writeln!(text, "\n{command}");
        }
        text
    }

    /// The same for programs.
    ///
    /// # Errors
    /// When a figure has no form in JSON, which would be a fault of this program.
    pub fn to_json(&self) -> anyhow::Result<Envelope<Value>> {
        let mut answer = match &self.found {
            Some(found) => serde_json::to_value(found)?,
            None => json!({}),
        };
        if let Some(fused) = &self.fused {
            answer["fused"] = serde_json::to_value(fused)?;
        }
        answer["batch_split"] = serde_json::to_value(&self.split)?;
        answer["conversion"] = conversion::to_json(&self.conversion, &self.remarks)?;
        answer["command"] = json!(self.command);
        Ok(Envelope::new(2, answer))
    }
}

/// The operators of a converted model, and those of the model before that each stands for.
#[derive(Debug, Serialize)]
pub struct Fused {
    /// How many operators the converted model has.
    operators: usize,
    /// How many of the model before they stand for, each counted once, as far as the file says.
    before: usize,
    /// Operators that stand for several, in the order of the graph.
    fused: Vec<FusedOperator>,
    /// Operators that stand for a single one, under its name or another.
    single: Vec<FusedOperator>,
    /// Operators of no origin: the converter added them.
    added: Vec<Named>,
    /// How many operators may be as they were or added; the file doesn't say which.
    unknown: usize,
}

/// An operator.
#[derive(Debug, Serialize)]
struct Named {
    name: String,
    op_type: String,
}

/// An operator that several were made into.
#[derive(Debug, Serialize)]
struct FusedOperator {
    #[serde(flatten)]
    named: Named,
    /// The names of the operators before.
    of: Vec<String>,
    /// Their types, as far as the file says.
    of_types: Vec<String>,
    /// The converter's passes.
    passes: Vec<String>,
}

impl Fused {
    /// The fusions that a model's file states; `None` where it states none of any operator.
    pub fn of(model: &Model) -> Option<Self> {
        let mut before = HashSet::new();
        let (mut fused, mut single, mut added, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut operators = 0;
        for node in model.graph().nodes().filter(|node| !model.is_helper(node.name)) {
            operators += 1;
            let named = || Named { name: node.name.to_owned(), op_type: node.op_type.to_owned() };
            match model.origin(node.id) {
                Some(origin) if !origin.names.is_empty() => {
                    before.extend(&origin.names);
                    let operator = FusedOperator {
                        named: named(),
                        of: origin.names.clone(),
                        of_types: origin.types.clone(),
                        passes: origin.passes.clone(),
                    };
                    if origin.is_fused() { &mut fused } else { &mut single }.push(operator);
                }
                // Its lists that are empty are left out.
                _ if model.kind() == ModelKind::GeOnnx => unknown += 1,
                _ => added.push(named()),
            }
        }
        let before = before.len();
        (before > 0).then_some(Self { operators, before, fused, single, added, unknown })
    }
}

fn push_fused(text: &mut String, found: &Fused, all: bool) {
    let members: usize = found.fused.iter().map(|fused| fused.of.len()).sum();
    let _ = writeln!(
        text,
        "{}",
        say!(
            "{} the converter made {} of {} before: {} stand for {members} of them; {}\n",
            bold(word("fused")),
            count(found.operators, "operator"),
            found.before,
            found.fused.len(),
            match found.unknown {
                0 => say!("{} of no origin were added", found.added.len()),
                unknown => say!("of {unknown} the file doesn't say whether they were added"),
            }
        )
    );
    let shown = found.single.iter().filter(|_| all);
    for FusedOperator { named, of, passes, .. } in found.fused.iter().chain(shown) {
        let _ = writeln!(text, "{}  {}", bold(&printable(&named.op_type)), printable(&named.name));
        if of[..] != [named.name.as_str()] {
            let _ = writeln!(text, "{}", say!("     of: {}", printable(&of.join(" + "))));
        }
        if !passes.is_empty() {
            let _ = writeln!(text, "{}", say!("     by: {}", dim(&printable(&passes.join(", ")))));
        }
    }
    if all {
        for Named { name, op_type } in &found.added {
            let _ =
                writeln!(text, "{}  {}  {}", bold(&printable(op_type)), printable(name), dim(word("added")));
        }
    }
}

/// The need of the batch for the chip's L2, in words.
fn of_split(split: &Split) -> String {
    let size = |bytes: u64| units::bytes(bytes as f64);
    let Split { l2, batch, operator, needs, tasks } = split;
    let needed = say!(
        "A batch of {batch} needs {} of L2 at {}, and the {} has {} ({})",
        size(*needs),
        printable(operator),
        printable(&l2.chip),
        size(l2.bytes),
        l2.source
    );
    match tasks {
        Some((tasks, each, bytes)) => {
            say!("{needed}: {tasks} tasks of {each} fit, with {} each.", size(*bytes))
        }
        None => say!("{needed}: not even a single sample fits."),
    }
}

fn push_chains(text: &mut String, found: &Fusion, all: bool) {
    let fused: Vec<&Chain> = found.chains.iter().filter(|chain| chain.links.len() > 1).collect();
    let operators: usize = fused.iter().map(|chain| chain.links.len()).sum();
    let _ = writeln!(
        text,
        "{}",
        say!(
            "{} {} chains of {operators} operators can become {}; {} more stand alone\n",
            bold(word("fusion")),
            fused.len(),
            fused.len(),
            found.chains.len() - fused.len()
        )
    );
    for chain in found.chains.iter().filter(|chain| all || chain.links.len() > 1) {
        let types: Vec<&str> = chain.links.iter().map(|link| &*link.op_type).collect();
        let first = chain.links.first().map_or("", |link| &*link.name);
        let _ = writeln!(
            text,
            "{}  {}",
            bold(&printable(&types.join(" + "))),
            dim(&say!("{} from {}", word(chain.class.name()), printable(first)))
        );
        let (stop, remedy) = match chosen() {
            Language::English => (&chain.stop, &chain.remedy),
            Language::Chinese => (&chain.zh.stop, &chain.zh.remedy),
        };
        let _ = writeln!(text, "{}", say!("     stops: {}", printable(stop)));
        if let Some(remedy) = remedy {
            let _ = writeln!(text, "     {}", printable(remedy));
        }
    }
    if !found.pairs.is_empty() {
        let _ = writeln!(text, "\n{}", bold(word("through L2")));
        for pair in &found.pairs {
            let _ = writeln!(text, "{}", say!("     {} to {}", printable(&pair.from), printable(&pair.to)));
        }
    }
}
