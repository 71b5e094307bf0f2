//! The byte pump: copies bytes between a client and the model without interpreting them. No server between the two can
//! be faster.

use anyhow::{Context as _, Result};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

use crate::listen::{announce, say};

/// Copies bytes until this process is ended.
pub(crate) async fn serve(model: &str) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen")?;
    announce(listener.local_addr()?)?;
    loop {
        let (client, _) = listener.accept().await?;
        let model = model.to_owned();
        // Each task ends with its connection, and all end with the process.
        actix_web::rt::spawn(async move {
            if let Err(error) = pump(client, &model).await {
                say(&format!("a connection broke: {error}"));
            }
        });
    }
}

async fn pump(mut client: TcpStream, model: &str) -> std::io::Result<()> {
    let mut upstream = TcpStream::connect(model).await?;
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut upstream).await.map(|_| ())
}
