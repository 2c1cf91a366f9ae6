//! The outcome of an import.

use opscope_reach::{Imported, Keep};
use opscope_say::{say, word};
use opscope_trace::units;
use serde_json::{Value, json};

use super::screen::words_of_run;
use super::{grouped, listed, loss_json};
use crate::report::{Envelope, Table, TableCell, TableColumn, count};
use crate::terminal::{bold, command_line, dim, printable};

/// The ranks and tables that came in, and what is missing. `run` is their run in the set, where that has others.
pub fn imported_text(
    imported: &Imported,
    keep: Keep,
    set: &str,
    run: Option<&str>,
    width: Option<u16>,
) -> String {
    let mut text = match imported.ranks.len() {
        0 => word("Nothing new").to_owned(),
        new => say!("{} imported", bold(&count(new, "rank"))),
    };
    if !imported.present.is_empty() {
        text.push_str(&say!("; {} from the same data there already", count(imported.present.len(), "rank")));
    }
    for (first, last) in &imported.busy {
        text.push_str(&say!("; ranks {first} to {last} are being imported by another process"));
    }
    text.push('\n');
    if !imported.tables.is_empty() {
        let columns = [TableColumn::text("table"), TableColumn::number("rows"), TableColumn::number("size")];
        let mut table = Table::new(columns);
        for (name, (rows, bytes)) in &imported.tables {
            table.row([
                TableCell::from(name.as_str()),
                grouped(*rows as usize).into(),
                units::bytes(*bytes as f64).into(),
            ]);
        }
        text.push_str(&format!("\n{}", table.to_text(width)));
    }
    if !imported.missing.is_empty() {
        text.push_str(&say!("\nMissing: {}\n", listed(&imported.missing)));
    }
    if let Some(why) = &imported.why_not_whole {
        text.push_str(&say!("\nWithout the tables over all ranks: {}\n", printable(why)));
    }
    if imported.are_mended {
        text.push_str(word("\nThe tables over all ranks lacked files or were cut, and are written anew\n"));
    }
    let set = command_line(std::iter::once(set.to_owned()).chain(words_of_run(run)));
    let set = printable(&set);
    let more = match keep {
        // Everything else is found by collectives, which it hasn't.
        Keep::Summary => say!("\nMore: opscope cluster sql {} \"SELECT * FROM steps\"\n", set),
        _ => say!("\nMore: opscope cluster {}\n", set),
    };
    text.push_str(&dim(&more));
    text
}

/// The same for programs.
pub fn imported_json(imported: &Imported, set: &str, run: &str) -> Envelope<Value> {
    let tables = imported
        .tables
        .iter()
        .map(|(name, (rows, bytes))| json!({ "table": name, "rows": rows, "bytes": bytes }));
    let answer = json!({
        "set": set,
        "run": run,
        "imported": imported.ranks,
        "present": imported.present,
        "busy": imported.busy,
        "missing": imported.missing,
        "whole": imported.why_not_whole.is_none(),
        "why_not_whole": imported.why_not_whole,
        "mended": imported.are_mended,
        "tables": tables.collect::<Vec<_>>(),
    });
    Envelope::new(1, answer).with_losses(imported.losses.iter().map(loss_json).collect())
}
