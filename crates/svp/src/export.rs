//! Writing the exported files: `summary/` and `timeline/` below a directory.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope_formats::write_atomically;

use crate::exports::Exports;
use crate::file_name::FileName;
use crate::table_text::TextTable;
use crate::timeline::Timeline;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {source}", path.display())]
pub struct ExportError {
    path: PathBuf,
    source: io::Error,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values.
    #[default]
    Csv,
    /// A list of objects.
    Json,
}

/// The files that were written, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written(pub Vec<PathBuf>);

impl Exports {
    /// Writes all tables below `folder/summary`. There is no file for what there is no data of.
    ///
    /// # Errors
    /// When a file can't be written; those before it are whole.
    pub fn write_summary(&self, folder: &Path, format: TableFormat) -> Result<Written, ExportError> {
        let mut files = Folder::new(folder.join("summary"))?;
        for sheet in &self.op_summaries {
            files.table(&FileName::OpSummary(sheet.name.clone()), &sheet.content.to_text(), format)?;
        }
        for sheet in &self.acl_statistics {
            files.table(&sheet.name, &sheet.content.to_text(), format)?;
        }
        for sheet in &self.op_statistics {
            files.table(&sheet.name, &sheet.content.to_text(), format)?;
        }
        Ok(files.written)
    }

    /// Writes all timelines below `folder/timeline`.
    ///
    /// # Errors
    /// When a file can't be written; those before it are whole.
    pub fn write_timeline(&self, folder: &Path) -> Result<Written, ExportError> {
        let mut files = Folder::new(folder.join("timeline"))?;
        for sheet in &self.layers {
            let name = FileName::TaskTime(sheet.name.clone());
            files.file(&format!("{name}.json"), |out| {
                Timeline::write_layers(&sheet.content, sheet.name.device, out)
            })?;
        }
        for sheet in &self.calls {
            let name = FileName::Acl(sheet.name.clone());
            files.file(&format!("{name}.json"), |out| Timeline::write_calls(&sheet.content, out))?;
        }
        Ok(files.written)
    }
}

/// The folder that files are written into.
struct Folder {
    path: PathBuf,
    written: Written,
}

impl Folder {
    fn new(path: PathBuf) -> Result<Self, ExportError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o750);
        match builder.create(&path) {
            Ok(()) => Ok(Self { path, written: Written::default() }),
            Err(source) => Err(ExportError { path, source }),
        }
    }

    fn table(&mut self, name: &FileName, table: &TextTable, format: TableFormat) -> Result<(), ExportError> {
        match format {
            TableFormat::Csv => self.file(&format!("{name}.csv"), |out| table.write_csv(out)),
            TableFormat::Json => self.file(&format!("{name}.json"), |out| table.write_json(out)),
        }
    }

    fn file(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let path = self.path.join(name);
        match write_atomically(&path, |out| content(out)) {
            Ok(()) => {
                self.written.0.push(path);
                Ok(())
            }
            Err(source) => Err(ExportError { path, source }),
        }
    }
}
