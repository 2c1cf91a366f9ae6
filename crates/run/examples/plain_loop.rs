//! A bare loop around a session of ONNX Runtime, which `benches/timing.py` holds `opscope run` against.
//!
//!     plain_loop MODEL THREADS SECONDS [NAME=FILE.npy]...
//!
//! Prints the median nanoseconds of the inferences that fit into the time, at least ten of them. The
//! library is the one that `ORT_DYLIB_PATH` names. Nothing of opscope's own measuring is used.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use npyz::{DType, NpyFile, TypeChar};
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{DynTensor, DynValue, TensorElementType};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, threads, seconds, inputs @ ..] = &words[..] else {
        return Err("plain_loop MODEL THREADS SECONDS [NAME=FILE.npy]...".into());
    };
    let library = std::env::var("ORT_DYLIB_PATH")?;
    let environment = ort::init_from(&library)?.with_name("plain loop").with_telemetry(false).build()?;
    let builder = Session::builder(&environment)?.with_optimization_level(GraphOptimizationLevel::All)?;
    let mut session = builder.with_intra_threads(threads.parse()?)?.commit_from_file(model)?;
    let inputs: Vec<(&str, DynValue)> = (inputs.iter())
        .map(|word| {
            let (name, file) = word.split_once('=').ok_or("an input is NAME=FILE.npy")?;
            Ok((name, tensor(&session, file)?))
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    println!("{}", median(&mut session, &inputs, Duration::from_secs_f64(seconds.parse()?))?);
    Ok(())
}

/// A file of NumPy's as a tensor in the session's memory.
fn tensor(session: &Session, file: &str) -> Result<DynValue, Box<dyn Error>> {
    let bytes = fs::read(file)?;
    let npy = NpyFile::new(&bytes[..])?;
    let DType::Plain(plain) = npy.dtype() else { return Err("a record".into()) };
    let element_type = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Float, 2) => TensorElementType::Float16,
        (TypeChar::Float, 4) => TensorElementType::Float32,
        (TypeChar::Int, 4) => TensorElementType::Int32,
        (TypeChar::Int, 8) => TensorElementType::Int64,
        _ => return Err(format!("{file}: another type of number").into()),
    };
    let shape: Vec<i64> = npy.shape().iter().map(|&size| size as i64).collect();
    let elements: i64 = shape.iter().product();
    let mut value = DynTensor::new(session.allocator(), element_type, shape)?;
    let size = element_type.byte_size(elements as usize).ok_or("a type of fixed size")?;
    let content = &bytes[bytes.len() - size..];
    // SAFETY: the tensor was just made in host memory with this type and shape, which take `size` bytes.
    unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), value.data_ptr_mut().cast(), size) };
    Ok(value.into_dyn())
}

fn median(session: &mut Session, inputs: &[(&str, DynValue)], time: Duration) -> ort::Result<u128> {
    let mut infer = || {
        let inputs: Vec<(&str, ort::session::SessionInputValue<'_>)> =
            inputs.iter().map(|(name, value)| (*name, value.into())).collect();
        let start = Instant::now();
        let outputs = session.run(inputs)?;
        let duration = start.elapsed().as_nanos();
        drop(outputs);
        Ok::<_, ort::Error>(duration)
    };
    infer()?;
    infer()?;
    let end = Instant::now() + time;
    let mut durations = Vec::new();
    while durations.len() < 10 || (Instant::now() < end && durations.len() < 100_000) {
        durations.push(infer()?);
    }
    durations.sort_unstable();
    Ok(durations[durations.len() / 2])
}
