//! The cookies: the session's secret, the state of a sign-in at the identity provider, and the token of a known
//! browser. Their `__Host-` prefix makes browsers send them only over TLS and only to this host. On localhost, where
//! TLS is rare, the cookies have no prefix and need no TLS. Their lifetimes are limits of accounts
//! ([`ABSOLUTE_LIFETIME`], [`FLOW_LIFETIME`], [`BROWSER_LIFETIME`]).

use actix_web::{
    HttpRequest,
    cookie::{Cookie, SameSite, time::Duration},
    http::{
        header,
        uri::{Authority, Scheme, Uri},
    },
};
use tallybook_accounts::{ABSOLUTE_LIFETIME, BROWSER_LIFETIME, FLOW_LIFETIME};

use super::{hosts::HostName, security};

/// Names of a cookie: the one over TLS, and the one on localhost.
struct Names {
    secure: &'static str,
    local: &'static str,
}

const SESSION: Names = Names { secure: "__Host-tallybook_session", local: "tallybook_session" };
const FLOW: Names = Names { secure: "__Host-tallybook_sign_in", local: "tallybook_sign_in" };
const BROWSER: Names = Names { secure: "__Host-tallybook_browser", local: "tallybook_browser" };

/// Returns the session's secret from the request's cookie, if there is one.
pub(crate) fn read_session(request: &HttpRequest) -> Option<String> {
    value(request, &SESSION)
}

/// Returns the state of a sign-in at the identity provider from the request's cookie, if there is one.
pub(crate) fn read_flow(request: &HttpRequest) -> Option<String> {
    value(request, &FLOW)
}

/// Returns the token of a known browser from the request's cookie, if there is one.
pub(crate) fn read_browser(request: &HttpRequest) -> Option<String> {
    value(request, &BROWSER)
}

fn value(request: &HttpRequest, names: &Names) -> Option<String> {
    request.cookie(name(request, names)).map(|cookie| cookie.value().to_owned())
}

/// Returns the cookie that holds a session's secret. The server can end the session long before the cookie expires.
pub(crate) fn session_cookie(request: &HttpRequest, secret: &str) -> Cookie<'static> {
    cookie(request, &SESSION, secret, Duration::seconds(ABSOLUTE_LIFETIME.num_seconds()))
}

/// Returns the cookie that holds the state of a sign-in while the user is at the identity provider.
pub(crate) fn flow_cookie(request: &HttpRequest, held: &str) -> Cookie<'static> {
    cookie(request, &FLOW, held, Duration::seconds(FLOW_LIFETIME.num_seconds()))
}

/// Returns the cookie with the token by which the server recognizes the browser at the next sign-in. It is kept at
/// sign-out.
pub(crate) fn browser_cookie(request: &HttpRequest, token: &str) -> Cookie<'static> {
    cookie(request, &BROWSER, token, Duration::seconds(BROWSER_LIFETIME.num_seconds()))
}

/// Returns a cookie that removes the session cookie.
pub(crate) fn removed_session_cookie(request: &HttpRequest) -> Cookie<'static> {
    cookie(request, &SESSION, "", Duration::ZERO)
}

/// Returns a cookie that removes the state of a sign-in.
pub(crate) fn removed_flow_cookie(request: &HttpRequest) -> Cookie<'static> {
    cookie(request, &FLOW, "", Duration::ZERO)
}

/// Returns `true` if the browser would reject the session cookie: it sent the request without TLS, and not to
/// localhost.
pub(crate) fn is_refused_by_browsers(request: &HttpRequest) -> bool {
    let origin = request.headers().get(header::ORIGIN).and_then(|origin| Uri::try_from(origin.as_bytes()).ok());
    origin.is_some_and(|origin| origin.scheme() == Some(&Scheme::HTTP)) && !is_localhost(request)
}

fn cookie(request: &HttpRequest, names: &Names, value: &str, age: Duration) -> Cookie<'static> {
    Cookie::build(name(request, names), value.to_owned())
        .path("/")
        .http_only(true)
        .secure(!is_localhost(request))
        .same_site(SameSite::Lax)
        .max_age(age)
        .finish()
}

fn name(request: &HttpRequest, names: &Names) -> &'static str {
    if is_localhost(request) { names.local } else { names.secure }
}

/// Returns `true` if the request's `Host` header names localhost. Headers that a proxy adds do not count.
pub(crate) fn is_localhost(request: &HttpRequest) -> bool {
    let host = security::host_of(request.headers()).ok().flatten();
    let name = host.as_ref().map(Authority::host).and_then(|name| name.parse::<HostName>().ok());
    name.is_some_and(|name| name.is_local())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::{is_refused_by_browsers, read_session, removed_session_cookie, session_cookie};

    fn asking(host: &'static str) -> TestRequest {
        TestRequest::default().insert_header(("host", host))
    }

    #[test]
    fn the_session_cookie_is_secure_except_on_localhost() {
        let common = "HttpOnly; SameSite=Lax;";
        let elsewhere = session_cookie(&asking("chat.example.org").to_http_request(), "s").to_string();
        assert!(
            elsewhere.starts_with(&format!("__Host-tallybook_session=s; {common} Secure; Path=/; Max-Age=")),
            "{elsewhere}"
        );
        assert!(!elsewhere.contains("Domain"), "{elsewhere}");
        let here = session_cookie(&asking("localhost:3000").to_http_request(), "s").to_string();
        assert!(here.starts_with(&format!("tallybook_session=s; {common} Path=/; Max-Age=")), "{here}");
        assert!(removed_session_cookie(&asking("127.0.0.1").to_http_request()).to_string().ends_with("Max-Age=0"));
    }

    #[test]
    fn a_cookie_without_the_host_prefix_counts_only_on_localhost() {
        let plain =
            |host| read_session(&asking(host).insert_header(("cookie", "tallybook_session=x")).to_http_request());
        assert_eq!((plain("localhost"), plain("chat.example.org")), (Some("x".to_owned()), None));
    }

    #[test]
    fn browsers_reject_the_cookie_without_tls_except_on_localhost() {
        for (host, origin, refused) in [
            ("chat.example.org", Some("http://chat.example.org"), true),
            ("chat.example.org", Some("https://chat.example.org"), false),
            ("localhost:3000", Some("http://localhost:3000"), false),
            ("chat.example.org", None, false),
        ] {
            let mut request = asking(host);
            if let Some(origin) = origin {
                request = request.insert_header(("origin", origin));
            }
            assert_eq!(is_refused_by_browsers(&request.to_http_request()), refused, "{host} {origin:?}");
        }
    }
}
