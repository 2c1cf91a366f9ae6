//! The macro `say!` of `opscope-say`: as `format!`, in the language that the user reads.
//!
//! ```text
//! say!("{time} in {}", tasks)
//!
//! match opscope_say::translation("{time} in {}") {
//!     None => format!("{time} in {}", tasks),
//!     Some(translation) => translation.with(&[format!("{}", time), format!("{}", (tasks))]),
//! }
//! ```
//!
//! A macro by example can't see the names within a literal, and names within it are how the program writes
//! its sentences; hence a crate of its own.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// As `format!`, in the language that the user reads: the literal is the id of the sentence. Widths and precisions
/// that are arguments (`{:>width$}`) aren't taken.
#[proc_macro]
pub fn say(input: TokenStream) -> TokenStream {
    expand(input)
        .unwrap_or_else(|complaint| format!("compile_error!({complaint:?})").parse().unwrap_or_default())
}

/// An argument behind the literal.
struct Argument {
    name: Option<String>,
    value: TokenStream,
}

fn expand(input: TokenStream) -> Result<TokenStream, String> {
    let mut tokens = input.into_iter();
    let Some(TokenTree::Literal(literal)) = tokens.next() else {
        return Err("say! begins with a literal".to_owned());
    };
    let rest: Vec<TokenTree> = tokens.collect();
    let arguments = arguments(&rest);
    let text = unescaped(&literal.to_string()).ok_or("say! takes a plain literal")?;
    let mut values = TokenStream::new();
    let mut anonymous = 0;
    for placeholder in placeholders(&text)? {
        let (name, spec) = placeholder.split_once(':').unwrap_or((&placeholder, ""));
        if spec.contains('$') {
            return Err(format!("say! takes no width from an argument, as in {{{placeholder}}}"));
        }
        let value = value_of(name, &mut anonymous, &arguments, literal.span())?;
        let spec = if spec.is_empty() { "{}".to_owned() } else { format!("{{:{spec}}}") };
        values.extend(path("::std::format!"));
        let mut inside = TokenStream::from(TokenTree::from(Literal::string(&spec)));
        inside
            .extend([TokenTree::from(Punct::new(',', Spacing::Alone)), group(Delimiter::Parenthesis, value)]);
        values.extend([group(Delimiter::Parenthesis, inside), Punct::new(',', Spacing::Alone).into()]);
    }
    let id = || TokenStream::from(TokenTree::from(literal.clone()));
    let mut english = id();
    english.extend(rest);
    let mut arms = path("::core::option::Option::None => ::std::format!");
    arms.extend([group(Delimiter::Parenthesis, english)]);
    arms.extend(path(", ::core::option::Option::Some(translation) => translation.with"));
    let mut list = path("&");
    list.extend([group(Delimiter::Bracket, values)]);
    arms.extend([group(Delimiter::Parenthesis, list)]);
    let mut whole = path("match ::opscope_say::translation");
    whole.extend([group(Delimiter::Parenthesis, id()), group(Delimiter::Brace, arms)]);
    Ok(TokenStream::from(group(Delimiter::Brace, whole)))
}

/// The value that a placeholder names: an argument by its name or number, the next one, or a variable.
fn value_of(
    name: &str,
    anonymous: &mut usize,
    arguments: &[Argument],
    span: Span,
) -> Result<TokenStream, String> {
    let number = match name {
        "" => {
            *anonymous += 1;
            Some(*anonymous - 1)
        }
        name => name.parse().ok(),
    };
    match number {
        Some(number) => {
            let argument = arguments.get(number).ok_or_else(|| format!("say! lacks argument {number}"))?;
            Ok(argument.value.clone())
        }
        None => {
            let named = arguments.iter().find(|argument| argument.name.as_deref() == Some(name));
            let variable = || TokenStream::from(TokenTree::from(Ident::new(name, span)));
            Ok(named.map_or_else(variable, |argument| argument.value.clone()))
        }
    }
}

/// The arguments, divided by commas; commas within brackets are parts of groups.
fn arguments(tokens: &[TokenTree]) -> Vec<Argument> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
    let parts = tokens.split(is_comma).filter(|part| !part.is_empty());
    parts
        .map(|part| match part {
            [TokenTree::Ident(name), TokenTree::Punct(mark), value @ ..]
                if mark.as_char() == '=' && mark.spacing() == Spacing::Alone && !value.is_empty() =>
            {
                Argument { name: Some(name.to_string()), value: value.iter().cloned().collect() }
            }
            value => Argument { name: None, value: value.iter().cloned().collect() },
        })
        .collect()
}

/// The insides of all `{…}` of a format string.
fn placeholders(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '{' && letters.next_if_eq(&'{').is_none() {
            let inside: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
            found.push(inside.trim().to_owned());
        }
    }
    if found.iter().any(|inside| inside.contains('{')) {
        return Err("say! found a brace within a placeholder".to_owned());
    }
    Ok(found)
}

/// The text of a literal as it stands in the source; `None` for other literals than plain ones of text.
fn unescaped(source: &str) -> Option<String> {
    let inside = source.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(inside.len());
    let mut letters = inside.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '0' => text.push('\0'),
            '\n' => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
            'u' => {
                let digits: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            'x' => {
                let digits: String = letters.by_ref().take(2).collect();
                text.push(char::from(u8::from_str_radix(&digits, 16).ok()?));
            }
            escaped => text.push(escaped),
        }
    }
    Some(text)
}

fn group(delimiter: Delimiter, inside: TokenStream) -> TokenTree {
    Group::new(delimiter, inside).into()
}

/// Fixed pieces of code, which parse always.
fn path(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}
