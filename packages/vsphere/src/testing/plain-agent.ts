import { Agent } from 'node:https';
import { connect, type Socket } from 'node:net';

/** An HTTPS agent that speaks plain HTTP, so that a test needs no certificate for what is not about trust. */
export function plainAgent(port: number): Agent {
  return new PlainAgent(port);
}

class PlainAgent extends Agent {
  readonly #port: number;

  constructor(port: number) {
    super({ keepAlive: false });
    this.#port = port;
  }

  override createConnection(): Socket {
    return connect(this.#port, '127.0.0.1');
  }
}
