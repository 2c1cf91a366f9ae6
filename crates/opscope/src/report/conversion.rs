//! The conversion of a model, as far as its files tell, as text and JSON.

use std::fmt::Write;
use std::path::Path;

use opscope_advise::converter::{Conversion, Fused, Gravity, Remark, Switch};
use opscope_say::{say, sentence, word};
use serde_json::{Value, json};

use super::info::Facts;
use super::{Table, TableColumn, count, label, padded};
use crate::converter_files::ConverterFiles;
use crate::terminal::{dim, printable};

/// The switches, the rules' counts and the remarks.
pub fn to_text(conversion: &Conversion<'_>, remarks: &[Remark], width: Option<u16>) -> String {
    let mut text = String::new();
    let mut fact = |title: &str, what: &str| {
        let _ = writeln!(text, "{} {}", label(title, 10), printable(what));
    };
    if let Some(command) = conversion.command {
        let chip = command.get("soc_version").unwrap_or(word("a chip that it doesn't name"));
        let model = command.get("model").unwrap_or(word("a model that it doesn't name"));
        fact("command", &say!("{model} for {chip}"));
    }
    if let Some(switches) = conversion.switches {
        let off: Vec<&Switch> = switches.off().collect();
        let what = match off.len() {
            0 => word("no fusion rule is off").to_owned(),
            _ => say!("off: {}", off.iter().map(|it| named(it)).collect::<Vec<_>>().join(", ")),
        };
        fact("switches", &what);
    }
    if let Some(result) = conversion.result {
        let kinds = [Fused::Graph, Fused::Ub].map(|kind| {
            let rules = result.passes.iter().filter(|pass| pass.kind == kind && pass.took_effect > 0).count();
            say!("{} took effect {} times by {}", kind.name(), result.took_effect(kind), count(rules, "rule"))
        });
        fact("fusion", &say!("{}, in {}", kinds.join(", "), count(result.graphs, "graph")));
        let columns = [
            TableColumn::text("rule"),
            TableColumn::text("kind"),
            TableColumn::number("matched"),
            TableColumn::number("took effect"),
        ];
        let mut table = Table::new(columns);
        for pass in &result.passes {
            table.row([
                pass.rule.clone(),
                pass.kind.name().to_owned(),
                pass.matched.to_string(),
                pass.took_effect.to_string(),
            ]);
        }
        let _ = write!(text, "\n{}", table.to_text(width));
    }
    if !remarks.is_empty() {
        text.push('\n');
    }
    for remark in remarks {
        let gravity = match remark.gravity {
            Gravity::Wrong => label("wrong", 7),
            Gravity::Costly => dim(&padded(word("costly"), 7)),
        };
        let _ = writeln!(text, "{gravity} {}", printable(&sentence(&remark.text)));
    }
    text
}

/// The content of one of the files, for `opscope info`.
pub fn facts(path: &Path, files: &ConverterFiles, facts: &mut Facts) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(switches) = &files.switches {
        let off: Vec<&str> = switches.off().map(|switch| &*switch.rule).collect();
        let rules = switches.switches.len();
        let text = match off.is_empty() {
            true => say!("{}, none off", count(rules, "fusion rule")),
            false => say!("{}, off: {}", count(rules, "fusion rule"), off.join(", ")),
        };
        facts.add(&name, &name, text, json!({ "rules": rules, "off": off }));
    }
    if let Some(result) = &files.result {
        let missed: Vec<&str> = result.missed().map(|pass| &*pass.rule).collect();
        let text = say!(
            "{} in {}: graph fusion took effect {} times, UB fusion {} times; not always: {}",
            count(result.passes.len(), "fusion rule"),
            count(result.graphs, "graph"),
            result.took_effect(Fused::Graph),
            result.took_effect(Fused::Ub),
            if missed.is_empty() { "none".to_owned() } else { missed.join(", ") }
        );
        facts.add(&name, &name, text, json!({ "rules": result.passes.len(), "missed": missed }));
    }
    if let Some(command) = &files.command {
        let options = ["model", "framework", "soc_version", "input_shape", "fusion_switch_file"];
        let given = options.iter().filter_map(|name| Some((*name, command.get(name)?)));
        for (option, value) in given {
            facts.add(option, option, value.to_owned(), value);
        }
    }
    let is_svp = files.switches.as_ref().is_some_and(|switches| switches.is_of_svp())
        || files.soc_version().is_some_and(|chip| chip.starts_with("SS"));
    let remarks = files.conversion(is_svp).remarks(None);
    let wrong: Vec<&str> =
        remarks.iter().filter(|it| it.gravity == Gravity::Wrong).map(|remark| &*remark.text).collect();
    if !wrong.is_empty() {
        facts.add("wrong", "wrong", wrong.join("; "), json!(wrong));
    }
}

fn named(switch: &Switch) -> String {
    match switch.kind {
        Fused::Unknown => switch.rule.clone(),
        kind => format!("{} ({})", switch.rule, kind.name()),
    }
}

/// The same for programs.
///
/// # Errors
/// When something has no form in JSON, which would be a fault of this program.
pub fn to_json(conversion: &Conversion<'_>, remarks: &[Remark]) -> anyhow::Result<Value> {
    let off: Option<Vec<&str>> =
        conversion.switches.map(|switches| switches.off().map(|switch| &*switch.rule).collect());
    Ok(json!({
        "command": conversion.command.map(|command| command.to_command()),
        "switches": conversion.switches,
        "off": off,
        "fusion_result": conversion.result,
        "remarks": remarks,
    }))
}
