//! The tool `evaluate`: evaluates expressions with functions, powers and parentheses in floating point. `meval`
//! tokenizes and orders them and supplies the functions. This module checks what `meval` does not: length, nesting, and
//! values beyond `f64`.

use meval::{
    Context, ContextProvider, FuncEvalError,
    shunting_yard::to_rpn,
    tokenizer::{Operation, ParseError, Token, tokenize},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Tool, ToolError, ToolOutput,
    notation::{plain, shortened},
};

const MAX_CHARS: usize = 1_000;
const MAX_NESTING: usize = 100;
const FUNCTIONS: &str = "sqrt cbrt exp ln log2 log10 abs sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh \
    atan2 floor ceil round signum min max";

const TOO_SMALL: &str = "a step is too small for floating point, which begins near 5e-324";

/// The tool `evaluate`.
pub(crate) struct Evaluate;

/// Arguments of `evaluate`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The expression, for example "2^10 + sqrt(2) * sin(pi / 4)". At most 1000 characters.
    expression: String,
}

impl Tool for Evaluate {
    type Args = Args;

    const NAME: &'static str = "evaluate";
    const DESCRIPTION: &'static str = "Evaluates an expression in floating point (about 16 significant digits, so \
        0.1 + 0.2 gives 0.30000000000000004). Knows + - * / ^, % (remainder), parentheses, pi, e, and the functions \
        sqrt cbrt exp ln log2 log10 abs sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 floor ceil \
        round signum min max; angles are in radians. Use it for powers, roots and functions; for + - * / alone, add, \
        subtract, multiply and divide are exact.";
    const ALIASES: &'static [&'static str] = &["eval", "calc", "calculate", "calculator", "math", "compute"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { expression }: Args) -> Result<ToolOutput, ToolError> {
        let value = evaluate(&expression).map_err(|reason| ToolError::invalid("expression", reason))?;
        Ok(ToolOutput::text(format!("{} (floating point)", number_text(value))))
    }
}

fn evaluate(expression: &str) -> Result<f64, String> {
    let expression = rewrite_numbers(&prepare(expression)?)?;
    let tokens = tokenize(&expression).map_err(|error| match error {
        ParseError::UnexpectedToken(at) => {
            format!("not understood from {:?} on", shortened(expression.get(at..).unwrap_or(&expression)))
        }
        ParseError::MissingRParen(count) => format!("{count} closing parentheses are missing"),
        ParseError::MissingArgument => "ends where a number is expected".to_owned(),
    })?;
    compute(&to_rpn(&tokens).map_err(|_| "parentheses, commas and operators do not fit together".to_owned())?)
}

/// Rewrites the expression in ASCII and in the notation that `meval` reads. The error is the reason for refusing it.
fn prepare(expression: &str) -> Result<String, String> {
    if expression.chars().nth(MAX_CHARS).is_some() {
        return Err(format!("longer than {MAX_CHARS} characters"));
    }
    let text = expression.chars().map(plain).collect::<String>();
    let text = text.replace("**", "^").replace('π', "pi").replace('√', "sqrt");
    let text = text.trim();
    if text.is_empty() {
        return Err("the expression is empty".to_owned());
    }
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | ',' | '+' | '-' | '*' | '/' | '%' | '^' => {}
            c if c.is_whitespace() => {}
            '!' => return Err("there is no factorial; write the product".to_owned()),
            c => return Err(format!("{c:?} has no meaning here")),
        }
        if depth > MAX_NESTING {
            return Err(format!("parentheses are nested deeper than {MAX_NESTING}"));
        }
    }
    // `meval` accepts only single spaces, and panics on some white space at the end.
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Rewrites numbers that the other tools accept and `meval` does not, such as `.5`. Returns an error for unclear
/// numbers.
fn rewrite_numbers(expression: &str) -> Result<String, String> {
    let mut rewritten = String::with_capacity(expression.len());
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '0'..='9' | '.' => end_of_number(rest),
            // Digits in a name such as log2 are part of it.
            'a'..='z' | 'A'..='Z' | '_' => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            other => other.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        if matches!(first, '0'..='9' | '.') {
            check_number(token, after)?;
            if first == '.' {
                rewritten.push('0');
            }
        }
        rewritten.push_str(token);
        rest = after;
    }
    Ok(rewritten)
}

/// Returns where the number at the beginning of `text` ends: after digits, points and an exponent.
fn end_of_number(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let Some(exponent) = text[end..].strip_prefix(['e', 'E']) else { return end };
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() < digits.len() { text.len() - after.len() } else { end }
}

fn check_number(number: &str, after: &str) -> Result<(), String> {
    if number.parse::<f64>().is_err() {
        return Err(format!("{:?} is not a number", shortened(number)));
    }
    if vanishes(number) {
        return Err(TOO_SMALL.to_owned());
    }
    let is_whole = number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    let next = after.strip_prefix(',').unwrap_or_default();
    let digits = next.len() - next.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if is_whole && digits == 3 {
        let next = &next[..digits];
        return Err(format!(
            "\"{number},{next}\" may be one number or two; write {number}{next}, or \"{number}, {next}\" with a space"
        ));
    }
    Ok(())
}

/// Returns `true` if a literal other than zero underflows to zero.
fn vanishes(literal: &str) -> bool {
    let mantissa = literal.split(['e', 'E']).next().unwrap_or_default();
    mantissa.contains(|c: char| matches!(c, '1'..='9')) && literal.parse() == Ok(0.0)
}

/// Runs the operations one by one, to detect an infinity or a NaN before later operations hide it: 1/(1/0) is an error,
/// not 0.
fn compute(operations: &[Token]) -> Result<f64, String> {
    let context = context();
    let mut stack: Vec<f64> = Vec::new();
    for token in operations {
        let value = match token {
            Token::Number(value) => *value,
            Token::Var(name) => context
                .get_var(name)
                .ok_or_else(|| format!("unknown name {:?}; known are pi and e", shortened(name)))?,
            Token::Unary(operation) => {
                let operand = stack.pop().ok_or_else(missing_operand)?;
                if *operation == Operation::Minus { -operand } else { operand }
            }
            Token::Binary(operation) => {
                let right = stack.pop().ok_or_else(missing_operand)?;
                let left = stack.pop().ok_or_else(missing_operand)?;
                binary(*operation, left, right)?
            }
            Token::Func(name, count) => {
                let first = stack.len().checked_sub(count.unwrap_or(0)).ok_or_else(missing_operand)?;
                let value = call_function(&context, name, &stack[first..])?;
                stack.truncate(first);
                value
            }
            Token::LParen | Token::RParen | Token::Comma => return Err(missing_operand()),
        };
        if value.is_nan() {
            return Err("a step has no real result, such as the root of a negative number".to_owned());
        }
        if value.is_infinite() {
            return Err("a step is too large for floating point, which ends near 1.8e308".to_owned());
        }
        stack.push(value);
    }
    stack.pop().filter(|_| stack.is_empty()).ok_or_else(missing_operand)
}

fn missing_operand() -> String {
    "an operator or a function lacks an operand".to_owned()
}

fn binary(operation: Operation, left: f64, right: f64) -> Result<f64, String> {
    match operation {
        Operation::Div | Operation::Rem if right == 0.0 => Err("division by zero".to_owned()),
        Operation::Pow if left == 0.0 && right < 0.0 => Err("division by zero".to_owned()),
        Operation::Plus => Ok(left + right),
        Operation::Minus => Ok(left - right),
        Operation::Rem => Ok(left % right),
        Operation::Times if right == 0.0 => Ok(0.0),
        Operation::Times => visible(left, left * right),
        Operation::Div => visible(left, left / right),
        Operation::Pow => visible(left, left.powf(right)),
    }
}

/// Returns `result`, or an error if it underflowed: it is zero although the operand is not.
fn visible(operand: f64, result: f64) -> Result<f64, String> {
    if result == 0.0 && operand != 0.0 { Err(TOO_SMALL.to_owned()) } else { Ok(result) }
}

fn context() -> Context<'static> {
    let mut context = Context::new();
    context.func("cbrt", f64::cbrt).func("log2", f64::log2).func("log10", f64::log10);
    context
}

fn call_function(context: &Context<'_>, name: &str, arguments: &[f64]) -> Result<f64, String> {
    context.eval_func(name, arguments).map_err(|error| match error {
        FuncEvalError::UnknownFunction => format!("unknown function {:?}; known are {FUNCTIONS}", shortened(name)),
        FuncEvalError::NumberArgs(count) => format!("{name} takes {count} arguments, not {}", arguments.len()),
        FuncEvalError::TooFewArguments => format!("{name} needs more arguments than {}", arguments.len()),
        FuncEvalError::TooManyArguments => format!("{name} takes fewer arguments than {}", arguments.len()),
    })
}

/// Returns the shortest text that parses to the same value, in the notation of ECMAScript's `Number::toString`.
fn number_text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let plain = (1e-6..1e21).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}
