//! The HTML document around the page, rendered on the server, and the mount of the page in the browser.
//!
//! The browser attaches the page to the server-rendered elements around the messages and the message field, and to the
//! messages, which stay as they are (`browser::attach`). It builds everything else again, part by part, from the data
//! in the document, and shows each part in place of the server's, without a visible change. The header and the sidebar
//! follow when they are used or must change (`components::frame`), and so do the messages of a conversation in which no
//! turn runs (`components::lazy`). Leptos can instead attach itself to all of the server's elements (hydration), but the
//! code for that would be a fifth of the download.

use std::sync::Arc;

#[cfg(feature = "browser")]
use leptos::task::tick;
use leptos::{html, nonce::use_nonce, prelude::*};

#[cfg(feature = "browser")]
use crate::browser;
use crate::{
    address::Address,
    browser::{ATTACHED, ATTACHED_MORE, BROKEN_ID, COPIED, DRAWN, PRESSED, SENDS, TAKEN},
    components::{
        composer::OF_KEYS,
        parts::{
            commands::HANDLED_BY_INPUT_METHOD,
            ids::{ATTACH_ID, COMPOSER_HINT_ID, COMPOSER_ID, FILES_ID},
        },
    },
    data::PageData,
    drafts, i18n,
    language::Language,
    message::MS,
    pages::{chat::ChatPage, not_found::NotFoundPage},
    preferences::{BAR_MEDIA, Preferences, switch_name},
    scroll::THREAD_ID,
    session::draft_name,
    start::{Content, START_ID, Start},
    style::{lazy_style, style},
};

/// ID of the element that the page is mounted in.
const APP_ID: &str = "app";

/// Files with the code of messages, and files with the code of rarely used parts.
const MESSAGE_FILES: [&str; 3] = ["split_messages", "split_messages_others", "split_frame_messages_others"];
const OTHER_FILES: [&str; 3] = ["split_others", "split_messages_others", "split_frame_messages_others"];

/// Maximum number of attempts to load the page's WASM module, with pauses of 2, 4, 8 … seconds between them.
const LOAD_ATTEMPTS: u32 = 6;

/// Maximum number of presses that are kept until the page is interactive.
const MAX_PRESSES: usize = 16;

/// Script that makes the browser calculate all styles in a task of its own. A later task (`before_paint`) does the
/// layout. If one task did both, everything else that waits would have to wait for both.
const STYLE_FIRST: &str = "getComputedStyle(document.body).color;";

/// Returns the script that runs before the first paint:
///
/// - It scrolls a conversation to its newest message. Otherwise the browser would lay out and briefly show the top,
///   too.
/// - It enables the message field, which stays disabled without scripts, and focuses it unless the user is already
///   somewhere else. Text that the user enters before the page is interactive is stored as a draft. The page attaches to
///   the field, and sends the text if the user asked for that (`browser::take_field`). If the page cannot be loaded, the
///   text can be edited again.
/// - It keeps the buttons that the user presses before their part of the page is interactive, and presses them once it
///   is, in the same order. If the part was built again, the button in the same place with the same name is pressed.
///   A menu that the user closes in the meantime is not reopened. The button that attaches files works at once.
/// - On a touch screen, Enter inserts a line break, and the hint about keys is removed.
/// - It keeps the browser from opening a file that the user drops anywhere on the page. This stays in effect as long
///   as the document.
/// - When a user signs out, it deletes the drafts of all users of this browser.
fn before_paint(address: Address, user: i64) -> String {
    let kept = drafts::storage_key(user, &draft_name(address.uuid()));
    let prefix = drafts::PREFIX;
    // A new chat starts at its top.
    let is_conversation = address.uuid().is_some();
    format!(
        "{{ let storage; try {{ storage = localStorage; }} catch {{}}\
         addEventListener('submit', event => {{ if (event.target.getAttribute('action') === '/sign-out')\
         for (const key of Object.keys(storage ?? {{}})) if (key.startsWith('{prefix}')) storage.removeItem(key); }});\
         const keepFile = event => {{ if (event.dataTransfer?.types.includes('Files')) event.preventDefault(); }};\
         addEventListener('dragover', keepFile); addEventListener('drop', keepFile);\
         let presses = [];\
         const isAlive = () => 'alive' in document.body.dataset;\
         const isDrawn = element => !!element.closest('[{DRAWN}], [{COPIED}]');\
         const alike = (id, button, drawn) => [...document.querySelectorAll(`button#${{id}}, #${{id}} button`)].filter(other =>\
         other.dataset.testid === button.dataset.testid && other.ariaLabel === button.ariaLabel && isDrawn(other) === drawn);\
         addEventListener('click', event => {{ const button = event.target.closest('button');\
         const drawn = !!button && isDrawn(button);\
         if (!button || button.type === 'submit' || !drawn && (isAlive() || document.querySelector('[{ATTACHED}]'))) return;\
         if (button.id === '{ATTACH_ID}') return document.getElementById('{FILES_ID}').click();\
         if (document.getElementById(button.getAttribute('popovertarget'))?.childElementCount === 0) event.preventDefault();\
         if (presses.length === {MAX_PRESSES} || presses.some(press => press.button === button)) return;\
         const id = CSS.escape(button.closest('[id]').id);\
         presses.push({{ button, id, at: alike(id, button, drawn).indexOf(button) }}); button.setAttribute('{PRESSED}', ''); }});\
         addEventListener('toggle', ({{ newState, target }}) => {{ if (newState === 'closed')\
         presses = presses.filter(({{ button }}) => {{ const opened = button.getAttribute('popovertarget') === target.id\
         && button.popoverTargetAction !== 'hide'; if (opened) button.removeAttribute('{PRESSED}'); return !opened; }}); }}, true);\
         addEventListener('{ATTACHED_MORE}', () => {{ if (isAlive()) for (const press of presses.splice(0)) {{\
         const {{ button, id, at }} = press; const isHere = button.isConnected;\
         const found = isHere && !isDrawn(button) ? button : isHere ? undefined : alike(id, button, false)[at];\
         if (found) {{ button.removeAttribute('{PRESSED}'); found.click(); }}\
         else if (isHere || document.querySelector('[{COPIED}]')) presses.push(press); }} }});\
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
         const early = new AbortController();\
         const hear = (place, name, act) => place.addEventListener(name, act, {{ signal: early.signal }});\
         const keep = () => {{ show(); try {{ if (field.value) storage?.setItem('{kept}', Date.now() + ' ' + field.value);\
         else storage?.removeItem('{kept}'); }} catch {{}} }};\
         const mark = does => {{ field.readOnly = does; field.toggleAttribute('{SENDS}', does); }};\
         field.addEventListener('{TAKEN}', () => early.abort());\
         hear(window, 'unloaded', () => mark(false));\
         hear(field, 'input', keep);\
         hear(field, 'keydown', event => {{\
         if (event.key !== 'Enter' || byFinger || event.shiftKey || event.isComposing || event.keyCode === {HANDLED_BY_INPUT_METHOD})\
         return;\
         event.preventDefault(); if (field.value.trim()) mark(true); }});\
         hear(field.form, 'submit', event => {{ event.preventDefault(); mark(true); }});\
         field.value = (storage?.getItem('{kept}') ?? '').replace(/^[^ ]* /, ''); show();\
         field.disabled = false;\
         if (!byFinger && document.activeElement === document.body) field.focus({{ preventScroll: true }}); }} }}"
    )
}

/// Returns the script that writes times in the user's time zone and regional variant of the page's language, which the
/// server does not know: en-GB differs from en-US. `window.localTime` returns the short and the full form of a time in
/// milliseconds since 1970, and its ISO format (`browser::LocalTime`). The short form is the time if it is today,
/// otherwise the day and the time, or in another year the day alone. Creating a formatter takes browsers longer than
/// formatting a time, so formatters are kept until the time zone changes.
///
/// The script then writes the times of the server-rendered messages, before the first paint.
fn local_times() -> String {
    format!(
        "{{ const lang = document.documentElement.lang;\
         const locale = navigator.languages.find(known => known.startsWith(lang)) ?? lang;\
         const time = {{ hour: 'numeric', minute: '2-digit' }}, day = {{ month: 'short', day: 'numeric' }};\
         const styles = {{ time, dayAndTime: {{ ...day, ...time }}, day: {{ ...day, year: 'numeric' }},\
         full: {{ dateStyle: 'full', timeStyle: 'medium' }} }};\
         let zone, formats;\
         const write = (style, at) => (formats[style] ??= new Intl.DateTimeFormat(locale, styles[style])).format(at);\
         window.localTime = ms => {{\
         const at = new Date(ms), now = new Date();\
         if (zone !== now.getTimezoneOffset()) {{ zone = now.getTimezoneOffset(); formats = {{}}; }}\
         const short = at.toDateString() === now.toDateString() ? 'time'\
         : at.getFullYear() === now.getFullYear() ? 'dayAndTime' : 'day';\
         return [write(short, at), write('full', at), at.toISOString()]; }};\
         for (const place of document.querySelectorAll('.when[{MS}]')) {{\
         const [short, full, iso] = localTime(Number(place.getAttribute('{MS}')));\
         place.replaceChildren(Object.assign(document.createElement('time'), {{ dateTime: iso, title: full, textContent: short }})); }} }}"
    )
}

/// Returns the script that loads the WASM module and mounts the page. The mount waits for the first paint, which it
/// would delay. It runs in a task of its own, because initializing the module takes one.
///
/// If something keeps the page from working, the element [`BROKEN_ID`] says so: a file that does not load, or a
/// module that panicked. Loading is retried with pauses. Each retry of a module uses another URL, because browsers
/// remember a failed import.
///
/// `window.typeset` highlights code and typesets formulas in an element that is complete. Its module is loaded when
/// the first of them appears; without it they stay readable.
///
/// `window.loadStyle` loads the style of the lazy parts (`components::lazy`), unless the document already includes
/// it.
///
/// Last, the script registers the service worker, which shows a page of its own if the server cannot be reached.
/// Browsers allow service workers only over HTTPS and on `localhost`.
fn loading_script(folder: &str) -> String {
    format!(
        "const broken = document.getElementById('{BROKEN_ID}');\
         const tell = why => {{ broken.firstElementChild.textContent = broken.dataset[why]; broken.hidden = false;\
         dispatchEvent(new Event('unloaded')); }};\
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
         let styled = has(document.querySelector('link[href$=\"/lazy.css\"]')) ? Promise.resolve() : undefined;\
         window.loadStyle = () => styled ??= new Promise((done, failed) => {{\
         const link = Object.assign(document.createElement('link'), {{ rel: 'stylesheet', href: '{folder}/lazy.css', onload: done,\
         onerror: () => {{ link.remove(); styled = undefined; failed(); }} }}); document.head.append(link); }});\
         const painted = document.hidden || new Promise(done => requestAnimationFrame(() => setTimeout(done)));\
         const begin = () => Promise.all([load('tallybook'), painted]).then(([page]) => {{\
         if (attempts.tallybook) broken.hidden = true;\
         if (document.hidden) page.mount(); else setTimeout(page.mount); }}, () => {{\
         tell('unloaded'); if (attempts.tallybook < {LOAD_ATTEMPTS}) setTimeout(begin, 2 ** attempts.tallybook * 1000); }});\
         begin();\
         addEventListener('load', () => navigator.serviceWorker?.register('/service-worker.js?lang=' + document.documentElement.lang)\
         .catch(() => {{}}));"
    )
}

/// Renders the notice that says why the page does not work. It is outside the mounted page, and hidden until it is
/// needed.
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
            // `rel` keeps the page's own navigation from following the link, which needs the WASM module.
            <a href="" rel="external" class="button small">{text.reload_page()}</a>
        </div>
    }
}

/// Renders the complete HTML document. `folder` is the address of the folder with the page's WASM module and style.
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
            let first_files = match &start.content {
                Content::Conversation(opened) if !opened.summary().is_idle() => Some(MESSAGE_FILES),
                Content::Settings => Some(OTHER_FILES),
                Content::Conversation(_) | Content::NewChat | Content::Missing | Content::Failed(_) => None,
            };
            let lazy_style =
                matches!(start.content, Content::Conversation(_) | Content::Settings).then(|| lazy_style(folder));
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
            let alive = text.is_some().then(|| {
                view! {
                    // Painted only once the document is complete, so that nothing moves while the rest arrives. The
                    // element to wait for is the last one, the data, because browsers differ in whether an element
                    // that has only begun is enough.
                    <link rel="expect" href=format!("#{START_ID}") blocking="render" />
                    <link rel="modulepreload" href=format!("{folder}/tallybook.js") nonce=nonce.clone() />
                    {program("tallybook_bg")}
                    {first_files.map(|files| files.map(program))}
                    {html::script().r#type("module").nonce(nonce.clone()).inner_html(loading_script(folder))}
                }
            });
            let script = |text: String| html::script().nonce(nonce.clone()).inner_html(text);
            let data = text.map(|text| {
                let start = html::script().r#type("application/json").id(START_ID).inner_html(text);
                view! { {script(STYLE_FIRST.to_owned())} {script(local_times())} {script(before_paint(address, user))} {broken(language)} {start} }
            });
            (view! { <ChatPage start /> }.into_any(), title, (lazy_style, alive), data)
        } else {
            data.set_status(404);
            let title = i18n::page_title(Some(language.not_found_title()));
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
                    // Sends cookies: a proxy may require authentication.
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

/// Mounts the page: builds it from the data in the document, attached to the server-rendered HTML. If the code or the
/// data is missing, the server-rendered page stays, and can still be read.
#[cfg(feature = "browser")]
pub(crate) async fn mount() {
    use crate::{components::lazy, mount_schedule};

    let Some(address) = Address::shown() else { return };
    if !lazy::load_first(address).await {
        return;
    }
    let Some(start) = Start::from_document() else { return };
    browser::next_task().await;
    let Some(root) = browser::begin(APP_ID) else { return };
    let page = move || {
        let preferences = browser::preferences();
        provide_context(preferences);
        provide_context(preferences.language);
        view! { <ChatPage start /> }
    };
    mount_schedule::begin();
    leptos::mount::mount_to(root.clone(), page).forget();
    loop {
        browser::next_task().await;
        browser::released().await;
        let Some(is_due) = mount_schedule::next() else { break };
        is_due.try_set(true);
        tick().await;
        browser::replace_children(&root);
    }
    // In a task of its own: in the callback of an animation frame, the browser would also paint that frame in the
    // same task.
    browser::finish(&mount_schedule::deferred_ids());
    mark_alive();
    mount_schedule::end();
    browser::replay_presses();
}

/// Marks the document as interactive. Tests wait for this, and the document's script uses it.
#[cfg(feature = "browser")]
fn mark_alive() {
    if let Some(body) = document().body() {
        let _ = body.set_attribute("data-alive", "");
    }
}
