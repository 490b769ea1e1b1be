import type { MoRef, PropertyWatch, UpdateFeed, UpdateSink, XmlElement } from '@drydock/vsphere';

/** Longer values are not kept: lists, device trees, annotations of a page. */
const SMALL = 200;

/** What a watch passes on is looked at on the way: names and small values of all machines, so that a change can be shown with what was before. */
export interface KnownValues {
  /** The same feed, looked at. */
  readonly feed: UpdateFeed;
  /** Text of a small value; undefined: it is unset, or not small. */
  value(machine: MoRef, path: string): string | undefined;
  forget(machine: MoRef): void;
}

/** Looks at a feed. A value is known as `before` until its change was handed to the one who watches. */
export function knownValues(feed: UpdateFeed): KnownValues {
  const machines = new Map<string, Map<string, string>>();
  const looking = (sink: UpdateSink): UpdateSink => {
    let values: Map<string, string> | undefined;
    return {
      object(kind, type, value) {
        sink.object(kind, type, value);
        values = undefined;
        if (type !== 'VirtualMachine' || kind === 'leave') return;
        values = machines.get(value) ?? new Map<string, string>();
        machines.set(value, values);
      },
      change(path, op, value, decode) {
        sink.change(path, op, value, decode);
        const text = value === undefined || value.length > SMALL ? undefined : smallText(decode(value));
        if (text === undefined) values?.delete(path);
        else values?.set(path, text);
      },
      missing: (path, fault, decode) => sink.missing(path, fault, decode),
      objectEnd: () => sink.objectEnd(),
    };
  };
  return {
    feed: {
      server: feed.server,
      instanceUuid: (options) => feed.instanceUuid(options),
      property: (ref, path, options) => feed.property(ref, path, options),
      existing: (refs, options) => feed.existing(refs, options),
      survey: (containers, path, options) => feed.survey(containers, path, options),
      watch: async (spec, options): Promise<PropertyWatch> => {
        const watch = await feed.watch(spec, options);
        return {
          unknownPaths: watch.unknownPaths,
          next: (version, sink, how) => watch.next(version, looking(sink), how),
          add: (container, how) => watch.add(container, how),
          remove: (container, how) => watch.remove(container, how),
          [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
        };
      },
    },
    value: ({ value }, path) => machines.get(value)?.get(path),
    forget: ({ value }) => void machines.delete(value),
  };
}

/** Text of an element without elements in it, if it is short. */
export function smallText(value: XmlElement): string | undefined {
  let text = '';
  for (const node of value.children) {
    if (typeof node !== 'string') return undefined;
    text += node;
  }
  return text.length > SMALL ? undefined : text;
}
