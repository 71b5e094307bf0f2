//! Where an answer leads a browser: to an address of this server and to no other, whatever a request asks for.

use actix_web::{HttpResponse, HttpResponseBuilder, http::header};
use url::Url;

pub(super) fn see_other(address: &str) -> HttpResponseBuilder {
    let mut response = HttpResponse::SeeOther();
    response.insert_header((header::LOCATION, address));
    response
}

/// The same, with nothing else to be told.
pub(super) fn go(next: &str) -> HttpResponse {
    see_other_here(next).finish()
}

/// Leads to an address of this server.
pub(super) fn see_other_here(next: &str) -> HttpResponseBuilder {
    see_other(&local_address(next))
}

/// An address of this server, whatever somebody made of the one that a form was opened with.
fn local_address(next: &str) -> String {
    // Browsers read `\` as `/` and skip tabs and line ends, as this does.
    let ours = Url::parse("http://tallybook.invalid/").ok();
    let address = ours.as_ref().and_then(|ours| ours.join(next).ok().filter(|url| url.origin() == ours.origin()));
    match address {
        // `http://tallybook.invalid//elsewhere` is ours, and its path alone is not.
        Some(url) if next.starts_with('/') && !url.path().starts_with("//") => {
            url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
        }
        _ => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::local_address;

    #[test]
    fn after_signing_in_one_stays_here() {
        for (next, address) in [
            ("/c/1?x=1", "/c/1?x=1"),
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
