import { shownText } from '@drydock/api/text';
import type { ListedTemplate, TemplateState } from '@drydock/templates';
import { BootImageError } from '../errors.ts';
import type { ImageThere } from '../image-facts.ts';
import { setText } from '../observe/kept-set.ts';
import type { PlatformInput, PlatformPlan, Publication } from '../platform.ts';
import { IMAGE_GONE, isImageOf } from '../way-back/history.ts';
import { type Pin, pinnedName } from '../way-back/pin.ts';
import { leafName } from './names.ts';
import type { ImageStore } from './options.ts';
import { imagesFor } from './place-inventory.ts';
import { refusalOf } from './provenance.ts';
import type { Present } from './resolve.ts';
import type { Site } from './site.ts';

/** What is known of a pinned set. */
export interface PinnedSet {
  readonly input: PlatformInput;
  readonly pin: Pin;
  readonly site: Site;
  /** `providerSpec.template`. */
  readonly reference: string;
  readonly referenced: TemplateState;
  /** The name that one template after the other takes over; undefined where templates are published by pointer. */
  readonly stable: string | undefined;
  /** Names of templates that the failure domains of Infrastructure name. */
  readonly named: ReadonlySet<string>;
}

/** How a plan is put together. */
export interface PinnedPlans {
  readonly current: (existing: Present) => PlatformPlan;
  readonly point: (to: Present, existing: Present | undefined) => PlatformPlan;
  /** Brings an earlier generation back under the stable name. */
  readonly bringBack: (
    name: string,
    to: ListedTemplate,
    existing: Present | undefined,
    key: Publication['key'],
  ) => PlatformPlan;
}

/**
 * What a pin makes of a set: nothing is ever imported for it. Pointer mode points the set at the image, swap mode brings it back under the name. Throws `PinnedImageGone` where it is
 * not there, naming what is, `PinnedImageChanged` where it is another one than was published, `PinnedImageUnproven` where nothing proves that it is ours.
 */
export async function pinnedPlan(
  set: PinnedSet,
  store: Pick<ImageStore, 'inspect' | 'list'>,
  plans: PinnedPlans,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<PlatformPlan> {
  const { pin, referenced, reference, stable, site, input } = set;
  const existing = referenced.kind === 'present' ? referenced : undefined;
  const byName = pin.image !== undefined && leafName(pin.image) !== stable;
  const bears = stable === undefined || byName || leafName(reference) === stable;
  if (existing !== undefined && bears && isPinned(existing, pin)) return plans.current(whole(existing, set));

  if (pin.image !== undefined && (stable === undefined || byName)) {
    const found = await store.inspect(site.placement, pin.image, call);
    if (found.kind === 'present' && isPinned(found, pin)) return plans.point(usable(found, set), existing);
  }
  const there = await store.list(site.placement, input.cluster, call);
  if (stable !== undefined && !byName) {
    const generations = there.filter(({ stableName, name }) => (stableName ?? name) === stable);
    const bearer = generations.find(({ name }) => name === stable);
    if (bearer !== undefined && isListed(bearer, pin)) {
      const found = await store.inspect(site.placement, stable, call);
      if (found.kind === 'present') return plans.point(usable(found, set), existing);
    }
    const to = generations.find((one) => one.role === 'retired' && one.isTemplate && isListed(one, pin));
    const { server, datacenter, folder } = site.placement;
    if (to !== undefined) return plans.bringBack(stable, to, existing, [server, datacenter, folder, stable].join('|'));
    throw gone(set, there);
  }
  // The name may be another one's by now, and the image kept under another.
  const { image: _, ...unnamed } = pin;
  const others = imagesOf(set, there).filter((one) => isImageOf(unnamed, one));
  for (const { image } of others) {
    const found = await store.inspect(site.placement, image, call);
    if (found.kind === 'present' && found.estranged === undefined) return plans.point(usable(found, set), existing);
  }
  throw gone(set, there);
}

function imagesOf({ site, named }: PinnedSet, there: readonly ListedTemplate[]): readonly ImageThere[] {
  return imagesFor(there, { infrastructureName: site.infrastructureName, domain: site.domain, named });
}

/** By what the pin says; what it does not say may be anything. */
function isPinned({ name, version, digest }: Present, pin: Pin): boolean {
  return (
    (pin.image === undefined || leafName(pin.image) === leafName(name)) &&
    (pin.release === undefined || pin.release === version) &&
    (pin.digest === undefined || digest === undefined || pin.digest === digest)
  );
}

function isListed({ release, version, digest }: ListedTemplate, pin: Pin): boolean {
  if (pin.digest !== undefined && digest !== undefined) return pin.digest === digest;
  return pin.release !== undefined && pin.release === (release ?? version);
}

function whole(template: Present, set: PinnedSet): Present {
  const refused = refusalOf(template, set.named);
  if (refused?.kind !== 'changed') return template;
  throw new BootImageError(
    'PinnedImageChanged',
    `${setText(set.input.set)} is pinned to ${template.name}: ${refused.why}`,
    {
      ...{ retriable: false, nextStep: `find out who changed ${template.name}` },
      facts: { because: refused.why },
    },
  );
}

function usable(template: Present, set: PinnedSet): Present {
  const refused = refusalOf(whole(template, set), set.named);
  if (refused === undefined) return template;
  const message = `${setText(set.input.set)} is pinned to ${template.name}, and ${refused.why}`;
  const nextStep = `if it is what it should be, say so: ${adoption(template, set)}`;
  const facts = { because: refused.why };
  throw new BootImageError('PinnedImageUnproven', message, { retriable: false, nextStep, facts });
}

/** The command by which a person says that a template is what it should be; the key is what makes it count. */
function adoption({ name }: Present, { site, input }: PinnedSet): string {
  const { server, datacenter, folder } = site.placement;
  const flags = { url: `https://${server}`, datacenter, folder, owner: input.cluster, 'mark-key': 'FILE' };
  const given = Object.entries(flags).flatMap(([flag, value]) => (value === '' ? [] : [`--${flag} ${quoted(value)}`]));
  return `drydock template adopt ${quoted(name)} ${given.join(' ')}`;
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function gone(set: PinnedSet, there: readonly ListedTemplate[]): BootImageError {
  const { pin, site, input } = set;
  const usableOnes = imagesOf(set, there).filter(({ refused }) => refused === undefined);
  const releases = [...new Set(usableOnes.map(({ release }) => release))];
  const left = releases.length === 0 ? 'nothing else is there' : `there are ${releases.join(', ')}`;
  const more = [
    ...(pin.image === undefined || pin.release === undefined ? [] : [shownText(pin.image)]),
    ...(pin.digest === undefined ? [] : [`sha256 ${shownText(pin.digest)}`]),
  ].join(', ');
  const what = more === '' ? pinnedName(pin) : `${pinnedName(pin)} (${more})`;
  return new BootImageError(
    'PinnedImageGone',
    `${setText(input.set)} is pinned to ${what}, which is not in ${site.placement.folder} of ${site.placement.server}: ${left}`,
    { retriable: false, facts: { because: IMAGE_GONE } },
  );
}
