import type { Agent } from 'node:https';
import type { About, CallOptions, MoRef } from '../vcenter.ts';
import type { XmlElement, XmlNode } from '../xml/xml.ts';
import type { Budget } from './budget.ts';
import type { Clock } from './clock.ts';
import type { VimFault } from './faults.ts';

/**
 * Who shares connections. `templates`: reading and changing templates, at most four calls at a time, because more only make a vCenter slower. `session`: what
 * keeps sessions and leases alive, which must not wait behind anything. `watch`: what opens and closes watches. `long`: calls that the server holds for
 * minutes.
 */
export type Lane = 'templates' | 'session' | 'watch' | 'long';

/** Options of a low-level call. */
export interface MethodOptions extends CallOptions {
  /** Deadline of this call; 60 s unless said. */
  readonly timeoutMs?: number;
  /** Making the call twice does what making it once does: it may be sent again after a lost answer or a dead session. */
  readonly idempotent?: boolean;
  /** The caller's own unless said. */
  readonly lane?: Lane;
  /** Shared by the calls of one conversation. */
  readonly budget?: Budget;
}

/** The singletons that RetrieveServiceContent names. Those that a server may lack are optional. */
export interface ServiceContent {
  readonly rootFolder: MoRef;
  readonly propertyCollector: MoRef;
  readonly sessionManager: MoRef;
  readonly viewManager?: MoRef;
  readonly searchIndex?: MoRef;
  readonly taskManager?: MoRef;
  readonly ovfManager?: MoRef;
  readonly customFieldsManager?: MoRef;
  readonly authorizationManager?: MoRef;
  readonly setting?: MoRef;
  readonly about: About;
}

/** What a retrieval says about one object. Unset properties are in neither. */
export interface ObjectContent {
  readonly ref: MoRef;
  /** Property path as asked → its `val` element. */
  readonly values: ReadonlyMap<string, XmlElement>;
  /** Paths that could not be read, with the reason. */
  readonly missing: readonly { readonly path: string; readonly fault?: VimFault }[];
}

/** One user of one vCenter. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
  /** Absent: only this process can tell it from another. */
  readonly version?: PasswordVersion;
}

/** Tells one password from another without telling anything of either, also to other processes. */
export interface PasswordVersion {
  /** Where it is kept, for a person: `Secret kube-system/vsphere-creds`. */
  readonly origin: string;
  /** Another password at this place has another one. */
  readonly id: string;
  /** Another text is the word of a person to try it again, although it is the same. */
  readonly asked?: string;
}

/** Receives what is worth a line in a log. Never a secret. */
export interface VimLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** The low-level surface of one vCenter session, on which everything else of this package is layered. */
export interface Caller {
  /** host[:port] as configured; used in messages. */
  readonly server: string;
  /** `https://host:port/sdk`. REST lives at the same origin; a lease URL with host `*` means this host and port. */
  readonly baseUrl: URL;
  /** Asks for credentials, and shows them to the server where its budget of logins allows it. */
  login<T>(show: (who: Credentials) => Promise<T>): Promise<T>;
  readonly clock: Clock;
  readonly log: VimLog;
  /**
   * Calls a method and resolves to its `<MResponse>` element; `returnval` children are inside. `body` is what follows `_this`, in schema order.
   * A fault is a `VimError` of kind `fault`. Logs in when there is no session.
   */
  call(method: string, self: MoRef, body: readonly XmlNode[], options?: MethodOptions): Promise<XmlElement>;
  content(options?: CallOptions): Promise<ServiceContent>;
  /** Properties of some objects, all of type `type` (a base type will do). Objects that are gone are absent from the answer. */
  retrieve(
    refs: readonly MoRef[],
    type: string,
    paths: readonly string[],
    options?: CallOptions,
  ): Promise<readonly ObjectContent[]>;
  /**
   * Waits until a task has ended and resolves to its `info` element. A failed task is a `VimError` of kind `fault`; one that disappeared while we waited is
   * `VIM_UNKNOWN_OUTCOME`.
   */
  waitForTask(
    task: MoRef,
    options?: CallOptions & { readonly op?: string; readonly onProgress?: (percent: number) => void },
  ): Promise<XmlElement>;
  /**
   * An agent for one host:port: our vCenter's own trust for its own address; else the pin, where the lease gave a SHA-1 thumbprint
   * (`AA:BB:…`), checked before the first byte; else ordinary verification. Owned by the caller of `connectVCenter`: closed with it.
   */
  httpsAgentFor(hostPort: string, sslThumbprintSha1?: string): Agent;
}
