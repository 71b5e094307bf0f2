//! Property tests of the tools, with random numbers and random text.

use bigdecimal::num_bigint::BigInt;
use proptest::prelude::*;

use crate::{ToolError, builtin, decimal::Decimal};

/// Generates an operand in one of its notations.
fn number() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?"
}

/// Generates an operand other than zero.
fn divisor() -> impl Strategy<Value = String> {
    "-?[1-9][0-9]{0,40}(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?"
}

fn integer() -> impl Strategy<Value = String> {
    "-?[1-9][0-9]{0,300}"
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// Calls a built-in tool. These calls complete at once, without waiting.
fn call(tool: &str, input_text: &str) -> Result<String, ToolError> {
    use futures_util::FutureExt as _;
    builtin().unwrap().call(tool, input_text).now_or_never().unwrap().map(|output| output.text)
}

fn compute(tool: &str, a: &str, b: &str) -> String {
    call(tool, &format!(r#"{{"a":{a},"b":"{b}"}}"#)).unwrap()
}

proptest! {
    #[test]
    fn numbers_round_trip(text in number()) {
        let number = decimal(&text);
        let written = number.to_string();
        prop_assert_eq!(decimal(&written), number, "{}", written);
        let parsed: serde_json::Value = serde_json::from_str(&written).unwrap();
        prop_assert!(parsed.is_number());
    }

    #[test]
    fn subtraction_undoes_addition(a in number(), b in number()) {
        prop_assert_eq!(compute("subtract", &compute("add", &a, &b), &b), decimal(&a).to_string());
    }

    #[test]
    fn addition_and_multiplication_commute(a in number(), b in number()) {
        prop_assert_eq!(compute("add", &a, &b), compute("add", &b, &a));
        prop_assert_eq!(compute("multiply", &a, &b), compute("multiply", &b, &a));
    }

    #[test]
    fn multiplication_distributes(a in number(), b in number(), c in number()) {
        let left = compute("multiply", &a, &compute("add", &b, &c));
        let right = compute("add", &compute("multiply", &a, &b), &compute("multiply", &a, &c));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn integers_agree_with_integer_arithmetic(a in integer(), b in integer()) {
        let (x, y): (BigInt, BigInt) = (a.parse().unwrap(), b.parse().unwrap());
        for (tool, expected) in [("add", &x + &y), ("subtract", &x - &y), ("multiply", &x * &y)] {
            prop_assert_eq!(decimal(&compute(tool, &a, &b)), decimal(&expected.to_string()));
        }
    }

    #[test]
    fn a_quotient_is_right_to_half_a_unit_in_the_34th_digit(a in number(), b in divisor()) {
        let quotient = compute("divide", &a, &b);
        // |q·b − a| ≤ |b| · ½ unit in the last place of q, and that unit is at most |q| · 10⁻³³.
        let error = compute("subtract", &compute("multiply", &quotient, &b), &a);
        let allowed = compute("multiply", &compute("multiply", &quotient, &b), "5e-34");
        let magnitude = |text: &str| text.trim_start_matches('-').to_owned();
        let slack = compute("subtract", &magnitude(&allowed), &magnitude(&error));
        prop_assert!(!slack.starts_with('-'), "{} / {} = {}", a, b, quotient);
        prop_assert!(quotient.split('e').next().unwrap().bytes().filter(u8::is_ascii_digit).count() <= 56);
    }

    #[test]
    fn an_exact_quotient_is_exact(a in "-?[1-9][0-9]{0,16}", b in "-?[1-9][0-9]{0,16}") {
        prop_assert_eq!(decimal(&compute("divide", &compute("multiply", &a, &b), &b)), decimal(&a));
    }

    #[test]
    fn nonsense_gives_an_error_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for spec in &*builtin().unwrap().specs() {
            let error = call(&spec.name, &text).unwrap_err();
            prop_assert!(error.message.starts_with("invalid_arguments: "), "{}", error.message);
        }
    }

    #[test]
    fn invalid_fields_give_an_error_that_names_one(a in any::<String>(), b in r#"[\[{"0-9eE.,+\-:nul\]}]{0,20}"#) {
        let a = serde_json::to_string(&a).unwrap();
        for tool in ["add", "subtract", "multiply", "divide"] {
            if let Err(error) = call(tool, &format!(r#"{{"a":{a},"b":{b}}}"#)) {
                prop_assert!(error.message.starts_with("invalid_"), "{}", error.message);
                prop_assert!(error.message.chars().count() < 400);
            }
        }
    }

    #[test]
    fn any_expression_gives_a_number_or_a_reason(
        expression in r"([0-9.]{1,3}|e|E|1e9|[-+*/%^(),]| |\t|sin|max\(|sqrt|pi|_a|\*\*|！|×|あ|\PC){0,40}",
    ) {
        let input = serde_json::json!({ "expression": expression }).to_string();
        match call("evaluate", &input) {
            Ok(output) => {
                let value: f64 = output.strip_suffix(" (floating point)").unwrap().parse().unwrap();
                prop_assert!(value.is_finite());
            }
            Err(error) => prop_assert!(error.message.starts_with("invalid_expression: "), "{}", error.message),
        }
    }

    #[test]
    fn small_sums_agree_with_floating_point(a in -1000i32..1000, b in -1000i32..1000, c in 1i32..1000) {
        let input = format!(r#"{{"expression":"({a} + {b}) / {c} - {b}"}}"#);
        let expected = (f64::from(a) + f64::from(b)) / f64::from(c) - f64::from(b);
        let output = call("evaluate", &input).unwrap();
        let value: f64 = output.split(' ').next().unwrap().parse().unwrap();
        prop_assert_eq!(value.to_bits(), expected.to_bits());
    }
}
