//! Statements may read the set's tables, and do nothing else.

use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;

use crate::error::{EngineError, message_of};

/// Plans a statement that only reads.
///
/// # Errors
/// When it isn't one statement, isn't understood, or would change something.
pub(crate) async fn plan(state: &SessionState, sql: &str) -> Result<LogicalPlan, EngineError> {
    if sql.trim().trim_end_matches(';').trim().is_empty() {
        return Err(EngineError::Empty);
    }
    let dialect = state.config().options().sql_parser.dialect;
    let statement = state.sql_to_statement(sql, &dialect).map_err(|error| match error.find_root() {
        // The one thing that the parser understands and doesn't want.
        DataFusionError::NotImplemented(_) => EngineError::NotOne,
        _ => EngineError::of_statement(&error),
    })?;
    let plan = state.statement_to_plan(statement).await.map_err(|error| EngineError::of_statement(&error))?;
    let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    reading.verify_plan(&plan).map_err(|error| EngineError::NotRead { what: message_of(&error) })?;
    Ok(plan)
}
