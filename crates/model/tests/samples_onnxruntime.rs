//! ONNX's own checker accepts the sample models, and ONNX Runtime computes something on them.

use std::process::Command;

use opscope_model::samples::Sample;
use opscope_testing::companions;
use prost::Message;

#[test]
fn onnxruntime_computes_finite_and_varied_outputs_on_every_sample() -> std::io::Result<()> {
    let Some(python) = companions::python() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    for sample in Sample::ALL {
        let path = folder.path().join(format!("{sample}.onnx"));
        std::fs::write(&path, sample.build(0).encode_to_vec())?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples_onnxruntime.py");
        let run = Command::new(&python).arg(script).arg(&path).output()?;
        print!("{}", String::from_utf8_lossy(&run.stdout));
        assert!(run.status.success(), "{sample}: {}", String::from_utf8_lossy(&run.stderr));
    }
    Ok(())
}
