// TCP proxy between a page and its server, which can fail the way a network does.

import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

/** A proxy in front of a server. */
export interface Proxy {
  url: string;
  /** Closes every connection, and each new one as soon as it is accepted. */
  cut(): void;
  /** Drops all bytes from now on, but keeps the connections open, like a network that fails silently. */
  swallow(): void;
  /** Accepts connections again. Closes those whose bytes were dropped. */
  restore(): void;
  stop(): Promise<void>;
}

/** Starts a proxy in front of the server at `target`. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let isCut = false;
  let isSilent = false;
  const listener = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const server = connect(Number(port), hostname);
    for (const [socket, other] of [[client, server], [server, client]] as const) {
      open.add(socket);
      // This proxy exists to break connections, so an error is expected.
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
      socket.on("data", (bytes) => {
        if (!isSilent) other.write(bytes);
      });
      socket.on("end", () => other.end());
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const closeAll = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
      closeAll();
    },
    swallow: () => {
      isSilent = true;
    },
    restore: () => {
      if (isSilent) closeAll();
      isCut = false;
      isSilent = false;
    },
    stop: async () => {
      listener.close();
      closeAll();
      await once(listener, "close");
    },
  };
}
