//! The help text about the tables, made from their declarations.

use super::schema::TABLES;
use super::views::VIEWS;

/// Describes tables, columns and views for people who want to query them, with examples.
pub fn schema_help() -> String {
    let mut help = String::from(
        "Times are whole nanoseconds from the trace's own zero; meta says where that lies, if it is known.\n\
         A column ending in _id names a row of another table. The views spell such rows out:\n\n",
    );
    let width = VIEWS.iter().map(|view| view.name.len()).max().unwrap_or_default();
    for view in VIEWS {
        help += &format!("  {:width$}  {}\n", view.name, view.about);
    }
    help += "\nThe slowest kinds of operators:\n\
             \n  SELECT op_type, count(*) AS executions, sum(duration_ns) / 1e6 AS ms\
             \n  FROM operator_executions WHERE NOT warm_up\
             \n  GROUP BY op_type ORDER BY ms DESC LIMIT 10;\n\
             \nThe time of an operator has in it that of operators which ran within it, as those that aten::conv2d of \
             PyTorch calls;\nsums count it more than once, and opscope analyze sums the time that each took itself.\n\
             \nWhat one inference consists of:\n\
             \n  SELECT name, inputs, duration_ns / 1e3 AS us\
             \n  FROM operator_executions WHERE iteration = 5 ORDER BY start_ns;\n\
             \nThe tables:\n";
    help += "\nmeta  The version of tables and program, and the clock.\n";
    help += "  key    schema_version, program_version, clock_unix_zero_ns or clock_domain.\n";
    help += "  value  What it is.\n";
    for table in TABLES {
        help += &format!("\n{}  {}\n", table.name, table.about.trim());
        let columns = std::iter::once(("id", "The row's number, from 0."))
            .chain(table.columns.iter().map(|column| (column.name, column.about.trim())));
        let width = columns.clone().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, about) in columns {
            help += &format!("  {name:width$}  {about}\n");
        }
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_view_and_column_is_explained() {
        let help = schema_help();
        for table in TABLES {
            assert!(help.contains(&format!("\n{}  ", table.name)), "{}", table.name);
            for column in table.columns {
                assert!(help.contains(&format!("\n  {}", column.name)), "{}", column.name);
                assert!(column.about.trim().ends_with('.'), "{}.{}", table.name, column.name);
            }
        }
        assert!(VIEWS.iter().all(|view| help.contains(view.about)));
    }
}
