//! Which branch of a conversation is shown.

use tallybook_protocol::{Conversation, MessageId, Window};
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        service::ConversationService,
        store::{conversations, messages},
    },
    tree::newest_end,
};
use crate::accounts::UserId;

impl ConversationService {
    /// Shows a branch through a message, of several the one that was written to last. Gives the conversation as it is shown
    /// then, as far as `window` asks for it.
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
        // Messages before some other one are no answer to this: the end of the branch is.
        let window = Window { before: None, ..window };
        self.find_conversation(user, uuid, window).await?.ok_or(ServiceError::NotFound)
    }
}
