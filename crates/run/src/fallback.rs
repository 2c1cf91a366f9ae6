//! The way out where an engine can't run a model: another engine, or the same one without its optimizer.

use opscope_trace::Optimization;

use crate::engine::EngineOptions;
use crate::engine_kind::EngineKind;
use crate::error::RunError;

/// A result, with the options that gave it and how they differ from those that were asked for.
#[derive(Debug)]
pub struct Settled<T> {
    /// The result.
    pub done: T,
    /// The options with which it was done.
    pub options: EngineOptions,
    /// A sentence for each thing that was done instead of what was asked, and why.
    pub remarks: Vec<String>,
}

/// Does something with an engine. Where the embedded engine can't, and `auto` says that another may take
/// its place, ONNX Runtime does if it is found; else the same engine is tried without its optimizer, which
/// fails on some models that the engine itself can run.
///
/// # Errors
/// The first attempt's, when nothing else does either.
pub fn with_fallback<T>(
    options: &EngineOptions,
    auto: bool,
    mut work: impl FnMut(&EngineOptions) -> Result<T, RunError>,
) -> Result<Settled<T>, RunError> {
    let first = match work(options) {
        Ok(done) => return Ok(Settled { done, options: options.clone(), remarks: Vec::new() }),
        Err(error) if !error.is_the_engines() => return Err(error),
        Err(error) => error,
    };
    let cause = first.cause();
    let mut instead = Vec::new();
    if auto && options.kind == EngineKind::Tract && crate::ort::is_found(options) {
        let other = EngineOptions { kind: EngineKind::OnnxRuntime, ..options.clone() };
        instead.push((other, format!("{cause}; ONNX Runtime takes its place (--engine auto)")));
    }
    let is_optimizers = !matches!(first, RunError::UnsupportedOperator { .. });
    if is_optimizers && options.optimization != Optimization::Off {
        let plain = EngineOptions { optimization: Optimization::Off, ..options.clone() };
        let remark = format!("{cause}; it runs without its optimizer (--optimize off), which takes longer");
        instead.push((plain, remark));
    }
    for (options, remark) in instead {
        match work(&options) {
            Ok(done) => return Ok(Settled { done, options, remarks: vec![remark] }),
            Err(error) if !error.is_the_engines() => return Err(error),
            Err(_) => {}
        }
    }
    Err(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(optimization: Optimization) -> EngineOptions {
        EngineOptions { kind: EngineKind::Tract, optimization, threads: 1, ort_library: None }
    }

    fn refused() -> RunError {
        RunError::Prepare { engine: EngineKind::Tract, message: "a fault".to_owned(), details: None }
    }

    #[test]
    fn what_only_the_optimizer_fails_on_runs_without_it_and_that_is_said() {
        let work = |options: &EngineOptions| match options.optimization {
            Optimization::Off => Ok("done"),
            _ => Err(refused()),
        };
        let settled = with_fallback(&options(Optimization::Full), false, work).unwrap();
        assert_eq!((settled.done, settled.options.optimization), ("done", Optimization::Off));
        assert!(settled.remarks[0].contains("a fault") && settled.remarks[0].contains("--optimize off"));
    }

    #[test]
    fn an_engine_that_was_named_is_not_replaced_and_its_own_error_stands() {
        let mut asked = Vec::new();
        let failed = with_fallback(&options(Optimization::Full), false, |options| -> Result<(), _> {
            asked.push((options.kind, options.optimization));
            Err(refused())
        });
        assert!(failed.unwrap_err().to_string().contains("a fault"));
        let tract = |optimization| (EngineKind::Tract, optimization);
        assert_eq!(asked, [tract(Optimization::Full), tract(Optimization::Off)]);
    }

    #[test]
    fn what_is_no_engines_fault_is_tried_once() {
        let mut times = 0;
        let failed = with_fallback(&options(Optimization::Full), true, |_| -> Result<(), _> {
            times += 1;
            Err(RunError::Interrupted)
        });
        assert!(matches!(failed, Err(RunError::Interrupted)) && times == 1);
    }
}
