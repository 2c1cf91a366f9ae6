//! The questions that are SQL: the same text runs on DataFusion, on DuckDB and, with other words around it, on Spark.
//! Each file of `sql/` is one; its first comment says what it answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Set, SetError, SetTable};

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// Its SQL, over the tables of a set.
    pub sql: &'static str,
}

macro_rules! queries {
    ($($name:literal),*) => {
        &[$(Query { name: $name, sql: include_str!(concat!("../sql/", $name, ".sql")) }),*]
    };
}

/// All questions.
pub const QUERIES: &[Query] = queries![
    "comm",
    "experts",
    "instances",
    "links",
    "losses",
    "operators",
    "stages",
    "steps",
    "summary",
    "suspects",
    "typical",
    "uneven",
    "waits"
];

/// All tables of a set.
pub const TABLES: [&str; 20] = [
    "accounts",
    "arrivals",
    "calls",
    "clocks",
    "collectives",
    "copies",
    "costs",
    "ends",
    "experts",
    "frequency",
    "groups",
    "instances",
    "links",
    "losses",
    "marks",
    "members",
    "operators",
    "ranks",
    "steps",
    "suspects",
];

/// A dialect in which a question can be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The tables are known by their names.
    DataFusion,
    /// The tables are files, named in the statement.
    DuckDb,
    /// The tables are folders, named in the statement.
    Spark,
}

/// The tables of a run, for engines that know no set.
#[derive(Clone, Debug)]
pub struct RunTables {
    set: PathBuf,
    run: String,
    /// Tables over all ranks that there are none of.
    absent: Vec<&'static str>,
    /// Tables whose folders hold files that no manifest names, with those that manifests do.
    listed: BTreeMap<&'static str, Vec<PathBuf>>,
    others: Vec<PathBuf>,
}

impl RunTables {
    /// The tables of a set that may not be there yet: whatever its folders will hold.
    pub fn of_folders(set: &Path, run: &str) -> Self {
        let (absent, listed, others) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { set: set.to_owned(), run: run.to_owned(), absent, listed, others }
    }

    /// The tables of a set.
    ///
    /// # Errors
    /// As [`Set::tables`].
    pub fn of(set: &Set) -> Result<Self, SetError> {
        let tables = set.tables()?;
        let absent = tables.iter().filter(|table| table.files.is_empty()).map(|table| table.name).collect();
        let others = set.files_beside(&tables);
        let has_others = |table: &SetTable| {
            let folder = set.path.join(table.name);
            others.iter().any(|path| path.starts_with(&folder))
        };
        let listed = tables.into_iter().filter(has_others).map(|table| (table.name, table.files)).collect();
        Ok(Self { set: set.path.clone(), run: set.run.clone(), absent, listed, others })
    }

    /// Files that lie in the tables' folders, and that no manifest names.
    pub fn others(&self) -> &[PathBuf] {
        &self.others
    }

    /// A table as the dialect names it in a statement.
    fn source(&self, table: &str, dialect: Dialect) -> String {
        let folder = self.set.join(table).join(format!("run={}", self.run)).display().to_string();
        match dialect {
            Dialect::DataFusion => table.to_owned(),
            Dialect::DuckDb => {
                let quoted = |path: String| format!("'{}'", path.replace('\'', "''"));
                let files = match self.listed.get(table) {
                    // A run of many ranks has many files, which nobody wants to see where their folder says it all.
                    None => quoted(format!("{folder}/**/*.parquet")),
                    Some(files) => {
                        let files = files.iter().map(|file| quoted(file.display().to_string()));
                        format!("[{}]", files.collect::<Vec<_>>().join(", "))
                    }
                };
                // Files of an earlier program may lack columns.
                format!("read_parquet({files}, union_by_name = true)")
            }
            // Nothing but a folder can stand there.
            Dialect::Spark => format!("parquet.`{}`", folder.replace('`', "``")),
        }
    }
}

impl Query {
    /// The question of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        QUERIES.iter().find(|query| query.name == name)
    }

    /// Its answer's subject, in a sentence or two.
    pub fn about(&self) -> String {
        let comments = self.sql.lines().map_while(|line| line.strip_prefix("-- "));
        comments.collect::<Vec<_>>().join(" ")
    }

    /// The statement without its comment.
    pub fn statement(&self) -> &'static str {
        let comment: usize =
            self.sql.split_inclusive('\n').take_while(|line| line.starts_with("--")).map(str::len).sum();
        self.sql[comment..].trim_end()
    }

    /// The statement in a dialect, over the tables of a run.
    ///
    /// # Errors
    /// When the run lacks one of them.
    pub fn for_run(&self, dialect: Dialect, run: &RunTables) -> Result<String, SetError> {
        in_dialect(self.statement(), dialect, run)
    }
}

/// A statement with the tables that it names, as the dialect names files.
///
/// # Errors
/// When the run lacks one of them.
pub fn in_dialect(statement: &str, dialect: Dialect, run: &RunTables) -> Result<String, SetError> {
    if dialect == Dialect::DataFusion {
        return Ok(statement.to_owned());
    }
    let mut tables = tables_of(statement);
    tables.retain(|table| !defines(statement, table));
    if let Some(table) = tables.iter().find(|table| run.absent.contains(table)) {
        return Err(SetError::NotWhole { table: (*table).to_owned() });
    }
    if tables.is_empty() {
        return Ok(statement.to_owned());
    }
    let named = |table: &&str| format!("{table} AS (SELECT * FROM {})", run.source(table, dialect));
    let tables = tables.iter().map(named).collect::<Vec<_>>().join(",\n     ");
    // A statement can begin with tables of its own.
    let (comments, rest) = statement.split_at(statement.len() - without_comments(statement).len());
    let Some(rest) = behind_word(rest, "WITH") else {
        return Ok(format!("{comments}WITH {tables}\n{rest}"));
    };
    Ok(match behind_word(without_comments(rest), "RECURSIVE") {
        Some(rest) => format!("{comments}WITH RECURSIVE {tables},\n     {}", rest.trim_start()),
        None => format!("{comments}WITH {tables},\n     {}", rest.trim_start()),
    })
}

/// Whether a statement has a table of its own by a name, which stands for the set's: `NAME AS (`, `NAME (COLUMN) AS (`.
fn defines(statement: &str, name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let lower = statement.to_ascii_lowercase();
    lower.match_indices(name).any(|(at, _)| {
        let (before, rest) = (&lower[..at], &lower[at + name.len()..]);
        let is_whole = !before.ends_with(is_letter) && !rest.starts_with(is_letter);
        let is_listed = before.trim_end().ends_with(',')
            || before
                .split_whitespace()
                .next_back()
                .is_some_and(|word| ["with", "recursive"].contains(&word));
        let rest = rest.trim_start();
        let behind_columns = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let rest = behind_columns.map_or(rest, |(_, rest)| rest.trim_start());
        let query = behind_word(rest, "AS").map(without_comments);
        let query = query.map(|rest| behind_word(rest, "NOT").map_or(rest, str::trim_start));
        let query = query.map(|rest| behind_word(rest, "MATERIALIZED").map_or(rest, str::trim_start));
        is_whole && is_listed && query.is_some_and(|rest| rest.starts_with('('))
    })
}

/// A statement without the blanks and comments that it begins with.
pub fn without_comments(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start()
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest).trim_start()
        } else {
            return rest;
        };
    }
}

/// The rest of a text behind a word that it begins with, in any letter case.
fn behind_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let begin = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let ends = !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    (begin.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

/// Whether a statement is one question: it begins with `SELECT`, `WITH`, `VALUES` or a bracket, and no other follows it.
pub fn is_question(statement: &str) -> bool {
    let rest = without_comments(statement);
    let is_asked = rest.starts_with('(')
        || ["SELECT", "WITH", "VALUES"].iter().any(|word| behind_word(rest, word).is_some());
    is_asked && ends_once(rest)
}

/// Whether nothing but blanks and comments stands behind a semicolon, outside of texts, names in quotes and comments.
fn ends_once(statement: &str) -> bool {
    let mut rest = statement;
    while let Some(at) = rest.find(['\'', '"', ';', '-', '/']) {
        let here = &rest[at..];
        rest = match here.as_bytes() {
            [b';', ..] => {
                return without_comments(&here[1..]).trim_matches([';', ' ', '\n', '\r', '\t']).is_empty();
            }
            [b'-', b'-', ..] => here.split_once('\n').map_or("", |(_, rest)| rest),
            [b'/', b'*', ..] => here[2..].split_once("*/").map_or("", |(_, rest)| rest),
            [quote @ (b'\'' | b'"'), ..] => {
                here[1..].split_once(char::from(*quote)).map_or("", |(_, rest)| rest)
            }
            _ => &here[1..],
        };
    }
    true
}

/// The tables of a set that a statement reads from.
pub fn tables_of(statement: &str) -> Vec<&'static str> {
    let words: Vec<&str> = statement
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|it| !it.is_empty())
        .collect();
    let is_read = |table: &&'static str| {
        words.windows(2).any(|pair| {
            (pair[0].eq_ignore_ascii_case("FROM") || pair[0].eq_ignore_ascii_case("JOIN"))
                && pair[1].eq_ignore_ascii_case(table)
        })
    };
    TABLES.into_iter().filter(is_read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_with_tables_of_their_own_get_the_sets_before_them_whatever_they_begin_with() {
        let run = RunTables::of_folders(Path::new("s"), "r");
        let put = |statement: &str| in_dialect(statement, Dialect::DuckDb, &run).unwrap();
        let ranks =
            "ranks AS (SELECT * FROM read_parquet('s/ranks/run=r/**/*.parquet', union_by_name = true))";
        for (statement, expected) in [
            ("select * from ranks", format!("WITH {ranks}\nselect * from ranks")),
            (
                "with\nx as (select * from ranks) select 1",
                format!("WITH {ranks},\n     x as (select * from ranks) select 1"),
            ),
            (
                "-- a\n/* b */ WITH x AS (SELECT * FROM ranks) SELECT 1",
                format!("-- a\n/* b */ WITH {ranks},\n     x AS (SELECT * FROM ranks) SELECT 1"),
            ),
            (
                "WITH RECURSIVE x AS (SELECT * FROM ranks) SELECT 1",
                format!("WITH RECURSIVE {ranks},\n     x AS (SELECT * FROM ranks) SELECT 1"),
            ),
            (
                "WITH steps AS (SELECT 1 AS a) SELECT * FROM steps",
                "WITH steps AS (SELECT 1 AS a) SELECT * FROM steps".to_owned(),
            ),
            (
                "WITH a AS (SELECT 1), steps (x) AS (SELECT 1) SELECT * FROM steps JOIN ranks",
                format!(
                    "WITH {ranks},\n     a AS (SELECT 1), steps (x) AS (SELECT 1) SELECT * FROM steps JOIN ranks"
                ),
            ),
            ("SELECT withdrawn FROM ranks", format!("WITH {ranks}\nSELECT withdrawn FROM ranks")),
        ] {
            assert_eq!(put(statement), expected);
        }
    }

    #[test]
    fn only_one_question_is_a_question() {
        for question in [
            "select 1",
            "(SELECT 1)",
            " -- a\n values (1);",
            "WITH x AS (SELECT ';') SELECT 1 ; -- b",
            "select '--' /* ; */",
        ] {
            assert!(is_question(question), "{question}");
        }
        for other in [
            "",
            ";",
            "DROP;",
            "COPY(SELECT 1) TO x",
            "/* x */ DELETE FROM ranks",
            "select 1; drop table x",
            "selected",
        ] {
            assert!(!is_question(other), "{other}");
        }
    }

    #[test]
    fn every_question_says_what_it_answers_and_reads_known_tables() {
        for query in QUERIES {
            assert!(query.about().len() > 20 && !query.statement().starts_with("--"), "{}", query.name);
            assert!(!tables_of(query.statement()).is_empty(), "{}", query.name);
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/sql")).unwrap();
        assert_eq!(files.count(), QUERIES.len(), "a file of sql/ isn't among the questions");
    }

    #[test]
    fn files_stand_in_for_tables_where_the_engine_knows_no_set() {
        let run = RunTables::of_folders(Path::new("it's"), "a");
        let sql = in_dialect("SELECT 1 FROM ranks r JOIN steps s ON true", Dialect::DuckDb, &run).unwrap();
        let expected = "WITH ranks AS (SELECT * FROM read_parquet('it''s/ranks/run=a/**/*.parquet', union_by_name = true)),\n     \
                        steps AS (SELECT * FROM read_parquet('it''s/steps/run=a/**/*.parquet', union_by_name = true))\n\
                        SELECT 1 FROM ranks r JOIN steps s ON true";
        assert_eq!(sql, expected);
        let run = RunTables::of_folders(Path::new("s"), "r");
        let sql = in_dialect("WITH a AS (SELECT 1 FROM ends) SELECT 2 FROM a", Dialect::Spark, &run).unwrap();
        assert!(
            sql.starts_with("WITH ends AS (SELECT * FROM parquet.`s/ends/run=r`),\n     a AS ("),
            "{sql}"
        );
    }
}
