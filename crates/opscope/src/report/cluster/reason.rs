//! The reasons of suspects in a sentence each.

use opscope_reach::{Cause, Evidence, OtherOption, ToUnrecorded};
use opscope_say::{say, word};

use super::{listed, milliseconds};
use crate::terminal::printable;

/// The deciding reason, and the others in brief.
pub fn sentence(evidence: &Evidence) -> String {
    let sentences: Vec<String> = evidence.causes.iter().map(|it| of_cause(&it.cause)).collect();
    match sentences.split_first() {
        None => String::new(),
        Some((first, [])) => first.clone(),
        Some((first, others)) => say!("{first}; also {}", others.join("; ")),
    }
}

fn more(times: f64) -> String {
    format!("{:.0} %", (times - 1.0) * 100.0)
}

fn short(name: &str) -> String {
    printable(name).into_owned()
}

/// A reason in a sentence.
pub fn of_cause(cause: &Cause) -> String {
    match cause {
        Cause::Frequency { mhz, peers_mhz, times } => {
            say!("AI Core at {mhz:.0} MHz, its peers at {peers_mhz:.0} (compute {} slower)", more(*times))
        }
        Cause::SlowDevice { times, mhz: None } => {
            say!("computes {} slower than its peers; the profile tells no frequency", more(*times))
        }
        Cause::SlowDevice { times, mhz: Some(mhz) } => {
            say!(
                "computes {} slower than its peers, though its AI Core's {mhz:.0} MHz don't explain that",
                more(*times)
            )
        }
        Cause::AiCpu { operator, count, peers_with: 0, .. } => {
            let name = short(operator.called());
            say!("{name} runs on the AI CPU, {count:.0} times a step; on its peers not at all")
        }
        Cause::AiCpu { operator, count, .. } => {
            let name = short(operator.called());
            say!("{name} runs on the AI CPU, {count:.0} times a step; on most of its peers not at all")
        }
        Cause::Tokens { times, .. } => say!("{times:.1} times its peers' tokens"),
        Cause::LargerShapes { operator, times } => {
            say!("{} has {times:.1} times the rows that it has on its peers", short(operator.called()))
        }
        Cause::OtherWork { operator, count, peers_with: 0 } => {
            say!("{} runs {count:.0} times a step, and on no peer", short(operator.called()))
        }
        Cause::OtherWork { operator, count, .. } => {
            say!("{} runs {count:.0} times a step, and on most peers not at all", short(operator.called()))
        }
        Cause::LateInput { gap_ns, call: Some(call) } => {
            let (gap, call) = (milliseconds(*gap_ns), short(call));
            say!("its input came late: {gap} ms before the first operator, in {call}")
        }
        Cause::LateInput { gap_ns, call: None } => {
            say!("nothing runs at a step's begin for {} ms longer than on its peers", milliseconds(*gap_ns))
        }
        Cause::HostBound { gap_ns, call: Some(call) } => {
            let (gap, call) = (milliseconds(*gap_ns), short(call));
            say!(
                "its host launches operators late: the device waits {gap} ms longer for them, most of it in {call}"
            )
        }
        Cause::HostBound { gap_ns, call: None } => {
            let gap = milliseconds(*gap_ns);
            say!(
                "its host launches operators late: the device waits {gap} ms longer for them than its peers'"
            )
        }
        Cause::Copies { excess_ns } => {
            say!("copies between host and device take {} ms longer", milliseconds(*excess_ns))
        }
        Cause::SlowLink { gb_per_s, peers_gb_per_s, is_of_opposite: true, slows, .. } => {
            let slows = slows.join(", ");
            say!(
                "{gb_per_s:.1} GB/s where the other direction has {peers_gb_per_s:.1}; every {slows} that uses it"
            )
        }
        Cause::SlowLink { gb_per_s, peers_gb_per_s, slows, .. } => {
            let slows = slows.join(", ");
            say!("{gb_per_s:.1} GB/s where peers have {peers_gb_per_s:.1}; every {slows} that uses it")
        }
        Cause::SlowGroup { ranks, role, is_alone, are_links_told } => {
            let ranks = listed(ranks);
            let longer = if *is_alone {
                say!("some transfers of the {role} group of {ranks} take longer than others of its own")
            } else {
                say!("transfers of the {role} group of {ranks} take longer than those of its like")
            };
            let why_no_link = if *are_links_told {
                word("too few links are alike to tell which is slow")
            } else {
                word("the profiles don't tell all its links")
            };
            format!("{longer}; {why_no_link}")
        }
        Cause::SlowLinkNotRecorded { ranks, role, times } => {
            let ranks = listed(ranks);
            say!(
                "all transfers of the {role} group of {ranks} take {times:.1} times as long as those of its like, as over a slow link"
            )
        }
        Cause::NotRecorded { slows, links } if !links.is_empty() => {
            let link = |it: &ToUnrecorded| {
                let (bandwidth, peers) = (it.gb_per_s, it.peers_gb_per_s);
                format!("{} → {} ({}) {bandwidth:.1} < {peers:.1} GB/s", it.src, it.dst, it.transport.name())
            };
            let (slows, links) = (slows.join(", "), links.iter().map(link).collect::<Vec<_>>().join(", "));
            say!("others wait for it, or for a link of its, in {slows}; slow links to it: {links}")
        }
        Cause::NotRecorded { slows, .. } => {
            say!(
                "others wait for it, or for a link of its, in {}; nothing that was recorded tells why",
                slows.join(", ")
            )
        }
        Cause::Collected { options } => {
            let option = |it: &OtherOption| {
                format!("{}: {} ({})", short(&it.option), short(&it.here), short(&it.peers))
            };
            let options = options.iter().map(option).collect::<Vec<_>>().join(", ");
            say!("it was recorded with other options than its peers (theirs in brackets): {options}")
        }
        Cause::NoOperators => word("its profile has no operators, which reasons are found by").to_owned(),
        Cause::OperatorsNotKept => {
            word("the set was imported without operators, which reasons are found by: import with --keep all")
                .to_owned()
        }
        Cause::NoOperatorsOfPeers => {
            word("no profile of its peers has operators, beside which its own would tell the reason")
                .to_owned()
        }
        Cause::Unknown => {
            word("none of the known reasons; see opscope cluster slow for the operators that differ")
                .to_owned()
        }
    }
}
