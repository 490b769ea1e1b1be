import {
  type Asked,
  askedAbout,
  type Crd,
  type Finding,
  type JsonObject,
  type PreflightOptions,
  preflightWebhooks,
} from '@drydock/crd';
import type { ClusterAdmission } from '@drydock/preflight';
import type { Source } from './sources.ts';

/** Configurations of the cluster that concern the definitions at hand, and that a release does not have. */
export function lostWebhooks(
  { bindings, configurations }: ClusterAdmission,
  { admission, crds: wanted }: Source,
  crds: readonly Crd[],
): readonly JsonObject[] {
  if (admission === undefined) return [];
  const kept = new Set(admission.map(whoIs));
  const concerned = crds.filter((crd) => wanted.some(({ name }) => name === crd.name));
  return configurations.filter(
    (configuration) =>
      !kept.has(whoIs(configuration)) &&
      concerned.some((crd) => askedAbout(configuration, crd, bindings) !== undefined),
  );
}

function whoIs(configuration: JsonObject): string {
  const { kind, metadata } = configuration as { readonly kind: string; readonly metadata?: { readonly name?: string } };
  return `${kind} ${metadata?.name ?? ''}`;
}

/** Webhooks that refuse every write already, because nobody is there to answer. */
export function headlessWebhooks(
  { bindings, configurations, headless }: ClusterAdmission,
  lost: readonly JsonObject[],
  crds: readonly Crd[],
  options: PreflightOptions,
): readonly Finding[] {
  const concerned = configurations.filter(
    (configuration) =>
      headless.has(whoIs(configuration)) &&
      !lost.includes(configuration) &&
      crds.some((crd) => askedAbout(configuration, crd, bindings) !== undefined),
  );
  return concerned.flatMap((configuration) =>
    preflightWebhooks([configuration], [], options).map(
      (finding): Finding => ({
        ...finding,
        class: 'WEBHOOK',
        blocking: true,
        what: `fails closed, and ${headless.get(whoIs(configuration)) ?? ''}: what it is asked about is refused`,
        remedy: 'Delete the webhook configuration, or bring back who answers.',
      }),
    ),
  );
}

/** Whoever else is asked about writes of a kind. */
export function askedOf(
  { bindings, configurations }: ClusterAdmission,
  lost: readonly JsonObject[],
  crd: Crd,
): readonly Asked[] {
  return configurations.flatMap((configuration) => {
    const asked = lost.includes(configuration) ? undefined : askedAbout(configuration, crd, bindings);
    return asked === undefined ? [] : [asked];
  });
}
