//! Starts a turn: for a new message, an edited message, or a regenerated answer.
//!
//! `start_turn` stores the turn, for the web UI and for API clients (`turn::api::start`). `commit_and_run` is shared
//! with resumed turns: it commits the turn's first transaction, registers the turn, and spawns its task.

use std::{collections::BTreeSet, sync::Arc};

use chrono::{DateTime, Utc};
use sqlx::error::DatabaseError;
use tallybook_accounts::UserId;
use tallybook_database::{Transaction, now, with_retries};
use tallybook_files::FileRow;
use tallybook_protocol::{AnswerMode, ChatEvent, MessageId, MessagePart, MessageStart, NewMessage, RetryOptions};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::{
    ServiceError,
    admission::{self, Access},
    branch::tree::Versions,
    context::Context,
    input::{check_message, check_vision, find_attached, of_event},
    journal::{
        EventId, TurnSubscription,
        stored::{self, EncodedEvent},
    },
    models::Model,
    service::ConversationService,
    store::{
        ConversationId,
        api_clients::{self, ApiClient},
        conversations::{self, ConversationOrigin, NewConversationRow},
        message_files, messages,
        rows::{ConversationRow, TreeNode},
        turns::{self, Claim, NewTurn, Parent, Question, TurnRows},
    },
    titles::{first_title_of, title_of},
    turn::{
        api::{chain::Chaining, client_input::ClientInput},
        context::NewQuestion,
        run::{RunParams, Turn},
        subscribe::{EventsAnswer, subscribe_duplicate},
    },
    user_limits::Weight,
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
        let question = Question::New { parts: &parts, client_message_id: new.client_message_id.as_deref(), below };
        let access = &context.access_of(user).await?;
        let model = &access.models.choose(new.model.as_deref(), row.model.as_deref())?;
        let files = find_attached(context, user, &parts, (&access.models, model)).await?;
        let params = StartParams {
            user,
            access,
            row: Some(&row),
            question,
            parts: &parts,
            files: &files,
            model,
            mode: new.mode,
            api: None,
        };
        start_in(context, &row, params).await
    }

    /// Regenerates the answer `message_id` in the same mode: starts a turn that answers the same question again. Uses
    /// the requested model, or the conversation's model if the request names none. The old answer is kept.
    pub async fn regenerate(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        again: RetryOptions,
    ) -> Result<EventsAnswer, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let find = async |id| {
            let found = messages::find_message(&context.db, row.id, id).await?;
            found.ok_or(ServiceError::NoSuchMessage)
        };
        let answer = find(message_id).await?;
        let Some(user_message_id) = answer.parent_id.filter(|_| !answer.is_user()) else {
            let advice = "Only an answer can be regenerated. To change a question, send a message with edit_of.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        };
        let parts = find(user_message_id).await?.parts();
        let access = &context.access_of(user).await?;
        let model = &access.models.choose(again.model.as_deref(), row.model.as_deref())?;
        if parts.iter().any(|part| matches!(part, MessagePart::Image { .. })) {
            check_vision(&access.models, model)?;
        }
        let question = Question::Stored { user_message_id };
        let mode = answer.answer_mode();
        let (row, parts) = (&row, &parts[..]);
        let params = StartParams { user, access, row: Some(row), question, parts, files: &[], model, mode, api: None };
        start_in(context, row, params).await
    }
}

/// Finds the message that `edit_of` names, and its parent. Fails if the message does not exist, or if it is an answer.
async fn find_edited(
    context: &Context,
    conversation_id: ConversationId,
    id: MessageId,
) -> Result<TreeNode, ServiceError> {
    let edited = messages::find_message(&context.db, conversation_id, id).await?.ok_or(ServiceError::NoSuchMessage)?;
    if !edited.is_user() {
        let advice = "edit_of names an answer. Only your own messages can be edited; an answer can be regenerated.";
        return Err(ServiceError::Invalid(advice.to_owned()));
    }
    Ok(TreeNode { id, parent_id: edited.parent_id })
}

/// Parameters of a turn that is about to start.
#[derive(Clone, Copy)]
pub(crate) struct StartParams<'a> {
    pub(crate) user: UserId,
    pub(crate) access: &'a Access,
    /// Conversation of the turn. `None` creates one.
    pub(crate) row: Option<&'a ConversationRow>,
    pub(crate) question: Question<'a>,
    /// Parts of the question, whether it is new or stored.
    pub(crate) parts: &'a [MessagePart],
    /// Files of a new question, in the order of its parts. Empty for a stored one.
    pub(crate) files: &'a [FileRow],
    pub(crate) model: &'a Arc<Model>,
    pub(crate) mode: AnswerMode,
    /// The request of an API client that supplies the history. `None` if the stored history is used.
    pub(crate) api: Option<&'a ApiClientRequest>,
}

/// A request of an API client that supplies the history itself.
#[derive(Clone, Debug)]
pub struct ApiClientRequest {
    /// The API client.
    pub api_client: ApiClient,
    /// Weight of a direct model call, without tools and without a conversation. `None` for a turn of the agent.
    pub direct: Option<Weight>,
    /// The client's own ID of the conversation, or the UUID that the client received.
    pub chat_id: Option<String>,
    /// Catalog name of the model. `None` for the default model.
    pub model: Option<String>,
    /// Parts of the question, as it is stored. Empty if the request has only results of tools, which answer no new
    /// question.
    pub question: Vec<MessagePart>,
    /// Input for the model, which follows the context of the previous response.
    pub input: Arc<ClientInput>,
    /// The response that the request continues, and whether later requests may continue this one.
    pub chaining: Chaining,
}

impl ApiClientRequest {
    /// Creates a request for a turn of the agent. It names no conversation, and cannot be continued by its ID.
    pub fn new(api_client: ApiClient, model: Option<String>, question: Vec<MessagePart>, input: ClientInput) -> Self {
        let (input, chaining) = (Arc::new(input), Chaining::default());
        Self { api_client, direct: None, chat_id: None, model, question, input, chaining }
    }
}

/// Result of an attempt to start a turn.
pub(crate) enum Start {
    Started(StartedTurn),
    /// A message with the same `client_message_id` is stored already, with these rows.
    Duplicate(TurnRows),
    /// Another turn has claimed the conversation.
    Busy,
}

/// A turn that has started.
#[derive(Debug)]
pub struct StartedTurn {
    /// UUID of the conversation that the turn is stored in.
    pub conversation: Uuid,
    /// ID of the answer.
    pub message_id: MessageId,
    /// Stored start time of the turn.
    pub created_at: DateTime<Utc>,
    /// Events of the turn.
    pub events: TurnSubscription,
}

/// Starts a turn in an existing conversation, for the web UI.
async fn start_in(
    context: &Arc<Context>,
    row: &ConversationRow,
    params: StartParams<'_>,
) -> Result<EventsAnswer, ServiceError> {
    match start_turn(context, params).await? {
        Start::Started(turn) => Ok(EventsAnswer::Turn(turn.events)),
        Start::Duplicate(rows) => subscribe_duplicate(context, row, rows).await,
        Start::Busy => Err(context.busy(row.id).await?),
    }
}

/// Starts a turn, and retries if the transaction was rolled back.
pub(crate) async fn start_turn(context: &Arc<Context>, params: StartParams<'_>) -> Result<Start, ServiceError> {
    // The files of a stored question are stored with it.
    let stored = match params.question {
        Question::Stored { user_message_id } if params.parts.iter().any(|part| part.file_id().is_some()) => {
            message_files::list_of_message(&context.db, user_message_id).await?
        }
        _ => Vec::new(),
    };
    let stored: Vec<FileRow> = stored.into_iter().map(|row| row.file).collect();
    let files = if stored.is_empty() { params.files } else { &stored };
    with_retries(|| Box::pin(try_start_turn(context, StartParams { files, ..params }))).await
}

async fn try_start_turn(context: &Arc<Context>, params: StartParams<'_>) -> Result<Start, ServiceError> {
    let StartParams { user, access, row, question, parts, files, model, mode, api } = params;
    let permit = StartPermit::take(context)?;
    let mut tx = context.db.begin().await?;
    admission::lock_limited_user(&mut tx, user, &access.limits).await?;
    let (conversation_id, uuid) = match row {
        Some(row) => (row.id, row.uuid),
        None => create_conversation(context, &mut tx, params).await?,
    };
    let first_title = row.and_then(|row| first_title_of(row, parts, files));
    let new = NewTurn {
        question,
        first_title: first_title.as_deref(),
        model: model.name(),
        mode,
        owner: &context.owner,
        lease: context.settings.lease,
    };
    let (rows, mut settings, is_first) = match turns::begin_turn(&mut tx, conversation_id, new).await? {
        Claim::Started { rows, settings, is_first } => (rows, settings, is_first),
        Claim::Duplicate(rows) => return Ok(Start::Duplicate(rows)),
        Claim::Busy => return Ok(Start::Busy),
    };
    if matches!(question, Question::New { .. }) {
        store_files(context, &mut tx, user, rows.user_message_id, files).await?;
    }
    settings.has_documents |= files.iter().any(|file| file.pages.is_some());
    let admitted =
        admission::NewTurn { user, message: rows.assistant_message_id, model, parts: Some(parts), has_waited: false };
    admission::admit_turn(context, &access.limits, &mut tx, admitted).await?;
    if let Some(ApiClientRequest { api_client, input, chaining, .. }) = api {
        input.store(&mut tx, rows.assistant_message_id).await?;
        if let Some(kept) = &chaining.kept {
            kept.store(&mut tx, *api_client, rows.assistant_message_id, chaining.previous).await?;
        }
    }
    let places =
        if is_first { first_tree_nodes(rows) } else { messages::list_tree_nodes_in(&mut tx, conversation_id).await? };
    let first_events = vec![ChatEvent::MessageStart(message_start(uuid, rows, parts, files, model, &places))];
    let params = RunParams {
        user,
        permissions: access.permissions.clone(),
        limits: access.limits.clone(),
        conversation_id,
        rows,
        model: Arc::clone(model),
        settings,
        client_input: api.map(|api| Arc::clone(&api.input)),
        mode,
        question: Some(NewQuestion { places, parts: parts.to_vec() }),
    };
    let events = commit_and_run(context, &permit, tx, params, first_events).await?;
    let TurnRows { assistant_message_id: message_id, created_at, .. } = rows;
    Ok(Start::Started(StartedTurn { conversation: uuid, message_id, created_at, events }))
}

/// Stores the files of a new question. Fails if a file was deleted or purged since it was found.
async fn store_files(
    context: &Context,
    tx: &mut Transaction,
    user: UserId,
    message: MessageId,
    files: &[FileRow],
) -> Result<(), ServiceError> {
    if files.is_empty() {
        return Ok(());
    }
    if let Some(deleted) = context.files.keep(tx, user, files).await? {
        return Err(ServiceError::NoSuchFile(deleted));
    }
    message_files::create(tx, message, files).await.map_err(|error| {
        let is_gone = error.as_database_error().is_some_and(DatabaseError::is_foreign_key_violation);
        match files.first() {
            Some(file) if is_gone => ServiceError::NoSuchFile(file.uuid),
            _ => error.into(),
        }
    })
}

/// Creates a conversation. An API client can refer to it by its UUID and by the client's own ID.
async fn create_conversation(
    context: &Context,
    tx: &mut Transaction,
    params: StartParams<'_>,
) -> sqlx::Result<(ConversationId, Uuid)> {
    let StartParams { user, parts, files, model, api, .. } = params;
    let uuid = Uuid::now_v7();
    let is_default = Arc::ptr_eq(model, &context.models.default_model());
    let model = (!is_default).then(|| model.name());
    let title = title_of(parts, files);
    let new = NewConversationRow {
        user,
        uuid,
        title: &title,
        model,
        disabled_tools: &BTreeSet::new(),
        origin: ConversationOrigin::Api,
        client_conversation_id: None,
    };
    let id = conversations::create_conversation_in(tx, new).await?;
    if let Some(ApiClientRequest { api_client, chat_id, .. }) = api {
        api_clients::set_conversation(tx, *api_client, &uuid.to_string(), id).await?;
        if let Some(own_id) = chat_id {
            api_clients::set_conversation(tx, *api_client, own_id, id).await?;
        }
    }
    Ok((id, uuid))
}

/// Returns the tree nodes of a conversation's first question and of its answer.
fn first_tree_nodes(rows: TurnRows) -> Vec<TreeNode> {
    let TurnRows { user_message_id, assistant_message_id, .. } = rows;
    let question = TreeNode { id: user_message_id, parent_id: None };
    vec![question, TreeNode { id: assistant_message_id, parent_id: Some(user_message_id) }]
}

/// Returns the first event of a new turn. `places` are all messages of the conversation with their parents, including
/// the turn's own messages.
fn message_start(
    conversation_id: Uuid,
    rows: TurnRows,
    parts: &[MessagePart],
    files: &[FileRow],
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
        files: of_event(files),
        parent_id,
        user_siblings: versions.siblings(TreeNode { id: user_message_id, parent_id }),
        assistant_siblings: versions.siblings(TreeNode { id: assistant_message_id, parent_id: Some(user_message_id) }),
        provider: Some(model.client().info().provider.clone()),
        model: Some(model.name().to_owned()),
    }
}

/// Permit to start a turn. While it is held, shutdown waits, so that no turn starts on a closed database.
pub(crate) struct StartPermit(#[expect(dead_code, reason = "held for its Drop")] TaskTrackerToken);

impl StartPermit {
    /// Takes a permit. Fails with [`ServiceError::ShuttingDown`] once the server drains.
    pub(crate) fn take(context: &Context) -> Result<Self, ServiceError> {
        // The token is taken before the check: if the server starts to drain after the check, it waits for the token.
        let token = context.tasks.token();
        if context.draining.is_cancelled() { Err(ServiceError::ShuttingDown) } else { Ok(Self(token)) }
    }
}

/// Commits the turn's first transaction, spawns its task and subscribes to it. The log begins with `first_events`. If
/// the commit fails, this process keeps nothing of the turn, so the caller may retry from the beginning.
pub(crate) async fn commit_and_run(
    context: &Arc<Context>,
    _permit: &StartPermit,
    mut tx: Transaction,
    params: RunParams,
    first_events: Vec<ChatEvent>,
) -> Result<TurnSubscription, ServiceError> {
    let RunParams { user, rows, .. } = params;
    let TurnRows { assistant_message_id: message_id, epoch, .. } = rows;
    let encoded = first_events.iter().map(EncodedEvent::of).collect::<sqlx::Result<Vec<_>>>()?;
    let numbered: Vec<_> = (0..).map(|seq| EventId { message_id, epoch, seq }).zip(&encoded).collect();
    stored::create_events(&mut tx, &numbered).await?;
    // After the commit, clients can stop and follow the turn, so it must be registered here before the commit.
    let cancel = context.running.add(rows, &context.shut_down);
    let log = context.journal.open(message_id, epoch);
    for (event, encoded) in first_events.into_iter().zip(encoded) {
        log.append_encoded(event, encoded, now());
    }
    if let Err(error) = tx.commit().await {
        context.journal.close(&log);
        context.running.remove(rows);
        return Err(error.into());
    }
    context.turn_counts.count_start();
    let subscription = log.subscribe_from_start();
    let turn = Turn { context: Arc::clone(context), params, log, cancel };
    let span = tracing::info_span!("turn", message_id = message_id.0, user = user.0);
    context.spawn(turn.run().instrument(span));
    context.feeds.announce(user);
    Ok(subscription)
}

#[cfg(test)]
mod tests;
