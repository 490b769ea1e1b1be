import type { ServerEra } from '@drydock/crd';
import { ApiError, type KubeClient } from '@drydock/kube';
import { clusterEra, eraOf } from '@drydock/preflight';
import { minor } from 'semver';
import type { Manifest } from '../payload/manifest.ts';
import { type HealedPlace, wayPreflight } from '../rollback/preflight.ts';
import type { WayBackState } from '../state/conditions.ts';
import type { WayBackFinding } from '../state/way-back.ts';
import { lostData, type Running } from './lost-data.ts';

/** What stands between what is stored and the definitions of a release. */
export interface JudgedWay {
  readonly findings: readonly WayBackFinding[];
  /** Why not everything could be looked at; '' where it was. */
  readonly undecided: string;
  /** What the way back does by itself about what does not fit. */
  readonly healed?: readonly HealedPlace[];
  /** Why its API server cannot follow the one that runs; absent where it can, or stays. */
  readonly skew?: string;
}

/** A release that would be gone to, and what is known besides what is stored. */
export interface WayBackQuestion {
  readonly manifests: readonly Manifest[];
  /** Version of the API server that it brings; absent: the one that runs stays. */
  readonly kubernetes?: string | undefined;
  /** What the running release has done; absent: nobody knows. */
  readonly running?: Running;
}

/** Asks a cluster. It only reads. Rejects with `ApiError`, and with the signal's reason. */
export type WayBackJudge = (client: KubeClient, question: WayBackQuestion, signal: AbortSignal) => Promise<JudgedWay>;

const TOLD = 5;

/** Minors that an API server can go back at once: it reads what the next one stored. */
const SERVER_MINORS = 1;

/**
 * Judges every stored object of the kinds that a release brings under its definitions, as a way back leaves it and as the API server would that it brings (what the running one tolerates an older one may refuse), and
 * tells what no way back brings again.
 */
export const judgeWayBack: WayBackJudge = async (client, question, signal) => {
  const { manifests, kubernetes, running } = question;
  const lost = running === undefined ? [] : await lostData(client, manifests, running, signal);
  const isDefined = manifests.some(({ id }) => id.kind === 'CustomResourceDefinition');
  // Nobody needs a right to look at definitions for a release that has none.
  if (!isDefined && kubernetes === undefined) return { findings: lost, undecided: '' };
  const { server } = await clusterEra(client, { signal });
  const target = targetServer(kubernetes) ?? server;
  const skewed = server.minor - target.minor > SERVER_MINORS;
  const skew = `It brings Kubernetes 1.${target.minor}, and 1.${server.minor} runs: an API server goes back ${SERVER_MINORS} minor at a time.`;
  const judged = isDefined ? await wayPreflight(client, manifests, { now: new Date(), target, signal }) : NOTHING;
  return { ...judged, findings: [...lost, ...judged.findings], ...(skewed ? { skew } : {}) };
};

/** The API server of a release by the version that it brings; undefined where the one that runs stays. */
export function targetServer(kubernetes: string | undefined): ServerEra | undefined {
  return kubernetes === undefined ? undefined : eraOf(minor(kubernetes));
}

const NOTHING: JudgedWay = { findings: [], undecided: '' };

const UNDECIDED = 'UNDECIDED';

/** What a judgement means for the condition Rollbackable. `version`: the release that would be gone back to. */
export function wayBackState(version: string, { findings, healed = [], undecided, skew }: JudgedWay): WayBackState {
  if (skew !== undefined)
    return { status: 'False', reason: 'ServerSkew', message: `Going back to ${version}: ${skew}` };
  const blocking = findings.filter((one) => one.blocking && one.class !== UNDECIDED);
  const more = blocking.length > TOLD ? ` And ${blocking.length - TOLD} more.` : '';
  if (blocking.length > 0) {
    const told = blocking.slice(0, TOLD).map(({ id, message }) => `${id}: ${message}`);
    return {
      status: 'False',
      reason: 'PreflightFindings',
      message: `Going back to ${version} is held up: ${told.join(' ')}${more}`,
    };
  }
  if (undecided !== '')
    return { status: 'Unknown', reason: 'Undecided', message: `Going back to ${version} is undecided: ${undecided}` };
  if (healed.length === 0)
    return { status: 'True', reason: 'AsExpected', message: `What is stored fits the definitions of ${version}.` };
  return { status: 'True', reason: 'ValuesKept', message: keptText(version, healed) };
}

function keptText(version: string, healed: readonly HealedPlace[]): string {
  const places = healed.slice(0, TOLD).map(({ definition, path, objects }) => `${path} of ${definition} (${objects})`);
  const rest = healed.length > TOLD ? `, and ${healed.length - TOLD} more` : '';
  const count = healed.length === 1 ? '1 place' : `${healed.length} places`;
  return `The definitions of ${version} do not hold ${count}: a rollback takes the values out, keeps them and puts them back on the way forward. Places, with their objects: ${places.join(', ')}${rest}.`;
}

/** The same for a look that failed. */
export function unjudged(version: string, error: unknown): WayBackState {
  const why = error instanceof ApiError ? error.message : (error as Error).message;
  return {
    status: 'Unknown',
    reason: 'NotJudged',
    message: `Whether ${version} can be gone back to could not be looked at: ${why}`,
  };
}
