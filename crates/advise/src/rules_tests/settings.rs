//! Settings of users.

use super::*;
use crate::SettingsError;

fn settings(text: &str) -> Result<Settings, SettingsError> {
    let folder = std::env::temp_dir().join(format!("opscope-settings-{:?}", std::thread::current().id()));
    std::fs::write(&folder, text).unwrap();
    let read = Settings::read(&folder);
    std::fs::remove_file(&folder).unwrap();
    read
}

fn found(trace: &Trace, settings: &Settings) -> Vec<String> {
    let subject = Subject::new(Some(trace), None, Some(Target::Cann));
    advise(&subject, settings).findings.into_iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn thresholds_change_what_is_found_and_silence_hides_it() {
    // Of the time they take less than a fiftieth.
    let few = [("a", "TransData", AI, 10, &[][..]), ("b", "TransData", AI, 10, &[][..])];
    let rest = [("c", "Conv2D", AI, 2000, &[][..])];
    let trace = ops(&[&few[..], &rest].concat()).trace.unwrap();
    assert!(!found(&trace, &Settings::default()).contains(&"A01".to_owned()));
    let lower = settings("[thresholds]\nA01.more_than = 1\n").unwrap();
    assert!(found(&trace, &lower).contains(&"A01".to_owned()));
    let silent = settings("silence = [\"A0*\"]\n[thresholds]\nA01.more_than = 1\n").unwrap();
    assert!(!found(&trace, &silent).contains(&"A01".to_owned()));
}

#[test]
fn users_add_rules_of_their_own() {
    let own = settings(
        "[[rule]]\nid = \"U01\"\ntitle = \"slow\"\nlimits = { min_us = 50, busy = 0.5 }\n\
         when = { types = [\"My*\"], metrics = [\"mac_ratio < busy\"] }\n",
    )
    .unwrap();
    let slow = ops(&[("k", "MyKernel", AI, 80, &[("mac_ratio", 0.2)])]).trace.unwrap();
    let busy = ops(&[("k", "MyKernel", AI, 80, &[("mac_ratio", 0.7)])]).trace.unwrap();
    assert!(found(&slow, &own).contains(&"U01".to_owned()));
    assert!(!found(&busy, &own).contains(&"U01".to_owned()));
}

#[test]
fn mistakes_in_settings_are_named_with_what_would_be_right() {
    let refused = |text: &str| settings(text).unwrap_err().to_string();
    assert!(refused("[thresholds]\nA99.x = 1\n").contains("no rule A99"));
    assert!(refused("[thresholds]\nA05.us = 1\n").contains("it has min_us"));
    assert!(refused("silence = [\"Q7\"]").contains("no rule Q7"));
    assert!(refused("[[rule]]\nid = \"A01\"\ntitle = \"x\"\nwhen = { types = [\"X\"] }\n").contains("U01"));
    assert!(refused("[[rule]]\nid = \"U1\"\ntitle = \"x\"\n").contains("no condition"));
    assert!(refused("[[rule]]\nid = \"U1\"\ntitle = \"x\"\nwhen = {}\n").contains("empty"));
    let unit = "[[rule]]\nid = \"U1\"\ntitle = \"x\"\nwhen = { units = [\"warp\"] }\n";
    assert!(refused(unit).contains("no unit `warp`"));
    let metric = "[[rule]]\nid = \"U1\"\ntitle = \"x\"\nwhen = { metrics = [\"mac > lots\"] }\n";
    assert!(refused(metric).contains("no threshold of the rule"));
    assert!(refused("nonsense").contains("TOML") || refused("nonsense").contains("line 1"));
}
