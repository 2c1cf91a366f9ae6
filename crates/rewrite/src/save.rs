//! Making a rewritten model ready to be written to a file.

use std::path::Path;

use opscope_model::proto::{ModelProto, encode, encoded_len};
use opscope_model::stored::{external_tensors, external_tensors_mut};
use opscope_model::{Model, TensorError};

/// Messages of this size and more can't be written as one file: protocol buffers end there.
const LARGEST: u64 = (1 << 31) - 1;

/// Why a model can't be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum SaveError {
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error(
        "the model would take {bytes} bytes with its external data, but one file can't have more than \
         {LARGEST}; write it into the folder of the original, so that both share the data files"
    )]
    TooLarge { bytes: u64 },
}

/// The bytes of a rewritten model's file. Data that the original keeps in files beside it stay there when
/// the new file is to lie in the same folder; else they become part of it.
///
/// # Errors
/// When external data can't be read, or all in all it is too much for one file.
pub fn to_bytes(original: &Model, mut proto: ModelProto, folder: &Path) -> Result<Vec<u8>, SaveError> {
    let same = |folder: &Path| match folder.as_os_str().is_empty() {
        true => Path::new(".").canonicalize(),
        false => folder.canonicalize(),
    };
    let beside = match (original.folder().map(same), same(folder)) {
        (Some(Ok(theirs)), Ok(ours)) => theirs == ours,
        _ => false,
    };
    if !beside {
        take_in(original, &mut proto)?;
    }
    let bytes = encoded_len(&proto);
    if bytes > LARGEST {
        return Err(SaveError::TooLarge { bytes });
    }
    Ok(encode(&proto))
}

/// Takes all external data into the model.
fn take_in(original: &Model, proto: &mut ModelProto) -> Result<(), TensorError> {
    // Under the names by which users know them, so that the error names what is missing.
    external_tensors(proto).iter().try_for_each(|tensor| original.tensor_data(tensor).map(drop))?;
    for tensor in external_tensors_mut(proto) {
        let data = original.tensor_data(tensor)?;
        tensor.raw_data = Some(data.bytes);
        tensor.data_location = None;
        tensor.external_data.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use opscope_model::proto::StringStringEntryProto;

    use super::*;
    use crate::testing::net;

    #[test]
    fn data_in_other_files_are_taken_in_unless_the_file_stays_beside_them() {
        let folder = std::env::temp_dir().join(format!("opscope-save-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut proto = net("input x f32[2]; const w f32[2] 3 4; y = Mul(x, w); output y").proto().clone();
        let tensor = &mut proto.graph.as_mut().unwrap().initializer[0];
        std::fs::write(folder.join("weights.bin"), tensor.raw_data.take().unwrap()).unwrap();
        let entry = |key: &str, value: &str| StringStringEntryProto {
            key: Some(key.into()),
            value: Some(value.into()),
        };
        tensor.external_data = vec![entry("location", "weights.bin")];
        tensor.data_location = Some(1);
        let model = Model::from_proto(proto.clone(), Some(&folder)).unwrap();

        let beside = to_bytes(&model, proto.clone(), &folder).unwrap();
        let elsewhere = to_bytes(&model, proto, &std::env::temp_dir()).unwrap();
        let weights = |bytes: Vec<u8>, folder: Option<&Path>| {
            let model = Model::from_bytes(bytes.into(), folder).unwrap();
            let tensor = model.graph().value_by_name("w").unwrap().initializer.unwrap();
            model.tensor_data(tensor).map(|data| data.to_f64s().unwrap())
        };
        assert!(weights(beside.clone(), None).is_err(), "the data are still outside");
        assert_eq!(weights(beside, Some(&folder)).unwrap(), [3.0, 4.0]);
        assert_eq!(weights(elsewhere, None).unwrap(), [3.0, 4.0]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
