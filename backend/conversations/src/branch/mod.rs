//! Selects the branch of a conversation that is shown. `window` reads the shown messages, and `tree` has the operations
//! on the tree of messages.

pub(crate) mod tree;
mod window;

use tallybook_accounts::UserId;
use tallybook_protocol::{Conversation, MessageId, Window};
use uuid::Uuid;

use crate::{
    ServiceError,
    branch::tree::newest_end,
    service::ConversationService,
    store::{conversations, messages},
};

impl ConversationService {
    /// Selects the branch through a message; if there are several, the one that was written to last. Returns the
    /// conversation with that branch, limited to `window`. Fails with `NoSuchMessage` if the conversation has no such
    /// message, and with `TurnRunning` or `AwaitingApproval` while a turn runs or waits.
    pub async fn select_message(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        window: Window,
    ) -> Result<Conversation, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let places = messages::list_tree_nodes(&context.db, row.id).await?;
        let head = newest_end(&places, message_id).ok_or(ServiceError::NoSuchMessage)?;
        if !conversations::select_head(&context.db, row.id, head).await? {
            return Err(context.busy(row.id).await?);
        }
        context.feeds.announce(user);
        // The response is the end of the branch, so `before` does not apply.
        let window = Window { before: None, ..window };
        self.find_conversation(user, uuid, window).await?.ok_or(ServiceError::NotFound)
    }
}
