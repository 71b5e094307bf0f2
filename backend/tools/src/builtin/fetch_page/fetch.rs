//! Fetches pages over HTTP, with limits for time and size. Connects only to public IP addresses, which are checked
//! after each DNS lookup and at each redirect. `readable` extracts the text.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use encoding_rs::{Encoding, UTF_8};
use futures_util::future::BoxFuture;
use reqwest::{
    Client, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION},
};
use tokio::time::timeout;

use crate::{
    ToolError,
    builtin::fetch_page::{allowed_host::AllowedHost, public_address::is_public},
    notation::shortened,
};

/// Maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 2_000;
/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Maximum size of a page, in bytes.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a page, including its redirects.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of bytes at the start of a page that are searched for its encoding. The HTML standard specifies this for
/// browsers.
const ENCODING_SNIFF_BYTES: usize = 1024;

/// Function that looks up the IP addresses of a host name.
pub(crate) type LookUp = Arc<dyn Fn(String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> + Send + Sync>;

/// A fetched page.
pub(crate) struct Page {
    /// URL of the page, after redirects.
    pub(crate) address: Url,
    /// Media type in lower case, without parameters, such as `text/html`. Empty if the server sent none.
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// Fetches pages of the public web.
#[derive(Clone)]
pub(crate) struct Fetcher {
    client: Client,
    is_allowed: fn(IpAddr) -> bool,
}

impl Fetcher {
    /// Creates a fetcher that uses the system's DNS resolver.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        Self::with(Arc::new(|host| Box::pin(look_up(host))), is_public)
    }

    /// Creates a fetcher with a custom DNS lookup and a custom check of IP addresses.
    pub(crate) fn with(look_up: LookUp, is_allowed: fn(IpAddr) -> bool) -> Result<Self, reqwest::Error> {
        let client = tallybook_http_client::client()
            .user_agent(concat!("tallybook/", env!("CARGO_PKG_VERSION"), " (fetch_page)"))
            .connect_timeout(CONNECT_TIMEOUT)
            // A proxy would resolve names itself, without this check, and could reach addresses that are refused here.
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(CheckedLookUp { look_up, is_allowed }))
            .build()?;
        Ok(Self { client, is_allowed })
    }

    /// Fetches a page. Fails with `invalid_argument` if the URL is not allowed, with `not_text` or `too_large` if the
    /// page cannot be read as text, and with `timeout`. All other failures are `fetch_failed`. If `hosts` are given,
    /// follows redirects only to these.
    pub(crate) async fn get(&self, url: &str, hosts: Option<&[AllowedHost]>) -> Result<Page, ToolError> {
        timeout(FETCH_TIMEOUT, self.follow(url, hosts)).await.map_err(|_| {
            ToolError::other("timeout", format!("the page took longer than {} s", FETCH_TIMEOUT.as_secs()))
        })?
    }

    async fn follow(&self, url: &str, hosts: Option<&[AllowedHost]>) -> Result<Page, ToolError> {
        let mut address = self.check(url, None)?;
        for _ in 0..=MAX_REDIRECTS {
            let request =
                self.client.get(address.clone()).header(ACCEPT, "text/html, text/plain, application/json, */*;q=0.1");
            let response = request.send().await.map_err(|error| failed(&address, &error))?;
            if !response.status().is_redirection() {
                return read(address, response).await;
            }
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok()).ok_or_else(|| {
                ToolError::other("fetch_failed", format!("{} redirects without a target", host_of(&address)))
            })?;
            let target = self.check(target, Some(&address))?;
            if hosts.is_some_and(|hosts| !hosts.iter().any(|host| host.covers(&target))) {
                return Err(needs_approval(&address, &target));
            }
            address = target;
        }
        Err(ToolError::other("fetch_failed", format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// Parses a URL, relative to `base` if given, and checks that it is allowed. A host name is checked later, when it
    /// is resolved.
    fn check(&self, url: &str, base: Option<&Url>) -> Result<Url, ToolError> {
        let refused = |reason: &str| match base {
            None => Err(ToolError::invalid("url", format_args!("{:?} {reason}", shortened(url)))),
            Some(base) => Err(ToolError::other(
                "fetch_failed",
                format!("{} redirects to {:?}, which {reason}", host_of(base), shortened(url)),
            )),
        };
        if url.len() > MAX_URL_BYTES {
            return refused(&format!("is longer than {MAX_URL_BYTES} bytes"));
        }
        let parsed = base.map_or_else(|| Url::parse(url.trim()), |base| base.join(url));
        let Ok(mut parsed) = parsed else {
            return refused("is not a valid URL; write it in full, such as https://example.org/page");
        };
        if !matches!(parsed.scheme(), "http" | "https") {
            return refused("is not a web address; it must begin with https:// or http://");
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return refused("contains a user name or a password");
        }
        let literal = match parsed.host() {
            Some(url::Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(url::Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(url::Host::Domain(_)) => None,
            None => return refused("has no host"),
        };
        if literal.is_some_and(|address| !(self.is_allowed)(address)) {
            return refused("is not on the public internet");
        }
        parsed.set_fragment(None);
        Ok(parsed)
    }
}

/// Reads the text of a response, within the limits.
async fn read(address: Url, mut response: Response) -> Result<Page, ToolError> {
    let status = response.status();
    if !status.is_success() {
        return Err(ToolError::other("fetch_failed", format!("{} responded with {status}", host_of(&address))));
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str());
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !is_text(&kind) {
        return Err(ToolError::other(
            "not_text",
            format!("{} is {kind:?}, which is not text", shortened(address.as_str())),
        ));
    }
    // The request accepts no content coding, and none is supported.
    let coding = header(response.headers(), "content-encoding");
    if !matches!(coding.as_str(), "" | "identity") {
        return Err(ToolError::other(
            "fetch_failed",
            format!("{} responded in the unsupported content coding {:?}", host_of(&address), shortened(&coding)),
        ));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&address, &error))? {
        if body.len() + piece.len() > MAX_PAGE_BYTES {
            return Err(ToolError::other("too_large", format!("the page is larger than {MAX_PAGE_BYTES} bytes")));
        }
        body.extend_from_slice(&piece);
    }
    let text = encoding(&content_type, &body).decode(&body).0.into_owned();
    Ok(Page { address, kind, text })
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// Returns `true` if a media type is read as text. That includes an empty one, since servers that send none mostly
/// serve text.
fn is_text(kind: &str) -> bool {
    let (class, name) = kind.split_once('/').unwrap_or((kind, ""));
    matches!(class, "" | "text")
        || class == "application"
            && (matches!(name, "json" | "xml" | "javascript" | "x-ndjson" | "yaml" | "toml")
                || name.ends_with("+json")
                || name.ends_with("+xml"))
}

/// Returns the encoding named in the header `Content-Type`, otherwise the one named near the start of the page,
/// otherwise UTF-8.
fn encoding(content_type: &str, body: &[u8]) -> &'static Encoding {
    let label_in = |text: &str| {
        let (_, rest) = text.split_once("charset=")?;
        let label = rest.trim_start_matches(['"', '\'', ' ']);
        let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).unwrap_or(label.len());
        Encoding::for_label(&label.as_bytes()[..end])
    };
    let beginning = String::from_utf8_lossy(&body[..body.len().min(ENCODING_SNIFF_BYTES)]).to_ascii_lowercase();
    label_in(&content_type.to_ascii_lowercase()).or_else(|| label_in(&beginning)).unwrap_or(UTF_8)
}

fn failed(address: &Url, error: &reqwest::Error) -> ToolError {
    let cause = tallybook_http_client::root_cause(error);
    ToolError::other("fetch_failed", format!("{} could not be fetched: {cause}", host_of(address)))
}

/// Returns the error for a redirect from a host that needs no approval to one that needs it.
fn needs_approval(from: &Url, to: &Url) -> ToolError {
    let message = format!(
        "{} redirects to {:?}, whose host needs approval; call the tool with that address to ask for it",
        host_of(from),
        shortened(to.as_str())
    );
    ToolError::other("fetch_failed", message)
}

fn host_of(address: &Url) -> &str {
    address.host_str().unwrap_or_default()
}

async fn look_up(host: String) -> std::io::Result<Vec<IpAddr>> {
    Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect())
}

/// DNS resolver that leaves out refused IP addresses. The client connects to the returned addresses without a second
/// lookup, which could give others.
struct CheckedLookUp {
    look_up: LookUp,
    is_allowed: fn(IpAddr) -> bool,
}

/// Error of a host name without any allowed IP address.
#[derive(Debug, thiserror::Error)]
#[error("it is not on the public internet")]
struct NotPublic;

impl Resolve for CheckedLookUp {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.look_up)(name.as_str().to_owned());
        let is_allowed = self.is_allowed;
        Box::pin(async move {
            let allowed: Vec<SocketAddr> =
                found.await?.into_iter().filter(|ip| is_allowed(*ip)).map(|ip| SocketAddr::new(ip, 0)).collect();
            if allowed.is_empty() {
                return Err(NotPublic.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
