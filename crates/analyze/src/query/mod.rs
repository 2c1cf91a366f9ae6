//! Questions to the tasks or calls of a trace: which of them, added up by what, in which order.
//!
//! The unit of a question is the *subject*: an operator; where tasks belong to none, all of the same
//! name; for calls, all of the same name, layer and phase. Filters choose subjects (by name, type, data type, and the
//! time that they take in an average iteration) and executions (by unit, device, iteration). The
//! rest is grouped, and a time is made of each group.

mod answer;
mod column;
mod group;
mod name_pattern;
mod per_iteration;
mod question;
mod rows;
mod select;

#[cfg(test)]
mod tests;

use opscope_trace::{ExecutionUnit, Nanoseconds, Trace};

pub use answer::{Answer, Row};
pub use column::{Cell, Column};
pub(crate) use group::{name_and_type, rows_by};
pub use name_pattern::name_pattern;
pub use per_iteration::PerIteration;
pub(crate) use per_iteration::typical;
pub use question::{Aggregate, Filter, GroupBy, Query, Sort, TimeKind};
pub(crate) use select::{Executed, Execution, Selection, covered};

use crate::iteration_spans::IterationSpans;
use crate::scope::{Chosen, Iterations, Scope, ScopeError};

impl Query {
    /// Answers the question.
    ///
    /// # Errors
    /// When the trace doesn't have the iteration or device that is asked for.
    pub fn run(&self, trace: &Trace) -> Result<Answer, ScopeError> {
        let chosen = Chosen::new(trace, self.scope)?;
        Ok(self.answer(trace, &chosen, &self.select(trace, &chosen)))
    }

    /// All executions in a scope, those that only wait or handle streams as well.
    pub(crate) fn everything(trace: &Trace, scope: Scope) -> Result<Selection, ScopeError> {
        let filter = Filter { units: ExecutionUnit::ALL.to_vec(), ..Filter::default() };
        Ok(Self { scope, filter, ..Self::default() }.select(trace, &Chosen::new(trace, scope)?))
    }

    /// All executions that figures of operators count unless a question says otherwise: the work of the measured
    /// iterations. Shares anywhere are of this whole.
    pub(crate) fn measured(trace: &Trace, chosen: &Chosen) -> Selection {
        Self::default().select(trace, chosen)
    }

    /// All executions, of warm-up iterations, outside of all, and those that are no work as well.
    pub(crate) fn whole_profile(trace: &Trace) -> Selection {
        let whole = Scope { iterations: Iterations::All, ..Scope::default() };
        // No trace lacks the whole of itself.
        Self::everything(trace, whole).unwrap_or_default()
    }

    /// The executions that are asked about.
    pub(crate) fn select(&self, trace: &Trace, chosen: &Chosen) -> Selection {
        match self.host {
            true => select::calls(trace, self, chosen),
            false => select::tasks(trace, self, chosen),
        }
    }

    /// The answer made of them.
    pub(crate) fn answer(&self, trace: &Trace, chosen: &Chosen, selection: &Selection) -> Answer {
        // Figures of one iteration are not averaged over all of them, and nor is the whole that they are a share of.
        let averaged = if self.group_by == GroupBy::Iteration { 1 } else { chosen.averaged };
        let mut rows = group::rows(trace, self, selection, averaged);
        if self.group_by == GroupBy::Iteration {
            // Benchmarks and servers may tell inferences and nothing that ran in them.
            if trace.tasks.is_empty() && !self.host {
                let alone = |id| group::iteration_alone(trace, self, selection, id);
                rows = chosen.iterations(trace).map(alone).collect();
            }
            self.enter_walls(trace, &mut rows);
        }
        rows::finish(trace, self, &mut rows);
        Answer {
            selected: rows.iter().map(|row| row.total).sum(),
            executions: rows.iter().map(|row| row.times.count).sum(),
            rows,
            whole: Nanoseconds(selection.whole.0 / averaged as i64),
            subjects: selection.passing_subjects,
            all_subjects: selection.subjects,
            unknown: selection.unknown,
            averaged,
        }
    }

    fn enter_walls(&self, trace: &Trace, rows: &mut [Row]) {
        let spans = if self.host { None } else { Some(IterationSpans::of(trace)) };
        for row in rows {
            row.wall = row.iteration.map(|id| match &spans {
                Some(spans) => spans.duration(id),
                None => trace.iterations.duration()[id.index()],
            });
            if row.has_nothing() {
                row.value = row.wall.unwrap_or_default().0 as f64;
            }
        }
    }
}
