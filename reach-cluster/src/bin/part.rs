//! A scheduler or an executor of Apache Ballista, as its own programs are but for ports that are free: a test starts
//! them as processes of their own, so that it can kill one.
//!
//! ```text
//! part scheduler                  prints its port
//! part executor PORT FOLDER       joins the scheduler at that port, and keeps its files in the folder
//! part executor PORT FOLDER ADDRESS ROWS WORK
//!                                 has others come to ADDRESS, for rows to the port ROWS, with work to the port WORK
//! ```
//! It listens on loopback only, and ends when its standard input does.

use std::error::Error;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

const LOOPBACK: &str = "127.0.0.1";

/// An executor that was killed is missed after that many seconds, where 180 are the default.
const EXECUTOR_TIMEOUT_SECONDS: u64 = 20;
/// The stack of each of the scheduler's threads, in bytes, as Ballista's own program has it: a statement is a tree that is
/// taken in by recursion.
const STACK_OF_SCHEDULER: usize = 32 << 20;
/// The seconds between two signs of life, where 60 are the default.
const HEARTBEAT_SECONDS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if arguments.first().is_some_and(|part| part == "scheduler") {
        runtime.thread_stack_size(STACK_OF_SCHEDULER);
    }
    let runtime = runtime.enable_all().build()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["scheduler"] => runtime.block_on(scheduler()),
        ["executor", port, folder] => {
            let ports = free_ports()?;
            runtime.block_on(executor(port.parse()?, folder, LOOPBACK, ports))
        }
        ["executor", port, folder, address, rows, work] => {
            runtime.block_on(executor(port.parse()?, folder, address, [rows.parse()?, work.parse()?]))
        }
        _ => Err("part scheduler, or part executor PORT FOLDER [ADDRESS ROWS WORK]".into()),
    }
}

async fn scheduler() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind((LOOPBACK, 0)).await?;
    let port = listener.local_addr()?.port();
    let config = SchedulerConfig {
        external_host: LOOPBACK.to_owned(),
        bind_port: port,
        executor_timeout_seconds: EXECUTOR_TIMEOUT_SECONDS,
        expire_dead_executor_interval_seconds: HEARTBEAT_SECONDS,
        no_executors_grace_period_seconds: EXECUTOR_TIMEOUT_SECONDS,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    println!("{port}");
    Ok(start_grpc_service_with_listener(listener, scheduler).await?)
}

async fn executor(
    scheduler_port: u16,
    folder: &str,
    address: &str,
    [port, grpc_port]: [u16; 2],
) -> Result<(), Box<dyn Error>> {
    let config = ExecutorProcessConfig {
        external_host: Some(address.to_owned()),
        port,
        grpc_port,
        scheduler_host: LOOPBACK.to_owned(),
        scheduler_port,
        vcores: 1,
        work_dir: Some(folder.to_owned()),
        executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
        memory_pool_size: Some(512 << 20),
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}

/// Two ports that nobody has. An executor tells others the ports that it is given, so the system can't choose them.
fn free_ports() -> std::io::Result<[u16; 2]> {
    let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let [one, other] = [free()?, free()?];
    Ok([one.local_addr()?.port(), other.local_addr()?.port()])
}
