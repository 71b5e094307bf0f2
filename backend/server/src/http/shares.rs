//! HTTP handlers for share links: `/api/shares`, and the shared page at `/s/{token}`, which anyone with the link can
//! read, and signed-in users can continue as their own conversation. The page runs no scripts and asks search engines
//! not to index it.

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError as _,
    body::SizedStream,
    http::{StatusCode, header},
    web,
};
use serde::Deserialize;
use tallybook_accounts::{Credential, Permission, UserId};
use tallybook_conversations::{ConversationService, ServiceError};
use tallybook_files::FilesError;
use tallybook_frontend::{Language, Preferences, SharedPageReader};
use tallybook_protocol::{Message, NewShare, Page, Role, Share, ShareId, SharedConversation};
use uuid::Uuid;

use super::{
    body::OptionalBody,
    caller::{SessionUser, caller_of},
    error::ApiError,
    files::{ContentQuery, SANDBOX, disposition, no_such_file, served_type},
    i18n::{FAILED_IN_JAPANESE, messages},
    preferences,
    query::Query,
    security::WITHOUT_SCRIPTS,
    shared_responses::{Invalid, TooMany},
    state::{AppState, State},
};
use crate::http::caller::CurrentUser;

/// Returns `true` if a path is that of a share link, or of a file that it shows.
pub(crate) fn is_shared(path: &str) -> bool {
    let rest = path.strip_prefix("/s/");
    rest.is_some_and(|rest| rest.split_once('/').is_none_or(|(_, place)| place.starts_with("files/")))
}

/// Returns `true` if a path is that of the page of a share link.
pub(crate) fn is_page(path: &str) -> bool {
    path.strip_prefix("/s/").is_some_and(|token| !token.contains('/'))
}

/// Returns the path of the page of a share link if `path` is that of its form.
pub(crate) fn page_of_form(path: &str) -> Option<&str> {
    path.strip_suffix("/continue").filter(|page| is_page(page))
}

/// Creates a link to the conversation as it is now. Anyone with the link can read it.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/shares", operation_id = "share_conversation", tag = "Sharing",
    request_body = Option<NewShare>, security(("session" = [])),
    responses((status = 201, body = Share), TooMany, Invalid),
)]
pub(crate) async fn create(
    state: State,
    SessionUser(caller): SessionUser,
    uuid: web::Path<Uuid>,
    body: OptionalBody<NewShare>,
) -> Result<HttpResponse, ApiError> {
    if !state.accounts.rules().sharing {
        return Err(ApiError::SharingOff);
    }
    state.require(caller.user, Permission::Share).await?;
    let new = body.0;
    let share =
        move |service: ConversationService| async move { service.share_conversation(caller.user, *uuid, new).await };
    Ok(HttpResponse::Created().json(state.run(share).await?))
}

/// Lists your share links.
#[utoipa::path(
    get, path = "/api/shares", operation_id = "list_shares", tag = "Sharing", responses((status = 200, body = Page<Share>)),
)]
pub(crate) async fn list(state: State, CurrentUser(user): CurrentUser) -> Result<HttpResponse, ApiError> {
    let items = state.run(move |service| async move { service.list_shares(user).await }).await?;
    Ok(HttpResponse::Ok().json(Page::<Share> { items, next_cursor: None }))
}

/// Revokes a share link.
#[utoipa::path(
    delete, path = "/api/shares/{share_id}", operation_id = "revoke_share", tag = "Sharing",
    security(("session" = [])), responses((status = 204, description = "The link no longer works.")),
)]
pub(crate) async fn revoke(
    state: State,
    SessionUser(caller): SessionUser,
    id: web::Path<ShareId>,
) -> Result<HttpResponse, ApiError> {
    let id = id.into_inner();
    state.run(move |service| async move { service.revoke_share(caller.user, id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Format in which a link shows its conversation.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Page,
    /// Only the texts of the messages, in full.
    Text,
}

/// The query of a share link. A format that is not valid shows the page.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Shown {
    #[serde(default)]
    format: Format,
}

/// Shows a shared conversation. The response is the same if the link never existed, if it was revoked, and if sharing
/// is off.
pub(crate) async fn show(state: State, request: HttpRequest, token: web::Path<String>) -> HttpResponse {
    let chosen = preferences::of(&request);
    let found = match token.parse() {
        Ok(token) => find(&state, token).await,
        Err(_) => Ok(None),
    };
    // API keys cannot send the form.
    let caller = caller_of(&request).filter(|caller| !matches!(caller.credential, Credential::Key(_)));
    let shown = web::Query::<Shown>::from_query(request.query_string()).map(web::Query::into_inner).unwrap_or_default();
    if let (Ok(Some(shared)), Format::Text) = (&found, shown.format) {
        return headers(StatusCode::OK, "text/plain; charset=utf-8", WITHOUT_SCRIPTS).body(as_text(shared));
    }
    let reader = match (&found, caller) {
        (Ok(Some(shared)), Some(caller)) => match check_files(&state, caller.user, shared).await {
            Err(error @ ApiError::NotPermitted(_)) => SharedPageReader::Refused(copy_problem(&error, chosen.language)),
            // Another error may be over when the reader continues the conversation.
            Ok(()) | Err(_) => SharedPageReader::signed_in(),
        },
        _ => SharedPageReader::SignedOut,
    };
    let status = match &found {
        Ok(Some(_)) => StatusCode::OK,
        Ok(None) => StatusCode::NOT_FOUND,
        Err(error) => {
            tracing::error!(%error, "cannot render a shared conversation");
            error.status_code()
        }
    };
    let found = found.map_err(|error| problem(&error, chosen.language));
    page(&state, status, chosen, reader, found)
}

/// The form of a share link's page.
#[derive(Debug, Deserialize)]
pub(crate) struct ContinueForm {
    /// ID of the copy. The form has the same one each time it is sent, so that a second press creates no second copy.
    client_conversation_id: Option<String>,
}

/// Copies a shared conversation to the user's own conversations, and redirects to the copy. If the conversation has
/// files, the user needs the permission to upload. A copy counts as a message toward the limit of messages per
/// minute.
pub(crate) async fn continue_in_chat(
    state: State,
    request: HttpRequest,
    SessionUser(caller): SessionUser,
    token: web::Path<String>,
    filled: web::Form<ContinueForm>,
) -> HttpResponse {
    let chosen = preferences::of(&request);
    let not_found = || page(&state, StatusCode::NOT_FOUND, chosen, SharedPageReader::SignedOut, Ok(None));
    let failed = |error: &ApiError, reader: SharedPageReader, found: Result<Option<SharedConversation>, String>| {
        let status = error.status_code();
        if status.is_server_error() {
            tracing::error!(%error, "cannot copy a shared conversation");
        }
        page(&state, status, chosen, reader, found)
    };
    let Ok(token) = token.parse() else { return not_found() };
    let shared = match find(&state, token).await {
        Ok(Some(shared)) => shared,
        Ok(None) => return not_found(),
        Err(error) => {
            let problem = problem(&error, chosen.language);
            return failed(&error, SharedPageReader::SignedOut, Err(problem));
        }
    };
    let given = filled.into_inner().client_conversation_id;
    // A repeated attempt with the same ID creates no second copy.
    let client_conversation_id = given.as_deref().and_then(|id| id.parse().ok()).unwrap_or_else(Uuid::new_v4);
    let copy = move |service: ConversationService| async move {
        service.copy_shared_conversation(caller.user, token, given.as_deref()).await
    };
    let copied = match check_files(&state, caller.user, &shared).await {
        Ok(()) => state.run(copy).await,
        Err(error) => Err(error),
    };
    match copied {
        Ok(summary) => {
            HttpResponse::SeeOther().insert_header((header::LOCATION, format!("/c/{}", summary.uuid))).finish()
        }
        Err(ApiError::Service(ServiceError::NoSuchShare)) => not_found(),
        Err(error) => {
            let problem = copy_problem(&error, chosen.language);
            let is_final = matches!(
                error,
                ApiError::NotPermitted(_)
                    | ApiError::Service(ServiceError::NothingToCopy | ServiceError::TooLargeToCopy)
            );
            let reader = if is_final {
                SharedPageReader::Refused(problem)
            } else {
                SharedPageReader::SignedIn { client_conversation_id, problem: Some(problem) }
            };
            failed(&error, reader, Ok(Some(shared)))
        }
    }
}

/// Checks that the user may copy the files of a shared conversation: with files, a copy needs the permission to upload.
async fn check_files(state: &AppState, user: UserId, shared: &SharedConversation) -> Result<(), ApiError> {
    let has_files =
        |message: &Message| !message.files.is_empty() || message.tool_calls.iter().any(|call| !call.files.is_empty());
    if shared.messages.iter().any(has_files) {
        state.require(user, Permission::Upload).await?;
    }
    Ok(())
}

/// Returns the text of an error for the user.
fn problem(error: &ApiError, language: Language) -> String {
    match language {
        Language::English => error.to_string(),
        Language::Japanese => FAILED_IN_JAPANESE.to_owned(),
    }
}

/// Says why a conversation was not copied, and what the user can do.
fn copy_problem(error: &ApiError, language: Language) -> String {
    let text = Messages(language);
    match error {
        ApiError::Service(ServiceError::NothingToCopy) => text.nothing_to_copy(),
        ApiError::Service(ServiceError::TooLargeToCopy) => text.too_large_to_copy(),
        ApiError::Service(ServiceError::LimitReached(_)) => text.too_many_copies(),
        ApiError::Service(ServiceError::Files(FilesError::QuotaReached { .. })) => text.no_room(),
        ApiError::Service(ServiceError::Files(FilesError::NotFound)) => text.file_is_gone(),
        ApiError::NotPermitted(_) => text.no_uploads(),
        other => return problem(other, language),
    }
    .to_owned()
}

/// The texts of a copy that failed, in a language.
struct Messages(Language);

messages! {
    nothing_to_copy:
        "This conversation has no answer yet, so there is nothing to copy. Start a new chat instead.",
        "この会話にはまだ回答がないため、コピーできません。新しいチャットを始めてください。";
    too_large_to_copy:
        "This conversation is too long to be copied. Start a new chat, and paste the parts that you need.",
        "この会話は長すぎるため、コピーできません。新しいチャットを始めて、必要な部分を貼り付けてください。";
    too_many_copies:
        "You have sent too many messages within a minute. Wait a minute, and try again.",
        "1分間に送信できるメッセージ数の上限に達しました。1分ほど待ってからもう一度お試しください。";
    no_room:
        "Your storage has no room for the files of this conversation. Delete files or conversations with files, then try again.",
        "この会話のファイルを保存する空き容量がありません。ファイル、またはファイルを含む会話を削除してから、もう一度お試しください。";
    file_is_gone:
        "A file of this conversation no longer exists, so the conversation cannot be copied. Ask its owner to share it again.",
        "この会話のファイルが削除されたため、コピーできません。会話の所有者に、もう一度共有するよう依頼してください。";
    no_uploads:
        "This conversation has files, and you are not allowed to upload files. Ask an admin for the right to upload.",
        "この会話にはファイルがありますが、あなたにはファイルをアップロードする権限がありません。管理者に権限を依頼してください。";
}

fn page(
    state: &AppState,
    status: StatusCode,
    chosen: Preferences,
    reader: SharedPageReader,
    found: Result<Option<SharedConversation>, String>,
) -> HttpResponse {
    let page = tallybook_frontend::shared_page(state.site.folder(), chosen, reader, found);
    headers(status, "text/html; charset=utf-8", WITHOUT_SCRIPTS).body(page)
}

/// Downloads a file of a shared conversation. The response is the same if the link shows no such file, and if there is
/// no such link.
pub(crate) async fn file(
    state: State,
    path: web::Path<(String, String)>,
    Query(query): Query<ContentQuery>,
) -> Result<HttpResponse, ApiError> {
    let (token, id) = path.into_inner();
    let (Ok(token), Ok(id)) = (token.parse::<Uuid>(), id.parse::<Uuid>()) else { return Err(no_such_file()) };
    if !state.accounts.rules().sharing {
        return Err(no_such_file());
    }
    let content = state.service.find_shared_file(token, id, query.variant()).await?.ok_or_else(no_such_file)?;
    let stream = state.service.files().read(&content, 0..content.bytes).await?;
    let mut response = headers(StatusCode::OK, served_type(&content.media_type), SANDBOX);
    response.insert_header(disposition(&content));
    Ok(response.body(SizedStream::new(content.bytes, stream)))
}

fn headers(status: StatusCode, content_type: &'static str, policy: &'static str) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response
        .content_type(content_type)
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        // The link can be revoked at any time.
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("X-Robots-Tag", "noindex, nofollow, noarchive"));
    response
}

/// Returns the texts of all messages, each below the name of its role.
fn as_text(shared: &SharedConversation) -> String {
    let mut text = shared.title.clone();
    for message in &shared.messages {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        text.extend(["\n\n[", role, "]\n", &message.content]);
    }
    text.push('\n');
    text
}

async fn find(state: &AppState, token: Uuid) -> Result<Option<SharedConversation>, ApiError> {
    if !state.accounts.rules().sharing {
        return Ok(None);
    }
    state.run(move |service| async move { service.find_shared(token).await }).await
}
