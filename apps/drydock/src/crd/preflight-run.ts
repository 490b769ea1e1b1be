import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
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
import type { KubeClient } from '@drydock/kube';
import {
  clusterAdmission,
  clusterCrds,
  eraOf,
  gather,
  probe,
  type ScanProgress,
  scan,
  serverMinor,
} from '@drydock/preflight';
import { connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { count, formatOf, print } from './formats.ts';
import type { PreflightFlags } from './preflight.ts';
import { printPreflight } from './preflight-table.ts';
import { readSource } from './sources.ts';
import { askedOf, headlessWebhooks, lostWebhooks } from './webhooks.ts';

/** Judges a cluster and prints the verdict. Resolves to the exit code. */
export async function runPreflight(flags: PreflightFlags, signal: AbortSignal): Promise<number> {
  // A page of objects lives for milliseconds: room for many of them would stay empty, and a third of the memory with it.
  setFlagsFromString('--semi-space-growth-factor=1');
  const format = formatOf(flags.output);
  if (flags.serverProbe === true && flags.yes !== true && !canAsk())
    throw new UsageError('a probe installs definitions for its time, and this needs a yes: give --yes');
  const target = await readSource(flags.to, flags, signal);
  await using client = await connect(flags);
  const options = await servers(flags, client, signal);
  const [{ crds, unreadable }, admission] = await Promise.all([
    clusterCrds(client, { signal }),
    clusterAdmission(client, { signal }),
  ]);
  const report = createReport();
  const findings: Finding[] = [];
  const add = (more: readonly Finding[]): void => {
    const judged = flags.strict === true ? more.map(strictly) : more;
    report.add(judged);
    // A table needs the groups alone, whose number does not grow with that of the objects.
    if (format === 'json' || format === 'yaml') findings.push(...judged);
  };
  add(unreadable.map(({ crd, why }) => undecidedKind(crd, why, options)));
  add(target.problems.map((problem) => undecidedKind('', problem, options)));
  const lost = lostWebhooks(admission, target, crds);
  add(preflightWebhooks(lost, [], options));
  add(headlessWebhooks(admission, lost, crds, options));
  const progress = progressLine();
  const questions = gather();
  // Doubts about objects wait for the answer of a probe.
  const doubts: Finding[] = [];
  const pages = scan({
    client,
    crds,
    wanted: target.crds,
    ...options,
    ...(flags.again === true ? { again: true } : {}),
    asked: (crd) => askedOf(admission, lost, crd),
    progress: progress.show,
    undecided: questions.add,
    signal,
  });
  for (;;) {
    const page = await pages.next();
    if (page.done === true) break;
    if (flags.serverProbe !== true) add(page.value);
    else {
      add(page.value.filter((finding) => !isDoubt(finding)));
      doubts.push(...page.value.filter(isDoubt));
    }
  }
  progress.end();
  const requests = questions.requests();
  if (flags.serverProbe === true && requests.length > 0) {
    if (await agreed(flags, requests.length, signal)) {
      const run = `probe-${randomBytes(4).toString('hex')}`;
      for await (const more of probe(client, requests, { ...options, run, signal })) add(more);
    } else {
      console.error('drydock: nothing was probed.');
      add(doubts);
    }
  }
  const answer = report.build(flags.ack ?? []);
  const value = {
    to: target.name,
    ...options,
    objects: progress.objects(),
    definitions: crds.length,
    notes: admission.notes,
    ...answer,
    findings,
  };
  print(format, value, () => printPreflight(value, format === 'wide'));
  return { clean: exitCode.done, blocked: exitCode.blocked, undecided: exitCode.undecided }[answer.verdict];
}

/** Doubts about objects, which a probe settles. */
function isDoubt(finding: Finding): boolean {
  return finding.class === 'UNDECIDED' && finding.object !== '';
}

function strictly(finding: Finding): Finding {
  return finding.class === 'BLOCK_CREATE' || finding.class === 'BLOCK_SSA' ? { ...finding, blocking: true } : finding;
}

async function servers(
  flags: PreflightFlags,
  client: Pick<KubeClient, 'raw'>,
  signal: AbortSignal,
): Promise<PreflightOptions> {
  const now = withEra(await serverMinor(client, { signal }), flags.eraNow);
  const minor = /^(?:v?1\.)?(\d+)(?:\.\d+)?$/.exec(flags.targetVersion ?? '')?.[1];
  if (flags.targetVersion !== undefined && minor === undefined)
    throw new UsageError(`${flags.targetVersion} is no version of Kubernetes: write it as 1.32`);
  const target = withEra(minor === undefined ? now : eraOf(Number(minor)), flags.eraTarget);
  return { now, target, ...(flags.showValues === true ? { showValues: true } : {}) };
}

function withEra(server: ServerEra, name: string | undefined): ServerEra {
  if (name === undefined) return server;
  if (!Object.hasOwn(ERAS, name))
    throw new UsageError(`unknown era ${name}: use one of ${Object.keys(ERAS).join(', ')}`);
  return { ...server, era: name as Era };
}

/** Whether a terminal can be asked. */
function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

async function agreed(flags: PreflightFlags, kinds: number, signal: AbortSignal): Promise<boolean> {
  if (flags.yes === true) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const question = `Install ${count(kinds, 'definition')} of the group shadow.drydock.dev, ask the server, and remove them? [y/N] `;
    return /^y(es)?$/i.test((await terminal.question(question, { signal })).trim());
  } finally {
    terminal.close();
  }
}

/** One line on a terminal, redrawn; silence elsewhere. */
function progressLine(sink: NodeJS.WriteStream = process.stderr): {
  readonly show: (progress: ScanProgress) => void;
  readonly end: () => void;
  readonly objects: () => number;
} {
  let objects = 0;
  let drawn = 0;
  return {
    show: (progress) => {
      objects = progress.objects;
      const now = Date.now();
      if (sink.isTTY !== true || now - drawn < 100) return;
      drawn = now;
      const line = `${progress.kind} of ${progress.kinds} kinds, ${objects} objects  ${progress.crd}`;
      sink.write(`\r${line.slice(0, (sink.columns || 80) - 1)}\u001b[K`);
    },
    end: () => {
      if (drawn > 0) sink.write('\r\u001b[K');
    },
    objects: () => objects,
  };
}
