//! The documentation that agents can read: columns, rules, tables, topics, and the form of the answers.

use opscope_advise::rules;
use opscope_analyze::Column;
use opscope_formats::sqlite::schema_help;
use opscope_say::Language;
use rmcp::model::{Resource, ResourceTemplate};

use crate::commands::explain;

/// A page, or several that have their names in the address.
struct Document {
    uri: &'static str,
    name: &'static str,
    about: &'static str,
}

const PAGES: [Document; 5] = [
    Document {
        uri: "opscope://columns",
        name: "columns",
        about: "Every column of `analyze` and `operators`",
    },
    Document { uri: "opscope://tables", name: "tables", about: "Every table, view and column for `sql`" },
    Document { uri: "opscope://rules", name: "rules", about: "Every rule of `advise`, a line each" },
    Document { uri: "opscope://topics", name: "topics", about: "The topics and messages of `explain`" },
    Document { uri: "opscope://json", name: "json", about: "The form that all answers share" },
];

const TEMPLATES: [Document; 4] = [
    Document {
        uri: "opscope://columns/{name}",
        name: "column",
        about: "One column, such as opscope://columns/cum",
    },
    Document {
        uri: "opscope://tables/{name}",
        name: "table",
        about: "One table, such as opscope://tables/tasks",
    },
    Document {
        uri: "opscope://rules/{id}",
        name: "rule",
        about: "The page of a rule, such as opscope://rules/A29",
    },
    Document {
        uri: "opscope://topics/{name}",
        name: "topic",
        about: "The page of a topic, such as opscope://topics/memory",
    },
];

/// The pages for a client.
pub fn resources() -> Vec<Resource> {
    let resource = |it: &Document| {
        Resource::new(it.uri, it.name).with_description(it.about).with_mime_type("text/plain")
    };
    PAGES.iter().map(resource).collect()
}

/// The addresses of further pages.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |it: &Document| {
        ResourceTemplate::new(it.uri, it.name).with_description(it.about).with_mime_type("text/plain")
    };
    TEMPLATES.iter().map(template).collect()
}

/// The page of an address.
pub fn read(uri: &str) -> Option<String> {
    let (kind, name) = match uri.strip_prefix("opscope://")?.split_once('/') {
        Some((kind, name)) => (kind, Some(name)),
        None => (uri.strip_prefix("opscope://")?, None),
    };
    match (kind, name) {
        ("json", None) => Some(include_str!("../../../../../docs/json.md").to_owned()),
        ("columns", name) => {
            let columns = Column::ALL.iter().filter(|column| name.is_none_or(|name| column.name() == name));
            let lines: String = columns
                .map(|column| format!("{} ({} in JSON)  {}\n", column.name(), column.key(), column.about()))
                .collect();
            (!lines.is_empty()).then_some(lines)
        }
        ("tables", None) => Some(schema_help()),
        ("tables", Some(name)) => table(name),
        ("rules", None) => {
            Some(rules().iter().map(|rule| format!("{}  {}\n", rule.id, rule.title)).collect())
        }
        ("rules", Some(id)) => {
            let all = rules();
            let rule = all.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))?;
            Some(plain(&opscope_advise::explain(rule, Language::English)))
        }
        ("topics", None) => Some(plain(&explain::list(Language::English))),
        ("topics", Some(name)) => explain::answer(name, Language::English).ok().map(|page| plain(&page)),
        _ => None,
    }
}

/// The paragraph of a table, or the line of a view.
fn table(name: &str) -> Option<String> {
    let help = schema_help();
    let is_named = |text: &&str| text.split_whitespace().next() == Some(name);
    let paragraph = help.split("\n\n").find(|text| is_named(text) && !text.starts_with(' '));
    let view = || help.lines().find(|line| line.starts_with("  ") && is_named(line));
    paragraph.or_else(view).map(|text| format!("{}\n", text.trim()))
}

/// A text without what makes headings bold on a terminal.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_rule_and_table_has_a_page() {
        for page in resources() {
            assert!(read(&page.uri).is_some_and(|text| text.len() > 100), "{}", page.uri);
        }
        for column in Column::ALL {
            let page = read(&format!("opscope://columns/{}", column.name())).unwrap_or_default();
            assert!(page.contains(column.about()) && page.lines().count() == 1, "{page}");
        }
        for rule in rules() {
            let page = read(&format!("opscope://rules/{}", rule.id)).unwrap_or_default();
            assert!(page.contains(&rule.title) && !page.contains('\u{1b}'), "{}: {page}", rule.id);
        }
        for name in ["tasks", "operators", "losses", "meta"] {
            let page = read(&format!("opscope://tables/{name}")).unwrap_or_default();
            assert!(page.starts_with(name) && page.lines().count() > 2, "{page}");
        }
        let view = read("opscope://tables/operator_executions").unwrap_or_default();
        assert!(view.starts_with("operator_executions"), "{view}");
        assert_eq!(read("opscope://rules/none"), None);
        assert_eq!(read("file:///etc/passwd"), None);
    }
}
