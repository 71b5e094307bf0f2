//! Runs one turn with its reader, and checks the result.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::{Response, StatusCode, header::HeaderName};
use serde_json::{Value, json};
use tallybook_protocol::{Conversation, MessageStatus};
use tokio::time::{sleep, timeout};

use super::{
    behavior::{Behavior, STALL},
    played,
    record::Record,
    servers::{PAUSE, Servers},
    stored,
    witness::{self, Known},
};
use crate::workload::Workload;

/// Timeout of a turn with its reader.
const TURN_TIME: Duration = Duration::from_mins(10);

/// Maximum number of reconnects. With the pause before most of them, this is longer than it takes until a dead server's
/// turn is closed.
const MAX_VISITS: usize = 100;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The workload of every turn: a tool call, then two seconds of text.
const WORKLOAD: Workload = Workload { tokens: 200, gap: Duration::from_millis(10), uses_tool: true, is_numbered: true };

/// Results of a turn that passed all checks.
#[derive(Clone, Debug)]
pub(super) struct Done {
    /// Time from the request to the first text.
    pub(super) first: Duration,
    pub(super) took: Duration,
    /// Number of times that the reader resumed the answer after a server was killed.
    pub(super) continued: usize,
    /// The note of this turn, and how often the `witness` tool ran with it according to the stored calls.
    known: Option<(String, Known)>,
}

impl Done {
    /// Compares the stored calls with what the tool itself has noted.
    pub(super) fn compared(self, noted: &HashMap<String, usize>) -> Result<Self> {
        if let Some((note, known)) = &self.known {
            witness::compare(*known, noted.get(note).copied().unwrap_or_default()).with_context(|| note.clone())?;
        }
        Ok(self)
    }
}

/// Runs the turn with this number.
pub(super) async fn run(servers: &Servers, number: usize) -> Result<Done> {
    let behavior = Behavior::of(number);
    let outcome = timeout(TURN_TIME, converse(servers, number, behavior)).await;
    outcome.unwrap_or_else(|_| bail!("the turn did not end")).with_context(|| format!("turn {number} ({behavior:?})"))
}

async fn converse(servers: &Servers, number: usize, behavior: Behavior) -> Result<Done> {
    let base = servers.url(number, 0);
    let url = format!("{base}/api/conversations");
    let made = servers.send(|client| client.post(&url).json(&json!({}))).await?;
    ensure!(made.status().is_success(), "cannot create a conversation: {}", made.text().await?);
    let conversation: Value = made.json().await?;
    let uuid = conversation["uuid"].as_str().context("the conversation has no id")?;
    let record = Record::new(servers.disturbed);
    let mut reader = Reader { servers, number, uuid, record, began: Instant::now(), first: None };
    let answer = WORKLOAD.answer();
    let place = behavior.acts_after(number, answer.len());
    // With this ID, a message that is sent twice is stored once.
    let content = if servers.has_witness { WORKLOAD.question_with_note(uuid) } else { WORKLOAD.question() };
    let question = json!({"content": content, "client_message_id": uuid});
    let url = format!("{base}/api/conversations/{uuid}/messages");
    let response = servers.send(|client| client.post(&url).json(&question)).await?;
    ensure!(response.status().is_success(), "the message was refused: {}", response.text().await?);
    let mut connection = Some(response);
    if let Some(place) = place {
        connection = reader.read_until(connection, place).await?;
        match behavior {
            Behavior::Reads => {}
            Behavior::Stalls => sleep(STALL).await,
            Behavior::Stops => reader.stop().await?,
            Behavior::Resumes | Behavior::Leaves => connection = None,
        }
    }
    if behavior != Behavior::Leaves {
        reader.read_to_end(connection).await?;
    }
    let took = reader.began.elapsed();
    let first = reader.first.unwrap_or(took);
    let continued = reader.resume().await?;
    let conversation = stored::wait_for_end(servers, number, uuid).await?;
    let stored = stored::check(&conversation, &content, &answer, behavior, servers.disturbed)?;
    played::check(servers, number, uuid, stored).await?;
    let known = servers.has_witness.then(|| witness::known(stored)).transpose()?;
    if let Some(end) = reader.record.end {
        check_received(&reader.record, end, &answer, behavior)?;
    }
    let known = known.map(|known| (uuid.to_owned(), known));
    Ok(Done { first, took, continued, known })
}

fn check_received(record: &Record, end: MessageStatus, answer: &str, behavior: Behavior) -> Result<()> {
    let may_stop = behavior == Behavior::Stops && end == MessageStatus::Stopped;
    let (received, all) = (record.text.len(), answer.len());
    ensure!(
        may_stop || (end == MessageStatus::Complete && record.text == answer),
        "the reader received {end:?} and {received} of {all} bytes"
    );
    ensure!(answer.starts_with(&record.text), "the reader received different text");
    Ok(())
}

/// The reader of one turn.
struct Reader<'a> {
    servers: &'a Servers,
    number: usize,
    uuid: &'a str,
    record: Record,
    began: Instant,
    first: Option<Duration>,
}

impl Reader<'_> {
    /// Reads until the text has `bytes` bytes. Returns the connection, or `None` if it has ended.
    async fn read_until(&mut self, connection: Option<Response>, bytes: usize) -> Result<Option<Response>> {
        let Some(mut connection) = connection else { return Ok(None) };
        while self.record.text.len() < bytes {
            // The reader can recover from a broken connection: it reconnects.
            let Ok(Some(chunk)) = connection.chunk().await else { return Ok(None) };
            self.record.read(&chunk)?;
            if self.first.is_none() && !self.record.text.is_empty() {
                self.first = Some(self.began.elapsed());
            }
        }
        Ok(Some(connection))
    }

    /// Reads to the end of the turn, with as many reconnects as that takes.
    async fn read_to_end(&mut self, mut connection: Option<Response>) -> Result<()> {
        for visit in 1..=MAX_VISITS {
            let heard = self.record.last_id.clone();
            self.read_until(connection.take(), usize::MAX).await?;
            if self.record.end.is_some() {
                return Ok(());
            }
            // The page does the same: the turn of a dead server is closed only after a while.
            if self.servers.disturbed && visit > 1 && self.record.last_id == heard {
                sleep(PAUSE).await;
            }
            self.record.reconnect();
            connection = self.follow(visit).await?;
            if connection.is_none() && self.servers.disturbed && self.is_over().await? {
                return Ok(());
            }
        }
        bail!("the reader reconnected {MAX_VISITS} times and received no end")
    }

    /// Returns `true` if the turn has ended. A reader that was reconnecting from a killed server may have missed the
    /// end.
    async fn is_over(&self) -> Result<bool> {
        let url = format!("{}/api/conversations/{}", self.servers.url(self.number, 0), self.uuid);
        let conversation: Conversation = self.servers.read(&url).await?;
        Ok(conversation.active_message_id.is_none())
    }

    /// Resumes the answer and reads its events, until the answer is no longer interrupted. Returns how often it was
    /// resumed.
    async fn resume(&mut self) -> Result<usize> {
        let mut times = 0;
        while self.servers.disturbed && times < MAX_VISITS {
            let conversation = stored::wait_for_end(self.servers, self.number, self.uuid).await?;
            let answer = conversation.messages.last().context("the conversation has no messages")?;
            if answer.status != MessageStatus::Interrupted {
                break;
            }
            times += 1;
            self.record = Record::new(true);
            let url = format!("{}/api/conversations/{}/continue", self.servers.url(self.number, 0), self.uuid);
            let response = self.servers.send(|client| client.post(&url).json(&json!({}))).await?;
            // An earlier request of this reader may have succeeded, although its response was lost.
            let connection = Some(response).filter(|response| response.status().is_success());
            self.read_to_end(connection).await?;
        }
        Ok(times)
    }

    /// Reconnects for the events that follow.
    async fn follow(&self, visit: usize) -> Result<Option<Response>> {
        let base = self.servers.url(self.number, visit);
        let mut request = self.servers.client.get(format!("{base}/api/conversations/{}/events", self.uuid));
        if let Some(id) = &self.record.last_id {
            request = request.header(LAST_EVENT_ID, id);
        }
        let Ok(response) = request.send().await else {
            // A server that is gone comes back, or another one replaces it.
            sleep(PAUSE).await;
            return Ok(None);
        };
        match response.status() {
            // The page would reload the conversation.
            StatusCode::NO_CONTENT if self.servers.disturbed => Ok(None),
            StatusCode::NO_CONTENT => bail!("no turn runs, and the reader has not received the end"),
            status if status.is_success() => Ok(Some(response)),
            status if status.is_server_error() => {
                sleep(PAUSE).await;
                Ok(None)
            }
            status => bail!("the event stream was refused with {status}: {}", response.text().await?),
        }
    }

    /// Stops the turn. The turn may end by itself in the meantime.
    async fn stop(&self) -> Result<()> {
        let base = self.servers.url(self.number, 0);
        let url = format!("{base}/api/conversations/{}/stop", self.uuid);
        let response = self.servers.send(|client| client.post(&url)).await?;
        let status = response.status();
        ensure!(status.is_success() || status == StatusCode::CONFLICT, "the stop was refused with {status}");
        Ok(())
    }
}
