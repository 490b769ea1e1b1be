import type { SessionCaller } from '../session/caller.ts';
import { text } from '../soap/decode.ts';
import type { CallOptions, GuestState, MoRef } from '../vcenter.ts';
import { read } from './vm-summary.ts';

/** See `VCenter.guest`. */
export async function guest(caller: SessionCaller, vm: MoRef, options?: CallOptions): Promise<GuestState | undefined> {
  const paths = ['runtime.powerState', 'guest.toolsRunningStatus', 'guest.ipAddress', 'guest.hostName'];
  const [machine] = await caller.retrieve([vm], vm.type, paths, options);
  if (machine === undefined) return undefined;
  const said = (path: string): string | undefined => read(machine, path, text) || undefined;
  const [power, tools, address, hostName] = paths.map(said);
  return {
    ...(power === undefined ? {} : { power }),
    ...(tools === undefined ? {} : { tools }),
    ...(address === undefined ? {} : { address }),
    ...(hostName === undefined ? {} : { hostName }),
  };
}
