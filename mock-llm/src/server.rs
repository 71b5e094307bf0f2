//! The HTTP server: receives requests, records them, and plays the next scripted reply. It runs on its own thread, so
//! that it works under any async runtime and stops when it is dropped.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, dev::ServerHandle, http::StatusCode, web};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use crate::{
    Gate, Part, Reply, anthropic, by_hand,
    capture::CapturedRequest,
    openai,
    script::{Body, PartKind},
    wire::{Action, Format, splinters},
};

/// A key that the server rejects. It accepts all others.
pub const WRONG_KEY: &str = "wrong-key";

/// Maximum length of a request's body, in bytes: far more than the server under test may send.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// Timeout of a test that waits for an event. The test then fails with a message.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout of an idle connection, and of a request's headers. On a busy machine a client may need more than the default
/// of 5 s. Its request fails if it arrives just when the server closes its connection.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// A model server on a free port of 127.0.0.1. Dropping it stops it.
#[derive(Debug)]
pub struct MockLlm {
    port: u16,
    state: Arc<State>,
    handle: ServerHandle,
}

/// The source of replies.
#[derive(Debug)]
pub(crate) enum Source {
    /// The queue that a test fills.
    Script(Mutex<VecDeque<Reply>>),
    /// The last message of the request.
    ByHand,
}

#[derive(Debug)]
pub(crate) struct State {
    source: Source,
    requests: Mutex<Vec<CapturedRequest>>,
    /// Response to a request for the list of models.
    offer: Mutex<Value>,
    count: watch::Sender<usize>,
}

impl MockLlm {
    /// Starts a server with nothing scripted.
    pub async fn start() -> io::Result<Self> {
        let state = Arc::new(State::new(Source::Script(Mutex::default())));
        let (port, handle) = spawn(state.clone(), 0).await?;
        Ok(Self { port, state, handle })
    }

    /// Sets the response to a request for the list of models. By default, it has the model `test-model`.
    pub fn offer(&self, list: Value) {
        *self.state.offer.lock() = list;
    }

    /// Returns the value for `LLM_BASE_URL`, for every provider: scheme, host and port, without `/v1`. The server has
    /// the routes `/v1/messages`, `/v1/chat/completions` and `/chat/completions`, and lists of models at `models`. So
    /// both conventions work: Anthropic's (base without `/v1`) and OpenAI's (base with everything before
    /// `/chat/completions`).
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Scripts the answer to the next request that has none yet.
    pub fn reply(&self, reply: impl Into<Reply>) {
        if let Source::Script(queue) = &self.state.source {
            queue.lock().push_back(reply.into());
        }
    }

    /// Scripts an answer that stops between two parts until the gate is opened.
    pub fn reply_gated<const N: usize, const M: usize>(&self, before: [Part; N], after: [Part; M]) -> Gate {
        let gate = Gate::new();
        let parts = before.into_iter().chain([Part(PartKind::Gate(gate.clone()))]).chain(after);
        self.reply(parts.collect::<Vec<_>>());
        gate
    }

    /// Scripts an answer that sends nothing, not even headers, until the gate is opened.
    pub fn reply_late(&self, reply: impl Into<Reply>) -> Gate {
        let gate = Gate::new();
        self.reply(reply.into().after(&gate));
        gate
    }

    /// Scripts an HTTP error.
    pub fn fail(&self, status: u16, body: impl Into<String>) {
        self.reply(Reply::fail(status, body));
    }

    /// Returns every request so far, oldest first.
    pub fn requests(&self) -> Vec<CapturedRequest> {
        self.state.requests.lock().clone()
    }

    /// Returns the number of scripted replies that no request has taken yet.
    pub fn unused_replies(&self) -> usize {
        match &self.state.source {
            Source::Script(queue) => queue.lock().len(),
            Source::ByHand => 0,
        }
    }

    /// Waits until the server has received this number of requests since its start.
    ///
    /// # Panics
    /// Panics if that does not happen within 20 seconds.
    pub async fn requests_reached(&self, count: usize) {
        let mut watcher = self.state.count.subscribe();
        let outcome = tokio::time::timeout(WAIT_TIMEOUT, watcher.wait_for(|seen| *seen >= count)).await;
        assert!(outcome.is_ok(), "the model server has not seen {count} requests within {} s", WAIT_TIMEOUT.as_secs());
    }

    /// Checks that in every request each tool call has its result and each result its call, in order, and that a reply
    /// was scripted for every request.
    ///
    /// # Panics
    /// Panics if that is not the case, and shows the request.
    pub fn assert_calls_paired(&self) {
        for (number, request) in self.requests().iter().enumerate() {
            let body = serde_json::to_string_pretty(&request.body).unwrap_or_default();
            if let Some(complaint) = request.complaint() {
                panic!("request {number} to {} would be refused: {complaint}\n{body}", request.path);
            }
            assert!(request.scripted, "no reply was scripted for request {number} to {}:\n{body}", request.path);
        }
    }
}

impl Drop for MockLlm {
    fn drop(&mut self) {
        // The command is sent at once; the future would only wait for its end.
        drop(self.handle.stop(false));
    }
}

impl State {
    pub(crate) fn new(source: Source) -> Self {
        let offer = Mutex::new(json!({"object": "list", "data": [{"id": "test-model", "object": "model"}]}));
        Self { source, requests: Mutex::default(), offer, count: watch::Sender::new(0) }
    }

    /// Records the request and chooses its answer.
    fn take(&self, mut request: CapturedRequest) -> (Reply, usize) {
        let format = request.format;
        let reply = if let Some(complaint) = request.complaint() {
            Reply::fail(400, error_body(format, "invalid_request_error", &complaint))
        } else {
            let next = match &self.source {
                Source::Script(queue) => queue.lock().pop_front(),
                Source::ByHand => Some(by_hand::reply_to(format, &request.body)),
            };
            request.scripted = next.is_some();
            let words = "tallybook-mock-llm: no reply was scripted for this request";
            next.unwrap_or_else(|| Reply::fail(500, error_body(format, "api_error", words)))
        };
        let number = {
            let mut requests = self.requests.lock();
            requests.push(request);
            requests.len()
        };
        self.count.send_replace(number);
        (reply, number)
    }
}

/// Starts the server on this port of 127.0.0.1 (0 for any free port). Returns the port and the handle that stops the
/// server.
///
/// The server answers `use NAME A B` with a call of that tool with `{"a": A, "b": B}`, a tool result with a sentence
/// that contains it, `fault:NAME` with that fault (see [`crate::fault`]), and anything else with an echo, which counts
/// the images of the message.
pub async fn serve_by_hand(port: u16) -> io::Result<(u16, ServerHandle)> {
    spawn(Arc::new(State::new(Source::ByHand)), port).await
}

/// Runs the server on its own thread. Returns the port and the server's handle once it listens.
pub(crate) async fn spawn(state: Arc<State>, port: u16) -> io::Result<(u16, ServerHandle)> {
    let (started, start) = oneshot::channel();
    std::thread::Builder::new().name("mock-llm".to_owned()).spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            match bind(state, port) {
                Ok((port, server)) => {
                    let _ = started.send(Ok((port, server.handle())));
                    // The server ends when its handle stops it; by then, no receiver of an error is left.
                    let _ = server.await;
                }
                Err(error) => drop(started.send(Err(error))),
            }
        });
    })?;
    start.await.map_err(io::Error::other)?
}

fn bind(state: Arc<State>, port: u16) -> io::Result<(u16, actix_web::dev::Server)> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::from(state.clone()))
            .app_data(web::PayloadConfig::new(MAX_REQUEST_BYTES))
            .route("/v1/messages", web::post().to(messages))
            .route("/v1/chat/completions", web::post().to(chat_completions))
            .route("/chat/completions", web::post().to(chat_completions))
            .route("/v1/models", web::get().to(models))
            .route("/models", web::get().to(models))
    })
    .workers(1)
    .disable_signals()
    .tcp_nodelay(true)
    // A disconnecting client is detected at once, so that gates can report it.
    .h1_allow_half_closed(false)
    .shutdown_timeout(0)
    .keep_alive(KEEP_ALIVE)
    .client_request_timeout(KEEP_ALIVE)
    .bind(("127.0.0.1", port))?;
    let port = server.addrs().first().map_or(port, std::net::SocketAddr::port);
    Ok((port, server.run()))
}

async fn models(state: web::Data<State>, request: HttpRequest) -> HttpResponse {
    rejection(&request).unwrap_or_else(|| HttpResponse::Ok().json(&*state.offer.lock()))
}

/// Returns the response to a request with the wrong key.
fn rejection(request: &HttpRequest) -> Option<HttpResponse> {
    let keys = request.headers().get("authorization").into_iter().chain(request.headers().get("x-api-key"));
    let is_wrong = keys.filter_map(|key| key.to_str().ok()).any(|key| key.ends_with(WRONG_KEY));
    let error =
        json!({"error": {"type": "authentication_error", "message": format!("Incorrect API key: {WRONG_KEY}")}});
    is_wrong.then(|| HttpResponse::Unauthorized().json(error))
}

async fn messages(state: web::Data<State>, request: HttpRequest, body: Bytes) -> HttpResponse {
    answer(Format::Anthropic, &state, &request, &body).await
}

async fn chat_completions(state: web::Data<State>, request: HttpRequest, body: Bytes) -> HttpResponse {
    answer(Format::OpenAi, &state, &request, &body).await
}

async fn answer(format: Format, state: &State, request: &HttpRequest, body: &Bytes) -> HttpResponse {
    if let Some(rejection) = rejection(request) {
        return rejection;
    }
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()));
    let body_text = String::from_utf8_lossy(body).into_owned();
    let json: Value = serde_json::from_str(&body_text).unwrap_or_default();
    let captured = CapturedRequest {
        path: request.path().to_owned(),
        headers: headers.collect(),
        body: json.clone(),
        body_text,
        scripted: false,
        format,
    };
    let (reply, number) = state.take(captured);
    if let Some(gate) = &reply.before_headers {
        gate.pass().await;
    }
    respond(format, reply, &json, number)
}

fn respond(format: Format, reply: Reply, request: &Value, number: usize) -> HttpResponse {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for (name, value) in reply.headers {
        response.append_header((name, value));
    }
    let model = request["model"].as_str().unwrap_or_default();
    let actions = match (reply.body, format) {
        (Body::Verbatim(bytes), _) if !reply.splintered => return response.body(bytes),
        (Body::Verbatim(bytes), _) => vec![Action::Send(bytes)],
        (Body::Stream { parts, stop_reason }, Format::Anthropic) => {
            anthropic::stream(&parts, stop_reason.as_deref(), model, number)
        }
        (Body::Stream { parts, stop_reason }, Format::OpenAi) => {
            let with_usage = request["stream_options"]["include_usage"] == true;
            openai::stream(&parts, stop_reason.as_deref(), model, number, with_usage)
        }
    };
    response.streaming(play(if reply.splintered { splinters(actions) } else { actions }))
}

fn play(actions: Vec<Action>) -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    async_stream::stream! {
        for action in actions {
            match action {
                Action::Send(bytes) => yield Ok(bytes),
                Action::Wait(gate) => gate.pass().await,
                Action::Cut => {
                    // If a body fails, the server discards what it has not flushed, and it flushes when the body has
                    // nothing ready.
                    tokio::task::yield_now().await;
                    yield Err(io::Error::other("cut, as scripted"));
                }
            }
        }
    }
}

fn error_body(format: Format, kind: &str, message: &str) -> String {
    match format {
        Format::Anthropic => anthropic::error_body(kind, message),
        Format::OpenAi => openai::error_body(kind, message),
    }
}
