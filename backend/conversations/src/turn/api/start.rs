//! Starts a turn for an API client that sends the history itself. Only its last question and the answer are stored, in
//! a conversation of the client. A request with results of the client's own tools adds another answer to the stored
//! question. A request that continues a response (`api::chain`) inherits its context and is stored below it.

use std::{mem::take, sync::Arc};

use tallybook_accounts::UserId;
use tallybook_protocol::{AnswerMode, MessagePart, NewMessage};
use uuid::Uuid;

use crate::{
    ServiceError,
    admission::Access,
    context::Context,
    input::{check_file_count, check_message, find_attached},
    service::ConversationService,
    store::{
        api_clients, messages,
        turns::{Parent, Question},
    },
    turn::{
        api::{
            chain::{load_previous, prepend_context},
            client_input::ClientInput,
            restore::{Restored, restore},
        },
        start::{ApiClientRequest, Start, StartParams, StartedTurn, start_turn},
    },
};

impl ConversationService {
    /// Stores an API client's question and starts the turn that answers it. Uses the conversation that the request
    /// names. If that does not exist, or another turn has claimed it, creates a conversation.
    pub async fn answer_api_client(
        &self,
        access: &Access,
        mut request: ApiClientRequest,
    ) -> Result<StartedTurn, ServiceError> {
        let context = &self.context;
        let (api_client, user) = (request.api_client, request.api_client.user);
        let model = &access.models.choose(request.model.as_deref(), None)?;
        let input = Arc::unwrap_or_clone(request.input);
        let (input, previous) = match request.chaining.previous {
            Some(previous) => {
                let (input, row) = prepend_context(load_previous(context, api_client, previous).await?, input)?;
                (input, Some(row))
            }
            None => (input, None),
        };
        let Restored { messages, answered } = restore(context, api_client, input.messages).await?;
        request.input = Arc::new(ClientInput { messages, ..input });
        let mut parts = take(&mut request.question);
        check_file_count(&parts)?;
        if parts.is_empty() {
            parts.push(MessagePart::Text { text: String::new() });
        }
        let files = find_attached(context, user, &parts, (&access.models, model)).await?;
        let mode = AnswerMode::React;
        if let Some(place) = answered {
            let row = context.find_conversation(user, place.uuid).await?;
            let asked = messages::find_message(&context.db, row.id, place.user_message_id).await?;
            parts = asked.ok_or(ServiceError::NoSuchMessage)?.parts();
            let question = Question::Stored { user_message_id: place.user_message_id };
            let (row, parts, api) = (Some(&row), &parts[..], Some(&request));
            let params = StartParams { user, access, row, question, parts, files: &[], model, mode, api };
            if let Some(turn) = try_start(context, params).await? {
                return Ok(turn);
            }
        }
        let (known, below) = match (&previous, &request.chat_id) {
            (Some(previous), _) => {
                let row = context.find_conversation(user, previous.uuid).await?;
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
            |id: &str| known.as_ref().is_some_and(|row| row.uuid.to_string() == id || !row.awaiting_approval);
        request.chat_id = request.chat_id.take().filter(|id| previous.is_none() && !still_means(id));
        let new = |below| Question::New { parts: &parts, client_message_id: None, below };
        let (question, parts, files, api) = (new(Parent::Head), &parts[..], &files[..], Some(&request));
        let params = StartParams { user, access, row: None, question, parts, files, model, mode, api };
        if let Some(row) = known.filter(|row| row.active_message_id.is_none())
            && let Some(turn) =
                try_start(context, StartParams { row: Some(&row), question: new(below), ..params }).await?
        {
            return Ok(turn);
        }
        try_start(context, params).await?.ok_or(ServiceError::TurnRunning)
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
        let question = Question::New { parts: &parts, client_message_id: None, below: Parent::Head };
        let (row, parts, files, mode) = (&row, &parts[..], &files[..], AnswerMode::React);
        let params = StartParams { user, access, row: Some(row), question, parts, files, model, mode, api: None };
        match try_start(context, params).await? {
            Some(turn) => Ok(turn),
            None => Err(context.busy(row.id).await?),
        }
    }
}

/// Starts a turn. Returns `None` if another turn has claimed the conversation.
async fn try_start(context: &Arc<Context>, params: StartParams<'_>) -> Result<Option<StartedTurn>, ServiceError> {
    match start_turn(context, params).await? {
        Start::Started(turn) => Ok(Some(turn)),
        Start::Duplicate(_) | Start::Busy => Ok(None),
    }
}
