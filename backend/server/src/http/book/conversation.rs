//! `/admin/conversations/{uuid}`: a conversation to read, all its branches in the order of time.

use std::collections::HashMap;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use serde::Deserialize;
use tallybook_frontend::invisible::escaped;
use tallybook_protocol::{MessageId, MessageStatus, Role, ToolCallId};
use uuid::Uuid;

use super::{
    super::{caller::Admin, query::Query, state::State},
    format,
    frame::{Frame, ReasonForm, answer, refusal, take_reason},
    visible::Visible,
    words::Words,
};
use crate::book::{
    Book, CallOfTurnRow, ConversationPage as Page, ModelCallOfTurnRow, PlanStepRow, Subject, ThoughtRow,
};

#[derive(Deserialize)]
pub(super) struct FromQuery {
    /// The message that the page begins with.
    #[serde(default)]
    from: MessageId,
}

struct Call {
    id: ToolCallId,
    tool: String,
    status: &'static str,
    status_word: &'static str,
    duration: Option<String>,
}

struct Message {
    id: MessageId,
    who: &'static str,
    text: Visible,
    is_cut: bool,
    size: String,
    /// How the turn ended, where that is not well.
    status: Option<&'static str>,
    error: Option<Visible>,
    model: Option<String>,
    /// What its model was told in place of the messages before this one, where that is not all of them.
    told: Option<Told>,
    time: String,
    datetime: String,
    /// The steps of the plan by which it was made.
    plan: Vec<PlanStep>,
    thoughts: Vec<Thought>,
    calls: Vec<Call>,
    model_calls: Vec<ModelCall>,
}

/// What a model was asked for the message.
struct ModelCall {
    purpose: String,
    model: String,
    /// Tokens, cost, and how it went.
    words: String,
    duration: String,
}

/// A step of a plan.
struct PlanStep {
    instruction: Visible,
    status: &'static str,
    status_word: &'static str,
    /// How often it was tried, where that was not once.
    attempts: Option<String>,
    /// Why it was judged as it was, where there is something to say.
    reason: Option<Visible>,
}

/// What a model showed of its thinking in a step.
struct Thought {
    words: Visible,
    /// How long it took.
    duration: Option<String>,
    /// Of the whole, where not all of it is here.
    size: Option<String>,
}

struct Told {
    from: MessageId,
    /// Empty if the model got no summary of them.
    summary: Visible,
}

#[derive(Template)]
#[template(path = "book/conversation.html")]
struct ConversationPage {
    frame: Frame,
    title: String,
    user: String,
    time: String,
    /// That its owner deleted it.
    deletion: Option<String>,
    messages: Vec<Message>,
    /// Where it begins, unless this page does.
    first: Option<String>,
    next: Option<String>,
}

pub(super) async fn show(
    state: State,
    request: HttpRequest,
    admin: Admin,
    uuid: web::Path<Uuid>,
    Query(query): Query<FromQuery>,
) -> HttpResponse {
    let (reader, uuid, from) = (admin.0, *uuid, query.from);
    let frame = Frame::of(&state, &request);
    match state.run_book(move |book: Book| async move { book.open_conversation(&reader, uuid, from).await }).await {
        Ok(found) => answer(StatusCode::OK, &page(frame, found, from)),
        Err(error) => refusal(frame, &request, &error),
    }
}

pub(super) async fn give_reason(
    state: State,
    request: HttpRequest,
    admin: Admin,
    uuid: web::Path<Uuid>,
    form: web::Form<ReasonForm>,
) -> HttpResponse {
    take_reason(&state, &request, admin.0, Subject::Conversation(*uuid), form.into_inner()).await
}

fn page(frame: Frame, found: Page, from: MessageId) -> ConversationPage {
    let words = frame.words;
    let Page { row, messages, calls, model_calls, thoughts, plan_steps, next, deletion } = found;
    let mut plan_of: HashMap<MessageId, Vec<PlanStep>> = HashMap::new();
    for step in plan_steps {
        plan_of.entry(step.message_id).or_default().push(step_of(step, words));
    }
    let mut models_of: HashMap<MessageId, Vec<ModelCall>> = HashMap::new();
    for call in model_calls {
        models_of.entry(call.message_id).or_default().push(model_call_of(&call, words));
    }
    let mut thoughts_of: HashMap<MessageId, Vec<Thought>> = HashMap::new();
    for thought in thoughts {
        thoughts_of.entry(thought.message_id).or_default().push(thought_of(thought, words));
    }
    let mut calls_of: HashMap<MessageId, Vec<CallOfTurnRow>> = HashMap::new();
    for call in calls {
        calls_of.entry(call.message_id).or_default().push(call);
    }
    let call = |call: CallOfTurnRow| Call {
        id: call.id,
        status_word: words.status(call.status),
        tool: escaped(&call.tool_name).into_owned(),
        status: call.status.as_str(),
        duration: call.duration_ms.map(|ms| words.how_long(ms)),
    };
    let visible = |text: String| Visible::new(text, words.0);
    let messages = messages.into_iter().map(|message| Message {
        id: message.id,
        who: if message.role == Role::User { words.person() } else { words.assistant() },
        is_cut: i64::try_from(message.content.len()).is_ok_and(|held| held < message.content_bytes),
        size: words.how_much(message.content_bytes),
        status: Some(words.turn_status(message.status)).filter(|_| message.status != MessageStatus::Complete),
        text: visible(message.content),
        error: message.error.map(visible),
        told: message.told_from.map(|from| Told { from, summary: visible(message.told_summary.unwrap_or_default()) }),
        model: message.model,
        time: format::time(&message.created_at),
        datetime: format::datetime(&message.created_at),
        plan: plan_of.remove(&message.id).unwrap_or_default(),
        thoughts: thoughts_of.remove(&message.id).unwrap_or_default(),
        calls: calls_of.remove(&message.id).unwrap_or_default().into_iter().map(call).collect(),
        model_calls: models_of.remove(&message.id).unwrap_or_default(),
    });
    let address = |from: MessageId| format!("/admin/conversations/{}?from={from}", row.uuid);
    ConversationPage {
        first: (from != MessageId::default()).then(|| format!("/admin/conversations/{}", row.uuid)),
        next: next.map(address),
        messages: messages.collect(),
        deletion: deletion.map(|deletion| words.deleted_by_owner(&deletion)),
        time: format::time(&row.created_at),
        title: row.title,
        user: row.user_name,
        frame,
    }
}

fn step_of(step: PlanStepRow, words: Words) -> PlanStep {
    let PlanStepRow { instruction, status, attempt, reason, .. } = step;
    let visible = |text: String| Visible::new(text, words.0);
    PlanStep {
        instruction: visible(instruction),
        status: status.as_str(),
        status_word: words.step_status(status),
        attempts: (attempt > 1).then(|| words.attempts(attempt)),
        reason: reason.map(visible),
    }
}

fn thought_of(ThoughtRow { words: thought, words_bytes, duration_ms, .. }: ThoughtRow, words: Words) -> Thought {
    let is_cut = i64::try_from(thought.len()).is_ok_and(|held| held < words_bytes);
    Thought {
        words: Visible::new(thought, words.0),
        duration: duration_ms.map(|ms| words.how_long(ms)),
        size: is_cut.then(|| words.how_much(words_bytes)),
    }
}

fn model_call_of(row: &ModelCallOfTurnRow, words: Words) -> ModelCall {
    ModelCall {
        purpose: words.purpose(&row.purpose),
        model: format!("{} {}", row.provider, row.model),
        words: words.model_call(row),
        duration: words.how_long(row.duration_ms),
    }
}
