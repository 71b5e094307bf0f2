//! The page, rendered on the server, and where it gets its data from. What its addresses mean, the page knows itself.

use std::sync::Arc;

use actix_web::{
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    middleware::Compress,
    web,
};
use leptos::prelude::{use_context, use_nonce};
use leptos_actix::{Request, ResponseOptions, render_app_async_with_context};
use leptos_router::Method;
use tallybook_frontend::{PageData, PageError, PageFuture, Preferences};
use tallybook_protocol::{Conversation, ConversationSummary, ModelInfo, Page, ToolInfo, Window};
use uuid::Uuid;

use super::{error::ApiError, methods::is_reading, preferences, state::AppState, tools};
use crate::{
    accounts::UserId,
    conversation::{ListFilter, ServiceError},
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
    let page = render_app_async_with_context(set_headers, shell, Method::Get);
    // The page alone: its files are compressed beforehand, and what is streamed must not wait to be.
    app.service(web::scope("").guard(is_reading()).wrap(Compress::default()).default_service(page));
}

/// The page loads its own files and talks to its own server, and that is all. Scripts run by the nonce of this one answer
/// or because such a script loads them; text that somehow became markup has none.
fn set_headers() {
    let (Some(options), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) else { return };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        options.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
    // It shows what is private, and is out of date with the next message.
    options.insert_header(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

/// Answers the page's questions from the services.
struct ServerPageData(AppState);

impl PageData for ServerPageData {
    fn pathname(&self) -> String {
        use_context::<Request>().map(|request| request.path().to_owned()).unwrap_or_default()
    }

    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>> {
        let state = self.0.clone();
        Box::pin(async move {
            let list = |service: crate::conversation::ConversationService| async move {
                service.list_conversations(UserId::LOCAL, ListFilter::default(), None, SIDEBAR).await
            };
            state.run(list).await.map_err(page_error)
        })
    }

    fn find_conversation(&self, uuid: Uuid, window: Window) -> PageFuture<Option<Conversation>> {
        let state = self.0.clone();
        Box::pin(async move {
            let find = move |service: crate::conversation::ConversationService| async move {
                service.find_conversation(UserId::LOCAL, uuid, window).await
            };
            state.run(find).await.map_err(page_error)
        })
    }

    fn model(&self) -> ModelInfo {
        self.0.service.model_info().clone()
    }

    fn tools(&self) -> Vec<ToolInfo> {
        tools::all(&self.0.service)
    }

    fn preferences(&self) -> Preferences {
        let request = use_context::<Request>();
        request.map(|request| preferences::of(&request.into_inner())).unwrap_or_default()
    }

    fn set_status(&self, status: u16) {
        if let (Some(options), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(status)) {
            options.set_status(status);
        }
    }
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
