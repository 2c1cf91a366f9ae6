//! The set's files as tables of the engine.
//!
//! The files are those that manifests name, not those that lie in a folder: what an importer left that was killed is no
//! part of the set. So a table is a list of files and has no columns for their folders; whatever is asked of some ranks
//! is pruned by the statistics of column `rank`, of which blocks are made.

use std::path::{Component, Path};
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::{DataFusionError, Result};
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::schema::types::SchemaDescriptor;
use datafusion::prelude::SessionContext;
use opscope_reach::SetTable;

/// Makes the engine know a table. Texts are plain strings, as the files have them.
pub(crate) fn register(context: &SessionContext, table: &SetTable) -> Result<()> {
    let files = table.files.iter().map(|path| url_of(path)).collect::<Result<Vec<_>>>()?;
    let columns = parquet_to_arrow_schema(&SchemaDescriptor::new(Arc::clone(&table.schema)), None)?;
    // A file of an earlier program may lack a column; its values are missing then.
    let columns: Vec<Field> =
        columns.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
    let config = ListingTableConfig::new_with_multi_paths(files)
        .with_listing_options(options)
        .with_schema(Arc::new(Schema::new(columns)));
    context.register_table(table.name, Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

/// The address of a file. Engines take brackets and stars in a path for patterns, and in an address not.
fn url_of(path: &Path) -> Result<ListingTableUrl> {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    // Above a link is another folder than its text says.
    let path = if goes_up { path.canonicalize()? } else { std::path::absolute(path)? };
    let url = url::Url::from_file_path(&path)
        .map_err(|()| DataFusionError::Configuration(format!("{}: no absolute path", path.display())))?;
    ListingTableUrl::try_new(url, None)
}
