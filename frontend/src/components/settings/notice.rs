//! The notice that an admin or the server's operator changed the account. Every page begins with it until the user
//! acknowledges it. The complete access log is in `access_log`.

use leptos::{ev::MouseEvent, prelude::*, task::spawn_local};
use tallybook_protocol::AccessRecord;

use super::{
    access_log::{ACCESS_LOG_HEADING_ID, did, named},
    mutation::Mutation,
};
use crate::{
    address::{Address, Navigation, is_plain},
    api::account,
    browser,
    components::parts::{ids::MAIN_ID, times::when},
    language::{Language, use_language},
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
};

/// Maximum number of changes in the notice.
const MAX_SHOWN: usize = 3;

/// The notice, once its changes are loaded.
#[component]
pub(crate) fn AccountNotice(navigation: Navigation) -> impl IntoView {
    let text = use_language();
    let changes = RwSignal::new(Vec::<AccessRecord>::new());
    effect(move || {
        spawn_local(async move {
            // If this fails, the next page shows the notice.
            if let Ok(me) = account::find_me().await {
                changes.try_set(me.account_changes);
            }
        });
    });
    let is_shown = memo(move |_| changes.with(|changes| !changes.is_empty()));
    let listed = move || is_shown.get().then(|| list(changes.get(), text));
    let acknowledging = Mutation::new();
    let buttons = move || is_shown.get().then(|| buttons(changes, acknowledging, navigation, text));
    view! {
        <div class="account-notice" data-testid="account-notice">
            // The element exists before its content, so that screen readers announce it.
            <div role="status">{listed}</div>
            {buttons}
            {acknowledging.outcome()}
        </div>
    }
    .into_any()
}

fn list(changes: Vec<AccessRecord>, text: Language) -> AnyView {
    let has_more = changes.len() > MAX_SHOWN;
    let rows = changes.into_iter().take(MAX_SHOWN).map(|change| {
        let at = when(change.created_at.timestamp_millis());
        view! {
            <li data-testid="account-change">
                <b dir="auto">{named(change.by, text)}</b>" · "{did(change.kind, text)}" · "{at}
            </li>
        }
    });
    view! {
        <p>{text.account_changed()}</p>
        <ul>{rows.collect_view()}</ul>
        {has_more.then(|| view! { <p>{text.account_changed_more()}</p> })}
    }
    .into_any()
}

fn buttons(
    changes: RwSignal<Vec<AccessRecord>>,
    acknowledging: Mutation,
    navigation: Navigation,
    text: Language,
) -> AnyView {
    let open = move |event: MouseEvent| {
        // Within the settings, the browser follows the link.
        if is_plain(&event) && navigation.get_untracked() != Address::Settings {
            event.prevent_default();
            navigation.go_to_setting(ACCESS_LOG_HEADING_ID);
        }
    };
    let acknowledge = move |_| {
        let Some(newest) = changes.with_untracked(|changes| changes.iter().map(|change| change.id).max()) else {
            return;
        };
        acknowledging.run(text, account::acknowledge_access_records(newest), move |()| {
            changes.set(Vec::new());
            // The focused button is removed.
            in_next_frame(|| {
                let _ = browser::focus_if_free(MAIN_ID);
            });
            None
        });
    };
    view! {
        <p class="setting-buttons">
            <a
                class="button small"
                href=format!("{}#{ACCESS_LOG_HEADING_ID}", Address::Settings.pathname())
                data-testid="open-access-log"
                on:click=open
            >
                {text.open_access_log()}
            </a>
            <button
                type="button"
                class="button small"
                data-testid="acknowledge-changes"
                aria-disabled=move || acknowledging.busy()
                on:click=acknowledge
            >
                {text.got_it()}
            </button>
        </p>
    }
    .into_any()
}
