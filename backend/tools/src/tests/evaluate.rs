//! Tests of `evaluate` with examples.

use super::{call, failure};

fn input(expression: &str) -> String {
    serde_json::json!({ "expression": expression }).to_string()
}

async fn gives(expression: &str, expected: &str) {
    let output = call("evaluate", &input(expression)).await.unwrap();
    assert_eq!(output, format!("{expected} (floating point)"), "{expression}");
}

async fn refuses(expression: &str, reason: &str) {
    assert_eq!(failure("evaluate", &input(expression)).await, format!("invalid_expression: {reason}"), "{expression}");
}

#[tokio::test]
async fn operators_functions_and_constants() {
    gives("2^10", "1024").await;
    gives("sqrt(2)", "1.4142135623730951").await;
    gives("(1 + 2) * 3 - 4 / 8", "8.5").await;
    gives("-2^2", "-4").await;
    gives("2^3^2", "512").await;
    gives("2^-1", "0.5").await;
    gives("17 % 5", "2").await;
    gives("sin(pi / 2) + ln(e)", "2").await;
    gives("max(1, 5, 3) + min(2, 1) + log10(1000) + log2(8) + cbrt(27)", "15").await;
    gives("  1\t+\n 2  ", "3").await;
}

#[tokio::test]
async fn results_are_marked_as_floating_point() {
    gives("0.1 + 0.2", "0.30000000000000004").await;
    gives("10^21", "1e21").await;
    gives("2^100", "1.2676506002282294e30").await;
    gives("10^-7", "1e-7").await;
    gives("10^-6", "0.000001").await;
    gives("0 * -1", "0").await;
}

#[tokio::test]
async fn other_spellings_are_understood() {
    gives("（１２．５＋７．２５）×４", "79").await;
    gives("10 ÷ 4 − 1", "1.5").await;
    gives("2**10", "1024").await;
    gives("√(16) · π / π", "4").await;
}

#[tokio::test]
async fn numbers_are_parsed_like_in_the_other_tools() {
    for half in [".5", "0.5", "00.5", "5e-1", "5E-1", "5.e-1", ".05e+1", "．５", "−−.5", "+.5"] {
        gives(half, "0.5").await;
    }
    gives(".5+.5", "1").await;
    gives("5. + sqrt(.25) * 2.", "6").await;
    gives("log2(8) + log10(1000)", "6").await;
    for not_a_number in ["1.2.3", ".", "1..2", "2*.", ".e3"] {
        let error = failure("evaluate", &input(not_a_number)).await;
        assert!(error.ends_with("is not a number"), "{not_a_number}: {error}");
    }
    for other in ["1_000", "1'000", "1 000", "0x10", "1e", "pi.5", "2,5", "1.000,5"] {
        assert!(failure("evaluate", &input(other)).await.starts_with("invalid_expression: "), "{other}");
        let sum = serde_json::json!({ "a": other, "b": 0 }).to_string();
        assert!(failure("add", &sum).await.starts_with("invalid_a: "), "{other}");
    }
}

#[tokio::test]
async fn thousands_separators_are_not_argument_separators() {
    let ambiguous = r#""1,000" may be one number or two; write 1000, or "1, 000" with a space"#;
    for expression in
        ["max(1,000, 5)", "1,000", "min(2, 1,000)", "max(1,000,000)", "max(1,000.5, 2)", "sqrt(１，０００)"]
    {
        refuses(expression, ambiguous).await;
    }
    gives("max(1, 000, 5)", "5").await;
    gives("max(1,5)", "5").await;
    gives("max(1000,500)", "1000").await;
    gives("max(0.5,100)", "100").await;
    gives("max(1,5000)", "5000").await;
}

#[tokio::test]
async fn no_result_is_an_error() {
    let too_large = "a step is too large for floating point, which ends near 1.8e308";
    let too_small = "a step is too small for floating point, which begins near 5e-324";
    let not_real = "a step has no real result, such as the root of a negative number";
    for expression in ["1/0", "5 % 0", "0^-1", "1/(1/0)", "1/(2-2)"] {
        refuses(expression, "division by zero").await;
    }
    for expression in ["10^10^10", "1e999999", "1/1e999999", "1/10^10^10", "exp(1000)", "ln(0)"] {
        refuses(expression, too_large).await;
    }
    for expression in ["sqrt(-1)", "ln(-1)", "(-8)^(1/3)", "max(1, sqrt(-1))", "sqrt(-1)^0"] {
        refuses(expression, not_real).await;
    }
    for expression in ["1e-999999", "1 + 0.1e-400", "10^-400", "1e-200 * 1e-200", "1e-200 / 1e200"] {
        refuses(expression, too_small).await;
    }
}

#[tokio::test]
async fn an_invalid_expression_is_refused_with_a_message() {
    refuses("", "the expression is empty").await;
    refuses("  \n ", "the expression is empty").await;
    refuses("1 +", "ends where a number is expected").await;
    refuses("(1 + 2", "1 closing parentheses are missing").await;
    refuses("1 + 2)", r#"not understood from ")" on"#).await;
    refuses("1 2", r#"not understood from "2" on"#).await;
    refuses("5!", "there is no factorial; write the product").await;
    refuses("x + 1", r#"unknown name "x"; known are pi and e"#).await;
    refuses("$5", "'$' has no meaning here").await;
    refuses("sin(1, 2)", "sin takes 1 arguments, not 2").await;
    refuses("max()", r#"not understood from ")" on"#).await;
    assert!(
        failure("evaluate", &input("log(5)")).await.starts_with(r#"invalid_expression: unknown function "log"; known"#)
    );
    assert_eq!(
        failure("evaluate", r#"{"expression":5}"#).await,
        "invalid_expression: invalid type: integer `5`, expected a string"
    );
}

#[tokio::test]
async fn size_is_bounded() {
    refuses(&"(".repeat(1_000_000), "longer than 1000 characters").await;
    refuses(&"(".repeat(500), "parentheses are nested deeper than 100").await;
    gives(&format!("{}1{}", "(".repeat(100), ")".repeat(100)), "1").await;
    gives(&format!("{}1", "-".repeat(998)), "1").await;
    gives(&format!("1{}", "^1".repeat(499)), "1").await;
}
