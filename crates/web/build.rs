//! Links the page's modules into one script, and lays its styles together.

#[path = "src/link.rs"]
mod link;
#[path = "src/shorten.rs"]
mod shorten;
#[path = "src/words.rs"]
mod words;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=ui");
    println!("cargo::rerun-if-changed=src/link.rs");
    println!("cargo::rerun-if-changed=src/shorten.rs");
    println!("cargo::rerun-if-changed=src/words.rs");
    let ui = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ui");
    if let Err(problem) = make(&ui) {
        println!("cargo::error={problem}");
    }
}

fn make(ui: &Path) -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    let text = |name: &str| fs::read_to_string(ui.join(name)).map_err(|problem| problem.to_string());
    let modules = modules(ui).map_err(|problem| format!("crates/web/ui: {problem}"))?;
    let english = text("locale/en.js")?;
    let keys = words::short_keys(&english, &modules)?;
    let read = |name: &str| match name {
        "locale/en.js" => Ok(words::under(&english, &keys)),
        "locale/zh.js" => words::by_order(&english, &text(name)?, "zh"),
        _ => Ok(words::asking(&text(name)?, &keys)),
    };
    let script = link::link("main.js", &read, shorten::shorten)
        .map_err(|problem| format!("crates/web/ui/{problem}"))?;
    let folder = ui.join("style");
    let entries = fs::read_dir(&folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".css"));
    names.sort();
    let names: Vec<String> = names.into_iter().map(|name| format!("style/{name}")).collect();
    let styles = link::styles(&names, &read).map_err(|problem| format!("crates/web/ui/{problem}"))?;
    let write = |name: &str, text: &str| {
        fs::write(out.join(name), text).map_err(|problem| format!("{}: {problem}", out.join(name).display()))
    };
    write("page.js", &script)?;
    write("page.css", &styles)
}

/// The texts of all modules below a folder but those of the languages themselves.
fn modules(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_language = ["en.js", "zh.js"].iter().any(|name| path.ends_with(name));
        if path.is_dir() {
            texts.extend(modules(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "js") && !is_language {
            texts.push(fs::read_to_string(&path)?);
        }
    }
    Ok(texts)
}
