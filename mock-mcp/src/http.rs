//! Streamable HTTP, with sessions of the older era and tokens. The server runs on its own thread and stops when
//! dropped.

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, dev::ServerHandle, web};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{Fault, ScriptedTool, machine::Machine, tools::HEADERS, wire};

/// Timeout of a test that waits for an event.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout of an idle connection, and of a request's headers. On a busy machine a client may need more than the default
/// of 5 s. Its request fails if it arrives just when the server closes its connection.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// A tool server on a port of 127.0.0.1, with its own token endpoint.
pub struct MockMcp {
    port: u16,
    state: Arc<State>,
    handle: ServerHandle,
}

struct State {
    machine: Machine,
    /// `true` if requests need a token.
    closed: bool,
    tokens_down: AtomicBool,
    tokens_given: AtomicUsize,
    token_secs: AtomicU64,
    token_name: Mutex<String>,
    /// The `Authorization` header with which the client authenticates at the token endpoint.
    client: Mutex<String>,
    takes_no_token: AtomicBool,
    good_tokens: Mutex<HashSet<String>>,
    sessions_given: AtomicUsize,
    good_sessions: Mutex<HashSet<String>>,
    redirect: Mutex<Option<String>>,
    received: Mutex<Vec<String>>,
    /// `true` while messages wait to be answered.
    held: watch::Sender<bool>,
    /// The bodies that were sent to the token endpoint.
    token_forms: Mutex<Vec<String>>,
    /// `true` if the token endpoint refuses requests with a `resource`.
    refuses_resource: AtomicBool,
}

impl MockMcp {
    /// Starts a server with these faults on a free port.
    pub async fn start(faults: &[Fault]) -> io::Result<Self> {
        Self::on_port(faults, false, 0).await
    }

    /// Starts a server that has only these tools on a free port.
    pub async fn start_scripted(tools: Vec<ScriptedTool>) -> io::Result<Self> {
        Self::scripted_on_port(tools, 0).await
    }

    /// Starts a server that has only these tools on this port.
    pub async fn scripted_on_port(tools: Vec<ScriptedTool>, port: u16) -> io::Result<Self> {
        Self::with_machine(Machine::scripted(tools), false, port).await
    }

    /// Starts a server that requires tokens on a free port.
    pub async fn start_closed(faults: &[Fault]) -> io::Result<Self> {
        Self::on_port(faults, true, 0).await
    }

    /// Starts a server with these faults on this port. It requires tokens if `closed` is true.
    pub async fn on_port(faults: &[Fault], closed: bool, port: u16) -> io::Result<Self> {
        Self::with_machine(Machine::new(faults.to_vec()), closed, port).await
    }

    async fn with_machine(machine: Machine, closed: bool, port: u16) -> io::Result<Self> {
        let state = Arc::new(State {
            machine,
            closed,
            tokens_down: AtomicBool::new(false),
            tokens_given: AtomicUsize::new(0),
            token_secs: AtomicU64::new(3600),
            token_name: Mutex::new("token".to_owned()),
            // id:secret
            client: Mutex::new("Basic aWQ6c2VjcmV0".to_owned()),
            takes_no_token: AtomicBool::new(false),
            good_tokens: Mutex::default(),
            sessions_given: AtomicUsize::new(0),
            good_sessions: Mutex::default(),
            redirect: Mutex::default(),
            received: Mutex::default(),
            held: watch::Sender::new(false),
            token_forms: Mutex::default(),
            refuses_resource: AtomicBool::new(false),
        });
        let (port, handle) = spawn(state.clone(), port).await?;
        Ok(Self { port, state, handle })
    }

    /// Returns the address of the server.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Returns the address of the token endpoint. The client ID is `id` and the secret `secret`, unless
    /// [`Self::set_client`] changes them.
    pub fn token_url(&self) -> String {
        format!("http://127.0.0.1:{}/token", self.port)
    }

    /// Accepts this token, as if the token endpoint had given it.
    pub fn accept_token(&self, token: &str) {
        self.state.good_tokens.lock().insert(token.to_owned());
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of tokens that the endpoint issued.
    pub fn tokens_given(&self) -> usize {
        self.state.tokens_given.load(Ordering::SeqCst)
    }

    /// Invalidates all tokens so far.
    pub fn expire_tokens(&self) {
        self.state.good_tokens.lock().clear();
    }

    /// Makes the token endpoint fail, or work again.
    pub fn set_tokens_down(&self, down: bool) {
        self.state.tokens_down.store(down, Ordering::SeqCst);
    }

    /// Sets the lifetime in seconds that new tokens claim; the default is an hour. The server accepts them for longer.
    pub fn set_token_life(&self, seconds: u64) {
        self.state.token_secs.store(seconds, Ordering::SeqCst);
    }

    /// Sets the `Authorization` header that the token endpoint accepts, and the prefix of new tokens.
    pub fn set_client(&self, authorization: &str, token_name: &str) {
        authorization.clone_into(&mut self.state.client.lock());
        token_name.clone_into(&mut self.state.token_name.lock());
    }

    /// Rejects every token from now on, even those that the token endpoint issues later.
    pub fn take_no_token(&self) {
        self.state.takes_no_token.store(true, Ordering::SeqCst);
    }

    /// Makes all messages wait until [`Self::release`].
    pub fn hold(&self) {
        self.state.held.send_replace(true);
    }

    /// Answers the messages that wait.
    pub fn release(&self) {
        self.state.held.send_replace(false);
    }

    /// Returns the bodies that were sent to the token endpoint.
    pub fn token_forms(&self) -> Vec<String> {
        self.state.token_forms.lock().clone()
    }

    /// Makes the token endpoint refuse requests with a `resource` from now on.
    pub fn refuse_resource(&self) {
        self.state.refuses_resource.store(true, Ordering::SeqCst);
    }

    /// Forgets all sessions so far.
    pub fn lose_sessions(&self) {
        self.state.good_sessions.lock().clear();
    }

    /// Redirects all requests to this address.
    pub fn redirect_to(&self, address: &str) {
        *self.state.redirect.lock() = Some(address.to_owned());
    }

    /// Replaces the description of the first tool without a notification.
    pub fn describe_first_tool(&self, description: &str) {
        self.state.machine.tools()[0]["description"] = json!(description);
    }

    /// Replaces a member of the first tool without a notification.
    pub fn change_first_tool(&self, member: &str, value: Value) {
        self.state.machine.tools()[0][member] = value;
    }

    /// Renames the first tool without a notification.
    pub fn rename_first_tool(&self, name: &str) {
        self.state.machine.tools()[0]["name"] = json!(name);
    }

    /// Notifies subscribers that the tools changed.
    pub fn notify_of_change(&self) {
        self.state.machine.notify_of_change();
    }

    /// Returns the methods of all messages so far, and notes such as `cancelled`.
    pub fn seen(&self) -> Vec<String> {
        self.state.machine.seen().borrow().clone()
    }

    /// Returns all messages received so far, each after its headers, which are one per line.
    pub fn received(&self) -> Vec<String> {
        self.state.received.lock().clone()
    }

    /// Waits until a message with this method arrives, or until `cancelled` is noted for a call.
    ///
    /// # Panics
    /// Panics if that does not happen within 20 seconds.
    pub async fn has_seen(&self, method: &str) {
        self.has_seen_times(method, 1).await;
    }

    /// Waits until the method was seen this number of times.
    ///
    /// # Panics
    /// Panics if that does not happen within 20 seconds.
    pub async fn has_seen_times(&self, method: &str, times: usize) {
        let mut seen = self.state.machine.seen();
        let is_so = |all: &Vec<String>| all.iter().filter(|one| *one == method).count() >= times;
        let waited = tokio::time::timeout(WAIT_TIMEOUT, seen.wait_for(is_so)).await;
        assert!(waited.is_ok(), "the tool server has not seen {method:?} {times} times, but {:?}", self.seen());
    }

    /// Stops the server at once.
    pub async fn stop(&self) {
        self.handle.stop(false).await;
    }
}

impl Drop for MockMcp {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

async fn spawn(state: Arc<State>, port: u16) -> io::Result<(u16, ServerHandle)> {
    let (started, start) = oneshot::channel();
    std::thread::Builder::new().name("mock-mcp".to_owned()).spawn(move || {
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
            .route("/mcp", web::post().to(message))
            .route("/mcp", web::delete().to(HttpResponse::NoContent))
            .route("/mcp", web::to(HttpResponse::MethodNotAllowed))
            .route("/token", web::post().to(token))
    })
    .workers(1)
    .disable_signals()
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .shutdown_timeout(0)
    .keep_alive(KEEP_ALIVE)
    .client_request_timeout(KEEP_ALIVE)
    .bind(("127.0.0.1", port))?;
    let port = server.addrs().first().map_or(port, std::net::SocketAddr::port);
    Ok((port, server.run()))
}

/// Issues a token.
async fn token(state: web::Data<State>, request: HttpRequest, form: Bytes) -> HttpResponse {
    state.machine.note("token");
    if state.tokens_down.load(Ordering::SeqCst) {
        return HttpResponse::ServiceUnavailable().finish();
    }
    let is_client = header(&request, "authorization") == Some(&state.client.lock());
    if !is_client || !String::from_utf8_lossy(&form).contains("grant_type=client_credentials") {
        return HttpResponse::Unauthorized().json(json!({ "error": "invalid_client" }));
    }
    let form = String::from_utf8_lossy(&form).into_owned();
    let is_refused = form.contains("resource=") && state.refuses_resource.load(Ordering::SeqCst);
    state.token_forms.lock().push(form);
    if is_refused {
        return HttpResponse::BadRequest().json(json!({ "error": "invalid_request" }));
    }
    let number = state.tokens_given.fetch_add(1, Ordering::SeqCst) + 1;
    let token = format!("{}-{number}", state.token_name.lock());
    state.good_tokens.lock().insert(token.clone());
    let seconds = state.token_secs.load(Ordering::SeqCst);
    HttpResponse::Ok().json(json!({ "access_token": token, "token_type": "Bearer", "expires_in": seconds }))
}

async fn message(state: web::Data<State>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    let headers: String = headers.collect();
    state.received.lock().push(headers.clone() + &String::from_utf8_lossy(&body));
    // The sender lives in `state`, so waiting ends only when the message may be answered.
    let _ = state.held.subscribe().wait_for(|is_held| !is_held).await;
    if let Some(address) = state.redirect.lock().clone() {
        return HttpResponse::TemporaryRedirect().append_header(("location", address)).finish();
    }
    if state.closed {
        let token = header(&request, "authorization").and_then(|value| value.strip_prefix("Bearer "));
        let is_good = token.is_some_and(|token| state.good_tokens.lock().contains(token));
        if !is_good || state.takes_no_token.load(Ordering::SeqCst) {
            state.machine.note("unauthorized");
            return HttpResponse::Unauthorized().append_header(("www-authenticate", "Bearer")).finish();
        }
    }
    let mut message = wire::read(&String::from_utf8_lossy(&body)).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let session = header(&request, "mcp-session-id").map(str::to_owned);
    if session.is_some_and(|session| !state.good_sessions.lock().contains(&session)) {
        return HttpResponse::NotFound().finish();
    }
    let (out, mut answers) = mpsc::channel(16);
    if message.get("id").is_none() {
        state.machine.take(&message, &out).await;
        return HttpResponse::Accepted().finish();
    }
    if method == "tools/call" && message["params"]["name"] == HEADERS {
        message["params"]["arguments"] = json!({ HEADERS: headers });
    }
    if method == "tools/call" && message["params"]["name"] == "die" {
        state.machine.note("tools/call die");
        let cut = async_stream::stream! {
            tokio::task::yield_now().await;
            yield Err::<Bytes, _>(io::Error::other("cut, as scripted"));
        };
        return HttpResponse::Ok().content_type("application/json").streaming(cut);
    }
    let is_stream = method == "tools/call" && !state.machine.faults.contains(&Fault::AnswersInJson);
    if is_stream || method == "subscriptions/listen" {
        let state = state.into_inner();
        let work = async move { state.machine.take(&message, &out).await };
        actix_web::rt::spawn(work);
        let events = async_stream::stream! {
            while let Some(answer) = answers.recv().await {
                yield Ok::<_, io::Error>(Bytes::from(format!("event: message\ndata: {}\n\n", wire::write(&answer))));
            }
        };
        return HttpResponse::Ok().content_type("text/event-stream").streaming(events);
    }
    state.machine.take(&message, &out).await;
    let answer = answers.recv().await.unwrap_or_default();
    let mut response = HttpResponse::Ok();
    if method == "initialize" {
        let session = format!("session-{}", state.sessions_given.fetch_add(1, Ordering::SeqCst) + 1);
        state.good_sessions.lock().insert(session.clone());
        response.append_header(("mcp-session-id", session));
    }
    response.content_type("application/json").body(wire::write(&answer))
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}
