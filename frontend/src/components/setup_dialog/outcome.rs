//! The progress of requests about a model or tool server, and the result of its test.

use leptos::prelude::*;
use tallybook_protocol::{LeftOutTestedTool, ModelTest, TestedTool, ToolServerTest};

use crate::{
    components::parts::icon::{Draw, Icon},
    language::Language,
    setup::{EntryKind, TestResult, Work},
};

/// The result of a test.
pub(crate) fn test_view(result: TestResult, text: Language) -> AnyView {
    match result {
        TestResult::Model(result) => model_view(result, text),
        TestResult::ToolServer(result) => tool_server_view(result, text),
    }
}

fn model_view(result: ModelTest, text: Language) -> AnyView {
    if !result.ok {
        return failure(text.model_test_failed(), result.error);
    }
    let details = view! {
        <p class="setup-test-answer" dir="auto">{result.text}</p>
        <p class="setup-test-facts">{text.test_facts(result.tools, result.vision)}</p>
    };
    success(text.model_test_passed().to_owned(), result.ms, details.into_any(), text)
}

/// The tools that the server listed, and those that would be left out.
fn tool_server_view(result: ToolServerTest, text: Language) -> AnyView {
    if !result.ok {
        return failure(text.server_test_failed(), result.error);
    }
    let title = text.tools_found(result.tools.len());
    let tools = result.tools.into_iter().map(|TestedTool { name, description, risk }| {
        let words = if risk == "low" { text.needs_no_approval() } else { text.needs_approval() };
        view! {
            <li class="tool-row" data-testid="tested-tool">
                <div class="tool-row-head">
                    <span class="tool-row-name">{name}</span>
                    <span class="risk" data-risk=risk>{words}</span>
                </div>
                <p class="tool-row-about" lang="en" dir="auto">{description}</p>
            </li>
        }
        .into_any()
    });
    let tools = tools.collect_view();
    let left_out = result.left_out.into_iter().map(|LeftOutTestedTool { name, reason }| {
        view! { <li class="tool-row"><span class="tool-row-name">{name}</span><p lang="en">{reason}</p></li> }
            .into_any()
    });
    let left_out = left_out.collect_view();
    let details = view! {
        {(!tools.is_empty()).then(|| view! {
            // A long list is scrolled, also with the keyboard.
            <ul class="setup-tools" tabindex="0" aria-label=title.clone()>{tools}</ul>
        })}
        {(!left_out.is_empty()).then(|| view! {
            <p class="setup-test-facts">{text.unavailable_tools()}</p>
            <ul class="setup-tools" tabindex="0" aria-label=text.unavailable_tools() data-testid="left-out">{left_out}</ul>
        })}
    };
    success(title.clone(), result.ms, details.into_any(), text)
}

fn success(title: String, ms: u64, details: AnyView, text: Language) -> AnyView {
    view! {
        <div class="setup-test" data-testid="test-result" data-ok="true">
            <p class="setup-test-head">
                <Draw icon=Icon::Check />
                <b>{title}</b>
                " "
                <span>{text.test_seconds(ms)}</span>
            </p>
            {details}
        </div>
    }
    .into_any()
}

fn failure(title: &'static str, reason: Option<String>) -> AnyView {
    view! {
        <div class="failure" data-testid="test-result" data-ok="false">
            {title}
            <p class="failure-detail" lang="en">{reason}</p>
        </div>
    }
    .into_any()
}

/// The words for a request that is under way.
pub(crate) fn progress(work: Memo<Option<Work>>, kind: EntryKind, is_new: bool, text: Language) -> AnyView {
    let words = move || {
        work.get().map(|work| {
            view! {
                <span class="spinner" aria-hidden="true"></span>
                {text.setup_work(work, kind, is_new)}
            }
        })
    };
    // The element exists from the start, so that a screen reader announces its changes.
    view! { <span class="setup-work" role="status">{words}</span> }.into_any()
}
