//! Getting a page: only from public addresses, checked after every look-up of a name and at every redirect, within bounds
//! of time and size. What the bytes say is read elsewhere.

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
    redirect,
};
use tokio::time::timeout;

use super::{allowed_host::AllowedHost, public_address::is_public};
use crate::{ToolError, notation::shortened};

/// The longest address that is asked for.
const MAX_URL_BYTES: usize = 2_000;
/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The largest page that is read.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a page may take, with its redirects.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
/// How far into a page its encoding is looked for, as the HTML standard has browsers do.
const ENCODING_SNIFF_BYTES: usize = 1024;

/// Looks up the addresses of a name.
pub(super) type LookUp = Arc<dyn Fn(String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> + Send + Sync>;

/// A page as it came.
pub(super) struct Page {
    /// Where it lies, after redirects.
    pub(super) address: Url,
    /// What it is, without parameters and in small letters: `text/html`.
    pub(super) kind: String,
    pub(super) text: String,
}

/// Gets pages of the public web.
#[derive(Clone)]
pub(super) struct Fetcher {
    client: Client,
    is_allowed: fn(IpAddr) -> bool,
}

impl Fetcher {
    /// A fetcher that asks the system for addresses.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        Self::with(Arc::new(|host| Box::pin(look_up(host))), is_public)
    }

    /// One with another way to look up names, and another idea of which addresses may be asked.
    pub(super) fn with(look_up: LookUp, is_allowed: fn(IpAddr) -> bool) -> Result<Self, reqwest::Error> {
        // It fails when a provider is installed already, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("tallybook/", env!("CARGO_PKG_VERSION"), " (fetch_page)"))
            .connect_timeout(CONNECT_TIMEOUT)
            // Each target of a redirect is checked as the first address was.
            .redirect(redirect::Policy::none())
            // A proxy would look up names by itself, and reach what this machine may not.
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(CheckedLookUp { look_up, is_allowed }))
            .build()?;
        Ok(Self { client, is_allowed })
    }

    /// Gets a page. Fails with `invalid_argument` for an address that may not be asked, with `not_text` and `too_large`
    /// for what is no page to read, with `timeout`, and with `fetch_failed` for everything else.
    /// Follows redirects to `hosts` only, if they are given.
    pub(super) async fn get(&self, url: &str, hosts: Option<&[AllowedHost]>) -> Result<Page, ToolError> {
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
                ToolError::other("fetch_failed", format!("{} redirects to nowhere", host_of(&address)))
            })?;
            let target = self.check(target, Some(&address))?;
            if hosts.is_some_and(|hosts| !hosts.iter().any(|host| host.covers(&target))) {
                return Err(needs_approval(&address, &target));
            }
            address = target;
        }
        Err(ToolError::other("fetch_failed", format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// The address of a page, if it may be asked for. A host that is a name is checked when it is looked up.
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
            return refused("is not an address; write it whole, such as https://example.org/page");
        };
        if !matches!(parsed.scheme(), "http" | "https") {
            return refused("is no page of the web; its address must begin with https:// or http://");
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return refused("holds a user name or a password");
        }
        let literal = match parsed.host() {
            Some(url::Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(url::Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(url::Host::Domain(_)) => None,
            None => return refused("names no host"),
        };
        if literal.is_some_and(|address| !(self.is_allowed)(address)) {
            return refused("is not on the public internet");
        }
        parsed.set_fragment(None);
        Ok(parsed)
    }
}

/// Reads the answer's text, within the bounds.
async fn read(address: Url, mut response: Response) -> Result<Page, ToolError> {
    let status = response.status();
    if !status.is_success() {
        return Err(ToolError::other("fetch_failed", format!("{} answered with {status}", host_of(&address))));
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str());
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !is_text(&kind) {
        return Err(ToolError::other(
            "not_text",
            format!("{} is {kind:?}, which is not text", shortened(address.as_str())),
        ));
    }
    // None was asked for; this one was not understood.
    let coding = header(response.headers(), "content-encoding");
    if !matches!(coding.as_str(), "" | "identity") {
        return Err(ToolError::other(
            "fetch_failed",
            format!("{} answered in the coding {:?}", host_of(&address), shortened(&coding)),
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

/// Whether something of this type is read as text. Servers that say nothing mostly serve text.
fn is_text(kind: &str) -> bool {
    let (class, name) = kind.split_once('/').unwrap_or((kind, ""));
    matches!(class, "" | "text")
        || class == "application"
            && (matches!(name, "json" | "xml" | "javascript" | "x-ndjson" | "yaml" | "toml")
                || name.ends_with("+json")
                || name.ends_with("+xml"))
}

/// The encoding that the head of the answer names, else the page itself near its beginning, else UTF-8.
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
    let chain = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let cause = chain.last().map(ToString::to_string).unwrap_or_default();
    ToolError::other("fetch_failed", format!("{} could not be read: {cause}", host_of(address)))
}

/// A redirect leaves the hosts that may be read without approval.
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

/// Addresses of names, without those that may not be asked. The connection is made to what is given here and to nothing
/// that a second look-up would say.
struct CheckedLookUp {
    look_up: LookUp,
    is_allowed: fn(IpAddr) -> bool,
}

/// A name has addresses, but none that may be asked.
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
