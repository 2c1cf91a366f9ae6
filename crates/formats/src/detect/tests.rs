//! Files of every kind, told apart and opened.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use opscope_trace::{Nanoseconds, Task};
use proptest::prelude::*;

use super::*;

/// A folder with one file in it.
struct OneFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl OneFile {
    fn new(content: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The name is no help.
        let path = folder.path().join("file.bin");
        std::fs::write(&path, content).unwrap();
        Self { _folder: folder, path }
    }

    fn compressed(content: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        Self::new(&encoder.finish().unwrap())
    }
}

const ONNX_RUNTIME: &[u8] = b"[\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :9,\"ts\" :2,\
    \"ph\" : \"X\",\"name\" :\"model_run\",\"args\" : {}}\n]\n";

const MEGENGINE: &[u8] = br#"{"graph_exec": {"operator": {"1": {"id": "1", "name": "conv", "type": "Convolution",
    "input": [], "output": [], "node_type": "operator", "extra": {}}}, "var": {}, "mem_chunk": {},
    "comp_seq": ["1"]}, "profiler": {"device": {"1": {"CompNode(\"cpu0:0\" from \"xpux:0\")":
    {"start": 0.001, "kern": 0.002, "end": 0.003}}}, "host": {}, "opr_footprint": {}, "opr_internal_pf": {}}}"#;

fn database() -> Vec<u8> {
    let mut trace = Trace::new();
    let name = trace.strings.intern("x");
    trace.tasks.push(Task::new(name, Nanoseconds(1), Nanoseconds(2)));
    let file = OneFile::new(b"");
    sqlite::write_file(&trace, &file.path).unwrap();
    std::fs::read(&file.path).unwrap()
}

fn other_database() -> Vec<u8> {
    let file = OneFile::new(b"");
    rusqlite::Connection::open(&file.path).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
    std::fs::read(&file.path).unwrap()
}

#[test]
fn every_kind_is_known_by_its_content_compressed_or_not() {
    let mut timeline = Vec::new();
    crate::chrome::write(&Trace::new(), &mut timeline).unwrap();
    let other = |text: &str| Kind::Unknown { looks_like: text.to_owned() };
    let cases: Vec<(Vec<u8>, Kind)> = vec![
        (ONNX_RUNTIME.to_vec(), Kind::OnnxRuntimeProfile),
        (MEGENGINE.to_vec(), Kind::MegEngineProfile),
        (database(), Kind::OpscopeDatabase),
        (other_database(), Kind::OtherDatabase),
        (timeline, Kind::ChromeTrace),
        (b"[{\"ph\":\"X\",\"name\":\"model_run\",\"cat\":\"kernel\"}]".to_vec(), Kind::ChromeTrace),
        (b"[{\"name\":\"Sort\",\"cat\":\"Node\",\"ph\":\"B\"}]".to_vec(), Kind::ChromeTrace),
        (b"\x08\x08\x12\x01x\x3a\x03abc".to_vec(), Kind::OnnxModel),
        (Vec::new(), other("an empty file")),
        (b"{\"model\": 1, \"layers\": [{\"a\": 2}]}".to_vec(), other("a JSON object with model, layers")),
        (b"[{\"a\": 1}, {\"a\": 2}]".to_vec(), other("a JSON list with a")),
        (b"name,time\nconv,5\n".to_vec(), other("text")),
        (b"PK\x03\x04rest".to_vec(), other("a zip archive")),
        (
            b"\0\x01\x02\xff".to_vec(),
            other("a file of an unknown kind that begins with the bytes 00 01 02 ff"),
        ),
    ];
    for (content, kind) in cases {
        assert_eq!(detect(&OneFile::new(&content).path).unwrap(), kind);
        let packed = match kind {
            Kind::Unknown { looks_like } => other(&format!("{looks_like}, compressed with gzip")),
            kind => kind,
        };
        assert_eq!(detect(&OneFile::compressed(&content).path).unwrap(), packed);
    }
}

#[test]
fn whatever_holds_a_profile_opens_as_a_trace() {
    for content in [ONNX_RUNTIME, MEGENGINE, &database()] {
        for file in [OneFile::new(content), OneFile::compressed(content)] {
            let trace = open(&file.path).unwrap();
            assert_eq!(trace.tasks.len().max(trace.iterations.len()), 1);
        }
    }
}

#[test]
fn what_holds_no_profile_is_refused_by_what_it_is() {
    let refusal = |content: &[u8]| {
        let file = OneFile::new(content);
        let message = open(&file.path).unwrap_err().to_string();
        assert!(message.contains("file.bin"), "{message}");
        message
    };
    assert!(refusal(b"\x08\x08\x12\x01x\x3a\x03abc").contains("this is an ONNX model"));
    assert!(refusal(b"\x08\x08\x12\x01x\x3a\x03abc").contains("opscope run"));
    assert!(refusal(b"hello").contains("this is text, not a profile"));
    assert!(refusal(&other_database()).contains("another program"));
    assert!(refusal(b"{\"profiler\": 7").contains("MegEngine"));
    let folder = tempfile::tempdir().unwrap();
    assert!(detect(folder.path()).unwrap_err().to_string().contains("folder"));
    let missing = folder.path().join("missing.json");
    assert!(detect(&missing).unwrap_err().to_string().contains("missing.json"));
}

proptest! {
    #[test]
    fn any_content_is_told_and_opened_without_a_panic(
        start in proptest::sample::select(vec![&b""[..], b"[{\"cat\":\"Node\",\"name\":\"x_kernel_time\"", b"{\"profiler\":",
            b"SQLite format 3\0", b"\x1f\x8b\x08", b"\x08\x08\x3a", b"{\"traceEvents\":"]),
        rest in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let file = OneFile::new(&[start, &rest].concat());
        if let Ok(kind) = detect(&file.path) {
            prop_assert!(!kind.to_string().is_empty());
        }
        let _ = open(&file.path);
    }
}
