//! Arguments held against their schema, so that a wrong one is named.

use anyhow::bail;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::likeness::nearest;

/// Makes sure that a tool's arguments are of the names, types and values of its schema.
///
/// # Errors
/// With the first that isn't, and what is expected.
pub fn check(tool: &str, arguments: &JsonObject, schema: &JsonObject) -> anyhow::Result<()> {
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !arguments.contains_key(name) {
            bail!("{tool} needs the argument `{name}`: {}", text(&properties[name]["description"]));
        }
    }
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let near = nearest(name, known.iter().copied(), 0.8);
            let hint = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            bail!("{tool} has no argument `{name}`{hint}; there are: {}", known.join(", "));
        };
        fits(&format!("{tool}: the argument `{name}`"), value, property)?;
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn fits(what: &str, value: &Value, schema: &Value) -> anyhow::Result<()> {
    let expected = text(&schema["type"]);
    let fits_type = match expected {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => true,
    };
    if !fits_type {
        let article = if matches!(expected, "integer" | "array") { "an" } else { "a" };
        bail!("{what} has to be {article} {expected}, and is {}", short(value));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        bail!("{what} is {}; it can be: {}", short(value), words.join(", "));
    }
    let number = value.as_f64();
    let bound = |name: &str| schema[name].as_f64();
    if let (Some(number), Some(least)) = (number, bound("minimum"))
        && number < least
    {
        bail!("{what} is {}; the least is {least}", short(value));
    }
    if let (Some(number), Some(most)) = (number, bound("maximum"))
        && number > most
    {
        bail!("{what} is {}; the most is {most}", short(value));
    }
    for entry in value.as_array().into_iter().flatten() {
        fits(&format!("an entry of {}", what.trim_start_matches("an entry of ")), entry, &schema["items"])?;
    }
    Ok(())
}

/// A value in few letters.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(arguments: Value) -> String {
        let schema = json!({
            "properties": {
                "path": { "type": "string", "description": "The profile" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 9 },
                "with": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            },
            "required": ["path"],
        });
        let (Value::Object(arguments), Value::Object(schema)) = (arguments, schema) else {
            return String::new();
        };
        check("analyze", &arguments, &schema).err().map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_is_expected() {
        assert_eq!(problem(json!({ "path": "a", "limit": 3, "with": ["a"] })), "");
        assert!(problem(json!({})).contains("needs the argument `path`: The profile"));
        assert!(problem(json!({ "path": 3 })).contains("`path` has to be a string, and is 3"));
        assert!(problem(json!({ "path": null })).contains("has to be a string, and is null"));
        assert!(problem(json!({ "path": "a", "limit": 0 })).contains("the least is 1"));
        assert!(problem(json!({ "path": "a", "limit": 10 })).contains("the most is 9"));
        assert!(problem(json!({ "path": "a", "limit": 1.5 })).contains("has to be an integer"));
        assert!(problem(json!({ "path": "a", "with": ["c"] })).contains("is \"c\"; it can be: a, b"));
        assert!(problem(json!({ "pth": "a", "path": "b" })).contains("did you mean `path`?"));
    }
}
