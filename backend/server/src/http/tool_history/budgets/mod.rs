//! HTTP handlers for `/admin/budgets`: the budgets as a form with a row for each. `i18n` has the text.

mod i18n;

use std::collections::{BTreeSet, HashMap};

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Form, FormConfig},
};
use askama::Template;
use serde::{Deserialize, Serialize};
use tallybook_protocol::{Budget, BudgetPeriod, Group};
use tallybook_runtime_settings::{BudgetProblem, RuntimeSettings, SettingsError};

use super::{
    super::{body, caller::Admin, error::ApiError, query::Query, state::State},
    form_values::{FormQuery, FormValues, merge_rows},
    layout::{Frame, answer, redirect, refusal, status_of},
    refusals::Refusal,
};

/// URL of the page.
const URL: &str = "/admin/budgets";

/// Maximum size of the form, in bytes. It has 1,000 budgets twice.
const MAX_FORM_BYTES: usize = 2 * 1024 * 1024;

/// Billionths in one unit of the currency.
const NANOS: f64 = 1e9;

/// Provider of the demo model.
const DEMO: &str = "demo";

/// Principal of a row whose user has a field of its own.
const ONE_USER: &str = "user";

#[derive(Template)]
#[template(path = "tool_history/budgets.html")]
struct BudgetsPage {
    frame: Frame,
    /// The budgets, and an empty row for a new one. Only that row lists all groups: both lists can have 1,000 items.
    rows: Vec<Row>,
    groups: Vec<Group>,
    version: i64,
    /// The rows that the form shows, as JSON, so that only edits are added to the changes of another admin.
    shown: String,
    /// Warning that names the models that budgets of money do not limit, if there are such budgets and models.
    without_prices: Option<String>,
    problem: Option<Refusal>,
    is_saved: bool,
}

/// A row of the form, with texts as they are entered.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Row {
    /// `all`, `group:ID`, or [`ONE_USER`].
    principal: String,
    user: String,
    is_daily: bool,
    tokens: String,
    money: String,
    warn_percent: String,
}

impl Row {
    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.money.is_empty()
    }

    /// Returns the principal and the period. Only one budget can have them.
    fn key(&self) -> (String, String, bool) {
        (self.principal.clone(), self.user.clone(), self.is_daily)
    }

    /// Returns the group that the row belongs to.
    fn group<'a>(&self, groups: &'a [Group]) -> Option<&'a Group> {
        let id: i64 = self.principal.strip_prefix("group:")?.parse().ok()?;
        groups.iter().find(|group| group.id == id)
    }

    /// Returns `true` if the row belongs to a group that does not exist.
    fn is_of_missing_group(&self, groups: &[Group]) -> bool {
        self.principal.starts_with("group:") && self.group(groups).is_none()
    }

    /// Returns the row of a budget. `users` has the names of users.
    fn of(budget: &Budget, users: &HashMap<i64, String>) -> Self {
        let Budget { principal, period, tokens, cost_nanos, warn_at } = budget;
        let user = principal.strip_prefix("user:");
        let name = |id: &str| id.parse().ok().and_then(|id| users.get(&id).cloned());
        #[expect(clippy::cast_precision_loss, reason = "only amounts beyond 2^53 lose precision")]
        let money = cost_nanos.map(|nanos| (nanos as f64 / NANOS).to_string());
        Self {
            principal: user.map_or_else(|| principal.clone(), |_| ONE_USER.to_owned()),
            user: user.and_then(name).unwrap_or_default(),
            is_daily: *period == BudgetPeriod::Day,
            tokens: tokens.map(|tokens| tokens.to_string()).unwrap_or_default(),
            money: money.unwrap_or_default(),
            // Rounded, because 0.07 · 100 is 7.000000000000001.
            warn_percent: ((warn_at * 1e6).round() / 1e4).to_string(),
        }
    }

    /// Reads the budget. The error is the label of the field that cannot be read.
    fn read(&self, users: &HashMap<String, i64>, texts: super::i18n::Messages) -> Result<Budget, &'static str> {
        let principal = match self.principal.as_str() {
            ONE_USER => {
                let id = users.get(&self.user).ok_or(texts.budget_user())?;
                format!("user:{id}")
            }
            _ if !self.user.is_empty() => return Err(texts.budget_user()),
            principal => principal.to_owned(),
        };
        let tokens = filled(&self.tokens).map(|text| text.parse().map_err(|_| texts.budget_tokens())).transpose()?;
        let money = filled(&self.money).map(|text| nanos(text).ok_or(texts.budget_money())).transpose()?;
        let percent: f64 = filled(&self.warn_percent).unwrap_or("80").parse().map_err(|_| texts.budget_warn_at())?;
        let period = if self.is_daily { BudgetPeriod::Day } else { BudgetPeriod::Month };
        Ok(Budget { principal, period, tokens, cost_nanos: money, warn_at: percent / 100.0 })
    }
}

/// The form, as it was sent.
struct Entered {
    version: i64,
    /// The rows that the form showed.
    shown: Option<Vec<Row>>,
    rows: Vec<Row>,
}

impl Entered {
    /// Adds the edits to rows that another admin has changed.
    fn merge(self, current: &[Row]) -> Vec<Row> {
        merge_rows(self.rows, self.shown.as_deref().unwrap_or(current), current, Row::key)
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Reads an amount of money, and returns it in billionths.
fn nanos(text: &str) -> Option<i64> {
    let amount = text.parse().ok().filter(|amount: &f64| (0.0..9.2e9).contains(amount))?;
    #[expect(clippy::cast_possible_truncation, reason = "the amount is below 2^63")]
    Some((amount * NANOS).round() as i64)
}

/// Returns the settings for the form of this page.
pub(crate) fn forms() -> FormConfig {
    body::forms(MAX_FORM_BYTES)
}

/// Shows the budgets.
pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    _admin: Admin,
    Query(query): Query<FormQuery>,
) -> HttpResponse {
    render(&state, &request, None, None, query.is_saved()).await
}

/// Replaces the budgets. If the change is refused, the form keeps what was entered.
pub(crate) async fn change(
    state: State,
    request: HttpRequest,
    Admin(caller): Admin,
    form: Form<Vec<(String, String)>>,
) -> HttpResponse {
    let values = FormValues::new(form.into_inner());
    let (rows, version) = (read_rows(&values), values.version());
    let entered = Entered { version, shown: values.shown(), rows: rows.clone() };
    let texts = Frame::of(&state, &request).texts;
    let work = move |settings: RuntimeSettings| async move {
        let names: BTreeSet<String> =
            rows.iter().filter(|row| row.principal == ONE_USER).map(|row| row.user.clone()).collect();
        let ids = settings.find_users_named(&names).await?;
        let users: HashMap<String, i64> = names.into_iter().zip(ids.into_iter().map(|user| user.0)).collect();
        let read = |(index, row): (usize, &Row)| {
            let invalid =
                |field| SettingsError::InvalidBudget(BudgetProblem::Field(texts.invalid_budget(index + 1, field)));
            row.read(&users, texts).map_err(invalid)
        };
        let budgets = rows.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        settings.replace_budgets(caller.user, budgets, Some(version)).await
    };
    match state.run_settings(work).await {
        Ok(_) => redirect(format!("{URL}?state=saved")),
        Err(error) => render(&state, &request, Some(entered), Some(error), false).await,
    }
}

/// Reads the rows that are not empty.
fn read_rows(values: &FormValues) -> Vec<Row> {
    let column = |name| values.all(name).map(|text| text.trim().to_owned()).collect::<Vec<_>>();
    let [principals, users, periods, tokens, money, warnings] =
        ["principal", "user", "period", "tokens", "money", "warn_percent"].map(column);
    let cell = |column: &[String], index: usize| column.get(index).cloned().unwrap_or_default();
    let row = |(index, principal): (usize, &String)| Row {
        principal: principal.clone(),
        user: cell(&users, index),
        is_daily: cell(&periods, index) == BudgetPeriod::Day.as_str(),
        tokens: cell(&tokens, index),
        money: cell(&money, index),
        warn_percent: cell(&warnings, index),
    };
    principals.iter().enumerate().map(row).filter(|row| !row.is_empty()).collect()
}

/// Returns the names of the models whose usage costs nothing because they have no prices, separated by commas. The demo
/// model is free.
fn names_without_prices(state: &State) -> String {
    let models = state.service.models().list().items;
    let unpriced = models.iter().filter(|model| model.prices.is_none() && model.provider != DEMO);
    unpriced.map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Renders the page, with the entered rows if a change was refused.
async fn render(
    state: &State,
    request: &HttpRequest,
    entered: Option<Entered>,
    error: Option<ApiError>,
    is_saved: bool,
) -> HttpResponse {
    let frame = Frame::of(state, request);
    let settings = &state.settings;
    let read = async {
        let (budgets, version) = settings.list_budgets().await?;
        let ids = budgets.iter().filter_map(|budget| budget.principal.strip_prefix("user:")?.parse().ok()).collect();
        Ok::<_, SettingsError>((
            settings.find_user_names(ids).await?,
            settings.list_groups().await?.items,
            budgets,
            version,
        ))
    };
    let (users, groups, budgets, version) = match read.await {
        Ok(read) => read,
        Err(error) => return refusal(frame, request, &error.into()),
    };
    let has_money = budgets.iter().any(|budget| budget.cost_nanos.is_some());
    let without_prices = Some(names_without_prices(state)).filter(|names| has_money && !names.is_empty());
    let current: Vec<Row> = budgets.iter().map(|budget| Row::of(budget, &users)).collect();
    let (status, is_kept) = (status_of(error.as_ref()), entered.is_some());
    let (version, shown, mut rows) = match entered {
        Some(Entered { version, shown, rows }) if !error.as_ref().is_some_and(ApiError::is_outdated) => {
            (version, shown, rows)
        }
        entered => {
            let rows = entered.map_or_else(|| current.clone(), |entered| entered.merge(&current));
            (version, Some(current), rows)
        }
    };
    rows.push(Row { principal: "all".to_owned(), warn_percent: "80".to_owned(), ..Row::default() });
    let page = BudgetsPage {
        rows,
        groups,
        version,
        shown: serde_json::to_string(&shown).unwrap_or_default(),
        without_prices: without_prices.map(|names| frame.texts.models_without_prices(&names)),
        problem: error.map(|error| frame.texts.form_problem(&error, is_kept)),
        is_saved,
        frame,
    };
    answer(status, &page)
}
