/** The pod of a manifest, by which its mirror pod is found. */
export interface StaticPod {
  /** Kubelet's own default where the manifest names none. */
  readonly namespace: string;
  readonly name: string;
}

/** What is under the name that kubelet reads. */
export type RootManifest =
  /** `fallbackFor`: the revision that failed, where this one runs in its place. */
  | { readonly kind: 'revision'; readonly revision: number; readonly fallbackFor?: string; readonly pod: StaticPod }
  /** Missing, empty, unparsable, without a usable label. */
  | { readonly kind: 'unusable'; readonly reason: string };

/** An answer about the pod. */
export interface Readiness {
  readonly ready: boolean;
  /** CamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** What a startup monitor sees. */
export interface MonitorView {
  /** The revision that it watches over. */
  readonly revision: number;
  readonly manifest: RootManifest;
  /** Of the manifest's revision; absent where it was not asked or did not answer. */
  readonly readiness?: Readiness;
  readonly deadlinePassed: boolean;
  /** The revision to fall back to: the last known good one, or the newest usable one before ours. */
  readonly fallback: number | undefined;
  /** The revision that the link names. */
  readonly linked: number | undefined;
}

/** The next thing to do. */
export type MonitorStep =
  | { readonly do: 'wait'; readonly reason: string }
  | { readonly do: 'link'; readonly revision: number }
  | { readonly do: 'acknowledge' }
  | { readonly do: 'fall-back'; readonly revision: number; readonly reason: string; readonly message: string }
  /** The work is done: the monitor's own manifest goes. */
  | { readonly do: 'leave'; readonly outcome: 'ready' | 'fallen-back' | 'nothing-to-fall-back-to' }
  | { readonly do: 'fail'; readonly reason: string };

/**
 * What to do next. A manifest that nobody can use is a pod that is not ready: it leads to the fallback like any other. A manifest of a newer
 * revision does not: its own monitor decides. An older revision that is well is left alone. An answer that never came leads nowhere, because the pod
 * may be well.
 */
export function decideMonitor(view: MonitorView): MonitorStep {
  const { revision, manifest, readiness, deadlinePassed } = view;
  if (manifest.kind === 'revision') {
    if (manifest.revision > revision)
      return {
        do: 'fail',
        reason: `the manifest is of revision ${manifest.revision}, which is newer than ${revision}`,
      };
    if (manifest.fallbackFor === String(revision)) return { do: 'leave', outcome: 'fallen-back' };
    if (manifest.revision === revision && readiness?.ready === true) {
      if (view.linked !== revision) return { do: 'link', revision };
      return { do: 'acknowledge' };
    }
  }
  const why = reasonOf(view);
  if (!deadlinePassed) return { do: 'wait', reason: `${why.reason}: ${why.message}` };
  if (manifest.kind === 'revision' && readiness === undefined)
    return { do: 'fail', reason: 'whether the pod is ready could not be found out' };
  // Ours never came: an installer that was cut off brings it, or nobody does. What runs must not be restarted for that.
  if (manifest.kind === 'revision' && manifest.revision < revision && readiness?.ready === true)
    return { do: 'fail', reason: `the manifest is still of revision ${manifest.revision}, which is ready` };
  if (view.fallback === undefined) return { do: 'leave', outcome: 'nothing-to-fall-back-to' };
  if (view.linked !== view.fallback) return { do: 'link', revision: view.fallback };
  return { do: 'fall-back', revision: view.fallback, ...why };
}

function reasonOf({ manifest, readiness, revision }: MonitorView): {
  readonly reason: string;
  readonly message: string;
} {
  if (manifest.kind === 'unusable') return { reason: 'UnusableManifest', message: manifest.reason };
  if (manifest.revision !== revision)
    return {
      reason: 'UnexpectedRevision',
      message: `the manifest is of revision ${manifest.revision}, expected ${revision}`,
    };
  return { reason: readiness?.reason ?? 'Unknown', message: readiness?.message ?? 'the pod did not answer' };
}
