//! The server: listens on this machine alone, speaks HTTP within limits, ends when it is told to.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::guard::{self, Door};
use crate::ranks::{self, RanksLoader};
use crate::routes::{self, Refusal};
use crate::session::{Loader, Session};

/// The first port that is tried, and how many.
const FIRST_PORT: u16 = 8420;
const PORTS: u16 = 100;

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 64;

/// How long a head may take to come, and an answer to be made.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether the server is to end.
const LOOK: Duration = Duration::from_millis(50);

/// How long answers that are under way may take when the server ends.
const GRACE: Duration = Duration::from_millis(500);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port that was asked for can't be had.
    #[error(
        "port {port} can't be listened on: {source}; --port names another, and without it the first free one from {FIRST_PORT} on is taken"
    )]
    Port {
        /// Its number.
        port: u16,
        /// The system's reason.
        source: io::Error,
    },
    /// None of the usual ports can be had.
    #[error("none of the ports {FIRST_PORT} to {last} can be listened on: {source}; name one with --port", last = FIRST_PORT + PORTS - 1)]
    Ports {
        /// The system's reason for the last of them.
        source: io::Error,
    },
    /// The system has no random numbers, without which nobody could be kept out.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// The system refuses what every server needs.
    #[error("the server can't begin: {0}")]
    System(#[from] io::Error),
}

/// Why a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to.
    Told,
    /// Nobody asked for long enough.
    Idle,
}

/// A server that listens already, and begins to answer with [`Server::run`].
///
/// ```
/// use std::sync::Arc;
///
/// use opscope_web::{Ended, Loader, Problem, Reading, Server, Subject};
///
/// struct Nothing;
/// impl Loader for Nothing {
///     fn names(&self) -> Vec<String> {
///         Vec::new()
///     }
///     fn load(&self, _: usize, _: &Arc<Reading>) -> Result<Box<dyn Subject>, Problem> {
///         unreachable!("there is no profile")
///     }
/// }
///
/// let server = Server::bind(Some(0))?;
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// assert_eq!(server.run(Nothing, || true, None)?, Ended::Told);
/// # Ok::<(), opscope_web::ServerError>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    door: Door,
    /// How long a head may take to come, and an answer to be made.
    patience: Duration,
}

impl Server {
    /// Listens on this machine's own addresses: on the port that is asked for (0 is any free one), else on the first free
    /// one from 8420 on.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn bind(port: Option<u16>) -> Result<Self, ServerError> {
        let (listeners, port) = match port {
            Some(port) => listen(port).map_err(|source| ServerError::Port { port, source })?,
            None => {
                let mut tried = (FIRST_PORT..FIRST_PORT + PORTS).map(listen);
                let mut problem = io::Error::from(io::ErrorKind::AddrInUse);
                let found = tried.find_map(|listening| listening.map_err(|error| problem = error).ok());
                found.ok_or(ServerError::Ports { source: problem })?
            }
        };
        Ok(Self { listeners, door: Door::new(port).map_err(ServerError::Random)?, patience: PATIENCE })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.door.port
    }

    /// The address to open, with the token of this run behind the `#`, which browsers send to nobody.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.door.port, self.door.token)
    }

    /// Reads the profiles in the background and answers until `stop` says so, or nobody has asked for as long as `idle`.
    ///
    /// # Errors
    /// When the system refuses what every server needs.
    pub fn run(
        self,
        loader: impl Loader,
        stop: impl Fn() -> bool,
        idle: Option<Duration>,
    ) -> Result<Ended, ServerError> {
        self.serve(|| routes::all(Session::begin(loader)), stop, idle)
    }

    /// The same of a run on many ranks, which is examined in the background.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn run_ranks(
        self,
        loader: impl RanksLoader,
        stop: impl Fn() -> bool,
        idle: Option<Duration>,
    ) -> Result<Ended, ServerError> {
        self.serve(|| routes::ranks::all(ranks::Session::begin(loader)), stop, idle)
    }

    fn serve(
        self,
        routes: impl FnOnce() -> Router,
        stop: impl Fn() -> bool,
        idle: Option<Duration>,
    ) -> Result<Ended, ServerError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(cores)
            .build()?;
        let ended = runtime.block_on(self.answer(routes(), stop, idle));
        // A reader or an answer that nobody waits for any more ends with the program.
        runtime.shutdown_background();
        ended
    }

    async fn answer(
        self,
        routes: Router,
        stop: impl Fn() -> bool,
        idle: Option<Duration>,
    ) -> Result<Ended, ServerError> {
        let asked = Arc::new(Asked::new(self.patience));
        let app = routes
            .layer(from_fn_with_state(Arc::clone(&asked), within_limits))
            .layer(from_fn_with_state(self.door, guard::guard));
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        for listener in self.listeners {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(accept(listener, app.clone(), Arc::clone(&places), self.patience));
        }
        loop {
            tokio::time::sleep(LOOK).await;
            let ended = match idle {
                _ if stop() => Ended::Told,
                Some(idle) if asked.silence() >= idle => Ended::Idle,
                _ => continue,
            };
            let begun = Instant::now();
            while asked.under_way.load(Ordering::Relaxed) > 0 && begun.elapsed() < GRACE {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            return Ok(ended);
        }
    }
}

/// Listens on both of this machine's own addresses, or on the older one where there is no other.
fn listen(port: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    let port = first.local_addr()?.port();
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))) {
        Ok(second) => Ok((vec![first, second], port)),
        // Another program would answer those who say localhost.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok((vec![first], port)),
    }
}

async fn accept(listener: tokio::net::TcpListener, app: Router, places: Arc<Semaphore>, patience: Duration) {
    loop {
        // Where the program has no descriptor left, others will be closed soon.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let app = app.clone();
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => tokio::spawn(async move {
                speak(stream, app, patience).await;
                drop(place);
            }),
            Err(_) => tokio::spawn(turn_away(stream)),
        };
    }
}

/// Answers the requests of a connection, one after another.
async fn speak(stream: TcpStream, app: Router, patience: Duration) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(guard::MOST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    // Whoever goes away in the middle, or never says anything, is owed no answer.
    let _ = pin!(connection).await;
}

/// Says that there are too many connections.
async fn turn_away(stream: TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if stream.writable().await.is_ok() {
        let _ = stream.try_write(ANSWER);
    }
}

/// When somebody asked last, and how many answers are under way.
struct Asked {
    patience: Duration,
    begun: Instant,
    /// Milliseconds since then.
    last: AtomicU64,
    under_way: AtomicU64,
}

impl Asked {
    fn new(patience: Duration) -> Self {
        Self { patience, begun: Instant::now(), last: AtomicU64::new(0), under_way: AtomicU64::new(0) }
    }

    fn note(&self) {
        self.last.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

/// Answers within the time that an answer may take. Only those who were let in keep the server awake, and not those pages
/// that only ask whether something has changed.
async fn within_limits(State(asked): State<Arc<Asked>>, request: Request, next: Next) -> Response {
    if request.uri().query() == Some("watch") {
        return in_time(next.run(request), asked.patience).await;
    }
    asked.note();
    asked.under_way.fetch_add(1, Ordering::Relaxed);
    let answer = in_time(next.run(request), asked.patience).await;
    asked.under_way.fetch_sub(1, Ordering::Relaxed);
    asked.note();
    answer
}

async fn in_time(answer: impl Future<Output = Response>, most: Duration) -> Response {
    let late = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long").into_response();
    tokio::time::timeout(most, answer).await.unwrap_or_else(|_| late())
}

#[cfg(test)]
mod tests;
