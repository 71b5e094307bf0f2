//! Writes a conversation's title after its first answer. The model is asked for it in an auxiliary call outside the
//! turn. Its title is used unless the user has set another one in the meantime. Until then, the title is the beginning
//! of the question.

use std::sync::Arc;

use tallybook_accounts::UserId;
use tallybook_agent::{AgentError, SideCall, TitleWriter};

use crate::models::Model;
use crate::{
    context::Context,
    store::{ConversationId, conversations, messages, turns::TurnRows},
    titles::{title_from_message, title_from_model},
    turn::side_call,
};

/// Reason why a conversation keeps its title.
#[derive(Debug, thiserror::Error)]
enum TitleError {
    #[error(transparent)]
    Model(#[from] AgentError),
    #[error("the database failed: {0}")]
    Storage(#[from] sqlx::Error),
}

/// Spawns a task that asks the model that answered for a title, after a turn has completed.
pub(crate) fn spawn_title(
    context: &Arc<Context>,
    model: &Model,
    user: UserId,
    conversation_id: ConversationId,
    turn: TurnRows,
) {
    let Some(writer) = model.titles().cloned() else { return };
    let task_context = Arc::clone(context);
    let writing = async move {
        let context = &*task_context;
        let written = Box::pin(write(context, &writer, user, conversation_id, turn));
        // The server does not wait for a title when it shuts down.
        if let Some(Err(error)) = context.draining.run_until_cancelled(written).await {
            tracing::info!(%error, "a conversation keeps the title from its question");
        }
    };
    context.spawn(writing);
}

async fn write(
    context: &Context,
    writer: &TitleWriter,
    user: UserId,
    conversation_id: ConversationId,
    turn: TurnRows,
) -> Result<(), TitleError> {
    let db = &context.db;
    if messages::count_complete_answers(db, conversation_id).await? != 1 {
        return Ok(());
    }
    let held = conversations::find_title(db, conversation_id).await?;
    let first = messages::find_first_question(db, conversation_id).await?;
    let automatic = first.as_deref().map(title_from_message);
    let Some(automatic) = automatic.filter(|automatic| held.as_ref() == Some(automatic)) else { return Ok(()) };
    let question = messages::find_message(db, conversation_id, turn.user_message_id).await?;
    let answer = messages::find_message(db, conversation_id, turn.assistant_message_id).await?;
    let (Some(question), Some(answer)) = (question, answer) else { return Ok(()) };
    let SideCall { text, call } = writer.write(&question.content, &answer.content).await?;
    side_call::record(context, turn.assistant_message_id, &call).await?;
    let written = text?;
    let Some(title) = title_from_model(&written).filter(|title| *title != automatic) else { return Ok(()) };
    if conversations::replace_title(db, conversation_id, &automatic, &title).await? {
        context.feeds.announce(user);
    }
    Ok(())
}
