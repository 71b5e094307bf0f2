//! How much people, and models in their place, may write: checked once on the way in (`input`).

/// Characters in a message.
pub(super) const MAX_MESSAGE_CHARS: usize = 100_000;

/// Characters in a title; the column holds as many.
pub(super) const MAX_TITLE_CHARS: usize = 200;

/// Characters that can be searched for.
pub(super) const MAX_SEARCH_CHARS: usize = 200;

/// Words that can be searched for at once.
pub(super) const MAX_SEARCH_WORDS: usize = 8;

/// What one page of a search has at most.
pub(super) const MAX_SEARCH_HITS: usize = 20;

/// Searches that run at once; others wait. Each keeps a connection of the database busy.
pub(super) const MAX_SEARCHES: usize = 2;

/// Characters of the first message that become the title.
pub(super) const MAX_TITLE_FROM_MESSAGE_CHARS: usize = 60;

/// Characters of a title that a model wrote.
pub(super) const MAX_TITLE_FROM_MODEL_CHARS: usize = 80;

/// Characters in a client's id of a message; the column holds as many.
pub(super) const MAX_CLIENT_ID_CHARS: usize = 64;

/// Parts of a message.
pub(super) const MAX_MESSAGE_PARTS: usize = 100;

/// Conversations that a user may have pinned.
pub(super) const MAX_PINNED: u32 = 100;

/// Conversations on a page of the list.
pub(super) const MAX_LIST_PAGE: u32 = 100;
