//! The notice above the message field that a budget is nearly used up. The user can dismiss it until more is used up.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{BudgetAmount, BudgetStatus};

use crate::{
    api::account,
    browser::{store, stored},
    components::parts::typing::focus_composer,
    language::{Language, use_language},
    reactive::{effect, memo},
    session::Session,
};

/// Key in the browser's storage of the warnings that the user dismissed last.
const DISMISSED: &str = "dismissed-budget-warnings";

/// `true` if a budget may apply to the user. Provided as a context by the page.
#[derive(Clone, Copy)]
pub(crate) struct MayHaveBudgets(pub(crate) bool);

/// The notice, once the budgets are loaded. They are loaded again after each answer.
#[component]
pub(crate) fn BudgetNotice(session: Session) -> impl IntoView {
    let text = use_language();
    let warnings = RwSignal::new(Vec::<Warning>::new());
    let dismissed = RwSignal::new(stored(DISMISSED).unwrap_or_default());
    let is_busy = memo(move |_| session.is_busy());
    effect(move || {
        if is_busy.get() {
            return;
        }
        spawn_local(async move {
            // If this fails, the next answer shows the notice.
            if let Ok(me) = account::find_me().await {
                warnings.try_set(me.budgets.iter().flat_map(|budget| warnings_of(budget, text)).collect());
            }
        });
    });
    let keys = memo(move |_| warnings.with(|warnings| keys_of(warnings)));
    let is_shown = memo(move |_| {
        let dismissed = dismissed.get();
        keys.with(|keys| keys.lines().any(|key| !dismissed.lines().any(|earlier| earlier == key)))
    });
    let rows = move || {
        is_shown.get().then(|| {
            let row = |warning: Warning| view! { <p dir="auto">{warning.words}</p> };
            warnings.get().into_iter().map(row).collect_view()
        })
    };
    let dismiss = move |_| {
        let keys = keys.get_untracked();
        store(DISMISSED, &keys);
        dismissed.set(keys);
        // The focused button is removed.
        focus_composer();
    };
    let button = move || {
        is_shown.get().then(|| {
            view! {
                <button type="button" class="button small" data-testid="dismiss-budgets" on:click=dismiss>
                    {text.got_it()}
                </button>
            }
        })
    };
    view! {
        <div class="budget-notice" data-testid="budget-notice">
            // The element exists before its content, so that screen readers announce it.
            <div role="status">{rows}</div>
            {button}
        </div>
    }
    .into_any()
}

/// An amount of a budget that is nearly or completely used up.
#[derive(Clone, PartialEq)]
struct Warning {
    words: String,
    /// Distinguishes the warning from those of other budgets and periods, and from that of a budget that is used up.
    key: String,
}

fn warnings_of(budget: &BudgetStatus, text: Language) -> Vec<Warning> {
    let warning = |amount: Option<BudgetAmount>, is_cost: bool| {
        let amount = amount.filter(|amount| amount.is_warning)?;
        let label = text.budget(budget, is_cost);
        let is_used_up = amount.used >= amount.limit;
        Some(Warning {
            words: format!("{label}: {}", text.budget_state(budget, amount, is_cost)),
            key: format!("{label} {} {is_used_up}", budget.resets_at),
        })
    };
    [warning(budget.tokens, false), warning(budget.cost_nanos, true)].into_iter().flatten().collect()
}

fn keys_of(warnings: &[Warning]) -> String {
    warnings.iter().map(|warning| warning.key.as_str()).collect::<Vec<_>>().join("\n")
}
