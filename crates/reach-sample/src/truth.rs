//! The faults of a collection and the cost of each, found by simulating the run without it.

use serde_json::{Map, Value, json};

use crate::clocks::Clocks;
use crate::error::Error;
use crate::fault::Fault;
use crate::options::Options;
use crate::simulation::simulate;
use crate::tables::RowCounts;

/// The costs of all faults, in milliseconds a step.
#[derive(Clone, Debug)]
pub struct Truth {
    /// A step with all faults.
    pub step_ms: f64,
    /// A step without any.
    pub step_without_faults_ms: f64,
    /// Each fault's cost, in the options' order.
    pub costs: Vec<Cost>,
}

/// The cost of a fault; the two figures differ where one fault hides another.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The fault.
    pub fault: Fault,
    /// By how many milliseconds a step is shorter without this fault and with all others.
    pub saves_ms: f64,
    /// By how many milliseconds a step is longer with this fault alone.
    pub alone_ms: f64,
}

impl Truth {
    /// Simulates the run with all faults, without any, and for each fault without it and with it alone.
    ///
    /// # Errors
    /// When the options don't go together.
    pub fn of(options: &Options) -> Result<Self, Error> {
        options.check()?;
        let mut runs = vec![options.faults.clone(), Vec::new()];
        for (number, fault) in options.faults.iter().enumerate() {
            let mut others = options.faults.clone();
            others.remove(number);
            runs.extend([others, vec![*fault]]);
        }
        let steps = options.steps as f64;
        let durations =
            opscope_parallel::map(&runs, |faults| simulate(options, faults, 0..0).duration / steps / 1e6);
        let (step_ms, step_without_faults_ms) = (durations[0], durations[1]);
        let costs = options.faults.iter().zip(durations[2..].chunks_exact(2));
        let costs = costs.map(|(fault, pair)| Cost {
            fault: *fault,
            saves_ms: step_ms - pair[0],
            alone_ms: pair[1] - step_without_faults_ms,
        });
        Ok(Self { step_ms, step_without_faults_ms, costs: costs.collect() })
    }

    /// The content of `truth.json`. Of several faults of a kind, the second is named with `_2`.
    pub(crate) fn json(&self, options: &Options, clocks: &Clocks, rows: &RowCounts) -> Value {
        let mut faults = Map::new();
        let mut costs = Map::new();
        for key in ["slow_rank", "slow_link", "hot_expert", "ai_cpu", "late_host"] {
            faults.insert(key.to_owned(), Value::Null);
        }
        for (number, cost) in self.costs.iter().enumerate() {
            let fault = cost.fault;
            let before = self.costs[..number].iter().filter(|other| other.fault.key() == fault.key()).count();
            let suffix = if before > 0 { format!("_{}", before + 1) } else { String::new() };
            let key = format!("{}{suffix}", fault.key());
            let ranks = fault.ranks();
            let who = if ranks.len() == 1 { json!(ranks[0]) } else { json!(ranks) };
            faults.insert(key.clone(), who);
            let cost = json!({
                "name": fault.name(),
                "ranks": ranks,
                "value": fault.value(),
                "without_it_saves_ms": rounded(cost.saves_ms),
                "alone_costs_ms": rounded(cost.alone_ms),
            });
            costs.insert(key, cost);
        }
        let layout = &options.layout;
        let damages: Vec<String> =
            options.damages.iter().map(|(damage, rank)| format!("{damage}={rank}")).collect();
        json!({
            "ranks": layout.ranks(),
            "layout": {"tp": layout.tensor, "pp": layout.pipeline, "dp": layout.data, "ep": layout.expert},
            "devices_per_host": options.devices_per_host,
            "layers": options.layers,
            "microbatches": options.microbatches,
            "steps": options.steps,
            "warm_up": options.warm_up,
            "seed": options.seed,
            "faults": faults,
            "costs": {
                "step_ms": rounded(self.step_ms),
                "step_without_faults_ms": rounded(self.step_without_faults_ms),
                "faults": costs,
            },
            "damage": damages.join(","),
            "clock_offset_ns": clocks.offsets_ns,
            "clock_drift": clocks.drifts,
            "rows": {
                "tasks": rows.tasks,
                "communication_tasks": rows.communication_tasks,
                "operators": rows.operators,
                "collectives": rows.collectives,
            },
        })
    }
}

/// To a microsecond.
fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::Truth;
    use crate::fault::Fault;
    use crate::layout::Layout;
    use crate::options::Options;

    #[test]
    fn faults_cost_what_they_cost_elsewhere() {
        // The same run simulated by another program, with random numbers of its own.
        let truth = Truth::of(&Options::new(Layout::of(64).unwrap())).unwrap();
        let near = |found: f64, expected: f64, within: f64| {
            assert!((found - expected).abs() < within, "{found} is not {expected}");
        };
        near(truth.step_ms, 278.3, 2.8);
        near(truth.step_without_faults_ms, 188.8, 1.9);
        // The mean of four seeds, which differ by up to 3 ms.
        let elsewhere = [(1.7, 15.9), (29.6, 31.7), (0.0, 30.8), (26.9, 47.0), (8.9, 8.8)];
        for (cost, (saves, alone)) in truth.costs.iter().zip(elsewhere) {
            near(cost.saves_ms, saves, 3.0);
            near(cost.alone_ms, alone, 3.0);
        }
    }

    #[test]
    fn a_fault_that_costs_nothing_has_the_truth_0() {
        let options = |fault| Options { faults: vec![fault], ..Options::new(Layout::of(64).unwrap()) };
        // As fast as any other, between hosts and within one; no longer, and no later.
        for fault in ["slow-link=0-4:1", "slow-link=0-1:1", "low-frequency=3:1", "late-input=3:0us"] {
            let truth = Truth::of(&options(fault.parse::<Fault>().unwrap())).unwrap();
            assert_eq!((truth.costs[0].saves_ms, truth.costs[0].alone_ms), (0.0, 0.0), "{fault}");
            assert_eq!(truth.step_ms, truth.step_without_faults_ms);
        }
    }

    #[test]
    fn a_fault_alone_saves_what_it_costs() {
        for fault in ["slow-link=0-28", "ai-cpu=9", "late-input=40:20ms"] {
            let faults = vec![fault.parse::<Fault>().unwrap()];
            let truth = Truth::of(&Options { faults, ..Options::new(Layout::of(64).unwrap()) }).unwrap();
            let cost = truth.costs[0];
            assert!(cost.saves_ms > 1.0 && (cost.saves_ms - cost.alone_ms).abs() < 1e-9, "{cost:?}");
        }
    }
}
