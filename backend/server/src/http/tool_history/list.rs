//! HTTP handlers for `/admin`: the list of tool calls, filtered and page by page. The URL contains the whole state of
//! the list.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use serde::Deserialize;
use tallybook_accounts::UserId;
use tallybook_frontend::invisible::escaped;
use tallybook_protocol::{ToolCallId, first_chars};
use tallybook_tool_history::{
    BUILT_IN, CallRow, CallsPage, Filter, ListPosition, Order, Subject, ToolHistory, ToolHistoryError,
};
use url::form_urlencoded::Serializer;

use super::{
    super::{caller::Admin, error::ApiError, query::Query, state::State},
    figures::{self, Chart},
    format,
    layout::{Frame, ReasonForm, address, answer, refusal, take_reason},
};

/// Maximum length of an input in the list, in characters.
const SHOWN_CHARS: usize = 80;

/// Query parameters of the list.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ListQuery {
    /// The filter, as the user typed it.
    #[serde(default)]
    q: String,
    /// `slowest`; any other value means newest first.
    #[serde(default)]
    order: String,
    /// Cursor at which the page begins; empty for the first page.
    #[serde(default)]
    after: String,
}

impl ListQuery {
    fn order(&self) -> Order {
        if self.order == "slowest" { Order::Slowest } else { Order::Newest }
    }
}

/// A call in the list.
struct Entry {
    id: ToolCallId,
    time: String,
    datetime: String,
    tool: String,
    tool_address: String,
    server: String,
    server_address: String,
    status: &'static str,
    status_word: &'static str,
    status_address: String,
    duration: Option<String>,
    input_size: String,
    result_size: String,
    user: String,
    user_address: String,
    /// Title of the conversation, if it is the admin's own and not deleted.
    title: Option<String>,
    uuid: String,
    /// Beginning of the input; `None` until the admin gives a reason.
    input: Option<String>,
    /// `true` if the owner deleted the call.
    is_deleted: bool,
}

#[derive(Template)]
#[template(path = "tool_history/list.html")]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of the template's own")]
struct ListPage {
    frame: Frame,
    /// The filter in its normal form, or as the user typed it if it is not valid.
    typed: String,
    /// The parts of the filter, each with the URL of the list without that part.
    parts: Vec<(String, String)>,
    slowest: bool,
    entries: Vec<Entry>,
    /// Error message, such as the reason why the filter is not valid.
    problem: Option<String>,
    /// Target of the form that asks for a reason; `None` if no reason is needed.
    reason_to: Option<String>,
    next: Option<String>,
    /// URL of the first page, unless this is the first page.
    first: Option<String>,
    /// `false` if the time for the search ran out before the page was full.
    is_complete: bool,
    /// `true` if inputs are withheld until the admin gives a reason.
    has_withheld: bool,
    /// `true` if the server has accounts; otherwise the list has no column for the user.
    has_people: bool,
    /// Export formats, each with its URL.
    exports: Vec<(&'static str, String)>,
    /// Example filters, each with its URL.
    examples: Vec<(&'static str, String)>,
    /// Calls per hour of the last day; on the first page of the list without a filter.
    today: Option<Chart>,
}

pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    admin: Admin,
    Query(query): Query<ListQuery>,
) -> HttpResponse {
    let frame = Frame::of(&state, &request);
    let texts = frame.texts;
    let reader = admin.0;
    let mut page = ListPage {
        frame,
        typed: query.q.clone(),
        parts: Vec::new(),
        slowest: query.order() == Order::Slowest,
        entries: Vec::new(),
        problem: None,
        reason_to: None,
        next: None,
        first: (!query.after.is_empty()).then(|| to(&query.q, query.order(), None)),
        is_complete: true,
        has_withheld: false,
        has_people: state.accounts.settings().required,
        exports: Vec::new(),
        examples: examples(),
        today: None,
    };
    let filter: Filter = match query.q.parse() {
        Ok(filter) => filter,
        Err(error) => {
            page.problem = Some(texts.filter_problem(&error));
            return answer(StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
    };
    page.typed = filter.to_string();
    let without = |(part, rest): (String, Filter)| (part, to(&rest.to_string(), query.order(), None));
    page.parts = filter.parts().into_iter().map(without).collect();
    page.exports =
        [("CSV", "csv"), ("JSONL", "jsonl")].map(|(name, format)| (name, export_to(&page.typed, format))).into();
    if page.parts.is_empty() && page.first.is_none() && query.order() == Order::Newest {
        page.today = figures::calls_of_last_day(&state, texts).await;
    }
    let after = ListPosition::from_cursor(&query.after, query.order());
    let (user, order, asked) = (reader.user, query.order(), filter.clone());
    let work = move |history: ToolHistory| async move { history.list_calls(&reader, &asked, order, after).await };
    match state.run_tool_history(work).await {
        Ok(CallsPage { rows, next, is_complete }) => {
            page.next = next.map(|next| to(&page.typed, order, Some(next)));
            page.is_complete = is_complete;
            page.has_withheld = rows.iter().any(|row| row.input_start.is_none());
            page.entries = rows.into_iter().map(|row| entry(row, &filter, order, user, &page.frame)).collect();
            answer(StatusCode::OK, &page)
        }
        Err(error @ ApiError::ToolHistory(ToolHistoryError::NeedsReason { .. })) => {
            page.problem = Some(texts.problem(&error));
            page.reason_to = Some(address(&request));
            answer(StatusCode::FORBIDDEN, &page)
        }
        Err(error @ ApiError::ToolHistory(ToolHistoryError::NoSuchUser(_) | ToolHistoryError::NoSuchConversation)) => {
            page.problem = Some(texts.problem(&error));
            answer(StatusCode::OK, &page)
        }
        Err(error) => refusal(page.frame, &request, &error),
    }
}

pub(crate) async fn give_reason(
    state: State,
    request: HttpRequest,
    admin: Admin,
    Query(query): Query<ListQuery>,
    form: web::Form<ReasonForm>,
) -> HttpResponse {
    let Ok(filter) = query.q.parse() else { return show(state, request, admin, Query(query)).await };
    take_reason(&state, &request, admin.0, Subject::Calls(filter), form.into_inner()).await
}

/// Returns the URL of a page of the list.
pub(crate) fn to(filter: &str, order: Order, after: Option<ListPosition>) -> String {
    let mut query = Serializer::new(String::new());
    if !filter.is_empty() {
        query.append_pair("q", filter);
    }
    if order == Order::Slowest {
        query.append_pair("order", "slowest");
    }
    if let Some(after) = after {
        query.append_pair("after", &after.to_cursor());
    }
    let query = query.finish();
    if query.is_empty() { "/admin".to_owned() } else { format!("/admin?{query}") }
}

/// Returns the URL of an export.
fn export_to(filter: &str, format: &str) -> String {
    let mut query = Serializer::new(String::new());
    if !filter.is_empty() {
        query.append_pair("q", filter);
    }
    format!("/admin/export?{}", query.append_pair("format", format).finish())
}

fn examples() -> Vec<(&'static str, String)> {
    let filters = ["status:error since:24h", "slow:>5s since:7d", "status:denied", "server:built-in"];
    filters.map(|filter| (filter, to(filter, Order::Newest, None))).into()
}

fn entry(row: CallRow, filter: &Filter, order: Order, reader: UserId, frame: &Frame) -> Entry {
    let with = |change: &dyn Fn(&mut Filter)| {
        let mut filter = filter.clone();
        change(&mut filter);
        to(&filter.to_string(), order, None)
    };
    let input = row.input_start.as_deref().map(|start| {
        let is_cut = start.chars().count() > SHOWN_CHARS;
        let shown: String = first_chars(start, SHOWN_CHARS).to_owned();
        let mut input = escaped(&shown).into_owned();
        if is_cut {
            input.push('…');
        }
        input
    });
    Entry {
        id: row.id,
        time: format::time(&row.started_at),
        datetime: format::datetime(&row.started_at),
        tool_address: with(&|filter| filter.tool = Some(row.tool_name.clone())),
        server_address: with(&|filter| filter.server = Some(row.server.clone())),
        status_address: with(&|filter| filter.status = Some(row.status)),
        user_address: with(&|filter| filter.user = Some(row.user_name.clone())),
        tool: escaped(&row.tool_name).into_owned(),
        server: if row.server.is_empty() { BUILT_IN.to_owned() } else { row.server.clone() },
        status_word: frame.texts.status(row.status),
        duration: row.duration_ms.map(|ms| frame.texts.duration_text(ms)),
        input_size: frame.texts.size_text(row.input_bytes),
        result_size: frame.texts.size_text(row.bytes() - row.input_bytes),
        title: Some(row.title).filter(|_| row.user_id == reader && !row.is_deleted),
        is_deleted: row.is_deleted,
        status: row.status.as_str(),
        user: row.user_name,
        uuid: row.uuid,
        input,
    }
}
