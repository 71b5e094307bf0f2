//! Tests of `fetch_page`, with a test server over real connections.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    Risk, ToolError, ToolRegistry,
    builtin::fetch_page::{AllowedHost, FetchPage, fetch::Fetcher, public_address::is_public},
};

/// A server that sends the next of its answers on each connection, as bytes, and then closes the connection.
struct Server {
    port: u16,
    task: JoinHandle<()>,
    asked: Arc<AtomicUsize>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                // This fails if the tool has read enough and closed the connection.
                let _ = stream.write_all(&answer).await;
            }
        });
        Self { port, task, asked }
    }

    async fn page(kind: &str, body: impl AsRef<[u8]>) -> Self {
        Self::start(vec![answer(&format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}"), body)]).await
    }

    fn url(&self) -> String {
        format!("http://pages.example:{}/a/page", self.port)
    }
}

fn answer(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes =
        format!("{head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.as_ref().len()).into_bytes();
    bytes.extend_from_slice(body.as_ref());
    bytes
}

fn redirect(target: &str) -> Vec<u8> {
    answer(&format!("HTTP/1.1 302 Found\r\nlocation: {target}"), "")
}

/// Returns a registry with the tool. It resolves `pages.example` to 127.0.0.1, `inside.example` to addresses that are
/// not public, and `both.example` to one of each. It treats 127.0.0.1 as public, and refuses all other private
/// addresses.
fn registry() -> ToolRegistry {
    registry_allowing(Vec::new())
}

/// Returns a registry like [`registry`], whose tool reads pages of `hosts` without approval.
fn registry_allowing(hosts: Vec<AllowedHost>) -> ToolRegistry {
    let look_up = |host: String| -> futures_util::future::BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            match host.as_str() {
                "pages.example" => Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]),
                "inside.example" => Ok(vec!["10.1.2.3".parse().unwrap(), "::1".parse().unwrap()]),
                "both.example" => Ok(vec!["10.1.2.3".parse().unwrap(), IpAddr::V4(Ipv4Addr::LOCALHOST)]),
                _ => Err(std::io::Error::other("no such name")),
            }
        })
    };
    let is_allowed = |address: IpAddr| address == IpAddr::V4(Ipv4Addr::LOCALHOST) || is_public(address);
    let fetcher = Fetcher::with(Arc::new(look_up), is_allowed).unwrap();
    ToolRegistry::default().with(FetchPage { fetcher, hosts }).unwrap()
}

async fn fetch(url: &str) -> Result<String, ToolError> {
    fetch_from(url, 0).await
}

async fn fetch_from(url: &str, skip: usize) -> Result<String, ToolError> {
    let input = json!({ "url": url, "skip": skip }).to_string();
    registry().call("fetch_page", &input).await.map(|output| output.text)
}

#[tokio::test]
async fn a_page_is_read_as_text() {
    let html = "<!doctype html><html><head><title> The\n news </title><style>p{}</style></head><body><nav><a \
                href=/home>Home</a></nav><main><h1>Rain</h1><p>It <b>rains</b> in&nbsp;Kyoto, see <a \
                href='/maps?a=1&amp;b=2'>the \
                map</a>.<script>alert('<p>no</p>')</script></p><ul><li>Monday<li>Tuesday</ul><pre>a  b\n \
                c</pre><table><tr><th>Day<td>Rain</table></main><footer>Imprint</footer></body>";
    let server = Server::page("text/html; charset=utf-8", html).await;
    let text = fetch(&server.url()).await.unwrap();
    let port = server.port;
    let expected = format!(
        "The news\nhttp://pages.example:{port}/a/page\n\n# Rain\n\nIt rains in Kyoto, see [the \
         map](http://pages.example:{port}/maps?a=1&b=2).\n\n- Monday\n- Tuesday\n\n```\na  b\n c\n```\n\n| Day | Rain"
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn text_that_is_not_html_stays_unchanged() {
    for (kind, body) in
        [("text/plain", "a <b> c\n  d"), ("application/json", "{\"a\": [1,  2]}"), ("application/ld+json", "{}")]
    {
        let server = Server::page(kind, body).await;
        assert!(fetch(&server.url()).await.unwrap().ends_with(&format!("\n\n{body}")), "{kind}");
    }
}

#[tokio::test]
async fn encodings_of_old_pages_are_understood() {
    let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("<title>天気</title><p>京都は雨です。");
    let named = Server::page("text/html; charset=Shift_JIS", &japanese).await;
    assert!(fetch(&named.url()).await.unwrap().contains("京都は雨です。"));
    let (within, _, _) = encoding_rs::EUC_JP.encode("<meta charset=\"euc-jp\"><p>京都は雨です。");
    let sniffed = Server::page("text/html", &within).await;
    assert!(fetch(&sniffed.url()).await.unwrap().contains("京都は雨です。"));
}

#[tokio::test]
async fn a_long_text_is_read_in_parts() {
    let words = "word ".repeat(10_000);
    let part = |skip| {
        let words = words.clone();
        async move {
            let server = Server::page("text/html", &words).await;
            fetch_from(&server.url(), skip).await
        }
    };
    assert!(part(0).await.unwrap().ends_with("[29999 more characters; skip 20000 to read on]"));
    assert!(!part(40_000).await.unwrap().contains("read on"));
    assert_eq!(part(49_999).await.unwrap_err().message, "invalid_skip: the text has 49999 characters");
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused() {
    for url in [
        "http://10.0.0.1/",
        "http://192.168.1.1:8080/admin",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0x0a.1/",
        "http://2130706434/",
        "http://0/",
    ] {
        let error = fetch(url).await.unwrap_err();
        assert!(error.message.ends_with("is not on the public internet"), "{url}: {}", error.message);
    }
    for (url, reason) in [
        ("file:///etc/passwd", "must begin with https://"),
        ("ftp://pages.example/", "must begin with https://"),
        ("javascript:alert(1)", "must begin with https://"),
        ("/page", "is not a valid URL"),
        ("", "is not a valid URL"),
        ("http://me:secret@pages.example/", "a user name or a password"),
    ] {
        let error = fetch(url).await.unwrap_err();
        assert!(error.error_type == "invalid_argument" && error.message.contains(reason), "{url}: {}", error.message);
    }
    assert!(fetch(&format!("http://{}.example/", "x".repeat(100_000))).await.unwrap_err().message.len() < 200);
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_refused() {
    let server = Server::page("text/plain", "secret").await;
    let url = format!("http://inside.example:{}/", server.port);
    let error = fetch(&url).await.unwrap_err();
    assert_eq!(error.message, "inside.example could not be fetched: it is not on the public internet");
    assert_eq!(server.asked.load(Ordering::SeqCst), 0);
    // If a name has several addresses, the tool connects only to public ones.
    assert!(fetch(&format!("http://both.example:{}/", server.port)).await.unwrap().ends_with("secret"));
}

#[tokio::test]
async fn redirects_are_followed_and_checked_again() {
    let page = answer("HTTP/1.1 200 OK\r\ncontent-type: text/plain", "there");
    let server = Server::start(vec![redirect("../b"), page]).await;
    let text = fetch(&server.url()).await.unwrap();
    assert_eq!(text, format!("http://pages.example:{}/b\n\nthere", server.port));
    for target in [
        "http://10.0.0.1/",
        "http://[fe80::1]/",
        "file:///etc/passwd",
        "//user@pages.example/",
        "http://169.254.169.254/",
    ] {
        let server = Server::start(vec![redirect(target)]).await;
        let error = fetch(&server.url()).await.unwrap_err();
        assert!(error.message.starts_with("pages.example redirects to "), "{target}: {}", error.message);
    }
    let server = Server::start(vec![redirect("http://inside.example/")]).await;
    assert!(fetch(&server.url()).await.unwrap_err().message.ends_with("it is not on the public internet"));
}

#[test]
fn an_address_needs_approval_unless_its_host_is_allowed() {
    let registry = registry_allowing(vec!["pages.example".parse().unwrap(), "*.docs.example".parse().unwrap()]);
    let risk = |url: &str| registry.risk_of("fetch_page", &json!({ "url": url }).to_string()).unwrap();
    for url in ["https://pages.example/a?b", " http://PAGES.example:8080/", "https://a.docs.example/"] {
        assert_eq!(risk(url), Risk::Low, "{url}");
    }
    for url in [
        "https://evil.example/?data",
        "https://docs.example/",
        "https://pages.example@evil.example/",
        "pages.example",
        "",
    ] {
        assert_eq!(risk(url), Risk::High, "{url}");
    }
    assert_eq!(registry.risk_of("fetch_page", "{"), Some(Risk::High));
    assert_eq!(registry.find_spec("fetch_page").unwrap().risk, Risk::High);
}

#[tokio::test]
async fn a_redirect_leaves_the_allowed_hosts_only_after_approval() {
    let allowed = || registry_allowing(vec!["pages.example".parse().unwrap()]);
    let page = answer("HTTP/1.1 200 OK\r\ncontent-type: text/plain", "there");
    let server = Server::start(vec![redirect("/b"), page.clone()]).await;
    let input = json!({ "url": server.url() }).to_string();
    assert!(allowed().call("fetch_page", &input).await.unwrap().text.ends_with("there"));

    let elsewhere = Server::start(vec![page.clone(), page]).await;
    let target = format!("http://both.example:{}/?secret", elsewhere.port);
    let server = Server::start(vec![redirect(&target), redirect(&target)]).await;
    let input = json!({ "url": server.url() }).to_string();
    let error = allowed().call("fetch_page", &input).await.unwrap_err();
    assert!(error.message.contains("whose host needs approval"), "{}", error.message);
    assert_eq!(elsewhere.asked.load(Ordering::SeqCst), 0);
    // An approved call follows redirects to any public address.
    assert!(registry().call("fetch_page", &input).await.unwrap().text.ends_with("there"));
}

#[tokio::test]
async fn endless_redirects_fail() {
    let server = Server::start(vec![redirect("/again"); 20]).await;
    assert_eq!(fetch(&server.url()).await.unwrap_err().message, "more than 5 redirects");
    assert_eq!(server.asked.load(Ordering::SeqCst), 6);
}

/// Tests a server that sends nothing, and one that keeps sending slowly.
#[tokio::test(start_paused = true)]
async fn fetching_a_page_times_out_after_twenty_seconds() {
    for beginning in ["", "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://pages.example:{}/", listener.local_addr().unwrap().port());
        let begun = Instant::now();
        let drip = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            loop {
                sleep(Duration::from_secs(3)).await;
                if !beginning.is_empty() {
                    stream.write_all(b"drop ").await.unwrap();
                }
            }
        };
        let error = tokio::select! { () = drip => unreachable!(), fetched = fetch(&url) => fetched.unwrap_err() };
        assert_eq!((error.error_type.as_str(), begun.elapsed().as_secs()), ("timeout", 20));
        assert_eq!(error.message, "the page took longer than 20 s");
    }
}

#[tokio::test]
async fn pages_that_are_not_text_too_large_or_empty_are_refused() {
    let large = vec![b'x'; 3 * 1024 * 1024];
    for (kind, body, error_type) in [
        ("image/png", b"\x89PNG".to_vec(), "not_text"),
        ("application/octet-stream", b"abc".to_vec(), "not_text"),
        ("text/html", large, "too_large"),
        ("text/html", b"<script>document.write('x')</script>".to_vec(), "no_text"),
    ] {
        let server = Server::page(kind, &body).await;
        assert_eq!(fetch(&server.url()).await.unwrap_err().error_type, error_type, "{kind}");
    }
    let server =
        Server::start(vec![answer("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: br", "x")]).await;
    assert_eq!(fetch(&server.url()).await.unwrap_err().error_type, "fetch_failed");
    let server = Server::start(vec![answer("HTTP/1.1 404 Not Found\r\ncontent-type: text/html", "x")]).await;
    assert_eq!(fetch(&server.url()).await.unwrap_err().message, "pages.example responded with 404 Not Found");
    assert!(fetch("http://nowhere.example/").await.unwrap_err().message.contains("no such name"));
}

#[tokio::test]
async fn hostile_markup_is_only_text() {
    for html in [
        "<div>".repeat(200_000) + "deep",
        "<a href=".repeat(100_000) + "deep",
        format!("<p {}>deep", "a=b ".repeat(200_000)),
        "<pre><table><li>".repeat(50_000) + "deep",
        "</div></pre></nav></main></a>".repeat(50_000) + "deep",
        "<nav><main>".repeat(50_000) + "deep",
    ] {
        let server = Server::page("text/html", &html).await;
        let result = fetch(&server.url()).await;
        assert!(result.is_ok() || result.is_err_and(|error| error.error_type == "no_text"));
    }
}
