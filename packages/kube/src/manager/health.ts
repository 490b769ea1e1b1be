import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Registry } from 'prom-client';

/**
 * Undefined when all is well, a text for what is wrong; `remark` for what a person should know although the check passes. Must not wait.
 */
export type HealthCheck = () => string | { readonly remark: string } | undefined;

/** Checks by name. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

/** What the server serves; checks are asked for at each request. */
export interface HealthOptions {
  /** 0 chooses a free port. */
  readonly port: number;
  /** An address of this machine, or `*` for all of them, which the probes of a kubelet need. Only this machine is answered when absent. */
  readonly host?: string | undefined;
  /** /healthz and /livez: whether the process must be restarted. */
  readonly live: () => HealthChecks;
  /** /readyz: whether caches are synced and sessions stand. Not whether this replica leads: followers are ready. */
  readonly ready: () => HealthChecks;
  /** /metrics; absent: 404. */
  readonly registry?: Registry;
}

/** A running server. */
export interface HealthServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * Serves `/healthz`, `/livez` (the same), `/readyz`, each with `?verbose` and `/<check>`, and `/metrics`. 200 and `ok` (verbose: one line per
 * check, with remarks), or 500 with one line per check. Rejects when the port cannot be listened on.
 */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const loop = eventLoopCheck();
  const live = (): HealthChecks => ({ ping: () => undefined, 'event-loop': loop.check, ...options.live() });
  const ready = (): HealthChecks => ({ ping: () => undefined, ...options.ready() });
  const groups: Readonly<Record<string, () => HealthChecks>> = { healthz: live, livez: live, readyz: ready };

  // Not by an import, which would load all that `node:http` offers, a WebSocket client among it: 10 MB.
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, PLAIN);
      response.end(`${error instanceof Error ? error.message : String(error)}\n`);
    });
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'only GET\n');
    if (url.pathname === '/metrics' && options.registry !== undefined) {
      const text = await options.registry.metrics();
      response.writeHead(200, { 'content-type': options.registry.contentType });
      response.end(text);
      return;
    }
    const [group = '', name] = url.pathname.slice(1).split('/');
    const checks = Object.hasOwn(groups, group) ? groups[group]?.() : undefined;
    if (checks === undefined) return send(response, 404, 'not found\n');
    if (name !== undefined && name !== '') {
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
      return check === undefined ? send(response, 404, 'not found\n') : report(response, name, { [name]: check }, url);
    }
    report(response, group, checks, url);
  };

  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  const { host = '127.0.0.1' } = options;
  server.listen(options.port, host === '*' ? undefined : host, () => resolve());
  await promise;
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
      loop[Symbol.dispose]();
    },
  };
}

/** A live check that fails while the event loop was blocked longer than `limit` ms (10,000 when absent) since it was last asked. */
export function eventLoopCheck(limit = 10_000): { readonly check: HealthCheck } & Disposable {
  const delay = monitorEventLoopDelay({ resolution: 100 });
  delay.enable();
  return {
    check: () => {
      const worst = delay.max / 1e6;
      delay.reset();
      return worst > limit ? `the event loop was blocked for ${Math.round(worst)} ms` : undefined;
    },
    [Symbol.dispose]: () => {
      delay.disable();
    },
  };
}

const PLAIN = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };

function report(response: ServerResponse, title: string, checks: HealthChecks, url: URL): void {
  const lines: string[] = [];
  let failed = false;
  for (const [name, check] of Object.entries(checks)) {
    const wrong = check();
    failed ||= typeof wrong === 'string';
    if (typeof wrong === 'string') lines.push(`[-]${name} failed: ${wrong}`);
    else lines.push(wrong === undefined ? `[+]${name} ok` : `[+]${name} ok: ${wrong.remark}`);
  }
  const text = `${lines.join('\n')}\n${title} check ${failed ? 'failed' : 'passed'}\n`;
  send(response, failed ? 500 : 200, failed || url.searchParams.has('verbose') ? text : 'ok');
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, PLAIN);
  response.end(text);
}
