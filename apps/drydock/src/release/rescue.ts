import { durationMs } from '@drydock/api/duration';
import type { Patient, RescueOutcome, RescuePorts, RescueStep, RescueWish, Restoration } from '@drydock/release';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { quoted } from '../template/next-command.ts';
import { tell } from '../terminal.ts';
import {
  nextStep,
  outcomeText,
  patientText,
  planText,
  type RescueOutput,
  restorationText,
  saidOf,
  stepText,
} from './rescue-text.ts';

interface RescueFlags extends ClusterFlags {
  readonly leaseNamespace: string;
  readonly writer?: string;
  readonly restart?: true;
  readonly forceDelete?: true;
  readonly undo?: true;
  readonly wait: string;
  readonly showValues?: true;
  readonly yes?: true;
  readonly output: OutputFormat;
}

/** What is stuck most often, and who writes it. */
const CLUSTER_VERSION = 'clusterversions.config.openshift.io';
const CLUSTER_VERSION_WRITER = 'openshift-cluster-version/cluster-version-operator';

/** Adds `release rescue`: frees an object whose every status write is refused. */
export function addRescue(group: Command): void {
  clusterFlags(
    group
      .command('rescue')
      .description('free an object whose every status write is refused after an unprepared way back'),
  )
    .argument('[definition]', 'its definition, as PLURAL.GROUP', CLUSTER_VERSION)
    .argument('[name]', 'its name', 'version')
    .option(
      '--writer <deployment>',
      `the Deployment that writes it, as NAMESPACE/NAME, or none (default for ${CLUSTER_VERSION}: ${CLUSTER_VERSION_WRITER})`,
    )
    .option(
      '--restart',
      'restart the writer also where the stored status is legal: it may keep in memory what it is refused',
    )
    .option('--force-delete', 'delete pods of the writer instead of evicting them, whatever a PodDisruptionBudget says')
    .option('--undo', 'put back what the schema takes by now of what was left out')
    .option('--wait <duration>', 'how long the writer has for its first write, as 90s or 5m', '5m')
    .option('--lease-namespace <name>', 'namespace of the ConfigMaps that keep what is left out', LEASE_NAMESPACE)
    .option('--show-values', 'print values of the status, which may be secret')
    .option('--yes', 'do what the plan says, without a question')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Without --yes, and where nobody can be asked, only the plan is printed; everything that it asks of the server is a dry run.
Example: drydock release rescue --yes
Exit codes: 0 free, 1 failed, 2 usage, 3 not to be freed (or not proved), 5 a plan that nobody agreed to, or a pod that may not be evicted, 130 and 143 interrupted.`,
    )
    .action((definition: string, name: string, flags: RescueFlags) =>
      untilInterrupted(
        (signal) => rescueVerb(definition, name, flags, signal),
        'what was left out is in the ledger, and the same command goes on',
      ),
    );
}

async function rescueVerb(definition: string, name: string, flags: RescueFlags, signal: AbortSignal): Promise<number> {
  const patience = patienceOf(flags.wait);
  const { namespace } = flags;
  // What comes back is nobody's memory.
  const writer =
    flags.undo === true
      ? undefined
      : writerOf(flags.writer ?? (definition === CLUSTER_VERSION ? CLUSTER_VERSION_WRITER : 'none'));
  const wish: RescueWish = {
    definition,
    key: namespace === undefined ? { name } : { namespace, name },
    ...(writer === undefined ? {} : { writer }),
  };
  await using client = await connect(flags);
  const { createLedger, LEDGER_COMPONENT, ledgerName } = await import('@drydock/crd');
  const { configMapStore } = await import('@drydock/kube');
  const { clusterEra } = await import('@drydock/preflight');
  const { observePatient, RESCUE_RECORDS, rescueRecords } = await import('@drydock/release');
  const store = (of: string) =>
    configMapStore({ client, namespace: flags.leaseNamespace, name: of, component: LEDGER_COMPONENT });
  const [, plural = '', group = ''] = /^([^.]+)\.(.+)$/.exec(definition) ?? [];
  const ledger = ledgerName({ plural, group });
  const { server } = await clusterEra(client, { signal });
  const ports: RescuePorts = {
    client,
    ledger: createLedger({
      store: store(ledger),
      onProblem: ({ what, error }) => {
        throw new Error(`${what}: ConfigMap ${flags.leaseNamespace}/${ledger}`, { cause: error });
      },
    }),
    records: rescueRecords(store(RESCUE_RECORDS)),
    minor: server.minor,
    now: () => new Date().toISOString(),
    signal,
  };
  const seen: Seen = {
    wish,
    ports,
    patient: await observePatient(wish, ports),
    ledger: `${flags.leaseNamespace}/${ledger}`,
    values: flags.showValues === true,
  };
  return await (flags.undo === true ? undo(seen, flags) : free(seen, flags, patience));
}

/** Everything that a verb needs after the first look. */
interface Seen {
  readonly wish: RescueWish;
  readonly ports: RescuePorts;
  readonly patient: Patient;
  readonly ledger: string;
  readonly values: boolean;
}

async function free(seen: Seen, flags: RescueFlags, patience: number): Promise<number> {
  const { ledger, patient, ports, values, wish } = seen;
  const { rescue, rescuePlan } = await import('@drydock/release');
  const { systemClock } = await import('@drydock/kube');
  const restart = flags.restart === true;
  const plan = rescuePlan(patient, { restart, now: ports.now() });
  const forceDelete = flags.forceDelete === true;
  const shown = { ledger, values, patience, forceDelete, flags: repeated(flags) };
  const said = saidOf(patient, wish, plan, shown);
  const about = (): string => `${patientText(said)}${planText(plan, shown)}`;
  const [first] = plan;
  const end = (outcome: RescueOutcome | { readonly kind: 'planned' }, code: number, head = ''): number => {
    const output: RescueOutput = { ...said, ...endOf(outcome), next: nextStep(outcome, said, shown) };
    print(flags.output, output, () => `${head}${outcomeText(output)}`);
    return code;
  };
  if (first?.kind === 'healthy' || first?.kind === 'hopeless')
    return end(first, first.kind === 'healthy' ? exitCode.done : exitCode.blocked, patientText(said));
  const question = `Do it? What is left out stays in ConfigMap ${ledger}.`;
  if (!(await agreed(question, { yes: flags.yes === true, about, signal: ports.signal })))
    return end({ kind: 'planned' }, exitCode.undecided, about());
  let told = '';
  const outcome = await rescue(wish, ports, {
    restart,
    forceDelete,
    patience,
    clock: { now: () => systemClock.now(), sleep: (ms, signal) => systemClock.sleep(ms, { signal }) },
    onStep: (step: RescueStep) => {
      const text = stepText(step, shown);
      // A writer that is faster makes a step come again.
      if (text !== told) tell(`${text}\n`);
      told = text;
    },
  });
  return end(outcome, CODES[outcome.kind] ?? exitCode.blocked);
}

const CODES: Readonly<Partial<Record<RescueOutcome['kind'], number>>> = {
  free: exitCode.done,
  healthy: exitCode.done,
  unrestarted: exitCode.undecided,
};

function endOf(
  outcome: RescueOutcome | { readonly kind: 'planned' },
): Pick<RescueOutput, 'result' | 'proofs' | 'kept' | 'message'> {
  const { kind } = outcome;
  const proofs = 'proofs' in outcome ? outcome.proofs : [];
  return {
    result: kind,
    proofs: proofs.map(({ write, verdict }) => ({
      write,
      accepted: verdict.accepted,
      ...(verdict.accepted ? {} : { said: verdict.said }),
    })),
    ...(kind === 'free' ? { kept: outcome.kept } : {}),
    ...(kind === 'hopeless' ? { message: outcome.why } : {}),
    ...(kind === 'unrestarted' ? { message: `Pod ${outcome.pod}: ${outcome.why}` } : {}),
  };
}

async function undo(seen: Seen, flags: RescueFlags): Promise<number> {
  const { ledger, patient, ports, values, wish } = seen;
  const { restoration, undoRescue } = await import('@drydock/release');
  const planned = await restoration(wish, ports);
  const shown = { ledger, values, patience: 0, forceDelete: false, flags: repeated(flags) };
  const said = saidOf(patient, wish, [], shown);
  const end = (back: Restoration, done: boolean, code: number): number => {
    const restored = back.returns.length;
    const output: RescueOutput = {
      ...said,
      result: done ? 'restored' : 'planned',
      restored,
      kept: back.stays.length + (done ? 0 : restored),
      proofs: [],
      ...(back.verdict.accepted ? {} : { message: back.verdict.said }),
    };
    print(flags.output, output, () => restorationText(output, back));
    return code;
  };
  if (planned.returns.length === 0) return end(planned, true, exitCode.done);
  if (!planned.verdict.accepted) return end(planned, false, exitCode.blocked);
  const about = (): string =>
    restorationText({ ...said, result: 'planned', proofs: [], restored: planned.returns.length }, planned);
  if (!(await agreed('Put them back?', { yes: flags.yes === true, about, signal: ports.signal })))
    return end(planned, false, exitCode.undecided);
  const back = await undoRescue(wish, ports);
  return end(back, back.verdict.accepted, back.verdict.accepted ? exitCode.done : exitCode.blocked);
}

/** What the next command needs of this one's flags, as words of a shell. */
function repeated({ kubeconfig, context, leaseNamespace, namespace, writer }: RescueFlags): readonly string[] {
  const of = (flag: string, value: string | undefined): readonly string[] =>
    value === undefined ? [] : [flag, quoted(value)];
  return [
    ...of('-n', namespace),
    ...of('--kubeconfig', kubeconfig),
    ...of('--context', context),
    ...of('--writer', writer),
    ...of('--lease-namespace', leaseNamespace === LEASE_NAMESPACE ? undefined : leaseNamespace),
  ];
}

function writerOf(text: string): RescueWish['writer'] {
  if (text === 'none') return undefined;
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (namespace === undefined || name === undefined)
    throw new UsageError(`--writer ${text}: NAMESPACE/NAME of a Deployment is expected, or none`);
  return { namespace, name };
}

function patienceOf(text: string): number {
  const ms = durationMs(text) ?? 0;
  if (ms === 0) throw new UsageError(`--wait ${text}: a duration is expected, as 90s or 5m`);
  return ms;
}
