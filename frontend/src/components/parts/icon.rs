//! The icons: strokes on a 16 × 16 grid, drawn for this project. All are decorative, with a text elsewhere.

use leptos::prelude::*;

/// An icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Check,
    Cross,
    Bar,
    Broken,
    Hand,
    Chevron,
    Plus,
    Menu,
    Panel,
    ArrowUp,
    ArrowDown,
    Square,
    Pencil,
    Bin,
    Copy,
    Again,
    Download,
    Link,
    Magnifier,
    Dots,
    Pin,
    Box,
    Speech,
    Reasoning,
    Command,
    Sliders,
    Steps,
    Play,
    Gear,
    Tally,
    Clip,
    Page,
    Thumb,
}

impl Icon {
    /// Returns the strokes, as the `d` of an SVG path.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Sliders => {
                "M2.5 5H8M12 5h1.5M2.5 11H4M8 11h5.5M10 3.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 1 0 0-3.6M6 9.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 1 0 0-3.6"
            }
            Self::Steps => "M2.5 4.25 3.75 5.5 6 2.75M8.5 4.5h5M2.5 11.25l1.25 1.25L6 9.75M8.5 11.5h5",
            Self::Play => "M5 3.5 12 8 5 12.5z",
            Self::Gear => {
                "M8 1.75 13.4 4.9v6.2L8 14.25 2.6 11.1V4.9zM8 5.75a2.25 2.25 0 1 0 0 4.5 2.25 2.25 0 1 0 0-4.5"
            }
            Self::Tally => "M3.5 3.5v9M6.5 3.5v9M9.5 3.5v9M12.5 3.5v9M2 11 14 5",
            Self::Clip => {
                "M10.5 5 6 9.5a1.2 1.2 0 0 0 1.7 1.7L12.5 6.4a2.6 2.6 0 0 0-3.7-3.7L3.9 7.6a4 4 0 0 0 5.7 5.7L13 10"
            }
            Self::Page => "M4 2h5.5L12.5 5v9H4zM9.5 2v3h3M6 8h4.5M6 10.5h4.5",
            Self::Thumb => {
                "M2.5 7.5H5v6H2.5zM5 7.5 7.5 2.5a1.5 1.5 0 0 1 1.5 1.5V6.5h3.3a1.2 1.2 0 0 1 1.2 1.5l-1.1 4.5a1.2 1.2 0 0 1-1.2 1H5"
            }
            Self::Check => "M3.5 8.5 6.5 11.5 12.5 4.5",
            Self::Cross => "M4 4 12 12M12 4 4 12",
            Self::Bar => "M3.5 8h9",
            Self::Broken => "M2.5 8h3l1-3 3 6 1-3h3",
            Self::Hand => "M5 2.5h6M5 13.5h6M5.5 2.5c0 4 5 4 5 11M10.5 2.5c0 4-5 4-5 11",
            Self::Chevron => "M6 3.5 10.5 8 6 12.5",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Menu => "M2.5 4h11M2.5 8h11M2.5 12h11",
            Self::Panel => "M2.5 3.5h11v9h-11zM6.5 3.5v9",
            Self::ArrowUp => "M8 13V3.5M3.5 7.5 8 3l4.5 4.5",
            Self::ArrowDown => "M8 3v9.5M3.5 8.5 8 13l4.5-4.5",
            Self::Pencil => "M10.5 3 13 5.5 5.5 13H3v-2.5zM9 4.5 11.5 7",
            Self::Bin => "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M6.75 7v4M9.25 7v4",
            Self::Copy => "M6 5.5h7v8H6zM3.5 10.5v-8h7",
            Self::Again => "M12.6 9.5a4.8 4.8 0 1 1-.6-4.2M12.5 2.5v3h-3",
            Self::Download => "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
            Self::Link => {
                "M7 9 9 7M7.5 4.5 9.3 2.7a2.8 2.8 0 0 1 4 4L11.5 8.5M4.5 7.5 2.7 9.3a2.8 2.8 0 0 0 4 4L8.5 11.5"
            }
            Self::Magnifier => "M10.5 10.5 13.5 13.5M12 7.25a4.75 4.75 0 1 1-9.5 0 4.75 4.75 0 0 1 9.5 0z",
            Self::Dots => "M3.5 7.5a.5.5 0 1 0 .01 0zM8 7.5a.5.5 0 1 0 .01 0zM12.5 7.5a.5.5 0 1 0 .01 0z",
            Self::Pin => "M6 2.5h4M6.5 2.5v4L4 9.5h8L9.5 6.5v-4M8 9.5v4",
            Self::Box => "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3",
            Self::Speech => "M2.5 3.5h11v7.5H8l-3 2.5V11H2.5z",
            Self::Reasoning => "M8 2.25a4.25 4.25 0 0 0-2.5 7.7V12h5V9.95A4.25 4.25 0 0 0 8 2.25M6.25 14h3.5",
            Self::Command => "M3.5 4.5 7 8l-3.5 3.5M8.5 11.5h4",
            Self::Square => "M4.5 4.5h7v7h-7z",
        }
    }
}

/// Renders an icon in the color of the surrounding text.
#[component]
pub(crate) fn Draw(
    /// The icon.
    icon: Icon,
) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d=icon.path() />
        </svg>
    }
}
