//! Starts the turn of a new message, of an edited message, or of an answer that is regenerated. `start::api` starts the
//! turns of API clients (routes `/v1` and `/api/chat`).

use std::sync::Arc;

use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_protocol::{AnswerAgain, AnswerMode, ChatEvent, MessageId, MessagePart, MessageStart, NewMessage};
use uuid::Uuid;

use crate::models::Model;
use crate::{
    ServiceError, allowance,
    branch::tree::Versions,
    context::Context,
    input::check_message,
    service::ConversationService,
    store::{
        ConversationId,
        conversations::UNTITLED,
        messages,
        rows::{ConversationRow, TreeNode},
        turns::{self, Claim, NewTurn, Parent, Question, TurnRows},
    },
    titles::title_from_message,
    turn::{
        context::builder::NewQuestion,
        start::{NewRun, StartPermit, start},
        subscribe::{EventsAnswer, subscribe_duplicate},
    },
};

impl ConversationService {
    /// Stores a message and starts the turn that answers it. If a message with the same `client_message_id` is stored
    /// already, subscribes to the turn of that message instead.
    pub async fn send_message(&self, user: UserId, uuid: Uuid, new: NewMessage) -> Result<EventsAnswer, ServiceError> {
        let parts = check_message(&new)?;
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let below = match new.edit_of {
            Some(id) => Parent::Message(find_edited(context, row.id, id).await?.parent_id),
            None => Parent::Head,
        };
        let first_title = first_title_of(&row, &parts);
        let question = Question::New { parts: &parts, client_message_id: new.client_message_id.as_deref(), below };
        let model = context.model_for(new.model.as_deref(), row.model.as_deref())?;
        let beginning = Beginning { user, uuid, row: &row, question, parts: &parts, model, mode: new.mode };
        begin(context, beginning, first_title.as_deref()).await
    }

    /// Regenerates the answer `message_id` in the same mode: starts a turn that answers the same question again. Uses
    /// the requested model, or the conversation's model if the request names none. The old answer is kept.
    pub async fn regenerate(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        again: AnswerAgain,
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
        let parts = find(user_message_id).await?.parts();
        let question = Question::Stored { user_message_id };
        let model = context.model_for(again.model.as_deref(), row.model.as_deref())?;
        let mode = answer.answer_mode();
        begin(context, Beginning { user, uuid, row: &row, question, parts: &parts, model, mode }, None).await
    }
}

/// Returns the title that a conversation gets from its first message. Returns `None` if the conversation already has a
/// message or a title.
pub(crate) fn first_title_of(row: &ConversationRow, parts: &[MessagePart]) -> Option<String> {
    let is_first = row.head_message_id.is_none() && row.title == UNTITLED;
    is_first.then(|| title_from_message(&MessagePart::join_texts(parts)))
}

/// Finds the message that `edit_of` names, and its parent. Fails if the message does not exist, or if it is an answer.
async fn find_edited(
    context: &Context,
    conversation_id: ConversationId,
    id: MessageId,
) -> Result<TreeNode, ServiceError> {
    let edited = messages::find_message(&context.db, conversation_id, id).await?.ok_or(ServiceError::NoSuchMessage)?;
    if !edited.is_user() {
        let advice = "edit_of names an answer. Only messages of yours can be edited; answers can be written anew.";
        return Err(ServiceError::Invalid(advice.to_owned()));
    }
    Ok(TreeNode { id, parent_id: edited.parent_id })
}

/// Parameters of a turn that is about to start.
#[derive(Clone, Copy)]
struct Beginning<'a> {
    user: UserId,
    /// UUID of the conversation.
    uuid: Uuid,
    row: &'a ConversationRow,
    question: Question<'a>,
    /// Parts of the question, whether it is new or stored.
    parts: &'a [MessagePart],
    model: &'a Arc<Model>,
    mode: AnswerMode,
}

/// Starts the turn, and retries if the transaction was rolled back.
async fn begin(
    context: &Arc<Context>,
    beginning: Beginning<'_>,
    first_title: Option<&str>,
) -> Result<EventsAnswer, ServiceError> {
    with_retries(|| Box::pin(try_begin(context, beginning, first_title))).await
}

async fn try_begin(
    context: &Arc<Context>,
    Beginning { user, uuid, row, question, parts, model, mode }: Beginning<'_>,
    first_title: Option<&str>,
) -> Result<EventsAnswer, ServiceError> {
    let permit = StartPermit::take(context)?;
    let lease = context.lifetimes.lease;
    let new_turn = NewTurn { question, first_title, model: model.name(), mode, owner: &context.owner, lease };
    let mut tx = context.db.begin().await?;
    allowance::hold(context, &mut tx, user).await?;
    let rows = match turns::begin_turn(&mut tx, row.id, new_turn).await? {
        Claim::Begun(rows) => rows,
        Claim::Duplicate(rows) => {
            drop(tx);
            return subscribe_duplicate(context, row, rows).await;
        }
        Claim::Busy => {
            drop(tx);
            return Err(context.busy(row.id).await?);
        }
    };
    let admitted = allowance::NewTurn { user, message: rows.assistant_message_id, model, parts: Some(parts) };
    allowance::admit_turn(context, &mut tx, admitted).await?;
    let places = messages::list_tree_nodes_in(&mut tx, row.id).await?;
    let first_events = vec![ChatEvent::MessageStart(message_start(uuid, rows, parts, model, &places))];
    let (model, question) = (Arc::clone(model), Some(NewQuestion { places, parts: parts.to_vec() }));
    let run = NewRun { user, conversation_id: row.id, rows, model, given: None, mode, question, first_events };
    start(context, &permit, tx, run).await
}

/// Returns the first event of a new turn. `places` are all messages of the conversation with their parents, including
/// the turn's own messages.
pub(crate) fn message_start(
    conversation_id: Uuid,
    rows: TurnRows,
    parts: &[MessagePart],
    model: &Model,
    places: &[TreeNode],
) -> MessageStart {
    let TurnRows { user_message_id, assistant_message_id, .. } = rows;
    let parent_id = places.iter().find(|place| place.id == user_message_id).and_then(|place| place.parent_id);
    let versions = Versions::of_children(places, &[parent_id, Some(user_message_id)]);
    MessageStart {
        user_message_id,
        assistant_message_id,
        conversation_id,
        content: MessagePart::join_texts(parts),
        parent_id,
        user_siblings: versions.siblings(TreeNode { id: user_message_id, parent_id }),
        assistant_siblings: versions.siblings(TreeNode { id: assistant_message_id, parent_id: Some(user_message_id) }),
        provider: Some(model.client().info().provider.clone()),
        model: Some(model.name().to_owned()),
    }
}
