//! Checks the turn that the server has stored, through its API.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tallybook_protocol::{Conversation, Message, MessageStatus, Role, ToolCallStatus};
use tokio::time::{Instant, sleep};

use super::{behavior::Behavior, servers::Servers};

/// Timeout for the end of a turn that has no reader any more.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Waits until nothing runs in the conversation, and returns the conversation.
pub(super) async fn wait_for_end(servers: &Servers, number: usize, uuid: &str) -> Result<Conversation> {
    let until = Instant::now() + TIMEOUT;
    loop {
        let url = format!("{}/api/conversations/{uuid}", servers.url(number, 1));
        let conversation: Conversation = servers.read(&url).await?;
        if conversation.active_message_id.is_none() {
            return Ok(conversation);
        }
        let last = conversation.messages.last().map(|message| (message.status, message.content.len()));
        ensure!(Instant::now() < until, "the turn does not end: {last:?}");
        sleep(Duration::from_millis(500)).await;
    }
}

/// Compares the stored conversation with the expected one. Returns the stored answer.
pub(super) fn check<'a>(
    conversation: &'a Conversation,
    question: &str,
    answer: &str,
    behavior: Behavior,
    disturbed: bool,
) -> Result<&'a Message> {
    let roles: Vec<Role> = conversation.messages.iter().map(|message| message.role).collect();
    ensure!(roles == [Role::User, Role::Assistant], "the messages are not a question and an answer: {roles:?}");
    ensure!(conversation.messages[0].content == question, "the stored question is not the one that was sent");
    let message = conversation.messages.last().context("the conversation has no messages")?;
    check_answer(message, answer, behavior, disturbed)?;
    Ok(message)
}

fn check_answer(message: &Message, answer: &str, behavior: Behavior, disturbed: bool) -> Result<()> {
    let Message { status, content, tool_calls, .. } = message;
    if behavior == Behavior::Stops && *status == MessageStatus::Stopped {
        ensure!(answer.starts_with(content.as_str()), "the stored text is not a prefix of the answer");
    } else {
        ensure!(*status == MessageStatus::Complete, "the answer is stored as {status:?}: {:?}", message.error);
        ensure!(content == answer, "{} of {} bytes are stored", content.len(), answer.len());
    }
    // If a server was killed during a call, the outcome of the call is unknown, and a call that may run twice is
    // retried.
    let ours: Vec<_> = tool_calls.iter().filter(|call| call.tool_name == "add").collect();
    let is_known = |status| !disturbed || !matches!(status, ToolCallStatus::Interrupted | ToolCallStatus::Cancelled);
    let known: Vec<_> = ours.into_iter().filter(|call| is_known(call.status)).collect();
    ensure!(known.len() == 1, "{} calls are stored", known.len());
    ensure!(known[0].status == ToolCallStatus::Success, "the call is stored as {:?}", known[0].status);
    ensure!(known[0].output.as_deref() == Some("3"), "the call's output is {:?}", known[0].output);
    Ok(())
}
