import { Link, type LinkOptions } from './link.ts';

/** What {@link links} need, for all vCenters. */
export interface LinksOptions extends Pick<LinkOptions, 'connect'> {
  readonly credentials: (server: string) => ReturnType<LinkOptions['credentials']>;
  readonly endpoint?: (server: string) => string;
}

/** One way to each vCenter, shared by all who watch it. Disposal logs out of all of them. */
export interface Links extends AsyncDisposable {
  of(server: string): Link;
  /** Secrets or addresses may have changed: what did is connected anew, and listeners are told of it. */
  refresh(): void;
  /** Ends all connections, also those of calls that do not end with their signal; whoever still needs one gets another. */
  disconnect(): Promise<void>;
  /** Called with the name of each vCenter whose credentials or address changed. */
  onChange(listener: (server: string) => void): Disposable;
}

/** No connection is made before its first use. */
export function links(options: LinksOptions): Links {
  const known = new Map<string, Link>();
  const listeners = new Set<(server: string) => void>();
  const { connect, credentials, endpoint = () => '' } = options;
  return {
    of: (server) => {
      let link = known.get(server);
      if (link === undefined) {
        link = new Link({
          server,
          connect,
          credentials: () => credentials(server),
          endpoint: () => endpoint(server),
        });
        known.set(server, link);
      }
      return link;
    },
    refresh: () => {
      for (const link of known.values()) {
        if (!link.refresh()) continue;
        for (const listener of listeners) listener(link.server);
      }
    },
    onChange: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    disconnect: async () => {
      await Promise.all(Array.from(known.values(), (link) => link.disconnect()));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Array.from(known.values(), (link) => link.close()));
    },
  };
}
