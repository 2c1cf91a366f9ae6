//! The report: page, answers and columns in one HTML file that asks nobody for anything.
//!
//! Everything in it is text that strangers chose. So whatever could end an element is written in another way, and
//! the policy lets run the page's own script and nothing else.

use std::io::{self, Write};

use base64ct::{Base64, Encoding};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A page's script and styles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub script: &'static str,
    pub styles: &'static str,
    /// The commands that answer without a page.
    pub commands: &'static str,
}

/// The page of one profile.
pub(crate) const OF_PROFILE: Code = Code {
    script: include_str!(concat!(env!("OUT_DIR"), "/page.js")),
    styles: include_str!(concat!(env!("OUT_DIR"), "/page.css")),
    commands: "opscope analyze PROFILE, opscope advise PROFILE",
};

/// The page of a run on many ranks.
pub(crate) const OF_RANKS: Code = Code {
    script: include_str!(concat!(env!("OUT_DIR"), "/ranks.js")),
    styles: include_str!(concat!(env!("OUT_DIR"), "/ranks.css")),
    commands: "opscope cluster PATH",
};

/// The page that a report is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// That of one profile.
    #[default]
    Profile,
    /// That of a run on many ranks.
    Ranks,
}

impl Kind {
    fn code(self) -> Code {
        match self {
            Self::Profile => OF_PROFILE,
            Self::Ranks => OF_RANKS,
        }
    }
}

/// A part of the text that browsers without scripts show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Its text, as it would stand on a terminal.
    pub text: String,
}

/// A report that can be written.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    /// The page that it is.
    pub kind: Kind,
    /// The title of the window.
    pub title: &'r str,
    /// The language of the text, such as `en`.
    pub language: &'r str,
    /// The text for browsers without scripts.
    pub text: &'r [Section],
    /// The answers.
    pub answers: &'r Value,
    /// A container of columns ([`crate::columns`]).
    pub columns: &'r [u8],
    /// The columns of the profile that it is compared with.
    pub columns_before: Option<&'r [u8]>,
}

impl Report<'_> {
    /// Writes it as HTML.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let (title, language) = (escaped(self.title), escaped(self.language));
        let Code { script, styles, .. } = self.kind.code();
        let policy = policy(script, styles);
        write!(
            out,
            "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"generator\" content=\"opscope {}\">\n\
             <title>{title} · opscope</title>\n<style>{styles}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
             <main id=\"fallback\">\n<h1>{title}</h1>\n",
            env!("CARGO_PKG_VERSION"),
        )?;
        for section in self.text {
            let (heading, text) = (escaped(&section.heading), escaped(&section.text));
            write!(out, "<h2>{heading}</h2>\n<pre>{text}</pre>\n")?;
        }
        out.write_all(b"</main>\n<script type=\"application/json\" id=\"report\">")?;
        out.write_all(in_script(&self.answers.to_string()).as_bytes())?;
        out.write_all(b"</script>\n<script type=\"text/plain\" id=\"columns\">")?;
        write_base64(&deflated(self.columns)?, &mut out)?;
        if let Some(columns) = self.columns_before {
            out.write_all(b"</script>\n<script type=\"text/plain\" id=\"columns-before\">")?;
            write_base64(&deflated(columns)?, &mut out)?;
        }
        write!(out, "</script>\n<script>{script}</script>\n</body>\n</html>\n")?;
        out.flush()
    }
}

/// The first digits of the hash of some bytes, by which links know a profile again.
pub fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// The policy of a page with one script and one style.
fn policy(script: &str, styles: &str) -> String {
    let hash = |text: &str| Base64::encode_string(&Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(script),
        hash(styles)
    )
}

/// Text in HTML. Letters that would change how others are read are spelled out, and so are those that HTML has
/// no form for.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            '\n' | '\t' => shown.push(letter),
            _ if letter.is_control() || is_directional(letter) => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
    shown
}

/// Whether a letter turns the direction of writing, or is a line end that few know.
fn is_directional(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// JSON that can't end the element around it.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn deflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn write_base64(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    /// A multiple of three, so that only the last part is padded.
    const PART: usize = 3 << 14;
    let mut text = vec![0; PART / 3 * 4];
    for part in bytes.chunks(PART) {
        let encoded = Base64::encode(part, &mut text).map_err(|error| io::Error::other(error.to_string()))?;
        out.write_all(encoded.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::DeflateDecoder;
    use serde_json::json;

    use super::*;

    const HOSTILE: &str =
        "</script><img src=x onerror=alert(1)> <!--<script> \u{202e}gpj \u{2028}\u{0}\r\n\"' &amp; ]]>";

    const KINDS: [Kind; 2] = [Kind::Profile, Kind::Ranks];

    fn html_of(kind: Kind, title: &str, text: &str, answers: &Value, columns: &[u8]) -> String {
        let text = [Section { heading: title.to_owned(), text: text.to_owned() }];
        let mut html = Vec::new();
        let columns_before = Some(columns);
        Report { kind, title, language: "en", text: &text, answers, columns, columns_before }
            .write(&mut html)
            .unwrap();
        String::from_utf8(html).unwrap()
    }

    /// The content of the element that begins with `tag`.
    fn element<'h>(html: &'h str, tag: &str, end: &str) -> &'h str {
        let begin = html.find(tag).unwrap() + tag.len();
        &html[begin..begin + html[begin..].find(end).unwrap()]
    }

    #[test]
    fn hostile_text_ends_no_element_and_comes_back_as_it_was() {
        let answers = json!({ HOSTILE: [HOSTILE, "x".repeat(1 << 20)] });
        KINDS.into_iter().for_each(|kind| assert_harmless(kind, &answers));
    }

    fn assert_harmless(kind: Kind, answers: &Value) {
        let html = html_of(kind, HOSTILE, HOSTILE, answers, b"columns");
        // The page's own script aside, the file has the elements of any report.
        let own = html.replace(kind.code().script, "").replace(kind.code().styles, "");
        for (tag, times) in
            [("<script", 4), ("</script", 4), ("<img", 0), ("<!--", 0), ("<pre>", 1), ("</main>", 1)]
        {
            assert_eq!(own.matches(tag).count(), times, "{tag}");
        }
        assert!(!own.contains(['\u{2028}', '\0', '\r']));
        let text = element(&html, "<main", "</main>");
        assert!(!text.contains('\u{202e}') && text.contains("\\u{202e}gpj"), "{text}");
        let json = element(&html, "<script type=\"application/json\" id=\"report\">", "</script>");
        assert_eq!(serde_json::from_str::<Value>(json).unwrap(), *answers);
    }

    #[test]
    fn columns_come_back_as_they_were_whatever_their_length() {
        let mut random = fastrand::Rng::with_seed(3);
        for length in [0, 1, 2, 3, 49_151, 49_152, 200_003] {
            let columns: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            let html = html_of(Kind::Profile, "t", "", &json!({}), &columns);
            let text = element(&html, "<script type=\"text/plain\" id=\"columns\">", "</script>");
            let packed = Base64::decode_vec(text).unwrap();
            let mut unpacked = Vec::new();
            DeflateDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == columns, "{length}");
        }
    }

    #[test]
    fn the_policy_names_the_hashes_of_what_stands_in_the_file() {
        for kind in KINDS {
            assert_policy(&html_of(kind, "t", "", &json!({}), b""));
        }
    }

    fn assert_policy(html: &str) {
        let policy = element(html, "Content-Security-Policy\" content=\"", "\"");
        let hash = |text: &str| Base64::encode_string(&Sha256::digest(text));
        let begin = html.rfind("<script>").unwrap() + "<script>".len();
        let script = &html[begin..html.rfind("</script>").unwrap()];
        let styles = element(html, "<style>", "</style>");
        assert!(policy.contains(&format!("script-src 'sha256-{}'", hash(script))));
        assert!(policy.contains(&format!("style-src 'sha256-{}'", hash(styles))));
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
    }
}
