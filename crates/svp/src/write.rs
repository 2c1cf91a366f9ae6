//! Writing the exported files: `summary/` and `timeline/` below a directory. Files that another tool
//! wrote there under the same name stay as they are.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope_files::{Batch, WriteError, create_folder};
use opscope_formats::OwnFiles;

use crate::file_name::FileName;
use crate::files::Exports;
use crate::table_text::TextTable;
use crate::timeline::Timeline;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {source}", path.display())]
pub struct ExportError {
    path: PathBuf,
    source: io::Error,
}

fn not_written(failed: WriteError) -> ExportError {
    ExportError { path: failed.path, source: failed.source }
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values, as the vendor's tool writes them.
    #[default]
    Csv,
    /// The same with an apostrophe before texts that a spreadsheet would compute.
    MarkedCsv,
    /// A list of objects.
    Json,
}

/// The files of an export, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that hold what was to be written.
    pub files: Vec<PathBuf>,
    /// Files of other tools under one of the names, which hold something else and were left alone.
    pub kept: Vec<PathBuf>,
}

impl Written {
    /// Adds what became of others.
    pub fn append(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.kept.append(&mut other.kept);
    }
}

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
        files.finish()
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
        files.finish()
    }
}

/// The folder that files are written into.
struct Folder {
    path: PathBuf,
    own: OwnFiles,
    /// Files that are whole and have no names yet, and which these will be.
    batch: Batch,
    new: Vec<String>,
    written: Written,
}

impl Folder {
    fn new(path: PathBuf) -> Result<Self, ExportError> {
        if let Err(source) = create_folder(&path) {
            return Err(ExportError { path, source });
        }
        let (batch, new, written) = (Batch::default(), Vec::new(), Written::default());
        Ok(Self { own: OwnFiles::of(&path), path, batch, new, written })
    }

    fn table(&mut self, name: &FileName, table: &TextTable, format: TableFormat) -> Result<(), ExportError> {
        match format {
            TableFormat::Csv => self.file(&format!("{name}.csv"), |out| table.write_csv(out)),
            TableFormat::MarkedCsv => self.file(&format!("{name}.csv"), |out| table.write_marked_csv(out)),
            TableFormat::Json => self.file(&format!("{name}.json"), |out| table.write_json(out)),
        }
    }

    fn file(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let path = self.path.join(name);
        let failed = |source| ExportError { path: path.clone(), source };
        if self.own.is_foreign(name) {
            let mut bytes = Vec::new();
            content(&mut bytes).map_err(failed)?;
            match fs::read(&path).is_ok_and(|there| there == bytes) {
                true => self.written.files.push(path),
                false => self.written.kept.push(path),
            }
            return Ok(());
        }
        self.batch.write(&path, |out| content(out)).map_err(not_written)?;
        self.new.push(name.to_owned());
        self.written.files.push(path);
        Ok(())
    }

    /// The files that were written or left alone; a folder that nothing was written to is removed.
    fn finish(mut self) -> Result<Written, ExportError> {
        self.batch.finish().map_err(not_written)?;
        let noted = self.own.add(self.new.iter().map(String::as_str));
        noted.map_err(|source| ExportError { path: self.path.clone(), source })?;
        if self.written == Written::default() {
            let _ = fs::remove_dir(&self.path);
        }
        Ok(self.written)
    }
}
