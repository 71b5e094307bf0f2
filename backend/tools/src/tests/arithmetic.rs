//! Tests of `add`, `subtract`, `multiply` and `divide` with examples.

use super::{call, failure};

async fn gives(tool: &str, a: &str, b: &str, expected: &str) {
    let input = format!(r#"{{"a":{a},"b":{b}}}"#);
    assert_eq!(call(tool, &input).await.unwrap(), expected, "{tool} {input}");
}

#[tokio::test]
async fn decimals_are_exact() {
    gives("add", "0.1", "0.2", "0.3").await;
    gives("multiply", "1e-20", "1e-20", "1e-40").await;
    gives("add", "12.5", "7.25", "19.75").await;
    gives("multiply", "19.75", "4", "79").await;
    gives("subtract", "0.3", "0.1", "0.2").await;
    gives("add", "1e30", "1e-30", "1000000000000000000000000000000.000000000000000000000000000001").await;
    gives(
        "multiply",
        "123456789012345678901234567891",
        "987654321098765432109876543213",
        "121932631137021795226185032734980948020373266269924843773783",
    )
    .await;
}

#[tokio::test]
async fn quotients_have_34_digits_rounded_once() {
    gives("divide", "10", "4", "2.5").await;
    gives("divide", "1", "3", "0.3333333333333333333333333333333333").await;
    gives("divide", "-2", "3", "-0.6666666666666666666666666666666667").await;
    gives("divide", "2", "-3", "-0.6666666666666666666666666666666667").await;
    gives("divide", "1e1000", "3", &format!("3.{}e999", "3".repeat(33))).await;
    // A tie, 34 digits and a half, is rounded to the even neighbor. If any digit other than 0 follows, it is not a tie.
    gives("divide", "10000000000000000000000000000000005", "10", "1e33").await;
    gives("divide", "10000000000000000000000000000000015", "10", "1000000000000000000000000000000002").await;
    let just_above = format!("10000000000000000000000000000000005.{}1", "0".repeat(200));
    gives("divide", &just_above, "10", "1000000000000000000000000000000001").await;
}

#[tokio::test]
async fn numbers_come_in_many_spellings() {
    for seven in ["7", "7.0", "7.000e0", "0.7E1", "70e-1", r#""7""#, r#"" +7. ""#, r#""007""#, r#""７""#, r#""７．０""#]
    {
        gives("add", seven, "1", "8").await;
    }
    for minus_half in ["-0.5", r#""-.5""#, r#""−0.5""#, r#""－０．５""#, r#""-5E-1""#, "\"\\u002d0.5\""] {
        gives("multiply", minus_half, "2", "-1").await;
    }
    gives("multiply", "-0", "5", "0").await;
    gives("subtract", "0.0", "0e99999999999", "0").await;
}

#[tokio::test]
async fn notation_is_scientific_only_for_extreme_numbers() {
    for (number, expected) in [
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("-1.25e-7", "-1.25e-7"),
        ("1e21", "1000000000000000000000"),
        ("1e22", "1e22"),
        ("12e22", "1.2e23"),
        ("100.500", "100.5"),
        ("12345678901234567890123456789012345678901", "12345678901234567890123456789012345678901"),
    ] {
        gives("add", number, "0", expected).await;
    }
}

#[tokio::test]
async fn division_by_zero_blames_b() {
    for zero in ["0", "-0.0", r#""0e5""#] {
        let error = call("divide", &format!(r#"{{"a":1,"b":{zero}}}"#)).await.unwrap_err();
        assert_eq!(
            (error.error_type.as_str(), error.message.as_str()),
            ("invalid_argument", "invalid_b: division by zero")
        );
    }
}

#[tokio::test]
async fn an_invalid_number_is_refused_with_its_parameter_name() {
    let hint = "is not a number; write digits such as -12.5 or 1e-20, without separators or units";
    for (a, reason) in [
        (r#""twelve""#, format!(r#""twelve" {hint}"#)),
        (r#""1,000""#, format!(r#""1,000" {hint}"#)),
        (r#""""#, format!(r#""" {hint}"#)),
        (r#""1e""#, format!(r#""1e" {hint}"#)),
        (r#""1.2.3""#, format!(r#""1.2.3" {hint}"#)),
        (r#""--1""#, format!(r#""--1" {hint}"#)),
        (r#""NaN""#, r#""NaN" is not a finite number"#.to_owned()),
        (r#""-Infinity""#, r#""-Infinity" is not a finite number"#.to_owned()),
        ("null", "expected a number or a string that holds one, found null".to_owned()),
        ("true", "expected a number or a string that holds one, found a boolean".to_owned()),
        ("[1]", "expected a number or a string that holds one, found a list".to_owned()),
        (r#"{"a":1}"#, "expected a number or a string that holds one, found an object".to_owned()),
    ] {
        assert_eq!(failure("add", &format!(r#"{{"a":{a},"b":2}}"#)).await, format!("invalid_a: {reason}"));
    }
}

#[tokio::test]
async fn limits_are_checked_before_computing() {
    let exponent = "too large or too small: the exponent must lie between -1000 and 1000";
    for huge in ["1e999999", "-1e-999999", "1e1001", "0.1e-1000", "1e99999999999999999999", r#""１ｅ９９９９""#] {
        assert_eq!(failure("add", &format!(r#"{{"a":{huge},"b":2}}"#)).await, format!("invalid_a: {exponent}"));
    }
    let digits = "7".repeat(1_001);
    assert_eq!(
        failure("add", &format!(r#"{{"a":2,"b":{digits}}}"#)).await,
        "invalid_b: more than 1000 significant digits"
    );
    let long = "7".repeat(500_000);
    assert_eq!(failure("add", &format!(r#"{{"a":2,"b":{long}}}"#)).await, "invalid_b: longer than 2100 characters");
    gives("add", &digits[1..], "0", &digits[1..]).await;
}

#[tokio::test]
async fn results_stay_within_the_same_limits() {
    for (tool, input, reason) in [
        ("multiply", r#"{"a":1e600,"b":1e600}"#, "too large or too small"),
        ("divide", r#"{"a":1e-600,"b":1e600}"#, "too large or too small"),
        ("add", r#"{"a":1e600,"b":1e-600}"#, "more than 1000 significant digits"),
    ] {
        let error = call(tool, input).await.unwrap_err();
        assert_eq!(error.error_type, "result_out_of_range");
        assert!(error.message.contains(reason), "{}", error.message);
    }
}

#[tokio::test]
async fn fields_are_exactly_a_and_b() {
    assert_eq!(failure("add", r#"{"a":1}"#).await, "invalid_b: missing field `b`");
    assert_eq!(failure("add", r#"{"a":1,"b":2,"a":3}"#).await, "invalid_a: duplicate field `a`");
    assert_eq!(failure("add", r#"{"a":1,"b":2,"c":3}"#).await, "invalid_c: unknown field `c`, expected `a` or `b`");
    assert_eq!(failure("add", r"[1,2]").await, r#"invalid_arguments: expected a JSON object, found "[1,2]""#);
    assert!(failure("add", r#"{"a":1,"b":"#).await.starts_with("invalid_arguments: not valid JSON: EOF"));
}
