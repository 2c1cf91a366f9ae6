//! Messages when something is wrong: clear, with the right status, and with nothing
//! half written.

mod common;

use common::Place;

#[test]
fn a_file_that_is_not_onnx_is_recognised_for_what_it_is() {
    let place = Place::new();
    place.fails(1, &["missing.onnx"], &["run", "missing.onnx"]);
    place.write("empty.onnx", b"");
    place.fails(1, &["empty.onnx", "empty"], &["run", "empty.onnx"]);
    place.write("text.onnx", "{\"this\": \"is json\"}");
    place.fails(1, &["text.onnx", "not an ONNX model"], &["run", "text.onnx"]);
    place.write("archive.onnx", b"PK\x03\x04rest of a zip file");
    place.fails(1, &["archive.onnx", "not an ONNX model"], &["run", "archive.onnx"]);
}

#[test]
fn a_truncated_model_says_where_it_ends() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let bytes = std::fs::read(place.path(&model)).expect("the model");
    place.write("cut.onnx", &bytes[..bytes.len() / 2]);
    place.fails(1, &["cut.onnx", "cut off", "offset"], &["run", "cut.onnx"]);
}

#[test]
fn inputs_that_do_not_fit_are_explained() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let run = |says: &[&str], input: &str| {
        place.fails(2, says, &["run", &model, "--input", input]);
    };
    run(&["no input named 'imput'", "did you mean 'input'"], "imput=1x3x224x224");
    run(&["axis 3 is 225 instead of 224", "float32 [1,3,224,224]"], "input=1x3x224x225");
    run(&["3 dimensions instead of 4"], "input=3x224x224");
    run(&["neither a shape", ".npy"], "input=noise");
    place.fails(2, &["given twice"], &["run", &model, "--input", "zeros", "--input", "input=ones"]);
    place.fails(2, &["no symbolic dimension named 'batch'"], &["run", &model, "--dim", "batch=2"]);
    place.write("text.npy", "not numpy");
    place.fails(2, &["text.npy"], &["run", &model, "--input", "input=text.npy"]);
    place.fails(2, &["nowhere.npy"], &["run", &model, "--input", "input=nowhere.npy"]);
}

#[test]
fn targets_that_cannot_be_written_are_found_before_the_run() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    std::fs::create_dir(place.path("folder")).expect("a folder");
    let before = place.files();
    for option in ["--trace", "--db", "--profile", "--profile-host"] {
        place.fails(1, &["nowhere/x", "does not exist"], &["run", &model, option, "nowhere/x"]);
        place.fails(1, &["folder", "in the way"], &["run", &model, option, "folder"]);
    }
    assert_eq!(place.files(), before);
}

#[test]
fn no_file_takes_the_place_of_another() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let before = std::fs::read(place.path(&model)).expect("the model");
    for option in ["--trace", "--db", "--profile", "--profile-host"] {
        place.fails(2, &["named twice"], &["run", &model, option, &format!("./{model}")]);
    }
    place.fails(2, &["named twice"], &["run", &model, "--trace", "x", "--db", "x"]);
    assert_eq!(before, std::fs::read(place.path(&model)).expect("the model"));
    assert_eq!(place.files(), [model]);
}

#[test]
fn files_are_written_even_if_nobody_reads_the_answer() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let mut child = place
        .command(&["run", &model, "--iterations", "1", "--json", "--quiet", "--trace", "t.json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(place.path("t.json").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let answer = place.fails(
        1,
        &["/dev/full", "No space left"],
        &["run", &model, "--iterations", "1", "--trace", "/dev/full"],
    );
    // The answer is there all the same: the measurement wasn't in vain.
    assert!(answer.stdout.contains("latency"));
    place.fails(1, &["/dev/full", "No space left"], &["sample", "mask-ssd", "-o", "/dev/full"]);
}

#[test]
fn an_unknown_sample_suggests_the_nearest() {
    let place = Place::new();
    place.fails(2, &["no sample named 'resnet-50'", "did you mean 'resnet50'"], &["sample", "resnet-50"]);
    place.fails(1, &["nowhere/x.onnx", "does not exist"], &["sample", "mask-ssd", "-o", "nowhere/x.onnx"]);
    assert!(place.files().is_empty());
}

#[test]
fn a_missing_onnx_runtime_lists_where_it_was_looked_for() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let answer = place
        .command(&["run", &model, "--engine", "ort"])
        .env_remove("ORT_DYLIB_PATH")
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("VIRTUAL_ENV")
        .env("PATH", "/nonexistent")
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&answer.stderr);
    // A machine may have the library among the system's own; then there is nothing to show.
    if answer.status.code() != Some(0) {
        assert_eq!(answer.status.code(), Some(1));
        for part in [
            "--ort-lib",
            "ORT_DYLIB_PATH",
            "python3",
            "/usr/lib",
            "pip install onnxruntime",
            "--engine tract",
        ] {
            assert!(text.contains(part), "no {part} in:\n{text}");
        }
    }
    place.fails(
        1,
        &["nowhere.so", "no such file"],
        &["run", &model, "--engine", "ort", "--ort-lib", "nowhere.so"],
    );
    place.write("text.so", "not a library");
    place.fails(
        1,
        &["text.so", "cannot use it"],
        &["run", &model, "--engine", "ort", "--ort-lib", "text.so"],
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_reports_what_was_measured() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let child = place
        .command(&["run", &model, "--duration", "2min", "--json", "--trace", "t.json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Long enough for a slow machine to be in the middle of measuring; far less than two minutes.
    std::thread::sleep(std::time::Duration::from_secs(6));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole answer");
    assert!(answer["latency"]["count"].as_u64() > Some(0));
    let trace = std::fs::read(place.path("t.json")).expect("the timeline");
    serde_json::from_slice::<serde::de::IgnoredAny>(&trace).expect("a whole timeline");
}
