//! Middleware that checks the host and the origin of each request, and sets the security headers of each response.
//! `identify` then authenticates the request. The checks keep out other sites' pages: a browser names the page that
//! sends a request (`Origin`) and the host that the request is for (`Host`).

use actix_web::{
    Error,
    body::{EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method,
        header::{self, HeaderMap, HeaderName, HeaderValue},
        uri::{Authority, Scheme, Uri},
    },
    middleware::Next,
};

use super::{error::ApiError, hosts::Hosts, metrics_token::METRICS, state::State};

/// Refuses requests of other sites' pages, and sets the headers that protect this server's own page.
pub(crate) async fn check_request<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let hosts = hosts_of(&request);
    let checked =
        check(request.uri(), request.headers(), &hosts).and_then(|()| check_site(request.method(), request.headers()));
    let https_secs = request.app_data::<State>().map_or(0, |state| state.limits.hsts.as_secs());
    let mut response = match checked {
        Ok(()) => next.call(request).await?.map_into_left_body(),
        Err(refusal) => request.error_response(refusal).map_into_right_body(),
    };
    let headers = response.headers_mut();
    if https_secs > 0
        && let Ok(value) = HeaderValue::try_from(format!("max-age={https_secs}"))
    {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(NO_CONTENT));
    }
    // Most responses are private and soon out of date. The page and its files set this header themselves.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    Ok(response)
}

/// Returns the hosts with which a path can be requested. Monitoring names a server by its address, which need not be
/// allowed: probes say nothing about users, and `/metrics` needs a credential that other sites' pages do not have.
fn hosts_of(request: &ServiceRequest) -> Hosts {
    let Some(state) = request.app_data::<State>() else { return Hosts::Only([].into()) };
    let needs_credential = state.accounts.settings().required || state.metrics_token.is_some();
    match request.path() {
        "/healthz" | "/readyz" => Hosts::Any,
        METRICS if needs_credential => Hosts::Any,
        _ => state.hosts.clone(),
    }
}

/// Security headers of every response:
/// - Browsers do not guess content types.
/// - Browsers do not send the URLs of conversations to other sites.
/// - Other sites cannot keep a handle on the page's window, and their pages cannot load this server's responses.
/// - The page has no access to cameras, microphones, and the like.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
    (header::CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
    (header::PERMISSIONS_POLICY, "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];

/// Content security policy of pages without scripts: they load the style and images, send their forms to this server,
/// and run nothing.
pub(crate) const WITHOUT_SCRIPTS: &str = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Content security policy of responses that are not pages. A browser that displays one as a page loads nothing and
/// runs nothing. No other site can show it in a frame, where clicks could be misdirected. Pages set their own policy.
const NO_CONTENT: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Checks the host and the origin. A legitimate client uses a localhost name, or a name that the operator allowed. Any
/// other name may belong to another site that points it at this server, so that the site's pages have this server's
/// origin (DNS rebinding).
///
/// An absolute URL in the request line (`GET http://name/ HTTP/1.1`) names a host, too. It must equal `Host`.
fn check(address: &Uri, headers: &HeaderMap, hosts: &Hosts) -> Result<(), ApiError> {
    let host = host_of(headers)?;
    if !hosts.include(host.as_ref().map(Authority::host)) {
        return Err(ApiError::ForeignHost);
    }
    if address.authority().is_some_and(|written| Some(written) != host.as_ref()) {
        return Err(ApiError::ForeignHost);
    }
    match headers.get(header::ORIGIN) {
        Some(origin) if !host.is_some_and(|host| is_same(origin, &host)) => Err(ApiError::ForeignOrigin),
        _ => Ok(()),
    }
}

/// Refuses changes that another site's page sends according to the browser (`Sec-Fetch-Site`), even without an
/// `Origin`. Requests with an `Authorization` header pass: other sites' pages do not know an API key.
fn check_site(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let is_change = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_foreign = site.is_some_and(|site| site != b"same-origin" && site != b"none");
    if is_change && is_foreign && !headers.contains_key(header::AUTHORIZATION) {
        return Err(ApiError::ForeignOrigin);
    }
    Ok(())
}

/// Returns the host in the `Host` header; `None` if there is none, as in some probes. `actix_http` refuses requests
/// with two `Host` headers.
pub(crate) fn host_of(headers: &HeaderMap) -> Result<Option<Authority>, ApiError> {
    let host = headers.get(header::HOST).filter(|host| !host.is_empty());
    let Some(host) = host else { return Ok(None) };
    let host = Authority::try_from(host.as_bytes()).map_err(|_| ApiError::ForeignHost)?;
    if host.as_str().contains('@') { Err(ApiError::ForeignHost) } else { Ok(Some(host)) }
}

/// Returns `true` if an origin has the host and port of the request. Schemes are not compared: a proxy may terminate
/// TLS.
fn is_same(origin: &HeaderValue, host: &Authority) -> bool {
    let Ok(origin) = Uri::try_from(origin.as_bytes()) else { return false };
    let (Some(scheme), Some(theirs)) = (origin.scheme(), origin.authority()) else { return false };
    let usual = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(usual);
    theirs.host().eq_ignore_ascii_case(host.host()) && port(theirs) == port(host)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{self, HeaderMap, HeaderValue};

    use super::{ApiError, Hosts, Uri, check};

    fn verdict(host: &'static str, origin: Option<&'static str>, on_loopback: bool) -> &'static str {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        let hosts = if on_loopback { Hosts::Only(["chat.example.org".parse().unwrap()].into()) } else { Hosts::Any };
        match check(&Uri::from_static("/"), &headers, &hosts) {
            Ok(()) => "in",
            Err(ApiError::ForeignHost) => "foreign host",
            Err(ApiError::ForeignOrigin) => "foreign origin",
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn on_loopback_only_localhost_names_are_accepted() {
        for host in [
            "localhost",
            "LocalHost:3000",
            "book.localhost:3000",
            "127.0.0.1:3000",
            "127.9.9.9",
            "[::1]:3000",
            "Chat.Example.org",
        ] {
            assert_eq!(verdict(host, None, true), "in", "{host}");
        }
        for host in [
            "example.com",
            "example.com:3000",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "notlocalhost",
            "localhost@example.com",
            "192.168.0.7:3000",
            "0.0.0.0:3000",
            "[fe80::1]",
            "",
            "a b",
        ] {
            assert_eq!(verdict(host, None, true), "foreign host", "{host:?}");
        }
        assert_eq!(verdict("10.1.2.3:3000", None, false), "in");
    }

    #[test]
    fn the_origin_must_match_the_host() {
        for (origin, host) in [
            ("http://localhost:3000", "localhost:3000"),
            ("http://LOCALHOST", "localhost:80"),
            ("https://chat.example.com", "chat.example.com"),
            ("https://chat.example.com", "chat.example.com:443"),
            ("http://[::1]:3000", "[::1]:3000"),
        ] {
            assert_eq!(verdict(host, Some(origin), false), "in", "{origin} {host}");
        }
        for (origin, host) in [
            ("http://example.com", "localhost:3000"),
            ("http://localhost:8080", "localhost:3000"),
            ("http://localhost", "localhost:3000"),
            ("https://localhost", "localhost:80"),
            ("http://127.0.0.1:3000", "localhost:3000"),
            ("null", "localhost:3000"),
            ("null", "null"),
            ("", "localhost:3000"),
            ("file:///etc", "localhost:3000"),
        ] {
            assert_eq!(verdict(host, Some(origin), false), "foreign origin", "{origin} {host}");
        }
    }
}
