//! Beginning a turn: with a new message, with another version of one, or to answer one anew.

use std::sync::Arc;

use tallybook_protocol::{ChatEvent, MessageId, MessageStart, NewMessage};
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        branch::tree::Versions,
        context::Context,
        input::{check_message, title_from_message},
        service::ConversationService,
        store::{
            ConversationId,
            conversations::UNTITLED,
            messages,
            rows::{ConversationRow, Place},
            turns::{self, Below, Claim, NewTurn, Question, TurnRows},
        },
    },
    start::{NewRun, StartPermit, start},
    subscribe::{EventsAnswer, subscribe_known},
};
use crate::accounts::UserId;

impl ConversationService {
    /// Stores a message and begins the turn that answers it. Sending the same `client_message_id` again joins the turn
    /// that the first sending began.
    pub async fn send_message(&self, user: UserId, uuid: Uuid, new: NewMessage) -> Result<EventsAnswer, ServiceError> {
        let text = check_message(&new)?;
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let below = match new.edit_of {
            Some(id) => Below::Message(find_edited(context, row.id, id).await?.parent_id),
            None => Below::Head,
        };
        let is_first = row.head_message_id.is_none() && row.title == UNTITLED;
        let first_title = is_first.then(|| title_from_message(&text));
        let question = Question::New { content: &text, client_message_id: new.client_message_id.as_deref(), below };
        let beginning = Beginning { user, uuid, row: &row, question, text: &text };
        begin(context, beginning, first_title.as_deref()).await
    }

    /// Begins a turn that answers the same message as the answer `message_id` once more. Both answers stay.
    pub async fn regenerate(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
    ) -> Result<EventsAnswer, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let find = async |id| {
            let found = messages::find_message(&context.db, row.id, id).await?;
            found.ok_or(ServiceError::NoSuchMessage)
        };
        let answer = find(message_id).await?;
        let Some(user_message_id) = answer.parent_id.filter(|_| !answer.is_user()) else {
            let advice = "Only an answer can be written anew. Send a changed question with edit_of.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        };
        let text = find(user_message_id).await?.content;
        let question = Question::Stored { user_message_id };
        begin(context, Beginning { user, uuid, row: &row, question, text: &text }, None).await
    }
}

/// Where a message stands that is about to get another version.
async fn find_edited(context: &Context, conversation_id: ConversationId, id: MessageId) -> Result<Place, ServiceError> {
    let edited = messages::find_message(&context.db, conversation_id, id).await?.ok_or(ServiceError::NoSuchMessage)?;
    if !edited.is_user() {
        let advice = "edit_of names an answer. Only messages of yours can be edited; answers can be written anew.";
        return Err(ServiceError::Invalid(advice.to_owned()));
    }
    Ok(Place { id, parent_id: edited.parent_id })
}

/// A turn that is to begin.
struct Beginning<'a> {
    user: UserId,
    uuid: Uuid,
    row: &'a ConversationRow,
    question: Question<'a>,
    /// The question's text.
    text: &'a str,
}

async fn begin(
    context: &Arc<Context>,
    Beginning { user, uuid, row, question, text }: Beginning<'_>,
    first_title: Option<&str>,
) -> Result<EventsAnswer, ServiceError> {
    let permit = StartPermit::take(context)?;
    let lease_until = turns::database_now(&context.db).await? + context.lifetimes.lease;
    let new_turn = NewTurn { question, first_title, owner: &context.owner, lease_until };
    let mut tx = context.db.begin().await?;
    let rows = match turns::begin_turn(&mut tx, row.id, new_turn).await? {
        Claim::Begun(rows) => rows,
        Claim::Known(rows) => {
            drop(tx);
            return subscribe_known(context, row, rows).await;
        }
        Claim::Busy => return Err(ServiceError::TurnRunning),
    };
    let places = turns::list_versions(&mut tx, row.id, rows.user_message_id).await?;
    let first_event = ChatEvent::MessageStart(message_start(uuid, rows, text, &places));
    start(context, permit, tx, NewRun { user, conversation_id: row.id, rows, first_event }).await
}

fn message_start(conversation_id: Uuid, rows: TurnRows, content: &str, places: &[Place]) -> MessageStart {
    let TurnRows { user_message_id, assistant_message_id, .. } = rows;
    let parent_id = places.iter().find(|place| place.id == user_message_id).and_then(|place| place.parent_id);
    let versions = Versions::of(places);
    MessageStart {
        user_message_id,
        assistant_message_id,
        conversation_id,
        content: content.to_owned(),
        parent_id,
        user_siblings: versions.siblings(Place { id: user_message_id, parent_id }),
        assistant_siblings: versions.siblings(Place { id: assistant_message_id, parent_id: Some(user_message_id) }),
    }
}
