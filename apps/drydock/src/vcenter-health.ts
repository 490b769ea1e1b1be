import { oneLine } from '@drydock/api/text';
import type { DatastoreHealth, Read, VCenterHealth } from '@drydock/page';
import type { Line } from './doctor/finding.ts';
import { age } from './table.ts';
import { bytesText } from './template/amounts.ts';
import { shell } from './template/next-command.ts';

/** The operator looks once a minute: what is older (ms) may be otherwise now. */
const OLD_MS = 5 * 60_000;

/** `3.9 TiB of 4.0 TiB`. */
export function roomText(free: number, capacity: number | undefined): string {
  return capacity === undefined || capacity === 0 ? bytesText(free) : `${bytesText(free)} of ${bytesText(capacity)}`;
}

function datastoreText({ path, accessible, free, capacity }: DatastoreHealth): string {
  return accessible ? `${roomText(free, capacity)} free on ${path}` : `${path} is not accessible`;
}

/** What is wrong with vCenters by the operator's last word, a line each; nothing where all is well, or where it said nothing for long. */
export function healthText(health: Read<readonly VCenterHealth[]>, now: number): string {
  if (health.kind === 'unread') return '';
  return health.value
    .filter(({ asOf }) => now - Date.parse(asOf) <= OLD_MS)
    .flatMap(({ server, trouble, datastores }) => [
      ...(trouble === undefined ? [] : [`vCenter ${server} could not be asked: ${trouble}. Next: drydock doctor`]),
      ...datastores
        .filter(({ accessible }) => !accessible)
        .map(
          ({ path, failureDomains }) =>
            `Datastore ${path} on vCenter ${server} is not accessible, and templates of ${failureDomains.join(', ')} are on it. Next: drydock doctor`,
        ),
    ])
    .map((line) => `${oneLine(line)}\n`)
    .join('');
}

/** How each vCenter is by the operator's last word, those of Cluster API among them, for `drydock doctor`. */
export function healthLines(health: Read<readonly VCenterHealth[]>, now: number): readonly Line[] {
  const name = 'vcenters';
  if (health.kind === 'unread') return [{ name, state: 'skip', detail: health.why }];
  return health.value.map(({ server, asOf, version, sessions, datastores, trouble }): Line => {
    const since = age(asOf, now);
    if (now - Date.parse(asOf) > OLD_MS)
      return { name, state: 'warn', detail: `${server} was looked at last ${since} ago`, next: 'drydock status' };
    if (trouble !== undefined)
      return { name, state: 'warn', detail: `${server} could not be asked ${since} ago: ${trouble}` };
    const said = [
      ...(version === undefined ? [] : [version]),
      ...(sessions === undefined ? [] : [`${sessions} sessions`]),
      ...datastores.map(datastoreText),
    ];
    const lost = datastores.find(({ accessible }) => !accessible);
    return {
      ...{ name, state: lost === undefined ? 'ok' : 'FAIL', detail: `${server} ${since} ago: ${said.join('; ')}` },
      ...(lost === undefined ? {} : { next: shell`govc datastore.info ${lost.path}` }),
    };
  });
}
