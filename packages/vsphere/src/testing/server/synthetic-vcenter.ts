import { Misbehaviours, sendWrong } from './misbehaviour.ts';
import type { ObjectIndex } from './object-index.ts';
import { Refusal } from './soap-refusal.ts';
import { type ServerObjects, startVCenterServer, type VCenterServerOptions } from './vcenter-server.ts';
import { faultAnswer, type Interceptor } from './wire-call.ts';

/** A vCenter of machines that nobody has to compute, whose answers go wrong as a test says: see the README of this folder. */
export interface SyntheticVCenter extends AsyncDisposable {
  readonly url: string;
  readonly inventory: ObjectIndex;
  readonly faults: Misbehaviours;
  /** about.instanceUuid; another one is another vCenter, of which nobody knows the sessions. */
  instanceUuid: string;
  /** Who may log in; can be changed at any time. */
  credentials: { readonly user: string; readonly password: string };
  /** Paths that the user may not read → the fault that says so. */
  readonly denied: Map<string, string>;
  /** Paths that this API version does not have. */
  readonly unknownPaths: Set<string>;
  /** Moref values of containers that the user may not see. */
  readonly forbidden: Set<string>;
  /** The server answers for new views, and then does not know them. */
  losesViews: boolean;
  /** Machines that are destroyed by the next retrieval that names them. */
  readonly vanishing: Set<string>;
  /** How often each method was called, logins that were refused included. */
  readonly calls: ReadonlyMap<string, number>;
  objects(): ServerObjects;
  /** Called when a wait finds nothing to say; what it changes is sent at once. */
  onIdle: (() => void) | undefined;
  /** Called after each answer to a wait; what it changes is the next answer, made before it is asked for. */
  onAnswered: (() => void) | undefined;
  /** Ends all sessions: their waits end with NotAuthenticated, and what was made in them is gone. */
  endSessions(): void;
  /** All waits end with a fault; sessions stay. */
  endWaits(fault: string): void;
  /** Cuts the connections of all waits, as a reset does; nothing else ends. */
  cutWaits(): number;
  /** Nobody is listening any more, and all connections are cut. Sessions go unless `keepSessions`. */
  goAway(options?: { readonly keepSessions?: boolean }): Promise<void>;
  comeBack(): Promise<void>;
}

/** Starts a vCenter without an inventory of its own, on loopback. */
export async function startSyntheticVCenter(
  options: Pick<VCenterServerOptions, 'identity' | 'instanceUuid' | 'secondMs'> = {},
): Promise<SyntheticVCenter> {
  const faults = new Misbehaviours();
  const calls = new Map<string, number>();
  const intercept: Interceptor = async ({ method, request, response }, act) => {
    if (request.method === 'POST') calls.set(method, (calls.get(method) ?? 0) + 1);
    const wrong = faults.take(method);
    if (wrong === undefined) return act();
    if (wrong.act === 'fault') return faultAnswer(new Refusal(wrong.fault, wrong.fields));
    const isUndone = wrong.act === 'reset-before' || wrong.act === 'half-open';
    const bytes = isUndone ? Buffer.alloc(0) : (await act()).bytes;
    if (!response.destroyed) await sendWrong(response, wrong, bytes);
    return undefined;
  };
  const server = await startVCenterServer({ instanceUuid: 'synthetic-1', ...options, intercept });
  const { state } = server;
  const endSessions = (): void => {
    for (const session of [...state.sessions.values()]) server.endSession(session);
  };
  return {
    ...{ faults, calls, endSessions, inventory: server.index },
    ...{
      denied: state.denied,
      unknownPaths: state.unknownPaths,
      forbidden: state.forbidden,
      vanishing: state.vanishing,
    },
    get url() {
      return server.url;
    },
    get losesViews() {
      return state.losesViews;
    },
    set losesViews(loses) {
      state.losesViews = loses;
    },
    get instanceUuid() {
      return state.about.instanceUuid;
    },
    set instanceUuid(uuid) {
      state.about.instanceUuid = uuid;
    },
    get credentials() {
      return { user: state.logins.user, password: state.logins.password };
    },
    set credentials({ user, password }) {
      Object.assign(state.logins, { user, password });
    },
    get onIdle() {
      return server.onIdle;
    },
    set onIdle(act) {
      server.onIdle = act;
    },
    get onAnswered() {
      return server.onAnswered;
    },
    set onAnswered(act) {
      server.onAnswered = act;
    },
    objects: () => server.objects(),
    endWaits: (fault) => {
      for (const session of state.sessions.values()) session.endWaits(fault);
    },
    cutWaits: () => server.cutWaits(),
    goAway: async ({ keepSessions = false } = {}) => {
      await server.close();
      if (!keepSessions) endSessions();
    },
    comeBack: () => server.listen(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
