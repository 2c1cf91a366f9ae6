//! A script made shorter: without blanks, comments and marks that nothing depends on, and with short names of its own
//! variables.
//!
//! Half of a script is names that nobody but its author needs. Names of properties and of the browser's own things
//! stay; each other name becomes a shorter one throughout the script or, where only one statement of the script knows
//! it, throughout that, and no two become the same there, so that which name means which variable stays as it was. No
//! grammar is needed for that, only the tokens and their brackets, because the modules keep to a small part of the
//! language: statements end in semicolons, and no name is both a variable and the browser's ([`SHARED`]).
//!
//! The linker asks which names a module declares outermost ([`outermost`]), and gives them others where modules
//! lie side by side in one scope ([`with_names`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

/// The names that a module declares outside of functions and blocks.
pub fn outermost(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let brackets = Brackets::of(&tokens);
    let bound = brackets.bound(&tokens, &brackets.roles(&tokens));
    bound.outermost.into_iter().map(str::to_owned).collect()
}

/// A text in which variables have other names. The new ones must be nowhere in it.
pub fn with_names(text: &str, names: &BTreeMap<String, String>) -> String {
    let tokens = tokens(text);
    let roles = Brackets::of(&tokens).roles(&tokens);
    let (mut renamed, mut done) = (String::with_capacity(text.len() * 2), 0);
    for (token, role) in tokens.iter().zip(roles) {
        let Some(name) = names.get(token.text).filter(|_| role != Role::Other) else { continue };
        let begin = token.text.as_ptr() as usize - text.as_ptr() as usize;
        renamed.push_str(&text[done..begin]);
        if role == Role::Shorthand {
            renamed.push_str(token.text);
            renamed.push_str(": ");
        }
        renamed.push_str(name);
        done = begin + token.text.len();
    }
    renamed + &text[done..]
}

/// A script's text, shorter.
pub fn shorten(text: &str) -> String {
    let tokens = tokens(text);
    let brackets = Brackets::of(&tokens);
    let roles = brackets.roles(&tokens);
    let statements = statements(&tokens, &brackets);
    let names = short_names(&tokens, &roles, &statements, &brackets.bound(&tokens, &roles));
    let parts = needless(&tokens, &brackets);
    let mut shorter = String::with_capacity(text.len());
    for (at, token) in tokens.iter().enumerate() {
        let name = names[statements[at]].get(token.text).filter(|_| roles[at] != Role::Other);
        match parts[at] {
            Part::Needless => continue,
            Part::Comma => {
                shorter.push(',');
                continue;
            }
            Part::Needed => {}
        }
        if at > 0 && needs_break(&tokens[at - 1], token) {
            shorter.push('\n');
        } else if shorter.chars().next_back().is_some_and(|last| needs_blank(last, token.text)) {
            shorter.push(' ');
        }
        match (name, roles[at]) {
            (Some(name), Role::Shorthand) => {
                shorter.push_str(token.text);
                shorter.push(':');
                shorter.push_str(name);
            }
            (Some(name), _) => shorter.push_str(name),
            (None, Role::Other) => shorter.push_str(in_short(token, &tokens[..at], tokens.get(at + 1))),
            (None, _) => shorter.push_str(token.text),
        }
    }
    shorter.push('\n');
    shorter
}

/// Names that browsers give things of their own, and modules their variables: nobody may take one for the other.
const SHARED: &str = "alert blur caches close closed confirm crypto document event external fetch find focus \
    frames history length location locationbar menubar moveBy name navigator open opener origin parent \
    performance personalbar print prompt screen screenX screenY scroll scrollbars self status statusbar stop \
    toolbar top window arguments undefined";

const KEYWORDS: &str = "async await break case catch class const continue debugger default delete do else \
    export extends false finally for function get if import in instanceof let new null of return set static \
    super switch this throw true try typeof var void while with yield";

/// The words behind which a `/` begins a pattern, and a `{` an object.
const BEFORE_VALUES: &str =
    "await case const default delete in instanceof let new of return throw typeof var void yield";

fn is_one_of(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    /// A text, a pattern, or the part of a template before or behind a value.
    Text,
    Mark,
}

#[derive(Debug)]
struct Token<'t> {
    kind: Kind,
    text: &'t str,
    /// Whether it begins a line.
    is_first: bool,
}

impl Token<'_> {
    fn is_name(&self) -> bool {
        self.kind == Kind::Word && !is_one_of(self.text, KEYWORDS)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '#'
}

/// Marks of several characters, longer ones first.
const MARKS: [&str; 30] = [
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "?.", "==", "!=",
    "<=", ">=", "&&", "||", "??", "++", "--", "+=", "-=", "*=", "/=", "%=", "**", "<<", ">>",
];

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    // How many braces are open within each template that is open.
    let mut templates: Vec<usize> = Vec::new();
    let (mut rest, mut is_first) = (text, true);
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            is_first |= c == '\n';
            rest = &rest[c.len_utf8()..];
            continue;
        }
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        if rest.starts_with("/*") {
            rest = &rest[rest.find("*/").map_or(rest.len(), |end| end + 2)..];
            continue;
        }
        let ends_value = c == '}' && templates.last() == Some(&0);
        let (kind, length) = if c.is_ascii_digit() {
            (Kind::Number, number(rest))
        } else if is_word(c) {
            (Kind::Word, rest.find(|c| !is_word(c)).unwrap_or(rest.len()))
        } else if c == '"' || c == '\'' {
            (Kind::Text, quoted(rest, c))
        } else if c == '`' || ends_value {
            let length = 1 + template(&rest[1..]);
            let goes_on = rest[..length].ends_with("${");
            match (ends_value, goes_on) {
                (false, true) => templates.push(0),
                (true, false) => {
                    templates.pop();
                }
                _ => {}
            }
            (Kind::Text, length)
        } else if c == '/' && tokens.last().is_none_or(begins_pattern_behind) {
            (Kind::Text, pattern(rest))
        } else {
            let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
            (Kind::Mark, mark.map_or(c.len_utf8(), |mark| mark.len()))
        };
        match (kind, &rest[..length], templates.last_mut()) {
            (Kind::Mark, "{", Some(open)) => *open += 1,
            (Kind::Mark, "}", Some(open)) => *open -= 1,
            _ => {}
        }
        tokens.push(Token { kind, text: &rest[..length], is_first });
        (rest, is_first) = (&rest[length..], false);
    }
    tokens
}

fn number(rest: &str) -> usize {
    let mut last = ' ';
    let is_part = |c: char| {
        let is_part = c.is_ascii_alphanumeric() || c == '_' || c == '.' || "+-".contains(c) && last == 'e';
        last = c;
        is_part
    };
    let hexadecimal = rest.strip_prefix("0x").map(|rest| rest.find(|c: char| !c.is_ascii_hexdigit()));
    match hexadecimal {
        Some(end) => end.map_or(rest.len(), |end| end + 2),
        None => rest.len() - rest.trim_start_matches(is_part).len(),
    }
}

/// The length of a text in quotation marks.
fn quoted(rest: &str, mark: char) -> usize {
    let mut is_escaped = false;
    let end = rest[1..].find(|c| {
        let ends = !is_escaped && c == mark;
        is_escaped = !is_escaped && c == '\\';
        ends
    });
    end.map_or(rest.len(), |end| end + 2)
}

/// The length of a template's part, up to its end or to a value.
fn template(rest: &str) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            here if here.starts_with('`') => return at + 1,
            here if here.starts_with("${") => return at + 2,
            here if here.starts_with('\\') => at += 1 + here[1..].chars().next().map_or(0, char::len_utf8),
            here => at += here.chars().next().map_or(1, char::len_utf8),
        }
    }
    at
}

/// The length of a pattern with its flags.
fn pattern(rest: &str) -> usize {
    let (mut is_escaped, mut in_class) = (false, false);
    let end = rest[1..].find(|c| {
        let ends = !is_escaped && !in_class && c == '/';
        in_class = !is_escaped && (c == '[' || in_class && c != ']') || is_escaped && in_class;
        is_escaped = !is_escaped && c == '\\';
        ends
    });
    let end = end.map_or(rest.len(), |end| end + 2);
    end + rest[end..].find(|c| !is_word(c)).unwrap_or(rest.len() - end)
}

fn begins_pattern_behind(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Mark => !matches!(token.text, ")" | "]" | "}" | "++" | "--"),
        Kind::Word => is_one_of(token.text, BEFORE_VALUES),
        Kind::Text => token.text.ends_with("${"),
        Kind::Number => false,
    }
}

/// A bracket by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    /// Of statements, or around all.
    Block,
    /// Of an object, or of a pattern that takes one apart.
    Object,
    /// Of a class's members.
    Class,
    /// Round or square, or a template's value.
    Other,
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Variable,
    /// The name of a member and of a variable at once, as `a` of `{ a }`.
    Shorthand,
    /// No variable.
    Other,
}

/// Names that a script declares.
#[derive(Default)]
struct Bound<'t> {
    all: BTreeSet<&'t str>,
    /// The names that it declares outside of functions and blocks.
    outermost: BTreeSet<&'t str>,
}

struct Brackets {
    /// By token, the bracket around it, and where that opens.
    around: Vec<(Bracket, Option<usize>)>,
    /// By token that opens a bracket, the one that closes it.
    closes: BTreeMap<usize, usize>,
}

impl Brackets {
    fn of(tokens: &[Token<'_>]) -> Self {
        let mut open: Vec<(Bracket, Option<usize>)> = vec![(Bracket::Block, None)];
        let mut found = Self { around: Vec::with_capacity(tokens.len()), closes: BTreeMap::new() };
        // The depths at which a `case` waits for its colon.
        let mut cases: Vec<usize> = Vec::new();
        let mut ends_case = false;
        for (at, token) in tokens.iter().enumerate() {
            let closes = matches!(token.text, ")" | "]" | "}") && token.kind == Kind::Mark
                || token.kind == Kind::Text && token.text.starts_with('}');
            if closes
                && open.len() > 1
                && let Some((_, Some(opened))) = open.pop()
            {
                found.closes.insert(opened, at);
            }
            found.around.push(open[open.len() - 1]);
            let bracket = match token.text {
                "(" | "[" if token.kind == Kind::Mark => Some(Bracket::Other),
                "{" if token.kind == Kind::Mark => Some(brace(&tokens[..at], ends_case)),
                text if token.kind == Kind::Text && text.ends_with("${") => Some(Bracket::Other),
                _ => None,
            };
            if bracket.is_none() {
                ends_case = token.text == ":" && cases.last() == Some(&open.len());
                if ends_case {
                    cases.pop();
                }
            }
            let is_member = at > 0 && matches!(tokens[at - 1].text, "." | "?.");
            if token.kind == Kind::Word && matches!(token.text, "case" | "default") && !is_member {
                cases.push(open.len());
            }
            open.extend(bracket.map(|bracket| (bracket, Some(at))));
        }
        found
    }

    fn roles(&self, tokens: &[Token<'_>]) -> Vec<Role> {
        (0..tokens.len()).map(|at| self.role(tokens, at)).collect()
    }

    fn role(&self, tokens: &[Token<'_>], at: usize) -> Role {
        if !tokens[at].is_name() {
            return Role::Other;
        }
        let before = at.checked_sub(1).map_or("", |before| tokens[before].text);
        let behind = tokens.get(at + 1).map_or("", |behind| behind.text);
        if matches!(before, "." | "?.") {
            return Role::Other;
        }
        match self.around[at].0 {
            Bracket::Object if begins_member(&tokens[..at]) => match behind {
                ":" | "(" => Role::Other,
                _ => Role::Shorthand,
            },
            Bracket::Class if begins_member(&tokens[..at]) => Role::Other,
            _ => Role::Variable,
        }
    }

    /// The names that the script declares.
    fn bound<'t>(&self, tokens: &[Token<'t>], roles: &[Role]) -> Bound<'t> {
        let mut all = Bound::default();
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            let mut bound = BTreeSet::new();
            match token.text {
                "const" | "let" | "var" if token.kind == Kind::Word => {
                    let end = self.around[at].1.and_then(|opened| self.closes.get(&opened));
                    let list = at + 1..end.copied().unwrap_or(tokens.len());
                    self.targets(tokens, roles, list, &mut bound);
                }
                "function" | "class" if token.kind == Kind::Word => {
                    let name = tokens[at + 1..].iter().take(2).find(|token| token.text != "*");
                    bound.extend(name.filter(|name| name.is_name()).map(|name| name.text));
                }
                "(" if token.kind == Kind::Mark && self.is_list_of_parameters(tokens, at) => {
                    let end = self.closes.get(&at).copied().unwrap_or(at);
                    self.targets(tokens, roles, at + 1..end, &mut bound);
                }
                _ if token.is_name() && next.is_some_and(|next| next.text == "=>") => {
                    bound.insert(token.text);
                }
                _ => {}
            }
            // Parameters aren't the script's, wherever their function is.
            if token.kind == Kind::Word && self.around[at].1.is_none() && !token.is_name() {
                all.outermost.extend(&bound);
            }
            all.all.extend(bound);
        }
        all
    }

    fn is_list_of_parameters(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let behind = self.closes.get(&at).and_then(|end| tokens.get(end + 1)).map_or("", |token| token.text);
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let is_function = before.is_some_and(|before| {
            before.kind == Kind::Word && !is_one_of(before.text, "if while for switch with")
        });
        behind == "=>" || behind == "{" && is_function
    }

    /// The names that a list of targets declares: variables and what patterns take apart, but not the values that
    /// they are given. A list without brackets of its own ends before the given token if it doesn't end itself.
    fn targets<'t>(
        &self,
        tokens: &[Token<'t>],
        roles: &[Role],
        list: Range<usize>,
        bound: &mut BTreeSet<&'t str>,
    ) {
        let (mut at, mut is_target) = (list.start, true);
        while at < list.end {
            let token = &tokens[at];
            if token.text == ";" || token.kind == Kind::Word && matches!(token.text, "of" | "in") {
                return;
            }
            match (token.text, self.closes.get(&at)) {
                (",", _) => is_target = true,
                ("=", _) => is_target = false,
                ("{" | "[", Some(&end)) if token.kind == Kind::Mark => {
                    if is_target {
                        self.targets(tokens, roles, at + 1..end, bound);
                    }
                    at = end;
                }
                (_, Some(&end)) => at = end,
                (name, None) if is_target && roles[at] != Role::Other && token.kind == Kind::Word => {
                    bound.insert(name);
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// Whether a member of an object or a class begins behind some tokens.
fn begins_member(before: &[Token<'_>]) -> bool {
    let is_prefix = |token: &&Token<'_>| matches!(token.text, "get" | "set" | "async" | "static" | "*");
    let last = before.iter().rev().find(|token| !is_prefix(token));
    last.is_some_and(|last| last.kind == Kind::Mark && matches!(last.text, "{" | "," | ";" | "}"))
}

/// The meaning of a brace behind some tokens.
fn brace(before: &[Token<'_>], ends_case: bool) -> Bracket {
    let Some(last) = before.last() else { return Bracket::Block };
    match (last.kind, last.text) {
        (Kind::Mark, ")" | "=>" | ";" | "{" | "}") => Bracket::Block,
        (Kind::Mark, ":") if ends_case => Bracket::Block,
        (Kind::Word, _) if before.iter().rev().take(4).any(|token| token.text == "class") => Bracket::Class,
        (Kind::Word, word) if !is_one_of(word, BEFORE_VALUES) => Bracket::Block,
        _ => Bracket::Object,
    }
}

/// The number of the statement of the script that each token belongs to.
fn statements(tokens: &[Token<'_>], brackets: &Brackets) -> Vec<usize> {
    const BEGINS: &str = "async class const for function if let return switch try var void";
    let mut number = 0;
    let next = |(at, token): (usize, &Token<'_>)| {
        let is_outermost = brackets.around[at].1.is_none();
        number += usize::from(is_outermost && token.is_first && is_one_of(token.text, BEGINS));
        number
    };
    tokens.iter().enumerate().map(next).collect()
}

/// The most statements in which a name is each one's own. What stands in more is the same everywhere, because text that
/// repeats is packed better.
const FEW: usize = 12;

/// The short names of variables, by statement.
///
/// A name that the script declares outermost, or that many statements have, is the same in all of them. Any other
/// is a statement's own, and may become what another statement's own name becomes, or what the script's name
/// does that this statement doesn't know.
fn short_names<'t>(
    tokens: &[Token<'t>],
    roles: &[Role],
    statements: &[usize],
    bound: &Bound<'t>,
) -> Vec<BTreeMap<&'t str, String>> {
    let count = statements.last().map_or(0, |last| last + 1);
    let mut own: Vec<BTreeMap<&str, usize>> = vec![BTreeMap::new(); count];
    let mut kept: Vec<HashSet<&str>> = vec![HashSet::new(); count];
    let variables = || (0..tokens.len()).filter(|&at| roles[at] != Role::Other);
    for (at, name) in variables().map(|at| (at, tokens[at].text)) {
        match bound.all.contains(name) && !is_one_of(name, SHARED) {
            true => *own[statements[at]].entry(name).or_default() += 1,
            false => {
                kept[statements[at]].insert(name);
            }
        }
    }
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (name, times) in own.iter().flatten() {
        let (statements, all) = places.entry(name).or_default();
        (*statements, *all) = (*statements + 1, *all + times);
    }
    let is_shared = |name: &str| bound.outermost.contains(name) || places[name].0 > FEW;
    let shared = places.iter().filter(|(name, _)| is_shared(name)).map(|(name, (_, times))| (*name, *times));
    let taken: HashSet<&str> = kept.iter().flatten().copied().collect();
    let shared = named(shared.collect(), |name| taken.contains(name));
    let names = own.iter().zip(&kept).map(|(own, kept)| {
        let known: BTreeMap<&str, String> =
            own.keys().filter_map(|name| Some((*name, shared.get(name)?.clone()))).collect();
        let others = own.iter().filter(|(name, _)| !shared.contains_key(*name));
        let is_taken = |name: &str| kept.contains(name) || known.values().any(|known| known == name);
        let mut names = named(others.map(|(name, times)| (*name, *times)).collect(), is_taken);
        names.extend(known);
        names
    });
    names.collect()
}

/// Names with the shortest ones that aren't taken, for those of most places first.
fn named(mut names: Vec<(&str, usize)>, is_taken: impl Fn(&str) -> bool) -> BTreeMap<&str, String> {
    names.sort_by_key(|(name, times)| (std::cmp::Reverse(*times), *name));
    let free = (0..).map(short_name).filter(|name| !is_taken(name) && !is_one_of(name, KEYWORDS));
    names.into_iter().map(|(name, _)| name).zip(free).collect()
}

/// The short name of a number: a … z, A … Z, aa, ab …
fn short_name(mut number: usize) -> String {
    const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = String::new();
    loop {
        name.push(char::from(LETTERS[number % LETTERS.len()]));
        match number / LETTERS.len() {
            0 => return name,
            more => number = more - 1,
        }
    }
}

/// The use of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Needed,
    Needless,
    /// It and the word behind it only begin another declaration.
    Comma,
}

/// The use of each token: semicolons and commas that end a list aren't needed, and declarations behind one another need
/// one `const` or `let`.
fn needless(tokens: &[Token<'_>], brackets: &Brackets) -> Vec<Part> {
    let opens: BTreeMap<usize, usize> = brackets.closes.iter().map(|(open, close)| (*close, *open)).collect();
    // The empty statement of a loop, and the empty place of an array, are meant.
    let is_meant = |at: usize| {
        let Some(before) = at.checked_sub(1) else { return true };
        let head =
            opens.get(&before).and_then(|open| open.checked_sub(1)).map_or("", |head| tokens[head].text);
        let is_head = tokens[before].text == ")" && is_one_of(head, "if while for");
        is_head || matches!(tokens[before].text, "[" | "," | ";" | "{" | "else")
    };
    let mut parts = vec![Part::Needed; tokens.len()];
    // By the bracket around it, the word that the statement which is open there begins with.
    let mut begun: BTreeMap<Option<usize>, &str> = BTreeMap::new();
    let mut begins = true;
    for (at, token) in tokens.iter().enumerate() {
        let (bracket, opened) = brackets.around[at];
        if std::mem::take(&mut begins) && token.text != "}" {
            begun.insert(opened, token.text);
        }
        if token.kind != Kind::Mark {
            continue;
        }
        let word = begun.get(&opened).copied().filter(|word| is_one_of(word, "const let"));
        let next = tokens.get(at + 1).map_or("", |next| next.text);
        let ends = matches!(next, "}" | "]" | ")") && !is_meant(at);
        match token.text {
            ";" if bracket == Bracket::Block && word == Some(next) => {
                (parts[at], parts[at + 1]) = (Part::Comma, Part::Needless);
            }
            ";" if bracket == Bracket::Block => {
                begins = true;
                if ends {
                    parts[at] = Part::Needless;
                }
            }
            "," if ends => parts[at] = Part::Needless,
            "{" => begins = true,
            // A declaration ends with its semicolon.
            "}" => begins = word.is_none(),
            _ => {}
        }
    }
    parts
}

/// A word or number as short as it can be written.
fn in_short<'t>(token: &Token<'t>, before: &[Token<'_>], next: Option<&Token<'_>>) -> &'t str {
    let is_member = before.last().is_some_and(|last| matches!(last.text, "." | "?."));
    let is_key = next.is_some_and(|next| matches!(next.text, ":" | "(")) && begins_member(before);
    match token.text {
        "true" if token.kind == Kind::Word && !is_member && !is_key => "!0",
        "false" if token.kind == Kind::Word && !is_member && !is_key => "!1",
        number if token.kind == Kind::Number && number.starts_with("0.") && number.len() > 2 => &number[1..],
        text => text,
    }
}

/// Whether two tokens on two lines would be one statement on one.
fn needs_break(before: &Token<'_>, token: &Token<'_>) -> bool {
    let may_end = before.kind != Kind::Mark || matches!(before.text, ")" | "]" | "}" | "++" | "--");
    let may_begin =
        token.kind != Kind::Mark || matches!(token.text, "(" | "[" | "{" | "++" | "--" | "+" | "-" | "!");
    token.is_first && may_end && may_begin && !(token.kind == Kind::Text && token.text.starts_with('}'))
}

fn needs_blank(last: char, next: &str) -> bool {
    let first = next.chars().next().unwrap_or(' ');
    is_word(last) && is_word(first)
        || last == first && "+-/".contains(first)
        || last == '/' && first == '*'
        || last == '<' && "/!".contains(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(text: &str, expected: &str) {
        assert_eq!(shorten(text), format!("{expected}\n"));
    }

    #[test]
    fn variables_get_short_names_and_members_keep_theirs() {
        becomes("const value = other.value + { value: 1 }.value;", "const a=other.value+{value:1}.value;");
        becomes("function sum(first, second) { return first + second; }", "function a(b,c){return b+c}");
        becomes("const { start, end: last = start, ...rest } = it;", "const{start:a,end:b=a,...c}=it;");
        becomes("let one = 1, two = call(one);\none + two;", "let a=1,b=call(a);a+b;");
        becomes(
            "const f = ({ name, wide = deep(1) }) => ({ name, wide, f });",
            "const a=({name,wide:b=deep(1)})=>({name,wide:b,f:a});",
        );
        becomes(
            "for (const [key, item] of list) log(key ? item : key);",
            "for(const[a,b]of list)log(a?b:a);",
        );
        becomes(
            "const o = { size(width) { return width; }, async go() {} };",
            "const a={size(b){return b},async go(){}};",
        );
        becomes(
            "class Off extends Error { constructor(text) { super(text); this.text = text; } }",
            "class a extends Error{constructor(b){super(b);this.text=b}}",
        );
        becomes("const o = { a: async x => x, b: c * d, d };", "const a={a:async b=>b,b:c*d,d};");
        becomes(
            "function go() { const at = Math.max(1); return () => at; }",
            "function a(){const b=Math.max(1);return()=>b}",
        );
        becomes("try { f(); } catch (problem) { g(problem); }", "try{f()}catch(a){g(a)}");
    }

    #[test]
    fn names_of_the_browser_and_names_that_only_look_free_stay() {
        becomes("const a1 = a; const long = document.title;", "const b=a,c=document.title;");
        becomes("const x = (top) => top + name;", "const a=(top)=>top+name;");
        becomes("const c = d => d; return { c };", "const a=b=>b;return{c:a};");
    }

    #[test]
    fn what_a_module_declares_outermost_gets_the_name_that_is_asked_for_and_its_members_keep_theirs() {
        let text = "const at = 1; // at\nfunction f({ at: x, it = at }) { const own = { at, f: x.f, s: `${at}at` }; }\n";
        assert_eq!(outermost(text).into_iter().collect::<Vec<_>>(), ["at", "f"]);
        let names = ["at", "f"].map(|name| (name.to_owned(), format!("{name}$7")));
        let expected = "const at$7 = 1; // at\nfunction f$7({ at: x, it = at$7 }) { const own = { at: at$7, f: x.f, s: `${at$7}at` }; }\n";
        assert_eq!(with_names(text, &names.into()), expected);
    }

    #[test]
    fn values_within_templates_are_renamed_and_their_text_is_kept() {
        becomes(
            "const part = 1; f(`a ${part} b ${ { part } } // part`);",
            "const a=1;f(`a ${a} b ${{part:a}} // part`);",
        );
        becomes("const it = `x${f(`${1}`)}`;", "const a=`x${f(`${1}`)}`;");
    }

    #[test]
    fn patterns_texts_and_divisions_are_told_apart() {
        becomes("const half = whole / 2 / rate; // half", "const a=whole/2/rate;");
        becomes(
            "const is = /a \\/ [/'] b/gu.test(\"x  /* y\"); /* c */",
            "const a=/a \\/ [/'] b/gu.test(\"x  /* y\");",
        );
        becomes("return 1e-3 + +x - -y + 0xff;", "return 1e-3+ +x- -y+0xff;");
    }

    #[test]
    fn marks_that_end_a_list_go_and_those_that_mean_something_stay() {
        becomes("const f = () => { go({ a: 1, }, [2, ],); };", "const a=()=>{go({a:1},[2])};");
        becomes("const holes = [, 1, , ];", "const a=[,1,,];");
        becomes(
            "function f() { for (; next();); while (more()); if (is) ; }",
            "function a(){for(;next(););while(more());if(is);}",
        );
        becomes("class A { b = 1; c() { d(); } }", "class a{b=1;c(){d()}}");
    }

    #[test]
    fn declarations_behind_one_another_become_one() {
        becomes("const one = 1;\nconst two = { of: one };\nlet three = 3;", "const a=1,c={of:a};let b=3;");
        becomes(
            "const f = () => { go(); };\nconst g = f;\nlet h = 1;\nlet i = 2;",
            "const a=()=>{go()},b=a;let c=1,d=2;",
        );
        becomes(
            "if (is) { const one = 1; }\nconst two = 2;\ngo();\nconst three = 3;",
            "if(is){const a=1}\nconst b=2;go();const a=3;",
        );
        becomes("for (const it of list) go(it);\nconst one = 1;", "for(const a of list)go(a);const a=1;");
    }

    #[test]
    fn values_are_written_in_short_and_members_of_their_names_are_not() {
        becomes(
            "return { is: true, false: [0.5, 10.5, true] }.true ? false : .5;",
            "return{is:!0,false:[.5,10.5,!0]}.true?!1:.5;",
        );
    }

    #[test]
    fn cases_have_blocks_and_lines_that_end_without_a_semicolon_stay_lines() {
        becomes(
            "switch (kind) { case \"a\": { left(); break; } default: { right(); } }",
            "switch(kind){case\"a\":{left();break}default:{right()}}",
        );
        becomes("function f() {}\nfunction g() {}\nf();\ng();", "function a(){}\nfunction b(){}\na();b();");
        becomes("a(\n  1,\n)\n  .then(b)\n  .end();", "a(1).then(b).end();");
    }
}
