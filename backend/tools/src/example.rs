//! The tool `days_between`.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Tool, ToolError, ToolOutput};

/// Counts days on the calendar.
pub(super) struct DaysBetween;

/// Arguments of `days_between`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The first day, as year-month-day, for example 2026-03-01.
    from: String,
    /// The last day, in the same form.
    to: String,
}

impl Tool for DaysBetween {
    type Args = Args;

    const NAME: &'static str = "days_between";
    const DESCRIPTION: &'static str = "Counts the days from one date to another; negative when the second is earlier.";
    const IDEMPOTENT: bool = true;

    async fn call(&self, args: Args) -> Result<ToolOutput, ToolError> {
        let from = parse_date("from", &args.from)?;
        let to = parse_date("to", &args.to)?;
        Ok(ToolOutput::text((to - from).get_days().to_string()))
    }
}

fn parse_date(field: &str, text: &str) -> Result<Date, ToolError> {
    text.parse().map_err(|_| ToolError::invalid(field, "not a date; write it as 2026-03-01"))
}

#[cfg(test)]
mod tests {
    use super::DaysBetween;
    use crate::ToolRegistry;

    #[tokio::test]
    async fn leap_days_count_and_bad_dates_are_named() {
        let registry = ToolRegistry::default().with(DaysBetween).unwrap();
        let days = registry.call("days_between", r#"{"from":"2028-02-28","to":"2028-03-01"}"#).await.unwrap();
        assert_eq!(days.text, "2");
        let error = registry.call("days_between", r#"{"from":"today","to":"2028-03-01"}"#).await.unwrap_err();
        assert_eq!(error.message, "invalid_from: not a date; write it as 2026-03-01");
    }
}
