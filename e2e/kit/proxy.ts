// What stands between a page and its server, and can be cut like a network.

import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

/** A proxy before a server. */
export interface Proxy {
  url: string;
  /** Closes every connection, and each new one as it comes. */
  cut(): void;
  /** Drops every byte from now on, on connections that stay open, as a network does that dies without a word. */
  swallow(): void;
  /** Lets connections through again; those whose bytes were dropped are closed. */
  restore(): void;
  stop(): Promise<void>;
}

/** Starts a proxy before the server at `target`. */
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
      // A broken connection is what this is for.
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
