//! The measured servers: Tallybook on its databases, and the peers that it is compared with. Each measurement starts a
//! new process, and a new model for it.

mod kind;
mod programs;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::json;
use tokio::time::timeout;

pub(crate) use self::{kind::Kind, programs::Programs};
use crate::{process::Process, workload::Workload};

/// Timeout for a stream to start.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A running peer.
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    pub(crate) process: Process,
    /// The model that it calls. It is declared after `process`, so it ends after it.
    _model: Process,
    /// Folder that must exist as long as the peer runs.
    _folder: tempfile::TempDir,
}

impl Peer {
    /// Returns the request whose response is the events of this turn. First creates a conversation, if the peer needs
    /// one.
    pub(crate) async fn turn(&self, client: &Client, workload: Workload) -> Result<RequestBuilder> {
        let base = format!("http://{}", self.process.address);
        let question = workload.question();
        Ok(match self.kind {
            Kind::Sqlite | Kind::Mysql => {
                let conversation = post(client, &format!("{base}/api/conversations"), &json!({})).await?;
                let uuid = conversation["uuid"].as_str().unwrap_or_default();
                client.post(format!("{base}/api/conversations/{uuid}/messages")).json(&json!({"content": question}))
            }
            Kind::Floor | Kind::LangGraph => client.post(format!("{base}/turn")).json(&json!({"message": question})),
            Kind::Pump => {
                // The pump has no tools.
                self.completion(client, "m", Workload { uses_tool: false, ..workload })
            }
        })
    }

    /// Returns the request with which an API client starts this turn. Only Tallybook supports it.
    pub(crate) fn program_turn(&self, client: &Client, workload: Workload) -> RequestBuilder {
        self.completion(client, "m", workload)
    }

    /// Returns the request of an API client for a direct model call, which is not stored. Only Tallybook supports it.
    pub(crate) fn plain(&self, client: &Client, workload: Workload) -> RequestBuilder {
        self.completion(client, "m:plain", Workload { uses_tool: false, ..workload })
    }

    fn completion(&self, client: &Client, model: &str, workload: Workload) -> RequestBuilder {
        let messages = json!([{"role": "user", "content": workload.question()}]);
        let body = json!({"model": model, "stream": true, "messages": messages});
        client.post(format!("http://{}/v1/chat/completions", self.process.address)).json(&body)
    }

    /// Returns the request for an idle stream.
    pub(crate) fn idle(&self, client: &Client) -> RequestBuilder {
        let path = match self.kind {
            Kind::Sqlite | Kind::Mysql => "/api/events",
            Kind::Floor | Kind::LangGraph => "/events",
            Kind::Pump => "/idle",
        };
        client.get(format!("http://{}{path}", self.process.address))
    }
}

/// Opens an idle stream. Returns once its headers have arrived, because its first data may be a keep-alive after
/// seconds.
pub(crate) async fn open_idle(request: RequestBuilder) -> Result<Response> {
    let response = timeout(TIMEOUT, request.send()).await.context("a stream did not start")?;
    Ok(response?.error_for_status()?)
}

/// Sends a JSON request and returns the JSON response.
pub(crate) async fn post(client: &Client, url: &str, body: &serde_json::Value) -> Result<serde_json::Value> {
    let response = client.post(url).json(body).send().await?;
    let status = response.status();
    let text = response.text().await?;
    if !status.is_success() {
        bail!("{url} returned {status}: {text}");
    }
    Ok(serde_json::from_str(&text)?)
}
