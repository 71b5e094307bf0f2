//! The queued messages above the message field.

use leptos::{ev::KeyboardEvent, html, prelude::*};
use tallybook_protocol::{AnswerMode, MessageStatus};

use crate::{
    components::{
        composer::file_names::file_names,
        parts::{
            commands::escapes,
            each::Each,
            icon::{Draw, Icon},
            typing::{focus_composer, sends},
        },
    },
    language::use_language,
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
    session::{Phase, Queued, Session},
};

/// The queue, in order.
#[component]
pub(crate) fn Queue(session: Session) -> impl IntoView {
    let text = use_language();
    let rows = memo(move |_| {
        session.queue.with(|queue| {
            let is_edited = |queued: &Queued| queue.edited.as_ref() == Some(&queued.id);
            queue.messages.iter().map(|queued| (queued.clone(), is_edited(queued))).collect::<Vec<_>>()
        })
    });
    // A message that is being edited keeps its row and its typed text, whatever happens to those before it. A changed
    // message has a new ID.
    let key = |(queued, is_edited): &(Queued, bool)| (queued.id.clone(), *is_edited);
    let is_idle = memo(move |_| session.phase.get() == Phase::Idle);
    let last_status =
        memo(move |_| session.transcript.with(|transcript| transcript.entries().last().map(|last| last.status)));
    let is_held = memo(move |_| session.queue.with(|queue| queue.is_held));
    let says = move || match last_status.get() {
        _ if !is_idle.get() => {
            if is_held.get() {
                text.queue_held()
            } else {
                text.queue_running()
            }
        }
        Some(MessageStatus::Complete) if is_held.get() => text.queue_held(),
        Some(MessageStatus::Complete) => text.queue_not_sent(),
        Some(MessageStatus::Stopped) => text.queue_paused_by_stop(),
        _ => text.queue_paused(),
    };
    view! {
        <section class="queue" data-testid="queue" aria-label=text.queue_label()>
            <ol>
                <Each
                    each=move || rows.get()
                    key
                    children=move |(queued, is_edited)| if is_edited { edited_row(queued, session) } else { row(queued, session) }
                />
            </ol>
            <div class="queue-footer">
                <p role="status">{says}</p>
                {move || is_idle.get().then(|| view! {
                    <button type="button" class="button small" data-testid="send-now" on:click=move |_| session.send_now()>
                        {text.send_now()}
                    </button>
                })}
            </div>
        </section>
    }
    .into_any()
}

fn row(Queued { id, text: content, files, model, mode }: Queued, session: Session) -> AnyView {
    let text = use_language();
    let own = id.clone();
    let is_sending = memo(move |_| {
        session.queue.with(|queue| queue.is_sending && queue.messages.first().is_some_and(|first| first.id == own))
    });
    let button = |label: &'static str, name: &'static str, icon: Icon, run: Box<dyn Fn()>| {
        view! {
            <button
                type="button"
                class="button icon-only quiet small"
                data-testid=name
                aria-label=label
                title=label
                disabled=move || is_sending.get()
                on:click=move |_| run()
            >
                <Draw icon />
            </button>
        }
        .into_any()
    };
    let edited = id.clone();
    view! {
        <li data-testid="queued">
            <p class="queue-text" dir="auto">{content}</p>
            {(!files.is_empty()).then(|| file_names(&files))}
            {(mode == AnswerMode::Plan).then(|| view! { <span class="queue-model">{text.plan_first()}</span> })}
            {model.map(|name| view! { <span class="queue-model">{name}</span> })}
            {move || is_sending.get().then(|| text.queue_sending())}
            {button(text.queue_edit(), "queue-edit", Icon::Pencil, Box::new(move || session.edit_queued(Some(edited.clone()))))}
            {button(text.queue_remove(), "queue-remove", Icon::Cross, Box::new(move || session.unqueue(id.clone())))}
        </li>
    }
    .into_any()
}

fn edited_row(Queued { text: content, .. }: Queued, session: Session) -> AnyView {
    let text = use_language();
    let field = NodeRef::<html::Textarea>::new();
    let content = session.queue.with_untracked(|queue| queue.edited_text.clone()).unwrap_or(content);
    effect(move || {
        if let Some(field) = field.get() {
            in_next_frame(move || {
                let _ = field.focus();
            });
        }
    });
    on_cleanup(focus_composer);
    let save = move || {
        if let Some(field) = field.get_untracked() {
            session.change_queued(field.value());
        }
    };
    view! {
        <li data-testid="queued">
            <textarea
                class="field queue-text"
                data-testid="queue-field"
                rows="2"
                dir="auto"
                autocomplete="off"
                aria-label=text.queue_field()
                node_ref=field
                prop:value=content
                on:input:target=move |event| session.write_queued(event.target().value())
                on:keydown=move |event: KeyboardEvent| {
                    if sends(&event) {
                        event.prevent_default();
                        save();
                    } else if escapes(&event) {
                        event.stop_propagation();
                        session.edit_queued(None);
                    }
                }
            ></textarea>
            <button type="button" class="button small" data-testid="queue-cancel" on:click=move |_| session.edit_queued(None)>
                {text.cancel()}
            </button>
            <button type="button" class="button small primary" data-testid="queue-save" on:click=move |_| save()>
                {text.save()}
            </button>
        </li>
    }
    .into_any()
}
