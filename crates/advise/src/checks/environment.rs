//! Conditions about how a profile was taken.

use crate::outcome::{Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("E01", open_to_all),
    ("E02", link),
    ("E03", full_disk),
    ("E04", loopback),
    ("E05", not_ended),
    ("E06", log_level),
    ("E07", dump),
];

fn open_to_all(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(mode) = subject.environment.mode else {
        return Outcome::Missing("permissions of the profile".to_owned());
    };
    // The permissions that a umask of 0027 takes away: writing by the group, and everything by others.
    if mode & 0o022 == 0 {
        return Outcome::Silent;
    }
    Found::note(format!("its permissions are {:04o}", mode & 0o7777))
}

fn link(subject: &Subject<'_>, _: &Rule) -> Outcome {
    match &subject.environment.real_path {
        Some(path) => Found::note(format!("its real path is {}", path.display())),
        None => Outcome::Silent,
    }
}

fn full_disk(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(bytes) = subject.environment.free_bytes else {
        return Outcome::Missing("how much is free on the disk of the profile".to_owned());
    };
    if bytes as f64 >= rule.limit("free_mb") * 1e6 {
        return Outcome::Silent;
    }
    Found::note(format!("{} are free", opscope_trace::units::bytes(bytes as f64)))
}

fn loopback(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let (Some(hosts), Some(name)) = (&subject.environment.hosts, &subject.environment.host_name) else {
        return Outcome::Missing("the hosts file and the name of this machine".to_owned());
    };
    // An address, then names, up to a comment.
    let line = hosts.lines().find(|line| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let is_loopback = words.next().is_some_and(|address| address.starts_with("127."));
        // That a machine knows itself as localhost is as it should be.
        is_loopback && name != "localhost" && words.any(|word| word == name)
    });
    match line {
        Some(line) => {
            Found::note(format!("the hosts file of the machine where opscope runs says `{}`", line.trim()))
        }
        None => Outcome::Silent,
    }
}

fn not_ended(subject: &Subject<'_>, _: &Rule) -> Outcome {
    match subject.environment.ended {
        None => Outcome::Missing("a raw directory (PROF_*)".to_owned()),
        Some(true) => Outcome::Silent,
        Some(false) => Found::note("end_info is missing".to_owned()),
    }
}

fn log_level(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(level) = &subject.environment.log_level else {
        return Outcome::Missing("ASCEND_GLOBAL_LOG_LEVEL in the environment".to_owned());
    };
    match level.trim().parse::<f64>() {
        Ok(number) if number < rule.limit("level") => Found::note(format!("it is {level}")),
        _ => Outcome::Silent,
    }
}

fn dump(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(text) = &subject.environment.acl_json else {
        return Outcome::Missing("acl.json beside the profile".to_owned());
    };
    if text.contains("\"dump\"") {
        Found::note("acl.json has a dump section".to_owned())
    } else {
        Outcome::Silent
    }
}
