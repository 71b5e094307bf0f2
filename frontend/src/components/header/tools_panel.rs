//! The content of the tools panel: the tools by server, with their descriptions and switches, and the states of the
//! servers.

use leptos::prelude::*;
use tallybook_protocol::{ChangedTool, LeftOutTool, ToolInfo, ToolServerInfo};
use uuid::Uuid;

use crate::{
    components::parts::load_button::LoadButton,
    format::lower,
    language::Language,
    reactive::memo,
    session::Loading,
    setup::{Connecting, EntryKind},
    tools::Tools,
};

/// Number of tools from which the panel has a search field.
const FEW: usize = 20;

/// The data of the panel.
#[derive(Clone, Copy)]
pub(crate) struct Panel {
    pub(crate) tools: Tools,
    pub(crate) current: Signal<Option<Uuid>>,
    /// The text of the search field.
    pub(crate) query: RwSignal<String>,
    pub(crate) text: Language,
}

/// Renders the content of the panel.
pub(crate) fn content(panel: Panel) -> AnyView {
    let Panel { tools, current, query, text } = panel;
    // Switches do not change the list, so nothing is rendered again while the user clicks.
    let list = memo(move |_| tools.list.get());
    let trouble = memo(move |_| matches!(tools.loading.get(), Loading::Failed(_)) || list.with(Option::is_none));
    let servers = move || {
        list.get().map(|list| {
            let many = list.items.len() > FEW;
            let mut items = list.items;
            let built_in: Vec<ToolInfo> = items.extract_if(.., |tool| tool.server.is_none()).collect();
            let empty = built_in.is_empty() && list.servers.is_empty();
            let servers = list.servers.into_iter().map(|server| {
                let own = items.extract_if(.., |tool| tool.server.as_ref() == Some(&server.name)).collect();
                server_view(panel, Some(server), own)
            });
            let servers = servers.collect_view();
            view! {
                {many.then(|| search_field(query, text))}
                {(!built_in.is_empty()).then(|| server_view(panel, None, built_in))}
                {servers}
                {empty.then(|| view! { <p class="sheet-note">{text.tools_none()}</p> })}
            }
        })
    };
    view! {
        <p class="sheet-note">{text.tools_note()}</p>
        {move || tools.notice.get().map(|notice| view! {
            <p class="failure" role="alert" data-testid="tools-notice">{notice}</p>
        })}
        {move || trouble.get().then(|| view! {
            <LoadButton
                name="load-tools"
                loading=tools.loading.into()
                label=text.try_again().to_owned()
                loading_label=text.tools_loading()
                load=move || tools.load(current.get_untracked())
            />
        })}
        {servers}
        {add_button(text)}
    }
    .into_any()
}

/// The button with which an admin adds a tool server.
fn add_button(text: Language) -> Option<AnyView> {
    let connecting = use_context::<Connecting>().filter(|connecting| connecting.is_allowed)?;
    Some(
        view! {
            <button
                type="button"
                class="button"
                data-testid="add-tool-server"
                aria-haspopup="dialog"
                on:click=move |_| connecting.open(EntryKind::ToolServer)
            >
                {text.add_tool_server()}
            </button>
        }
        .into_any(),
    )
}

fn search_field(query: RwSignal<String>, text: Language) -> AnyView {
    view! {
        <input
            type="search"
            class="field"
            data-testid="find-tool"
            autocomplete="off"
            aria-label=text.tools_find()
            placeholder=text.tools_find()
            on:input:target=move |event| query.set(lower(&event.target().value()))
        />
    }
    .into_any()
}

/// The tools of a server, or the built-in tools.
fn server_view(panel: Panel, server: Option<ToolServerInfo>, own: Vec<ToolInfo>) -> AnyView {
    let text = panel.text;
    let title = server.as_ref().map_or_else(|| text.tools_built_in().to_owned(), |server| server.name.clone());
    let names: Vec<String> = own.iter().map(|tool| tool.name.clone()).collect();
    let switch = (!names.is_empty()).then(|| switch_view(panel, names, text.all_tools_of(&title), "server-switch"));
    let status = server.as_ref().map(|server| {
        let words = text.server_status(&server.status);
        view! { <span class="server-status" data-status=server.status.clone() data-testid="server-status">{words}</span> }
    });
    let rows = own.into_iter().map(|tool| tool_row(panel, tool)).collect_view();
    let rest = server.map(|server| rest_of_server(panel, server));
    view! {
        <section class="tool-server" data-testid="tool-server">
            <div class="tool-server-head">
                <h3>{title}</h3>
                {status}
                {switch}
            </div>
            <ul>{rows}</ul>
            {rest}
        </section>
    }
    .into_any()
}

/// The problem of a server, and the tools that are left out.
fn rest_of_server(panel: Panel, server: ToolServerInfo) -> AnyView {
    let text = panel.text;
    let ToolServerInfo { name, status, error, left_out, .. } = server;
    let advice = match status.as_str() {
        "connected" => None,
        "connecting" => Some(text.server_connecting_note()),
        _ => Some(text.server_failed_note()),
    };
    let left_out = left_out.into_iter().map(|LeftOutTool { name: tool, reason, changed }| {
        let changed = changed.map(|changed| changed_view(panel, name.clone(), changed));
        view! { <li class="tool-row"><span class="tool-row-name">{tool}</span><p lang="en">{reason}</p>{changed}</li> }
    });
    let left_out = left_out.collect_view();
    view! {
        {error.map(|error| view! { <p class="failure" lang="en">{error}</p> })}
        {advice.map(|advice| view! { <p class="sheet-note">{advice}</p> })}
        {(!left_out.is_empty()).then(|| view! {
            <h4 class="tools-left-out">{text.unavailable_tools()}</h4>
            <ul data-testid="left-out">{left_out}</ul>
        })}
    }
    .into_any()
}

/// A tool: its switch, name, risk, and description.
fn tool_row(panel: Panel, tool: ToolInfo) -> AnyView {
    let text = panel.text;
    let ToolInfo { name, description, server, risk, changed, .. } = tool;
    let shown = match &server {
        Some(_) => name.split_once("__").map_or(name.as_str(), |(_, own)| own).to_owned(),
        None => name.clone(),
    };
    let (risk_name, risk_about) = if risk == "low" {
        (text.risk_low(), text.risk_low_about())
    } else {
        (text.risk_high(), text.risk_high_about())
    };
    let (about, lang) = text.tool_about(&name, description);
    let words = lower(&format!("{name} {about}"));
    let changed = server.zip(changed).map(|(server, changed)| changed_view(panel, server, changed));
    view! {
        <li class="tool-row" data-testid="tool-row" hidden=move || panel.query.with(|query| !words.contains(query.as_str()))>
            <div class="tool-row-head">
                <span class="tool-row-name" title=name.clone()>{shown.clone()}</span>
                <span class="risk" data-risk=risk title=risk_about>{risk_name}</span>
                {switch_view(panel, vec![name], shown, "tool-switch")}
            </div>
            <p class="tool-row-about" lang=lang dir="auto">{about}</p>
            {changed}
        </li>
    }
    .into_any()
}

/// Notice for a tool whose current definition is not accepted. Admins get the button that accepts it.
fn changed_view(panel: Panel, server: String, changed: ChangedTool) -> AnyView {
    let Panel { tools, current, text, .. } = panel;
    let ChangedTool { tool, hash, description } = changed;
    let may_accept = tools.list.with_untracked(|list| list.as_ref().is_some_and(|list| list.can_accept));
    let button = may_accept.then(|| {
        view! {
            <button
                type="button"
                class="button small"
                data-testid="accept-tool"
                on:click=move |_| tools.accept(current.get_untracked(), server.clone(), tool.clone(), hash.clone())
            >
                {text.tool_accept()}
            </button>
        }
    });
    view! {
        <p class="sheet-note">{if may_accept { text.tool_changed() } else { text.tool_changed_for_members() }}</p>
        <p class="tool-row-about" lang="en" dir="auto">{description}</p>
        {button}
    }
    .into_any()
}

/// Switches tools on or off; indeterminate if only some are on.
fn switch_view(panel: Panel, names: Vec<String>, label: String, name: &'static str) -> AnyView {
    let Panel { tools, current, .. } = panel;
    let known = names.clone();
    let on = memo(move |_| {
        let on = known.iter().filter(|name| tools.is_on(current.get(), name)).count();
        (on == known.len(), on > 0 && on < known.len())
    });
    view! {
        <input
            type="checkbox"
            class="toggle"
            role="switch"
            data-testid=name
            autocomplete="off"
            aria-label=label
            disabled=move || !tools.is_known(current.get())
            prop:checked=move || on.get().0
            prop:indeterminate=move || on.get().1
            on:change:target=move |event| tools.switch(current.get_untracked(), &names, event.target().checked())
        />
    }
    .into_any()
}
