import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiServerEra } from '../../era.ts';
import { startWorkloadSimulator } from '../workloads/workload-simulator.ts';
import { createApiHandler } from './api-handler.ts';
import { openAuditLog } from './audit-log.ts';
import { bootstrapState } from './bootstrap-state.ts';
import { type DiscoveryDocuments, discoveryDocuments } from './discovery-documents.ts';
import { listen } from './https-listener.ts';
import { createObjectServer, type UserInfo } from './objects.ts';
import { openApiDocuments } from './openapi-documents.ts';
import { createAuthorizer } from './rbac-authorizer.ts';
import { createTokenIssuer } from './service-account-tokens.ts';
import { openStateLog, readState } from './state-log.ts';
import { createAuthenticator } from './user-authentication.ts';

/** What an embedded API server is started with. Certificates and keys are PEM texts. */
export interface ApiServerOptions {
  /** `127.0.0.1`; anything else serves other machines, with a warning on stderr. */
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly certificate: string;
  readonly privateKey: string;
  /** Signs the certificates of clients. */
  readonly clientCa: string;
  /** Signs the tokens of ServiceAccounts. */
  readonly tokenKey: string;
  readonly era: ApiServerEra;
  /** Keeps the state over restarts; without it, the state is gone with the process. */
  readonly stateFile?: string;
  /** Static bearer tokens. */
  readonly tokens?: Readonly<Record<string, UserInfo>>;
  readonly audit?: { readonly policy: string; readonly log: string };
  /** Whether a watch may begin with the list (`sendInitialEvents`); true by default. */
  readonly watchList?: boolean;
  /** Simulates workloads: controllers, a scheduler, and so many nodes whose pods run nothing. */
  readonly workloads?: { readonly nodes: number };
}

/** A running embedded API server. */
export interface ApiServer extends AsyncDisposable {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** Starts an API server in this process, with what was stored before or what a fresh kube-apiserver has. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  if (!LOOPBACK.has(options.host)) {
    process.stderr.write(
      `embedded API server: listening on ${options.host}, so other machines can reach it; it is for tests and demos, not for production\n`,
    );
  }
  await using starting = new AsyncDisposableStack();
  const { stateFile } = options;
  const kept = stateFile === undefined ? undefined : readState(stateFile);
  const state = kept ?? bootstrapState(new Date(), options.clientCa);
  const log = stateFile === undefined ? undefined : starting.use(openStateLog(stateFile, state));
  const objects = starting.use(
    createObjectServer({
      ...{ era: options.era, state },
      ...(log === undefined ? {} : { commit: (change) => log.append(change) }),
      ...(options.workloads === undefined ? {} : { workloads: true, controllers: { rootCa: options.clientCa } }),
    }),
  );
  if (options.workloads !== undefined) starting.use(startWorkloadSimulator(objects, options.workloads));
  const authorizer = starting.use(createAuthorizer(objects));
  const issuer = createTokenIssuer(objects, options.tokenKey, () => Date.now());
  const authenticator = createAuthenticator(issuer, new Map(Object.entries(options.tokens ?? {})), () =>
    performance.now(),
  );
  const openApi = starting.use(openApiDocuments(objects));
  const { audit: auditFiles } = options;
  const audit = auditFiles === undefined ? undefined : starting.use(openAuditLog(auditFiles.policy, auditFiles.log));
  let documents: DiscoveryDocuments | undefined;
  starting.use(
    objects.onServed(() => {
      documents = undefined;
    }),
  );
  let url = '';
  const handler = createApiHandler({
    ...{ objects, authorizer, issuer, authenticator, watchList: options.watchList ?? true },
    ...(audit === undefined ? {} : { audit }),
    plain: {
      discovery: () => {
        documents ??= discoveryDocuments(objects.resources());
        return documents;
      },
      openApi,
      version: JSON.parse(readFileSync(join(import.meta.dirname, 'recorded/version.json'), 'utf8')) as unknown,
      jwks: issuer.jwks,
      url: () => url,
    },
  });
  const listener = starting.use(await listen(options, handler));
  url = `https://${options.host}:${listener.port}`;
  const running = starting.move();
  return { url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
