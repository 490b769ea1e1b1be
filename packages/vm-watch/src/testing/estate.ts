import {
  type Clock,
  type Credentials,
  isVimError,
  type LoginBudget,
  type MoRef,
  type UpdateFeed,
  VimError,
  type XmlElement,
} from '@drydock/vsphere';
import { simulatedFault } from '@drydock/vsphere/testing';
import type { Connect } from '../watch/link.ts';
import { NAMESPACED_NAME } from '../watch/watched-paths.ts';
import { type MemoryFeed, memoryFeed } from './memory-feed.ts';
import { extraConfig } from './pages.ts';

/** Some vCenters in memory, and what was done to them. */
export interface Estate {
  readonly connect: Connect;
  /** The vCenter of this name; made at the first use. */
  readonly vcenter: (server: string) => EstateVCenter;
}

/** One of them. */
export interface EstateVCenter {
  readonly feed: MemoryFeed;
  /** Folders by inventory path. */
  readonly paths: Map<string, MoRef>;
  /** The password that is accepted; any when undefined. */
  password: string | undefined;
  /** Nobody answers. */
  down: boolean;
  readonly attempts: Credentials[];
  readonly logouts: Credentials[];
  /** Connections that were made. */
  clients: number;
  /** Reads of a machine's summary, by moref value. */
  readonly looks: string[];
  /** A machine that carries the name of an object. */
  create(folder: string, vm: string, carries?: string, properties?: Readonly<Record<string, string>>): void;
  power(vm: string, state: 'poweredOn' | 'poweredOff'): void;
}

/** vCenters whose sessions are made by credentials, on the in-memory feed. Every login is let through unless `logins` says otherwise. */
export function estate(clock: Clock, logins: LoginBudget = { attempt: (_server, _who, login) => login() }): Estate {
  const servers = new Map<string, EstateVCenter>();
  const vcenter = (server: string): EstateVCenter => {
    let known = servers.get(server);
    if (known === undefined) {
      const feed = memoryFeed(clock);
      known = {
        feed,
        paths: new Map(),
        password: undefined,
        down: false,
        attempts: [],
        logouts: [],
        clients: 0,
        looks: [],
        create: (folder, vm, carries, properties = {}) =>
          feed.create(folder, vm, {
            name: vm,
            'summary.runtime.powerState': 'poweredOff',
            ...(carries === undefined ? {} : { 'config.extraConfig': extraConfig({ [NAMESPACED_NAME]: carries }) }),
            ...properties,
          }),
        power: (vm, state) => feed.set(vm, 'summary.runtime.powerState', state),
      };
      servers.set(server, known);
    }
    return known;
  };
  const connect: Connect = (server, credentials) => {
    const one = vcenter(server);
    one.clients += 1;
    let session: Credentials | undefined;
    let closed = false;
    const call = async <T>(act: () => Promise<T>): Promise<T> => {
      if (closed) throw aborted(server);
      if (one.down) throw unreachable(server);
      if (session === undefined) {
        const who = await credentials();
        await logins.attempt(server, who, async () => {
          one.attempts.push(who);
          if (one.password !== undefined && who.password !== one.password)
            throw simulatedFault('InvalidLogin', 'Login', server);
        });
        session = who;
      }
      try {
        return await act();
      } catch (error) {
        if (closed) throw aborted(server);
        if (isVimError(error, 'VIM_NOT_AUTHENTICATED')) session = undefined;
        throw error;
      }
    };
    const updates: UpdateFeed = {
      server,
      instanceUuid: (options) => call(() => one.feed.instanceUuid(options)),
      existing: (refs, options) => call(() => one.feed.existing(refs, options)),
      survey: (containers, path, options) => call(() => one.feed.survey(containers, path, options)),
      property: (ref, path) => call(async () => property(one, ref, path)),
      watch: (spec, options) =>
        call(async () => {
          const watch = await one.feed.watch(spec, options);
          return {
            unknownPaths: watch.unknownPaths,
            refused: watch.refused,
            next: (version, sink, how) => call(() => watch.next(version, sink, how)),
            add: (container, how) => call(() => watch.add(container, how)),
            remove: (container, how) => call(() => watch.remove(container, how)),
            [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
          };
        }),
    };
    return {
      updates,
      findByPath: (path) => call(async () => one.paths.get(path)),
      [Symbol.asyncDispose]: async () => {
        closed = true;
        if (session !== undefined) one.logouts.push(session);
        session = undefined;
        one.feed.endSession();
      },
    };
  };
  return { connect, vcenter };
}

function property(one: EstateVCenter, ref: MoRef, path: string): XmlElement | undefined {
  if (path === 'summary') one.looks.push(ref.value);
  if (ref.type === 'HostSystem')
    return path === 'name' ? element('val', `${ref.value}.example`) : moref('val', 'ClusterComputeResource', 'c1');
  const [container, properties] = JSON.parse(one.feed.describe(ref.value)) as [string | null, [string, string][]];
  if (container === null) return undefined;
  const of = new Map(properties);
  const value = of.get(path);
  switch (path) {
    case 'summary':
      return element(
        'val',
        element(
          'runtime',
          element('powerState', of.get('summary.runtime.powerState') ?? ''),
          moref('host', 'HostSystem', of.get('summary.runtime.host') ?? 'h1'),
        ),
        element('guest', element('ipAddress', of.get('summary.guest') ?? '')),
        element(
          'config',
          element('instanceUuid', of.get('summary.config.instanceUuid') ?? `i-${ref.value}`),
          element('uuid', of.get('summary.config.uuid') ?? `b-${ref.value}`),
        ),
      );
    case 'parent':
      return moref('val', 'Folder', container);
    case `config.extraConfig["${NAMESPACED_NAME}"]`: {
      const carried = /namespacedName<\/key><value[^>]*>([^<]*)</.exec(of.get('config.extraConfig') ?? '')?.[1];
      return carried === undefined ? undefined : element('val', element('value', carried));
    }
    default:
      return value === undefined ? undefined : element('val', value);
  }
}

function element(name: string, ...children: readonly (XmlElement | string)[]): XmlElement {
  return { uri: 'urn:vim25', name, attributes: [], children: children.filter((node) => node !== '') };
}

function moref(name: string, type: string, value: string): XmlElement {
  return { ...element(name, value), attributes: [{ uri: '', local: 'type', value: type }] };
}

function unreachable(server: string): VimError {
  return new VimError({
    kind: 'transport',
    code: 'VIM_UNREACHABLE',
    op: 'Login',
    message: `${server} is down`,
    retriable: true,
  });
}

function aborted(server: string): VimError {
  return new VimError({
    kind: 'aborted',
    code: 'VIM_ABORTED',
    op: 'session',
    message: `the client of ${server} was disposed`,
  });
}
