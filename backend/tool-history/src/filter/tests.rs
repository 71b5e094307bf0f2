//! Tests for filters: accepted input, its canonical form, and errors.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use proptest::prelude::*;
use tallybook_protocol::{Rating, ToolCallStatus};

use super::{Filter, FilterError, Moment, Slow, moment::Unit};

fn read(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn filters_have_a_canonical_form() {
    for (typed, written) in [
        ("", ""),
        ("  not\tfound　エラー ", "not found エラー"),
        ("status:ERROR tool:add", "tool:add status:error"),
        ("rating:Down model:a", "model:a rating:down"),
        ("Server:built-in", "server:built-in"),
        ("user:\"ann lee\" model:\"a \\\"b\\\"\"", "user:\"ann lee\" model:\"a \\\"b\\\"\""),
        ("\"phrases with \\\" in them\"", "\"phrases with \\\" in them\""),
        ("conversation:00000000-0000-4000-8000-00000000000A", "conversation:00000000-0000-4000-8000-00000000000a"),
        ("until:2026-11-02T12:30:00Z since:2026-11-01", "since:2026-11-01 until:2026-11-02T12:30"),
        ("since:7d until:2026-11-02T12:30:15", "since:7d until:2026-11-02T12:30:15"),
        ("slow:5s", "slow:>5s"),
        ("slow:>0.5s", "slow:>500ms"),
        ("slow:<90s", "slow:<90s"),
        ("slow:>1.5m", "slow:>90s"),
        ("slow:>60m", "slow:>1h"),
        ("slow:<0s", "slow:<0ms"),
        ("\"C:\\temp\"", "\"C:\\\\temp\""),
        ("\"\" x", "x"),
    ] {
        assert_eq!(read(typed).to_string(), written, "{typed}");
    }
    assert_eq!(read("12:30").words, ["12:30"]);
    assert_eq!(read("12:30").to_string(), "\"12:30\"");
    assert_eq!(read("tool:a:b").tool.as_deref(), Some("a:b"));
    assert_eq!(read("a\"b c'% _").words, ["a\"b", "c'%", "_"]);
}

#[test]
fn each_part_can_be_left_out() {
    let all = "tool:add server:docs status:error user:ann conversation:00000000-0000-4000-8000-00000000000a \
        model:\"Large one\" rating:up since:7d until:2026-11-02 slow:>5s word \"two words\"";
    let parts = read(all).parts();
    let written: Vec<&str> = parts.iter().map(|(written, _)| written.as_str()).collect();
    assert_eq!((written.len(), written.join(" ")), (12, all.to_owned()));
    for (written, rest) in &parts {
        assert_eq!(format!(" {all} ").replacen(&format!(" {written} "), " ", 1).trim(), rest.to_string());
    }
    assert!(read("").parts().is_empty());
}

#[test]
fn invalid_filters_are_reported() {
    let wrong = |text: &str| text.parse::<Filter>().unwrap_err();
    assert_eq!(wrong("\"open"), FilterError::OpenQuote);
    assert_eq!(wrong("user:\"a\"b"), FilterError::AfterQuote);
    assert_eq!(wrong("tol:add"), FilterError::UnknownField("tol".to_owned()));
    assert_eq!(wrong("http://example.org"), FilterError::UnknownField("http".to_owned()));
    assert_eq!(wrong("tool:"), FilterError::Empty("tool"));
    assert_eq!(wrong("tool:\"\""), FilterError::Empty("tool"));
    assert_eq!(wrong("tool:a tool:b"), FilterError::Twice("tool"));
    assert_eq!(wrong("status:fine"), FilterError::Status("fine".to_owned()));
    assert_eq!(wrong("rating:good"), FilterError::Rating("good".to_owned()));
    assert_eq!(wrong("conversation:x"), FilterError::Conversation("x".to_owned()));
    for time in
        ["yesterday", "2026-13-01", "1969-01-01", "9999-01-01", "+7d", "-1d", "200000d", "d", "2026-11-01T25:00"]
    {
        assert_eq!(wrong(&format!("since:{time}")), FilterError::Time(time.to_owned()));
    }
    for slow in ["fast", ">5", ">-5s", ">1.0001s", ">.5s", ">99999999999h", ">5 s"] {
        let error = wrong(&format!("slow:\"{slow}\""));
        assert_eq!(error, FilterError::Slow(slow.to_owned()));
    }
    assert_eq!(wrong(&"a ".repeat(9)), FilterError::TooMuch);
    assert_eq!(wrong(&"a".repeat(201)), FilterError::TooMuch);
    assert!(wrong("status:fine").to_string().contains("success, error"));
}

#[test]
fn a_day_is_the_whole_day() {
    let now = DateTime::<Utc>::from_timestamp(1_793_500_000, 0).unwrap();
    let day = Moment::Day(NaiveDate::from_ymd_opt(2026, 11, 1).unwrap());
    assert_eq!(day.end(now) - day.beginning(now), TimeDelta::days(1));
    assert_eq!(now - Moment::Ago(7, Unit::Days).beginning(now), TimeDelta::days(7));
    assert!(Moment::Ago(100_000, Unit::Days).beginning(now) > DateTime::UNIX_EPOCH);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_:\"\\\\ %'é計]{1,12}", "\\PC{1,20}"]
}

fn moments() -> impl Strategy<Value = Moment> {
    let seconds = 40_000_000_i64..2_100_000_000;
    prop_oneof![
        seconds.clone().prop_map(|at| Moment::Day(DateTime::from_timestamp(at, 0).unwrap().date_naive())),
        seconds.prop_map(|at| Moment::Time(DateTime::from_timestamp(at, 0).unwrap().naive_utc())),
        (0..=100_000_u32, prop_oneof![Just(Unit::Minutes), Just(Unit::Hours), Just(Unit::Days)])
            .prop_map(|(amount, unit)| Moment::Ago(amount, unit)),
    ]
}

prop_compose! {
    fn filters()(
        tool in proptest::option::of(text()),
        server in proptest::option::of(prop_oneof![Just(String::new()), "[a-z]{1,9}"]),
        is_failed in any::<bool>(),
        user in proptest::option::of(text()),
        conversation in proptest::option::of(any::<u128>()),
        model in proptest::option::of(text()),
        is_up in proptest::option::of(any::<bool>()),
        since in proptest::option::of(moments()),
        until in proptest::option::of(moments()),
        ms in proptest::option::of(0..=1_000_000_000_i64),
        words in proptest::collection::vec(text(), 0..4),
    ) -> Filter {
        Filter {
            tool, server, user, model, since, until, words,
            status: is_failed.then_some(ToolCallStatus::Error),
            rating: is_up.map(|is_up| if is_up { Rating::Up } else { Rating::Down }),
            conversation: conversation.map(uuid::Uuid::from_u128),
            slow: ms.map(|ms| if ms % 2 == 0 { Slow::Longer(ms) } else { Slow::Shorter(ms) }),
        }
    }
}

proptest! {
    #[test]
    fn filters_round_trip(filter in filters()) {
        prop_assert_eq!(&read(&filter.to_string()), &filter);
    }

    #[test]
    fn any_text_is_parsed_or_refused(typed in "(\\PC|[\"\\\\: ]){0,60}") {
        if let Ok(filter) = typed.parse::<Filter>() {
            prop_assert_eq!(&read(&filter.to_string()), &filter);
        }
    }
}
