//! The content of a new chat before its first message.

use leptos::prelude::*;

use crate::{
    browser,
    components::parts::{
        icon::{Draw, Icon},
        ids::TOOLS_BUTTON_ID,
        tally_marks::Mark,
        typing::begin_to_write_after_press,
    },
    language::use_language,
    models::Models,
    new_chat::{Example, NewChatInfo},
    reactive::memo,
    session::Session,
    setup::{Connecting, EntryKind},
    tools::Tools,
};

/// A greeting, example questions, and the available tools.
#[component]
pub(crate) fn EmptyState(session: Session) -> impl IntoView {
    let offered: NewChatInfo = use_context().unwrap_or_default();
    let (models, tools) = (expect_context::<Models>(), expect_context::<Tools>());
    // After an admin has added a tool server, the list has its tools.
    let offer = memo(move |_| {
        let is_demo = models.is_demo_default();
        let listed = tools.list.with(|list| list.as_ref().map(|list| NewChatInfo::new(&list.items, is_demo)));
        listed.unwrap_or_else(|| NewChatInfo { is_demo, ..offered.clone() })
    });
    move || content(session, offer.get(), models.is_empty())
}

fn content(session: Session, offer: NewChatInfo, has_no_model: bool) -> AnyView {
    let text = use_language();
    let is_demo = offer.is_demo;
    let examples = if has_no_model { Vec::new() } else { offer.examples(text) };
    let examples = examples.into_iter().map(|Example { question, tools }| {
        let asked = question.clone();
        view! {
            <li>
                <button
                    type="button"
                    class="example"
                    data-testid="example"
                    on:click=move |_| {
                        session.send(&asked);
                        begin_to_write_after_press();
                    }
                >
                    <span class="example-text">{question}</span>
                    <span class="example-footer" aria-hidden="true">
                        <span class="example-tool">{tools.join(", ")}</span>
                        <Draw icon=Icon::ArrowUp />
                    </span>
                </button>
            </li>
        }
    });
    let (title, words) = text.greeting(offer.greeting());
    view! {
        <section class="empty">
            <Mark />
            <h1>{title}</h1>
            <p>{words}</p>
            {is_demo.then(demo_notice)}
            {has_no_model.then(|| view! { <p class="demo-notice" role="alert" data-testid="no-model">{text.no_model()}</p> })}
            <ul class="examples">{examples.collect_view()}</ul>
            <ToolsAtHand offer />
        </section>
    }
    .into_any()
}

/// The notice that the demo model answers. Admins can connect another model.
fn demo_notice() -> AnyView {
    let text = use_language();
    let connecting = expect_context::<Connecting>();
    let next_step = if connecting.is_allowed {
        view! {
            <button
                type="button"
                class="button primary"
                data-testid="connect-model"
                aria-haspopup="dialog"
                on:click=move |_| connecting.open(EntryKind::Model)
            >
                {text.connect_model()}
            </button>
        }
        .into_any()
    } else {
        text.ask_admin_for_model().into_any()
    };
    view! {
        <div class="demo-notice" data-testid="demo-notice">
            <span>{text.demo_model()}</span>
            " "
            {next_step}
        </div>
    }
    .into_any()
}

/// The first tools by name, and a button that opens the list of all. Clicking a name shows the tool's description.
#[component]
fn ToolsAtHand(offer: NewChatInfo) -> impl IntoView {
    let text = use_language();
    let (tools, more) = offer.named();
    let chips = tools.into_iter().enumerate().map(|(at, tool)| {
        let id = format!("tool-about-{at}");
        let name = text.tool_title(&tool.name);
        let (about, lang) = text.tool_about(&tool.name, tool.about);
        view! {
            <li class="has-menu">
                <button type="button" class="button small tool-chip" data-testid="tool-chip" popovertarget=id.clone()>
                    {name}
                </button>
                <p class="menu tool-about" id=id popover="auto" lang=lang>{about}</p>
            </li>
        }
    });
    let chips = chips.collect_view();
    (!chips.is_empty()).then(|| {
        view! {
            <div class="tools-at-hand">
                <h2>{text.available_tools()}</h2>
                <ul>{chips}</ul>
                {(more > 0).then(|| view! {
                    <button
                        type="button"
                        class="button quiet small"
                        data-testid="more-tools"
                        aria-haspopup="dialog"
                        on:click=|_| browser::press(TOOLS_BUTTON_ID)
                    >
                        {text.more_tools(more)}
                    </button>
                })}
            </div>
        }
    })
}
