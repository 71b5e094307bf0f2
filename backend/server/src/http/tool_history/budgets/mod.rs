//! HTTP handlers for `/admin/budgets`: the budgets as a form with a row for each. `i18n` has the text.

mod i18n;

use std::collections::{BTreeSet, HashMap};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Form, FormConfig},
};
use askama::Template;
use serde::Deserialize;
use tallybook_protocol::{Budget, BudgetPeriod, Group};
use tallybook_runtime_settings::{RuntimeSettings, SettingsError};

use super::{
    super::{body, caller::Admin, error::ApiError, query::Query, state::State},
    form_values::FormValues,
    layout::{Frame, answer, refusal},
};

/// URL of the page.
const URL: &str = "/admin/budgets";

/// Maximum size of the form, in bytes: 1,000 budgets.
const MAX_FORM_BYTES: usize = 1024 * 1024;

/// Billionths in one unit of the currency.
const NANOS: f64 = 1e9;

/// Principal of a row whose user has a field of its own.
const ONE_USER: &str = "user";

#[derive(Deserialize)]
pub(crate) struct BudgetsQuery {
    /// `saved` confirms a change.
    #[serde(default)]
    state: String,
}

#[derive(Template)]
#[template(path = "tool_history/budgets.html")]
struct BudgetsPage {
    frame: Frame,
    /// The budgets, and an empty row for a new one.
    rows: Vec<Row>,
    groups: Vec<Group>,
    /// The budgets as JSON, so that the changes of another admin are noticed.
    shown: String,
    problem: Option<String>,
    is_saved: bool,
}

/// A row of the form, with texts as they are entered.
#[derive(Clone, Default)]
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
            warn_percent: (warn_at * 100.0).round().to_string(),
        }
    }

    /// Reads the budget. The error is the label of the field that cannot be read.
    fn read(&self, users: &HashMap<String, i64>, texts: super::i18n::Messages) -> Result<Budget, &'static str> {
        let principal = match self.principal.as_str() {
            ONE_USER => {
                let id = users.get(&self.user).ok_or(texts.budget_user())?;
                format!("user:{id}")
            }
            principal => principal.to_owned(),
        };
        let tokens = filled(&self.tokens).map(|text| text.parse().map_err(|_| texts.budget_tokens())).transpose()?;
        let money = filled(&self.money).map(|text| nanos(text).ok_or(texts.budget_money())).transpose()?;
        let percent: f64 = filled(&self.warn_percent).unwrap_or("80").parse().map_err(|_| texts.budget_warn_at())?;
        let period = if self.is_daily { BudgetPeriod::Day } else { BudgetPeriod::Month };
        Ok(Budget { principal, period, tokens, cost_nanos: money, warn_at: percent / 100.0 })
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Reads an amount of money, and returns it in billionths.
fn nanos(text: &str) -> Option<i64> {
    let amount = text.parse().ok().filter(|amount: &f64| (0.0..=1e9).contains(amount))?;
    #[expect(clippy::cast_possible_truncation, reason = "the amount is at most 10^18")]
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
    Query(query): Query<BudgetsQuery>,
) -> HttpResponse {
    render(&state, &request, None, None, query.state == "saved").await
}

/// Replaces the budgets. If the change is refused, the form keeps what was entered.
pub(crate) async fn change(
    state: State,
    request: HttpRequest,
    Admin(caller): Admin,
    form: Form<Vec<(String, String)>>,
) -> HttpResponse {
    let values = FormValues::new(form.into_inner());
    let (rows, shown) = (read_rows(&values), values.first("shown").unwrap_or_default().to_owned());
    let (texts, entered) = (Frame::of(&state, &request).texts, rows.clone());
    let work = move |settings: RuntimeSettings| async move {
        if shown_text(&settings.list_budgets().await?) != shown {
            return Err(SettingsError::SettingsChanged);
        }
        let names: BTreeSet<String> =
            rows.iter().filter(|row| row.principal == ONE_USER).map(|row| row.user.clone()).collect();
        let ids = settings.find_users_named(&names).await?;
        let users: HashMap<String, i64> = names.into_iter().zip(ids.into_iter().map(|user| user.0)).collect();
        let read = rows.iter().map(|row| row.read(&users, texts)).collect::<Result<_, _>>();
        let budgets = read.map_err(|field| SettingsError::InvalidBudget(format!("{field} is not valid.")))?;
        settings.replace_budgets(caller.user, budgets).await
    };
    match state.run_settings(work).await {
        Ok(_) => {
            HttpResponse::SeeOther().insert_header((header::LOCATION, format!("{URL}?state=saved"))).finish()
        }
        Err(error) => render(&state, &request, Some(entered), Some(error), false).await,
    }
}

/// Reads the rows that are not empty.
fn read_rows(values: &FormValues) -> Vec<Row> {
    let column = |name| values.all(name).map(|text| text.trim().to_owned()).collect::<Vec<_>>();
    let [principals, users, periods, tokens, money, warnings] =
        ["principal", "user", "period", "tokens", "money", "warn_percent"].map(column);
    let cell = |column: &[String], index: usize| column.get(index).cloned().unwrap_or_default();
    // A user who was entered counts, even if the list still shows its first entry.
    let principal_of = |principal: &String, user: &str| {
        if principal == "all" && !user.is_empty() { ONE_USER.to_owned() } else { principal.clone() }
    };
    let row = |(index, principal): (usize, &String)| Row {
        principal: principal_of(principal, &cell(&users, index)),
        user: cell(&users, index),
        is_daily: cell(&periods, index) == BudgetPeriod::Day.as_str(),
        tokens: cell(&tokens, index),
        money: cell(&money, index),
        warn_percent: cell(&warnings, index),
    };
    principals.iter().enumerate().map(row).filter(|row| !row.is_empty()).collect()
}

fn shown_text(budgets: &[Budget]) -> String {
    serde_json::to_string(budgets).unwrap_or_default()
}

/// Renders the page, with the entered rows if a change was refused.
async fn render(
    state: &State,
    request: &HttpRequest,
    entered: Option<Vec<Row>>,
    error: Option<ApiError>,
    is_saved: bool,
) -> HttpResponse {
    let frame = Frame::of(state, request);
    let settings = &state.settings;
    let read = async {
        let budgets = settings.list_budgets().await?;
        let ids = budgets.iter().filter_map(|budget| budget.principal.strip_prefix("user:")?.parse().ok()).collect();
        Ok::<_, SettingsError>((settings.find_user_names(ids).await?, settings.list_groups().await?.items, budgets))
    };
    let (users, groups, budgets) = match read.await {
        Ok(read) => read,
        Err(error) => return refusal(frame, request, &error.into()),
    };
    let mut rows =
        entered.unwrap_or_else(|| budgets.iter().map(|budget| Row::of(budget, &users)).collect());
    rows.push(Row { principal: "all".to_owned(), warn_percent: "80".to_owned(), ..Row::default() });
    let status = error.as_ref().map_or(StatusCode::OK, actix_web::ResponseError::status_code);
    let page = BudgetsPage {
        rows,
        groups,
        shown: shown_text(&budgets),
        problem: error.map(|error| frame.texts.problem(&error)),
        is_saved,
        frame,
    };
    answer(status, &page)
}
