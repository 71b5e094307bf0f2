//! Who is measured: Tallybook on its databases, and those that it is compared with. A peer is made anew for each measurement,
//! with the model that it asks.

mod kind;
mod programs;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::json;
use tokio::time::timeout;

pub(crate) use self::{kind::Kind, programs::Programs};
use crate::{process::Process, workload::Workload};

/// How long a stream may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running peer.
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    pub(crate) process: Process,
    /// What it asks; ended after it, since it is declared after it.
    _model: Process,
    /// What else has to stay for as long as it runs.
    _folder: tempfile::TempDir,
}

impl Peer {
    /// The request whose answer is this turn's events. What has to be there before that is made first.
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
                // It has no tools.
                self.completion(client, "m", Workload { uses_tool: false, ..workload })
            }
        })
    }

    /// The same turn as a program asks for it; only Tallybook has that.
    pub(crate) fn program_turn(&self, client: &Client, workload: Workload) -> RequestBuilder {
        self.completion(client, "m", workload)
    }

    /// The request of a program that wants a model's answer and nothing kept; only Tallybook has that.
    pub(crate) fn plain(&self, client: &Client, workload: Workload) -> RequestBuilder {
        self.completion(client, "m:plain", Workload { uses_tool: false, ..workload })
    }

    fn completion(&self, client: &Client, model: &str, workload: Workload) -> RequestBuilder {
        let messages = json!([{"role": "user", "content": workload.question()}]);
        let body = json!({"model": model, "stream": true, "messages": messages});
        client.post(format!("http://{}/v1/chat/completions", self.process.address)).json(&body)
    }

    /// The request of a stream on which nothing happens.
    pub(crate) fn idle(&self, client: &Client) -> RequestBuilder {
        let path = match self.kind {
            Kind::Sqlite | Kind::Mysql => "/api/events",
            Kind::Floor | Kind::LangGraph => "/events",
            Kind::Pump => "/idle",
        };
        client.get(format!("http://{}{path}", self.process.address))
    }
}

/// A stream on which nothing happens, once its head is here: what it says first may be a sign of life, after seconds.
pub(crate) async fn open_idle(request: RequestBuilder) -> Result<Response> {
    let response = timeout(PATIENCE, request.send()).await.context("a stream did not begin")?;
    Ok(response?.error_for_status()?)
}

/// Asks for JSON.
pub(crate) async fn post(client: &Client, url: &str, body: &serde_json::Value) -> Result<serde_json::Value> {
    let response = client.post(url).json(body).send().await?;
    let status = response.status();
    let text = response.text().await?;
    if !status.is_success() {
        bail!("{url} answers {status}: {text}");
    }
    Ok(serde_json::from_str(&text)?)
}
