import {
  type CallOptions,
  type Credentials,
  type MoRef,
  type PropertyWatch,
  type UpdateFeed,
  VimError,
} from '@drydock/vsphere';
import { WatchError } from '../errors.ts';

/** What is needed of a connection to one vCenter; `connectVCenter` gives it. */
export interface VCenterLink extends AsyncDisposable {
  readonly updates: UpdateFeed;
  findByPath(path: string, options?: CallOptions): Promise<MoRef | undefined>;
}

/** Connects to a vCenter by its name. Sends nothing before the first call; `credentials` is asked at every login. */
export type Connect = (server: string, credentials: () => Promise<Credentials>) => VCenterLink;

/** What a {@link Link} needs. */
export interface LinkOptions {
  readonly server: string;
  readonly connect: Connect;
  /** As they are this moment. May throw, for example `WatchError` CredentialsMissing. */
  readonly credentials: () => Credentials;
  /** Where `connect` would connect to this moment; another text is another connection. Default ''. */
  readonly endpoint?: () => string;
}

interface Connection {
  readonly link: VCenterLink;
  credentials: Credentials;
  readonly endpoint: string;
}

/**
 * The way to one vCenter, which stays while connections come and go: other credentials or another address make a new connection and log the old one out. How often a password is shown to
 * the vCenter is the business of the budget of logins that `connect` has.
 */
export class Link {
  readonly server: string;
  readonly #options: LinkOptions;
  readonly #closing = new Set<Promise<void>>();
  #current: Connection | undefined;
  #closed = false;

  constructor(options: LinkOptions) {
    this.server = options.server;
    this.#options = options;
  }

  /** The changes of the vCenter. A watch that was opened on a former connection says that its session ended. */
  feed(onAnswer: () => void = () => undefined): UpdateFeed {
    const run = <T>(use: (updates: UpdateFeed) => Promise<T>, call: CallOptions | undefined): Promise<T> =>
      this.#run(({ updates }) => use(updates), call);
    return {
      server: this.server,
      instanceUuid: (call) => run((updates) => updates.instanceUuid(call), call),
      property: (ref, path, call) => run((updates) => updates.property(ref, path, call), call),
      existing: (refs, call) => run((updates) => updates.existing(refs, call), call),
      survey: (containers, path, call) => run((updates) => updates.survey(containers, path, call), call),
      watch: (spec, call) =>
        this.#run(async ({ updates }, connection) => {
          return this.#watched(await updates.watch(spec, call), connection, onAnswer);
        }, call),
    };
  }

  /** An object by its inventory path. */
  findByPath(path: string, call?: CallOptions): Promise<MoRef | undefined> {
    return this.#run((link) => link.findByPath(path, call), call);
  }

  /** Compares the connection with what the credentials and the address are now. True: the next call uses others than the last one. */
  refresh(): boolean {
    const current = this.#current;
    if (current === undefined) return true;
    const { credentials, endpoint = () => '' } = this.#options;
    let wanted: Credentials;
    try {
      wanted = credentials();
    } catch {
      // A session that stands is better than none.
      return false;
    }
    const same =
      wanted.user === current.credentials.user &&
      wanted.password === current.credentials.password &&
      wanted.version?.asked === current.credentials.version?.asked &&
      endpoint() === current.endpoint;
    // It may be called by another name.
    if (same) current.credentials = wanted;
    if (same) return false;
    this.#current = undefined;
    this.#end(current);
    return true;
  }

  /** Logs out, within 5 s, and makes no other connection. Calls that are under way end. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.disconnect();
  }

  /** Logs out, within 5 s. Calls that are under way go on with another connection, unless their signal ended. */
  async disconnect(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) this.#end(current);
    await Promise.all(this.#closing);
  }

  #end({ link }: Connection): void {
    const ended = Promise.resolve(link[Symbol.asyncDispose]())
      .catch(() => undefined)
      .finally(() => this.#closing.delete(ended));
    this.#closing.add(ended);
  }

  #connection(): Connection {
    if (this.#closed) throw new WatchError('Closed', `the connection to ${this.server} was closed`);
    if (this.#current !== undefined) return this.#current;
    const { server, connect, endpoint = () => '' } = this.#options;
    const credentials = this.#options.credentials();
    const link = connect(server, async () => connection.credentials);
    const connection: Connection = { link, credentials, endpoint: endpoint() };
    this.#current = connection;
    return connection;
  }

  async #run<T>(
    use: (link: VCenterLink, connection: Connection) => Promise<T>,
    call: CallOptions | undefined,
  ): Promise<T> {
    for (;;) {
      const connection = this.#connection();
      try {
        return await use(connection.link, connection);
      } catch (error) {
        const replaced = this.#current !== connection && !this.#closed;
        if (!replaced || call?.signal?.aborted === true) throw error;
      }
    }
  }

  #watched(watch: PropertyWatch, connection: Connection, onAnswer: () => void): PropertyWatch {
    const guarded = async <T>(op: string, act: () => Promise<T>): Promise<T> => {
      try {
        return await act();
      } catch (error) {
        // Asking the closed connection again would never help: the watch has to be opened on the new one.
        if (this.#current !== connection) throw this.#replaced(op, error);
        throw error;
      }
    };
    return {
      unknownPaths: watch.unknownPaths,
      refused: watch.refused,
      next: (version, sink, call) =>
        guarded('WaitForUpdatesEx', async () => {
          const answer = await watch.next(version, sink, call);
          if (answer.version !== undefined) onAnswer();
          return answer;
        }),
      add: (container, call) => guarded('ModifyListView', () => watch.add(container, call)),
      remove: (container, call) => guarded('ModifyListView', () => watch.remove(container, call)),
      [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
    };
  }

  #replaced(op: string, cause: unknown): VimError {
    return new VimError({
      kind: 'fault',
      code: 'VIM_NOT_AUTHENTICATED',
      op,
      message: `${this.server}: the connection was replaced, because the credentials or the address changed`,
      retriable: true,
      cause,
    });
  }
}
