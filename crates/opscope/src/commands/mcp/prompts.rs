//! The usual questions, with the way to their answers.

use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

/// A question. Words in braces are its arguments.
struct Question {
    name: &'static str,
    about: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    text: &'static str,
}

const PROFILE: (&str, &str) = ("profile", "The profile: a file, a raw directory or a folder of outputs");
const MODEL: (&str, &str) = ("model", "The ONNX model");

const ALL: [Question; 6] = [
    Question {
        name: "why-slow",
        about: "Where the time of an inference goes, and what to do about it",
        arguments: &[PROFILE],
        text: "Find out why the inference in {profile} is slow. Open it and look at how much of the wall time the \
               device was busy. If it was idle for much of it, look at the host's calls and the longest gaps; \
               otherwise at the operators by type, then at the most costly ones. Ask advise for findings, and \
               explain for those that you name. Say what costs the time with its share, whether it was measured, \
               and what you would change first with the most that it can save. Mention what was lost of the \
               profile where it makes a figure doubtful.",
    },
    Question {
        name: "what-changed",
        about: "What a change did to the time, and whether it is more than noise",
        arguments: &[("before", "The profile before the change"), ("after", "The profile after it")],
        text: "Compare {before} with {after}. Say whether an inference became faster or slower, by how much, and \
               whether that is more than noise. Name the operators that account for it, with what became of them, \
               and what stays unexplained.",
    },
    Question {
        name: "host-or-device",
        about: "Whether the host or the device holds an inference up",
        arguments: &[PROFILE],
        text: "Decide whether the host or the device limits {profile}: compare busy with wall time, look at the \
               longest gaps of a typical iteration with timeline_window, and at the calls of the host that ran \
               then (analyze with host=true). Give the figures on which you decide.",
    },
    Question {
        name: "slowest-operators",
        about: "The operators that cost most, and how far each is from what it could reach",
        arguments: &[PROFILE],
        text: "List the ten most costly operators of {profile} with time, share, shapes, unit and rate. Say of \
               each whether its spread is large, whether it ran on a general processor although it computes, and \
               what its type usually suffers from.",
    },
    Question {
        name: "what-to-change-in-the-model",
        about: "Changes to a model's graph that would save time",
        arguments: &[PROFILE, MODEL],
        text: "Ask advise about {profile} with the model {model}. For each finding about the graph give the nodes, \
               the most that it can save, whether results change, and the command of opscope rewrite that makes \
               the change.",
    },
    Question {
        name: "what-is-wrong-with-this-profile",
        about: "Whether a profile is whole, and which figures can be trusted",
        arguments: &[PROFILE],
        text: "Say what {profile} is, what is in it, what is missing, and what was lost while it was read. Say \
               which questions it can't answer because of that, and how to record it better.",
    },
];

/// The questions for a client.
pub fn all() -> Vec<Prompt> {
    let argument =
        |&(name, about): &(&str, &str)| PromptArgument::new(name).with_description(about).with_required(true);
    let prompt = |it: &Question| {
        Prompt::new(it.name, Some(it.about), Some(it.arguments.iter().map(argument).collect()))
    };
    ALL.iter().map(prompt).collect()
}

/// A question about what is named.
///
/// # Errors
/// When there is no such question, or it lacks an argument.
pub fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, String> {
    let Some(question) = ALL.iter().find(|question| question.name == name) else {
        let names: Vec<&str> = ALL.iter().map(|question| question.name).collect();
        return Err(format!("there is no prompt '{name}'; there are: {}", names.join(", ")));
    };
    let mut text = question.text.to_owned();
    for (argument, about) in question.arguments {
        let Some(value) = arguments.get(*argument).and_then(|value| value.as_str()) else {
            return Err(format!("{name} needs the argument '{argument}': {about}"));
        };
        text = text.replace(&format!("{{{argument}}}"), value);
    }
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(question.about))
}
