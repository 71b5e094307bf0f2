//! An S3-compatible store in memory, which a test can make unreachable.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpResponseBuilder, HttpServer,
    dev::ServerHandle,
    http::{Method, StatusCode, header},
    web,
};
use parking_lot::Mutex;
use url::form_urlencoded;

/// Path of the bucket.
const BUCKET: &str = "/bucket/";

/// A running store. It stops when it is dropped.
pub(crate) struct Bucket {
    address: String,
    state: Arc<State>,
    server: ServerHandle,
}

#[derive(Default)]
struct State {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Parts of unfinished uploads, by the key of the object and the number of the part.
    parts: Mutex<HashMap<String, BTreeMap<u32, Vec<u8>>>>,
    is_down: AtomicBool,
}

impl Bucket {
    pub(crate) fn start() -> Self {
        let state = Arc::new(State::default());
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

    /// Makes the store answer each request with 503, or not any more.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, Ordering::Relaxed);
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
    if state.is_down.load(Ordering::Relaxed) {
        return HttpResponse::ServiceUnavailable().finish();
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
                objects.insert(key, body.to_vec());
            }
            ok().finish()
        }
        Method::POST if query.contains_key("uploads") => xml(&format!(
            "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>{key}</Key>\
                 <UploadId>1</UploadId></InitiateMultipartUploadResult>"
        )),
        Method::POST if query.contains_key("uploadId") => {
            let content = parts.remove(&key).unwrap_or_default().into_values().flatten().collect();
            let done = xml(&format!(
                "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>{key}</Key>\
                 <ETag>\"1\"</ETag></CompleteMultipartUploadResult>"
            ));
            objects.insert(key, content);
            done
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
            let listed = objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(name, content)| {
                let size = content.len();
                format!(
                    "<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                     <ETag>\"1\"</ETag><Size>{size}</Size></Contents>"
                )
            });
            let listed: String = listed.collect();
            xml(&format!(
                "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"
            ))
        }
        Method::GET => match objects.get(&key) {
            Some(content) => range(&request, content),
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
fn range(request: &HttpRequest, content: &[u8]) -> HttpResponse {
    let asked = request.headers().get(header::RANGE).and_then(|value| value.to_str().ok());
    let Some(asked) = asked.and_then(|asked| asked.strip_prefix("bytes=")) else {
        return ok().body(content.to_vec());
    };
    let (first, last) = asked.split_once('-').expect("a range");
    let first: usize = first.parse().expect("a number");
    let last = last.parse().unwrap_or(usize::MAX).min(content.len() - 1);
    let mut answer = ok();
    answer.status(StatusCode::PARTIAL_CONTENT);
    answer.insert_header((header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", content.len())));
    answer.body(content[first..=last].to_vec())
}
