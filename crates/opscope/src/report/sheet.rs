//! Rows and columns for a person or a program: a table, Markdown, CSV, or objects in JSON.

use std::borrow::Cow;

use clap::Args;
use opscope_trace::units;
use serde_json::Value;

use crate::terminal::{Column, Table, printable};

/// The form in which rows are printed.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Form")]
pub struct FormArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print comma-separated values, with plain numbers and a line of headings
    #[arg(long)]
    pub csv: bool,

    /// Print a Markdown table
    #[arg(long)]
    pub markdown: bool,
}

/// Rows and columns.
#[derive(Debug, Default)]
pub struct Sheet {
    pub columns: Vec<SheetColumn>,
    /// As many cells in each as there are columns.
    pub rows: Vec<Vec<SheetCell>>,
}

/// A column of a sheet.
#[derive(Clone, Debug)]
pub struct SheetColumn {
    /// Its heading for people.
    pub heading: Cow<'static, str>,
    /// Its name for programs.
    pub key: Cow<'static, str>,
    /// Whether it holds words rather than numbers.
    pub is_text: bool,
    /// Whether it may be left out where a terminal is too narrow.
    pub is_expendable: bool,
}

impl SheetColumn {
    fn to_column(&self) -> Column<'_> {
        let column = if self.is_text { Column::text(&self.heading) } else { Column::number(&self.heading) };
        if self.is_expendable { column.expendable() } else { column }
    }
}

/// What stands in a cell.
#[derive(Clone, Debug)]
pub struct SheetCell {
    /// For people.
    pub text: String,
    /// For programs.
    pub value: Value,
}

impl SheetCell {
    /// A cell without anything in it.
    pub fn missing() -> Self {
        Self { text: "–".to_owned(), value: Value::Null }
    }
}

impl Sheet {
    /// As a table for a terminal of the given width.
    pub fn to_table(&self, width: Option<u16>) -> String {
        let columns: Vec<Column<'_>> = self.columns.iter().map(SheetColumn::to_column).collect();
        let mut table = Table::new(&columns, width);
        for row in &self.rows {
            table.row(row.iter().map(|cell| cell.text.clone()));
        }
        table.render()
    }

    /// As a table in Markdown.
    pub fn to_markdown(&self) -> String {
        let escaped = |text: &str| printable(text).replace('\\', "\\\\").replace('|', "\\|");
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut text = line(&mut self.columns.iter().map(|column| escaped(&column.heading)));
        let rule = |column: &SheetColumn| if column.is_text { "---" } else { "---:" }.to_owned();
        text.push_str(&line(&mut self.columns.iter().map(rule)));
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().map(|cell| escaped(&cell.text))));
        }
        text
    }

    /// As comma-separated values.
    ///
    /// # Errors
    /// Never in practice: memory takes everything.
    pub fn to_csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| column.key.as_ref()))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| match &cell.value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                value => value.to_string(),
            }))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    /// As objects, one a row.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<SheetCell>| {
            let members = self.columns.iter().zip(row);
            members.map(|(column, cell)| (column.key.to_string(), cell.value.clone())).collect()
        };
        Value::Array(self.rows.iter().map(|row| Value::Object(object(row))).collect())
    }
}

/// The beginning and end of a text that is too long for a table, such as a list of forty shapes.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 100;
    const KEPT: usize = 48;
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_owned();
    }
    let begin: String = text.chars().take(KEPT).collect();
    let end: String = text.chars().skip(length - KEPT).collect();
    format!("{begin} … {end}")
}

impl From<opscope_analyze::Cell> for SheetCell {
    fn from(cell: opscope_analyze::Cell) -> Self {
        use opscope_analyze::Cell;
        let (text, value) = match cell {
            Cell::Missing => return Self::missing(),
            Cell::Text(text) => (shortened(&text.replace('+', " + ")), Value::from(text)),
            Cell::Count(count) => (count.to_string(), Value::from(count)),
            Cell::Time(time) => (units::duration(time), Value::from(time.0)),
            Cell::Share(share) => (units::percent(share), Value::from(share)),
            Cell::Flops(flops) => (units::flops(flops as f64), Value::from(flops)),
            Cell::FlopRate(rate) => (units::flop_rate(rate), Value::from(rate)),
            Cell::Bytes(bytes) => (units::bytes(bytes as f64), Value::from(bytes)),
            Cell::ByteRate(rate) => (units::byte_rate(rate), Value::from(rate)),
            Cell::Number(number) => (format!("{number:.2}"), Value::from(number)),
        };
        Self { text, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let column = |name: &'static str, is_text| SheetColumn {
            heading: name.into(),
            key: format!("{name}_key").into(),
            is_text,
            is_expendable: false,
        };
        let cell = |text: &str, value: Value| SheetCell { text: text.to_owned(), value };
        Sheet {
            columns: vec![column("time", false), column("name", true)],
            rows: vec![
                vec![cell("1.5 ms", 1_500_000.into()), cell("a|b\u{1b}[31m", "a|b\u{1b}[31m".into())],
                vec![SheetCell::missing(), cell("x, \"y\"", "x, \"y\"".into())],
            ],
        }
    }

    #[test]
    fn every_form_shows_the_same_cells() {
        let sheet = sheet();
        assert_eq!(sheet.to_csv().unwrap(), "time_key,name_key\n1500000,a|b\u{1b}[31m\n,\"x, \"\"y\"\"\"\n");
        let markdown = "| time | name |\n| ---: | --- |\n| 1.5 ms | a\\|b\\\\u{1b}[31m |\n| – | x, \"y\" |\n";
        assert_eq!(sheet.to_markdown(), markdown);
        let json = sheet.to_json();
        assert_eq!((&json[0]["time_key"], &json[1]["time_key"]), (&1_500_000.into(), &Value::Null));
        let table = sheet.to_table(None);
        assert!(table.contains("1.5 ms  a|b\\u{1b}[31m"), "{table}");
    }
}
