//! The progress of requests about a model, and the result of its test.

use leptos::prelude::*;
use tallybook_protocol::ModelTest;

use crate::{
    components::icon::{Draw, Icon},
    language::Language,
    model_setup::Work,
};

/// The result of a test.
pub(crate) fn test_view(result: ModelTest, text: Language) -> AnyView {
    let seconds = text.test_seconds(result.ms);
    if !result.ok {
        let reason = result.error.unwrap_or_default();
        return view! {
            <div class="failure" data-testid="model-test" data-ok="false">
                {text.model_test_failed()}
                <p class="failure-detail" lang="en">{reason}</p>
            </div>
        }
        .into_any();
    }
    view! {
        <div class="model-test" data-testid="model-test" data-ok="true">
            <p class="model-test-head">
                <Draw icon=Icon::Check />
                <b>{text.model_test_passed()}</b>
                " "
                <span>{seconds}</span>
            </p>
            <p class="model-test-answer" dir="auto">{result.text}</p>
            <p class="model-test-facts">{text.test_facts(result.tools, result.vision)}</p>
        </div>
    }
    .into_any()
}

/// The words for a request that is under way.
pub(crate) fn progress(work: Memo<Option<Work>>, is_new: bool, text: Language) -> AnyView {
    let words = move || {
        work.get().map(|work| {
            view! {
                <span class="spinner" aria-hidden="true"></span>
                {text.model_work(work, is_new)}
            }
        })
    };
    // The element exists from the start, so that a screen reader announces its changes.
    view! { <span class="model-work" role="status">{words}</span> }.into_any()
}
