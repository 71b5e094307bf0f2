//! The pages of the tool history that are measured, each with its name, path, and target time.

/// A page of the tool history.
#[derive(Debug)]
pub(crate) struct HistoryPage {
    /// Name in tables and files.
    pub(crate) name: &'static str,
    /// Path and query.
    pub(crate) address: &'static str,
    /// Target time, in milliseconds.
    pub(crate) goal_ms: f64,
}

/// Indexes of the newest page, and of one from the middle of the sixty days over which the calls are spread.
pub(crate) const NEWEST: usize = 0;
pub(crate) const FROM_MIDDLE: usize = 1;

/// All pages. Their filters match many calls, few, or none, and use one index or several.
pub(crate) const HISTORY_PAGES: [HistoryPage; 18] = [
    list("history_page", "/admin"),
    list("history_from_middle", "/admin?q=until:30d"),
    list("history_tool", "/admin?q=tool:docs__search"),
    list("history_denied", "/admin?q=status:denied"),
    list("history_model_middle", "/admin?q=model:Large+until:30d"),
    list("history_user_tool_error", "/admin?q=user:person5+tool:add+status:error"),
    list("history_server_slow", "/admin?q=server:docs+slow:%3E5s"),
    list("history_tool_slow", "/admin?q=tool:add+slow:%3E19s"),
    list("history_no_such", "/admin?q=tool:add+server:docs"),
    list("history_slowest", "/admin?order=slowest"),
    list("history_slowest_day", "/admin?order=slowest&q=since:24h"),
    list("history_slowest_user", "/admin?order=slowest&q=user:person5"),
    list("history_slowest_tool_error", "/admin?order=slowest&q=tool:add+status:error"),
    search("history_word", "/admin?q=result"),
    // This page shows within a second how far its search came.
    search("history_search", "/admin?q=nowhere"),
    figures("figures_24h", "/admin/figures?range=24h"),
    figures("figures_7d", "/admin/figures?range=7d"),
    figures("figures_30d", "/admin/figures?range=30d"),
];

const fn list(name: &'static str, address: &'static str) -> HistoryPage {
    HistoryPage { name, address, goal_ms: 200.0 }
}

const fn search(name: &'static str, address: &'static str) -> HistoryPage {
    HistoryPage { name, address, goal_ms: 1000.0 }
}

const fn figures(name: &'static str, address: &'static str) -> HistoryPage {
    HistoryPage { name, address, goal_ms: 500.0 }
}
