//! A page about a rule.

use opscope_say::Language;

use crate::rule::{Confidence, Rule};

/// The page about a rule: what it says, its thresholds and where they come from.
pub fn explain(rule: &Rule, language: Language) -> String {
    let chinese = rule.zh.as_ref().filter(|_| language == Language::Chinese);
    let (title, why, advice) = match chinese {
        Some(text) => (&text.title, &text.why, &text.advice),
        None => (&rule.title, &rule.why, &rule.advice),
    };
    let words = match language {
        Language::English => [
            "Why",
            "What to do",
            "Does opscope do it?",
            "Thresholds",
            "Condition",
            "Confidence",
            "Source",
            "To silence it",
        ],
        Language::Chinese => {
            ["原因", "建议", "opscope 能否自动完成", "阈值", "条件", "可信度", "来源", "静默方法"]
        }
    };
    let mut page = format!("{} {}: {title}\n", rule.id, rule.name);
    let mut add = |heading: &str, text: &str| {
        if !text.is_empty() {
            page.push_str(&format!("\n{heading}\n  {text}\n"));
        }
    };
    add(words[0], why);
    add(words[1], advice);
    add(words[2], &automation(&rule.auto, language));
    let condition = rule.when.as_ref().map(|condition| condition.to_string());
    add(words[4], &condition.unwrap_or_default());
    let limits: Vec<String> = rule.limits.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    add(words[3], &limits.join(", "));
    add(words[5], confidence(rule.confidence, language));
    add(words[6], &rule.source);
    add(words[7], &format!("silence = [\"{}\"]   (opscope.toml, --rules FILE.toml)", rule.id));
    page
}

fn automation(auto: &str, language: Language) -> String {
    let (no, rewrite, config) = match language {
        Language::English => {
            ("no, it is up to you", "it is a rewrite of the graph", "by an option or a command")
        }
        Language::Chinese => ("否,需要人工处理", "图改写", "通过选项或命令"),
    };
    if auto == "no" {
        no.to_owned()
    } else if let Some(which) = auto.strip_prefix("rewrite") {
        format!("{rewrite}:{which}")
    } else {
        format!("{config}:{}", auto.strip_prefix("config:").unwrap_or(auto))
    }
}

fn confidence(confidence: Confidence, language: Language) -> &'static str {
    match (language, confidence) {
        (Language::English, confidence) => confidence.name(),
        (Language::Chinese, Confidence::Guessed) => "常识",
        (Language::Chinese, Confidence::Documented) => "有文档依据",
        (Language::Chinese, Confidence::Measured) => "实测",
    }
}
