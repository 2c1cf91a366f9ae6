//! The page itself: the very script that reports carry, told by its tag whether a browser has it already.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::single_file::{SCRIPT, STYLES, fingerprint};

const HTML: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <title>opscope</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/app.css\">\n</head>\n\
    <body>\n<div id=\"app\"></div>\n<main id=\"fallback\"><noscript>This page needs scripts. The answers are also on \
    the command line: opscope analyze PROFILE, opscope advise PROFILE. <span lang=\"zh-CN\">本页需要脚本；也可在命令行得到答案。</span></noscript></main>\n\
    <script src=\"/app.js\"></script>\n</body>\n</html>\n";

pub(crate) async fn html(headers: HeaderMap) -> Response {
    file(&headers, "text/html; charset=utf-8", HTML)
}

pub(crate) async fn script(headers: HeaderMap) -> Response {
    file(&headers, "text/javascript; charset=utf-8", SCRIPT)
}

pub(crate) async fn styles(headers: HeaderMap) -> Response {
    file(&headers, "text/css; charset=utf-8", STYLES)
}

fn file(asked: &HeaderMap, kind: &'static str, text: &'static str) -> Response {
    let tag = format!("\"{}\"", fingerprint(text.as_bytes()));
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let heads = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    match known {
        true => (StatusCode::NOT_MODIFIED, heads).into_response(),
        false => (heads, [(header::CONTENT_TYPE, kind)], text).into_response(),
    }
}
