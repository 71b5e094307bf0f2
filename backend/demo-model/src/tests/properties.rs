//! Property tests, with random expressions and random text.

use bigdecimal::{BigDecimal, Zero as _};
use proptest::prelude::*;

use super::{Talk, answer};
use crate::expr::{Expr, Op};

/// Generates expressions that the tools compute exactly.
fn exact_expr() -> impl Strategy<Value = Expr> {
    let number = "(0|[1-9][0-9]{0,6})(\\.[0-9]{1,4})?".prop_map(Expr::Number);
    number.prop_recursive(5, 40, 2, |inner| {
        let op = prop_oneof![Just(Op::Add), Just(Op::Sub), Just(Op::Mul)];
        (op, inner.clone(), inner).prop_map(|(op, left, right)| Expr::binary(op, left, right))
    })
}

fn evaluate(expr: &Expr) -> BigDecimal {
    match expr {
        Expr::Number(text) => text.parse().unwrap(),
        Expr::Binary(op, left, right) => {
            let (left, right) = (evaluate(left), evaluate(right));
            match op {
                Op::Add => left + right,
                Op::Sub => left - right,
                Op::Mul => left * right,
                Op::Div | Op::Pow => panic!("not exact"),
            }
        }
        other => panic!("{other:?} is not exact"),
    }
}

fn result(answer: &str) -> BigDecimal {
    answer.split("**").nth(1).unwrap_or_else(|| panic!("no result in {answer:?}")).parse().unwrap()
}

proptest! {
    #[test]
    fn answers_are_exact_and_show_the_expression(expr in exact_expr()) {
        prop_assume!(!expr.is_bare());
        for question in [format!("What is {expr}?"), format!("{expr}を計算して")] {
            let turn = Talk::new().ask(&question);
            prop_assert_eq!(result(&turn.answer), evaluate(&expr), "{}", turn.answer);
            let shown = format!("{expr} = **");
            prop_assert!(turn.answer.contains(&shown), "{}", turn.answer);
        }
    }

    #[test]
    fn chains_of_words_are_exact(start in -999i64..1000, steps in prop::collection::vec((0..3, 0i64..1000), 1..8)) {
        let (mut english, mut japanese, mut expected) = (format!("start with {start}"), String::new(), BigDecimal::from(start));
        for (position, (verb, n)) in steps.into_iter().enumerate() {
            let subject = if position == 0 { start.to_string() } else { "それ".to_owned() };
            let (words, kana) = match verb {
                0 => (format!("add {n}"), format!("{subject}に{n}を足して、")),
                1 => (format!("subtract {n}"), format!("{subject}から{n}を引いて、")),
                _ => (format!("multiply by {n}"), format!("{subject}に{n}をかけて、")),
            };
            english = format!("{english}, then {words}");
            japanese += &kana;
            expected = match verb {
                0 => expected + n,
                1 => expected - n,
                _ => expected * n,
            };
        }
        prop_assert_eq!(result(&answer(&english)), expected.clone(), "{}", english);
        prop_assert_eq!(result(&answer(&japanese)), expected, "{}", japanese);
    }

    #[test]
    fn quotients_are_right(a in 1i64..1_000_000, b in 1i64..1_000_000, c in 1i64..1000) {
        let answer = answer(&format!("{a} / {b} / {c}"));
        let error = result(&answer) * b * c - a;
        prop_assert!((error * BigDecimal::new(1.into(), -30)).abs() <= a, "{}", answer);
    }

    #[test]
    fn any_text_is_answered(question in any::<String>()) {
        prop_assert!(!answer(&question).is_empty());
    }

    #[test]
    fn any_mixture_of_words_is_answered(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "1", "2.5", "-", "+", "×", "/", "^", "(", ")", "%", ",", ".", "。", "、", "?", " ", "x", "add", "subtract",
                "multiply by", "divide", "from", "to", "and", "then", "it", "half of", "sum of", "double", "squared", "sqrt",
                "of", "twenty", "million", "apples", "を", "と", "に", "から", "で", "の", "足して", "引く", "かける", "割って",
                "倍", "乗", "平方根", "半分", "それ", "して", "は", "三", "万", "りんご",
            ]),
            0..30,
        ),
        spaced in any::<bool>(),
    ) {
        let question = parts.join(if spaced { " " } else { "" });
        let mut talk = Talk::new();
        talk.ask("1 + 1");
        prop_assert!(!talk.ask(&question).answer.is_empty());
    }
}

#[test]
fn zero_is_a_number_too() {
    assert!(result(&answer("0 * 5")).is_zero());
}
