//! Metrics for monitoring, in the text format that Prometheus reads.

use std::fmt;

use actix_web::{dev::ServiceResponse, http::Method};
use prometheus_client::{
    encoding::{
        EncodeLabelSet,
        text::{encode, encode_registry},
    },
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};
use tallybook_conversations::ConversationService;
use tallybook_mcp::Status;

/// The metrics of this process.
pub(crate) struct Metrics {
    registry: Registry,
    turns_running: Gauge,
    connections: Gauge,
    streams: Gauge,
    requests: Family<RequestLabels, Counter>,
    database_connections: Family<StateLabels, Gauge>,
    tool_servers: Family<ServerLabels, Gauge>,
}

/// Label of database connections: `used` or `idle`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

/// Label of a tool server: its name in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    server: String,
}

/// Labels of requests. The number of label values is bounded, because a client cannot add a route, a method, or a
/// status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

impl Metrics {
    /// The media type of [`Metrics::text`].
    pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// Creates the metrics of a server with this service.
    pub(crate) fn new(service: &ConversationService) -> Self {
        let (turns, work) = (service.turn_counts(), service.work_counts());
        let new = Self {
            registry: Registry::default(),
            turns_running: Gauge::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            requests: Family::default(),
            database_connections: Family::default(),
            tool_servers: Family::default(),
        };
        let mut registry = Registry::default();
        // The encoder adds `_total` to the names of counters.
        registry.register("tallybook_turns_running", "Turns running in this process", new.turns_running.clone());
        registry.register("tallybook_turns_started", "Turns started by this process", turns.started.clone());
        registry.register("tallybook_turns_ended", "Turns whose end was stored by this process", turns.ended.clone());
        registry.register(
            "tallybook_turn_duration_seconds",
            "Duration of runs of turns, until the turn ends or waits for approval",
            work.turns.clone(),
        );
        registry.register("tallybook_steps", "Steps of turns", work.steps.clone());
        registry.register("tallybook_tool_calls", "Ended tool calls", work.tool_calls.clone());
        registry.register(
            "tallybook_tool_call_duration_seconds",
            "Duration of tool calls",
            work.tool_durations.clone(),
        );
        registry.register(
            "tallybook_model_call_duration_seconds",
            "Duration of model calls",
            work.model_durations.clone(),
        );
        registry.register("tallybook_tokens", "Input and output tokens of models", work.tokens.clone());
        registry.register("tallybook_cost", "Cost of model calls, in the currency of the prices", work.cost.clone());
        let files = service.files().counts();
        registry.register("tallybook_file_uploads", "Files that were uploaded", files.uploads.clone());
        registry.register(
            "tallybook_file_uploads_failed",
            "Uploads that were refused or failed",
            files.failed_uploads.clone(),
        );
        registry.register("tallybook_file_uploaded_bytes", "Bytes of uploaded files", files.uploaded_bytes.clone());
        registry.register(
            "tallybook_tool_server_up",
            "1 if the tool server is connected, otherwise 0",
            new.tool_servers.clone(),
        );
        let database = service.database().counts();
        registry.register(
            "tallybook_database_statements",
            "Statements that this process ran on the database",
            database.statements.clone(),
        );
        registry.register(
            "tallybook_database_transactions",
            "Transactions that this process began",
            database.transactions.clone(),
        );
        registry.register(
            "tallybook_database_connections",
            "Connections to the database",
            new.database_connections.clone(),
        );
        registry.register("tallybook_http_connections", "Open connections", new.connections.clone());
        registry.register("tallybook_http_streams", "Open event streams", new.streams.clone());
        registry.register("tallybook_http_requests", "Answered requests", new.requests.clone());
        Self { registry, ..new }
    }

    /// Returns all metrics with their current values.
    pub(crate) fn text(&self, service: &ConversationService) -> Result<String, fmt::Error> {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.turns_running.set(number(service.running_turns()));
        let (used, idle) = service.database().connections();
        for (state, count) in [("used", used), ("idle", idle)] {
            self.database_connections.get_or_create(&StateLabels { state }).set(number(count));
        }
        // A removed server has no state any more.
        self.tool_servers.clear();
        for report in service.tool_servers().reports() {
            let labels = ServerLabels { server: report.name.to_string() };
            self.tool_servers.get_or_create(&labels).set(i64::from(report.status == Status::Connected));
        }
        let mut text = String::new();
        encode_registry(&mut text, &described(service))?;
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Counts a request by its method, route, and status.
    pub(crate) fn count_answer<B>(&self, response: &ServiceResponse<B>) {
        let request = response.request();
        let route = request.match_pattern().unwrap_or_else(|| "other".to_owned());
        let (method, status) = (known(request.method()), response.status().as_u16());
        let labels = RequestLabels { method, route, status };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a connection as open until the returned value is dropped.
    pub(crate) fn count_connection(&self) -> Open {
        Open::count(&self.connections)
    }

    /// Counts an event stream as open until the returned value is dropped.
    pub(crate) fn count_stream(&self) -> Open {
        Open::count(&self.streams)
    }
}

/// Returns the metric that names the version and the current default model, which admins can change.
fn described(service: &ConversationService) -> Registry {
    let models = service.models().list();
    let default = models.items.into_iter().find(|model| model.is_default);
    let (model, provider) = default.map(|model| (model.name, model.provider)).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut registry = Registry::default();
    // The encoder adds `_info` to the name.
    let info = Info::new(vec![("version", version), ("provider", provider), ("model", model)]);
    registry.register("tallybook", "Version and default model of the server", info);
    registry
}

/// Returns the name of a method, or `other` if no route takes the method.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// A connection or event stream that counts as open.
pub(crate) struct Open(Gauge);

impl Open {
    fn count(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
