//! The tables of a set for engines: their columns, and the files that manifests name.

use std::path::PathBuf;

use parquet::errors::ParquetError;
use parquet::schema::types::TypePtr;

use super::SetError;
use super::open::Set;
use super::table::Row;
use super::tables::{
    CallLine, CollectiveLine, CopyLine, EndLine, ExpertLine, FrequencyLine, LinkLine, LossLine, MarkLine,
    OperatorLine, RankLine, StepLine,
};
use super::whole::{
    self, Absence, AccountLine, ArrivalLine, ClockLine, CostLine, GroupLine, InstanceLine, MemberLine,
    SuspectLine,
};

/// A table of a set.
#[derive(Clone, Debug)]
pub struct SetTable {
    /// Its name.
    pub name: &'static str,
    /// Its columns. A file of an earlier program may lack some of them, whose values are missing then, unless the table is
    /// one over all ranks: it counts as not there until it is made anew.
    pub schema: TypePtr,
    /// Its files, each of which has the length that it was written with. None where the table is one over all ranks
    /// and some are still missing, or an earlier program made it.
    pub files: Vec<PathBuf>,
    absence: Absence,
}

impl SetTable {
    /// That the table isn't there, where it has no files, and what to do about it.
    pub fn absent(&self) -> SetError {
        self.absence.error(self.name)
    }
}

/// A table's name and columns.
type Known = (&'static str, fn() -> Result<TypePtr, ParquetError>);

fn of<R: Row>() -> Known {
    (R::TABLE, R::schema)
}

/// All tables, by their names.
fn known() -> [Known; 20] {
    [
        of::<AccountLine>(),
        of::<ArrivalLine>(),
        of::<CallLine>(),
        of::<ClockLine>(),
        of::<CollectiveLine>(),
        of::<CopyLine>(),
        of::<CostLine>(),
        of::<EndLine>(),
        of::<ExpertLine>(),
        of::<FrequencyLine>(),
        of::<GroupLine>(),
        of::<InstanceLine>(),
        of::<LinkLine>(),
        of::<LossLine>(),
        of::<MarkLine>(),
        of::<MemberLine>(),
        of::<OperatorLine>(),
        of::<RankLine>(),
        of::<StepLine>(),
        of::<SuspectLine>(),
    ]
}

impl Set {
    /// All tables of the run with their files. Tables over all ranks have none until no rank is missing.
    ///
    /// # Errors
    /// When a file that a manifest names is missing or has another length.
    pub fn tables(&self) -> Result<Vec<SetTable>, SetError> {
        let whole = whole::find(self).map(|whole| whole.files).unwrap_or_default();
        self.check(&whole)?;
        let absence = Absence::of(self);
        let files = || self.parts.iter().flat_map(|part| &part.files).chain(&whole);
        let table = |(name, schema): Known| {
            let of_table = files().filter(|file| file.path.split('/').next() == Some(name));
            let files = of_table.map(|file| self.path.join(&file.path)).collect();
            let schema = schema().map_err(|error| SetError::unreadable(&self.path, error))?;
            Ok(SetTable { name, schema, files, absence })
        };
        known().into_iter().map(table).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TABLES;

    #[test]
    fn questions_and_engines_know_the_same_tables() {
        assert_eq!(known().map(|(name, _)| name), TABLES);
        for (name, schema) in known() {
            assert!(!schema().unwrap().get_fields().is_empty(), "{name}");
        }
    }
}
