//! Dimensions of units, as powers of the base units.

use std::fmt;

/// Symbols of the base units, in the order of the exponents in [`Dimension`].
const BASE_UNITS: [&str; 8] = ["kg", "m", "s", "K", "rad", "bit", "A", "mol"];

/// Exponents of the base units. Unlike in the SI, angles and data have dimensions, so that they convert to nothing
/// else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dimension([i32; 8]);

const fn mechanical(mass: i32, length: i32, time: i32) -> Dimension {
    Dimension([mass, length, time, 0, 0, 0, 0, 0])
}

pub(crate) const MASS: Dimension = mechanical(1, 0, 0);
pub(crate) const LENGTH: Dimension = mechanical(0, 1, 0);
pub(crate) const AREA: Dimension = mechanical(0, 2, 0);
pub(crate) const VOLUME: Dimension = mechanical(0, 3, 0);
pub(crate) const TIME: Dimension = mechanical(0, 0, 1);
pub(crate) const FREQUENCY: Dimension = mechanical(0, 0, -1);
pub(crate) const SPEED: Dimension = mechanical(0, 1, -1);
pub(crate) const ACCELERATION: Dimension = mechanical(0, 1, -2);
pub(crate) const FLOW: Dimension = mechanical(0, 3, -1);
/// Distance per volume of fuel.
pub(crate) const FUEL_ECONOMY: Dimension = mechanical(0, -2, 0);
pub(crate) const FORCE: Dimension = mechanical(1, 1, -2);
pub(crate) const PRESSURE: Dimension = mechanical(1, -1, -2);
/// Energy and torque, which the SI does not distinguish.
pub(crate) const ENERGY: Dimension = mechanical(1, 2, -2);
pub(crate) const POWER: Dimension = mechanical(1, 2, -3);
pub(crate) const TEMPERATURE: Dimension = Dimension([0, 0, 0, 1, 0, 0, 0, 0]);
pub(crate) const ANGLE: Dimension = Dimension([0, 0, 0, 0, 1, 0, 0, 0]);
pub(crate) const ANGULAR_SPEED: Dimension = Dimension([0, 0, -1, 0, 1, 0, 0, 0]);
pub(crate) const DATA: Dimension = Dimension([0, 0, 0, 0, 0, 1, 0, 0]);
pub(crate) const DATA_RATE: Dimension = Dimension([0, 0, -1, 0, 0, 1, 0, 0]);
pub(crate) const CURRENT: Dimension = Dimension([0, 0, 0, 0, 0, 0, 1, 0]);
pub(crate) const CHARGE: Dimension = Dimension([0, 0, 1, 0, 0, 0, 1, 0]);
pub(crate) const VOLTAGE: Dimension = Dimension([1, 2, -3, 0, 0, 0, -1, 0]);
pub(crate) const RESISTANCE: Dimension = Dimension([1, 2, -3, 0, 0, 0, -2, 0]);
pub(crate) const AMOUNT: Dimension = Dimension([0, 0, 0, 0, 0, 0, 0, 1]);

impl Dimension {
    /// Multiplies by `other^exponent`.
    pub(crate) fn times_power(&mut self, other: Self, exponent: i32) {
        for (own, others) in self.0.iter_mut().zip(other.0) {
            *own += others * exponent;
        }
    }
}

impl fmt::Display for Dimension {
    /// Writes for example `kg m^2 s^-2`, or `1` for a plain number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (unit, exponent) in BASE_UNITS.into_iter().zip(self.0) {
            match exponent {
                0 => continue,
                1 => write!(f, "{separator}{unit}")?,
                _ => write!(f, "{separator}{unit}^{exponent}")?,
            }
            separator = " ";
        }
        if separator.is_empty() { f.write_str("1") } else { Ok(()) }
    }
}
