//! The questions that are SQL: the same text runs on DataFusion, on DuckDB and, with other words around it, on Spark.
//! Each file of `sql/` is one; its first comment says what it answers.

use std::path::Path;

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
pub const TABLES: [&str; 18] = [
    "accounts",
    "arrivals",
    "calls",
    "clocks",
    "collectives",
    "copies",
    "costs",
    "ends",
    "experts",
    "groups",
    "instances",
    "links",
    "losses",
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
    pub fn for_set(&self, dialect: Dialect, set: &Path, run: &str) -> String {
        in_dialect(self.statement(), dialect, set, run)
    }
}

/// A statement with the tables that it names, as the dialect names files.
pub fn in_dialect(statement: &str, dialect: Dialect, set: &Path, run: &str) -> String {
    let quoted = |table: &str, end: &str| {
        let path = set.join(table).join(format!("run={run}")).display().to_string();
        format!("{path}{end}")
    };
    let source = |table: &str| match dialect {
        Dialect::DataFusion => String::new(),
        Dialect::DuckDb => format!("read_parquet('{}')", quoted(table, "/**/*.parquet").replace('\'', "''")),
        Dialect::Spark => format!("parquet.`{}`", quoted(table, "").replace('`', "``")),
    };
    if dialect == Dialect::DataFusion {
        return statement.to_owned();
    }
    let tables: Vec<String> = tables_of(statement)
        .into_iter()
        .map(|table| format!("{table} AS (SELECT * FROM {})", source(table)))
        .collect();
    if tables.is_empty() {
        return statement.to_owned();
    }
    let tables = tables.join(",\n     ");
    // A statement can begin with tables of its own.
    let with = statement.get(.."WITH ".len()).filter(|word| word.eq_ignore_ascii_case("WITH "));
    match with.map(|with| &statement[with.len()..]) {
        Some(rest) => format!("WITH {tables},\n     {rest}"),
        None => format!("WITH {tables}\n{statement}"),
    }
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
        let sql =
            in_dialect("SELECT 1 FROM ranks r JOIN steps s ON true", Dialect::DuckDb, Path::new("it's"), "a");
        let expected = "WITH ranks AS (SELECT * FROM read_parquet('it''s/ranks/run=a/**/*.parquet')),\n     \
                        steps AS (SELECT * FROM read_parquet('it''s/steps/run=a/**/*.parquet'))\n\
                        SELECT 1 FROM ranks r JOIN steps s ON true";
        assert_eq!(sql, expected);
        let sql =
            in_dialect("WITH a AS (SELECT 1 FROM ends) SELECT 2 FROM a", Dialect::Spark, Path::new("s"), "r");
        assert!(
            sql.starts_with("WITH ends AS (SELECT * FROM parquet.`s/ends/run=r`),\n     a AS ("),
            "{sql}"
        );
    }
}
