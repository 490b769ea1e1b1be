import { azureDecision, imageOriginAnnotation } from '../azure/target.ts';
import { at, canonical, object, text } from '../observe/json.ts';
import { type KeptSet, setText as keptText } from '../observe/kept-set.ts';
import type { Stream } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import type { NoImage, WantedImage } from './catalogue.ts';
import type { ClusterApiObject } from './kinds.ts';
import { type RotatedSet, setText } from './set.ts';

/** Of what a release is asked for an image of machines on Azure. */
export interface AzureSources {
  readonly set: RotatedSet;
  readonly template: ClusterApiObject;
  /** RPM name. */
  readonly architecture: string;
  readonly stream: Stream;
  readonly infrastructure: ReturnType<World['infrastructure']>;
}

/**
 * The image that a release names for what an AzureMachineTemplate has, by the rules of machine sets (boot-images.md §3.4): the marketplace image of the same kind and generation, also where an
 * installer uploaded the one before. What no release names is left alone, and told.
 */
export function azureImage(sources: AzureSources, release: string): WantedImage | NoImage {
  const { set, template, infrastructure = { metadata: { name: 'cluster' } }, ...rest } = sources;
  const kept: KeptSet = { metadata: { ...set.object.metadata, name: set.name } };
  const decision = azureDecision({ ...rest, set: kept, infrastructure, spec: specOf(template) });
  if (decision.kind === 'target') {
    const { publisher, offer, sku, version, type } = decision.target;
    const thirdPartyImage = type === 'MarketplaceWithPlan';
    return {
      kind: 'named',
      release,
      image: canonical({ marketplace: { publisher, offer, sku, version, thirdPartyImage } }),
    };
  }
  const { reason, brief, message } = decision;
  return {
    ...{ kind: 'none', blocked: false, target: release, reason, brief },
    message: message.replace(keptText(kept), setText(set)),
    nextStep: `annotate ${setText(set)} ${imageOriginAnnotation}=Installer if an installer uploaded its image, or name one in spec.image.catalogue of a BootImagePolicy that selects it`,
  };
}

/** What a template says of its image, as a machine set would. */
function specOf(template: ClusterApiObject): Readonly<Record<string, unknown>> {
  const machine = object(at(template.spec, ['template', 'spec']));
  const { id, marketplace } = object(machine['image']);
  const of = object(marketplace);
  const part = (key: string): string => text(of[key]) ?? '';
  const named = {
    ...{ publisher: part('publisher'), offer: part('offer'), sku: part('sku'), version: part('version') },
    type: of['thirdPartyImage'] === true ? 'MarketplaceWithPlan' : 'MarketplaceNoPlan',
  };
  const securityType = text(object(machine['securityProfile'])['securityType']) ?? '';
  return {
    image: text(id) === undefined ? named : { resourceID: text(id) },
    securityProfile: { settings: { securityType } },
  };
}
