import assert from 'node:assert/strict';
import { test } from 'node:test';
import { architectureOf, autoscalerLabelsAnnotation } from './architecture.ts';

test('BI-V36 BI-V37 BI-V38 BI-V39 BI-V43 BI-V46 the first arch entry decides, else the fallback', () => {
  const of = (annotation: string | undefined, clusterArchitecture?: string): string => {
    const annotations = annotation === undefined ? {} : { [autoscalerLabelsAnnotation]: annotation };
    const result = architectureOf({ name: 's', annotations, clusterArchitecture, fallback: 'ppc64le' });
    return result.kind === 'known' ? result.architecture : result.message;
  };
  assert.equal(of('kubernetes.io/arch=amd64'), 'x86_64');
  assert.equal(of('kubernetes.io/arch=amd64', 'Multi'), 'x86_64');
  assert.equal(of('kubernetes.io/arch=amd64,topology.ebs.csi.aws.com/zone=eu-central-1a'), 'x86_64');
  assert.equal(of('topology.ebs.csi.aws.com/zone=eu-central-1a,kubernetes.io/arch=arm64'), 'aarch64');
  assert.equal(of('a=b, kubernetes.io/arch=s390x,c=d'), 's390x');
  assert.equal(of(undefined), 'ppc64le');
  assert.equal(of('kubernetes.io/arch=arm64,kubernetes.io/arch=amd64'), 'aarch64');
  assert.equal(of('kubernetes.io/arch=toString'), 'invalid architecture value found in annotation: toString');
});

test('BI-V42 an annotation without an arch entry is an error, an empty one too', () => {
  for (const annotation of ['a=b', '']) {
    const result = architectureOf({
      name: 's',
      annotations: { [autoscalerLabelsAnnotation]: annotation },
      clusterArchitecture: undefined,
      fallback: 'x86_64',
    });
    assert.deepEqual(result, {
      kind: 'invalid',
      message: `kubernetes.io/arch label not found in annotation: ${annotation}`,
    });
  }
});
