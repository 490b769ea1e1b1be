import type { VSphereFailureDomain } from '@drydock/api';
import { addressText } from '@drydock/api/text';
import type { PlanRequest, PublishedTemplate, RevertRequest, TemplateWish } from '@drydock/templates';
import { skip } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import { type JsonObject, nonEmpty } from '../observe/json.ts';
import type {
  ForeseenPublication,
  Platform,
  PlatformInput,
  PlatformPlan,
  Publication,
  PublishedImage,
} from '../platform.ts';
import { pinnedName } from '../way-back/pin.ts';
import { artifactOf, type WantedImage } from './artifact.ts';
import { increases } from './byte-count.ts';
import { templateCollection } from './collection.ts';
import { matchFailureDomain, mismatchText, workspaceOf } from './failure-domain.ts';
import { guestOf } from './guest.ts';
import { diskTypeFor } from './install-config.ts';
import { computedName, isInstallerName, isUuid, leafName } from './names.ts';
import type { TemplatePublication, VSphereOptions } from './options.ts';
import { type PinnedPlans, type PinnedSet, pinnedPlan } from './pinned.ts';
import { templateInPlace } from './place-inventory.ts';
import { identityOf, imageFacts, pointed, pointing, templateEdit, templateLeaf } from './pointing.ts';
import { namedByDomains } from './provenance.ts';
import { type Present, resolveTemplate, type TemplateStep } from './resolve.ts';
import { sharedLooks } from './shared-looks.ts';
import { incomplete, type Site, siteFor, siteOf } from './site.ts';

/** The secret with `<server>.username` and `<server>.password`. */
export const credentialsKey = { namespace: 'kube-system', name: 'vsphere-creds' } as const;

/** MachineSets on vSphere: templates published through the store, by pointer unless said otherwise (boot-images.md §4). */
export function vspherePlatform(options: VSphereOptions): Platform {
  const { store } = options;
  const looks = sharedLooks(store);

  async function plan(
    input: PlatformInput,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<PlatformPlan> {
    if (input.infrastructure.spec?.platformSpec?.vsphere === undefined) {
      return skip(
        false,
        'NoVSphereSpec',
        'no vsphere spec',
        'infrastructure/cluster has no spec.platformSpec.vsphere',
        {
          nextStep: 'add vcenters and failureDomains to infrastructure/cluster',
        },
      );
    }
    const { pin } = input;
    // Whatever the stream has, or lacks.
    const artifact = pin === undefined ? artifactOf(input) : undefined;
    const release = artifact?.release ?? (pin === undefined ? '' : pinnedName(pin));
    const reference = nonEmpty(input.spec['template']) ?? '';
    const workspace = workspaceOf(input.spec);
    if (workspace === undefined)
      throw incomplete(`machineset ${input.set.metadata.name} has no workspace in its providerSpec`);
    if (options.credentials !== 'unread') requireCredentials(input, workspace.server);
    const domain = matchFailureDomain(workspace, input.infrastructure);
    if (domain === undefined) {
      const message = mismatchText(workspace);
      options.warn?.(`machineset ${input.set.metadata.name}: ${message}`);
      return {
        ...skip(true, 'NoFailureDomain', 'no failure domain', message, {
          nextStep: 'add this workspace to spec.platformSpec.vsphere.failureDomains of infrastructure/cluster',
        }),
        target: release,
      };
    }
    const site = siteOf(input.infrastructure, workspace, domain);
    if (isUuid(reference)) {
      return {
        ...skip(
          true,
          'TemplateByUuid',
          'template by UUID',
          `machineset ${input.set.metadata.name} names its template by instance UUID`,
          {
            nextStep: 'name the template instead to have it managed',
          },
        ),
        target: release,
      };
    }
    const name = computedName(site.infrastructureName, domain.name);
    const absent = { kind: 'absent' } as const;
    const referenced = reference === '' ? absent : await looks.inspect(site.placement, reference, { signal });
    if (reference !== '' && referenced.kind === 'absent') options.metrics?.templateAbsent();
    if (pin !== undefined) return pinned({ input, pin, site, reference, referenced, name }, { signal });
    const custom =
      referenced.kind === 'present' &&
      !referenced.ours &&
      !isInstallerName(leafName(reference), site.infrastructureName, domain);
    const wanted = referenced.kind === 'absent' || custom;
    const computed = wanted ? await looks.inspect(site.placement, name, { signal }) : absent;
    const step = resolveTemplate({
      set: input.set.metadata.name,
      reference,
      referenced,
      computed,
      computedName: name,
      computedNamed: namedByDomains(input.infrastructure).has(name),
      release,
      downgrade: input.by?.pinned === true ? 'replace' : (options.downgrade ?? 'keep'),
    });
    return planOf(step, input, site, reference, name, artifact ?? artifactOf(input), domain, { signal });
  }

  function pinned(
    set: Omit<PinnedSet, 'stable' | 'named'> & { readonly name: string },
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<PlatformPlan> {
    const { input, site, reference, pin, name } = set;
    const stable = publicationOf(input) === 'swap' ? swapOf(reference, name, site).name : undefined;
    const target = pinnedName(pin);
    const facts = (existing: Present | undefined): ImageFacts => imageFacts(existing, site, target);
    const requestOf = (base: string, to: string): RevertRequest => ({
      ...{ placement: site.placement, owner: input.cluster, name: base, to, holder: options.holder },
    });
    const plans: PinnedPlans = {
      current: (existing) => ({ kind: 'current', ...facts(existing) }),
      point: (to, existing) => ({
        ...{ kind: 'switch', image: pointed(input, site, reference, to), hotLoopValue: target },
        ...facts(existing),
      }),
      bringBack: (base, { instanceUuid: to, digest }, existing, key) => ({
        ...{ kind: 'publish', hotLoopValue: target },
        publication: {
          key,
          foresee: (given) => foreseen({ kind: 'revert', wish: requestOf(base, to) }, given),
          pointing: (taken) => pointing(input, reference, taken),
          run: async ({ onProgress, beforeSwap, signal }) => {
            onProgress({ step: 'Publishing' });
            const done = await store.revert(requestOf(base, to), {
              ...(beforeSwap === undefined
                ? {}
                : { beforeSwap: (name) => beforeSwap(pointing(input, reference, name)) }),
              signal,
            });
            return publishedAs(done, input, site.placement.server, reference, digest);
          },
        },
        ...facts(existing),
      }),
    };
    const named = namedByDomains(input.infrastructure);
    return pinnedPlan({ ...set, stable, named }, looks, plans, call);
  }

  async function planOf(
    step: TemplateStep,
    input: PlatformInput,
    site: Site,
    reference: string,
    name: string,
    image: WantedImage,
    domain: VSphereFailureDomain,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<PlatformPlan> {
    const facts = imageFacts(step.existing, site, image.release);
    switch (step.kind) {
      case 'current':
        return { kind: 'current', ...facts };
      case 'skip': {
        const { existing: _, ...rest } = step;
        return { ...rest, ...facts };
      }
      case 'point':
        return {
          kind: 'switch',
          image: pointed(input, site, reference, step.to),
          hotLoopValue: image.release,
          ...facts,
        };
      case 'publish': {
        const { release, disk } = image;
        if (disk instanceof BootImageError) {
          const there =
            publicationOf(input) === 'swap'
              ? undefined
              : await templateInPlace(looks, release, input.cluster, site, domain, call);
          if (there === undefined) throw disk;
          return { kind: 'switch', image: pointed(input, site, reference, there), hotLoopValue: release, ...facts };
        }
        const wish: TemplateWish = {
          cluster: input.cluster,
          base: name,
          image: { release, sha256: disk.sha256, location: options.locate?.(disk.location) ?? disk.location },
          placement: site.placement,
          ...(step.replaces === undefined
            ? { diskProvisioning: diskTypeFor(name, input.installConfig) }
            : { replaces: step.replaces.name }),
          ...(publicationOf(input) === 'swap' ? { publication: swapOf(reference, name, site) } : {}),
          tagName: site.infrastructureName,
          tagIds: strings(input.spec['tagIDs']),
          holder: options.holder,
        };
        return {
          kind: 'publish',
          publication: publication(wish, input, reference),
          hotLoopValue: image.release,
          ...facts,
        };
      }
    }
  }

  function publicationOf({ by }: PlatformInput): TemplatePublication | undefined {
    return by?.publication ?? options.publication;
  }

  function publication(wish: TemplateWish, input: PlatformInput, reference: string): Publication {
    const { server, datacenter, folder } = wish.placement;
    const identity = identityOf(wish.image.sha256, wish.placement);
    return {
      // By swap there is one image under one name, by pointer one of each release.
      key: [
        server,
        datacenter,
        folder,
        wish.base,
        ...(wish.publication === undefined ? [wish.image.release] : []),
      ].join('|'),
      foresee: async (call) => {
        const { location, sha256 } = wish.image;
        const seen = await foreseen({ kind: 'publish', wish }, call);
        const swap = seen.steps.find(({ step }) => step === 'swap')?.machine;
        const beside = swap === undefined ? {} : { beside: besideOthers(input, reference, swap, wish) };
        return { from: { location: addressText(location), sha256 }, ...seen, ...beside };
      },
      pointing: (name) => ({ ...pointing(input, reference, name), identity }),
      run: async ({ announce, beforeSwap, onProgress, signal }) => {
        const uploaded = increases((more) => options.metrics?.uploaded(server, more));
        const downloaded = increases((more) => options.metrics?.downloaded(more));
        const published = await store.publish(wish, {
          announce,
          onProgress: (progress) => {
            onProgress(progress);
            if (progress.bytes === undefined) return;
            if (progress.step === 'Uploading') uploaded(progress.bytes);
            if (progress.step === 'Downloading') downloaded(progress.bytes);
          },
          ...(beforeSwap === undefined
            ? {}
            : { beforeSwap: (name) => beforeSwap(besideOthers(input, reference, name, wish)) }),
          holderIsLive: options.holderIsLive,
          signal,
        });
        return { ...publishedAs(published, input, server, reference, wish.image.sha256), identity };
      },
    };
  }

  async function foreseen(
    request: PlanRequest,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<ForeseenPublication> {
    const { server, folder, target, steps, amounts, world } = await store.plan(request, {
      holderIsLive: options.holderIsLive,
      ...call,
    });
    return { server, folder, name: target, steps, ...(amounts === undefined ? {} : { amounts }), world };
  }

  function publishedAs(
    { name, release, adopted, absentMs, retired }: PublishedTemplate,
    input: PlatformInput,
    server: string,
    reference: string,
    digest: string | undefined,
  ): PublishedImage {
    if (absentMs !== undefined) options.metrics?.templateSwapped(absentMs / 1000);
    return {
      ...pointing(input, reference, name),
      template: {
        ...{ server, name, release },
        ...(digest === undefined ? {} : { digest }),
        ...(retired === undefined ? {} : { retired }),
        ...(absentMs === undefined ? {} : { absentMilliseconds: Math.ceil(absentMs) }),
      },
      adopted,
    };
  }

  return {
    type: 'VSphere',
    name: 'vsphere',
    imageLeaf: templateLeaf,
    imageOf: (spec) => nonEmpty(spec['template']),
    nameOf: leafName,
    recordOf: leafName,
    placeOf: (spec) => {
      const { server, folder } = workspaceOf(spec) ?? {};
      return server === undefined ? undefined : `${server} ${folder}`;
    },
    regionOf: (spec) => workspaceOf(spec)?.server || undefined,
    failureDomainOf: (spec, infrastructure) => {
      const workspace = workspaceOf(spec);
      return workspace && matchFailureDomain(workspace, infrastructure)?.name;
    },
    guestOf: (spec, uid, call) => guestOf(store, spec, uid, call),
    target: ({ stream, architecture }) => stream.release(architecture, 'vmware'),
    publication: options.publication ?? 'pointer',
    sharedName,
    foresee: looks.begin,
    plan,
    collect: templateCollection(options),
  };
}

/** A template before it takes over the name that the set has already. */
function besideOthers(
  input: PlatformInput,
  reference: string,
  name: string,
  { image, placement }: TemplateWish,
): Required<Pick<PublishedImage, 'edits' | 'reference' | 'identity'>> {
  const identity = identityOf(image.sha256, placement);
  return { edits: [templateEdit(input, reference, name)], reference: name, identity };
}

/** The name that a swap gives to the template of a set, in its place; undefined where that cannot be told. */
function sharedName(spec: JsonObject, infrastructure: PlatformInput['infrastructure']): string | undefined {
  const site = siteFor(spec, infrastructure);
  if (site === undefined) return undefined;
  const { server, datacenter, folder } = site.placement;
  const { name } = swapOf(
    nonEmpty(spec['template']) ?? '',
    computedName(site.infrastructureName, site.domain.name),
    site,
  );
  return [server, datacenter, folder, name].join('|');
}

/** The name that is taken over: the installer's that the set refers to, else the computed one. Those are managed, marked or not. */
function swapOf(
  reference: string,
  computed: string,
  { infrastructureName, domain }: Site,
): Extract<TemplateWish['publication'], { readonly kind: 'swap' }> {
  const leaf = leafName(reference);
  const name = isInstallerName(leaf, infrastructureName, domain) ? leaf : computed;
  return { kind: 'swap', name, unmarked: 'retire' };
}

function requireCredentials(input: PlatformInput, server: string): void {
  const secret = input.secret(credentialsKey.namespace, credentialsKey.name);
  const missing = ['username', 'password'].map((part) => `${server}.${part}`).find((key) => !secret?.data?.[key]);
  if (secret !== undefined && missing === undefined) return;
  throw new BootImageError(
    'CredentialsMissing',
    secret === undefined
      ? 'failed to fetch vsphere-creds Secret during machineset sync: secrets "vsphere-creds" not found'
      : `vsphere-creds Secret has no key ${missing}`,
    { nextStep: `put ${server}.username and ${server}.password into secret kube-system/vsphere-creds` },
  );
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}
