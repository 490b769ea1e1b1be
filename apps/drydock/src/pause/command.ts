import { Lease } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import { type Client, isAlreadyExists, isConflict, isNotFound } from '@drydock/kube';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { durationMs } from '../image/hold.ts';
import { whoAsks } from '../image/pin-writer.ts';
import { untilInterrupted } from '../interruption.ts';
import { elsewhereOf, leadershipOf, leadershipText } from '../leadership.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { PAUSE, type Pause, pauseOf, pauseText } from './pause.ts';

const ROLES = ['boot-images', 'watch', 'release'] as const;
type Role = (typeof ROLES)[number];

interface PauseFlags extends ClusterFlags {
  readonly role?: readonly string[];
  readonly reason?: string;
  readonly until?: string;
  readonly output: OutputFormat;
  readonly leaseNamespace: string;
}

/** What `pause` and `resume` print as JSON and YAML. */
export interface PauseOutput {
  readonly roles: readonly {
    readonly role: string;
    /** Paused: it is to do nothing. Running: it may. Unchanged: it was so before. */
    readonly result: 'paused' | 'running' | 'unchanged';
    readonly pause?: Pause;
    /** Who leads it, and ends what is under way. */
    readonly holder?: string;
  }[];
}

/** Adds `drydock pause`: the roles of the operator end what they have begun, and begin nothing, until they are told to go on. */
export function addPause(program: Command): void {
  flagsOf(
    program.command('pause').description('let the operator end what is under way and begin nothing, until resume'),
  )
    .option('--reason <text>', 'why, for whoever sees it')
    .option('--until <duration>', 'when it lapses by itself, as 30m, 12h or 7d (default: drydock resume ends it)')
    .addHelpText(
      'after',
      `
It is written on the Lease of each role, and outlives restarts. The leader gives the role up at its next renewal (after 2 s, on OpenShift after up to 14 s or 30 s): what can be left without harm is left as at a restart, the rest is ended first. It needs the right to
get and patch leases in the namespace of the Leases, and to create one that is not there yet.

Example:
  drydock pause --role boot-images --reason 'the storage is moved' --until 4h

Exit codes: 0 paused, 1 failed, 2 usage, 130 and 143 interrupted.`,
    )
    .action((flags: PauseFlags) =>
      untilInterrupted((signal) => change(flags, true, signal), 'what is paused is shown by drydock status'),
    );
}

/** Adds `drydock resume`: ends a pause. */
export function addResume(program: Command): void {
  flagsOf(program.command('resume').description('let the operator go on after a pause'))
    .addHelpText(
      'after',
      `
Example:
  drydock resume

Exit codes: 0 nothing is paused any more, 1 failed, 2 usage, 130 and 143 interrupted.`,
    )
    .action((flags: PauseFlags) =>
      untilInterrupted((signal) => change(flags, false, signal), 'what is paused is shown by drydock status'),
    );
}

function flagsOf(command: Command): Command {
  return clusterFlags(command)
    .option('--role <name...>', `${ROLES.join(', ')} (default: all that have a Lease)`)
    .addOption(outputOption())
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE);
}

async function change(flags: PauseFlags, pausing: boolean, signal: AbortSignal): Promise<number> {
  const named = flags.role === undefined ? undefined : rolesOf(flags.role);
  const now = new Date();
  const until = flags.until === undefined ? undefined : durationMs(flags.until);
  if (flags.until !== undefined && until === undefined)
    throw new UsageError(`--until ${flags.until}: a duration such as 30m, 12h or 7d is expected`);
  await using client = await connect(flags);
  const pause: Pause | undefined = pausing
    ? {
        ...{ by: await whoAsks(client, signal), since: rfc3339(now) },
        ...(flags.reason === undefined ? {} : { reason: flags.reason }),
        ...(until === undefined ? {} : { until: rfc3339(new Date(now.getTime() + until)) }),
      }
    : undefined;
  const roles: PauseOutput['roles'][number][] = [];
  for (const role of named ?? (await rolesWithLease(client, flags.leaseNamespace, pausing, signal))) {
    const where = { namespace: flags.leaseNamespace, name: `drydock-${role}` };
    const leads = await leadershipOf(client, { role, namespace: flags.leaseNamespace }, { signal });
    const elsewhere = elsewhereOf(leads);
    if (elsewhere !== undefined)
      throw new UsageError(`nothing was changed: ${leadershipText(leads, role, Date.now())}`);
    const before = await annotate(client, where, pause, signal);
    const leader = await leadershipOf(client, { role, namespace: flags.leaseNamespace }, { signal });
    roles.push({
      role,
      result: pause !== undefined ? 'paused' : before === undefined ? 'unchanged' : 'running',
      ...(pause === undefined ? {} : { pause }),
      ...(leader.state === 'led' ? { holder: leader.holder } : {}),
    });
  }
  const output: PauseOutput = { roles };
  print(flags.output, output, () => textOf(output, now.getTime()));
  return exitCode.done;
}

function textOf({ roles }: PauseOutput, now: number): string {
  if (roles.length === 0) return 'No role of the operator has a Lease here: nothing is paused.\n';
  return roles
    .map(({ role, result, pause, holder }) => {
      if (pause === undefined) return `${role} ${result === 'running' ? 'may go on' : 'was not paused'}`;
      const next = `. ${holder === undefined ? 'Nobody leads it' : `${holder} ends what is under way`}. To go on: drydock resume --role ${role}`;
      return `${role} is ${pauseText(pause, now)}${next}`;
    })
    .map((line) => `${oneLine(line)}\n`)
    .join('');
}

function rolesOf(given: readonly string[]): readonly Role[] {
  return given
    .flatMap((names) => names.split(','))
    .map((name) => {
      const role = ROLES.find((known) => known === name);
      if (role === undefined) throw new UsageError(`unknown role ${name}: there are ${ROLES.join(', ')}`);
      return role;
    });
}

/** Those that have led here. Where none has, boot images are what a pause is meant for: whoever starts an operator later finds it paused. */
async function rolesWithLease(
  client: Pick<Client, 'get'>,
  namespace: string,
  pausing: boolean,
  signal: AbortSignal,
): Promise<readonly Role[]> {
  const there = await Promise.all(
    ROLES.map((role) =>
      client.get(Lease, { namespace, name: `drydock-${role}` }, { signal }).then(
        () => true,
        (error: unknown) => {
          if (isNotFound(error)) return false;
          throw error;
        },
      ),
    ),
  );
  const found = ROLES.filter((_, at) => there[at]);
  return found.length === 0 && pausing ? ['boot-images'] : found;
}

/** Writes the pause, or takes it off; resolves to the one that was there. */
async function annotate(
  client: Pick<Client, 'get' | 'create' | 'mergePatch'>,
  where: { readonly namespace: string; readonly name: string },
  pause: Pause | undefined,
  signal: AbortSignal,
): Promise<Pause | undefined> {
  const value = pause === undefined ? undefined : JSON.stringify(pause);
  for (let tries = 0; ; tries += 1) {
    try {
      const found = await client.get(Lease, where, { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
      if (found === undefined) {
        if (value !== undefined)
          await client.create(
            Lease,
            {
              apiVersion: 'coordination.k8s.io/v1',
              kind: 'Lease',
              metadata: { ...where, annotations: { [PAUSE]: value } },
            },
            { signal },
          );
        return undefined;
      }
      const before = pauseOf(found, 0);
      if (found.metadata.annotations?.[PAUSE] === value) return before;
      // One field: whoever leads renews the rest meanwhile.
      await client.mergePatch(Lease, where, { metadata: { annotations: { [PAUSE]: value ?? null } } } as never, {
        signal,
      });
      return before;
    } catch (error) {
      if (tries > 3 || !(isAlreadyExists(error) || isConflict(error) || isNotFound(error))) throw error;
    }
  }
}

function rfc3339(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
