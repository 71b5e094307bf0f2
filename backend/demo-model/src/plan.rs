//! Plans the next step: which tool calls an expression needs, which of them have results, and which can run now. The
//! only state is the history, in which a call is identified by its tool and its arguments.

use std::collections::HashMap;

use super::expr::{Expr, Op};

/// A tool call, by its name and arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    /// The name of the tool.
    pub(crate) tool: &'static str,
    /// The arguments as JSON text.
    pub(crate) input: String,
    /// The call as an answer shows it: `5 ÷ 0`.
    pub(crate) shown: String,
}

/// Results of the calls so far, by tool and arguments. An error is the tool's own text.
pub(crate) type Outcomes = HashMap<(String, String), Result<String, String>>;

/// The state of an expression's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// The number, in JSON's notation.
    Known(String),
    /// Unknown until the wanted calls have results.
    Pending,
    /// A call that the expression needs has failed.
    Failed {
        /// The call as an answer shows it.
        shown: String,
        /// The reason, in the tool's words.
        reason: String,
    },
}

/// Returns the value of an expression, if it is known, and the calls that can run now, each once.
pub(crate) fn next_calls(expr: &Expr, outcomes: &Outcomes) -> (Value, Vec<Call>) {
    let mut planner = Planner { outcomes, wanted: Vec::new() };
    let value = planner.value(expr);
    let wanted = if value == Value::Pending { planner.wanted } else { Vec::new() };
    (value, wanted)
}

struct Planner<'a> {
    outcomes: &'a Outcomes,
    wanted: Vec<Call>,
}

impl Planner<'_> {
    fn value(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Number(text) => Value::Known(text.clone()),
            Expr::Pi => self.call(evaluation("pi", "π")),
            Expr::Negative(inner) => {
                let inner = self.value(inner);
                self.operation(Op::Sub, Value::Known("0".to_owned()), inner)
            }
            Expr::Percent(inner) => {
                let inner = self.value(inner);
                self.operation(Op::Div, inner, Value::Known("100".to_owned()))
            }
            Expr::Call(name, inner) => match self.value(inner) {
                Value::Known(argument) => {
                    let text = format!("{name}({argument})");
                    self.call(evaluation(&text, &text))
                }
                other => other,
            },
            Expr::Binary(Op::Pow, base, exponent) => self.power(base, exponent),
            Expr::Binary(op @ (Op::Add | Op::Sub), left, right) if matches!(**right, Expr::Percent(_)) => {
                let left = self.value(left);
                let share = self.value(right);
                let share = self.operation(Op::Mul, left.clone(), share);
                self.operation(*op, left, share)
            }
            Expr::Binary(op, left, right) => self.chain(expr).unwrap_or_else(|| {
                let left = self.value(left);
                let right = self.value(right);
                self.operation(*op, left, right)
            }),
        }
    }

    /// Builds squares and cubes as products, which are exact, and other powers in floating point.
    fn power(&mut self, base: &Expr, exponent: &Expr) -> Value {
        let base = self.value(base);
        if let Some(factors) = exponent.product_of() {
            let square = self.operation(Op::Mul, base.clone(), base.clone());
            return if factors == 2 { square } else { self.operation(Op::Mul, square, base) };
        }
        match (base, self.value(exponent)) {
            (Value::Known(base), Value::Known(exponent)) => {
                let base = if base.starts_with('-') { format!("({base})") } else { base };
                let text = format!("{base}^{exponent}");
                self.call(evaluation(&text, &text))
            }
            (failed @ Value::Failed { .. }, _) | (_, failed @ Value::Failed { .. }) => failed,
            _ => Value::Pending,
        }
    }

    /// Combines four or more terms of a sum, or factors of a product, in pairs, so that many of them take few steps.
    /// Subtracted terms are added up and subtracted at the end; divisors likewise. Returns `None` for fewer operands
    /// and for other expressions.
    fn chain(&mut self, expr: &Expr) -> Option<Value> {
        let Expr::Binary(op, ..) = expr else { return None };
        let (forward, backward) = match op {
            Op::Add | Op::Sub => (Op::Add, Op::Sub),
            Op::Mul | Op::Div => (Op::Mul, Op::Div),
            Op::Pow => return None,
        };
        let (mut plus, mut minus) = (Vec::new(), Vec::new());
        let mut rest = expr;
        while let Expr::Binary(op, left, right) = rest
            && (*op == forward || *op == backward)
            && !matches!((op, &**right), (Op::Add | Op::Sub, Expr::Percent(_)))
        {
            if *op == forward {
                plus.push(&**right);
            } else {
                minus.push(&**right);
            }
            rest = left;
        }
        plus.push(rest);
        if plus.len() + minus.len() < 4 {
            return None;
        }
        let plus = self.in_pairs(forward, &plus)?;
        Some(match self.in_pairs(forward, &minus) {
            Some(minus) => self.operation(backward, plus, minus),
            None => plus,
        })
    }

    /// Combines expressions that were collected from right to left. Returns `None` if there are none.
    fn in_pairs(&mut self, op: Op, exprs: &[&Expr]) -> Option<Value> {
        let mut values: Vec<Value> = exprs.iter().rev().map(|expr| self.value(expr)).collect();
        while values.len() > 1 {
            let mut halved = Vec::with_capacity(values.len().div_ceil(2));
            let mut rest = values.into_iter();
            while let Some(left) = rest.next() {
                halved.push(match rest.next() {
                    Some(right) => self.operation(op, left, right),
                    None => left,
                });
            }
            values = halved;
        }
        values.pop()
    }

    fn operation(&mut self, op: Op, left: Value, right: Value) -> Value {
        match (left, right) {
            (Value::Known(a), Value::Known(b)) => {
                let tool = match op {
                    Op::Add => "add",
                    Op::Sub => "subtract",
                    Op::Mul => "multiply",
                    Op::Div => "divide",
                    Op::Pow => "evaluate",
                };
                let b_shown = if b.starts_with('-') { format!("({b})") } else { b.clone() };
                let shown = format!("{a}{}{b_shown}", op.sign());
                self.call(Call { tool, input: format!(r#"{{"a":{a},"b":{b}}}"#), shown })
            }
            (failed @ Value::Failed { .. }, _) | (_, failed @ Value::Failed { .. }) => failed,
            _ => Value::Pending,
        }
    }

    fn call(&mut self, call: Call) -> Value {
        match self.outcomes.get(&(call.tool.to_owned(), call.input.clone())) {
            Some(Ok(number)) => Value::Known(number.clone()),
            Some(Err(reason)) => Value::Failed { shown: call.shown, reason: reason.clone() },
            None => {
                if !self.wanted.contains(&call) {
                    self.wanted.push(call);
                }
                Value::Pending
            }
        }
    }
}

/// Creates a call of `evaluate`. The text contains only names, numbers and signs, so it needs no escaping.
fn evaluation(text: &str, shown: &str) -> Call {
    Call { tool: "evaluate", input: format!(r#"{{"expression":"{text}"}}"#), shown: shown.to_owned() }
}
