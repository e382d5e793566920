//! What an objective has beside its data.

/// The numbers of an objective (docs/method.md eq. I1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setting {
    /// The weight of the regulariser.
    pub(super) lambda: f64,
    /// What an absent cell counts against one that is there.
    pub(super) absent: f64,
    /// How strongly rows of contexts are held at 1, against `lambda`; where it is infinite they are 1.
    pub(super) context: f64,
    /// What coupled matrices count, times the weight that each has.
    pub(super) couple: f64,
}

impl Setting {
    pub(super) const LEN: usize = 4;

    pub(super) fn numbers(self) -> [f64; Setting::LEN] {
        [self.lambda, self.absent, self.context, self.couple]
    }

    pub(super) fn from_numbers([lambda, absent, context, couple]: [f64; Setting::LEN]) -> Self {
        Setting { lambda, absent, context, couple }
    }
}
