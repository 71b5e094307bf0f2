//! The page, rendered on the server: Leptos' routes, and where they get their data from.

use std::sync::Arc;

use actix_web::{
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web,
};
use leptos::prelude::{IntoView, provide_context, use_context, use_nonce};
use leptos_actix::{
    ActixRouteListing, LeptosRoutes, ResponseOptions, generate_route_list, render_app_async_with_context,
};
use tallybook_frontend::{App, PageData, PageError, PageFuture, Preferences};
use tallybook_protocol::{Conversation, ConversationSummary, ModelInfo, Page, Window};
use uuid::Uuid;

use super::{AppState, assets, preferences};
use crate::{accounts::UserId, conversation::ServiceError};

/// How many conversations the sidebar begins with.
const SIDEBAR: u32 = 50;

/// The page's routes, to be computed once at the start.
pub fn page_routes() -> Vec<ActixRouteListing> {
    generate_route_list(App)
}

/// Registers the page on its routes, and its "nothing here" on all others.
pub(super) fn configure(app: &mut web::ServiceConfig, routes: Vec<ActixRouteListing>, state: &AppState) {
    let data: Arc<dyn PageData> = Arc::new(ServerPageData(state.clone()));
    let context = move || {
        provide_context(Arc::clone(&data));
        set_headers();
    };
    let nothing_here = render_app_async_with_context(context.clone(), shell, leptos_router::Method::Get);
    app.leptos_routes_with_context(routes, context, shell).default_service(nothing_here);
}

fn shell() -> impl IntoView {
    tallybook_frontend::shell(assets::folder())
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
    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>> {
        let state = self.0.clone();
        Box::pin(async move {
            let list = |service: crate::conversation::ConversationService| async move {
                service.list_conversations(UserId::LOCAL, "", None, SIDEBAR).await
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

    fn preferences(&self) -> Preferences {
        let request = use_context::<leptos_actix::Request>();
        request.map(|request| preferences::of(&request.into_inner())).unwrap_or_default()
    }

    fn set_status(&self, status: u16) {
        if let (Some(options), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(status)) {
            options.set_status(status);
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn page_error(error: super::ApiError) -> PageError {
    let message = error.to_string();
    tracing::error!(error = &error as &dyn std::error::Error, "a page lacks its data");
    if let super::ApiError::Service(ServiceError::Storage(_)) | super::ApiError::Task(_) = error {
        return PageError::new(format!("{message} Reload the page in a moment."));
    }
    PageError::new(message)
}
