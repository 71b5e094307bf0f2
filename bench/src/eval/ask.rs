//! One task asked: a conversation of its own, the message, and the turn followed to its end. What takes too long, waits for a
//! person or fails is an answer that did not come, and never the end of the evaluation.

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

/// How long a request may take that asks no model.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// How often it is looked whether tool servers are connected.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A server that is asked.
#[derive(Clone, Debug)]
pub struct Server {
    /// What the requests go through.
    pub client: Client,
    /// Without a slash at its end.
    pub url: String,
    /// A key, where people sign in.
    pub key: Option<String>,
}

/// How a server is asked.
#[derive(Clone, Debug)]
pub struct Asking {
    /// A name of the catalog; the server's default otherwise.
    pub model: Option<String>,
    /// What the message says of how it is answered.
    pub mode: AnswerMode,
    /// How long an answer may take.
    pub patience: Duration,
}

impl Server {
    /// The models that it offers.
    ///
    /// # Errors
    /// When it does not answer as Tallybook does.
    pub async fn models(&self) -> Result<ModelList> {
        self.json(self.client.get(self.at("/api/models"))).await
    }

    /// The names of the tools that it offers, once it is connected to those tool servers that are there.
    ///
    /// # Errors
    /// When it does not answer as Tallybook does.
    pub async fn tools(&self) -> Result<Vec<String>> {
        let began = Instant::now();
        loop {
            let list: ToolList = self.json(self.client.get(self.at("/api/tools"))).await?;
            let is_connecting = list.servers.iter().any(|server| server.status == "connecting");
            if !is_connecting || began.elapsed() > REQUEST_TIME {
                return Ok(list.items.into_iter().map(|tool| tool.name).collect());
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Asks a task, and says how its answer was.
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
        let answer = timeout(asking.patience, follow(request)).await;
        let stop = async || {
            // What cannot be stopped has ended, or its server is gone; the next task tells.
            let _ = timeout(REQUEST_TIME, self.signed(self.client.post(format!("{path}/stop"))).send()).await;
        };
        match answer {
            Err(_) => {
                stop().await;
                bail!("there was no answer within {} s", asking.patience.as_secs())
            }
            Ok(Ok(end)) if end.status == MessageStatus::AwaitingApproval => {
                stop().await;
                bail!("it waits for consent to a call")
            }
            Ok(Ok(end)) if end.status != MessageStatus::Complete => {
                bail!("it ended {}: {}", end.status.as_str(), end.error.unwrap_or_default())
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
            bail!("{address} answers {status}: {text}");
        }
        serde_json::from_str(&text).with_context(|| format!("{address} answers something else"))
    }
}

/// Reads the turn's events to its end.
async fn follow(request: RequestBuilder) -> Result<MessageEnd> {
    let mut response = request.send().await?;
    if !response.status().is_success() {
        bail!("the message is refused with {}: {}", response.status(), response.text().await?);
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
    bail!("the answer broke off")
}

fn called(call: &tallybook_protocol::ToolCall) -> Called {
    Called { name: call.tool_name.clone(), has_succeeded: call.status == ToolCallStatus::Success }
}
