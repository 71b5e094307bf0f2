//! The section with the user's instructions for all conversations.

use leptos::{ev::SubmitEvent, prelude::*};
use tallybook_protocol::{MAX_INSTRUCTIONS_CHARS, Me, UpdateMe};

use super::{mutation::Mutation, section::section};
use crate::{
    api::account,
    drafts,
    language::Language,
    reactive::{effect, memo},
};

/// Key under which the browser keeps unsaved instructions.
const DRAFT: &str = "instructions";

pub(super) fn section_view(me: RwSignal<Option<Me>>, text: Language) -> AnyView {
    let kept = move || me.with(|me| me.as_ref().map(|me| me.instructions.clone()).unwrap_or_default());
    let unsaved = Some(drafts::kept(DRAFT)).filter(|unsaved| !unsaved.is_empty());
    let draft = RwSignal::new(unsaved.unwrap_or_else(|| untrack(kept)));
    let is_saved = memo(move |_| draft.with(|draft| me.with(|me| is_kept(me.as_ref(), draft))));
    effect(move || draft.with(|draft| drafts::keep(DRAFT, if is_saved.get() { "" } else { draft })));
    let mutation = Mutation::new();
    let count = memo(move |_| draft.with(|draft| draft.trim().chars().count()));
    let cannot_save = memo(move |_| count.get() > MAX_INSTRUCTIONS_CHARS || is_saved.get());
    let save = move |event: SubmitEvent| {
        event.prevent_default();
        if cannot_save.get_untracked() {
            return;
        }
        let update = UpdateMe { instructions: Some(draft.get_untracked()) };
        mutation.run(text, async move { account::update_me(&update).await }, move |found| {
            me.set(Some(found));
            Some(text.saved())
        });
    };
    let content = view! {
        <form class="setting-form" on:submit=save>
            <label for="instructions">{text.instructions_label()}</label>
            <textarea
                class="field setting-text"
                id="instructions"
                data-testid="instructions"
                rows="6"
                dir="auto"
                autocomplete="off"
                placeholder=text.instructions_placeholder()
                aria-describedby="instructions-count"
                prop:value=move || draft.get()
                on:input:target=move |event| draft.set(event.target().value())
            ></textarea>
            <div class="setting-buttons">
                <button
                    type="submit"
                    class="button primary"
                    data-testid="save-instructions"
                    aria-disabled=move || cannot_save.get().then_some("true").or_else(|| mutation.busy())
                >
                    {text.save()}
                </button>
                <span
                    class="setting-count"
                    id="instructions-count"
                    class:is-over=move || { count.get() > MAX_INSTRUCTIONS_CHARS }
                >
                    {move || text.characters_used(count.get(), MAX_INSTRUCTIONS_CHARS)}
                </span>
            </div>
            {move || (!is_saved.get()).then(|| view! {
                <p class="setting-note" data-testid="instructions-unsaved">
                    {text.instructions_unsaved()}
                    " "
                    <button
                        type="button"
                        class="button small quiet"
                        data-testid="discard-instructions"
                        on:click=move |_| draft.set(untrack(kept))
                    >
                        {text.instructions_discard()}
                    </button>
                </p>
            })}
            {mutation.outcome()}
        </form>
    };
    section("instructions", text.instructions(), text.instructions_about(), content.into_any())
}

fn is_kept(me: Option<&Me>, draft: &str) -> bool {
    me.is_some_and(|me| me.instructions == draft.trim())
}
