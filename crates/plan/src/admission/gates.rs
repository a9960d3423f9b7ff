//! Feature gates, under upstream's names and with upstream's defaults, but for the taints of pool
//! templates: Machines carry them to their Nodes.

use std::{collections::BTreeMap, fmt, str::FromStr};

/// A feature that can be turned on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// MachinePools may be created. On.
    MachinePool,
    /// ClusterClasses and Clusters with a topology may be created. Off.
    ClusterTopology,
    /// Machines and pool templates may carry taints. On.
    MachineTaintPropagation,
}

impl Gate {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::MachinePool,
        Self::ClusterTopology,
        Self::MachineTaintPropagation,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MachinePool => "MachinePool",
            Self::ClusterTopology => "ClusterTopology",
            Self::MachineTaintPropagation => "MachineTaintPropagation",
        }
    }

    /// What holds without a setting.
    pub fn default_value(self) -> bool {
        matches!(self, Self::MachinePool | Self::MachineTaintPropagation)
    }

    /// What a person is told who needs it on.
    pub fn remedy(self) -> String {
        format!(
            "the feature gate {0} is off; turn it on with --feature-gates={0}=true",
            self.name()
        )
    }
}

/// Which gates are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(BTreeMap<Gate, bool>);

impl Gates {
    /// Whether a gate is on.
    pub fn is_on(&self, gate: Gate) -> bool {
        self.0
            .get(&gate)
            .copied()
            .unwrap_or_else(|| gate.default_value())
    }

    /// The same gates with one set.
    #[must_use]
    pub fn with(mut self, gate: Gate, on: bool) -> Self {
        self.0.insert(gate, on);
        self
    }
}

impl fmt::Display for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, gate) in Gate::ALL.into_iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", gate.name(), self.is_on(gate))?;
        }
        Ok(())
    }
}

impl FromStr for Gates {
    type Err = String;

    /// Reads `MachinePool=true,ClusterTopology=false`; a name alone turns its gate on.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut gates = Self::default();
        for setting in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
            let gate = Gate::ALL
                .into_iter()
                .find(|gate| gate.name() == name.trim())
                .ok_or_else(|| {
                    let known = Gate::ALL.map(Gate::name).join(", ");
                    format!("{name:?} is no feature gate; there are {known}")
                })?;
            let on = value
                .trim()
                .to_ascii_lowercase()
                .parse()
                .map_err(|_| format!("{name} is set to {value:?}: it must be true or false"))?;
            gates = gates.with(gate, on);
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_as_people_write_them() {
        let gates: Gates = "MachinePool=false, ClusterTopology"
            .parse()
            .unwrap_or_default();
        assert!(!gates.is_on(Gate::MachinePool));
        assert!(gates.is_on(Gate::ClusterTopology));
        assert!(gates.is_on(Gate::MachineTaintPropagation));
        assert_eq!(
            gates.to_string(),
            "MachinePool=false,ClusterTopology=true,MachineTaintPropagation=true"
        );
        assert_eq!(
            gates.to_string().parse(),
            Ok(gates.with(Gate::MachineTaintPropagation, true))
        );
        assert_eq!("".parse(), Ok(Gates::default()));
        assert!(
            "Nothing=true"
                .parse::<Gates>()
                .is_err_and(|why| why.contains("ClusterTopology"))
        );
        assert!("MachinePool=perhaps".parse::<Gates>().is_err());
    }
}
