import { type CallOptions, child, childText, type MoRef, referenceOf, textOf, type UpdateFeed } from '@drydock/vsphere';
import { carriedName } from './carried-name.ts';

/** What the mirror shows of a machine; '' where vCenter says nothing. */
export interface MachineState {
  readonly ref: MoRef;
  /** vCenter's word: poweredOn, poweredOff, suspended. */
  readonly powerState: string;
  readonly ipAddress: string;
  readonly hostName: string;
  readonly instanceUuid: string;
  readonly biosUuid: string;
  /** Name of the ESXi host, and the moref value of the cluster that it belongs to. */
  readonly host: string;
  readonly cluster: string;
}

/** `gone`: vCenter has no such machine. `unreadable`: it has, but does not show it to this user. */
export type MachineLook = MachineState | 'gone' | 'unreadable';

/** Reads machines of one vCenter. */
export interface MachineReader {
  state(ref: MoRef, call?: CallOptions): Promise<MachineLook>;
  /** `<namespace>/<name>` as the machine itself carries it; '' where it carries none, or is gone. */
  carries(ref: MoRef, call?: CallOptions): Promise<string>;
}

/** Hosts are renamed and moved seldom, and a machine's next change brings the new name. */
const HOST_AGE_MS = 10 * 60_000;

/** A reader that remembers hosts for ten minutes. */
export function machineReader(feed: UpdateFeed, now: () => number): MachineReader {
  const nameOf = carriedName(feed);
  const hosts = new Map<string, { readonly name: string; readonly cluster: string; readonly at: number }>();
  const hostOf = async (
    ref: MoRef,
    call?: CallOptions,
  ): Promise<{ readonly name: string; readonly cluster: string }> => {
    const known = hosts.get(ref.value);
    if (known !== undefined && now() - known.at < HOST_AGE_MS) return known;
    const [name, parent] = await Promise.all([feed.property(ref, 'name', call), feed.property(ref, 'parent', call)]);
    const host = {
      name: name === undefined ? '' : textOf(name),
      cluster: referenceOf(parent)?.value ?? '',
      at: now(),
    };
    hosts.set(ref.value, host);
    return host;
  };
  return {
    async state(ref, call) {
      const summary = await feed.property(ref, 'summary', call);
      if (summary === undefined) return (await feed.existing([ref], call)).length === 0 ? 'gone' : 'unreadable';
      const [runtime, guest, config] = ['runtime', 'guest', 'config'].map((part) => child(summary, part));
      const host = referenceOf(child(runtime, 'host'));
      const place = host === undefined ? undefined : await hostOf(host, call);
      return {
        ref,
        powerState: childText(runtime, 'powerState') ?? '',
        ipAddress: childText(guest, 'ipAddress') ?? '',
        hostName: childText(guest, 'hostName') ?? '',
        instanceUuid: childText(config, 'instanceUuid') ?? '',
        biosUuid: childText(config, 'uuid') ?? '',
        host: place?.name ?? '',
        cluster: place?.cluster ?? '',
      };
    },
    async carries(ref, call) {
      return (await nameOf(ref, call)) ?? '';
    },
  };
}
