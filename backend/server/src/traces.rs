//! Traces of turns for OpenTelemetry, where an endpoint is set: what agents, models and tools did and how long it took, named
//! by its conventions for generative AI, and nothing that anybody wrote. Without an endpoint nothing of it is there.

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

/// Spans that wait to be sent; what comes when there are so many is lost.
const MAX_WAITING_SPANS: usize = 4096;
/// How often spans are sent.
const SEND_EVERY: Duration = Duration::from_secs(5);
/// How long one attempt may take, and what is left at the end.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer that is read. There is nothing in it but how many spans were refused.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// What sends traces, until it is told that there are no more.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// For the collector at this address. What is sent is sent on `runtime`.
    pub(crate) fn to(endpoint: &str, runtime: Handle) -> anyhow::Result<Self> {
        // It fails when a provider is installed already, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none());
        let client = Client { http: http.build()?, runtime, is_failing: AtomicBool::new(false) };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(PATIENCE)
            .build()?;
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_WAITING_SPANS)
            .with_scheduled_delay(SEND_EVERY)
            .build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let resource = Resource::builder().with_service_name("tallybook").build();
        Ok(Self(SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource).build()))
    }

    /// What takes spans down: those of the agent, and no line of the log.
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

    /// Sends what still waits, for a while.
    pub(crate) fn end(self) {
        if let Err(error) = self.0.shutdown_with_timeout(PATIENCE) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// What asks the collector.
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
    /// Says once that the collector is out of reach, and once that it is back.
    fn note(&self, error: Option<&(dyn std::error::Error + 'static)>) {
        let was_failing = self.is_failing.swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !was_failing => {
                let cause = error.source().map(ToString::to_string);
                tracing::warn!(%error, cause, "traces cannot be sent; what is not sent is lost");
            }
            None if was_failing => tracing::info!("traces can be sent again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        // The exporter has a thread of its own, on which there is no runtime.
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
