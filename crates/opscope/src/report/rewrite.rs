//! The effect of rewrites on a model, and the list of all rewrites, as text and JSON.

use std::fmt::Write;
use std::path::Path;

use opscope_rewrite::{ALL, Application, Exactness, Info, NodeName, Rewritten, Use};
use opscope_say::{say, word};
use opscope_tune::Agreement;
use serde_json::{Value, json};

use super::tune::{agreement_json, agreement_text};
use super::{Envelope, Table, TableColumn};
use crate::terminal::{bold, dim, printable};

/// The applications of each rewrite, in the order in which the rewrites were first applied.
fn by_rewrite(applications: &[Application]) -> Vec<Vec<&Application>> {
    let mut groups: Vec<Vec<&Application>> = Vec::new();
    for done in applications {
        match groups.iter_mut().find(|group| group[0].rewrite.id == done.rewrite.id) {
            Some(group) => group.push(done),
            None => groups.push(vec![done]),
        }
    }
    groups
}

/// Nodes as `name (operator)`.
fn texts(nodes: &[NodeName]) -> Vec<String> {
    nodes.iter().map(NodeName::to_string).collect()
}

fn joined(nodes: &[NodeName]) -> String {
    texts(nodes).join(" + ")
}

/// The answer for people; every place of a rewrite only where that is what they ask for.
pub fn to_text(path: &Path, rewritten: &Rewritten, found: Option<Agreement>, names_all: bool) -> String {
    const SHOWN: usize = 5;
    let mut text = String::new();
    let (before, after) = (rewritten.nodes_before, rewritten.nodes_after);
    let _ = writeln!(
        text,
        "{}",
        say!("{}: {before} nodes became {after}", bold(&printable(&path.display().to_string())))
    );
    if let Some((from, to)) = rewritten.opset {
        let _ = writeln!(text, "{}", say!("ONNX's operators: version {from} became {to}"));
    }
    for group in by_rewrite(&rewritten.applications) {
        let info = group[0].rewrite;
        let title = bold(&format!("{} {}", info.id, info.name));
        let exactness = group.iter().map(|done| done.exactness).max().unwrap_or(info.exactness);
        let _ = writeln!(
            text,
            "\n{title} {}",
            dim(&say!("({}, {})", word(exactness.name()), times(group.len())))
        );
        let shown = if names_all { group.len() } else { SHOWN };
        for done in group.iter().take(shown) {
            let after = if done.after.is_empty() { word("nothing").to_owned() } else { joined(&done.after) };
            let _ = writeln!(text, "  {} -> {}", printable(&joined(&done.before)), printable(&after));
        }
        if group.len() > shown {
            let more = say!("and {} more (--dry-run names all)", group.len() - shown);
            let _ = writeln!(text, "  {}", dim(&more));
        }
    }
    if rewritten.applications.is_empty() {
        text.push_str(word("No rewrite applies.\n"));
    }
    if rewritten.inner_nodes > 0 {
        let inner = rewritten.inner_nodes;
        let _ = writeln!(
            text,
            "{}",
            say!("\n{inner} nodes inside of others (If, Loop, Scan) and in functions were left as they are.")
        );
    }
    if !rewritten.declined.is_empty() {
        let _ = writeln!(text, "\n{}", bold(word("Left alone")));
        for declined in &rewritten.declined {
            let _ = writeln!(
                text,
                "{}",
                say!("  {} at {}: {}", declined.rewrite, printable(&declined.node), declined.reason)
            );
        }
    }
    if let Some(found) = found {
        let _ = writeln!(text, "\n{} {}", bold(word("Outputs")), agreement_text(&found));
    }
    text
}

fn times(count: usize) -> String {
    if count == 1 { word("once").to_owned() } else { say!("{count} times") }
}

/// The same for programs.
pub fn to_json(
    path: &Path,
    written: Option<&Path>,
    rewritten: &Rewritten,
    found: Option<Agreement>,
    failed: bool,
) -> Envelope<Value> {
    let answer = json!({
        "model": path.display().to_string(),
        "output": written.map(|path| path.display().to_string()),
        "nodes_before": rewritten.nodes_before,
        "nodes_after": rewritten.nodes_after,
        "inner_nodes_left_alone": rewritten.inner_nodes,
        "opset": rewritten.opset.map(|(from, to)| json!({ "before": from, "after": to })),
        "applications": rewritten.applications.iter().map(|done| json!({
            "id": done.rewrite.id,
            "name": done.rewrite.name,
            "exactness": done.exactness.name(),
            "before": texts(&done.before),
            "after": texts(&done.after),
        })).collect::<Vec<_>>(),
        "declined": rewritten.declined.iter().map(|declined| json!({
            "id": declined.rewrite,
            "node": declined.node,
            "reason": declined.reason.to_string(),
        })).collect::<Vec<_>>(),
        "agreement": found.as_ref().map(agreement_json),
        "check_failed": failed,
    });
    Envelope::new(1, answer)
}

fn applied(info: &Info) -> &'static str {
    match (info.exactness, info.use_) {
        (Exactness::Lossy, _) => word("when allowed"),
        (_, Use::Always) => word("always"),
        (_, Use::Named) => word("when named"),
    }
}

/// All rewrites in a table.
pub fn list_text(width: Option<u16>) -> String {
    let columns = [
        TableColumn::text("id"),
        TableColumn::text("name"),
        TableColumn::text("exactness"),
        TableColumn::text("applied"),
        TableColumn::text("what becomes what"),
    ];
    let mut table = Table::new(columns);
    for rewrite in ALL {
        let info = rewrite.info();
        let cells = [info.id, info.name, word(info.exactness.name()), applied(info), word(info.summary)];
        table.row(cells);
    }
    format!(
        "{}\n{}",
        table.to_text(width),
        dim(word("The condition of each: opscope rewrite --list --json\n"))
    )
}

/// The same for programs, with the condition of each.
pub fn list_json() -> Envelope<Value> {
    let rewrites = ALL.iter().map(|rewrite| {
        let info = rewrite.info();
        json!({
            "id": info.id,
            "name": info.name,
            "exactness": info.exactness.name(),
            "applied": applied(info),
            "summary": info.summary,
            "condition": info.condition,
        })
    });
    Envelope::new(1, json!({ "rewrites": rewrites.collect::<Vec<_>>() }))
}
