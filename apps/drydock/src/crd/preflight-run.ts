import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import {
  createReport,
  ERAS,
  type Era,
  type Finding,
  type PreflightOptions,
  preflightWebhooks,
  type ServerEra,
  undecidedKind,
} from '@drydock/crd';
import {
  clusterAdmission,
  clusterCrds,
  clusterEra,
  conversionBackends,
  eraOf,
  probe,
  probeRequests,
  scan,
} from '@drydock/preflight';
import { agreed } from '../confirmation.ts';
import { connect } from '../connect.ts';
import { count } from '../count.ts';
import { exitCode, UsageError } from '../exit.ts';
import { type OutputFormat, print } from '../output/format.ts';
import { terminalWidth } from '../table.ts';
import { sayError } from '../terminal.ts';
import { type PreflightAnswer, printPreflight } from './preflight-table.ts';
import { progressLine } from './progress-line.ts';
import { readSource, type SourceFlags } from './sources.ts';
import { askedOf, headlessWebhooks, lostWebhooks } from './webhooks.ts';

/** What `crd preflight` is asked for. */
export interface PreflightFlags extends SourceFlags {
  readonly to: string;
  readonly targetVersion?: string;
  readonly eraNow?: string;
  readonly eraTarget?: string;
  readonly ack?: readonly string[];
  readonly strict?: boolean;
  readonly showValues?: boolean;
  readonly again?: boolean;
  readonly serverProbe?: boolean;
  readonly yes?: boolean;
  readonly output: OutputFormat;
}

/** Answers with more bytes are had in parts: a few of them are held at the same time. */
const LARGEST_PAGE = 16 * 2 ** 20;

/** Judges a cluster and prints the verdict. Resolves to the exit code. */
export async function runPreflight(flags: PreflightFlags, signal: AbortSignal): Promise<number> {
  // A page of objects lives for milliseconds: room for many of them would stay empty, and a third of the memory with it.
  setFlagsFromString('--semi-space-growth-factor=1');
  const eras = erasOf(flags);
  await using client = await connect(flags, { maxBody: LARGEST_PAGE });
  // The server works on its answers while the files are read.
  const cluster = Promise.all([
    clusterEra(client, { signal }),
    clusterCrds(client, { signal }),
    clusterAdmission(client, { signal }),
  ]);
  cluster.catch(() => undefined);
  const target = await readSource(flags.to, flags, signal);
  const [{ notes, server }, { crds, unreadable }, admission] = await cluster;
  const backends = await conversionBackends(client, target.crds, { brought: target.services, signal });
  const told = { ...eras(server), ...(flags.showValues === true ? { showValues: true } : {}) };
  const options = { ...told, backends };
  const report = createReport();
  const findings: Finding[] = [];
  const add = (more: readonly Finding[]): void => {
    const judged = flags.strict === true ? more.map(strictly) : more;
    report.add(judged);
    // A table needs the groups alone, whose number does not grow with that of the objects.
    if (!flags.output.people) findings.push(...judged);
  };
  add(unreadable.map(({ crd, why }) => undecidedKind(crd, why, options)));
  add(target.problems.map(({ crd = '', why }) => undecidedKind(crd, why, options)));
  const lost = lostWebhooks(admission, target, crds);
  add(preflightWebhooks(lost, [], options));
  add(headlessWebhooks(admission, lost, crds, options));
  const progress = progressLine();
  // Doubts about objects wait for the answer of a probe.
  const doubts: Finding[] = [];
  const pages = scan({
    client,
    // What is there and cannot be read is not absent.
    crds: crds.filter(({ name }) => !target.problems.some((problem) => problem.crd === name)),
    wanted: target.crds,
    ...options,
    ...(flags.again === true ? { again: true } : {}),
    asked: (crd) => askedOf(admission, lost, crd),
    labelsOf: admission.labelsOf,
    progress: progress.show,
    signal,
  });
  let objects = 0;
  for (;;) {
    const page = await pages.next();
    if (page.done === true) {
      objects = page.value.objects;
      break;
    }
    if (flags.serverProbe !== true) add(page.value);
    else {
      add(page.value.filter((finding) => !isDoubt(finding)));
      doubts.push(...page.value.filter(isDoubt));
    }
  }
  progress.end();
  const requests = probeRequests(doubts, crds, target.crds);
  const question = `Install ${count(requests.length, 'definition')} of the group shadow.drydock.dev, ask the server, and remove them?`;
  if (requests.length > 0 && (await agreed(question, { yes: flags.yes === true, signal }))) {
    const run = `probe-${randomBytes(4).toString('hex')}`;
    for await (const more of probe(client, requests, { ...options, run, signal })) add(more);
  } else {
    if (requests.length > 0)
      sayError('drydock: nothing was probed: a probe installs definitions for its time, and needs a yes or --yes');
    add(doubts);
  }
  const answer = report.build(flags.ack ?? []);
  for (const ack of idle(flags.ack ?? [], answer)) sayError(`drydock: --ack ${ack} accepts nothing that was found`);
  const value = {
    to: target.name,
    ...told,
    objects,
    definitions: crds.length,
    notes: [...(flags.eraNow === undefined ? notes : []), ...admission.notes],
    ...answer,
    findings,
  };
  print(flags.output, value, () => printPreflight(value, flags.output.wide, terminalWidth()));
  return { clean: exitCode.done, blocked: exitCode.blocked, undecided: exitCode.undecided }[answer.verdict];
}

/** Acknowledgements that fit nothing: a slip of the pen would otherwise look like a consent. */
function idle(acks: readonly string[], { groups }: Pick<PreflightAnswer, 'groups'>): readonly string[] {
  return acks.filter((ack) => !groups.some(({ acknowledged, id }) => acknowledged && `${id}:`.startsWith(`${ack}:`)));
}

/** Doubts about objects, which a probe settles. */
function isDoubt(finding: Finding): boolean {
  return finding.class === 'UNDECIDED' && finding.object !== '';
}

function strictly(finding: Finding): Finding {
  return finding.class === 'BLOCK_CREATE' || finding.class === 'BLOCK_SSA' ? { ...finding, blocking: true } : finding;
}

/** The server that runs and the one that will, by what the first says of itself and by the flags. Throws `UsageError` before anybody is asked. */
function erasOf({
  eraNow,
  eraTarget,
  targetVersion,
}: PreflightFlags): (server: ServerEra) => Pick<PreflightOptions, 'now' | 'target'> {
  const minor = targetVersion === undefined ? undefined : minorOf(targetVersion);
  const [ofNow, ofTarget] = [eraNow, eraTarget].map(eraNamed);
  return (server) => {
    const now = { ...server, era: ofNow ?? server.era };
    const target = minor === undefined ? now : eraOf(minor);
    return { now, target: { ...target, era: ofTarget ?? target.era } };
  };
}

function minorOf(version: string): number {
  const minor = /^v?1\.(\d+)(?:\.\d+)?$/.exec(version)?.[1];
  if (minor !== undefined) return Number(minor);
  const openshift = /^v?4\.(\d+)(?:\.\d+)?$/.exec(version)?.[1];
  const hint = openshift === undefined ? '1.32' : `1.${Number(openshift) + 13}, which OpenShift 4.${openshift} has`;
  throw new UsageError(`${version} is no version of Kubernetes: write it as ${hint}`);
}

function eraNamed(name: string | undefined): Era | undefined {
  if (name === undefined || Object.hasOwn(ERAS, name)) return name as Era | undefined;
  throw new UsageError(`unknown era ${name}: use one of ${Object.keys(ERAS).join(', ')}`);
}
