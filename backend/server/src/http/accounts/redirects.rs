//! Redirects that always stay on this server, even if the request names an address elsewhere.

use actix_web::{HttpResponse, HttpResponseBuilder, http::header};
use url::Url;

pub(crate) fn see_other(address: &str) -> HttpResponseBuilder {
    let mut response = HttpResponse::SeeOther();
    response.insert_header((header::LOCATION, address));
    response
}

/// Returns a redirect to `next`, or to `/` if `next` is not an address of this server.
pub(crate) fn go(next: &str) -> HttpResponse {
    see_other_here(next).finish()
}

/// Returns a response builder for a redirect to `next`, or to `/` if `next` is not an address of this server.
pub(crate) fn see_other_here(next: &str) -> HttpResponseBuilder {
    see_other(&local_address(next))
}

/// Returns the path, query and fragment of `next` if it is an address of this server, and `/` otherwise. `next` comes
/// from a form or a query string, so an attacker can choose it.
fn local_address(next: &str) -> String {
    // `Url` parses like browsers do: it reads `\` as `/` and ignores tabs and line breaks.
    let ours = Url::parse("http://tallybook.invalid/").ok();
    let address = ours.as_ref().and_then(|ours| ours.join(next).ok().filter(|url| url.origin() == ours.origin()));
    match address {
        // `http://tallybook.invalid//elsewhere` has this origin, but its path alone would name another host.
        Some(url) if next.starts_with('/') && !url.path().starts_with("//") => {
            url[url::Position::BeforePath..].to_owned()
        }
        _ => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::http::accounts::redirects::local_address;

    #[test]
    fn redirects_stay_on_this_server() {
        for (next, address) in [
            ("/c/1?x=1", "/c/1?x=1"),
            ("/c/1#message-2", "/c/1#message-2"),
            ("/検索", "/%E6%A4%9C%E7%B4%A2"),
            ("", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/\t/evil.example", "/"),
            ("/.//evil.example", "/"),
            ("/..//evil.example/", "/"),
            ("https://evil.example/", "/"),
            ("http://tallybook.invalid/c/1", "/"),
            ("javascript:alert(1)", "/"),
            ("c/1", "/"),
            ("/a\r\nSet-Cookie: x=1", "/aSet-Cookie:%20x=1"),
        ] {
            assert_eq!(local_address(next), address, "{next:?}");
        }
    }
}
