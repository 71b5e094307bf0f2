//! What the server has of a turn when it is over, read through its API.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tallybook_protocol::{Conversation, Message, MessageStatus, Role, ToolCallStatus};
use tokio::time::{Instant, sleep};

use super::{Servers, behavior::Behavior};

/// How long a turn may go on that nobody reads any more.
const PATIENCE: Duration = Duration::from_mins(2);

/// Waits until nothing runs, and compares what is stored with what must be.
pub(super) async fn check(
    servers: &Servers,
    number: usize,
    uuid: &str,
    answer: &str,
    behavior: Behavior,
) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let conversation = loop {
        let url = format!("{}/api/conversations/{uuid}", servers.url(number, 1));
        let response = servers.client.get(url).send().await?;
        let conversation: Conversation = response.error_for_status()?.json().await?;
        if conversation.active_message_id.is_none() {
            break conversation;
        }
        ensure!(Instant::now() < until, "the turn goes on and on");
        sleep(Duration::from_millis(500)).await;
    };
    let roles: Vec<Role> = conversation.messages.iter().map(|message| message.role).collect();
    ensure!(roles == [Role::User, Role::Assistant], "there are other messages than two: {roles:?}");
    let message = conversation.messages.last().context("there is no answer")?;
    check_answer(message, answer, behavior)
}

fn check_answer(message: &Message, answer: &str, behavior: Behavior) -> Result<()> {
    let Message { status, content, tool_calls, .. } = message;
    if behavior == Behavior::Stops && *status == MessageStatus::Stopped {
        ensure!(answer.starts_with(content.as_str()), "what is stored is no beginning of the answer");
    } else {
        ensure!(*status == MessageStatus::Complete, "it is stored as {status:?}: {:?}", message.error);
        ensure!(content == answer, "{} of {} bytes are stored", content.len(), answer.len());
    }
    ensure!(tool_calls.len() == 1, "{} calls are stored", tool_calls.len());
    ensure!(tool_calls[0].status == ToolCallStatus::Success, "the call is stored as {:?}", tool_calls[0].status);
    ensure!(tool_calls[0].output.as_deref() == Some("3"), "the call gave {:?}", tool_calls[0].output);
    Ok(())
}
