//! The command that converts a model, `atc`, from a line, a script, or a file of options.

use std::fmt::Write;

/// The options of a command that converts models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConverterOptions {
    /// The program that is run, where the text says.
    program: Option<String>,
    /// The options as they were given, in order.
    given: Vec<(String, String)>,
    /// How many further commands the text has.
    others: usize,
}

impl ConverterOptions {
    /// Reads a command such as `atc --model=m.onnx --compile_mode 1`, a script that holds one, or a
    /// configuration file with an option a line.
    pub fn parse(text: &str) -> Self {
        let commands = commands(text);
        let is_converter = |words: &&Vec<String>| program_of(words).is_some();
        let others = commands.iter().filter(is_converter).count().saturating_sub(1);
        let (program, words) = match commands.iter().find(is_converter) {
            Some(words) => {
                let at = program_of(words).unwrap_or(0);
                (Some(words[at].clone()), words[at + 1..].to_vec())
            }
            None => (None, commands.concat()),
        };
        Self { program, given: options(words), others }
    }

    /// Whether a text has a command with options, and isn't merely a file of options.
    pub(super) fn is_command(text: &str) -> bool {
        let read = Self::parse(text);
        read.program.is_some() && !read.given.is_empty()
    }

    /// The value of an option; the last one where it is given several times.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.given.iter().rev().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The same, unless the value depends on a variable of the script.
    pub(super) fn known(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.contains('$'))
    }

    /// The names of options that are given several times with different values.
    pub(super) fn contradicted(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, value) in &self.given {
            let differs = self.given.iter().any(|(other, given)| other == name && given != value);
            if differs && !names.contains(&&**name) {
                names.push(name);
            }
        }
        names
    }

    /// How many commands follow the one that was read.
    pub fn others(&self) -> usize {
        self.others
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The same command with an option set, where it stands or else at the end.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut changed = self.clone();
        match changed.given.iter().position(|(known, _)| known == name) {
            Some(place) => {
                value.clone_into(&mut changed.given[place].1);
                let mut seen = false;
                changed.given.retain(|(known, _)| known != name || !std::mem::replace(&mut seen, true));
            }
            None => changed.given.push((name.to_owned(), value.to_owned())),
        }
        changed
    }

    /// The command as one types it, an option a line.
    pub fn to_command(&self) -> String {
        let mut text = self.program.clone().unwrap_or_else(|| "atc".to_owned());
        for (name, value) in &self.given {
            let _ = match value.is_empty() {
                true => write!(text, " \\\n    --{name}"),
                false => write!(text, " \\\n    --{name}={}", quoted(value)),
            };
        }
        text
    }
}

/// A word of a shell's command. Variables stay variables.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/,:=+@%".contains(letter);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else if text.contains('$') {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The place of the converter among a command's words, behind what sets the environment of it.
fn program_of(words: &[String]) -> Option<usize> {
    const BEFORE: [&str; 6] = ["sudo", "time", "nohup", "exec", "env", "command"];
    let is_before = |word: &&String| {
        let is_setting = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        });
        is_setting || BEFORE.contains(&word.as_str())
    };
    let at = words.iter().take_while(is_before).count();
    let name = words.get(at)?.rsplit(['/', '\\']).next()?;
    ["atc", "atc.bin", "atc.exe", "atc.sh"].contains(&name).then_some(at)
}

/// Options of the forms `--name=value`, `--name value` and, in files of options, `name = value`.
fn options(words: Vec<String>) -> Vec<(String, String)> {
    let mut given = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let bare = word.trim_start_matches('-');
        let is_option = bare.len() < word.len();
        if let Some((name, value)) = bare.split_once('=').filter(|(name, _)| !name.is_empty()) {
            given.push((name.to_owned(), value.to_owned()));
            continue;
        }
        let assigns = words.next_if(|next| next == "=").is_some();
        if is_option || assigns {
            let value = words.next_if(|next| !next.starts_with("--") && next != "=");
            given.push((bare.to_owned(), value.unwrap_or_default()));
        }
    }
    given
}

/// The words of all commands of a script, without quotes and remarks. Commands end with their line,
/// with `&&`, `||`, `|`, `&`, and with a semicolon that stands at the end of a word; one within a word is
/// part of it, as in `--input_shape=a:1;b:2` without quotes.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
            command.push(word);
        }
    };
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let ends_command = match letter {
            '\n' | '|' => true,
            '&' => word.is_none(),
            ';' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends_command {
            end_word(&mut word, &mut commands);
            commands.push(Vec::new());
            continue;
        }
        match letter {
            '\\' => match letters.next() {
                // The line goes on.
                Some('\n') | None => {}
                Some('\r') if letters.next_if_eq(&'\n').is_some() => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(quoted) = letters.next().filter(|quoted| *quoted != letter) {
                    match quoted {
                        '\\' if letter == '"' => word.extend(letters.next()),
                        quoted => word.push(quoted),
                    }
                }
            }
            '#' if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            letter if letter.is_whitespace() => end_word(&mut word, &mut commands),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end_word(&mut word, &mut commands);
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<'o>(options: &'o ConverterOptions, names: &[&str]) -> Vec<Option<&'o str>> {
        names.iter().map(|name| options.get(name)).collect()
    }

    #[test]
    fn a_script_is_read_as_the_shell_would() {
        let text = "#!/bin/bash\n# atc --model=old.pb\ncd /models && \\\nLD_X=1 /opt/bin/atc --model='my net.onnx' --framework 5 \\\r\n  \
            --input_shape=\"a:1,3;b:2\" --log=error # no words\necho done; atc --model=second.onnx";
        let options = ConverterOptions::parse(text);
        assert_eq!(
            get(&options, &["model", "framework", "input_shape", "log", "none"]),
            [Some("my net.onnx"), Some("5"), Some("a:1,3;b:2"), Some("error"), None]
        );
        assert_eq!(options.others(), 1);
    }

    #[test]
    fn options_come_in_three_forms() {
        let options = ConverterOptions::parse("compile_mode = 6\n--n_loop_enable 1\nsoc_version=SS928V100\n");
        assert_eq!(
            get(&options, &["compile_mode", "n_loop_enable", "soc_version"]),
            [Some("6"), Some("1"), Some("SS928V100")]
        );
        let inline = ConverterOptions::parse("atc --fusion_switch_file=ReluMerge:off;AbsMerge:on --mode 0");
        assert_eq!(
            get(&inline, &["fusion_switch_file", "mode"]),
            [Some("ReluMerge:off;AbsMerge:on"), Some("0")]
        );
    }

    #[test]
    fn the_command_comes_back_with_an_option_set_and_says_the_same() {
        let text = "./atc --model=$DIR/m.onnx --input_shape='a:1;b:2' --fusion_switch_file=x --verbose --fusion_switch_file=y";
        let options = ConverterOptions::parse(text);
        assert_eq!(options.contradicted(), ["fusion_switch_file"]);
        let changed = options.with("fusion_switch_file", "new file.cfg");
        let command = changed.to_command();
        assert!(command.starts_with("./atc \\\n    --model=\"$DIR/m.onnx\""), "{command}");
        assert_eq!(ConverterOptions::parse(&command), changed);
        assert_eq!(command.matches("fusion_switch_file").count(), 1);
        let added = ConverterOptions::parse("atc --mode=0").with("fusion_switch_file", "f.cfg").to_command();
        assert!(added.ends_with("--fusion_switch_file=f.cfg"), "{added}");
    }
}
