//! Tables of statistics: the tools by number of calls, model usage by day and by cost, ratings by model, and files by
//! user. Each figure has a bar. In most columns, its length is relative to the column's largest value.

use std::collections::BTreeMap;

use tallybook_files::UserSize;
use tallybook_tool_history::{DurationBound, Figures, Ratings, ToolFigures, Usage};

use super::{
    super::{format, i18n::Messages},
    charts::percent,
};

/// Maximum number of rows of a table: initially (`FIRST_ROWS`), and if the user requests all rows (`MAX_ROWS`). A final
/// line has the total of the other rows.
const FIRST_ROWS: usize = 50;
const MAX_ROWS: usize = 2000;

/// Length of the longest bar, in units of the picture.
const LENGTH: i64 = 1000;

type Amount = fn(&Usage) -> i64;
type WriteResult = fn(i64) -> String;

/// The columns of model usage: a value, and how to format it.
const COLUMNS: [(Amount, WriteResult); 4] = [
    (|spent| spent.calls, format::number),
    (|spent| spent.input_tokens, format::number),
    (|spent| spent.output_tokens, format::number),
    (|spent| spent.cost_nanos, format::cost),
];

/// The rows that each table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    First,
    All,
}

impl Shown {
    pub(super) fn rows(self) -> usize {
        match self {
            Self::First => FIRST_ROWS,
            Self::All => MAX_ROWS,
        }
    }
}

/// A figure, and the length of its bar.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) length: i64,
}

/// Table of the tools.
pub(crate) struct Tools {
    /// A tool's name, and its number of calls, share of failed calls, median duration, and 95th percentile of the
    /// duration.
    pub(crate) rows: Vec<(String, [Cell; 4])>,
    pub(crate) more: Option<String>,
}

/// Table of model usage, grouped by day, model, user, or purpose.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// The group's name, and its number of calls, input tokens, output tokens, and cost.
    pub(crate) rows: Vec<(String, [Cell; 4])>,
    pub(crate) more: Option<String>,
}

/// Table of the ratings by model.
pub(crate) struct RatingsTable {
    /// A model's name, and its numbers of answers that are rated as good and as bad.
    pub(crate) rows: Vec<(String, [Cell; 2])>,
}

/// Table of the files by user.
pub(crate) struct FilesTable {
    /// A user's name, number of files, and size of the files.
    pub(crate) rows: Vec<(String, [Cell; 2])>,
}

/// Returns the table of the tools that were called; `None` if no tool was called.
pub(crate) fn of_tools(figures: &Figures, shown: Shown, texts: Messages) -> Option<Tools> {
    let mut tools: Vec<_> = figures.tools.iter().collect();
    tools.sort_by_key(|(_, tool)| -tool.count.calls);
    let rest = tools.split_off(tools.len().min(shown.rows()));
    let most = tools.iter().map(|(_, tool)| tool.count.calls).max()?;
    // Both duration columns have the same scale.
    let longest = tools.iter().filter_map(|(_, tool)| tool.within(95)).map(milliseconds).max().unwrap_or_default();
    let within = |bound: Option<DurationBound>| Cell {
        text: match bound {
            None => "–".to_owned(),
            Some(DurationBound::MoreThan(ms)) => format!("> {}", texts.duration_text(ms)),
            Some(DurationBound::AtMost(ms)) => format!("≤ {}", texts.duration_text(ms)),
        },
        length: length(bound.map(milliseconds).unwrap_or_default(), longest),
    };
    let row = |(name, tool): (&String, &ToolFigures)| {
        let failed = tool.count.failed_permille();
        let cells = [
            Cell { text: format::number(tool.count.calls), length: length(tool.count.calls, most) },
            Cell { text: percent(failed), length: length(failed, 1000) },
            within(tool.within(50)),
            within(tool.within(95)),
        ];
        (name.clone(), cells)
    };
    let of_rest: i64 = rest.iter().map(|(_, tool)| tool.count.calls).sum();
    Some(Tools {
        rows: tools.into_iter().map(row).collect(),
        more: (!rest.is_empty()).then(|| texts.more_tools(rest.len(), &format::number(of_rest))),
    })
}

/// Returns the number that the bar of a duration shows.
fn milliseconds(bound: DurationBound) -> i64 {
    match bound {
        DurationBound::AtMost(ms) | DurationBound::MoreThan(ms) => ms,
    }
}

/// Returns the tables of model usage: by day, model, user, and purpose. Empty tables are left out.
pub(crate) fn of_models(figures: &Figures, shown: Shown, texts: Messages) -> Vec<Table> {
    let in_words = |(purpose, spent): (&String, &Usage)| (texts.purpose(purpose), *spent);
    let purposes: BTreeMap<String, Usage> = figures.purposes.iter().map(in_words).collect();
    let tables = [
        table(texts.of_days(), figures.days.iter().rev().collect(), shown, texts),
        table(texts.of_models(), sorted(&figures.models), shown, texts),
        table(texts.of_people(), sorted(&figures.people), shown, texts),
        table(texts.of_purposes(), sorted(&purposes), shown, texts),
    ];
    tables.into_iter().flatten().collect()
}

/// Returns the table of ratings, the models with most of them first; `None` if there are none.
pub(crate) fn of_ratings(figures: &Figures) -> Option<RatingsTable> {
    let mut models: Vec<_> = figures.ratings.iter().collect();
    models.sort_by_key(|(_, Ratings { up, down })| -(up + down));
    models.truncate(MAX_ROWS);
    // Both columns have the same scale.
    let most = models.iter().map(|(_, Ratings { up, down })| *up.max(down)).max()?;
    let cell = |answers| Cell { text: format::number(answers), length: length(answers, most) };
    let row = |(name, ratings): (&String, &Ratings)| (name.clone(), [cell(ratings.up), cell(ratings.down)]);
    Some(RatingsTable { rows: models.into_iter().map(row).collect() })
}

/// Returns the table of the files; `None` if there are none.
pub(crate) fn of_files(users: &[UserSize], texts: Messages) -> Option<FilesTable> {
    let most_files = users.iter().map(|user| user.files).max()?;
    let most_bytes = users.iter().map(|user| user.bytes).max()?;
    let row = |UserSize { name, files, bytes }: &UserSize| {
        let files = Cell { text: format::number(*files), length: length(*files, most_files) };
        (name.clone(), [files, Cell { text: texts.size_text(*bytes), length: length(*bytes, most_bytes) }])
    };
    Some(FilesTable { rows: users.iter().map(row).collect() })
}

/// Sorts by cost, then by output tokens, largest first.
fn sorted(spent: &BTreeMap<String, Usage>) -> Vec<(&String, &Usage)> {
    let mut spent: Vec<_> = spent.iter().collect();
    spent.sort_by_key(|(_, spent)| (-spent.cost_nanos, -spent.output_tokens));
    spent
}

fn table(title: &'static str, mut spent: Vec<(&String, &Usage)>, shown: Shown, texts: Messages) -> Option<Table> {
    let rest = spent.split_off(spent.len().min(shown.rows()));
    if spent.is_empty() {
        return None;
    }
    let columns = COLUMNS.map(|(amount, written)| {
        let most = spent.iter().map(|(_, spent)| amount(spent)).max().unwrap_or_default();
        move |spent: &Usage| Cell { text: written(amount(spent)), length: length(amount(spent), most) }
    });
    let row = |(name, spent): (&String, &Usage)| (name.clone(), columns.each_ref().map(|cell| cell(spent)));
    let cost: i64 = rest.iter().map(|(_, spent)| spent.cost_nanos).sum();
    Some(Table {
        title,
        rows: spent.into_iter().map(row).collect(),
        more: (!rest.is_empty()).then(|| texts.more_usage(rest.len(), &format::cost(cost))),
    })
}

/// Scales a value to the length of its bar. A value above 0 gets at least one unit, so that it is visible.
fn length(amount: i64, most: i64) -> i64 {
    if amount <= 0 {
        return 0;
    }
    let length = i128::from(amount) * i128::from(LENGTH) / i128::from(most.max(1));
    i64::try_from(length).unwrap_or(LENGTH).max(1)
}
