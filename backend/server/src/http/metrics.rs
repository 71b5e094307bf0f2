//! Figures for monitoring, in the text format that Prometheus reads.

use std::fmt;

use actix_web::{dev::ServiceResponse, http::Method};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};
use tallybook_protocol::ModelList;

use crate::conversation::TurnCounts;

/// What is counted.
pub(super) struct Metrics {
    registry: Registry,
    turns_running: Gauge,
    connections: Gauge,
    requests: Family<RequestLabels, Counter>,
}

/// The labels of requests. There is a bounded number of them: a client cannot make up a route, a method or a status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

impl Metrics {
    /// The media type of [`Metrics::text`].
    pub(super) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// For a server whose answers come from these models, and whose turns are counted here. The model that is told is the
    /// default, by its name in the catalog.
    pub(super) fn new(models: &ModelList, turns: &TurnCounts) -> Self {
        let (name, provider) = models
            .items
            .iter()
            .find(|model| model.is_default)
            .map(|model| (model.name.clone(), model.provider.clone()))
            .unwrap_or_default();
        let (turns_running, connections, requests) = (Gauge::default(), Gauge::default(), Family::default());
        let info =
            Info::new(vec![("version", env!("CARGO_PKG_VERSION").to_owned()), ("provider", provider), ("model", name)]);
        let mut registry = Registry::default();
        // The format adds `_info` to the first name, and `_total` to those of counters.
        registry.register("tallybook", "What runs here", info);
        registry.register("tallybook_turns_running", "Turns that run in this process", turns_running.clone());
        registry.register("tallybook_turns_started", "Turns that this process started", turns.started.clone());
        registry.register("tallybook_turns_ended", "Turns whose end this process stored", turns.ended.clone());
        registry.register("tallybook_http_connections", "Connections that are open", connections.clone());
        registry.register("tallybook_http_requests", "Requests that were answered", requests.clone());
        Self { registry, turns_running, connections, requests }
    }

    /// All figures, as of now.
    pub(super) fn text(&self, turns_running: usize) -> Result<String, fmt::Error> {
        self.turns_running.set(i64::try_from(turns_running).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Counts a request by its answer.
    pub(super) fn count_answer<B>(&self, response: &ServiceResponse<B>) {
        let request = response.request();
        let route = request.match_pattern().unwrap_or_else(|| "other".to_owned());
        let (method, status) = (known(request.method()), response.status().as_u16());
        let labels = RequestLabels { method, route, status };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a connection until what is returned is dropped.
    pub(super) fn count_connection(&self) -> OpenConnection {
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }
}

/// A method's name, if it is one that some address takes.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// A connection that is counted as open.
pub(super) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}
