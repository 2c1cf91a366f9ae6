//! The content of a board's `JOB*` directory, and the files that the model converter left beside a model.

use opscope_say::{say, sentence, word};
use opscope_svp::{Content, Job, RawKind, SideFiles};
use opscope_trace::units;
use serde_json::json;

use super::Facts;
use crate::report::count;
use crate::terminal::printable;

/// How many names are listed before it becomes tiresome.
const NAMED: usize = 12;

/// Says what raw files there are, how large, and whether they were finished.
pub fn of_job(job: &Job, facts: &mut Facts) {
    let bytes: u64 = job.files.iter().map(|file| file.size).sum();
    let unfinished = job.files.iter().filter(|file| !file.complete).count();
    let text = match unfinished {
        0 => format!("{}, {}", count(job.files.len(), "file"), units::bytes(bytes as f64)),
        some => say!(
            "{}, {}, {some} of them not finished",
            count(job.files.len(), "file"),
            units::bytes(bytes as f64)
        ),
    };
    let listed = job.files.iter().map(|file| {
        json!({
            "name": file.name,
            "content": file.kind.describe(),
            "bytes": file.size,
            "complete": file.complete,
        })
    });
    facts.add("raw files", "raw_files", text, listed.collect::<Vec<_>>());
    for file in &job.files {
        let state = match file.complete {
            true => word("complete"),
            false if file.kind == RawKind::Other => word("not marked as complete"),
            false => "NOT FINISHED",
        };
        let size = units::bytes(file.size as f64);
        let text = say!("{size}, {state}; {}", sentence(file.kind.describe()));
        facts.add(&file.name, &say!("raw file {}", file.name), text, file.size);
    }
    facts.missing.extend(job.problems());
}

/// Says what the model converter left: where layers run, and which were fused.
pub fn of_side_files(found: &SideFiles, facts: &mut Facts) {
    for (path, content) in &found.files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match content {
            Content::Layers { placements, sizes } => {
                let on_cpu = placements.iter().filter(|placement| placement.is_on_cpu()).count();
                let fused = placements.iter().filter(|placement| placement.fused == Some(true)).count();
                let text = say!("{}: {on_cpu} on the CPU, {fused} fused", count(placements.len(), "layer"));
                let value = json!({ "layers": placements.len(), "on_cpu": on_cpu, "fused": fused });
                facts.add(&name, &name, text, value);
                for (size, value) in sizes {
                    let shown = match size.ends_with("_size") {
                        true => units::bytes(*value as f64),
                        false => value.to_string(),
                    };
                    facts.add(size, size, shown, *value);
                }
            }
            Content::Shapes(values) => {
                facts.add(
                    &name,
                    &name,
                    say!("shapes of {}", count(*values, "value")),
                    json!({ "shapes": values }),
                );
            }
            Content::Tree { layers, links } => {
                let text = format!("{}, {}", count(*layers, "layer"), count(*links, "link"));
                facts.add(&name, &name, text, json!({ "layers": layers, "links": links }));
            }
        }
    }
    let named = |title: &str, key: &str, names: Vec<&str>, facts: &mut Facts| {
        if !names.is_empty() {
            facts.add(title, key, few(&names), json!(names));
        }
    };
    let on_cpu = found.placements().filter(|placement| placement.is_on_cpu());
    named("on the CPU", "layers_on_cpu", on_cpu.map(|it| it.name.as_str()).collect(), facts);
    let fused = found.placements().filter(|placement| placement.fused == Some(true));
    named("fused", "layers_fused", fused.map(|it| it.name.as_str()).collect(), facts);
    for (path, problem) in &found.unreadable {
        facts.missing.push(say!("{}: it could not be read: {problem}", path.display()));
    }
}

fn few(names: &[&str]) -> String {
    let mut text = names.iter().take(NAMED).map(|name| printable(name)).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&say!(" and {} more", names.len() - NAMED));
    }
    text
}
