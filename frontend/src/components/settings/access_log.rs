//! The access log: what admins looked at and changed of the user's data and account; and the link to the tool history
//! for admins.

use leptos::prelude::*;
use tallybook_protocol::{AccessKind, AccessRecord, UserRole};

use super::{list::List, section::section};
use crate::{
    address::Address,
    api::account,
    browser,
    components::parts::times::when,
    language::Language,
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
};

/// The heading of the access log, as addresses name it.
pub(super) const ACCESS_LOG_HEADING_ID: &str = "setting-looks";

pub(super) fn section_view(text: Language) -> AnyView {
    let list = List::new(text, account::list_access_records);
    let is_loaded = memo(move |_| list.items.with(Option::is_some));
    effect(move || {
        if is_loaded.get() && browser::is_at_fragment(ACCESS_LOG_HEADING_ID) {
            in_next_frame(|| browser::go_to_heading(ACCESS_LOG_HEADING_ID));
        }
    });
    let content = list.view("looks", text, Some(text.access_log_none()), move |record| row(record, text));
    section("looks", text.access_log(), text.access_log_about(), content)
}

/// The link to the tool history.
pub(super) fn tool_history_section(role: UserRole, text: Language) -> Option<AnyView> {
    let content = || view! { <a class="button" href="/admin" rel="external" data-testid="open-book">{text.tool_history_open()}</a> };
    (role == UserRole::Admin)
        .then(|| section("book", text.tool_history(), text.tool_history_about(), content().into_any()))
}

/// The link to the settings of the server.
pub(super) fn server_section(text: Language) -> AnyView {
    let content = view! {
        <a class="button" href="/admin/settings" rel="external" data-testid="open-server-settings">
            {text.server_settings_open()}
        </a>
    };
    section("server", text.server_settings(), text.server_settings_about(), content.into_any())
}

fn row(record: AccessRecord, text: Language) -> AnyView {
    let AccessRecord { kind, by, reason, conversation_uuid, created_at, .. } = record;
    let did = did(kind, text);
    let what = match conversation_uuid {
        Some(uuid) => view! { <a href=Address::Conversation(uuid).pathname()>{did}</a> }.into_any(),
        None => did.into_any(),
    };
    let reason = (!reason.is_empty()).then(|| view! { " · "<span dir="auto">{reason}</span> });
    view! {
        <li data-testid="look">
            <span class="setting-item">
                <span><b dir="auto">{named(by, text)}</b>" · "{what}</span>
                <span class="setting-note">{when(created_at.timestamp_millis())}{reason}</span>
            </span>
        </li>
    }
    .into_any()
}

/// Names the admin. Changes from the server's command line have no user.
pub(super) fn named(by: String, text: Language) -> String {
    if by.is_empty() { text.access_operator().to_owned() } else { by }
}

/// Says what the admin did.
pub(super) fn did(kind: AccessKind, text: Language) -> &'static str {
    match kind {
        AccessKind::CallOpened => text.access_call(),
        AccessKind::ConversationOpened => text.access_conversation(),
        AccessKind::CallsSearched => text.access_search(),
        AccessKind::CallsExported => text.access_export(),
        AccessKind::PasswordChanged => text.access_password(),
        AccessKind::IdentityLinked => text.access_linked(),
        AccessKind::IdentityUnlinked => text.access_unlinked(),
        AccessKind::KeysRevoked => text.access_keys(),
        AccessKind::Unknown => text.access_other(),
    }
}
