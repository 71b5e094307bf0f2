//! Renders the web UI on the server, and supplies its data. The UI itself defines its paths.

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
use tallybook_accounts::Caller;
use tallybook_conversations::{ListFilter, MAX_PINNED, ServiceError};
use tallybook_frontend::{NewChatModels, PageData, PageError, PageFuture, Permitted, Preferences};
use tallybook_protocol::{Conversation, ConversationSummary, Page, UserRole, Window};
use tallybook_tool_history::ToolHistory;
use uuid::Uuid;

use super::{caller::caller_of, error::ApiError, methods::is_reading, preferences, state::AppState, tools};

/// Number of conversations with which the sidebar starts.
const SIDEBAR: u32 = 50;

/// Registers the web UI on all paths that have no other route. The UI itself handles paths that it does not know.
pub(crate) fn configure(app: &mut web::ServiceConfig, state: &AppState) {
    // Leptos runs its tasks on this executor. Only the first call in a process sets it, and all calls set the same one.
    let _ = any_spawner::Executor::init_tokio();
    let data: Arc<dyn PageData> = Arc::new(ServerPageData(state.clone()));
    let folder = state.site.folder();
    let shell = move || tallybook_frontend::shell(folder, Arc::clone(&data));
    let is_shared = state.accounts.settings().required;
    let page = render_app_async_with_context(move || set_headers(is_shared), shell, Method::Get);
    app.service(web::scope("").guard(is_reading()).default_service(page));
}

/// Sets the content security policy and the caching. The page can only load its own files and connect to its own
/// server. A script runs only if it has the nonce of this response, or if a script with the nonce loads it. So a script
/// that is injected as text does not run.
fn set_headers(is_shared: bool) {
    let (Some(options), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) else { return };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; font-src \
         'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        options.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
    // The page contains private data and is out of date after the next message. On a server with accounts, the
    // browser's next user must not be able to go back to the page.
    let caching = if is_shared { "no-store" } else { "private, no-cache" };
    options.insert_header(header::CACHE_CONTROL, HeaderValue::from_static(caching));
}

/// Supplies the page's data from the services.
struct ServerPageData(AppState);

impl PageData for ServerPageData {
    fn pathname(&self) -> String {
        use_context::<Request>().map(|request| request.path().to_owned()).unwrap_or_default()
    }

    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>> {
        let (state, caller) = (self.0.clone(), caller());
        Box::pin(async move {
            let user = caller?.user;
            let list = move |service: tallybook_conversations::ConversationService| async move {
                let list = async |pinned, limit| {
                    let filter = ListFilter { pinned, ..ListFilter::default() };
                    service.list_conversations(user, filter, None, limit).await
                };
                let mut page = list(None, SIDEBAR).await?;
                if page.next_cursor.is_some() {
                    // Adds all pinned conversations. Those that are not among the newest are older, so they come last.
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
            let find = move |service: tallybook_conversations::ConversationService| async move {
                service.find_conversation(user, uuid, window).await
            };
            state.run(find).await.map_err(page_error)
        })
    }

    fn permitted(&self) -> PageFuture<Permitted> {
        let (state, caller) = (self.0.clone(), caller());
        Box::pin(async move {
            let service = &state.service;
            let permissions = service.permissions_of(caller?.user).await.map_err(|error| page_error(error.into()))?;
            Ok(Permitted {
                models: service.models().permitted(&permissions).list(),
                // The state of the tool servers is not needed: the page itself requests it later.
                tools: tools::all(service, &permissions, UserRole::User).items,
                rights: permissions.rights(state.accounts.rules()),
            })
        })
    }

    fn preferences(&self) -> Preferences {
        let request = use_context::<Request>();
        request.map(|request| preferences::of(&request.into_inner())).unwrap_or_default()
    }

    fn new_chat_models(&self) -> NewChatModels {
        let request = use_context::<Request>();
        request.map(|request| preferences::new_chat_models(&request.into_inner())).unwrap_or_default()
    }

    fn user_name(&self) -> Option<String> {
        caller().ok()?.name.map(|name| name.to_string())
    }

    fn is_admin(&self) -> bool {
        caller().is_ok_and(|caller| caller.role == UserRole::Admin)
    }

    fn has_account_changes(&self) -> PageFuture<bool> {
        let (state, caller) = (self.0.clone(), caller());
        Box::pin(async move {
            let caller = caller?;
            let find = |history: ToolHistory| async move { history.has_account_changes(&caller).await };
            state.run_tool_history(find).await.map_err(page_error)
        })
    }

    fn may_have_budgets(&self) -> bool {
        caller().is_ok_and(|caller| self.0.service.may_have_budgets(caller.user))
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

/// Returns the caller who requests the page.
fn caller() -> Result<Caller, PageError> {
    let caller = use_context::<Request>().and_then(|request| caller_of(&request.into_inner()));
    caller.ok_or_else(|| page_error(ApiError::NotSignedIn))
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn page_error(error: ApiError) -> PageError {
    let message = error.to_string();
    tracing::error!(error = &error as &dyn std::error::Error, "cannot load the data of a page");
    if let ApiError::Service(ServiceError::Storage(_)) | ApiError::Task(_) = error {
        return PageError::new(format!("{message} Reload the page in a moment."));
    }
    PageError::new(message)
}
