//! Markdown text on the page: drawn once when it is complete, and block by block while it grows.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    language::use_language,
    markdown::{Block, Document, render},
};

/// A stretch of an answer, as far as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its Markdown.
    pub(crate) text: String,
    /// Whether nothing more is to come.
    pub(crate) complete: bool,
}

/// Draws Markdown.
#[component]
pub(crate) fn Prose(stretch: Memo<Stretch>) -> impl IntoView {
    if stretch.with_untracked(|stretch| stretch.complete) {
        let text = use_language();
        let document = stretch.with_untracked(|stretch| Document::complete(&stretch.text));
        let blocks: Vec<AnyView> = document.blocks().iter().map(|block| render(block, text)).collect();
        return view! { <div class="prose">{blocks}</div> }.into_any();
    }
    view! { <GrowingProse stretch /> }.into_any()
}

/// One block in its place. Only the block that grows is ever set anew, and its nodes are changed where they differ, so
/// that a selection in what stands already is left alone.
#[derive(Clone)]
struct Row {
    start: usize,
    block: ArcRwSignal<Arc<Block>>,
}

#[component]
fn GrowingProse(stretch: Memo<Stretch>) -> impl IntoView {
    let text = use_language();
    let document = StoredValue::new(Document::default());
    let rows = RwSignal::new(Vec::new());
    stretch.with_untracked(|stretch| draw(stretch, document, rows));
    // Effects run in a browser alone, where the text grows.
    Effect::new(move || stretch.with(|stretch| draw(stretch, document, rows)));
    view! {
        <div class="prose">
            <For
                each=move || rows.get()
                key=|row: &Row| row.start
                children=move |row: Row| move || row.block.with(|block| render(block, text))
            />
        </div>
    }
    .into_any()
}

/// Brings the rows up to date with the text, touching only what changed.
fn draw(stretch: &Stretch, document: StoredValue<Document>, rows: RwSignal<Vec<Row>>) {
    document.try_update_value(|document| {
        let kept = document.update(&stretch.text, stretch.complete);
        let blocks = document.blocks();
        let held = rows.get_untracked();
        let same = held.iter().zip(blocks).take_while(|(row, block)| row.start == block.start()).count();
        for (row, block) in held.iter().zip(blocks).take(same).skip(kept) {
            if row.block.with_untracked(|shown| **shown != *block) {
                row.block.set(Arc::new(block.clone()));
            }
        }
        if same < held.len() || same < blocks.len() {
            rows.update(|rows| {
                rows.truncate(same);
                rows.extend(
                    blocks[same..]
                        .iter()
                        .map(|block| Row { start: block.start(), block: ArcRwSignal::new(Arc::new(block.clone())) }),
                );
            });
        }
    });
}
