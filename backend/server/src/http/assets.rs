//! The page's files: style, browser side, icon. A release build carries them inside, compressed beforehand; a debug build
//! reads them, once, from where `cargo xtask` puts them.
//!
//! The page asks for its files in a folder that is named after their content, so that a browser keeps them for good and
//! never mixes two versions.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    iter,
    sync::LazyLock,
};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, AcceptEncoding, ContentEncoding, Encoding, EntityTag, Header as _, IfNoneMatch},
};
use bytes::Bytes;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../target/site"]
#[allow_missing = true]
struct Embedded;

/// What stands in the folder of the page's program and style.
const FOLDER: &str = "pkg/";

/// In which ways a file may be compressed, the smallest first, and what its name then ends in.
const ENCODINGS: [(ContentEncoding, &str); 2] = [(ContentEncoding::Brotli, ".br"), (ContentEncoding::Gzip, ".gz")];

/// All files, as they were when the first was asked for: one server hands out one version.
static SITE: LazyLock<Site> = LazyLock::new(Site::read);

struct Site {
    /// The address of [`FOLDER`], without a slash at its end.
    folder: String,
    files: BTreeMap<String, Content>,
}

/// A file, or a compressed form of it.
struct Content {
    bytes: Bytes,
    tag: EntityTag,
    media_type: String,
}

impl Site {
    fn read() -> Self {
        let files = Embedded::iter().filter_map(|name| Some((name.clone(), Embedded::get(&name)?)));
        Self::new(files.map(|(name, file)| {
            let bytes = match file.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            };
            // Half of a SHA-256 tells two versions of a file apart as well as the whole.
            let hash = u128::from_be_bytes(first_half(file.metadata.sha256_hash()));
            let tag = EntityTag::new_strong(format!("{hash:x}"));
            (name.into_owned(), Content { bytes, tag, media_type: file.metadata.mimetype().to_owned() })
        }))
    }

    fn new(files: impl Iterator<Item = (String, Content)>) -> Self {
        let files: BTreeMap<_, _> = files.collect();
        let mut version = DefaultHasher::new();
        for (name, content) in files.iter().filter(|(name, _)| name.starts_with(FOLDER)) {
            (name, content.tag.tag()).hash(&mut version);
        }
        Self { folder: format!("/{FOLDER}{:016x}", version.finish()), files }
    }

    /// A file of this very version, which never changes.
    fn versioned(&self, request: &HttpRequest) -> HttpResponse {
        let file = request.path().strip_prefix(&self.folder).and_then(|rest| rest.strip_prefix('/'));
        let name = file.map(|file| format!("{FOLDER}{file}"));
        name.and_then(|name| self.answer(request, &name, "public, max-age=31536000, immutable"))
            // A cache on the way must not remember that a server of another version did not have it.
            .unwrap_or_else(|| not_found().insert_header((header::CACHE_CONTROL, "no-store")).body(NOT_FOUND))
    }

    /// A file whose name does not change with the content, so browsers ask for it each time; mostly the answer is 304.
    fn unversioned(&self, request: &HttpRequest) -> HttpResponse {
        let name = request.path().trim_start_matches('/');
        self.answer(request, name, "no-cache").unwrap_or_else(|| not_found().body(NOT_FOUND))
    }

    fn answer(&self, request: &HttpRequest, name: &str, caching: &'static str) -> Option<HttpResponse> {
        let original = self.files.get(name)?;
        let (content, encoding) = self.compressed(request, name).unwrap_or((original, ContentEncoding::Identity));
        let is_known = match IfNoneMatch::parse(request) {
            Ok(IfNoneMatch::Any) => true,
            Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|tag| tag.weak_eq(&content.tag)),
            Err(_) => false,
        };
        let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        response
            .insert_header((header::ETAG, content.tag.clone()))
            .insert_header((header::CACHE_CONTROL, caching))
            .insert_header((header::VARY, "accept-encoding"));
        if is_known {
            return Some(response.finish());
        }
        if encoding != ContentEncoding::Identity {
            response.insert_header(encoding);
        }
        Some(response.content_type(&*original.media_type).body(content.bytes.clone()))
    }

    /// The smallest form of a file that the client can read.
    fn compressed(&self, request: &HttpRequest, name: &str) -> Option<(&Content, ContentEncoding)> {
        let accepted = AcceptEncoding::parse(request).ok()?;
        ENCODINGS.into_iter().find_map(|(encoding, end)| {
            let wanted = Encoding::Known(encoding);
            let content = self.files.get(&format!("{name}{end}"))?;
            (accepted.negotiate(iter::once(&wanted)) == Some(wanted)).then_some((content, encoding))
        })
    }
}

/// The address of the folder with the page's program and style, without a slash at its end.
pub(super) fn folder() -> &'static str {
    &SITE.folder
}

pub(super) async fn versioned(request: HttpRequest) -> HttpResponse {
    SITE.versioned(&request)
}

pub(super) async fn unversioned(request: HttpRequest) -> HttpResponse {
    SITE.unversioned(&request)
}

const NOT_FOUND: &str = "There is no such file.\n";

fn not_found() -> HttpResponseBuilder {
    let mut response = HttpResponse::NotFound();
    response.content_type("text/plain");
    response
}

fn first_half(hash: [u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| hash[index])
}

#[cfg(test)]
mod tests {
    use actix_web::{
        body::to_bytes,
        http::{StatusCode, header::HeaderMap},
        test::TestRequest,
    };

    use super::*;

    fn site(files: &[(&str, &str)]) -> Site {
        Site::new(files.iter().map(|(name, text)| {
            let tag = EntityTag::new_strong(text.replace(' ', "-"));
            let bytes = Bytes::from((*text).to_owned());
            ((*name).to_owned(), Content { bytes, tag, media_type: "text/css".to_owned() })
        }))
    }

    fn style() -> Site {
        site(&[("favicon.svg", "icon"), ("pkg/a.css", "plain"), ("pkg/a.css.br", "brotli"), ("pkg/a.css.gz", "gzip")])
    }

    async fn get(site: &Site, file: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
        let request = TestRequest::get().uri(&format!("{}/{file}", site.folder));
        let request = headers.iter().fold(request, |request, header| request.insert_header(*header));
        let response = site.versioned(&request.to_http_request());
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body()).await.unwrap();
        (status, headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[actix_web::test]
    async fn each_client_gets_the_smallest_form_that_it_can_read() {
        let site = style();
        for (accepted, expected, encoding) in [
            ("gzip, deflate, br, zstd", "brotli", Some("br")),
            ("br;q=0.1, gzip", "brotli", Some("br")),
            ("gzip, br;q=0", "gzip", Some("gzip")),
            ("*", "plain", None),
            ("zstd", "plain", None),
            ("identity", "plain", None),
            ("", "plain", None),
        ] {
            let (status, headers, body) = get(&site, "a.css", &[("accept-encoding", accepted)]).await;
            assert_eq!((status, &*body), (StatusCode::OK, expected), "{accepted}");
            assert_eq!(headers.get("content-encoding").map(|value| value.to_str().unwrap()), encoding, "{accepted}");
            assert_eq!(headers.get("content-type").unwrap(), "text/css");
            assert_eq!(headers.get("vary").unwrap(), "accept-encoding");
            assert_eq!(headers.get("cache-control").unwrap(), "public, max-age=31536000, immutable");
            assert_eq!(headers.get("etag").unwrap(), &*format!("\"{expected}\""));
        }
    }

    #[actix_web::test]
    async fn what_the_client_has_is_not_sent_again() {
        let site = style();
        for known in ["\"brotli\"", "W/\"brotli\"", "\"other\", \"brotli\"", "*"] {
            let (status, headers, body) =
                get(&site, "a.css", &[("accept-encoding", "br"), ("if-none-match", known)]).await;
            assert_eq!((status, &*body), (StatusCode::NOT_MODIFIED, ""), "{known}");
            assert_eq!(headers.get("etag").unwrap(), "\"brotli\"");
        }
        let other = get(&site, "a.css", &[("if-none-match", "\"brotli\"")]).await;
        assert_eq!((other.0, &*other.2), (StatusCode::OK, "plain"), "another form is another answer");
    }

    #[actix_web::test]
    async fn another_version_has_another_address() {
        let changed = site(&[("pkg/a.css", "changed")]);
        assert_ne!(style().folder, changed.folder);
        assert_eq!(
            style().folder,
            site(&[("pkg/a.css.gz", "gzip"), ("pkg/a.css", "plain"), ("pkg/a.css.br", "brotli")]).folder
        );
        let request = TestRequest::get().uri(&format!("{}/a.css", style().folder)).to_http_request();
        let refused = changed.versioned(&request);
        assert_eq!(refused.status(), StatusCode::NOT_FOUND);
        assert_eq!(refused.headers().get("cache-control").unwrap(), "no-store");
    }

    #[actix_web::test]
    async fn names_lead_nowhere_else() {
        let site = style();
        for name in ["", "b.css", "../favicon.svg", "..%2ffavicon.svg", "/etc/passwd", "a.css/"] {
            assert_eq!(get(&site, name, &[]).await.0, StatusCode::NOT_FOUND, "{name}");
        }
        let icon = site.unversioned(&TestRequest::get().uri("/favicon.svg").to_http_request());
        assert_eq!(icon.status(), StatusCode::OK);
        assert_eq!(icon.headers().get("cache-control").unwrap(), "no-cache");
    }
}
