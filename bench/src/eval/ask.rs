//! Asks one task: creates a conversation, sends the message, and follows the turn to its end. If the turn takes too
//! long, waits for approval, or fails, the task counts as failed, and the evaluation continues.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tallybook_protocol::{
    AnswerMode, ChatEvent, MessageEnd, MessageStatus, ModelList, ToolCallStatus, ToolList, Usage, sse::Decoder,
};
use tokio::time::{sleep, timeout};

use super::{
    check::Called,
    outcome::{Outcome, Verdict},
    task::Task,
};

/// Timeout of a request that calls no model.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// Poll interval while tool servers connect.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A server to evaluate.
#[derive(Clone, Debug)]
pub struct Server {
    /// The HTTP client for requests.
    pub client: Client,
    /// Base URL, without a trailing slash.
    pub url: String,
    /// API key, if the server has accounts.
    pub key: Option<String>,
}

/// Settings with which a task is asked.
#[derive(Clone, Debug)]
pub struct Asking {
    /// Catalog name of the model; `None` is the server's default.
    pub model: Option<String>,
    /// Answer mode of the message.
    pub mode: AnswerMode,
    /// Timeout of an answer.
    pub timeout: Duration,
}

impl Server {
    /// Returns the models of the server.
    ///
    /// # Errors
    /// Returns an error if the server does not answer as Tallybook does.
    pub async fn models(&self) -> Result<ModelList> {
        self.json(self.client.get(self.at("/api/models"))).await
    }

    /// Returns the names of the server's tools. Waits up to 30 seconds until the available tool servers are connected.
    ///
    /// # Errors
    /// Returns an error if the server does not answer as Tallybook does.
    pub async fn tools(&self) -> Result<Vec<String>> {
        let began = Instant::now();
        loop {
            let list: ToolList = self.json(self.client.get(self.at("/api/tools"))).await?;
            let is_connecting = list.servers.iter().any(|server| server.status == "connecting");
            if !is_connecting || began.elapsed() > REQUEST_TIME {
                return Ok(list.items.into_iter().map(|tool| tool.name).collect());
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Asks a task and checks the answer.
    pub async fn ask(&self, task: &Task, asking: &Asking) -> Outcome {
        let began = Instant::now();
        let answer = self.answer(task, asking).await;
        let (verdict, usage, text) = match answer {
            Ok(end) => {
                let calls: Vec<Called> = end.tool_calls.iter().map(called).collect();
                let complaints = task.checks.iter().filter_map(|check| check.complaint(&end.content, &calls));
                let complaints: Vec<String> = complaints.collect();
                let verdict = if complaints.is_empty() {
                    Verdict::Passed
                } else {
                    Verdict::Failed(format!("the answer {}", complaints.join(", and ")))
                };
                (verdict, end.usage, end.content)
            }
            Err(error) => (Verdict::Failed(format!("{error:#}")), Usage::default(), String::new()),
        };
        Outcome { verdict, usage, took: began.elapsed(), text, ..Outcome::of(task) }
    }

    async fn answer(&self, task: &Task, asking: &Asking) -> Result<MessageEnd> {
        let new = json!({ "model": asking.model });
        let conversation: Value = self.json(self.client.post(self.at("/api/conversations")).json(&new)).await?;
        let uuid = conversation["uuid"].as_str().context("the conversation has no id")?;
        let path = self.at(&format!("/api/conversations/{uuid}"));
        let message = json!({ "content": task.ask, "mode": asking.mode });
        let request = self.signed(self.client.post(format!("{path}/messages")).json(&message));
        let answer = timeout(asking.timeout, follow(request)).await;
        let stop = async || {
            // If the turn cannot be stopped, it has ended, or its server is gone. The next task will show that.
            let _ = timeout(REQUEST_TIME, self.signed(self.client.post(format!("{path}/stop"))).send()).await;
        };
        match answer {
            Err(_) => {
                stop().await;
                bail!("there was no answer within {} s", asking.timeout.as_secs())
            }
            Ok(Ok(end)) if end.status == MessageStatus::AwaitingApproval => {
                stop().await;
                bail!("a call waits for approval")
            }
            Ok(Ok(end)) if end.status != MessageStatus::Complete => {
                bail!("the answer ended as {}: {}", end.status.as_str(), end.error.unwrap_or_default())
            }
            Ok(answer) => answer,
        }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    async fn json<T: serde::de::DeserializeOwned>(&self, request: RequestBuilder) -> Result<T> {
        let response = self.signed(request).timeout(REQUEST_TIME).send().await?;
        let (status, address) = (response.status(), response.url().clone());
        let text = response.text().await?;
        if !status.is_success() {
            bail!("{address} returned {status}: {text}");
        }
        serde_json::from_str(&text).with_context(|| format!("{address} returned an unexpected response"))
    }
}

/// Reads the turn's events to its end.
async fn follow(request: RequestBuilder) -> Result<MessageEnd> {
    let mut response = request.send().await?;
    if !response.status().is_success() {
        bail!("the message was refused with {}: {}", response.status(), response.text().await?);
    }
    let mut decoder = Decoder::new();
    while let Some(bytes) = response.chunk().await? {
        for frame in decoder.push(&bytes).map_err(|error| anyhow::anyhow!("{error}"))? {
            match ChatEvent::parse(&frame.event, &frame.data) {
                Ok(ChatEvent::MessageEnd(end)) => return Ok(end),
                Ok(ChatEvent::Error(error)) => bail!("the turn failed: {} ({})", error.error, error.code),
                _ => {}
            }
        }
    }
    bail!("the answer was incomplete")
}

fn called(call: &tallybook_protocol::ToolCall) -> Called {
    Called { name: call.tool_name.clone(), has_succeeded: call.status == ToolCallStatus::Success }
}
