//! Checks whether root can log in to a MySQL or MariaDB server without a password.
//!
//! This implements the connection phase of the MySQL client/server protocol, as needed for an empty password
//! (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>). A developer's own server
//! on the usual port mostly has a password; then the tests start one of their own.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

/// Timeout. A local server answers at once, or is busy.
const LIMIT: Duration = Duration::from_secs(5);

/// Maximum length of a packet, in bytes. Every packet of a login is shorter; a longer one is not from a MySQL server.
const MAX_PACKET: usize = 4096;

const LONG_PASSWORD: u32 = 1;
const PROTOCOL_41: u32 = 1 << 9;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;

const OK: u8 = 0x00;
const AUTH_SWITCH: u8 = 0xFE;

/// Returns `true` if `root` can log in on this port of the loopback address with an empty password.
pub(crate) fn root_may_enter(port: u16) -> bool {
    try_login(port).unwrap_or(false)
}

fn try_login(port: u16) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let (_, greeting) = read_packet(&mut stream)?;
    if greeting.first() != Some(&10) {
        return Ok(false);
    }
    write_packet(&mut stream, 1, &login_request())?;
    loop {
        let (number, answer) = read_packet(&mut stream)?;
        match answer.first() {
            Some(&OK) => return Ok(true),
            Some(&AUTH_SWITCH) => {
                // For the plugins of MySQL 8 and later, an empty password is a single zero byte; for the old plugin it
                // is nothing.
                let empty: &[u8] = if answer[1..].starts_with(b"mysql_native_password\0") { b"" } else { b"\0" };
                write_packet(&mut stream, number.wrapping_add(1), empty)?;
            }
            _ => return Ok(false),
        }
    }
}

/// Returns the packet `HandshakeResponse41` for root, without a password or a database.
fn login_request() -> Vec<u8> {
    let capabilities = LONG_PASSWORD | PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH;
    let utf8mb4_general_ci = 45;
    let mut packet = Vec::new();
    packet.extend(capabilities.to_le_bytes());
    packet.extend(u32::try_from(MAX_PACKET).unwrap_or(u32::MAX).to_le_bytes());
    packet.push(utf8mb4_general_ci);
    packet.extend([0; 23]);
    packet.extend(b"root\0");
    packet.push(0);
    packet.extend(b"mysql_native_password\0");
    packet
}

/// Reads one packet: three bytes of length, a sequence number, and the content.
fn read_packet(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
    if length > MAX_PACKET {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a MySQL server"));
    }
    let mut content = vec![0; length];
    stream.read_exact(&mut content)?;
    Ok((head[3], content))
}

fn write_packet(stream: &mut impl Write, number: u8, content: &[u8]) -> io::Result<()> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes();
    stream.write_all(&[&[length[0], length[1], length[2], number], content].concat())
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// Starts a server that sends a greeting, reads the login, and sends `answer`.
    fn server(answer: &'static [u8]) -> io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || -> io::Result<()> {
            let (mut stream, _) = listener.accept()?;
            write_packet(&mut stream, 0, b"\x0a8.4.0\0")?;
            let (number, login) = read_packet(&mut stream)?;
            assert_eq!(&login[32..37], b"root\0");
            write_packet(&mut stream, number + 1, answer)
        });
        Ok(port)
    }

    #[test]
    fn a_server_that_accepts_the_login_passes() -> io::Result<()> {
        assert!(root_may_enter(server(b"\0\0\0\x02\0\0\0")?));
        Ok(())
    }

    #[test]
    fn a_server_that_requires_a_password_fails() -> io::Result<()> {
        assert!(!root_may_enter(server(b"\xff\x15\x04#28000Access denied")?));
        Ok(())
    }

    #[test]
    fn a_server_that_is_not_a_database_fails() -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || listener.accept().and_then(|(mut stream, _)| stream.write_all(b"SSH-2.0-OpenSSH\r\n")));
        assert!(!root_may_enter(port));
        Ok(())
    }
}
