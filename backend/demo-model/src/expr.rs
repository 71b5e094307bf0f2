//! What a question comes down to: expressions, and how they are written in an answer. Nothing here computes.

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
}

impl Op {
    /// The sign between the operands.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => " + ",
            Self::Sub => " − ",
            Self::Mul => " × ",
            Self::Div => " ÷ ",
            Self::Pow => "^",
        }
    }

    /// How strongly it binds.
    pub(super) fn strength(self) -> u8 {
        match self {
            Self::Add | Self::Sub => 1,
            Self::Mul | Self::Div => 2,
            Self::Pow => 4,
        }
    }
}

/// An expression as a person meant it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// A number in JSON's notation, otherwise as it was written.
    Number(String),
    /// The circle's constant.
    Pi,
    /// So many hundredths; after a plus or minus, of what stands before it.
    Percent(Box<Expr>),
    /// The same with the other sign.
    Negative(Box<Expr>),
    /// Two operands and what is done with them.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// A function, by the name that `evaluate` knows.
    Call(&'static str, Box<Expr>),
}

impl Expr {
    /// Two operands and what is done with them.
    pub(super) fn binary(op: Op, left: Expr, right: Expr) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    /// A whole number that a word stands for.
    pub(super) fn whole(number: &str) -> Self {
        Self::Number(number.to_owned())
    }

    /// Whether there is nothing to compute.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Pi)
    }

    /// How many parts it has.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Number(_) | Self::Pi => 1,
            Self::Percent(inner) | Self::Negative(inner) | Self::Call(_, inner) => 1 + inner.size(),
            Self::Binary(_, left, right) => 1 + left.size() + right.size(),
        }
    }

    /// Whether computing it takes floating point. Squares and cubes are products.
    pub(super) fn is_floating(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Pi | Self::Call(..) => true,
            Self::Percent(inner) | Self::Negative(inner) => inner.is_floating(),
            Self::Binary(Op::Pow, base, exponent) => exponent.product_of().is_none() || base.is_floating(),
            Self::Binary(_, left, right) => left.is_floating() || right.is_floating(),
        }
    }

    /// As an exponent, how many factors it asks for, if few.
    pub(super) fn product_of(&self) -> Option<u8> {
        match self {
            Self::Number(text) if text == "2" => Some(2),
            Self::Number(text) if text == "3" => Some(3),
            _ => None,
        }
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Number(text) if text.starts_with('-') => 3,
            Self::Number(_) | Self::Pi | Self::Call(..) | Self::Percent(_) => 5,
            Self::Negative(_) => 3,
            Self::Binary(op, ..) => op.strength(),
        }
    }

    fn write(&self, f: &mut std::fmt::Formatter<'_>, in_parentheses: bool) -> std::fmt::Result {
        if in_parentheses { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(text) => f.write_str(text),
            Self::Pi => f.write_str("π"),
            Self::Call(name, inner) => write!(f, "{name}({inner})"),
            Self::Percent(inner) => {
                inner.write(f, inner.strength() < 5)?;
                f.write_str("%")
            }
            Self::Negative(inner) => {
                f.write_str("−")?;
                inner.write(f, inner.strength() < 4)
            }
            Self::Binary(op, left, right) => {
                let strength = op.strength();
                // Powers group from the right, all others from the left; a sign inside is set off.
                let (left_needs, right_needs) = match op {
                    Op::Pow => (left.strength() <= strength, right.strength() < strength),
                    _ => (left.strength() < strength, right.strength() <= strength || right.strength() == 3),
                };
                left.write(f, left_needs)?;
                f.write_str(op.sign())?;
                right.write(f, right_needs)
            }
        }
    }
}
