//! The protocol's side of the server: calls become work beside the thread that speaks, with an end for each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::{Semaphore, mpsc};

use super::session::{Call, Session};
use super::tools::{self, Offer};
use super::{documents, prompts};
use crate::exit::with_causes;

const INSTRUCTIONS: &str = "\
opscope says why a neural network's inference is slow. A profile is a file or folder that a profiler wrote: raw \
directories of Ascend (PROF_*), what its tools export, timelines in Chrome's format, ONNX Runtime's and PyTorch's \
profiles, boards' directories (JOB*), and opscope's own databases. Call info without a path to see what can be \
read, then open, analyze and advise. Times are nanoseconds (_ns), sizes bytes, shares from 0 to 1; null is unknown. \
Answers come in pages: page.next_offset is the offset of the next one. losses says what was lost of a profile: \
mention them where they make a figure doubtful. A finding's saves_at_most_ns is a bound, not a promise.";

/// How many calls are worked on at the same time.
const MOST_CALLS: usize = 8;

/// How often a call's end is looked at that its work doesn't keep to.
const TICK: Duration = Duration::from_millis(100);

/// The server.
pub struct Server {
    session: Arc<Session>,
    turns: Arc<Semaphore>,
}

/// Ends the work of a call that nobody waits for any more.
struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Server {
    /// One that answers from a session.
    pub fn new(session: Session) -> Self {
        Self { session: Arc::new(session), turns: Arc::new(Semaphore::new(MOST_CALLS)) }
    }

    /// Answers a call beside this thread, and tells its steps meanwhile.
    async fn answer(
        &self,
        tool: &'static Offer,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let cancelled = || ErrorData::internal_error("the call was cancelled", None);
        let turn = tokio::select! {
            () = context.ct.cancelled() => return Err(cancelled()),
            turn = Arc::clone(&self.turns).acquire_owned() => turn,
        };
        let (steps, mut told) = mpsc::unbounded_channel::<String>();
        let is_over = Arc::new(AtomicBool::new(false));
        let _end = EndOnDrop(Arc::clone(&is_over));
        let step = Arc::new(move |name: &str| drop(steps.send(name.to_owned())));
        let late = Arc::new(OnceLock::new());
        let call = Call { is_over, late: Arc::clone(&late), step };
        let session = Arc::clone(&self.session);
        let arguments = request.arguments.unwrap_or_default();
        let mut work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            tool.answer(arguments, &session, &call)
        });
        let token = context.meta.get_progress_token();
        let mut done = 0.0;
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => return Err(cancelled()),
                Some(name) = told.recv() => {
                    done += 1.0;
                    if let Some(token) = token.clone() {
                        let told = ProgressNotificationParam::new(token, done).with_message(name);
                        // A client that can't be told will find out by itself.
                        drop(context.peer.notify_progress(told).await);
                    }
                }
                answered = &mut work => {
                    let text = match answered {
                        Ok(Ok(text)) => return Ok(CallToolResult::success(vec![ContentBlock::text(text)])),
                        Ok(Err(error)) => with_causes(&error),
                        Err(_) => "this answer failed by a fault of opscope's; standard error has it".to_owned(),
                    };
                    return Ok(CallToolResult::error(vec![ContentBlock::text(text)]));
                }
                () = tokio::time::sleep(TICK) => {
                    if late.get().is_some_and(|late| Instant::now() >= *late) {
                        let text = "it took longer than it may, and is no longer waited for (timeout_seconds)";
                        return Ok(CallToolResult::error(vec![ContentBlock::text(text)]));
                    }
                }
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let program = Implementation::new("opscope", env!("CARGO_PKG_VERSION"))
            .with_title("opscope: why inference is slow");
        ServerConfig::new(capabilities).with_server_info(program).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::ALL.iter().map(Offer::tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        Offer::find(name).map(Offer::tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Offer::find(&request.name) else {
            let names: Vec<String> = tools::ALL.iter().map(|tool| tool.tool().name.into_owned()).collect();
            let text = format!("there is no tool '{}'; there are: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        };
        Ok(self.answer(tool, request, context).await?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(documents::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(documents::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing = || {
            let text = format!("there is no resource {}; resources/list names them", request.uri);
            ErrorData::resource_not_found(text, None)
        };
        let text = documents::read(&request.uri).ok_or_else(missing)?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri.clone())]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let prompt = prompts::get(&request.name, &arguments);
        prompt.map(Into::into).map_err(|text| ErrorData::invalid_params(text, None))
    }
}
