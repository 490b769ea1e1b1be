import type { Format, Hostile } from './format.ts';
import { awsAnswers, awsGrowth, awsProfiles } from './kinds/aws.ts';
import { crdGrowth, crds, ledger } from './kinds/crd.ts';
import { ignition, ignitionGrowth, installConfig, stream } from './kinds/ignition.ts';
import { imageGrowth, imageManifests, registryLogins } from './kinds/image.ts';
import { inventories, inventoryGrowth } from './kinds/inventory.ts';
import { events, json, jsonGrowth } from './kinds/json.ts';
import { keyRings, signatures } from './kinds/key-rings.ts';
import { failedAnswer, kubeconfig, kubeGrowth, statusNote } from './kinds/kubeconfig.ts';
import { ledgerTexts, loginNotes, markGrowth, marks } from './kinds/mark.ts';
import { payloadGrowth, payloads } from './kinds/payload.ts';
import { configs, planGrowth, plans, pointers } from './kinds/plan.ts';
import { podGrowth, pods } from './kinds/pod.ts';
import { manifest, pax, tar, tarGrowth } from './kinds/tar.ts';
import { descriptors, xml, xmlGrowth } from './kinds/xml.ts';
import { yaml, yamlGrowth } from './kinds/yaml.ts';

/** Every reader of bytes that somebody else wrote. */
export const FORMATS: readonly Format[] = [
  ...[json, events, yaml, xml, descriptors, tar, pax, manifest],
  ...[stream, ignition, installConfig, kubeconfig, failedAnswer, statusNote],
  ...[awsAnswers, awsProfiles],
  ...[
    keyRings,
    signatures,
    crds,
    ledger,
    pods,
    plans,
    configs,
    pointers,
    marks,
    ledgerTexts,
    loginNotes,
    payloads,
    inventories,
    imageManifests,
    registryLogins,
  ],
] as readonly Format[];

/** What costs a careless reader more than it weighs. */
export const HOSTILE: readonly Hostile[] = [
  ...[
    jsonGrowth,
    awsGrowth,
    yamlGrowth,
    xmlGrowth,
    tarGrowth,
    ignitionGrowth,
    kubeGrowth,
    crdGrowth,
    podGrowth,
    planGrowth,
    markGrowth,
    payloadGrowth,
    inventoryGrowth,
    imageGrowth,
  ].flat(),
];
