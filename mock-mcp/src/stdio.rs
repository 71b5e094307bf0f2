//! Serves over standard input and output, one message per line.

use std::{io, sync::Arc};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout},
    sync::mpsc,
};

use crate::{Fault, machine::Machine, wire};

/// Serves until the input ends, or forever with the fault [`Fault::Lingers`].
pub async fn stdio(faults: Vec<Fault>) -> io::Result<()> {
    let machine = Arc::new(Machine::new(faults));
    let (out, mut outgoing) = mpsc::channel::<Value>(16);
    if machine.faults.contains(&Fault::Chatty) {
        tokio::spawn(flood_errors(machine.clone()));
    }
    let chatty = machine.faults.contains(&Fault::Chatty);
    let writer = tokio::spawn(async move {
        let mut output = stdout();
        while let Some(message) = outgoing.recv().await {
            let noise = if chatty { "a line of a log\n{\"level\":\"info\"}\n\n" } else { "" };
            output.write_all(format!("{noise}{}\n", wire::write(&message)).as_bytes()).await?;
            output.flush().await?;
        }
        io::Result::Ok(())
    });
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let Some(message) = wire::read(&line) else { continue };
        let (machine, out) = (machine.clone(), out.clone());
        tokio::spawn(async move { machine.take(&message, &out).await });
    }
    if machine.faults.contains(&Fault::Lingers) {
        std::future::pending::<()>().await;
    }
    drop(out);
    writer.abort();
    Ok(())
}

async fn flood_errors(machine: Arc<Machine>) {
    let mut errors = tokio::io::stderr();
    for _ in 0..10_000 {
        if errors.write_all("x".repeat(1000).as_bytes()).await.is_err() {
            return;
        }
        let _ = errors.write_all(b"\n").await;
    }
    machine.note("flooded");
}
