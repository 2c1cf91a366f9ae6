//! The connection of a collection, which is made anew where it is lost.

use std::time::{Duration, Instant};

use crate::Progress;
use crate::connection::Connection;
use crate::error::Error;
use crate::lock::Lock;
use crate::request::Request;

/// How many connections may be lost one after another without any use.
pub(crate) const ATTEMPTS: u32 = 4;
/// The longest pause between two attempts to connect again; they begin with a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A connection, what it takes to make it again, and the lock that it holds.
pub(crate) struct Link<'r> {
    request: &'r Request,
    pub connection: Connection,
    pub lock: Lock,
}

impl<'r> Link<'r> {
    /// Connects, and takes the board's lock.
    pub async fn open(request: &'r Request) -> Result<Self, Error> {
        let connection = connect(request).await?;
        let lock = Lock::take(&connection, request.resume).await?;
        Ok(Self { request, connection, lock })
    }

    /// Connects again if the connection was what failed, for as long as the request is patient.
    ///
    /// # Errors
    /// With `error` itself where it is another one, else with why there is no connection.
    pub async fn mend(&mut self, error: Error, progress: &mut dyn Progress) -> Result<(), Error> {
        if !error.is_lost_connection() {
            return Err(error);
        }
        progress.warn(&format!("{error}; connecting again"));
        let deadline = Instant::now() + self.request.timeouts.reconnect;
        let mut pause = Duration::from_secs(1);
        loop {
            tokio::time::sleep(pause).await;
            match connect(self.request).await {
                Ok(connection) => {
                    self.connection = connection;
                    self.lock.renew(&self.connection).await;
                    return Ok(());
                }
                Err(error) if !error.may_pass() => return Err(error),
                Err(error) if Instant::now() >= deadline || progress.interrupted() => return Err(error),
                Err(_) => pause = LONGEST_PAUSE.min(pause + Duration::from_secs(1)),
            }
        }
    }

    /// Gives the lock back and says goodbye.
    pub async fn close(self) {
        self.lock.release(&self.connection).await;
        self.connection.close().await;
    }
}

async fn connect(request: &Request) -> Result<Connection, Error> {
    Connection::open(&request.config, &request.host_keys, &request.timeouts).await
}
