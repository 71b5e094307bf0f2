//! A list that is loaded when it is shown.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    api::ApiError,
    components::parts::load_button::LoadButton,
    language::Language,
    reactive::{effect, memo},
    session::Loading,
};

/// The state of the list.
pub(super) struct List<T: Send + Sync + 'static> {
    pub(super) items: RwSignal<Option<Vec<T>>>,
    loading: RwSignal<Loading>,
    load: Callback<()>,
}

impl<T: Send + Sync + 'static> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for List<T> {}

impl<T: Clone + Send + Sync + 'static> List<T> {
    /// Creates the list, and loads it with `fetch`.
    pub(super) fn new<F>(text: Language, fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<T>, ApiError>> + 'static,
    {
        let (items, loading) = (RwSignal::new(None), RwSignal::new(Loading::Running));
        let load = Callback::new(move |()| {
            loading.set(Loading::Running);
            let fetched = fetch();
            spawn_local(async move {
                loading.try_set(match fetched.await {
                    Ok(found) => {
                        items.try_set(Some(found));
                        Loading::Idle
                    }
                    Err(error) => Loading::Failed(error.message(text)),
                });
            });
        });
        effect(move || load.run(()));
        Self { items, loading, load }
    }

    /// Reloads the list.
    pub(super) fn reload(self) {
        self.load.run(());
    }

    /// Removes deleted items.
    pub(super) fn take_out(self, is_gone: impl Fn(&T) -> bool) {
        self.items.try_update(|items| items.iter_mut().for_each(|items| items.retain(|item| !is_gone(item))));
    }

    /// Renders the list, or the button that loads it. An empty list shows `none`.
    pub(super) fn view(
        self,
        name: &'static str,
        text: Language,
        none: Option<&'static str>,
        row: impl Fn(T) -> AnyView + Send + 'static,
    ) -> AnyView {
        let is_missing = memo(move |_| self.items.with(Option::is_none));
        let rows = move || {
            self.items.get().map(|items| {
                let empty = none.filter(|_| items.is_empty());
                let rows = items.into_iter().map(&row).collect_view();
                view! {
                    <ul class="setting-list" data-testid=name>{rows}</ul>
                    {empty.map(|words| view! { <p class="setting-note">{words}</p> })}
                }
            })
        };
        view! {
            {rows}
            {move || is_missing.get().then(|| view! {
                <LoadButton
                    name="load-list"
                    loading=self.loading.into()
                    label=text.try_again().to_owned()
                    loading_label=text.loading_list()
                    load=move || self.reload()
                />
            })}
        }
        .into_any()
    }
}

/// Renders the button of a row. `label` names the row.
pub(super) fn row_button(
    words: &'static str,
    test: &'static str,
    label: String,
    act: impl Fn() + Send + 'static,
) -> AnyView {
    view! {
        <button type="button" class="button small" data-testid=test aria-label=label on:click=move |_| act()>
            {words}
        </button>
    }
    .into_any()
}
