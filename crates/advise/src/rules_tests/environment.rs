//! Cases for the rules about how a profile was taken.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    let set = |environment| Case { environment, ..Case::default() };
    let mode = |mode| set(Environment { mode: Some(mode), ..Environment::default() });
    let link = |real_path| set(Environment { real_path, ..Environment::default() });
    let free = |bytes| set(Environment { free_bytes: Some(bytes), ..Environment::default() });
    let hosts = |text: &str| {
        let (hosts, host_name) = (Some(text.to_owned()), Some("dev".to_owned()));
        set(Environment { hosts, host_name, ..Environment::default() })
    };
    let ended = |ended| set(Environment { ended: Some(ended), ..Environment::default() });
    let level =
        |level: &str| set(Environment { log_level: Some(level.to_owned()), ..Environment::default() });
    let acl = |text: &str| set(Environment { acl_json: Some(text.to_owned()), ..Environment::default() });
    vec![
        ("E01", mode(0o100_660), mode(0o100_640)),
        ("E02", link(Some("/data/PROF_1".into())), link(None)),
        ("E03", free(19_500_000), free(20_000_000)),
        (
            "E04",
            on(Target::Svp, hosts("127.0.0.1 localhost\n127.0.1.1 dev # this machine")),
            on(Target::Svp, hosts("127.0.0.1 localhost\n#127.0.1.1 dev\n192.168.1.5 dev")),
        ),
        ("E05", ended(false), ended(true)),
        ("E06", level("1"), level("2")),
        ("E07", acl("{\"dump\": {}}"), acl("{\"profiler\": {}}")),
    ]
}
