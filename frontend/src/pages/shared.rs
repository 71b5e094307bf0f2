//! The page of a public link: a conversation without scripts. The server sends no WASM, no JSON and no cookies with it.
//! A signed-in reader can continue the conversation as their own, with a form.

use leptos::{prelude::*, reactive::owner::Owner, tachys::html::InertElement};
use tallybook_nodes::bounded;
use tallybook_protocol::SharedConversation;
use uuid::Uuid;

use crate::{
    components::parts::nothing_here::NothingHere,
    i18n::{PRODUCT, page_title},
    language::{Language, use_language},
    message::{PageLimit, View, write_printed},
    preferences::{Preferences, switch_name},
    style::{lazy_style, style},
    transcript::Entry,
};

/// The reader of a public link, who can continue the conversation in their own chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedPageReader {
    /// The reader is signed in, or the server has no accounts.
    SignedIn {
        /// ID of the copy. The form keeps it, so that sending the form twice creates one copy.
        client_conversation_id: Uuid,
        /// Why the previous attempt failed, and what the reader can do.
        problem: Option<String>,
    },
    /// The reader is signed in, and may not continue the conversation for this reason.
    Refused(String),
    /// The reader must sign in first.
    SignedOut,
}

impl SharedPageReader {
    /// Returns a reader who is signed in, with an ID for a new copy.
    pub fn signed_in() -> Self {
        Self::SignedIn { client_conversation_id: Uuid::new_v4(), problem: None }
    }
}

/// Renders the document of a public link. If `found` is `None`, it says that nothing is shared here; if it is an error,
/// it says why the conversation cannot be shown. `folder` is the address of the folder with the page's style.
pub fn shared_page(
    folder: &str,
    preferences: Preferences,
    reader: SharedPageReader,
    found: Result<Option<SharedConversation>, String>,
) -> String {
    let Preferences { language, theme, call_previews, .. } = preferences;
    let title = match &found {
        Ok(Some(shared)) => page_title(Some(&shared.title)),
        Ok(None) | Err(_) => page_title(Some(language.not_found_title())),
    };
    let styles = (style(folder), lazy_style(folder));
    Owner::new().with(|| {
        provide_context(language);
        let content = match found {
            Ok(Some(shared)) => view! { <SharedPage shared reader /> }.into_any(),
            Ok(None) => view! { <main class="alone"><NothingHere message=language.not_shared() /></main> }.into_any(),
            Err(message) => view! { <main class="alone"><p role="alert">{message}</p></main> }.into_any(),
        };
        let document = view! {
            <html lang=language.code() data-theme=theme.name() data-call-previews=switch_name(call_previews)>
                <head>
                    <meta charset="utf-8" />
                    <meta name="viewport" content="width=device-width, initial-scale=1" />
                    <meta name="color-scheme" content="light dark" />
                    <meta name="robots" content="noindex, nofollow" />
                    <title>{title}</title>
                    <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                    {styles}
                </head>
                <body>{content}</body>
            </html>
        };
        format!("<!DOCTYPE html>{}", document.to_html())
    })
}

#[component]
fn SharedPage(shared: SharedConversation, reader: SharedPageReader) -> impl IntoView {
    let text = use_language();
    let SharedConversation { path, title, messages, shared_at } = shared;
    let files = format!("{path}/files");
    let mut room = PageLimit::default();
    let mut html = String::new();
    for message in messages {
        write_printed(printed(&Entry::stored(message, &[]), text, &files), &mut room, &mut html);
    }
    let rest =
        room.is_exceeded().then(|| view! { <p class="note" data-testid="page-left-out">{text.text_left_out()}</p> });
    view! {
        <main class="shared">
            <header>
                <p class="brand">{PRODUCT}</p>
                <h1 dir="auto">{bounded(&title).into_owned()}</h1>
                <p class="shared-note">
                    {text.shared_on(&shared_at.format("%Y-%m-%d").to_string())}
                    " "
                    <a href=format!("{path}?format=text")>{text.shared_as_text()}</a>
                </p>
                {continuation(&path, reader, text)}
            </header>
            <div class="shared-messages">{InertElement::new(html)}{rest}</div>
        </main>
    }
}

/// Renders the form that copies the conversation to the reader's own, or the link to sign in and come back.
fn continuation(path: &str, reader: SharedPageReader, text: Language) -> AnyView {
    match reader {
        SharedPageReader::SignedIn { client_conversation_id, problem } => view! {
            {problem.map(|problem| view! { <p class="failure" role="alert" data-testid="problem">{problem}</p> })}
            <form method="post" action=format!("{path}/continue")>
                <input type="hidden" name="client_conversation_id" value=client_conversation_id.to_string() />
                <button type="submit" class="button" data-testid="continue-shared">{text.continue_shared()}</button>
            </form>
        }
        .into_any(),
        SharedPageReader::Refused(reason) => {
            view! { <p class="note" data-testid="may-not-continue">{reason}</p> }.into_any()
        }
        SharedPageReader::SignedOut => view! {
            <p>
                <a class="button" href=format!("/sign-in?next={path}") data-testid="sign-in-to-continue">
                    {text.sign_in_to_continue()}
                </a>
            </p>
        }
        .into_any(),
    }
}

/// Returns the view of a message on a page without scripts. `files` is the address of the folder with its files.
pub(super) fn printed<'a>(entry: &'a Entry, text: Language, files: &'a str) -> View<'a> {
    View { id: entry.id, entry, text, files, live: None }
}
