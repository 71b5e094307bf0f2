//! What there was in rows, the most first, each figure with a bar as long as it is beside the longest of its kind.

use std::collections::BTreeMap;

use super::{
    super::{format, words::Words},
    charts::percent,
};
use crate::book::{Figures, Spent, ToolFigures};

/// Rows of a table, of the few first and where all are asked for. What comes after them is summed up.
const FIRST_ROWS: usize = 50;
const MAX_ROWS: usize = 2000;

/// How long the longest bar is, in units of the picture.
const LENGTH: i64 = 1000;

type Amount = fn(&Spent) -> i64;
type Written = fn(i64) -> String;

/// What models took: how much, and how that is written.
const COLUMNS: [(Amount, Written); 4] = [
    (|spent| spent.calls, format::number),
    (|spent| spent.input_tokens, format::number),
    (|spent| spent.output_tokens, format::number),
    (|spent| spent.cost_nanos, format::cost),
];

/// How many rows each table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    First,
    All,
}

impl Shown {
    fn rows(self) -> usize {
        match self {
            Self::First => FIRST_ROWS,
            Self::All => MAX_ROWS,
        }
    }
}

/// A figure, and how long its bar is.
pub(super) struct Cell {
    pub(super) words: String,
    pub(super) length: i64,
}

/// How the tools did.
pub(super) struct Tools {
    /// A name, and how many calls, the share of failed ones, within which time half of them and most of them were done.
    pub(super) rows: Vec<(String, [Cell; 4])>,
    pub(super) more: Option<String>,
}

/// What models took, by one thing.
pub(super) struct Table {
    pub(super) title: &'static str,
    /// A name, and how many calls, tokens that were read and written, and what that cost.
    pub(super) rows: Vec<(String, [Cell; 4])>,
    pub(super) more: Option<String>,
}

/// Of the tools that were called.
pub(super) fn of_tools(figures: &Figures, shown: Shown, words: Words) -> Option<Tools> {
    let mut tools: Vec<_> = figures.tools.iter().collect();
    tools.sort_by_key(|(_, tool)| -tool.count.calls);
    let rest = tools.split_off(tools.len().min(shown.rows()));
    let most = tools.iter().map(|(_, tool)| tool.count.calls).max()?;
    // Both times are drawn to one scale.
    let longest = tools.iter().filter_map(|(_, tool)| tool.within_ms(95)).max().unwrap_or_default();
    let within = |ms: Option<i64>| Cell {
        words: ms.map_or_else(|| "–".to_owned(), |ms| words.how_long(ms)),
        length: length(ms.unwrap_or_default(), longest),
    };
    let row = |(name, tool): (&String, &ToolFigures)| {
        let failed = tool.count.failed_permille();
        let cells = [
            Cell { words: format::number(tool.count.calls), length: length(tool.count.calls, most) },
            Cell { words: percent(failed), length: length(failed, 1000) },
            within(tool.within_ms(50)),
            within(tool.within_ms(95)),
        ];
        (name.clone(), cells)
    };
    let of_rest: i64 = rest.iter().map(|(_, tool)| tool.count.calls).sum();
    Some(Tools {
        rows: tools.into_iter().map(row).collect(),
        more: (!rest.is_empty()).then(|| words.more_tools(rest.len(), &format::number(of_rest))),
    })
}

/// Of the models that were asked: by day, model, person and purpose.
pub(super) fn of_models(figures: &Figures, shown: Shown, words: Words) -> Vec<Table> {
    let in_words = |(purpose, spent): (&String, &Spent)| (words.purpose(purpose), *spent);
    let purposes: BTreeMap<String, Spent> = figures.purposes.iter().map(in_words).collect();
    let tables = [
        table(words.of_days(), figures.days.iter().rev().collect(), shown, words),
        table(words.of_models(), sorted(&figures.models), shown, words),
        table(words.of_people(), sorted(&figures.people), shown, words),
        table(words.of_purposes(), sorted(&purposes), shown, words),
    ];
    tables.into_iter().flatten().collect()
}

/// Those that took most first.
fn sorted(spent: &BTreeMap<String, Spent>) -> Vec<(&String, &Spent)> {
    let mut spent: Vec<_> = spent.iter().collect();
    spent.sort_by_key(|(_, spent)| (-spent.cost_nanos, -spent.output_tokens));
    spent
}

fn table(title: &'static str, mut spent: Vec<(&String, &Spent)>, shown: Shown, words: Words) -> Option<Table> {
    let rest = spent.split_off(spent.len().min(shown.rows()));
    if spent.is_empty() {
        return None;
    }
    let columns = COLUMNS.map(|(amount, written)| {
        let most = spent.iter().map(|(_, spent)| amount(spent)).max().unwrap_or_default();
        move |spent: &Spent| Cell { words: written(amount(spent)), length: length(amount(spent), most) }
    });
    let row = |(name, spent): (&String, &Spent)| (name.clone(), columns.each_ref().map(|cell| cell(spent)));
    let cost: i64 = rest.iter().map(|(_, spent)| spent.cost_nanos).sum();
    Some(Table {
        title,
        rows: spent.into_iter().map(row).collect(),
        more: (!rest.is_empty()).then(|| words.more_spent(rest.len(), &format::cost(cost))),
    })
}

/// To scale; what there is can be seen.
fn length(amount: i64, most: i64) -> i64 {
    if amount <= 0 {
        return 0;
    }
    let length = i128::from(amount) * i128::from(LENGTH) / i128::from(most.max(1));
    i64::try_from(length).unwrap_or(LENGTH).max(1)
}
