import type { GuestState } from '@drydock/templates';
import type { JsonObject } from '../observe/json.ts';
import { workspaceOf } from './failure-domain.ts';
import type { ImageStore } from './options.ts';

/** VMware Tools by what vCenter calls their state. */
const TOOLS: ReadonlyMap<string, string> = new Map([
  ['guestToolsRunning', 'running'],
  ['guestToolsNotRunning', 'not running'],
  ['guestToolsExecutingScripts', 'starting'],
]);

/** See `Platform.guestOf`. Machine API gives a machine's uid to its virtual machine. */
export async function guestOf(
  store: Pick<ImageStore, 'guest'>,
  spec: JsonObject,
  uid: string,
  options?: { readonly signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const { server = '' } = workspaceOf(spec) ?? {};
  return server === '' ? undefined : guestSaid(server, await store.guest(server, uid, options));
}

/** What a vCenter says of a machine, as a clause. */
export function guestSaid(server: string, state: GuestState | undefined): string {
  return `vcenter ${server} says: ${state === undefined ? 'no machine of it is there' : guestText(state)}`;
}

function guestText({ power = 'power unknown', tools = 'unknown', address, hostName }: GuestState): string {
  return [
    power,
    `VMware Tools ${TOOLS.get(tools) ?? tools}`,
    address === undefined ? 'no address' : `address ${address}`,
    ...(hostName === undefined ? [] : [`host name ${hostName}`]),
  ].join(', ');
}
