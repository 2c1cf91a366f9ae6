//! How much a profile holds, in a fraction of the time that a trace of it takes.

use opscope_cann_raw::host::level;

use crate::facts::calls::call_name;
use crate::facts::collectives::Collectives;
use crate::facts::marks::executed_marks;
use crate::facts::view::View;
use crate::join::Joined;
use crate::parallel;
use opscope_trace::LossKind;

/// Whether a call of this name, of AscendCL or the model's layer, loads a model.
pub fn is_model_load(name: &str) -> bool {
    name.contains("ModelLoad") || name.starts_with("aclmdlLoad")
}

/// How much a profile holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Tasks that results show.
    pub tasks: usize,
    /// Tasks that no result shows because of their times.
    pub tasks_before_begin: u64,
    /// Calls of the host.
    pub calls: usize,
    /// Whether a call launched one of the tasks.
    pub has_launches: bool,
    /// Whether the host loaded a model.
    pub loads_model: bool,
}

impl Outline {
    /// That of a profile.
    pub fn of(joined: &Joined) -> Self {
        let view = View::whole(joined);
        let tasks = view.tasks();
        let launched = parallel::column(tasks.len(), |places, launched| {
            let shown =
                tasks[places].iter().filter(|task| !view.device(**task).is_doubled(task.task as usize));
            launched.extend(shown.map(|task| view.host_task(*task).is_some_and(|host| host.call.is_some())));
        });
        let api = &joined.data.host.api;
        let mut calls = (0..api.len()).filter(|&row| matches!(api.level()[row], level::ACL | level::MODEL));
        let copies: usize = view.devices.iter().map(|device| device.joined.copies.len()).sum();
        let collectives = Collectives::new(&view).operations.len();
        Self {
            tasks: launched.len() + copies + collectives + executed_marks(&view).len(),
            tasks_before_begin: joined.all_losses().total(LossKind::TimeBeforeStart),
            calls: api.len() + joined.data.host.os_calls.table.len(),
            has_launches: launched.contains(&true),
            loads_model: calls.any(|row| is_model_load(call_name(&view, &api.row(row)))),
        }
    }

    /// How many rows tables of tasks and calls have.
    pub fn rows(&self) -> usize {
        self.tasks + self.calls
    }
}
