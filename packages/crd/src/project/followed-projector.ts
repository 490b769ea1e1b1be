import { liveVersion, SERVER_LAG_MS } from './live-version.ts';
import { projectionText } from './projection-text.ts';
import { createProjector, type Projector, type StatusKeeping } from './projector.ts';

/** A definition that is watched, such as a cache of definitions. */
export interface WatchedDefinition {
  get(key: { readonly name: string }): unknown;
  subscribe(changed: () => void): unknown;
}

/** What a projector is told of the kind whose statuses it cuts. */
export interface FollowedOptions {
  readonly kind: { readonly group: string; readonly version: string; readonly plural: string };
  readonly definition: WatchedDefinition;
  readonly log: Readonly<Record<'info' | 'warn', (fields: object, text: string) => void>>;
  /** Default: nothing is kept, and only the log is told. */
  readonly keep?: StatusKeeping;
}

/** A projector, and what tells that its kind is to be written again. */
export interface FollowedProjector {
  readonly projector: Projector;
  /** Calls back whenever the definition changes, or a status cannot be written: what was refused may fit now, or has to be tried again. */
  readonly onChange: (listener: () => void) => Disposable;
}

/** The name that a kind's definition has. */
export function definitionName({ group, plural }: { readonly group: string; readonly plural: string }): string {
  return `${plural}.${group}`;
}

/** Projects the statuses of a kind onto its definition as it is watched, so that its rollback cannot block them; logs what is left out, and what is written again. */
export function followedProjector({ kind, definition, log, keep = {} }: FollowedOptions): FollowedProjector {
  const name = definitionName(kind);
  const listeners = new Set<() => void>();
  const wake = (): void => {
    for (const listener of listeners) listener();
  };
  const live = liveVersion(() => definition.get({ name }), kind.version, { lagMs: SERVER_LAG_MS });
  let settling: NodeJS.Timeout | undefined;
  // What is newly allowed is written once the servers go by it.
  const follow = (): void => {
    live();
    wake();
    clearTimeout(settling);
    if (live.settlesIn() > 0) settling = setTimeout(follow, live.settlesIn()).unref();
  };
  definition.subscribe(follow);
  const { tell, ...keeping } = keep;
  const projector = createProjector({
    live,
    ...keeping,
    tell: (event) => {
      const worse = event.kind === 'quarantined' || event.kind === 'blocked';
      log[worse ? 'warn' : 'info']({ definition: name, uid: event.uid }, projectionText(event));
      tell?.(event);
      if (event.kind === 'blocked') wake();
    },
  });
  return {
    projector,
    onChange: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
