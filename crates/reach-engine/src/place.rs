//! Where plans are carried out: by the threads of this process, or by others.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::future::BoxFuture;

use crate::error::EngineError;

/// A place where plans are carried out.
pub(crate) trait Place {
    /// A session whose plans are carried out there.
    fn session(&self, config: SessionConfig, environment: Arc<RuntimeEnv>) -> Result<SessionContext>;

    /// Follows the plan that is carried out next.
    fn course(&self) -> Arc<dyn Course>;
}

/// The course that one plan takes, as far as it isn't this process's own.
pub(crate) trait Course: Send + Sync {
    /// Learns of the plan, which is carried out from now on.
    fn begin(&self, plan: &Arc<dyn ExecutionPlan>);

    /// Waits until it is known that no rows will come, though nothing failed, and says why. It waits for ever where
    /// rows come, and where that can't be known.
    fn stuck(&self) -> BoxFuture<'static, EngineError>;

    /// Ends what goes on elsewhere, because nobody wants the rows any more. It takes seconds at most.
    fn give_up(&self);

    /// The reason why a plan that is carried out elsewhere has no more rows, given the message that came of it.
    fn failure(&self, message: &str) -> Option<EngineError>;
}

/// This process.
pub(crate) struct Here;

impl Place for Here {
    fn session(&self, config: SessionConfig, environment: Arc<RuntimeEnv>) -> Result<SessionContext> {
        Ok(SessionContext::new_with_config_rt(config, environment))
    }

    fn course(&self) -> Arc<dyn Course> {
        Arc::new(Self)
    }
}

impl Course for Here {
    fn begin(&self, _: &Arc<dyn ExecutionPlan>) {}

    fn stuck(&self) -> BoxFuture<'static, EngineError> {
        Box::pin(std::future::pending())
    }

    fn give_up(&self) {}

    fn failure(&self, _: &str) -> Option<EngineError> {
        None
    }
}
