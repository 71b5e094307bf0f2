//! The votes of reviewing models on a call that needs approval.

use leptos::prelude::*;
use tallybook_protocol::ToolCallReview;

use crate::{components::parts::visible::visible, language::Language};

/// The votes on a call; empty if there are none.
pub(crate) fn reviews_view(reviews: &[ToolCallReview], text: Language) -> Option<AnyView> {
    let rows = reviews.iter().map(|review| {
        view! {
            <li class="review" data-verdict=review.verdict.as_str()>
                <b>{review.model.clone()}</b>
                " "
                <span class="review-verdict">{text.verdict(review.verdict)}</span>
                " "
                <span dir="auto">{visible(&review.reason, text)}</span>
            </li>
        }
    });
    let rows = rows.collect_view();
    (!rows.is_empty())
        .then(|| view! { <ul class="reviews" data-testid="reviews" aria-label=text.reviews()>{rows}</ul> }.into_any())
}
