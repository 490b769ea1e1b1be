import { BootImage } from '@drydock/api';
import { ec2Client } from '../aws/client.ts';
import { ec2Look } from '../aws/lookup.ts';
import { platformWith } from '../aws/platform.ts';
import { awsSessions } from '../aws/sessions.ts';
import { setFacts } from '../pass/set-facts.ts';
import type { Platform } from '../platform.ts';
import { createBootImages } from '../status/boot-image-store.ts';
import { ec2Https, type fakeEc2 } from './clouds/ec2.ts';
import type { Ec2State } from './clouds/ec2-state.ts';
import type { FakeCluster } from './fake-cluster.ts';

/** The platform in conversation with EC2 without a network, and single questions to the same. */
export interface AwsOn {
  readonly platform: Platform;
  /** Who published an image. */
  readonly ownerOf: (state: Ec2State, region: string, id: string) => Promise<string>;
  /** Ids of the images of a product for x86_64. */
  readonly product: (state: Ec2State, region: string, id: string) => Promise<readonly string[]>;
}

/** Puts it together. */
export function awsOn(answer: ReturnType<typeof fakeEc2>['answer']): AwsOn {
  const https = ec2Https(answer);
  const client = ec2Client({ https, sessions: awsSessions({ https }) });
  const accountOf = ({ keys }: Ec2State, region: string) => ({
    ...{
      key: region,
      host: `ec2.${region}.amazonaws.com`,
      region,
      stsRegion: region,
      ec2: `https://ec2.${region}.amazonaws.com/`,
      sts: '',
    },
    version: '1',
    credentials: { where: 'here', version: '1', source: { kind: 'static', keys } as const },
  });
  const { signal } = new AbortController();
  return {
    platform: platformWith(ec2Look(client)),
    ownerOf: async (state, region, id) => {
      const found = (await client.images(accountOf(state, region), [id], signal)).get(id);
      if (found?.kind !== 'found') throw new Error(`image ${id} in ${region} is ${found?.kind}`);
      return found.found.owner;
    },
    product: async (state, region, id) => {
      const found = await client.products(accountOf(state, region), { id, architecture: 'x86_64' }, signal);
      if (found.kind !== 'found') throw new Error(`product ${id} in ${region} is ${found.kind}`);
      return found.found.map((image) => image.id);
    },
  };
}

/** Lets the passes over a cluster write BootImages as the operator does. */
export function writeBootImages({ client, ports }: Pick<FakeCluster, 'client' | 'ports'>): FakeCluster['ports'] {
  const [platform] = ['AWS'].map((type) => ports.platforms.get(type)?.name ?? '');
  const images = createBootImages({
    ...{ client, cached: (key) => client.peek(BootImage, key), exists: () => true },
    ...{ platform: () => platform ?? '', now: ports.now, facts: (set) => setFacts(set, ports) },
  });
  return { ...ports, report: images.report };
}
