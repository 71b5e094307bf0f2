//! The sheet that shares the open conversation: creates links, copies them, and revokes them.

use std::sync::Arc;

use leptos::{html, prelude::*, task::spawn_local};
use tallybook_protocol::{NewShare, Rights, Share, ShareId};
use uuid::Uuid;

use crate::{
    api::{self, ApiError},
    browser,
    components::{
        dialogs::sheet_top::sheet_top,
        message::copy::CopyButton,
        parts::{load_button::LoadButton, typing::focus_composer},
    },
    language::{Language, use_language},
    reactive::{effect, memo},
    session::Loading,
};

/// The conversation whose sheet is open.
pub(crate) type Sharing = RwSignal<Option<Uuid>>;

/// The links of a conversation.
#[derive(Clone, Copy)]
struct Links {
    conversation: Uuid,
    shares: RwSignal<Vec<Share>>,
    loading: RwSignal<Loading>,
    text: Language,
}

impl Links {
    /// A failure is shown; nothing waits for a success.
    fn load(self) {
        self.end(async move {
            let shares = api::list_shares().await?;
            let own = shares.into_iter().filter(|share| share.conversation_uuid == self.conversation);
            self.shares.try_set(own.collect());
            Ok(())
        });
    }

    fn make(self, new: NewShare) {
        if self.loading.get_untracked() == Loading::Running {
            return;
        }
        self.loading.set(Loading::Running);
        self.end(async move {
            let made = api::share(self.conversation, &new).await?;
            self.shares.try_update(|shares| shares.insert(0, made));
            Ok(())
        });
    }

    fn revoke(self, id: ShareId) {
        self.end(async move {
            api::revoke_share(id).await?;
            self.shares.try_update(|shares| shares.retain(|share| share.id != id));
            Ok(())
        });
    }

    /// A response after the sheet is closed is ignored.
    fn end(self, work: impl Future<Output = Result<(), ApiError>> + 'static) {
        spawn_local(async move {
            self.loading.try_set(match work.await {
                Ok(()) => Loading::Idle,
                Err(error) => Loading::Failed(error.message(self.text)),
            });
        });
    }
}

/// The sheet, which is opened when it is mounted.
#[component]
pub(crate) fn ShareSheet(conversation: Uuid, sharing: Sharing) -> impl IntoView {
    let text = use_language();
    let place = NodeRef::<html::Dialog>::new();
    let links = Links { conversation, shares: RwSignal::default(), loading: RwSignal::new(Loading::Idle), text };
    effect(move || {
        if let Some(dialog) = place.get() {
            // Fails only if it is already open.
            let _ = dialog.show_modal();
            links.load();
        }
    });
    // Links that exist can still be revoked.
    let may_not_share = move || match links.loading.get() {
        Loading::Failed(message) => message.into(),
        _ => std::borrow::Cow::Borrowed(text.may_not_share()),
    };
    let rows = move || links.shares.get().into_iter().map(|share| row(links, share)).collect_view();
    view! {
        <dialog
            class="sheet"
            data-testid="share-sheet"
            aria-labelledby="share-title"
            closedby="any"
            node_ref=place
            on:close=move |_| {
                sharing.set(None);
                focus_composer();
            }
        >
            {sheet_top("share-title", text.share_title().to_owned(), text.share_close())}
            <p class="sheet-note">{text.share_note()}</p>
            {if use_context::<Rights>().unwrap_or_default().share {
                new_link(links)
            } else {
                view! { <p class="sheet-note" role="status" data-testid="may-not-share">{may_not_share}</p> }.into_any()
            }}
            <Show when=move || links.shares.with(|shares| !shares.is_empty())>
                <h3>{text.share_links()}</h3>
            </Show>
            <ul class="shares" data-testid="shares">{rows}</ul>
        </dialog>
    }
    .into_any()
}

/// Renders the form that creates a link.
fn new_link(links: Links) -> AnyView {
    let text = links.text;
    let (with_calls, with_files) = (RwSignal::new(false), RwSignal::new(false));
    view! {
        {choice("share-calls", text.share_tool_calls(), with_calls)}
        <p class="sheet-note">{text.share_calls_note()}</p>
        {choice("share-files", text.share_files(), with_files)}
        <LoadButton
            name="make-link"
            loading=links.loading.into()
            label=text.share_create().to_owned()
            loading_label=text.share_creating()
            load=move || {
                links.make(NewShare { tool_calls: with_calls.get_untracked(), files: with_files.get_untracked() });
            }
        />
    }
    .into_any()
}

fn choice(name: &'static str, label: &'static str, chosen: RwSignal<bool>) -> AnyView {
    view! {
        <label class="share-choice">
            <input
                type="checkbox"
                class="toggle"
                role="switch"
                data-testid=name
                autocomplete="off"
                prop:checked=move || chosen.get()
                on:change:target=move |event| chosen.set(event.target().checked())
            />
            {label}
        </label>
    }
    .into_any()
}

fn row(links: Links, share: Share) -> AnyView {
    let text = links.text;
    let Share { id, path, tool_calls, files, created_at, .. } = share;
    let when = browser::local_time(created_at.timestamp_millis()).map(|time| time.full).unwrap_or_default();
    let calls = if tool_calls { text.share_with_calls() } else { text.share_without_calls() };
    let files = if files { text.share_with_files() } else { "" };
    let url: Arc<str> = browser::absolute(&path).into();
    let copied = StoredValue::new(Arc::clone(&url));
    view! {
        <li data-testid="share">
            <a href=path rel="external" target="_blank">{url.to_string()}</a>
            <p class="sheet-note">{format!("{when} · {calls}{files}")}</p>
            <p class="share-acts">
                <CopyButton content=move || copied.try_get_value() load=|| () loading=memo(|_| Loading::Idle) />
                <button type="button" class="button small" data-testid="revoke-share" on:click=move |_| links.revoke(id)>
                    {text.share_revoke()}
                </button>
            </p>
        </li>
    }
    .into_any()
}
