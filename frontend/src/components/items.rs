//! Items that stand next to each other in an answer: each has a line, and the finished ones fold under a line of their own.
//! All lines stay in the page while they fold and unfold, so that what a reader did with one is not lost.

use leptos::prelude::*;

use crate::{
    components::{
        message::{OptionalEntry, read},
        tool_call::ToolCall,
        tool_group::ToolGroup,
    },
    session::Session,
    transcript::{ItemKey, Line, Segment, Toggles, lines},
};

/// What the items of one answer share.
#[derive(Clone, Copy)]
pub(crate) struct Items {
    pub(crate) entry: OptionalEntry,
    pub(crate) session: Session,
    toggles: RwSignal<Toggles>,
}

impl Items {
    /// The items of one answer, all closed.
    pub(crate) fn new(entry: OptionalEntry, session: Session) -> Self {
        Self { entry, session, toggles: RwSignal::new(Toggles::default()) }
    }

    /// Whether an item is open; `by_default` where the reader did not say.
    pub(crate) fn is_open(self, key: ItemKey, by_default: bool) -> bool {
        self.toggles.with(|toggles| toggles.is_open(self.session.expand_all.get(), key, by_default))
    }

    /// Whether a group is open.
    pub(crate) fn is_group_open(self, keys: &[ItemKey]) -> bool {
        self.toggles.with(|toggles| toggles.is_group_open(self.session.expand_all.get(), keys))
    }

    /// Opens or closes an item for the reader.
    pub(crate) fn set(self, key: ItemKey, open: bool) {
        self.toggles.update(|toggles| toggles.set(self.session.expand_all.get_untracked(), key, open));
    }

    /// Opens or closes a group for the reader.
    pub(crate) fn set_group(self, keys: &[ItemKey], open: bool) {
        self.toggles.update(|toggles| toggles.set_group(self.session.expand_all.get_untracked(), keys, open));
    }
}

/// The id of an item's element.
pub(crate) fn element_id(key: ItemKey) -> String {
    match key {
        ItemKey::Call(id) => format!("call-{id}"),
    }
}

/// The lines of one run of items, as they change.
pub(crate) type Lines = Memo<Vec<Line>>;

/// The items that begin with `first` and have no text between them.
#[component]
pub(crate) fn ItemRun(first: ItemKey, items: Items) -> impl IntoView {
    let lines: Lines = Memo::new(move |_| {
        read(items.entry, |entry| {
            let run = entry.segments().into_iter().find_map(|piece| match piece {
                Segment::Items(keys) if keys.first() == Some(&first) => Some(keys),
                Segment::Items(_) | Segment::Text(_) => None,
            });
            run.map(|keys| lines(&keys, &entry.items)).unwrap_or_default()
        })
    });
    view! {
        // Each call that is not over speaks for itself.
        <div class="tools" aria-live="off">
            <For
                each=move || lines.get()
                key=LineKey::of
                children=move |line| match LineKey::of(&line) {
                    LineKey::Group(first) => view! { <ToolGroup first lines items /> }.into_any(),
                    LineKey::Item(ItemKey::Call(id)) => view! { <ToolCall id lines items /> }.into_any(),
                }
            />
        </div>
    }
    .into_any()
}

/// What makes a line the same one while items end and groups grow.
#[derive(PartialEq, Eq, Hash)]
enum LineKey {
    /// By its first item, which a group is never without.
    Group(Option<ItemKey>),
    Item(ItemKey),
}

impl LineKey {
    fn of(line: &Line) -> Self {
        match line {
            Line::Group(group) => Self::Group(group.keys.first().copied()),
            Line::Item { key, .. } => Self::Item(*key),
        }
    }
}
