//! The chains that an accelerator can fuse, as text and JSON.

use std::fmt::Write;

use opscope_advise::converter::{Conversion, Remark};
use opscope_advise::fusion::{Chain, Fusion, Split};
use opscope_trace::units;
use serde_json::{Value, json};

use super::{Envelope, conversion};
use crate::terminal::{bold, dim, printable};

/// The answer about a model and its conversion.
pub struct Answer<'a> {
    /// The chains, where there is a model.
    pub found: Option<Fusion>,
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
                dim("limits of the Ascend 310 as published in 2020; the converter has the last word")
            );
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
        answer["batch_split"] = serde_json::to_value(&self.split)?;
        answer["conversion"] = conversion::to_json(&self.conversion, &self.remarks)?;
        answer["command"] = json!(self.command);
        Ok(Envelope::new(2, answer))
    }
}

/// The need of the batch for the chip's L2, in words.
fn of_split(split: &Split) -> String {
    let size = |bytes: u64| units::bytes(bytes as f64);
    let Split { l2, batch, operator, needs, tasks } = split;
    let needed = format!(
        "A batch of {batch} needs {} of L2 at {}, and the {} has {} ({})",
        size(*needs),
        printable(operator),
        printable(&l2.chip),
        size(l2.bytes),
        l2.source
    );
    match tasks {
        Some((tasks, each, bytes)) => {
            format!("{needed}: {tasks} tasks of {each} fit, with {} each.", size(*bytes))
        }
        None => format!("{needed}: not even a single sample fits."),
    }
}

fn push_chains(text: &mut String, found: &Fusion, all: bool) {
    let fused: Vec<&Chain> = found.chains.iter().filter(|chain| chain.links.len() > 1).collect();
    let operators: usize = fused.iter().map(|chain| chain.links.len()).sum();
    let _ = writeln!(
        text,
        "{} {} chains of {operators} operators can become {}; {} more stand alone\n",
        bold("fusion"),
        fused.len(),
        fused.len(),
        found.chains.len() - fused.len()
    );
    for chain in found.chains.iter().filter(|chain| all || chain.links.len() > 1) {
        let types: Vec<&str> = chain.links.iter().map(|link| &*link.op_type).collect();
        let first = chain.links.first().map_or("", |link| &*link.name);
        let _ = writeln!(
            text,
            "{}  {}",
            bold(&printable(&types.join(" + "))),
            dim(&format!("{} from {}", chain.class.name(), printable(first)))
        );
        let _ = writeln!(text, "     stops: {}", printable(&chain.stop));
        if let Some(remedy) = &chain.remedy {
            let _ = writeln!(text, "     {}", printable(remedy));
        }
    }
    if !found.pairs.is_empty() {
        let _ = writeln!(text, "\n{}", bold("through L2"));
        for pair in &found.pairs {
            let _ = writeln!(text, "     {} to {}", printable(&pair.from), printable(&pair.to));
        }
    }
}
