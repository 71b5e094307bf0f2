//! Naming a conversation by its first answer: the model is asked for a title, beside and after the turn, and the title is
//! taken unless somebody has given another one meanwhile. The title until then is the beginning of the question.

use std::sync::Arc;

use tallybook_agent::{AgentError, Aside, TitleWriter};

use super::{
    super::{
        context::Context,
        store::{ConversationId, conversations, messages, turns::TurnRows},
        titles::{title_from_message, title_from_model},
    },
    aside_call,
};
use crate::{accounts::UserId, models::Model};

/// Why a conversation keeps the title that it has.
#[derive(Debug, thiserror::Error)]
enum TitleError {
    #[error(transparent)]
    Model(#[from] AgentError),
    #[error("the database failed: {0}")]
    Storage(#[from] sqlx::Error),
}

/// Has a conversation named by the turn that has just ended well, by the model that answered, in a task of its own.
pub(super) fn write_soon(
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
        // A title is nothing that a server waits for when it stops.
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
    let Aside { text, call } = writer.write(&question.content, &answer.content).await?;
    aside_call::record(context, turn.assistant_message_id, &call).await?;
    let written = text?;
    let Some(title) = title_from_model(&written).filter(|title| *title != automatic) else { return Ok(()) };
    if conversations::replace_title(db, conversation_id, &automatic, &title).await? {
        context.feeds.announce(user);
    }
    Ok(())
}
