//! The page's files of one version: style sheets, browser code, icons. A release build embeds them, compressed in
//! advance. A debug build reads them once from the folder to which `cargo xtask` writes them.
//!
//! The page requests its files from a folder whose name is a hash of their content. So browsers can cache the files
//! permanently, and never mix two versions.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, LazyLock},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ContentEncoding, EntityTag},
};
use bytes::Bytes;
use rust_embed::RustEmbed;

use super::content_encoding::{ENCODINGS, FOREVER, accepted_encodings, head};
use crate::page_files::{NewFile, PageFiles};

#[derive(RustEmbed)]
#[folder = "../../target/site"]
#[allow_missing = true]
struct Embedded;

/// Name of the file with the licenses.
pub(crate) const LICENSES_FILE: &str = "licenses.txt";

/// Prefix of the names of the page's code and style sheets.
const FOLDER: &str = "pkg/";

/// The page's files of one version.
pub struct Site {
    /// Path of [`FOLDER`] on the server, without a final slash.
    folder: &'static str,
    files: BTreeMap<String, Content>,
    /// `true` if the files cannot change while the program runs. Only such files are stored for pages that stay open
    /// after an update.
    is_fixed: bool,
}

/// A file of the page.
#[derive(Clone, Debug)]
pub struct SiteFile {
    /// Path in the site, such as `pkg/tallybook.css`. The name of a compressed form also ends in `.br` or `.gz`.
    pub name: String,
    /// Content of the file.
    pub bytes: Bytes,
    /// Media type, such as `text/css`.
    pub media_type: String,
    /// Hash that distinguishes the content from any other.
    pub hash: u128,
}

/// A file, or a compressed form of a file.
struct Content {
    bytes: Bytes,
    tag: EntityTag,
    media_type: String,
}

impl Site {
    /// Returns the embedded files. In a debug build, returns the files as they were on disk at the first call: one
    /// server serves one version.
    pub fn built_in() -> Arc<Self> {
        static SITE: LazyLock<Arc<Site>> = LazyLock::new(|| Arc::new(Site::read()));
        Arc::clone(&SITE)
    }

    /// Creates a site from the caller's own files.
    pub fn of(files: impl IntoIterator<Item = SiteFile>) -> Self {
        let files = files.into_iter().map(|SiteFile { name, bytes, media_type, hash }| {
            (name, Content { bytes, tag: EntityTag::new_strong(format!("{hash:x}")), media_type })
        });
        Self::new(files, true)
    }

    fn read() -> Self {
        let files = Embedded::iter().filter_map(|name| Some((name.clone(), Embedded::get(&name)?)));
        let files = files.map(|(name, file)| {
            let bytes = match file.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            };
            // Half of a SHA-256 hash is enough to distinguish the versions of a file.
            let hash = u128::from_be_bytes(first_half(file.metadata.sha256_hash()));
            SiteFile { name: name.into_owned(), bytes, media_type: file.metadata.mimetype().to_owned(), hash }
        });
        Self { is_fixed: !cfg!(debug_assertions), ..Self::of(files) }
    }

    fn new(files: impl Iterator<Item = (String, Content)>, is_fixed: bool) -> Self {
        let files: BTreeMap<_, _> = files.collect();
        let mut version = DefaultHasher::new();
        for (name, content) in files.iter().filter(|(name, _)| name.starts_with(FOLDER)) {
            (name, content.tag.tag()).hash(&mut version);
        }
        // Leaks the path, because most sites exist as long as the program runs.
        let folder = format!("/{FOLDER}{:016x}", version.finish()).leak();
        Self { folder, files, is_fixed }
    }

    /// Returns the path of the folder with the page's code and style sheets, without a final slash. It contains the
    /// version.
    pub(crate) fn folder(&self) -> &'static str {
        self.folder
    }

    /// Stores the files of this version for servers of other versions. Only logs errors, because only pages that stay
    /// open after an update need the files.
    pub(crate) async fn keep(self: Arc<Self>, kept: PageFiles) {
        let in_folder = |name: &'_ String| name.starts_with(FOLDER);
        let files = self.files.iter().filter(|(name, _)| in_folder(name)).map(|(name, content)| {
            let original = ENCODINGS.iter().find_map(|(_, end)| self.files.get(name.strip_suffix(end)?));
            let media_type = &*original.unwrap_or(content).media_type;
            NewFile { name: &name[FOLDER.len()..], media_type, tag: content.tag.tag(), bytes: &content.bytes }
        });
        let files: Vec<NewFile<'_>> = files.collect();
        if !self.is_fixed || files.is_empty() {
            return;
        }
        if let Err(error) = kept.keep(self.folder, &files).await {
            tracing::warn!(%error, "cannot store the page's files for pages that stay open after an update");
        }
    }

    /// Returns a file of exactly this version, which never changes.
    pub(crate) fn versioned(&self, request: &HttpRequest) -> Option<HttpResponse> {
        let file = request.path().strip_prefix(self.folder)?.strip_prefix('/')?;
        self.answer(request, &format!("{FOLDER}{file}"), FOREVER)
    }

    /// Returns a file whose name does not contain its version. Browsers revalidate it each time, and usually find it
    /// unchanged.
    pub(crate) fn unversioned(&self, request: &HttpRequest) -> Option<HttpResponse> {
        self.named(request, request.path().trim_start_matches('/'))
    }

    /// Returns the unversioned file with this name. Ignores the path of the request.
    pub(crate) fn named(&self, request: &HttpRequest, name: &str) -> Option<HttpResponse> {
        self.answer(request, name, "no-cache")
    }

    /// Returns the licenses of all components of the program and its page; `None` if this build does not contain them.
    pub fn licenses(&self) -> Option<&[u8]> {
        self.files.get(LICENSES_FILE).map(|content| &*content.bytes)
    }

    fn answer(&self, request: &HttpRequest, name: &str, caching: &'static str) -> Option<HttpResponse> {
        let original = self.files.get(name)?;
        let form = |(encoding, end)| Some((self.files.get(&format!("{name}{end}"))?, encoding));
        let (content, encoding) = accepted_encodings(request).find_map(form)?;
        let (mut response, is_known) = head(request, &content.tag, caching);
        if is_known {
            return Some(response.finish());
        }
        if encoding != ContentEncoding::Identity {
            response.insert_header(encoding);
        }
        Some(response.content_type(&*original.media_type).body(content.bytes.clone()))
    }
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
        let files = files.iter().map(|(name, text)| {
            let tag = EntityTag::new_strong(text.replace(' ', "-"));
            let bytes = Bytes::from((*text).to_owned());
            ((*name).to_owned(), Content { bytes, tag, media_type: "text/css".to_owned() })
        });
        Site::new(files, false)
    }

    fn style() -> Site {
        site(&[("favicon.svg", "icon"), ("pkg/a.css", "plain"), ("pkg/a.css.br", "brotli"), ("pkg/a.css.gz", "gzip")])
    }

    async fn get(site: &Site, file: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
        let request = TestRequest::get().uri(&format!("{}/{file}", site.folder));
        let request = headers.iter().fold(request, |request, header| request.insert_header(*header));
        let response = site.versioned(&request.to_http_request()).unwrap_or_else(|| HttpResponse::NotFound().finish());
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
    async fn files_that_the_client_has_are_not_sent_again() {
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
    async fn the_path_depends_on_the_version() {
        let changed = site(&[("pkg/a.css", "changed")]);
        assert_ne!(style().folder, changed.folder);
        assert_eq!(
            style().folder,
            site(&[("pkg/a.css.gz", "gzip"), ("pkg/a.css", "plain"), ("pkg/a.css.br", "brotli")]).folder
        );
        let request = TestRequest::get().uri(&format!("{}/a.css", style().folder)).to_http_request();
        assert!(changed.versioned(&request).is_none());
    }

    #[actix_web::test]
    async fn names_do_not_leave_the_folder() {
        let site = style();
        for name in ["", "b.css", "../favicon.svg", "..%2ffavicon.svg", "/etc/passwd", "a.css/"] {
            assert_eq!(get(&site, name, &[]).await.0, StatusCode::NOT_FOUND, "{name}");
        }
        let icon = site.unversioned(&TestRequest::get().uri("/favicon.svg").to_http_request()).unwrap();
        assert_eq!(icon.status(), StatusCode::OK);
        assert_eq!(icon.headers().get("cache-control").unwrap(), "no-cache");
    }
}
