//! HTTP handlers for `/admin/conversations/{uuid}`: the page of a conversation, with the messages of all branches in
//! order of time.

use std::collections::HashMap;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use serde::Deserialize;
use tallybook_frontend::invisible::escaped;
use tallybook_protocol::{MessageId, MessageStatus, Role, ToolCallId};
use tallybook_tool_history::{
    CallOfTurnRow, ConversationPage as Page, CopiedCallRow, ModelCallOfTurnRow, PlanStepRow, ReasoningRow, Subject,
    ToolHistory,
};
use uuid::Uuid;

use super::{
    super::{caller::Admin, query::Query, state::State},
    call::{Feedback, File},
    format,
    i18n::Messages,
    layout::{Frame, ReasonForm, answer, refusal, take_reason},
    untrusted_text::Visible,
};

#[derive(Deserialize)]
pub(crate) struct FromQuery {
    /// The first message on the page.
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
    files: Vec<File>,
    /// Status of the turn, unless it is complete.
    status: Option<&'static str>,
    error: Option<Visible>,
    feedback: Option<Feedback>,
    model: Option<String>,
    /// The context that the model received, if it did not contain all earlier messages.
    context: Option<ContextView>,
    time: String,
    datetime: String,
    /// Steps of the plan for the answer.
    plan: Vec<PlanStep>,
    reasoning: Vec<Reasoning>,
    calls: Vec<Call>,
    copied_calls: Vec<CopiedCall>,
    model_calls: Vec<ModelCall>,
}

/// A call of the conversation that the message was copied from.
struct CopiedCall {
    /// The call itself, if it has not been purged.
    original: Option<ToolCallId>,
    tool: String,
    status: &'static str,
    status_word: &'static str,
    duration: Option<String>,
}

/// A model call for the message.
struct ModelCall {
    purpose: String,
    model: String,
    /// Tokens, cost, number of attempts, and error.
    text: String,
    duration: String,
}

/// A step of a plan.
struct PlanStep {
    instruction: Visible,
    status: &'static str,
    status_word: &'static str,
    /// Number of attempts, if more than one.
    attempts: Option<String>,
    /// The reason for the step's evaluation, if there is one.
    reason: Option<Visible>,
}

/// The model's reasoning in one step.
struct Reasoning {
    text: Visible,
    /// Duration of the reasoning.
    duration: Option<String>,
    /// Size of the whole reasoning, if only the beginning is shown.
    size: Option<String>,
}

struct ContextView {
    from: MessageId,
    /// Summary of the earlier messages; empty if the model received no summary.
    summary: Visible,
}

#[derive(Template)]
#[template(path = "tool_history/conversation.html")]
struct ConversationPage {
    frame: Frame,
    title: String,
    user: String,
    time: String,
    /// Notice that the owner deleted the conversation.
    deletion: Option<String>,
    messages: Vec<Message>,
    /// URL of the conversation's beginning, unless this page begins there.
    first: Option<String>,
    next: Option<String>,
}

pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    admin: Admin,
    uuid: web::Path<Uuid>,
    Query(query): Query<FromQuery>,
) -> HttpResponse {
    let (reader, uuid, from) = (admin.0, *uuid, query.from);
    let frame = Frame::of(&state, &request);
    match state
        .run_tool_history(
            move |history: ToolHistory| async move { history.open_conversation(&reader, uuid, from).await },
        )
        .await
    {
        Ok(found) => answer(StatusCode::OK, &page(frame, found, from)),
        Err(error) => refusal(frame, &request, &error),
    }
}

pub(crate) async fn give_reason(
    state: State,
    request: HttpRequest,
    admin: Admin,
    uuid: web::Path<Uuid>,
    form: web::Form<ReasonForm>,
) -> HttpResponse {
    take_reason(&state, &request, admin.0, Subject::Conversation(*uuid), form.into_inner()).await
}

fn page(frame: Frame, found: Page, from: MessageId) -> ConversationPage {
    let texts = frame.texts;
    let Page { row, messages, files, calls, copied_calls, model_calls, reasoning, plan_steps, next, deletion } = found;
    let mut plan_of: HashMap<MessageId, Vec<PlanStep>> = HashMap::new();
    for step in plan_steps {
        plan_of.entry(step.message_id).or_default().push(step_of(step, texts));
    }
    let mut files_of: HashMap<MessageId, Vec<File>> = HashMap::new();
    for file in files {
        files_of.entry(file.message_id).or_default().push(File::of(file, texts));
    }
    let mut models_of: HashMap<MessageId, Vec<ModelCall>> = HashMap::new();
    for call in model_calls {
        models_of.entry(call.message_id).or_default().push(model_call_of(&call, texts));
    }
    let mut reasoning_by_message: HashMap<MessageId, Vec<Reasoning>> = HashMap::new();
    for part in reasoning {
        reasoning_by_message.entry(part.message_id).or_default().push(reasoning_of(part, texts));
    }
    let mut calls_of: HashMap<MessageId, Vec<CallOfTurnRow>> = HashMap::new();
    for call in calls {
        calls_of.entry(call.message_id).or_default().push(call);
    }
    let mut copied_of: HashMap<MessageId, Vec<CopiedCall>> = HashMap::new();
    for call in copied_calls {
        copied_of.entry(call.message_id).or_default().push(copied_call_of(&call, texts));
    }
    let call = |call: CallOfTurnRow| Call {
        id: call.id,
        status_word: texts.status(call.status),
        tool: escaped(&call.tool_name).into_owned(),
        status: call.status.as_str(),
        duration: call.duration_ms.map(|ms| texts.duration_text(ms)),
    };
    let visible = |text: String| Visible::new(text, texts.0);
    let messages = messages.into_iter().map(|message| Message {
        id: message.id,
        who: if message.role == Role::User { texts.person() } else { texts.assistant() },
        is_cut: i64::try_from(message.content.len()).is_ok_and(|held| held < message.content_bytes),
        size: texts.size_text(message.content_bytes),
        files: files_of.remove(&message.id).unwrap_or_default(),
        status: Some(texts.turn_status(message.status)).filter(|_| message.status != MessageStatus::Complete),
        text: visible(message.content),
        error: message.error.map(visible),
        feedback: Feedback::of(message.feedback, texts),
        context: message
            .told_from
            .map(|from| ContextView { from, summary: visible(message.told_summary.unwrap_or_default()) }),
        model: message.model,
        time: format::time(&message.created_at),
        datetime: format::datetime(&message.created_at),
        plan: plan_of.remove(&message.id).unwrap_or_default(),
        reasoning: reasoning_by_message.remove(&message.id).unwrap_or_default(),
        calls: calls_of.remove(&message.id).unwrap_or_default().into_iter().map(call).collect(),
        copied_calls: copied_of.remove(&message.id).unwrap_or_default(),
        model_calls: models_of.remove(&message.id).unwrap_or_default(),
    });
    let address = |from: MessageId| format!("/admin/conversations/{}?from={from}", row.uuid);
    ConversationPage {
        first: (from != MessageId::default()).then(|| format!("/admin/conversations/{}", row.uuid)),
        next: next.map(address),
        messages: messages.collect(),
        deletion: deletion.map(|deletion| texts.deleted_by_owner(&deletion)),
        time: format::time(&row.created_at),
        title: row.title,
        user: row.user_name,
        frame,
    }
}

fn copied_call_of(call: &CopiedCallRow, texts: Messages) -> CopiedCall {
    CopiedCall {
        original: call.original_id,
        tool: escaped(&call.tool_name).into_owned(),
        status: call.status.as_str(),
        status_word: texts.status(call.status),
        duration: call.duration_ms.map(|ms| texts.duration_text(ms)),
    }
}

fn step_of(step: PlanStepRow, texts: Messages) -> PlanStep {
    let PlanStepRow { instruction, status, attempt, reason, .. } = step;
    let visible = |text: String| Visible::new(text, texts.0);
    PlanStep {
        instruction: visible(instruction),
        status: status.as_str(),
        status_word: texts.step_status(status),
        attempts: (attempt > 1).then(|| texts.attempts(attempt)),
        reason: reason.map(visible),
    }
}

fn reasoning_of(ReasoningRow { text, text_bytes, duration_ms, .. }: ReasoningRow, texts: Messages) -> Reasoning {
    let is_cut = i64::try_from(text.len()).is_ok_and(|held| held < text_bytes);
    Reasoning {
        text: Visible::new(text, texts.0),
        duration: duration_ms.map(|ms| texts.duration_text(ms)),
        size: is_cut.then(|| texts.size_text(text_bytes)),
    }
}

fn model_call_of(row: &ModelCallOfTurnRow, texts: Messages) -> ModelCall {
    ModelCall {
        purpose: texts.purpose(&row.purpose),
        model: format!("{} {}", row.provider, row.model),
        text: texts.model_call(row),
        duration: texts.duration_text(row.duration_ms),
    }
}
