//! The page of a public link: a conversation without scripts. The server sends no WASM, no JSON and no cookies with it.

use leptos::{prelude::*, reactive::owner::Owner, tachys::html::InertElement};
use tallybook_nodes::bounded;
use tallybook_protocol::SharedConversation;

use crate::{
    components::nothing_here::NothingHere,
    language::{Language, use_language},
    message::{Room, View, write_printed},
    preferences::{Preferences, switch_name},
    style::{later_style, style},
    text::{PRODUCT, page_title},
    transcript::Entry,
};

/// Renders the document of a public link. If `found` is `None`, it says that nothing is shared here; if it is an error,
/// it says why the conversation cannot be shown. `folder` is the address of the folder with the page's style.
pub fn shared_page(
    folder: &str,
    preferences: Preferences,
    found: Result<Option<SharedConversation>, String>,
) -> String {
    let Preferences { language, theme, call_previews, .. } = preferences;
    let title = match &found {
        Ok(Some(shared)) => page_title(Some(&shared.title)),
        Ok(None) | Err(_) => page_title(Some(language.not_found_title())),
    };
    let styles = (style(folder), later_style(folder));
    Owner::new().with(|| {
        provide_context(language);
        let content = match found {
            Ok(Some(shared)) => view! { <SharedPage shared /> }.into_any(),
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
fn SharedPage(shared: SharedConversation) -> impl IntoView {
    let text = use_language();
    let SharedConversation { path, title, messages, shared_at } = shared;
    let files = format!("{path}/files");
    let mut room = Room::default();
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
                    <a href="?format=text">{text.shared_as_text()}</a>
                </p>
            </header>
            <div class="shared-messages">{InertElement::new(html)}{rest}</div>
        </main>
    }
}

/// Returns the view of a message on a page without scripts. `files` is the address of the folder with its files.
pub(super) fn printed<'a>(entry: &'a Entry, text: Language, files: &'a str) -> View<'a> {
    View { id: entry.id, entry, text, files, live: None }
}
