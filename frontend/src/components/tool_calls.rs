//! Tool calls that stand next to each other: each a line, and the finished ones folded under a line of their own. All
//! lines stay in the page while they fold and unfold, so that what a reader did with one is not lost.

use leptos::prelude::*;

use crate::{
    components::{
        message::{OptionalEntry, read},
        tool_call::ToolCall,
        tool_group::ToolGroup,
    },
    session::Session,
    transcript::{Line, Segment, Toggles, lines, segments},
};

/// What the calls of one answer share.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) entry: OptionalEntry,
    pub(crate) session: Session,
    toggles: RwSignal<Toggles>,
}

impl Calls {
    /// The calls of one answer, all closed.
    pub(crate) fn new(entry: OptionalEntry, session: Session) -> Self {
        Self { entry, session, toggles: RwSignal::new(Toggles::default()) }
    }

    /// Whether a call is open.
    pub(crate) fn is_call_open(self, id: i64, awaits_approval: bool) -> bool {
        self.toggles.with(|toggles| toggles.is_call_open(self.session.all_calls.get(), id, awaits_approval))
    }

    /// Whether a group is open.
    pub(crate) fn is_group_open(self, ids: &[i64]) -> bool {
        self.toggles.with(|toggles| toggles.is_group_open(self.session.all_calls.get(), ids))
    }

    /// Opens or closes a call for the reader.
    pub(crate) fn set_call(self, id: i64, open: bool) {
        self.toggles.update(|toggles| toggles.set_call(self.session.all_calls.get_untracked(), id, open));
    }

    /// Opens or closes a group for the reader.
    pub(crate) fn set_group(self, ids: &[i64], open: bool) {
        self.toggles.update(|toggles| toggles.set_group(self.session.all_calls.get_untracked(), ids, open));
    }
}

/// The lines of one run of calls, as they change.
pub(crate) type Lines = Memo<Vec<Line>>;

/// The calls that begin with `first` and have no text between them.
#[component]
pub(crate) fn ToolCalls(first: i64, calls: Calls) -> impl IntoView {
    let lines: Lines = Memo::new(move |_| {
        read(calls.entry, |entry| {
            let run = segments(&entry.text, &entry.calls).into_iter().find_map(|piece| match piece {
                Segment::Calls(ids) if ids.first() == Some(&first) => Some(ids),
                Segment::Calls(_) | Segment::Text(_) => None,
            });
            run.map(|ids| lines(&ids, &entry.calls)).unwrap_or_default()
        })
    });
    view! {
        <div class="tools">
            <For
                each=move || lines.get()
                key=Key::of
                children=move |line| match Key::of(&line) {
                    Key::Group(first) => view! { <ToolGroup first lines calls /> }.into_any(),
                    Key::Call(id) => view! { <ToolCall id lines calls /> }.into_any(),
                }
            />
        </div>
    }
    .into_any()
}

/// What makes a line the same one while calls end and groups grow.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Group(i64),
    Call(i64),
}

impl Key {
    fn of(line: &Line) -> Self {
        match line {
            Line::Group(group) => Self::Group(group.ids.first().copied().unwrap_or_default()),
            Line::Call { id, .. } => Self::Call(*id),
        }
    }
}
