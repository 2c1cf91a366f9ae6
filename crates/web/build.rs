//! Links the modules of each page into one script, and lays its styles together.

#[path = "src/link.rs"]
mod link;
#[path = "src/shorten.rs"]
mod shorten;
#[path = "src/words.rs"]
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A page: what it is made of below `ui`.
struct Page {
    /// The name of its script and styles.
    name: &'static str,
    /// The module that begins it.
    entry: &'static str,
    /// The folder of its texts, which stand in the place of `locale/en.js` and `locale/zh.js` for its modules.
    texts: &'static str,
    /// The styles that it leaves out: those of the other page alone.
    without: &'static [&'static str],
}

const PAGES: [Page; 2] = [
    Page { name: "page", entry: "main.js", texts: "locale", without: &["4-ranks.css"] },
    Page { name: "ranks", entry: "ranks.js", texts: "ranks/locale", without: &[] },
];

fn main() {
    println!("cargo::rerun-if-changed=ui");
    println!("cargo::rerun-if-changed=src/link.rs");
    println!("cargo::rerun-if-changed=src/shorten.rs");
    println!("cargo::rerun-if-changed=src/words.rs");
    let ui = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ui");
    for page in &PAGES {
        if let Err(problem) = make(&ui, page) {
            println!("cargo::error={problem}");
        }
    }
}

fn make(ui: &Path, page: &Page) -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    let text = |name: &str| fs::read_to_string(ui.join(name)).map_err(|problem| problem.to_string());
    let modules = modules(page, &text)?;
    let english = text(&format!("{}/en.js", page.texts))?;
    let keys = words::short_keys(&english, &modules)?;
    let read = |name: &str| match name {
        "locale/en.js" => Ok(words::under(&english, &keys)),
        "locale/zh.js" => words::by_order(&english, &text(&format!("{}/zh.js", page.texts))?, "zh"),
        _ => Ok(words::asking(&text(name)?, &keys)),
    };
    let script = link::link(page.entry, &read, shorten::shorten)
        .map_err(|problem| format!("crates/web/ui/{problem}"))?;
    let folder = ui.join("style");
    let entries = fs::read_dir(&folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".css") && !page.without.contains(&name.as_str()));
    names.sort();
    let names: Vec<String> = names.into_iter().map(|name| format!("style/{name}")).collect();
    let styles = link::styles(&names, &read).map_err(|problem| format!("crates/web/ui/{problem}"))?;
    let write = |ending: &str, text: &str| {
        let file = out.join(format!("{}.{ending}", page.name));
        fs::write(&file, text).map_err(|problem| format!("{}: {problem}", file.display()))
    };
    write("js", &script)?;
    write("css", &styles)
}

/// The texts of all modules of a page but those of the languages themselves.
fn modules(page: &Page, text: &dyn Fn(&str) -> Result<String, String>) -> Result<Vec<String>, String> {
    let mut known = BTreeSet::from(["locale/en.js".to_owned(), "locale/zh.js".to_owned()]);
    let mut open = vec![page.entry.to_owned()];
    let mut texts = Vec::new();
    while let Some(name) = open.pop() {
        if !known.insert(name.clone()) {
            continue;
        }
        let module = text(&name).map_err(|problem| format!("crates/web/ui/{name}: {problem}"))?;
        open.extend(link::imported(&name, &module));
        texts.push(module);
    }
    Ok(texts)
}
