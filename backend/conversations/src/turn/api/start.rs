//! Starts a turn for an API client that sends the history itself. Only its last question and the answer are stored, in
//! a conversation of the client. A request with results of the client's own tools adds another answer to the stored
//! question. A request that continues a response (`api::chain`) inherits its context and is stored below it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Transaction, with_retries};
use tallybook_protocol::{AnswerMode, ChatEvent, MessageId, MessagePart, NewMessage};
use uuid::Uuid;

use crate::{
    ServiceError, allowance,
    context::Context,
    input::check_message,
    journal::TurnSubscription,
    models::Model,
    service::ConversationService,
    store::{
        ConversationId, messages,
        programs::{self, Program},
        rows::{ConversationRow, TreeNode},
        turns::{self, Claim, NewTurn, Parent, Question, TurnRows},
    },
    titles::title_from_message,
    turn::{
        api::{
            chain::{Chaining, load_previous, prepend_context},
            given_input::GivenInput,
            restore::{Restored, restore},
        },
        context::NewQuestion,
        start::{NewRun, StartPermit, first_title_of, message_start, start},
        subscribe::EventsAnswer,
    },
};

/// A request of an API client.
#[derive(Clone, Debug)]
pub struct ProgramRequest {
    /// The API client.
    pub program: Program,
    /// The client's own id of the conversation, or the UUID that the client received.
    pub chat_id: Option<String>,
    /// Catalog name of the model. `None` for the default model.
    pub model: Option<String>,
    /// The question, as it is stored. Empty if the request has only results of tools, which answer no new question.
    pub question: String,
    /// Input for the model, which follows the context of the previous response.
    pub input: GivenInput,
    /// The response that the request continues, and whether later requests may continue this one.
    pub chaining: Chaining,
}

/// A turn that answers an API client.
#[derive(Debug)]
pub struct ProgramTurn {
    /// UUID of the conversation that the turn is stored in.
    pub conversation: Uuid,
    /// Id of the answer.
    pub message_id: MessageId,
    /// Start of the turn, as it is stored.
    pub created_at: DateTime<Utc>,
    /// Events of the turn.
    pub events: TurnSubscription,
}

/// Parameters of a turn that is about to start.
struct Beginning<'a> {
    program: Program,
    /// The client's own id for a new conversation.
    own_id: Option<&'a str>,
    parts: &'a [MessagePart],
    model: &'a Arc<Model>,
    /// Client-supplied input that replaces the stored history in the prompt. `None` if the stored history is used.
    input: Option<Arc<GivenInput>>,
    chaining: &'a Chaining,
}

/// Place in an existing conversation at which the turn starts.
#[derive(Clone, Copy)]
struct Place<'a> {
    row: &'a ConversationRow,
    at: At,
}

#[derive(Clone, Copy)]
enum At {
    /// The turn answers this stored question.
    Question(MessageId),
    /// The turn answers a new question, which is stored here.
    Parent(Parent),
}

impl ConversationService {
    /// Stores an API client's question and starts the turn that answers it. Uses the conversation that the request
    /// names. If that does not exist, or another turn has claimed it, creates a conversation.
    pub async fn answer_program(&self, request: ProgramRequest) -> Result<ProgramTurn, ServiceError> {
        let context = &self.context;
        let ProgramRequest { program, chat_id, model, question, input, chaining } = request;
        let model = context.model_for(model.as_deref(), None)?;
        let before = match chaining.previous {
            Some(previous) => Some(load_previous(context, program, previous).await?),
            None => None,
        };
        let (input, previous) = prepend_context(before, input)?;
        let Restored { messages, goes_on } = restore(context, program, input.messages).await?;
        let input = Some(Arc::new(GivenInput { messages, ..input }));
        let mut parts = vec![MessagePart::Text { text: question }];
        if let Some(place) = goes_on {
            let row = context.find_conversation(program.user, place.uuid).await?;
            let asked = messages::find_message(&context.db, row.id, place.user_message_id).await?;
            parts = asked.ok_or(ServiceError::NoSuchMessage)?.parts();
            let at = At::Question(place.user_message_id);
            let beginning =
                Beginning { program, own_id: None, parts: &parts, model, input: input.clone(), chaining: &chaining };
            if let Some(turn) = begin(context, &beginning, Some(Place { row: &row, at })).await? {
                return Ok(turn);
            }
        }
        let (known, at) = match (&previous, &chat_id) {
            (Some(previous), _) => {
                let row = context.find_conversation(program.user, previous.uuid).await?;
                (Some(row), Parent::Message(Some(previous.message_id)))
            }
            (None, Some(id)) => (programs::find_conversation(&context.db, program, id).await?, Parent::Head),
            (None, None) => (None, Parent::Head),
        };
        // The UUID keeps naming the busy conversation. So does the client's own id while a turn runs there: a client
        // may send two requests in one chat at once, as Open WebUI does when two models answer side by side. Its next
        // question then continues the original conversation. If the conversation waits for approval, it is unknown when
        // it will be free, so the client's id moves to the new conversation.
        let still_means =
            |id: &&str| known.as_ref().is_some_and(|row| row.uuid.to_string() == *id || !row.awaiting_approval);
        let own_id = chat_id.as_deref().filter(|id| previous.is_none() && !still_means(id));
        let beginning = Beginning { program, own_id, parts: &parts, model, input, chaining: &chaining };
        if let Some(row) = known.filter(|row| row.active_message_id.is_none())
            && let Some(turn) = begin(context, &beginning, Some(Place { row: &row, at: At::Parent(at) })).await?
        {
            return Ok(turn);
        }
        begin(context, &beginning, None).await?.ok_or(ServiceError::TurnRunning)
    }

    /// Starts a thread as [`Self::answer_program`] does. The question must satisfy the same limits as a message in the
    /// web UI.
    pub async fn begin_thread(&self, request: ProgramRequest) -> Result<ProgramTurn, ServiceError> {
        check_message(&NewMessage { content: request.question.clone(), ..NewMessage::default() })?;
        self.answer_program(request).await
    }

    /// Stores a question in a conversation and starts the turn that answers it, with the stored history as context.
    pub async fn answer_in_thread(
        &self,
        user: UserId,
        uuid: Uuid,
        model: Option<&str>,
        question: String,
    ) -> Result<ProgramTurn, ServiceError> {
        let parts = check_message(&NewMessage { content: question, ..NewMessage::default() })?;
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let model = context.model_for(model, row.model.as_deref())?;
        // No conversation is created here, so the API client does not matter.
        let program = Program { user, key_id: 0 };
        let chaining = Chaining::default();
        let beginning = Beginning { program, own_id: None, parts: &parts, model, input: None, chaining: &chaining };
        match begin(context, &beginning, Some(Place { row: &row, at: At::Parent(Parent::Head) })).await? {
            Some(turn) => Ok(turn),
            None => Err(context.busy(row.id).await?),
        }
    }
}

/// Starts the turn at `place`, or in a new conversation without one. Returns `None` if another turn has claimed the
/// conversation.
async fn begin(
    context: &Arc<Context>,
    beginning: &Beginning<'_>,
    place: Option<Place<'_>>,
) -> Result<Option<ProgramTurn>, ServiceError> {
    with_retries(|| Box::pin(try_begin(context, beginning, place))).await
}

async fn try_begin(
    context: &Arc<Context>,
    beginning: &Beginning<'_>,
    place: Option<Place<'_>>,
) -> Result<Option<ProgramTurn>, ServiceError> {
    let Beginning { program, parts, model, input, chaining, .. } = beginning;
    let user = program.user;
    let permit = StartPermit::take(context)?;
    let mut tx = context.db.begin().await?;
    allowance::hold(context, &mut tx, user).await?;
    let (conversation_id, uuid) = match place {
        Some(Place { row, .. }) => (row.id, row.uuid),
        None => create_conversation(context, &mut tx, beginning).await?,
    };
    let question = match place.map_or(At::Parent(Parent::Head), |place| place.at) {
        At::Question(user_message_id) => Question::Stored { user_message_id },
        At::Parent(below) => Question::New { parts, client_message_id: None, below },
    };
    let first_title = place.and_then(|place| first_title_of(place.row, parts));
    let first_title = first_title.as_deref();
    let new = NewTurn {
        question,
        first_title,
        model: model.name(),
        mode: AnswerMode::React,
        owner: &context.owner,
        lease: context.lifetimes.lease,
    };
    let Claim::Begun(rows) = turns::begin_turn(&mut tx, conversation_id, new).await? else { return Ok(None) };
    let admitted = allowance::NewTurn { user, message: rows.assistant_message_id, model, parts: Some(*parts) };
    allowance::admit_turn(context, &mut tx, admitted).await?;
    if let Some(input) = input {
        input.store(&mut tx, rows.assistant_message_id).await?;
    }
    chaining.store(&mut tx, *program, rows.assistant_message_id).await?;
    let places = match place {
        Some(_) => messages::list_tree_nodes_in(&mut tx, conversation_id).await?,
        None => places_of_first(rows),
    };
    let first_events = vec![ChatEvent::MessageStart(message_start(uuid, rows, parts, model, &places))];
    let run = NewRun {
        user,
        conversation_id,
        rows,
        model: Arc::clone(model),
        given: input.clone(),
        mode: AnswerMode::React,
        question: Some(NewQuestion { places, parts: parts.to_vec() }),
        first_events,
    };
    match start(context, &permit, tx, run).await? {
        EventsAnswer::Turn(events) => {
            let TurnRows { assistant_message_id: message_id, created_at, .. } = rows;
            Ok(Some(ProgramTurn { conversation: uuid, message_id, created_at, events }))
        }
        EventsAnswer::Nothing => Ok(None),
    }
}

/// Creates a conversation, which the API client can name by its UUID and by the client's own id.
async fn create_conversation(
    context: &Context,
    tx: &mut Transaction,
    beginning: &Beginning<'_>,
) -> sqlx::Result<(ConversationId, Uuid)> {
    let Beginning { program, own_id, parts, model, .. } = beginning;
    let uuid = Uuid::now_v7();
    let is_default = Arc::ptr_eq(model, context.models.default_model());
    let model = (!is_default).then(|| model.name());
    let id = programs::create_conversation(
        tx,
        program.user,
        uuid,
        &title_from_message(&MessagePart::join_texts(parts)),
        model,
    )
    .await?;
    programs::set_conversation(tx, *program, &uuid.to_string(), id).await?;
    if let Some(own_id) = own_id {
        programs::set_conversation(tx, *program, own_id, id).await?;
    }
    Ok((id, uuid))
}

/// Returns the tree nodes of a conversation's first question and of its answer.
fn places_of_first(rows: TurnRows) -> Vec<TreeNode> {
    let TurnRows { user_message_id, assistant_message_id, .. } = rows;
    let question = TreeNode { id: user_message_id, parent_id: None };
    vec![question, TreeNode { id: assistant_message_id, parent_id: Some(user_message_id) }]
}
