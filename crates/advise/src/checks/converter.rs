//! Conditions about what the model's converter was told and what it fused.

use crate::converter::{Gravity, Switches};
use crate::outcome::{Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] =
    &[("C01", switched_off), ("C02", without_effect), ("C03", contradictions), ("V02", switched_off)];

/// Fusion rules that the switch file turns off, or the value of the option where that holds the rules.
fn switched_off(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let inline = subject.converter.and_then(|options| options.get("fusion_switch_file"));
    let inline = inline.and_then(|value| Switches::parse(value).ok());
    let Some(switches) = subject.switches.or(inline.as_ref()) else {
        // A command without the option leaves all rules on.
        return match subject.converter {
            Some(options) if options.get("fusion_switch_file").is_none() => Outcome::Silent,
            _ => Outcome::Missing("the converter's switch file (--switches)".to_owned()),
        };
    };
    let off: Vec<String> =
        switches.off().map(|switch| format!("{} ({})", switch.rule, switch.kind.name())).collect();
    if off.is_empty() { Outcome::Silent } else { Found::note(format!("off: {}", off.join(", "))) }
}

/// Fusion rules whose pattern was found but which weren't applied every time.
fn without_effect(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(result) = subject.fusion_result else {
        return Outcome::Missing("the converter's fusion_result.json (--fusion-result)".to_owned());
    };
    let missed: Vec<String> = result
        .missed()
        .map(|pass| format!("{} took effect {} of {} times", pass.rule, pass.took_effect, pass.matched))
        .collect();
    if missed.is_empty() { Outcome::Silent } else { Found::note(missed.join("; ")) }
}

/// Options, switches and results of the conversion that don't go together.
fn contradictions(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let conversion = subject.conversion();
    if conversion.command.is_none() && conversion.switches.is_none() {
        return Outcome::Missing("the converter's command (--converter)".to_owned());
    }
    let remarks = conversion.remarks(subject.model.map(|model| (model, subject.shapes)));
    let wrong: Vec<String> = remarks
        .into_iter()
        .filter(|remark| remark.gravity == Gravity::Wrong)
        .map(|remark| remark.text)
        .collect();
    if wrong.is_empty() { Outcome::Silent } else { Found::note(wrong.join("; ")) }
}
