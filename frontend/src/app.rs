//! The HTML document around the page, on the server; and the browser's taking it over.
//!
//! The browser builds the page that it was sent once more, alive, part by part, and puts it in the place of the server's in steps
//! that nobody sees: first where one writes, then what is around that. Attaching itself to the server's elements one by one, as
//! Leptos can, would need code for each view that does nothing else, a fifth of all that a browser has to load. What is costly to
//! build, answers drawn from Markdown, is taken over as it stands.

use std::sync::Arc;

#[cfg(feature = "browser")]
use leptos::task::tick;
use leptos::{html, nonce::use_nonce, prelude::*};

#[cfg(feature = "browser")]
use crate::browser;
use crate::{
    address::Address,
    browser::{BROKEN_ID, COMPOSING, DRAWN, PRESSED, SENDS},
    components::{
        commands::HANDLED_BY_INPUT_METHOD,
        composer::OF_KEYS,
        ids::{COMPOSER_HINT_ID, COMPOSER_ID},
    },
    data::PageData,
    drafts,
    language::Language,
    pages::{chat::ChatPage, not_found::NotFoundPage},
    preferences::{BAR_MEDIA, Preferences, switch_name},
    scroll::THREAD_ID,
    session::draft_name,
    start::{Content, START_ID, Start},
    style::{later_style, style},
    text,
};

/// The element that is replaced when the browser takes over.
const APP_ID: &str = "app";

/// The files with the code of messages, and those with the code of what few visits use.
const MESSAGE_FILES: [&str; 2] = ["split_messages", "split_shared"];
const OTHER_FILES: [&str; 2] = ["split_others", "split_shared"];

/// How often the page's program is asked for, with pauses of 2, 4, 8 … seconds between.
const LOAD_ATTEMPTS: u32 = 6;

/// Browsers find out how all of the page looks, and in a later task where everything goes (`before_paint`): in one, what is done
/// meanwhile would wait for both.
const STYLE_FIRST: &str = "getComputedStyle(document.body).color;";

/// What is done before anything is painted. The newest message of a conversation is shown first: what is at the top would
/// otherwise be laid out, too, and seen for a moment. And one can write at once: what is written until the page is alive is
/// kept as it keeps what is being written, and taken over by it (`browser::TakingOver`), to be sent if that was asked for.
/// Whoever has no scripts cannot. A button of a message, the list or the header that is pressed before it is alive is marked,
/// to be pressed when it is; a menu that is closed again meanwhile is not opened anew. Under a thumb Enter breaks the line, and
/// the field says so. A file that is dropped anywhere on the page is not opened in its place, as long as the document is there.
/// Signing out clears what all users were writing at this browser.
fn before_paint(address: Address, user: i64) -> String {
    let kept = drafts::storage_key(user, &draft_name(address.uuid()));
    let prefix = drafts::PREFIX;
    // A new chat is read from its beginning.
    let is_conversation = address.uuid().is_some();
    format!(
        "{{ let storage; try {{ storage = localStorage; }} catch {{}}\
         addEventListener('submit', event => {{ if (event.target.getAttribute('action') === '/sign-out')\
         for (const key of Object.keys(storage ?? {{}})) if (key.startsWith('{prefix}')) storage.removeItem(key); }});\
         const keepFile = event => {{ if (event.dataTransfer?.types.includes('Files')) event.preventDefault(); }};\
         addEventListener('dragover', keepFile); addEventListener('drop', keepFile);\
         addEventListener('click', event => {{ const button = event.target.closest('button');\
         if (!button || 'alive' in document.body.dataset && !button.closest('[{DRAWN}]')) return;\
         document.querySelector('[{PRESSED}]')?.removeAttribute('{PRESSED}'); button.setAttribute('{PRESSED}', ''); }});\
         addEventListener('toggle', ({{ newState, target }}) => {{ if (newState === 'closed')\
         document.querySelector(`[{PRESSED}][popovertarget=\"${{target.id}}\"]`)?.removeAttribute('{PRESSED}'); }}, true);\
         const thread = document.getElementById('{THREAD_ID}');\
         if (thread && {is_conversation}) thread.scrollTop = thread.scrollHeight;\
         const field = document.getElementById('{COMPOSER_ID}');\
         if (field) {{\
         const button = field.form.querySelector('[type=submit]');\
         const byFinger = matchMedia('(pointer: coarse)').matches;\
         const hint = document.getElementById('{COMPOSER_HINT_ID}');\
         if (byFinger) {{ field.enterKeyHint = 'enter'; if (hint.hasAttribute('{OF_KEYS}')) hint.textContent = ''; }}\
         const show = () => {{ field.parentElement.dataset.text = field.value;\
         if (button) button.disabled = !field.value.trim(); }};\
         const keep = () => {{ show(); try {{ if (field.value) storage?.setItem('{kept}', Date.now() + ' ' + field.value);\
         else storage?.removeItem('{kept}'); }} catch {{}} }};\
         const mark = (name, is) => () => field.toggleAttribute(name, is);\
         field.addEventListener('input', keep);\
         field.addEventListener('compositionstart', mark('{COMPOSING}', true));\
         field.addEventListener('compositionend', mark('{COMPOSING}', false));\
         field.addEventListener('keydown', event => {{\
         if (event.key !== 'Enter' || byFinger || event.shiftKey || event.isComposing || event.keyCode === {HANDLED_BY_INPUT_METHOD})\
         return;\
         event.preventDefault(); if (field.value.trim()) send(); }});\
         const send = () => {{ field.readOnly = true; mark('{SENDS}', true)(); }};\
         field.form.addEventListener('submit', event => {{ event.preventDefault(); send(); }});\
         field.value = (storage?.getItem('{kept}') ?? '').replace(/^[^ ]* /, ''); show();\
         field.disabled = false;\
         if (!byFinger) field.focus({{ preventScroll: true }}); }} }}"
    )
}

/// Loads the browser side, and lets it take over once the page has been painted, from which that would take time; in a task of
/// its own, since getting the program ready takes one.
///
/// What keeps the page from working is said in the element [`BROKEN_ID`]: a file that does not come, which is asked for
/// again with pauses, and a program that stopped. A module that failed is asked for under another address, since browsers
/// remember an import that failed.
///
/// `window.typeset` has code and formulas set in a place that is finished, by a program that is loaded with the first of
/// them; until then, and without it, they read well.
///
/// `window.loadStyle` has the style of what is not there at first (`components::later`), unless the document began with it.
///
/// Last comes the service worker, which says that the server is out of reach where a browser takes one: over TLS, or from this
/// machine.
fn take_over_from(folder: &str) -> String {
    format!(
        "const broken = document.getElementById('{BROKEN_ID}');\
         const tell = why => {{ broken.firstElementChild.textContent = broken.dataset[why]; broken.hidden = false; }};\
         const stopped = error => {{ if (error instanceof WebAssembly.RuntimeError) tell('stopped'); }};\
         addEventListener('error', event => stopped(event.error));\
         addEventListener('unhandledrejection', event => stopped(event.reason));\
         const has = link => {{ try {{ return link.sheet.cssRules.length > 0; }} catch {{ return false; }} }};\
         if (!has(document.querySelector('link[rel=stylesheet]'))) tell('unloaded');\
         const attempts = {{}};\
         const load = name => import(`{folder}/${{name}}.js${{attempts[name] ? '?' + attempts[name] : ''}}`).then(program =>\
         program.default({{ module_or_path: `{folder}/${{name}}_bg.wasm` }}).then(() => program)).catch(error => {{\
         attempts[name] = (attempts[name] ?? 0) + 1; throw error; }});\
         let typesetter;\
         window.typeset = place => {{\
         if (place.querySelector('.code-language:not(:empty), .math'))\
         (typesetter ??= load('typeset')).then(program => program.typeset(place), () => {{ typesetter = undefined; }}); }};\
         let styled = has(document.querySelector('link[href$=\"/later.css\"]')) ? Promise.resolve() : undefined;\
         window.loadStyle = () => styled ??= new Promise((done, failed) => {{\
         const link = Object.assign(document.createElement('link'), {{ rel: 'stylesheet', href: '{folder}/later.css', onload: done,\
         onerror: () => {{ link.remove(); styled = undefined; failed(); }} }}); document.head.append(link); }});\
         const painted = document.hidden || new Promise(done => requestAnimationFrame(() => setTimeout(done)));\
         const begin = () => Promise.all([load('tallybook'), painted]).then(([page]) => {{\
         if (attempts.tallybook) broken.hidden = true;\
         if (document.hidden) page.take_over(); else setTimeout(page.take_over); }}, () => {{\
         tell('unloaded'); if (attempts.tallybook < {LOAD_ATTEMPTS}) setTimeout(begin, 2 ** attempts.tallybook * 1000); }});\
         begin();\
         addEventListener('load', () => navigator.serviceWorker?.register('/service-worker.js?lang=' + document.documentElement.lang)\
         .catch(() => {{}}));"
    )
}

/// Says, in place of a program that cannot, why the page does not work; hidden until then.
fn broken(text: Language) -> impl IntoView {
    view! {
        <div
            id=BROKEN_ID
            class="broken"
            role="alert"
            data-unloaded=text.page_not_loaded()
            data-stopped=text.page_stopped()
            hidden
        >
            <p></p>
            // Not one of the page's own ways, which its program would go.
            <a href="" rel="external" class="button small">{text.reload_page()}</a>
        </div>
    }
}

/// The whole HTML document. `folder` is the address of the folder with the page's program and style.
pub fn shell(folder: &'static str, data: Arc<dyn PageData>) -> impl IntoView {
    let preferences = data.preferences();
    let Preferences { language, theme, sidebar, single_keys, notifications, call_previews } = preferences;
    provide_context(preferences);
    provide_context(preferences.language);
    let address = Address::parse(&data.pathname());
    let bar_colors = BAR_MEDIA.into_iter().zip(theme.bar_colors());
    let bar_colors =
        bar_colors.map(|(media, color)| leptos::html::meta().name("theme-color").attr("media", media).content(color));
    let bar_colors = bar_colors.collect_view();
    let user = data.user_id();
    let nonce = use_nonce();
    Suspend::new(async move {
        let (page, title, alive, data) = if let Some(address) = address {
            let start = Start::load(address, folder, &*data).await;
            let title = start.content.title(language);
            let text = start.to_text();
            let first_files = match start.content {
                Content::Conversation(_) => Some(MESSAGE_FILES),
                Content::Settings => Some(OTHER_FILES),
                Content::NewChat | Content::Missing | Content::Failed(_) => None,
            };
            let program = |file: &str| {
                view! {
                    <link
                        rel="preload"
                        href=format!("{folder}/{file}.wasm")
                        r#as="fetch"
                        r#type="application/wasm"
                        crossorigin="anonymous"
                    />
                }
            };
            let later_style = first_files.map(|_| later_style(folder));
            let alive = text.is_some().then(|| {
                view! {
                    // Shown first when it is whole, so that nothing moves while the rest is read. That is when its data
                    // comes, which stands at its end: browsers differ in whether an element that has begun will do.
                    <link rel="expect" href=format!("#{START_ID}") blocking="render" />
                    <link rel="modulepreload" href=format!("{folder}/tallybook.js") nonce=nonce.clone() />
                    {program("tallybook_bg")}
                    {first_files.map(|files| files.map(program))}
                    {html::script().r#type("module").nonce(nonce.clone()).inner_html(take_over_from(folder))}
                }
            });
            let script = |text: String| html::script().nonce(nonce.clone()).inner_html(text);
            let data = text.map(|text| {
                let start = html::script().r#type("application/json").id(START_ID).inner_html(text);
                view! { {script(STYLE_FIRST.to_owned())} {script(before_paint(address, user))} {broken(language)} {start} }
            });
            (view! { <ChatPage start /> }.into_any(), title, (later_style, alive), data)
        } else {
            data.set_status(404);
            let title = text::page_title(Some(language.not_found_title()));
            (view! { <NotFoundPage /> }.into_any(), title, (None, None), None)
        };
        view! {
            <!DOCTYPE html>
            <html
                lang=language.code()
                data-theme=theme.name()
                data-sidebar=sidebar.name()
                data-single-keys=switch_name(single_keys)
                data-notifications=switch_name(notifications)
                data-call-previews=switch_name(call_previews)
                data-user=user.to_string()
            >
                <head>
                    <meta charset="utf-8" />
                    <meta
                        name="viewport"
                        content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content"
                    />
                    <meta name="color-scheme" content="light dark" />
                    {bar_colors}
                    <title>{title}</title>
                    <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                    <link rel="apple-touch-icon" href="/icon-192.png" />
                    // With cookies: a proxy may ask who it is.
                    <link rel="manifest" href="/manifest.webmanifest" crossorigin="use-credentials" />
                    {style(folder)}
                    {alive}
                </head>
                <body>
                    <div id=APP_ID>{page}</div>
                    {data}
                </body>
            </html>
        }
        .into_any()
    })
}

/// Builds the page alive, from what the server left in the document, and puts it in the place of the server's. Without
/// that the server's stays, to be read.
#[cfg(feature = "browser")]
pub(crate) async fn take_over() {
    use crate::{components::later, in_turn};

    let Some(address) = Address::shown() else { return };
    if !later::load_first(address).await {
        return;
    }
    let Some(start) = Start::from_document() else { return };
    browser::next_task().await;
    let Some(taking_over) = browser::TakingOver::begin(APP_ID) else { return };
    let page = move || {
        let preferences = browser::preferences();
        provide_context(preferences);
        provide_context(preferences.language);
        view! { <ChatPage start /> }
    };
    in_turn::begin();
    leptos::mount::mount_to(taking_over.place(), page).forget();
    loop {
        browser::next_task().await;
        let Some(is_due) = in_turn::next() else { break };
        is_due.try_set(true);
        tick().await;
    }
    let around = in_turn::take_around();
    let kept: Vec<_> = around.iter().map(|part| part.id).collect();
    browser::composed().await;
    browser::released().await;
    // In a task of its own: a frame whose callback this is would be drawn in it, too.
    taking_over.finish(&kept, COMPOSER_ID);
    mark_alive();
    in_turn::end();
    for in_turn::Around { id, is_due } in around {
        browser::next_task().await;
        browser::released().await;
        let drawn = browser::DrawnPart::find(id);
        is_due.try_set(true);
        tick().await;
        if let Some(drawn) = drawn {
            drawn.make_way();
        }
    }
}

/// Marks the document when the browser has taken over and hears what is done. For tests; a page works without it.
#[cfg(feature = "browser")]
fn mark_alive() {
    if let Some(body) = document().body() {
        let _ = body.set_attribute("data-alive", "");
    }
}
