import type { SessionCaller } from '../session/caller.ts';
import { arrayOf, flag, ref, text } from '../soap/decode.ts';
import { unescapeName } from '../soap/names.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import { read } from './vm-summary.ts';

/** See `VCenter.obstacle`. */
export async function obstacle(
  caller: SessionCaller,
  vm: MoRef,
  methods: readonly string[],
  options?: CallOptions,
): Promise<string | undefined> {
  const paths = ['disabledMethod', 'runtime.connectionState', 'runtime.host'];
  const [machine] = await caller.retrieve([vm], vm.type, paths, options);
  if (machine === undefined) return undefined;
  const state = read(machine, 'runtime.connectionState', text);
  if (state !== undefined && state !== 'connected') return `it is ${state}`;
  const disabled = read(machine, 'disabledMethod', arrayOf(text)) ?? [];
  const refused = methods.filter((method) => disabled.includes(method));
  if (refused.length > 0) return `vCenter has disabled ${refused.join(' and ')} on it`;
  const host = read(machine, 'runtime.host', ref);
  return host === undefined ? undefined : hostObstacle(caller, host, options);
}

async function hostObstacle(caller: SessionCaller, host: MoRef, options?: CallOptions): Promise<string | undefined> {
  const paths = ['name', 'runtime.connectionState', 'runtime.inMaintenanceMode'];
  const [found] = await caller.retrieve([host], host.type, paths, options);
  if (found === undefined) return undefined;
  const name = unescapeName(read(found, 'name', text) ?? host.value);
  const state = read(found, 'runtime.connectionState', text);
  if (state !== undefined && state !== 'connected') return `its host ${name} is ${state}`;
  return read(found, 'runtime.inMaintenanceMode', flag) === true
    ? `its host ${name} is in maintenance mode`
    : undefined;
}
