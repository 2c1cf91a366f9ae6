//! Texts of users and their machines: settings, files of known hosts, words of command lines.

use std::str::FromStr;
use std::sync::LazyLock;

use opscope_advise::{Settings, Subject, rules as known_rules};
use opscope_analyze::{Aggregate, Column, Edit, GroupBy};
use opscope_board::{KnownKeys, Standing};
use opscope_model::{Bindings, Model, Shapes};
use opscope_run::{Input, InputRequest, InputSpec};
use opscope_trace::{Trace, units};
use russh::keys::{PublicKey, parse_public_key_base64};

use crate::packing::folder;
use crate::seeds;
use crate::trail::Trail;

/// Files that choose a timeline's lanes.
pub fn lane_choice(input: &[u8], trail: &mut Trail) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match opscope_cann::LaneChoice::from_json(text) {
        Ok(_) => trail.noted("lanes"),
        Err(error) => trail.refused(&error),
    }
}

/// A profile for rules that users wrote.
static PROFILE: LazyLock<Trace> =
    LazyLock::new(|| opscope_formats::chrome::read(seeds::TIMELINE.as_bytes()).expect("a timeline"));

/// Settings of `advise` (TOML), used on a profile.
pub fn rules(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    let path = directory.path().join("opscope.toml");
    std::fs::write(&path, input).expect("space on disk");
    let settings = match Settings::read(&path) {
        Ok(settings) => settings,
        Err(error) => {
            // The name of the folder is another each time.
            let text = error.to_string();
            return trail.refused(&text.split_once("opscope.toml").map_or(text.as_str(), |(_, text)| text));
        }
    };
    let rules = settings.apply_to(known_rules());
    trail.counted("rules", rules.len());
    let report = opscope_advise::advise(&Subject::new(Some(&PROFILE), None, None), &settings);
    trail.counted("silenced", report.silenced.len());
    report.findings.iter().for_each(|finding| trail.noted(finding.rule.title.get(..3).unwrap_or("none")));
}

/// A key, as a file of known hosts has it.
const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A";

static PUBLIC_KEY: LazyLock<PublicKey> = LazyLock::new(|| parse_public_key_base64(KEY).expect("a key"));

/// A file of known hosts. Whatever stands in it: a line behind it that names the host is heeded, and one that
/// revokes the key above all.
pub fn known_hosts(input: &[u8], trail: &mut Trail) {
    let text = String::from_utf8_lossy(input);
    for (host, port) in [("board", 22), ("board", 2222), ("fe80::1", 22)] {
        let standing = |text: &str| KnownKeys::parse(text, host, port).standing(&PUBLIC_KEY);
        let found = standing(&text);
        trail.noted(match found {
            Standing::Known => "known",
            Standing::Unknown => "unknown",
            Standing::Changed { .. } => "changed",
            Standing::Revoked { .. } => "revoked",
        });
        let lines = text.lines().count();
        if let Standing::Changed { line } | Standing::Revoked { line } = found {
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
        let named = if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") };
        let with = standing(&format!("{text}\n{named} ssh-ed25519 {KEY}\n"));
        match found {
            Standing::Revoked { .. } => assert_eq!(with, found),
            _ => assert_eq!(with, Standing::Known),
        }
        let revoked = standing(&format!("{text}\n@revoked\t*\tssh-ed25519\t{KEY}\n"));
        assert!(matches!(revoked, Standing::Revoked { .. }), "{revoked:?}");
        let keys = KnownKeys::parse(&text, host, port);
        trail.noted(if keys.has_kind(&PUBLIC_KEY.algorithm()) { "of the kind" } else { "of no such kind" });
    }
}

/// Models of which the words of command lines tell the inputs.
static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let models = [seeds::chain(), seeds::scalars()];
    models.into_iter().map(|bytes| Model::from_bytes(bytes.into(), None).expect("a model")).collect()
});

/// Words of command lines, one in a line: shapes and contents of inputs, sizes of dimensions, times, rates, sizes,
/// edits, columns. Inputs are made as they say.
pub fn words(input: &[u8], trail: &mut Trail) {
    let text = String::from_utf8_lossy(input);
    let mut request = InputRequest::default();
    for word in text.lines().take(16) {
        match InputSpec::from_str(word) {
            Ok(spec) => request.specs.push(spec),
            Err(error) => trail.refused(&error),
        }
        if let Some((name, Ok(size))) = word.split_once('=').map(|(name, size)| (name, size.parse())) {
            request.dimensions.insert(name.to_owned(), size);
        }
        let parsed = [
            units::parse_duration(word).map(drop),
            units::parse_flop_rate(word).map(drop),
            units::parse_byte_rate(word).map(drop),
            units::parse_bytes(word).map(drop),
            Edit::scale(word).map(drop).map_err(|error| error.to_string()),
            Edit::fuse(word).map(drop).map_err(|error| error.to_string()),
        ];
        for (kind, parsed) in parsed.iter().enumerate() {
            trail.counted("parsed", kind * usize::from(parsed.is_ok()));
        }
        let _ = (Column::from_name(word), GroupBy::from_name(word), Aggregate::from_name(word));
    }
    for model in MODELS.iter() {
        // A wish that fits no input hides what the others lead to.
        resolve(&request, model, trail);
        for spec in &request.specs {
            let alone = InputRequest { specs: vec![spec.clone()], ..request.clone() };
            resolve(&alone, model, trail);
            resolve(&InputRequest { dimensions: Default::default(), ..alone }, model, trail);
        }
    }
}

fn resolve(request: &InputRequest, model: &Model, trail: &mut Trail) {
    let bindings = match request.bindings(model) {
        Ok(bindings) => bindings,
        Err(error) => {
            trail.refused(&error);
            Bindings::new()
        }
    };
    if let Err(error) = Shapes::infer(model, &bindings) {
        trail.refused(&error);
    }
    match request.resolve(model) {
        Ok(inputs) => trail.counted("bytes", inputs.iter().map(bytes_of).sum()),
        Err(error) => trail.refused(&error),
    }
}

fn bytes_of(input: &Input) -> usize {
    input.tensor.bytes.len()
}
