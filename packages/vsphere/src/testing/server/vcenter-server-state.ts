import type { LeaseRecord } from './lease-record.ts';
import type { ServerSession } from './server-session.ts';
import type { VCenterWorld } from './vcenter-world.ts';

/** What a server says of itself. */
export interface ServerAbout {
  readonly fullName: string;
  readonly version: string;
  readonly build: string;
  readonly apiVersion: string;
  /** Another one is another vCenter, of which nobody knows the sessions. */
  instanceUuid: string;
}

/** Who may log in. */
export interface LoginPolicy {
  user: string;
  password: string;
  /** Refuses everybody. */
  refused: boolean;
  /** Refusals within three minutes after which an account is locked for five, as vCenter does; 0: never. */
  lockoutAfter: number;
}

/** Everything of a server besides its connections. */
export interface VCenterServerState {
  readonly world: VCenterWorld;
  readonly about: ServerAbout;
  readonly logins: LoginPolicy;
  /** By what a client shows: the cookie's value. */
  readonly sessions: Map<string, ServerSession>;
  readonly leases: Map<string, LeaseRecord>;
  /** Of the OptionManager, by key. */
  readonly settings: Map<string, string>;
  /** Paths that the user may not read → the fault that says so. */
  readonly denied: Map<string, string>;
  /** Paths that this API version does not have. */
  readonly unknownPaths: Set<string>;
  /** Machines of profiles that are destroyed by the next retrieval that names them. */
  readonly vanishing: Set<string>;
  /** Moref values of containers that the user may not see. */
  readonly forbidden: Set<string>;
  /** The server answers for new views, and then does not know them. */
  losesViews: boolean;
}
