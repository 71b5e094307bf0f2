//! The switch beside the message field for plan mode.

use leptos::prelude::*;

use crate::{
    components::parts::icon::{Draw, Icon},
    language::use_language,
    session::Session,
};

/// The switch that answers the next message with a plan.
#[component]
pub(crate) fn PlanSwitch(session: Session) -> impl IntoView {
    let text = use_language();
    view! {
        <button
            type="button"
            class="button quiet small plan-switch"
            data-testid="plan-first"
            title=text.plan_first_about()
            aria-pressed=move || session.next.get().1.to_string()
            on:click=move |_| session.plan_first(!session.next.get_untracked().1)
        >
            <Draw icon=Icon::Steps />
            <span class="plan-switch-label">{text.plan_first()}</span>
        </button>
    }
    .into_any()
}
