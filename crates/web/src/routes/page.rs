//! The page itself: the very script that reports carry, told by its tag whether a browser has it already.

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::single_file::{Code, fingerprint};

/// The addresses of a page, its script and its styles.
pub(crate) fn all<S: Clone + Send + Sync + 'static>(code: Code) -> Router<S> {
    let html = move |asked: HeaderMap| async move { file(&asked, "text/html; charset=utf-8", html(code)) };
    let script = move |asked: HeaderMap| async move {
        file(&asked, "text/javascript; charset=utf-8", code.script.to_owned())
    };
    let styles = move |asked: HeaderMap| async move {
        file(&asked, "text/css; charset=utf-8", code.styles.to_owned())
    };
    Router::new().route("/", get(html)).route("/app.js", get(script)).route("/app.css", get(styles))
}

fn html(code: Code) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>opscope</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/app.css\">\n</head>\n\
         <body>\n<div id=\"app\"></div>\n<main id=\"fallback\"><noscript>This page needs scripts. The answers are also on \
         the command line: {}. <span lang=\"zh-CN\">本页需要脚本；也可在命令行得到答案。</span></noscript></main>\n\
         <script src=\"/app.js\"></script>\n</body>\n</html>\n",
        code.commands
    )
}

fn file(asked: &HeaderMap, kind: &'static str, text: String) -> Response {
    let tag = format!("\"{}\"", fingerprint(text.as_bytes()));
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let heads = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    match known {
        true => (StatusCode::NOT_MODIFIED, heads).into_response(),
        false => (heads, [(header::CONTENT_TYPE, kind)], text).into_response(),
    }
}
