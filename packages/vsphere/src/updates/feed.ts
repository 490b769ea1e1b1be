import type { VimError } from '../errors.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import type { XmlElement } from '../xml/xml.ts';
import type { ScannedAnswer, UpdateSink } from './scanner.ts';

/** What a watch looks at: properties of all machines below some containers. */
export interface WatchSpec {
  /** Property paths of VirtualMachine. */
  readonly paths: readonly string[];
  /** Folders, clusters, hosts, resource pools or datacenters; each with all that lies below it. May be empty. */
  readonly containers: readonly MoRef[];
}

/**
 * A property collector of its own, over one list of containers. It lives in one vCenter session: after that has ended every call fails with
 * `VIM_NOT_AUTHENTICATED` or `VIM_GONE`, and a new watch has to be opened. Disposal takes it off the server within 5 s; a second disposal does nothing.
 */
export interface PropertyWatch extends AsyncDisposable {
  /** Paths that this server does not know, and that are not watched. */
  readonly unknownPaths: readonly string[];
  /** Containers that the server did not let be watched when the watch was opened, each for a reason of its own. */
  readonly refused: readonly RefusedContainer[];
  /**
   * Waits for what changed since `version` ('' before the first call) and hands it to `sink`. Without a version in the answer nothing happened within the
   * waiting time. After a transport error the same version may be asked for again: the server sends again what got lost, provided that the version came
   * with `truncated` false. One call at a time.
   */
  next(version: string, sink: UpdateSink, options?: CallOptions): Promise<ScannedAnswer>;
  /** Watches another container as well; interrupts the wait, which `next` does not show, unless the server refuses the container. Fails with `VIM_GONE` when there is none. */
  add(container: MoRef, options?: CallOptions): Promise<void>;
  /** Nothing happens for a container that is not watched. */
  remove(container: MoRef, options?: CallOptions): Promise<void>;
}

/** A container that cannot be watched, and why. */
export interface RefusedContainer {
  readonly ref: MoRef;
  readonly error: VimError;
}

/** Where the changes of one vCenter come from. */
export interface UpdateFeed {
  /** host[:port] as configured; used in messages. */
  readonly server: string;
  /** about.instanceUuid: morefs are unique only within it. */
  instanceUuid(options?: CallOptions): Promise<string>;
  /**
   * Opens a watch, and logs in before when there is no session. A container that the server refuses is left out and named; where all are, for reasons that may pass, it fails. What was made on the
   * way to a failure is taken off the server.
   */
  watch(spec: WatchSpec, options?: CallOptions & { readonly maxWaitSeconds?: number }): Promise<PropertyWatch>;
  /** One property of one object, keyed paths (`config.extraConfig["key"]`) included; undefined: it is unset, or the object is gone. */
  property(ref: MoRef, path: string, options?: CallOptions): Promise<XmlElement | undefined>;
  /** Those of `refs` that exist, as far as this user may see them. */
  existing(refs: readonly MoRef[], options?: CallOptions): Promise<readonly MoRef[]>;
  /** One property of all machines below some containers as text, by moref value; read once and apart from any watch. Containers that are gone have none. */
  survey(containers: readonly MoRef[], path: string, options?: CallOptions): Promise<ReadonlyMap<string, string>>;
}
