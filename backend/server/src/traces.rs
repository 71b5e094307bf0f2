//! Exports traces of turns to an OpenTelemetry collector if an endpoint is set; otherwise collects nothing. The spans
//! of agents, models, and tools are named by the OpenTelemetry conventions for generative AI. They contain no texts of
//! users or models.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider},
};
use tallybook_agent::SPAN_TARGET;
use tokio::runtime::Handle;
use tracing::{Level, Subscriber};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

/// Maximum number of spans waiting to be sent; further spans are dropped.
const MAX_WAITING_SPANS: usize = 4096;
/// Interval between two sends.
const SEND_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout of one request, and of the last send at shutdown.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response, in bytes; reading stops after it. A response says only how many spans were refused.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Sends traces until shutdown.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Creates the sender for the collector at this URL. Requests run on `runtime`.
    pub(crate) fn to(endpoint: &str, runtime: Handle) -> anyhow::Result<Self> {
        let http = tallybook_http_client::client().timeout(TIMEOUT);
        let client = Client { http: http.build()?, runtime, is_failing: AtomicBool::new(false) };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(TIMEOUT)
            .build()?;
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_WAITING_SPANS)
            .with_scheduled_delay(SEND_INTERVAL)
            .build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let resource = Resource::builder().with_service_name("tallybook").build();
        Ok(Self(SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource).build()))
    }

    /// Returns the layer that records the agent's spans, and no log events.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_tracer(self.0.tracer("tallybook"))
            .with_filter(Targets::new().with_target(SPAN_TARGET, Level::INFO))
    }

    /// Sends the remaining spans, for at most `TIMEOUT`.
    pub(crate) fn end(self) {
        if let Err(error) = self.0.shutdown_with_timeout(TIMEOUT) {
            tracing::warn!(%error, "cannot send the last traces");
        }
    }
}

/// HTTP client for the collector.
struct Client {
    http: reqwest::Client,
    runtime: Handle,
    is_failing: AtomicBool,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

impl Client {
    /// Logs when the collector becomes unreachable, and when it is reachable again; repeated errors are not logged.
    fn note(&self, error: Option<&(dyn std::error::Error + 'static)>) {
        let was_failing = self.is_failing.swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !was_failing => {
                let cause = error.source().map(ToString::to_string);
                tracing::warn!(%error, cause, "cannot send traces; unsent traces are lost");
            }
            None if was_failing => tracing::info!("sending traces works again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        // The exporter runs on its own thread, which has no runtime.
        let sent = self.runtime.spawn(async move {
            let mut response = http.execute(reqwest::Request::try_from(request)?).await?.error_for_status()?;
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = response.status();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_ANSWER_BYTES {
                    break;
                }
            }
            *answer.body_mut() = body.into();
            Ok::<_, reqwest::Error>(answer)
        });
        match sent.await? {
            Ok(answer) => {
                self.note(None);
                Ok(answer)
            }
            Err(error) => {
                let error = error.without_url();
                self.note(Some(&error));
                Err(error.into())
            }
        }
    }
}
