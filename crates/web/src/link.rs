//! ES modules made into one script, so that a page that is served and a page in one file run the same text.
//!
//! The modules keep to a small part of the language, which can be told line by line; all else is an error that
//! names its file and line:
//!
//! - `import { a, b as c } from "./d.js";` on a line of its own;
//! - `export function`, `export async function`, `export class` and `export const` at the start of a line;
//! - no other export, no import at run time, no `await` outside of functions, no circle of modules;
//! - a template literal ends on the line that it begins on, so that no line is part of a text, and no text has `/**`.
//!
//! Comments that begin with `/**` are for the type checker, and are left out, as are lines of comment and the blanks
//! before a line: they are a tenth of the page's size.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::shorten::{outermost, with_names};

/// A fault in a module.
#[derive(Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The file, from the folder of the entry.
    file: String,
    /// The line, from 1; 0 is the file itself.
    line: usize,
    message: String,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for LinkError {}

/// A fault of a line, or of a module that it names.
enum Fault {
    Here(String),
    There(LinkError),
}

impl Fault {
    fn at(self, file: &str, line: usize) -> LinkError {
        match self {
            Self::Here(message) => LinkError { file: file.to_owned(), line, message },
            Self::There(error) => error,
        }
    }
}

/// The reader of a file by its name from the folder of the entry.
type Read<'r> = &'r dyn Fn(&str) -> Result<String, String>;

/// Text that ends a script or style early where it stands in HTML.
const ENDS: [&str; 3] = ["</script", "</style", "<!--"];

/// Links a module with all that it needs into one function, whose text is handed to `shorten`.
///
/// All modules lie side by side in its scope: what a module declares outermost has the module's number behind its
/// name, there and where it is imported.
///
/// # Errors
/// When a module can't be read, or has what isn't allowed.
pub fn link(entry: &str, read: Read<'_>, shorten: fn(&str) -> String) -> Result<String, LinkError> {
    let mut linker = Linker { read, done: HashMap::new(), open: Vec::new(), script: String::new() };
    linker.module(entry).map_err(|fault| fault.at(entry, 0))?;
    Ok(format!("\"use strict\";\n(() => {{\n{}}})();\n", shorten(&linker.script)))
}

/// The names of the modules that a module imports.
pub fn imported(file: &str, text: &str) -> Vec<String> {
    let from = |line: &str| {
        line.strip_prefix("import ")?.rsplit_once(" from \"")?.1.strip_suffix("\";").map(str::to_owned)
    };
    text.lines().filter_map(from).filter_map(|from| resolve(file, &from)).collect()
}

/// Lays styles together.
///
/// # Errors
/// When one can't be read, or would load something.
pub fn styles(names: &[String], read: Read<'_>) -> Result<String, LinkError> {
    let mut all = String::new();
    for name in names {
        let fault = |line, message: String| LinkError { file: name.clone(), line, message };
        let text = read(name).map_err(|problem| fault(0, problem))?;
        for (number, line) in text.lines().enumerate() {
            let loads = line.contains("@import") || line.contains("url(") && !line.contains("url(data:");
            if loads {
                return Err(fault(number + 1, "a page loads nothing".to_owned()));
            }
            if let Some(end) = end_in(line) {
                return Err(fault(number + 1, format!("`{end}` would end the style")));
            }
        }
        all.push_str(&without_blanks(&text));
    }
    Ok(all)
}

/// A style without comments, and without the blanks that nothing depends on.
fn without_blanks(style: &str) -> String {
    let mut shorter = String::with_capacity(style.len());
    let mut rest = style;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            _ if letter.is_whitespace() => rest.len() - rest.trim_start().len(),
            _ => letter.len_utf8(),
        };
        match letter {
            '/' if length > 1 => {}
            _ if letter.is_whitespace() => {
                let before = shorter.chars().next_back().unwrap_or('{');
                let behind = rest[length..].chars().next().unwrap_or('}');
                if !"{};,: ".contains(before) && !"{};,".contains(behind) {
                    shorter.push(' ');
                }
            }
            // The last declaration of a rule needs no semicolon.
            '}' => {
                if shorter.ends_with(';') {
                    shorter.pop();
                }
                shorter.push('}');
            }
            _ => shorter.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    shorter
}

struct Linker<'r> {
    read: Read<'r>,
    /// The modules that are linked.
    done: HashMap<String, Linked>,
    /// The modules around this one.
    open: Vec<String>,
    script: String,
}

/// A module in the script.
struct Linked {
    number: usize,
    exports: BTreeSet<String>,
}

/// The parts of a module.
#[derive(Default)]
struct Module {
    body: String,
    exports: BTreeSet<String>,
    /// The names in the script of what it imports.
    imports: BTreeMap<String, String>,
}

impl Linker<'_> {
    /// Links a module, unless that is done.
    fn module(&mut self, file: &str) -> Result<(), Fault> {
        if self.done.contains_key(file) {
            return Ok(());
        }
        if let Some(first) = self.open.iter().position(|open| open == file) {
            let circle = self.open[first..].join(" → ");
            return Err(Fault::Here(format!("modules import one another in a circle: {circle} → {file}")));
        }
        let text = (self.read)(file).map_err(|problem| Fault::Here(format!("{file}: {problem}")))?;
        self.open.push(file.to_owned());
        let module = self.parts(file, &text).map_err(Fault::There)?;
        self.open.pop();
        let number = self.done.len();
        let mut names = module.imports;
        names
            .extend(outermost(&module.body).into_iter().map(|name| (name.clone(), in_script(&name, number))));
        self.script.push_str(&with_names(&module.body, &names));
        self.done.insert(file.to_owned(), Linked { number, exports: module.exports });
        Ok(())
    }

    fn parts(&mut self, file: &str, text: &str) -> Result<Module, LinkError> {
        let mut module = Module::default();
        let mut in_documents = false;
        for (number, line) in text.lines().enumerate() {
            if let Some(line) = without_documents(line, &mut in_documents) {
                self.line(file, line, &mut module).map_err(|fault| fault.at(file, number + 1))?;
            }
        }
        match in_documents {
            false => Ok(module),
            true => Err(Fault::Here("a comment has no end".to_owned()).at(file, text.lines().count())),
        }
    }

    fn line(&mut self, file: &str, line: &str, module: &mut Module) -> Result<(), Fault> {
        let here = |message: &str| Fault::Here(message.to_owned());
        if let Some(end) = end_in(line) {
            let message =
                format!("`{end}` would end the script; write a backslash before its second character");
            return Err(Fault::Here(message));
        }
        if line.starts_with("await ") || has_import_call(line) {
            return Err(here("modules are neither awaited nor imported at run time"));
        }
        if line.matches('`').count() % 2 == 1 {
            return Err(here("a template literal ends on the line that it begins on"));
        }
        if let Some(rest) = line.strip_prefix("import ") {
            return self.import(file, rest, module);
        } else if let Some(rest) = line.strip_prefix("export ") {
            let name = exported(rest).ok_or_else(|| here(EXPORTS))?;
            if !module.exports.insert(name.to_owned()) {
                return Err(Fault::Here(format!("`{name}` is exported twice")));
            }
            module.body.push_str(&without_types(rest));
        } else if ["import{", "import\"", "import'", "export{", "export*"]
            .iter()
            .any(|it| line.starts_with(it))
        {
            return Err(here(if line.starts_with('i') { IMPORTS } else { EXPORTS }));
        } else {
            match line.trim() {
                line if line.is_empty() || line.starts_with("//") => return Ok(()),
                line => module.body.push_str(&without_types(line)),
            }
        }
        module.body.push('\n');
        Ok(())
    }

    /// Takes up an import, of which the rest behind the word is given.
    fn import(&mut self, file: &str, rest: &str, module: &mut Module) -> Result<(), Fault> {
        let parts = rest.strip_prefix("{ ").and_then(|rest| rest.strip_suffix("\";"));
        let parts = parts.and_then(|rest| rest.split_once(" } from \""));
        let parts = parts.filter(|(_, from)| from.starts_with('.'));
        let (names, from) = parts.ok_or_else(|| Fault::Here(IMPORTS.to_owned()))?;
        let target =
            resolve(file, from).ok_or_else(|| Fault::Here(format!("{from} lies outside of the page")))?;
        self.module(&target)?;
        let Linked { number, exports } = &self.done[&target];
        for name in names.split(", ") {
            let (name, alias) = name.split_once(" as ").unwrap_or((name, name));
            if !exports.contains(name) {
                return Err(Fault::Here(format!("{target} exports no `{name}`")));
            }
            module.imports.insert(alias.to_owned(), in_script(name, *number));
        }
        Ok(())
    }
}

const IMPORTS: &str = "an import is `import { a, b as c } from \"./d.js\";` on one line";
const EXPORTS: &str = "only functions, classes and constants are exported, where they are declared";

/// A line without the comments for the type checker that it begins with; nothing where it has no more.
fn without_documents<'l>(line: &'l str, in_documents: &mut bool) -> Option<&'l str> {
    let begins = line.trim_start().starts_with("/**");
    if !*in_documents && !begins {
        return Some(line);
    }
    *in_documents = true;
    let from = if begins { line.find("/**").unwrap_or(0) + 3 } else { 0 };
    let end = from + line[from..].find("*/")?;
    *in_documents = false;
    let rest = &line[end + 2..];
    (!rest.trim().is_empty()).then_some(rest)
}

/// A line without the comments for the type checker within it.
fn without_types(line: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(begin) = rest.find("/**")
        && let Some(length) = rest[begin..].find("*/")
    {
        kept.push_str(&rest[..begin]);
        rest = &rest[begin + length + 2..];
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    kept + rest
}

/// The name that a line declares, behind the word `export`.
fn exported(rest: &str) -> Option<&str> {
    let declared = ["async function* ", "async function ", "function* ", "function ", "class ", "const "]
        .iter()
        .find_map(|word| rest.strip_prefix(word))?;
    let end = declared.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    let name = &declared[..end.unwrap_or(declared.len())];
    (!name.is_empty()).then_some(name)
}

/// Whether a line imports at run time; in comments `import(` names types.
fn has_import_call(line: &str) -> bool {
    let Some(place) = line.find("import(") else { return false };
    let before = &line[..place];
    let is_word = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
    let in_comment = before.rfind("/*").is_some_and(|begin| !before[begin..].contains("*/"));
    !is_word && !in_comment && !before.contains("//")
}

fn end_in(line: &str) -> Option<&'static str> {
    let line = line.to_ascii_lowercase();
    ENDS.into_iter().find(|end| line.contains(end))
}

/// The name of a file that another one names.
fn resolve(file: &str, from: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in from.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The name in the script of what the module of a number declares. No name in a module ends so.
fn in_script(name: &str, number: usize) -> String {
    format!("{name}${number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(files: &[(&str, &str)]) -> Result<String, String> {
        let read = |name: &str| {
            let found = files.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
        };
        link("main.js", &read, str::to_owned).map_err(|error| error.to_string())
    }

    #[test]
    fn modules_come_in_the_order_of_need_each_once_and_in_a_scope_of_its_own() {
        let script = linked(&[
            (
                "main.js",
                "import { paint as put } from \"./draw/rows.js\";\nimport { one } from \"./scale.js\";\nput(one);\n",
            ),
            (
                "draw/rows.js",
                "import { one } from \"../scale.js\";\nexport async function paint(x) { return x + one; }\n",
            ),
            ("scale.js", "const hidden = 1;\nexport const one = hidden;\n"),
        ]);
        let expected = "\"use strict\";\n(() => {\n\
            const hidden$0 = 1;\nconst one$0 = hidden$0;\n\
            async function paint$1(x) { return x + one$0; }\n\
            paint$1(one$0);\n})();\n";
        assert_eq!(script.as_deref(), Ok(expected));
    }

    #[test]
    fn the_modules_that_a_module_names_are_told() {
        let text = "import { a } from \"../a.js\";\n// import { b } from \"./b.js\";\nimport { c as d } from \"./c.js\";\n";
        assert_eq!(imported("ranks/main.js", text), ["a.js", "ranks/c.js"]);
        assert!(imported("main.js", "import { a } from \"../outside.js\";").is_empty());
    }

    #[test]
    fn comments_of_whole_lines_and_indents_are_left_out_and_nothing_else() {
        let text = "/**\n * @param {import(\"./t.d.ts\").T} x\n */\nconst a = 1; // stays\n  // goes\n\n  /** @type {number} */ let b = 2;\n\
            const c = /** @type {import(\"./t.d.ts\").T} */ (a);\nconst d = `/* text */`;\n/* stays */\n";
        let script = linked(&[("main.js", text)]).unwrap();
        let expected = "const a$0 = 1; // stays\nlet b$0 = 2;\n\
            const c$0 = (a$0);\nconst d$0 = `/* text */`;\n/* stays */\n";
        assert!(script.contains(expected), "{script}");
        assert!(!script.contains("@param"), "{script}");
    }

    #[test]
    fn a_fault_names_its_file_and_line() {
        let cases = [
            ("const x = 1;\nimport x from \"./a.js\";", "main.js:2: an import is"),
            ("import { a } from './a.js';", "main.js:1: an import is"),
            ("import { a } from \"react\";", "main.js:1: an import is"),
            ("import{ a } from \"./a.js\";", "main.js:1: an import is"),
            ("import { b } from \"./a.js\";", "main.js:1: a.js exports no `b`"),
            ("import { a } from \"./none.js\";", "main.js:1: none.js: no such file"),
            ("import { a } from \"../a.js\";", "main.js:1: ../a.js lies outside"),
            (
                "import { c } from \"./circle.js\";",
                "circle.js:1: modules import one another in a circle: circle.js → circle.js",
            ),
            ("import { d } from \"./fault.js\";", "fault.js:2: only functions"),
            ("\nexport let a = 1;", "main.js:2: only functions"),
            ("export default 1;", "main.js:1: only functions"),
            ("export { a };", "main.js:1: only functions"),
            ("export const a = 1;\nexport const a = 2;", "main.js:2: `a` is exported twice"),
            ("const a = await b;\nawait a;", "main.js:2: modules are neither"),
            ("const a = import(\"./a.js\");", "main.js:1: modules are neither"),
            ("const a = \"</SCRIPT>\";", "main.js:1: `</script` would end"),
            ("const a = \"<!--\";", "main.js:1: `<!--` would end"),
            ("/** a\n", "main.js:1: a comment has no end"),
            ("const a = `b\n// c`;", "main.js:1: a template literal ends"),
        ];
        let others = [
            ("a.js", "export const a = 1;"),
            ("circle.js", "import { c } from \"./circle.js\";"),
            ("fault.js", "\nexport var d = 1;"),
        ];
        for (text, expected) in cases {
            let files: Vec<_> = std::iter::once(("main.js", text)).chain(others).collect();
            let error = linked(&files).expect_err(text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn styles_lose_blanks_and_comments_and_keep_what_selects() {
        let style = "/* a { } */\n.a > .b ::before, .c:not([x=\"a, b\"]) {\n  content: \"; \";\n  width: calc(100% - 4px);\n}\n@media print { .a { color: red; } }\n";
        let read = |_: &str| Ok(style.to_owned());
        let expected = ".a > .b ::before,.c:not([x=\"a, b\"]){content:\"; \";width:calc(100% - 4px)}@media print{.a{color:red}}";
        assert_eq!(styles(&["style/a.css".to_owned()], &read).as_deref(), Ok(expected));
    }

    #[test]
    fn styles_load_nothing_and_end_nothing() {
        let of = |text: &str| {
            let read = |_: &str| Ok(text.to_owned());
            styles(&["style/a.css".to_owned()], &read).map_err(|error| error.to_string())
        };
        assert_eq!(
            of("a { b: url(data:image/png;base64,AA) }").unwrap(),
            "a{b:url(data:image/png;base64,AA)}"
        );
        assert_eq!(of("\n@import 'x';").unwrap_err(), "style/a.css:2: a page loads nothing");
        assert!(of("a { b: url(https://x) }").is_err() && of("</style>").is_err());
    }
}
