//! The page, rendered on the server: Leptos' routes, and where they get their data from.

use std::sync::Arc;

use actix_web::{http::StatusCode, web};
use leptos::prelude::{provide_context, use_context};
use leptos_actix::{
    ActixRouteListing, LeptosRoutes, ResponseOptions, generate_route_list, render_app_async_with_context,
};
use tallybook_frontend::{App, PageData, PageError, PageFuture, Preferences, shell};
use tallybook_protocol::{Conversation, ConversationSummary, ModelInfo, Page};
use uuid::Uuid;

use super::{AppState, preferences};
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
    let context = move || provide_context(Arc::clone(&data));
    let nothing_here = render_app_async_with_context(context.clone(), shell, leptos_router::Method::Get);
    app.leptos_routes_with_context(routes, context, shell).default_service(nothing_here);
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

    fn find_conversation(&self, uuid: Uuid) -> PageFuture<Option<Conversation>> {
        let state = self.0.clone();
        Box::pin(async move {
            let find = |service: crate::conversation::ConversationService| async move {
                service.find_conversation(UserId::LOCAL, uuid).await
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
