//! The calls that launched a rank's tasks, by the number that ties them together.

use opscope_reach::database::{Database, Texts, each_row, text, whole};
use opscope_trace::NumberMap;

use crate::profile::Span;

/// The calls of a rank, by the connections of tasks. Of several calls with one connection the first counts.
#[derive(Debug, Default)]
pub struct Launches {
    cann: NumberMap<i64, Span>,
    pytorch: NumberMap<i64, Span>,
}

/// A call of CANN as the rank's database has it.
pub struct Call<'t> {
    /// The layer that made it, such as `node`.
    pub layer: &'t str,
    /// Its name.
    pub name: &'t str,
    /// The number that ties it to tasks.
    pub connection: Option<i64>,
    /// When it ran.
    pub span: Span,
}

impl Launches {
    /// Reads those of `wanted` calls of CANN, and the calls of PyTorch above.
    ///
    /// # Errors
    /// When a table breaks off; what is before it was read.
    pub fn read(&mut self, database: &Database, wanted: impl Fn(&Call<'_>) -> bool) -> rusqlite::Result<()> {
        let cann = each_call(database, |call| {
            if let Some(connection) = call.connection.filter(|_| wanted(&call)) {
                self.cann.entry(connection).or_insert(call.span);
            }
        });
        let mut above: NumberMap<i64, Span> = NumberMap::default();
        let pytorch = each_row(database, "PYTORCH_API", &["connectionId", "startNs", "endNs"], |row| {
            if let (Some(id), Some(start), Some(end)) = (whole(row, 0), whole(row, 1), whole(row, 2)) {
                above.entry(id).or_insert(Span { start, end });
            }
        });
        let ids = each_row(database, "CONNECTION_IDS", &["id", "connectionId"], |row| {
            let span = whole(row, 0).and_then(|id| above.get(&id));
            if let (Some(span), Some(connection)) = (span, whole(row, 1)) {
                self.pytorch.entry(connection).or_insert(*span);
            }
        });
        cann.and(pytorch).and(ids)
    }

    /// The calls of PyTorch and of CANN that launched a task; `None` where one of them isn't known.
    pub fn of(&self, connection: Option<i64>) -> Option<(Span, Span)> {
        let connection = connection?;
        Some((*self.pytorch.get(&connection)?, *self.cann.get(&connection)?))
    }
}

/// Hands on the calls of CANN.
///
/// # Errors
/// When a table breaks off; the rows before were handed on.
pub fn each_call(database: &Database, mut take: impl FnMut(Call<'_>)) -> rusqlite::Result<()> {
    let (texts, done) = Texts::read(database);
    let mut layers: NumberMap<i64, String> = NumberMap::default();
    let types = each_row(database, "ENUM_API_TYPE", &["id", "name"], |row| {
        layers.extend(whole(row, 0).map(|id| (id, text(row, 1).to_owned())));
    });
    let columns = ["type", "name", "connectionId", "startNs", "endNs"];
    let rows = each_row(database, "CANN_API", &columns, |row| {
        let (Some(start), Some(end)) = (whole(row, 3), whole(row, 4)) else { return };
        let layer = whole(row, 0).and_then(|id| layers.get(&id)).map_or("", String::as_str);
        let span = Span { start, end };
        take(Call { layer, name: texts.get(whole(row, 1)), connection: whole(row, 2), span });
    });
    done.and(types).and(rows)
}
