//! The questions that are SQL: the same text runs on DataFusion, on DuckDB and, with other words around it, on Spark.
//! Each file of `sql/` is one; its first comment says what it answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::set::whole::Absence;
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
    /// Why that is so.
    absence: Absence,
    /// Tables whose folders hold files that no manifest names, with those that manifests do.
    listed: BTreeMap<&'static str, Vec<PathBuf>>,
    others: Vec<PathBuf>,
}

impl RunTables {
    /// The tables of a set that may not be there yet: whatever its folders will hold.
    pub fn of_folders(set: &Path, run: &str) -> Self {
        Self {
            set: set.to_owned(),
            run: run.to_owned(),
            absent: Vec::new(),
            absence: Absence::default(),
            listed: BTreeMap::new(),
            others: Vec::new(),
        }
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
        let (path, run, absence) = (set.path.clone(), set.run.clone(), Absence::of(set));
        Ok(Self { set: path, run, absent, absence, listed, others })
    }

    /// Refuses tables of which there are none.
    fn check(&self, tables: &[&'static str]) -> Result<(), SetError> {
        match tables.iter().find(|table| self.absent.contains(table)) {
            Some(table) => Err(self.absence.error(table)),
            None => Ok(()),
        }
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

    /// The statement in a dialect, over the tables of a run, which stand before its own where the engine knows no set.
    ///
    /// # Errors
    /// When the run lacks one of them.
    pub fn for_run(&self, dialect: Dialect, run: &RunTables) -> Result<String, SetError> {
        let statement = self.statement();
        if dialect == Dialect::DataFusion {
            return Ok(statement.to_owned());
        }
        let tables = tables_of(&words(statement));
        run.check(&tables)?;
        let named = |table: &&str| format!("{table} AS (SELECT * FROM {})", run.source(table, dialect));
        let tables = tables.iter().map(named).collect::<Vec<_>>().join(",\n     ");
        Ok(match statement.strip_prefix("WITH ") {
            Some(rest) => format!("WITH {tables},\n     {rest}"),
            None => format!("WITH {tables}\n{statement}"),
        })
    }
}

/// Anybody's statement for DuckDB, behind views of all tables whose names it has. They are views because a statement may
/// have a table of its own by such a name that reads the set's: in one list of tables, that would be a name twice.
///
/// # Errors
/// When the run lacks a table that the statement reads.
pub fn for_duckdb(statement: &str, run: &RunTables) -> Result<String, SetError> {
    let words = words(statement);
    let mut read = tables_of(&words);
    read.retain(|table| !defines(&words, table));
    run.check(&read)?;
    let has = |table: &&str| words.iter().any(|word| is_name_of(word, table));
    let there = TABLES.into_iter().filter(|table| has(table) && !run.absent.contains(table));
    let views = there.map(|table| {
        let files = run.source(table, Dialect::DuckDb);
        format!("CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM {files};\n")
    });
    Ok(views.collect::<String>() + statement)
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

/// Whether a statement is one question: it begins with `SELECT`, `WITH`, `VALUES` or a bracket, and no other follows it.
pub fn is_question(statement: &str) -> bool {
    let words = words(statement);
    let begins = |word: &&str| words.first().is_some_and(|first| first.eq_ignore_ascii_case(word));
    let mut behind = words.iter().skip_while(|word| **word != ";");
    ["(", "SELECT", "WITH", "VALUES"].iter().any(begins) && behind.all(|word| *word == ";")
}

/// The words of a statement, names in quotes with these, and each other letter by itself; no texts, comments and blanks.
fn words(statement: &str) -> Vec<&str> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = Vec::new();
    let mut rest = without_comments(statement);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map(|within| within + 2),
            first if is_of_word(first) => rest.find(|letter| !is_of_word(letter)),
            first => Some(first.len_utf8()),
        };
        let (word, behind) = rest.split_at(length.unwrap_or(rest.len()));
        if first != '\'' {
            words.push(word);
        }
        rest = without_comments(behind);
    }
    words
}

/// Whether a word of a statement is the name of a table.
fn is_name_of(word: &str, table: &str) -> bool {
    word.trim_matches('"').eq_ignore_ascii_case(table)
}

/// The tables of a set where a statement's words name tables: behind `FROM`, `JOIN` or a comma.
fn tables_of(words: &[&str]) -> Vec<&'static str> {
    let is_before = |word: &str| ["FROM", "JOIN", ","].iter().any(|it| it.eq_ignore_ascii_case(word));
    let is_read =
        |table: &&'static str| words.windows(2).any(|pair| is_before(pair[0]) && is_name_of(pair[1], table));
    TABLES.into_iter().filter(is_read).collect()
}

/// Whether a statement has a table of its own by a name: `NAME AS (`, `NAME AS MATERIALIZED (`.
fn defines(words: &[&str], table: &str) -> bool {
    let is_query = |word: &str| ["(", "NOT", "MATERIALIZED"].iter().any(|it| it.eq_ignore_ascii_case(word));
    words
        .windows(3)
        .any(|three| is_name_of(three[0], table) && three[1].eq_ignore_ascii_case("AS") && is_query(three[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_stands_behind_a_view_of_every_table_that_it_mentions() {
        let mut run = RunTables::of_folders(Path::new("s"), "r");
        let view = |table: &str| {
            format!(
                "CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM read_parquet('s/{table}/run=r/**/*.parquet', \
                 union_by_name = true);\n"
            )
        };
        for (statement, tables) in [
            ("select * from ranks", "ranks"),
            ("SELECT 1 FROM Ranks r, accounts a WHERE a.rank = r.rank", "accounts ranks"),
            ("SELECT 1 FROM (\"ranks\" JOIN steps USING (rank))", "ranks steps"),
            // A table of its own by that name reads the set's.
            ("WITH ranks AS (SELECT * FROM ranks WHERE rank < 3) SELECT * FROM ranks", "ranks"),
            ("(WITH steps (x) AS (SELECT 1) TABLE steps)", "steps"),
            ("SELECT withdrawn, 'it''s ranks', \"the ranks\" -- steps\n /* ends */ FROM costs_of_ranks", ""),
            ("SELECT 1 - 2 /* \" */ FROM marks -- '", "marks"),
        ] {
            let expected = tables.split_whitespace().map(view).collect::<String>() + statement;
            assert_eq!(for_duckdb(statement, &run).unwrap(), expected);
        }
        run.absent = vec!["accounts", "groups"];
        for (statement, lacks) in [
            ("SELECT * FROM accounts", Some("accounts")),
            ("SELECT 1 FROM ranks r, \"Accounts\" a", Some("accounts")),
            ("SELECT rank AS groups FROM ranks", None),
            ("WITH groups AS MATERIALIZED (SELECT 1 FROM ranks) SELECT * FROM groups", None),
        ] {
            match (for_duckdb(statement, &run), lacks) {
                (Ok(sql), None) => assert_eq!(sql, view("ranks") + statement),
                (Err(SetError::NotWhole { table }), Some(lacks)) => assert_eq!(table, lacks),
                (found, _) => panic!("{statement}: {found:?}"),
            }
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
            let words = words(query.statement());
            assert!(!tables_of(&words).is_empty(), "{}", query.name);
            assert!(TABLES.into_iter().all(|table| !defines(&words, table)), "{}", query.name);
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/sql")).unwrap();
        assert_eq!(files.count(), QUERIES.len(), "a file of sql/ isn't among the questions");
    }

    #[test]
    fn files_stand_in_for_tables_where_the_engine_knows_no_set() {
        let query = Query { name: "of two", sql: "-- Two.\nSELECT 1 FROM ranks r JOIN steps s ON true" };
        let run = RunTables::of_folders(Path::new("it's"), "a");
        let expected = "WITH ranks AS (SELECT * FROM read_parquet('it''s/ranks/run=a/**/*.parquet', union_by_name = true)),\n     \
                        steps AS (SELECT * FROM read_parquet('it''s/steps/run=a/**/*.parquet', union_by_name = true))\n\
                        SELECT 1 FROM ranks r JOIN steps s ON true";
        assert_eq!(query.for_run(Dialect::DuckDb, &run).unwrap(), expected);
        assert_eq!(query.for_run(Dialect::DataFusion, &run).unwrap(), query.statement());
        let query = Query { name: "of its own", sql: "WITH a AS (SELECT 1 FROM ends) SELECT 2 FROM a" };
        let sql = query.for_run(Dialect::Spark, &RunTables::of_folders(Path::new("s"), "r")).unwrap();
        assert!(
            sql.starts_with("WITH ends AS (SELECT * FROM parquet.`s/ends/run=r`),\n     a AS ("),
            "{sql}"
        );
    }
}
