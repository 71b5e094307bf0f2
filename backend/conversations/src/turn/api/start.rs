//! Starts a turn for an API client that sends the history itself. Only its last question and the answer are stored, in
//! a conversation of the client. A request with results of the client's own tools adds another answer to the stored
//! question. A request that continues a response (`api::chain`) inherits its context and is stored below it.

use std::sync::Arc;

use tallybook_accounts::UserId;
use tallybook_files::FileRow;
use tallybook_protocol::{AnswerMode, MessageId, MessagePart, NewMessage};
use uuid::Uuid;

use crate::{
    ServiceError,
    access::Access,
    context::Context,
    input::{check_file_count, check_message, find_attached},
    models::Model,
    service::ConversationService,
    store::{
        api_clients::{self, ApiClient},
        messages,
        rows::ConversationRow,
        turns::{Parent, Question},
    },
    turn::{
        api::{
            chain::{Chaining, load_previous, prepend_context},
            client_input::ClientInput,
            restore::{Restored, restore},
        },
        start::{ApiParams, Start, StartParams, StartedTurn, start_turn},
    },
};

/// A request of an API client.
#[derive(Clone, Debug)]
pub struct ApiClientRequest {
    /// The API client.
    pub api_client: ApiClient,
    /// The client's own ID of the conversation, or the UUID that the client received.
    pub chat_id: Option<String>,
    /// Catalog name of the model. `None` for the default model.
    pub model: Option<String>,
    /// Parts of the question, as it is stored. Empty if the request has only results of tools, which answer no new
    /// question.
    pub question: Vec<MessagePart>,
    /// Input for the model, which follows the context of the previous response.
    pub input: ClientInput,
    /// The response that the request continues, and whether later requests may continue this one.
    pub chaining: Chaining,
}

/// Place of a turn in an existing conversation: below a message, or below a stored question.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// The turn answers a new question, which is stored here.
    Below(&'a ConversationRow, Parent),
    /// The turn answers this stored question again.
    Question(&'a ConversationRow, MessageId),
}

impl ConversationService {
    /// Stores an API client's question and starts the turn that answers it. Uses the conversation that the request
    /// names. If that does not exist, or another turn has claimed it, creates a conversation.
    pub async fn answer_api_client(
        &self,
        access: &Access,
        request: ApiClientRequest,
    ) -> Result<StartedTurn, ServiceError> {
        let context = &self.context;
        let ApiClientRequest { api_client, chat_id, model, question, input, chaining } = request;
        let model = &access.models.choose(model.as_deref(), None)?;
        let previous_context = match chaining.previous {
            Some(previous) => Some(load_previous(context, api_client, previous).await?),
            None => None,
        };
        let (input, previous) = prepend_context(previous_context, input)?;
        let Restored { messages, answered } = restore(context, api_client, input.messages).await?;
        let input = Some(Arc::new(ClientInput { messages, ..input }));
        check_file_count(&question)?;
        let mut parts = if question.is_empty() { vec![MessagePart::Text { text: String::new() }] } else { question };
        let files = find_attached(context, api_client.user, &parts, (&access.models, model)).await?;
        if let Some(place) = answered {
            let row = context.find_conversation(api_client.user, place.uuid).await?;
            let asked = messages::find_message(&context.db, row.id, place.user_message_id).await?;
            parts = asked.ok_or(ServiceError::NoSuchMessage)?.parts();
            let at = Place::Question(&row, place.user_message_id);
            let api = ApiParams { api_client, own_id: None, input: input.clone(), chaining: &chaining };
            if let Some(turn) = start_at(context, access, Some(at), &parts, &[], model, &api).await? {
                return Ok(turn);
            }
        }
        let (known, parent) = match (&previous, &chat_id) {
            (Some(previous), _) => {
                let row = context.find_conversation(api_client.user, previous.uuid).await?;
                (Some(row), Parent::Message(Some(previous.message_id)))
            }
            (None, Some(id)) => (api_clients::find_conversation(&context.db, api_client, id).await?, Parent::Head),
            (None, None) => (None, Parent::Head),
        };
        // The UUID still refers to the busy conversation. So does the client's own ID while a turn runs there: a client
        // may send two requests in one chat at once, as Open WebUI does when two models answer side by side. Its next
        // question then continues the original conversation. If the conversation waits for approval, it is unknown when
        // it will be free, so the client's ID moves to the new conversation.
        let still_means =
            |id: &&str| known.as_ref().is_some_and(|row| row.uuid.to_string() == *id || !row.awaiting_approval);
        let own_id = chat_id.as_deref().filter(|id| previous.is_none() && !still_means(id));
        let api = ApiParams { api_client, own_id, input, chaining: &chaining };
        if let Some(row) = known.filter(|row| row.active_message_id.is_none())
            && let Some(turn) =
                start_at(context, access, Some(Place::Below(&row, parent)), &parts, &files, model, &api).await?
        {
            return Ok(turn);
        }
        start_at(context, access, None, &parts, &files, model, &api).await?.ok_or(ServiceError::TurnRunning)
    }

    /// Starts a thread as [`Self::answer_api_client`] does. The question must satisfy the same limits as a message in
    /// the web UI.
    pub async fn start_thread(&self, request: ApiClientRequest) -> Result<StartedTurn, ServiceError> {
        check_message(&NewMessage { parts: request.question.clone(), ..NewMessage::default() })?;
        let access = self.context.access_of(request.api_client.user).await?;
        self.answer_api_client(&access, request).await
    }

    /// Stores a question in a conversation and starts the turn that answers it, with the stored history as context.
    pub async fn answer_in_thread(
        &self,
        user: UserId,
        uuid: Uuid,
        model: Option<&str>,
        question: Vec<MessagePart>,
    ) -> Result<StartedTurn, ServiceError> {
        let parts = check_message(&NewMessage { parts: question, ..NewMessage::default() })?;
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let access = &context.access_of(user).await?;
        let model = &access.models.choose(model, row.model.as_deref())?;
        let files = find_attached(context, user, &parts, (&access.models, model)).await?;
        // No conversation is created here, so the API client does not matter.
        let api_client = ApiClient { user, key_id: 0 };
        let chaining = Chaining::default();
        let api = ApiParams { api_client, own_id: None, input: None, chaining: &chaining };
        match start_at(context, access, Some(Place::Below(&row, Parent::Head)), &parts, &files, model, &api).await? {
            Some(turn) => Ok(turn),
            None => Err(context.busy(row.id).await?),
        }
    }
}

/// Starts the turn at `place`, or in a new conversation if `place` is `None`. Returns `None` if another turn has
/// claimed the conversation.
async fn start_at(
    context: &Arc<Context>,
    access: &Access,
    place: Option<Place<'_>>,
    parts: &[MessagePart],
    files: &[FileRow],
    model: &Arc<Model>,
    api: &ApiParams<'_>,
) -> Result<Option<StartedTurn>, ServiceError> {
    let new = |below| Question::New { parts, client_message_id: None, below };
    let (row, question) = match place {
        Some(Place::Below(row, below)) => (Some(row), new(below)),
        Some(Place::Question(row, user_message_id)) => (Some(row), Question::Stored { user_message_id }),
        None => (None, new(Parent::Head)),
    };
    let (user, mode) = (api.api_client.user, AnswerMode::React);
    let params = StartParams { user, access, row, question, parts, files, model, mode, api: Some(api) };
    match start_turn(context, params).await? {
        Start::Started(turn) => Ok(Some(turn)),
        Start::Duplicate(_) | Start::Busy => Ok(None),
    }
}
