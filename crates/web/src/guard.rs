//! The door of the server: who may ask what, and what every answer forbids the browser to do with it.
//!
//! Any web site can have a visitor's browser ask a local port, and any user of the machine can ask it himself. So the
//! host must be our own by name (else a site could point its name at us), other sites' requests are turned away, and
//! whoever wants to know anything of a profile has the token of this run.

use std::hint::black_box;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::routes::Refusal;

/// The longest path with its question; heads as a whole end at [`MOST_HEAD`].
const MOST_URI: usize = 8 << 10;

/// Bytes of a request's head.
pub(crate) const MOST_HEAD: usize = 16 << 10;

/// The scripts, styles and requests that the page may have, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The secret of a run, and the port that it listens on.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub port: u16,
    pub token: String,
}

impl Door {
    /// A door with a token that nobody can guess.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)?;
        Ok(Self { port, token: secret.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// Whether a request may be answered.
    fn admit(&self, request: &Request) -> Result<(), Refusal> {
        let headers = request.headers();
        self.admit_host(request)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered"));
        }
        if request.uri().path_and_query().is_some_and(|asked| asked.as_str().len() > MOST_URI) {
            return Err(Refusal::new(StatusCode::URI_TOO_LONG, "the address is longer than 8 kB"));
        }
        let has_body = headers.contains_key(header::TRANSFER_ENCODING)
            || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
        if has_body {
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "requests have no body here"));
        }
        if !is_visit(request) {
            self.admit_site(headers)?;
        }
        if request.uri().path().starts_with("/api/") && !self.knows_token(headers) {
            let hint = "open the address that opscope serve printed when it began";
            let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "the token of this run is missing or wrong");
            return Err(refusal.with_hint(hint));
        }
        Ok(())
    }

    /// Whether it asks us by our own name.
    fn admit_host(&self, request: &Request) -> Result<(), Refusal> {
        let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
        let is_own = |host: &[u8]| self.names().iter().any(|name| name.as_bytes().eq_ignore_ascii_case(host));
        let authority = request.uri().authority().is_none_or(|host| is_own(host.as_str().as_bytes()));
        match hosts[..] {
            [host] if authority && is_own(host.as_bytes()) => Ok(()),
            _ => {
                let hint = format!(
                    "ask for http://127.0.0.1:{0}; through ssh, with the same port on both sides: ssh -L {0}:127.0.0.1:{0} HOST",
                    self.port
                );
                let refusal = Refusal::new(StatusCode::MISDIRECTED_REQUEST, "this server has another name");
                Err(refusal.with_hint(&hint))
            }
        }
    }

    /// Whether no other site has the browser ask.
    fn admit_site(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let is_own = |origin: &HeaderValue| {
            let host = origin.as_bytes().strip_prefix(b"http://");
            host.is_some_and(|host| self.names().iter().any(|name| name.as_bytes() == host))
        };
        let is_here = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        if headers.get_all(header::ORIGIN).iter().all(is_own)
            && headers.get_all("sec-fetch-site").iter().all(is_here)
        {
            return Ok(());
        }
        Err(Refusal::new(StatusCode::FORBIDDEN, "another site asks"))
    }

    fn names(&self) -> [String; 3] {
        ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{}", self.port))
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let given =
            headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        given.is_some_and(|given| is_same(given, self.token.as_bytes()))
    }
}

/// Whether somebody follows a link or a bookmark to the page, in a window of its own: the page holds nothing of a
/// profile, and the token that it needs is behind the `#` of the address that was printed.
fn is_visit(request: &Request) -> bool {
    let is =
        |name: &str, value: &[u8]| request.headers().get(name).is_some_and(|found| found.as_bytes() == value);
    request.uri().path() == "/"
        && !request.headers().contains_key(header::ORIGIN)
        && is("sec-fetch-mode", b"navigate")
        && is("sec-fetch-dest", b"document")
}

/// Compares in a time that tells nothing of where two secrets differ.
fn is_same(given: &[u8], secret: &[u8]) -> bool {
    let difference = given.iter().zip(secret).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    given.len() == secret.len() && difference == 0
}

/// Answers those who may ask, and turns the others away.
pub(crate) async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    let is_data = request.uri().path().starts_with("/api/");
    let mut response = match door.admit(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    forbid(response.headers_mut(), is_data);
    response
}

/// Tells the browser what it may not do.
pub(crate) fn forbid(headers: &mut HeaderMap, is_data: bool) {
    let mut put = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "no-referrer");
    put(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    if is_data {
        put(header::CACHE_CONTROL, "no-store");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let tokens: Vec<String> = (0..8).map(|_| Door::new(1).unwrap().token).collect();
        assert!(tokens.iter().all(|token| token.len() == 32));
        assert!(tokens.iter().enumerate().all(|(at, token)| !tokens[..at].contains(token)));
    }

    #[test]
    fn secrets_are_the_same_only_as_a_whole() {
        assert!(is_same(b"abc", b"abc"));
        assert!(
            !is_same(b"ab", b"abc")
                && !is_same(b"abcd", b"abc")
                && !is_same(b"abd", b"abc")
                && !is_same(b"", b"abc")
        );
    }
}
