//! Naming a conversation by its first answer: the model is asked for a title, beside and after the turn, and the title is
//! taken unless somebody has given another one meanwhile. The title until then is the beginning of the question.

use std::sync::Arc;

use super::{
    input::{title_from_message, title_from_model},
    repository::{conversations, messages, turns::TurnRows},
    service::Inner,
};
use crate::{
    accounts::UserId,
    agent::{AgentError, TitleWriter},
};

/// Why a conversation keeps the title that it has.
#[derive(Debug, thiserror::Error)]
enum TitleError {
    #[error(transparent)]
    Model(#[from] AgentError),
    #[error("the database failed: {0}")]
    Storage(#[from] sqlx::Error),
}

impl Inner {
    /// Has a conversation named by the turn that has just ended well, in a task of its own.
    pub(super) fn name_soon(self: &Arc<Self>, user: UserId, conversation_id: i64, turn: TurnRows) {
        let Some(writer) = self.titles.clone() else { return };
        let inner = Arc::clone(self);
        let naming = async move {
            let named = inner.name(&writer, user, conversation_id, turn);
            // A title is nothing that a server waits for when it stops.
            if let Some(Err(error)) = inner.draining.run_until_cancelled(named).await {
                tracing::info!(%error, "a conversation keeps the title from its question");
            }
        };
        self.tasks.spawn_on(naming, &self.runtime);
    }

    async fn name(
        &self,
        writer: &TitleWriter,
        user: UserId,
        conversation_id: i64,
        turn: TurnRows,
    ) -> Result<(), TitleError> {
        if messages::count_complete_answers(&self.db, conversation_id).await? != 1 {
            return Ok(());
        }
        let held = conversations::find_title(&self.db, conversation_id).await?;
        let first = messages::find_first_question(&self.db, conversation_id).await?;
        let automatic = first.as_deref().map(title_from_message);
        let Some(automatic) = automatic.filter(|automatic| held.as_ref() == Some(automatic)) else { return Ok(()) };
        let question = messages::find_message(&self.db, conversation_id, turn.user_message_id).await?;
        let answer = messages::find_message(&self.db, conversation_id, turn.assistant_message_id).await?;
        let (Some(question), Some(answer)) = (question, answer) else { return Ok(()) };
        let written = writer.write(&question.content, &answer.content).await?;
        let Some(title) = title_from_model(&written).filter(|title| *title != automatic) else { return Ok(()) };
        if conversations::replace_title(&self.db, conversation_id, &automatic, &title).await? {
            self.changes.announce(user);
        }
        Ok(())
    }
}
