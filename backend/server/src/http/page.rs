//! The page, rendered on the server, and where it gets its data from. What its addresses mean, the page knows itself.

use std::sync::Arc;

use actix_web::{
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web,
};
use leptos::prelude::{use_context, use_nonce};
use leptos_actix::{Request, ResponseOptions, render_app_async_with_context};
use leptos_router::Method;
use tallybook_frontend::{NewChatModels, PageData, PageError, PageFuture, Preferences};
use tallybook_protocol::{Conversation, ConversationSummary, ModelList, Page, ToolInfo, UserRole, Window};
use uuid::Uuid;

use super::{caller::caller_of, error::ApiError, methods::is_reading, preferences, state::AppState, tools};
use crate::{
    accounts::Caller,
    book::Book,
    conversation::{ListFilter, MAX_PINNED, ServiceError},
};

/// How many conversations the sidebar begins with.
const SIDEBAR: u32 = 50;

/// Registers the page on all addresses that nothing else was registered on; where it has nothing it says so.
pub(super) fn configure(app: &mut web::ServiceConfig, state: &AppState) {
    // What Leptos runs its tasks on. Only the first call of a process sets it; all set the same.
    let _ = any_spawner::Executor::init_tokio();
    let data: Arc<dyn PageData> = Arc::new(ServerPageData(state.clone()));
    let folder = state.site.folder();
    let shell = move || tallybook_frontend::shell(folder, Arc::clone(&data));
    let is_shared = state.accounts.settings().required;
    let page = render_app_async_with_context(move || set_headers(is_shared), shell, Method::Get);
    app.service(web::scope("").guard(is_reading()).default_service(page));
}

/// The page loads its own files and talks to its own server, and that is all. Scripts run by the nonce of this one answer
/// or because such a script loads them; text that somehow became markup has none.
fn set_headers(is_shared: bool) {
    let (Some(options), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) else { return };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        options.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
    // It shows what is private, and is out of date with the next message. Where people sign in, the next one at the same
    // browser must not find it by going back.
    let caching = if is_shared { "no-store" } else { "private, no-cache" };
    options.insert_header(header::CACHE_CONTROL, HeaderValue::from_static(caching));
}

/// Answers the page's questions from the services.
struct ServerPageData(AppState);

impl PageData for ServerPageData {
    fn pathname(&self) -> String {
        use_context::<Request>().map(|request| request.path().to_owned()).unwrap_or_default()
    }

    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>> {
        let (state, caller) = (self.0.clone(), caller());
        Box::pin(async move {
            let user = caller?.user;
            let list = move |service: crate::conversation::ConversationService| async move {
                let list = async |pinned, limit| {
                    let filter = ListFilter { pinned, ..ListFilter::default() };
                    service.list_conversations(user, filter, None, limit).await
                };
                let mut page = list(None, SIDEBAR).await?;
                if page.next_cursor.is_some() {
                    // However old they are; what is not among the newest is older than those.
                    let pinned = list(Some(true), MAX_PINNED).await?.items;
                    let further =
                        pinned.into_iter().filter(|item| page.items.iter().all(|held| held.uuid != item.uuid));
                    let further: Vec<_> = further.collect();
                    page.items.extend(further);
                }
                Ok(page)
            };
            state.run(list).await.map_err(page_error)
        })
    }

    fn find_conversation(&self, uuid: Uuid, window: Window) -> PageFuture<Option<Conversation>> {
        let (state, caller) = (self.0.clone(), caller());
        Box::pin(async move {
            let user = caller?.user;
            let find = move |service: crate::conversation::ConversationService| async move {
                service.find_conversation(user, uuid, window).await
            };
            state.run(find).await.map_err(page_error)
        })
    }

    fn models(&self) -> ModelList {
        self.0.service.models().list()
    }

    fn tools(&self) -> Vec<ToolInfo> {
        // The page asks for the servers by itself.
        tools::all(&self.0.service, UserRole::User).items
    }

    fn preferences(&self) -> Preferences {
        let request = use_context::<Request>();
        request.map(|request| preferences::of(&request.into_inner())).unwrap_or_default()
    }

    fn new_chat_models(&self) -> NewChatModels {
        let request = use_context::<Request>();
        request.map(|request| preferences::new_chat_models(&request.into_inner())).unwrap_or_default()
    }

    fn person(&self) -> Option<String> {
        caller().ok()?.name.map(|name| name.to_string())
    }

    fn has_account_changes(&self) -> PageFuture<bool> {
        let (state, caller) = (self.0.clone(), caller());
        Box::pin(async move {
            let caller = caller?;
            let find = |book: Book| async move { book.has_account_changes(&caller).await };
            state.run_book(find).await.map_err(page_error)
        })
    }

    fn user_id(&self) -> i64 {
        caller().map(|caller| caller.user.0).unwrap_or_default()
    }

    fn set_status(&self, status: u16) {
        if let (Some(options), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(status)) {
            options.set_status(status);
        }
    }
}

/// Who asks for the page.
fn caller() -> Result<Caller, PageError> {
    let caller = use_context::<Request>().and_then(|request| caller_of(&request.into_inner()));
    caller.ok_or_else(|| page_error(ApiError::NotSignedIn))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn page_error(error: ApiError) -> PageError {
    let message = error.to_string();
    tracing::error!(error = &error as &dyn std::error::Error, "a page lacks its data");
    if let ApiError::Service(ServiceError::Storage(_)) | ApiError::Task(_) = error {
        return PageError::new(format!("{message} Reload the page in a moment."));
    }
    PageError::new(message)
}
