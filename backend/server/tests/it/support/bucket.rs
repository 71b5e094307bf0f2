//! An S3-compatible store in memory, which a test can make unreachable, slow, or silent.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::Arc,
    time::Duration,
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpResponseBuilder, HttpServer,
    body::SizedStream,
    dev::ServerHandle,
    http::{Method, StatusCode, header},
    web,
};
use chrono::{DateTime, SecondsFormat, Utc};
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use url::form_urlencoded;

/// Path of the bucket.
const BUCKET: &str = "/bucket/";

/// Size of the pieces in which a slow store sends an object, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// Interval between two pieces of a slow store. A mebibyte takes 0.4 seconds.
const PIECE_INTERVAL: Duration = Duration::from_millis(25);

/// Behavior of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketState {
    Up,
    /// Answers each request with 503.
    Down,
    /// Accepts requests and never answers.
    Silent,
    /// Sends half of the requested content, and nothing more.
    Stalling,
    /// Sends content slowly.
    Slow,
}

/// A running store. It stops when it is dropped.
pub(crate) struct Bucket {
    address: String,
    state: Arc<State>,
    server: ServerHandle,
}

struct State {
    objects: Mutex<BTreeMap<String, Object>>,
    /// Parts of unfinished uploads, by the key of the object and the number of the part.
    parts: Mutex<HashMap<String, BTreeMap<u32, Vec<u8>>>>,
    behavior: Mutex<BucketState>,
}

struct Object {
    content: Vec<u8>,
    written_at: DateTime<Utc>,
}

impl Object {
    fn new(content: Vec<u8>) -> Self {
        Self { content, written_at: Utc::now() }
    }
}

impl Bucket {
    pub(crate) fn start() -> Self {
        let state = Arc::new(State {
            objects: Mutex::default(),
            parts: Mutex::default(),
            behavior: Mutex::new(BucketState::Up),
        });
        let data = web::Data::from(Arc::clone(&state));
        let app = move || {
            let payload = web::PayloadConfig::new(64 * 1024 * 1024);
            App::new().app_data(data.clone()).app_data(payload).default_service(web::to(answer))
        };
        let server = HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        tokio::spawn(server);
        Self { address, state, server: handle }
    }

    /// Returns the environment variables with which the program stores files here.
    pub(crate) fn variables(&self) -> [(&'static str, &str); 6] {
        [
            ("FILES_URL", "s3://bucket/tallybook"),
            ("AWS_ENDPOINT", &self.address),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_REGION", "us-east-1"),
        ]
    }

    /// Changes the behavior of the store for all requests that begin from now on.
    pub(crate) fn set_state(&self, state: BucketState) {
        *self.state.behavior.lock() = state;
    }

    /// Writes an object that appears to be this old.
    pub(crate) fn write(&self, key: &str, content: &[u8], age: Duration) {
        let object = Object { content: content.to_vec(), written_at: Utc::now() - age };
        self.state.objects.lock().insert(key.to_owned(), object);
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, key: &str) {
        self.state.objects.lock().remove(key);
    }

    /// Returns the keys of all objects.
    pub(crate) fn keys(&self) -> Vec<String> {
        let objects = self.state.objects.lock();
        objects.keys().cloned().collect()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

async fn answer(request: HttpRequest, body: web::Bytes, state: web::Data<State>) -> HttpResponse {
    let behavior = *state.behavior.lock();
    match behavior {
        BucketState::Down => return HttpResponse::ServiceUnavailable().finish(),
        BucketState::Silent => std::future::pending().await,
        BucketState::Up | BucketState::Stalling | BucketState::Slow => {}
    }
    let query: HashMap<String, String> =
        form_urlencoded::parse(request.query_string().as_bytes()).into_owned().collect();
    let Some(key) = format!("{}/", request.path()).strip_prefix(BUCKET).map(|key| key.trim_end_matches('/').to_owned())
    else {
        return HttpResponse::NotFound().finish();
    };
    let mut objects = state.objects.lock();
    let mut parts = state.parts.lock();
    match *request.method() {
        Method::PUT => {
            if let Some(number) = query.get("partNumber") {
                let number = number.parse().expect("a number");
                parts.entry(key).or_default().insert(number, body.to_vec());
            } else {
                objects.insert(key, Object::new(body.to_vec()));
            }
            ok().finish()
        }
        Method::POST if query.contains_key("uploads") => xml(&format!(
            "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>{key}</Key>\
                 <UploadId>1</UploadId></InitiateMultipartUploadResult>"
        )),
        Method::POST if query.contains_key("uploadId") => {
            // A client that got no answer repeats the request.
            match parts.remove(&key) {
                Some(parts) => {
                    let content = parts.into_values().collect::<Vec<_>>().concat();
                    objects.insert(key.clone(), Object::new(content));
                }
                None if objects.contains_key(&key) => {}
                None => return HttpResponse::NotFound().finish(),
            }
            xml(&format!(
                "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>{key}</Key>\
                 <ETag>\"1\"</ETag></CompleteMultipartUploadResult>"
            ))
        }
        Method::POST if query.contains_key("delete") => {
            let names = String::from_utf8_lossy(&body).into_owned();
            let names = names.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
            let deleted = names.map(|name| {
                objects.remove(name);
                format!("<Deleted><Key>{name}</Key></Deleted>")
            });
            let deleted: String = deleted.collect();
            xml(&format!("<DeleteResult>{deleted}</DeleteResult>"))
        }
        Method::GET if query.contains_key("list-type") => {
            let prefix = query.get("prefix").map_or("", String::as_str);
            let listed = objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(name, object)| {
                let size = object.content.len();
                let written_at = object.written_at.to_rfc3339_opts(SecondsFormat::Millis, true);
                format!(
                    "<Contents><Key>{name}</Key><LastModified>{written_at}</LastModified>\
                     <ETag>\"1\"</ETag><Size>{size}</Size></Contents>"
                )
            });
            let listed: String = listed.collect();
            xml(&format!(
                "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"
            ))
        }
        Method::GET | Method::HEAD => match objects.get(&key) {
            Some(object) => range(&request, &object.content, behavior),
            None => HttpResponse::NotFound().finish(),
        },
        Method::DELETE => {
            objects.remove(&key);
            HttpResponse::NoContent().finish()
        }
        _ => HttpResponse::MethodNotAllowed().finish(),
    }
}

/// Returns an answer with the headers that all objects have.
fn ok() -> HttpResponseBuilder {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::ETAG, "\"1\""));
    answer.insert_header((header::LAST_MODIFIED, "Thu, 01 Jan 2026 00:00:00 GMT"));
    answer
}

fn xml(content: &str) -> HttpResponse {
    ok().content_type("application/xml").body(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{content}"))
}

/// Returns the range of an object that was requested, or all of it.
fn range(request: &HttpRequest, content: &[u8], behavior: BucketState) -> HttpResponse {
    let asked = request.headers().get(header::RANGE).and_then(|value| value.to_str().ok());
    let Some(asked) = asked.and_then(|asked| asked.strip_prefix("bytes=")) else {
        return send(ok(), content, behavior);
    };
    let (first, last) = asked.split_once('-').expect("a range");
    let first: usize = first.parse().expect("a number");
    if first >= content.len() {
        return HttpResponse::RangeNotSatisfiable().finish();
    }
    let last = last.parse().unwrap_or(usize::MAX).min(content.len() - 1);
    let mut answer = ok();
    answer.status(StatusCode::PARTIAL_CONTENT);
    answer.insert_header((header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", content.len())));
    send(answer, &content[first..=last], behavior)
}

/// Sends content at the speed of the store.
fn send(mut answer: HttpResponseBuilder, content: &[u8], behavior: BucketState) -> HttpResponse {
    let length = content.len() as u64;
    let content = web::Bytes::copy_from_slice(content);
    match behavior {
        BucketState::Stalling => {
            let half = Ok::<_, io::Error>(content.slice(..content.len() / 2));
            answer.body(SizedStream::new(length, stream::iter([half]).chain(stream::pending())))
        }
        BucketState::Slow => {
            let pieces: Vec<_> = content.chunks(PIECE_BYTES).map(web::Bytes::copy_from_slice).collect();
            let paced = stream::iter(pieces).then(async |piece| {
                tokio::time::sleep(PIECE_INTERVAL).await;
                Ok::<_, io::Error>(piece)
            });
            answer.body(SizedStream::new(length, Box::pin(paced)))
        }
        BucketState::Up | BucketState::Down | BucketState::Silent => answer.body(content),
    }
}
