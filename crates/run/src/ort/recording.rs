//! From the profile that ONNX Runtime writes to a [`Recording`].
use std::path::Path;
use opscope_model::{Model, proto::ModelProto};
use crate::engine::{Recording, Window};
use crate::error::RunError;
pub fn read(_: &Path, _: &Model, _: Option<&ModelProto>, _: &[Window]) -> Result<Recording, RunError> {
    Err(super::session::lost("not yet".into()))
}
