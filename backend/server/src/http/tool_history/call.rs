//! HTTP handlers for `/admin/calls/{id}`: the page of one tool call, with the turn around it.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use tallybook_accounts::UserId;
use tallybook_conversations::FeedbackRow;
use tallybook_frontend::invisible::{escaped, escaped_json};
use tallybook_protocol::ToolCallId;
use tallybook_tool_history::{BUILT_IN, CallDetails, FileRow, MAX_RERUN_INPUT_BYTES, RerunId, Subject, ToolHistory};

use super::{
    super::{caller::Admin, query::Query, state::State},
    format,
    i18n::Messages,
    layout::{Frame, ReasonForm, answer, refusal, take_reason},
    rerun,
    timeline::{Bar, bars},
    untrusted_text::Visible,
};

/// A text of a call: an input, the output, or the error.
struct Text {
    title: &'static str,
    body: Visible,
    size: String,
    is_cut: bool,
}

/// A property of a call.
struct Fact {
    name: &'static str,
    value: String,
    /// The value as an HTML `datetime`, if it is a time.
    datetime: Option<String>,
}

struct Decision {
    word: &'static str,
    by: String,
    reason: Option<Visible>,
    time: String,
    datetime: String,
}

/// The owner's feedback on an answer.
pub(crate) struct Feedback {
    pub(crate) word: &'static str,
    pub(crate) reason: Option<Visible>,
}

impl Feedback {
    pub(crate) fn of(row: FeedbackRow, texts: Messages) -> Option<Self> {
        let given = row.into_feedback()?;
        let reason = given.reason.map(|reason| Visible::new(reason, texts.0));
        Some(Self { word: texts.rating(given.rating), reason })
    }
}

/// A file of a message or call. Its content is not shown.
pub(super) struct File {
    pub(super) name: Visible,
    /// Media type and size.
    pub(super) about: String,
}

impl File {
    pub(super) fn of(row: FileRow, texts: Messages) -> Self {
        Self {
            name: Visible::new(row.name, texts.0),
            about: format!("{} · {}", row.media_type, texts.size_text(row.bytes)),
        }
    }
}

struct Vote {
    word: &'static str,
    model: String,
    reason: Visible,
    duration: String,
}

#[derive(Template)]
#[template(path = "tool_history/call.html")]
struct CallPage {
    frame: Frame,
    tool: String,
    status: &'static str,
    status_word: &'static str,
    /// Notice that the owner deleted the call.
    deletion: Option<String>,
    facts: Vec<Fact>,
    sections: Vec<Text>,
    /// The files that the call returned.
    files: Vec<File>,
    feedback: Option<Feedback>,
    votes: Vec<Vote>,
    decisions: Vec<Decision>,
    bars: Vec<Bar>,
    conversation: String,
    id: ToolCallId,
    /// The input as JSON, for the form of the re-run.
    input_field: String,
    /// The input and the result, for comparison with those of the re-run.
    input: Visible,
    result: Option<Visible>,
    /// The reason why the call cannot be re-run; `None` if it can.
    no_rerun: Option<String>,
    max_input: usize,
    reruns: Vec<rerun::Entry>,
    rerun: Option<rerun::Shown>,
}

#[derive(Deserialize)]
pub(crate) struct RerunQuery {
    /// The re-run to show; the latest one if absent.
    rerun: Option<RerunId>,
}

pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    admin: Admin,
    id: web::Path<ToolCallId>,
    Query(query): Query<RerunQuery>,
) -> HttpResponse {
    let (reader, id, rerun) = (admin.0, *id, query.rerun);
    let user = reader.user;
    let frame = Frame::of(&state, &request);
    match state
        .run_tool_history(move |history: ToolHistory| async move { history.open_call(&reader, id, rerun).await })
        .await
    {
        Ok(call) => answer(StatusCode::OK, &page(frame, call, user)),
        Err(error) => refusal(frame, &request, &error),
    }
}

pub(crate) async fn give_reason(
    state: State,
    request: HttpRequest,
    admin: Admin,
    id: web::Path<ToolCallId>,
    form: web::Form<ReasonForm>,
) -> HttpResponse {
    take_reason(&state, &request, admin.0, Subject::Call(*id), form.into_inner()).await
}

fn fact(name: &'static str, value: Option<String>) -> Option<Fact> {
    Some(Fact { name, value: value?, datetime: None })
}

fn time(name: &'static str, at: Option<DateTime<Utc>>) -> Option<Fact> {
    let at = at?;
    Some(Fact { name, value: format::time(&at), datetime: Some(format::datetime(&at)) })
}

fn page(frame: Frame, call: CallDetails, reader: UserId) -> CallPage {
    let (texts, language) = (frame.texts, frame.language);
    let visible = |text: String| Visible::new(text, language);
    let bars = bars(&call, texts);
    let CallDetails { row, files, votes, decisions, deletion, reruns, no_rerun, .. } = call;
    let (reruns, rerun) = rerun::shown(row.id, reruns, frame.texts, language);
    let (input, result) = (row.input.clone(), row.output.as_ref().or(row.error.as_ref()).cloned().map(visible));
    let text = |title, text: Option<String>, bytes: Option<i64>| {
        let (text, bytes) = (text?, bytes?);
        let is_cut = i64::try_from(text.len()).is_ok_and(|held| held < bytes);
        Some(Text { title, body: visible(text), size: texts.size_text(bytes), is_cut })
    };
    let sections = [
        text(texts.proposed_input(), row.proposed_input, row.proposed_input_bytes),
        text(texts.input(), Some(row.input), Some(row.input_bytes)),
        text(texts.output(), row.output, row.output_bytes),
        text(texts.error(), row.error, row.error_bytes),
    ];
    let server = if row.server.is_empty() { BUILT_IN.to_owned() } else { row.server };
    let facts = [
        fact(texts.person(), Some(row.user_name)),
        fact(texts.server(), Some(server)),
        fact(texts.model(), row.model),
        time(texts.began(), Some(row.started_at)),
        time(texts.ended(), row.completed_at),
        time(texts.decided(), row.decided_at),
        fact(texts.duration(), row.duration_ms.map(|ms| texts.duration_text(ms))),
        fact(texts.error_kind(), row.error_type),
        fact(texts.turn(), Some(texts.turn_status(row.turn_status).to_owned())),
        fact(texts.title(), Some(row.title).filter(|_| row.user_id == reader)),
        fact(texts.provider_id(), Some(row.tool_call_id)),
    ];
    CallPage {
        status_word: texts.status(row.status),
        status: row.status.as_str(),
        tool: escaped(&row.tool_name).into_owned(),
        deletion: deletion.map(|deletion| texts.deleted_by_owner(&deletion)),
        facts: facts.into_iter().flatten().collect(),
        sections: sections.into_iter().flatten().collect(),
        files: files.into_iter().map(|file| File::of(file, texts)).collect(),
        feedback: Feedback::of(row.feedback, texts),
        votes: votes
            .into_iter()
            .map(|row| Vote {
                word: texts.verdict(row.verdict),
                model: row.model,
                reason: visible(row.reason),
                duration: texts.duration_text(row.duration_ms),
            })
            .collect(),
        decisions: decisions
            .into_iter()
            .map(|row| Decision {
                word: texts.decision(row.decision, row.scope.0),
                by: texts.decided_by(row.decided_by_kind, &row.decided_by),
                reason: row.reason.map(visible),
                time: format::time(&row.created_at),
                datetime: format::datetime(&row.created_at),
            })
            .collect(),
        bars,
        id: row.id,
        input_field: escaped_json(&input),
        input: visible(input),
        result,
        no_rerun: no_rerun.map(|problem| texts.no_rerun(problem)),
        max_input: MAX_RERUN_INPUT_BYTES,
        reruns,
        rerun,
        conversation: format!("/admin/conversations/{}?from={}#call-{}", row.uuid, row.message_id, row.id),
        frame,
    }
}
