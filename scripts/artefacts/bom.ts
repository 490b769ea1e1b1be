import { createHash } from 'node:crypto';
import type { Shipped } from './tree.ts';

/** What a bill of materials is of. */
export interface Bill {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly shipped: readonly Shipped[];
  readonly modified: Date;
}

/** A CycloneDX 1.6 document of everything that is in a folder that was laid out, each with its version, licence and the digest that npm checks. */
export function billOfMaterials({ name, version, platform, shipped, modified }: Bill): string {
  const components = shipped.map((one) => ({
    type: one.name.startsWith('node-') ? 'platform' : 'library',
    'bom-ref': `${one.name}@${one.version}`,
    name: one.name,
    version: one.version,
    licenses: [/^[\w.-]+$/.test(one.license) ? { license: { id: one.license } } : { expression: one.license }],
    purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(one.integrity.replace('sha512-', ''), 'base64').toString('hex') }],
  }));
  const self = `${name}@${version}`;
  const subject = {
    ...{ type: 'application', 'bom-ref': self, name, version, licenses: [{ license: { id: 'Apache-2.0' } }] },
    properties: [{ name: 'platform', value: platform }],
  };
  const digest = createHash('sha256')
    .update(JSON.stringify([subject, components]))
    .digest('hex');
  const uuid = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`];
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 },
    serialNumber: `urn:uuid:${uuid.join('-')}-${digest.slice(20, 32)}`,
    metadata: { timestamp: modified.toISOString(), component: subject },
    components,
    dependencies: [
      { ref: self, dependsOn: components.map((one) => one['bom-ref']) },
      ...components.map((one) => ({ ref: one['bom-ref'], dependsOn: [] })),
    ],
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}
