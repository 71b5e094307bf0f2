//! Streamable HTTP, sessions of the older era and tokens included. Runs on a thread of its own and stops when dropped.

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, dev::ServerHandle, web};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{Fault, ScriptedTool, machine::Machine, tools::HEADERS, wire};

/// How long a test waits for something that must happen.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for which an idle connection is kept, and for which a request's head may take. The default of 5 s is less than a client
/// may need on a busy machine, and its request fails if it comes just when its connection is closed.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// A tool server on a port of 127.0.0.1, with its own token endpoint.
pub struct MockMcp {
    port: u16,
    state: Arc<State>,
    handle: ServerHandle,
}

struct State {
    machine: Machine,
    /// Whether requests need a token.
    closed: bool,
    tokens_down: AtomicBool,
    tokens_given: AtomicUsize,
    token_secs: AtomicU64,
    token_name: Mutex<String>,
    /// How the client shows itself to the token endpoint.
    client: Mutex<String>,
    takes_no_token: AtomicBool,
    good_tokens: Mutex<HashSet<String>>,
    sessions_given: AtomicUsize,
    good_sessions: Mutex<HashSet<String>>,
    redirect: Mutex<Option<String>>,
    received: Mutex<Vec<String>>,
    /// True while messages wait to be answered.
    held: watch::Sender<bool>,
    /// The bodies that were sent to the token endpoint.
    token_forms: Mutex<Vec<String>>,
    /// True if the token endpoint refuses requests with a `resource`.
    refuses_resource: AtomicBool,
}

impl MockMcp {
    /// A server with these faults.
    pub async fn start(faults: &[Fault]) -> io::Result<Self> {
        Self::on_port(faults, false, 0).await
    }

    /// A server that has these tools alone.
    pub async fn start_scripted(tools: Vec<ScriptedTool>) -> io::Result<Self> {
        Self::scripted_on_port(tools, 0).await
    }

    /// The same on this port.
    pub async fn scripted_on_port(tools: Vec<ScriptedTool>, port: u16) -> io::Result<Self> {
        Self::with_machine(Machine::scripted(tools), false, port).await
    }

    /// A server that wants tokens.
    pub async fn start_closed(faults: &[Fault]) -> io::Result<Self> {
        Self::on_port(faults, true, 0).await
    }

    /// A server on this port.
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

    /// The address of the server.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The address of its token endpoint. The client is `id` with the secret `secret`, unless it is another one.
    pub fn token_url(&self) -> String {
        format!("http://127.0.0.1:{}/token", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many tokens it gave.
    pub fn tokens_given(&self) -> usize {
        self.state.tokens_given.load(Ordering::SeqCst)
    }

    /// All tokens so far are no good any more.
    pub fn expire_tokens(&self) {
        lock(&self.state.good_tokens).clear();
    }

    /// The token endpoint fails, or works again.
    pub fn set_tokens_down(&self, down: bool) {
        self.state.tokens_down.store(down, Ordering::SeqCst);
    }

    /// Tokens say from now on that they are good for so many seconds; an hour, before. They are good for longer.
    pub fn set_token_life(&self, seconds: u64) {
        self.state.token_secs.store(seconds, Ordering::SeqCst);
    }

    /// The client is from now on the one that shows itself so in `Authorization`, and tokens begin with this word.
    pub fn set_client(&self, authorization: &str, token_name: &str) {
        authorization.clone_into(&mut lock(&self.state.client));
        token_name.clone_into(&mut lock(&self.state.token_name));
    }

    /// No token is good any more, whatever the token endpoint gives.
    pub fn take_no_token(&self) {
        self.state.takes_no_token.store(true, Ordering::SeqCst);
    }

    /// Makes all messages wait until `release`.
    pub fn hold(&self) {
        self.state.held.send_replace(true);
    }

    /// Answers the messages that wait.
    pub fn release(&self) {
        self.state.held.send_replace(false);
    }

    /// The bodies that were sent to the token endpoint.
    pub fn token_forms(&self) -> Vec<String> {
        lock(&self.state.token_forms).clone()
    }

    /// The token endpoint refuses requests with a `resource` from now on.
    pub fn refuse_resource(&self) {
        self.state.refuses_resource.store(true, Ordering::SeqCst);
    }

    /// All sessions so far are forgotten.
    pub fn lose_sessions(&self) {
        lock(&self.state.good_sessions).clear();
    }

    /// All requests are led to this address.
    pub fn redirect_to(&self, address: &str) {
        *lock(&self.state.redirect) = Some(address.to_owned());
    }

    /// Replaces the description of the first tool, without a word about it.
    pub fn describe_first_tool(&self, description: &str) {
        self.state.machine.tools()[0]["description"] = json!(description);
    }

    /// Replaces a part of the first tool, without a word about it.
    pub fn change_first_tool(&self, member: &str, value: Value) {
        self.state.machine.tools()[0][member] = value;
    }

    /// Renames the first tool.
    pub fn rename_first_tool(&self, name: &str) {
        self.state.machine.tools()[0]["name"] = json!(name);
    }

    /// Tells whoever has subscribed that the tools changed.
    pub fn tell_of_change(&self) {
        self.state.machine.tell_of_change();
    }

    /// The methods of all messages so far.
    pub fn seen(&self) -> Vec<String> {
        self.state.machine.seen().borrow().clone()
    }

    /// All that it was sent, each message after its headers, which are a line each.
    pub fn received(&self) -> Vec<String> {
        lock(&self.state.received).clone()
    }

    /// Waits until a message of this method came, or until it is noted that a call was `cancelled`.
    ///
    /// # Panics
    /// When that does not happen within 20 seconds.
    pub async fn has_seen(&self, method: &str) {
        self.has_seen_times(method, 1).await;
    }

    /// The same, so many times.
    ///
    /// # Panics
    /// When that does not happen within 20 seconds.
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
                    // It ends when the handle stops it; an error then has nobody left to hear it.
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

/// Gives a token.
async fn token(state: web::Data<State>, request: HttpRequest, form: Bytes) -> HttpResponse {
    state.machine.note("token");
    if state.tokens_down.load(Ordering::SeqCst) {
        return HttpResponse::ServiceUnavailable().finish();
    }
    let is_client = header(&request, "authorization") == Some(&lock(&state.client));
    if !is_client || !String::from_utf8_lossy(&form).contains("grant_type=client_credentials") {
        return HttpResponse::Unauthorized().json(json!({ "error": "invalid_client" }));
    }
    let form = String::from_utf8_lossy(&form).into_owned();
    let is_refused = form.contains("resource=") && state.refuses_resource.load(Ordering::SeqCst);
    lock(&state.token_forms).push(form);
    if is_refused {
        return HttpResponse::BadRequest().json(json!({ "error": "invalid_request" }));
    }
    let number = state.tokens_given.fetch_add(1, Ordering::SeqCst) + 1;
    let token = format!("{}-{number}", lock(&state.token_name));
    lock(&state.good_tokens).insert(token.clone());
    let seconds = state.token_secs.load(Ordering::SeqCst);
    HttpResponse::Ok().json(json!({ "access_token": token, "token_type": "Bearer", "expires_in": seconds }))
}

async fn message(state: web::Data<State>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    let headers: String = headers.collect();
    lock(&state.received).push(headers.clone() + &String::from_utf8_lossy(&body));
    // The sender is here, so this ends only when the message may be answered.
    let _ = state.held.subscribe().wait_for(|is_held| !is_held).await;
    if let Some(address) = lock(&state.redirect).clone() {
        return HttpResponse::TemporaryRedirect().append_header(("location", address)).finish();
    }
    if state.closed {
        let token = header(&request, "authorization").and_then(|value| value.strip_prefix("Bearer "));
        let is_good = token.is_some_and(|token| lock(&state.good_tokens).contains(token));
        if !is_good || state.takes_no_token.load(Ordering::SeqCst) {
            state.machine.note("unauthorized");
            return HttpResponse::Unauthorized().append_header(("www-authenticate", "Bearer")).finish();
        }
    }
    let mut message = wire::read(&String::from_utf8_lossy(&body)).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let session = header(&request, "mcp-session-id").map(str::to_owned);
    if session.is_some_and(|session| !lock(&state.good_sessions).contains(&session)) {
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
        lock(&state.good_sessions).insert(session.clone());
        response.append_header(("mcp-session-id", session));
    }
    response.content_type("application/json").body(wire::write(&answer))
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
