//! Tallybook's REST API as the browser calls it. Paths and bodies are those of the protocol; how bytes travel is in
//! `browser`.

use std::time::Duration;

use leptos::wasm_split::SplitLoaderError;
use serde::{Serialize, de::DeserializeOwned};
use tallybook_protocol::{
    AcceptTool, AnswerAgain, Approval, ApprovalId, CallDecision, Conversation, ConversationSummary, DisabledTools,
    FeedEvent, MessageId, NewConversation, NewDecision, NewDecisions, NewMessage, NewShare, PAGE_HEADER, Page,
    Playback, Problem, PurposeUsage, ReasoningSummary, SearchPage, Share, ShareId, ToolCall, ToolCallId, ToolList,
    UpdateConversation, UsageByPurpose, Window,
    sse::{Decoder, Frame},
};
use uuid::Uuid;

use crate::{
    browser::{self, Body, Response, Unreachable},
    language::Language,
    reading::{self, Events},
};

pub(crate) mod account;

/// A stream that is silent for so long is taken for dead; the server sends a sign of life more often than that.
const SILENCE_LIMIT: Duration = Duration::from_mins(1);
/// How long a plain request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// How long the server may take to close a stream that is over.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiError {
    /// No answer: the network, or a server that is away.
    Unreachable,
    /// The server said no, with this status and this sentence for the reader.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The stable name of the reason; empty when none was given.
        code: String,
        /// What is wrong and what to do about it.
        detail: String,
    },
    /// The answer cannot be read, as from a server of another version.
    Unreadable,
}

impl ApiError {
    /// The sentence for the reader.
    pub(crate) fn message(&self, text: Language) -> String {
        match self {
            Self::Unreachable => text.unreachable().to_owned(),
            Self::Refused { code, detail, status } => match text.problem(code) {
                Some(words) => words.to_owned(),
                None if detail.is_empty() => text.refused(*status),
                None => detail.clone(),
            },
            Self::Unreadable => text.unreadable().to_owned(),
        }
    }

    /// Whether the server says that nobody is signed in any more.
    pub(crate) fn is_signed_out(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether the server says that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

impl From<Unreachable> for ApiError {
    fn from(Unreachable: Unreachable) -> Self {
        Self::Unreachable
    }
}

/// What reads the answer did not come.
impl From<SplitLoaderError> for ApiError {
    fn from(_: SplitLoaderError) -> Self {
        Self::Unreachable
    }
}

/// Server-sent events, as they arrive.
struct Frames {
    body: Body,
    decoder: Decoder,
    arrived: Vec<Frame>,
}

impl Frames {
    fn new(response: Response) -> Result<Self, ApiError> {
        Ok(Self { body: response.into_body()?, decoder: Decoder::new(), arrived: Vec::new() })
    }

    /// What has arrived, at least one frame; `None` when the stream ended or broke off.
    async fn next(&mut self) -> Option<Vec<Frame>> {
        while self.arrived.is_empty() {
            let portion = browser::within(SILENCE_LIMIT, self.body.next()).await?.ok()??;
            self.arrived.extend(self.decoder.push(&portion).ok()?);
        }
        Some(std::mem::take(&mut self.arrived))
    }
}

/// The events of one turn, as they arrive.
pub(crate) struct EventStream(Frames);

impl EventStream {
    fn new(response: Response) -> Result<Self, ApiError> {
        Frames::new(response).map(Self)
    }

    /// The events that have arrived, at least one; `None` when the stream ended or broke off.
    pub(crate) async fn next(&mut self) -> Option<Events> {
        reading::events(self.0.next().await?).await.ok()
    }

    /// Waits for the server to close the stream after its last event, which it does at once. Dropping the stream before
    /// that would count as a broken connection on both sides.
    pub(crate) async fn finish(&mut self) {
        let at_end = async { while let Ok(Some(_)) = self.0.body.next().await {} };
        let _ = browser::within(CLOSING_LIMIT, at_end).await;
    }
}

/// What happens to conversations, as it happens.
pub(crate) struct Feed {
    frames: Frames,
    /// The folder of the page that this server has, which names its version; `None` when it does not say.
    pub(crate) folder: Option<String>,
}

impl Feed {
    /// The events that have arrived; `None` when the stream ended or broke off. What cannot be read is left out.
    pub(crate) async fn next(&mut self) -> Option<Vec<FeedEvent>> {
        let frames = self.frames.next().await?;
        Some(frames.iter().filter_map(|frame| serde_json::from_str(&frame.data).ok()).collect())
    }
}

/// `GET /api/events`
pub(crate) async fn feed() -> Result<Feed, ApiError> {
    let response = request("GET", "/api/events", NO_BODY).await?;
    let folder = response.header(PAGE_HEADER);
    Ok(Feed { frames: Frames::new(response)?, folder })
}

/// The address of one conversation.
pub(crate) fn conversation_url(uuid: Uuid) -> String {
    format!("/api/conversations/{uuid}")
}

/// The address of a conversation as a file.
pub(crate) fn export_url(uuid: Uuid, format: &str) -> String {
    format!("{}/export?format={format}", conversation_url(uuid))
}

/// `PATCH /api/conversations/{uuid}`
pub(crate) async fn update_conversation(uuid: Uuid, to: &UpdateConversation) -> Result<(), ApiError> {
    let _: ConversationSummary = call("PATCH", &conversation_url(uuid), Some(to)).await?;
    Ok(())
}

/// The same, for another model; `None` for the server's default.
pub(crate) async fn choose_model(uuid: Uuid, model: Option<String>) -> Result<(), ApiError> {
    let update = UpdateConversation { model: Some(model), ..UpdateConversation::default() };
    let _: ConversationSummary = call("PATCH", &conversation_url(uuid), Some(&update)).await?;
    Ok(())
}

/// `DELETE /api/conversations/{uuid}`
pub(crate) async fn delete_conversation(uuid: Uuid) -> Result<(), ApiError> {
    request("DELETE", &conversation_url(uuid), NO_BODY).await?.text().await?;
    Ok(())
}

/// `POST /api/conversations`
pub(crate) async fn create_conversation(
    model: Option<String>,
    disabled_tools: Vec<String>,
) -> Result<ConversationSummary, ApiError> {
    let new = NewConversation { model, disabled_tools, ..NewConversation::default() };
    call("POST", "/api/conversations", Some(&new)).await
}

/// Which conversations a list is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed<'a> {
    /// All but those in the archive.
    Newest,
    /// All that are pinned, of which there can be no more than one page has.
    Pinned,
    Archived,
    /// Those with these words in their titles.
    Matching(&'a str),
}

/// `GET /api/conversations`: a page of a list, after `cursor`.
pub(crate) async fn list_conversations(
    listed: Listed<'_>,
    cursor: Option<&str>,
) -> Result<Page<ConversationSummary>, ApiError> {
    match listed {
        Listed::Newest => page("/api/conversations?q=", "", cursor).await,
        Listed::Pinned => page("/api/conversations?pinned=true&limit=100", "", cursor).await,
        Listed::Archived => page("/api/conversations?archived=true", "", cursor).await,
        Listed::Matching(words) => page("/api/conversations?q=", words, cursor).await,
    }
}

/// `GET /api/search`, or `GET /api/conversations/{uuid}/search`: where this stands, after `cursor`.
pub(crate) async fn search(
    conversation: Option<Uuid>,
    query: &str,
    cursor: Option<&str>,
) -> Result<SearchPage, ApiError> {
    let place = conversation.map_or_else(|| "/api".to_owned(), conversation_url);
    page(&format!("{place}/search?query="), query, cursor).await
}

/// A page of what is found for `words` at the address that ends with them.
async fn page<T: DeserializeOwned>(url: &str, words: &str, cursor: Option<&str>) -> Result<T, ApiError> {
    let mut url = format!("{url}{}", encoded(words));
    if let Some(cursor) = cursor {
        url.push_str("&cursor=");
        url.push_str(&encoded(cursor));
    }
    call("GET", &url, NO_BODY).await
}

fn encoded(text: &str) -> String {
    String::from(js_sys::encode_uri_component(text))
}

fn query_of(window: Window) -> String {
    let Window { limit, before, from } = window;
    let id = |id: Option<MessageId>| id.map(|MessageId(id)| id);
    let fields = [("limit", limit.map(i64::from)), ("before", id(before)), ("from", id(from))];
    let fields = fields.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    fields.collect::<Vec<_>>().join("&")
}

/// `GET /api/conversations/{uuid}`
pub(crate) async fn find_conversation(uuid: Uuid, window: Window) -> Result<Option<Conversation>, ApiError> {
    match call_text("GET", &format!("{}?{}", conversation_url(uuid), query_of(window)), NO_BODY).await {
        Ok(json) => read_conversation(json).await.map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// `POST /api/conversations/{uuid}/messages`
pub(crate) async fn send_message(uuid: Uuid, message: &NewMessage) -> Result<EventStream, ApiError> {
    let response = request("POST", &format!("/api/conversations/{uuid}/messages"), Some(message)).await?;
    EventStream::new(response)
}

/// `POST /api/conversations/{uuid}/messages/{id}/regenerate`
pub(crate) async fn regenerate(uuid: Uuid, id: MessageId, model: Option<String>) -> Result<EventStream, ApiError> {
    let url = format!("/api/conversations/{uuid}/messages/{id}/regenerate");
    EventStream::new(request("POST", &url, Some(&AnswerAgain { model })).await?)
}

/// `POST /api/conversations/{uuid}/messages/{id}/select`
pub(crate) async fn select_message(uuid: Uuid, id: MessageId, window: Window) -> Result<Conversation, ApiError> {
    let query = query_of(window);
    let url = format!("/api/conversations/{uuid}/messages/{id}/select?{query}");
    read_conversation(call_text("POST", &url, NO_BODY).await?).await
}

async fn read_conversation(json: String) -> Result<Conversation, ApiError> {
    reading::conversation(json).await?.map(|conversation| *conversation).ok_or(ApiError::Unreadable)
}

/// `GET /api/conversations/{uuid}/events`; `None` when nothing runs and nothing is owed.
pub(crate) async fn join(uuid: Uuid, after: Option<&str>) -> Result<Option<EventStream>, ApiError> {
    let mut url = format!("/api/conversations/{uuid}/events");
    if let Some(after) = after {
        url.push_str("?after=");
        url.push_str(&encoded(after));
    }
    let response = request("GET", &url, NO_BODY).await?;
    if response.status() == 204 { Ok(None) } else { EventStream::new(response).map(Some) }
}

/// `POST /api/conversations/{uuid}/continue`
pub(crate) async fn continue_turn(uuid: Uuid) -> Result<EventStream, ApiError> {
    EventStream::new(request("POST", &format!("/api/conversations/{uuid}/continue"), NO_BODY).await?)
}

/// `POST /api/tool-calls/{id}/decision` for one, `POST /api/conversations/{uuid}/decisions` for several; `None` when others
/// are still to be taken before the turn goes on.
pub(crate) async fn decide(uuid: Uuid, mut decisions: Vec<CallDecision>) -> Result<Option<EventStream>, ApiError> {
    let response = match (decisions.len(), decisions.pop()) {
        (1, Some(CallDecision { tool_call_id, decision, reason, input, remember })) => {
            let body = NewDecision { decision, reason, input, remember };
            request("POST", &format!("/api/tool-calls/{tool_call_id}/decision"), Some(&body)).await?
        }
        (_, last) => {
            decisions.extend(last);
            let url = format!("{}/decisions", conversation_url(uuid));
            request("POST", &url, Some(&NewDecisions { decisions })).await?
        }
    };
    let is_stream = response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    if is_stream { EventStream::new(response).map(Some) } else { Ok(None) }
}

/// `GET /api/approvals`
pub(crate) async fn list_approvals() -> Result<Vec<Approval>, ApiError> {
    let page: Page<Approval> = call("GET", "/api/approvals", NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/approvals/{id}`
pub(crate) async fn revoke_approval(id: ApprovalId) -> Result<(), ApiError> {
    take_back(&format!("/api/approvals/{id}")).await
}

/// `POST /api/conversations/{uuid}/shares`
pub(crate) async fn share(uuid: Uuid, tool_calls: bool) -> Result<Share, ApiError> {
    call("POST", &format!("{}/shares", conversation_url(uuid)), Some(&NewShare { tool_calls })).await
}

/// `GET /api/shares`
pub(crate) async fn list_shares() -> Result<Vec<Share>, ApiError> {
    let page: Page<Share> = call("GET", "/api/shares", NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/shares/{id}`
pub(crate) async fn revoke_share(id: ShareId) -> Result<(), ApiError> {
    take_back(&format!("/api/shares/{id}")).await
}

/// `GET /api/tools`
pub(crate) async fn list_tools() -> Result<ToolList, ApiError> {
    call("GET", "/api/tools", NO_BODY).await
}

/// `GET /api/conversations/{uuid}/tools`
pub(crate) async fn disabled_tools(uuid: Uuid) -> Result<DisabledTools, ApiError> {
    call("GET", &format!("{}/tools", conversation_url(uuid)), NO_BODY).await
}

/// `PUT /api/conversations/{uuid}/tools`
pub(crate) async fn disable_tools(uuid: Uuid, disabled: &DisabledTools) -> Result<DisabledTools, ApiError> {
    call("PUT", &format!("{}/tools", conversation_url(uuid)), Some(disabled)).await
}

/// `POST /api/tool-servers/{server}/tools/{tool}/accept`
pub(crate) async fn accept_tool(server: &str, tool: &str, hash: String) -> Result<(), ApiError> {
    let url = format!("/api/tool-servers/{}/tools/{}/accept", encoded(server), encoded(tool));
    request("POST", &url, Some(&AcceptTool { hash: Some(hash) })).await?.text().await?;
    Ok(())
}

/// `GET /api/conversations/{uuid}/messages/{id}/playback`: a page of a turn's events, after `after`.
pub(crate) async fn playback(uuid: Uuid, id: MessageId, after: Option<&str>) -> Result<Playback, ApiError> {
    let after = after.map(|after| format!("?after={}", encoded(after))).unwrap_or_default();
    call("GET", &format!("{}/messages/{id}/playback{after}", conversation_url(uuid)), NO_BODY).await
}

/// `POST /api/conversations/{uuid}/messages/{id}/reasoning-summary`
pub(crate) async fn explain(uuid: Uuid, id: MessageId) -> Result<Vec<String>, ApiError> {
    let url = format!("{}/messages/{id}/reasoning-summary", conversation_url(uuid));
    call("POST", &url, NO_BODY).await.map(|ReasoningSummary { lines }| lines)
}

/// `GET /api/conversations/{uuid}/usage`, or that of one of its answers
pub(crate) async fn find_usage(uuid: Uuid, message: Option<MessageId>) -> Result<Vec<PurposeUsage>, ApiError> {
    let of_message = message.map(|id| format!("/messages/{id}")).unwrap_or_default();
    let url = format!("{}{of_message}/usage", conversation_url(uuid));
    call("GET", &url, NO_BODY).await.map(|UsageByPurpose { items }| items)
}

/// `POST /api/conversations/{uuid}/stop`
pub(crate) async fn stop(uuid: Uuid) -> Result<(), ApiError> {
    request("POST", &format!("/api/conversations/{uuid}/stop"), NO_BODY).await?.text().await?;
    Ok(())
}

/// `GET /api/tool-calls/{id}`
pub(crate) async fn find_tool_call(id: ToolCallId) -> Result<ToolCall, ApiError> {
    let json = call_text("GET", &format!("/api/tool-calls/{id}"), NO_BODY).await?;
    reading::call(json).await?.map(|call| *call).ok_or(ApiError::Unreadable)
}

/// Deletes what was given. What is gone was taken back elsewhere.
async fn take_back(url: &str) -> Result<(), ApiError> {
    match request("DELETE", url, NO_BODY).await {
        Err(error) if !error.is_not_found() => Err(error),
        Err(_) => Ok(()),
        Ok(response) => Ok(response.text().await.map(|_| ())?),
    }
}

const NO_BODY: Option<&()> = None;

async fn call<T: DeserializeOwned>(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<T, ApiError> {
    serde_json::from_str(&call_text(method, url, body).await?).map_err(|_| ApiError::Unreadable)
}

/// The whole text of an answer.
async fn call_text(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<String, ApiError> {
    let whole = async { Ok(request(method, url, body).await?.text().await?) };
    browser::within(REQUEST_LIMIT, whole).await.unwrap_or(Err(ApiError::Unreachable))
}

/// Sends a request and gives the answer's head; an answer that is no success becomes an error with its sentence.
async fn request(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<Response, ApiError> {
    let body = body.map(serde_json::to_string).transpose().map_err(|_| ApiError::Unreadable)?;
    let head = browser::fetch(method, url, body.as_deref());
    let response = browser::within(REQUEST_LIMIT, head).await.unwrap_or(Err(Unreachable))?;
    let status = response.status();
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let told = browser::within(REQUEST_LIMIT, response.text()).await.unwrap_or(Err(Unreachable))?;
    let (kind, detail) = match serde_json::from_str::<Problem>(&told) {
        Ok(problem) => (problem.kind, problem.detail),
        Err(_) => Default::default(),
    };
    let code = kind.rsplit('/').next().unwrap_or_default().to_owned();
    Err(ApiError::Refused { status, code, detail })
}
