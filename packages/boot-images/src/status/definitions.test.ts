import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BootImage, type BootImageStatus } from '@drydock/api';
import { ApiError, type KubeObject, type Observer, statusWriter } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { parse } from 'yaml';
import { hooksOf, watchDefinitions } from './definitions.ts';

type Definition = KubeObject & {
  spec: {
    versions: { schema: { openAPIV3Schema: { properties: { status: { properties: Record<string, unknown> } } } } }[];
  };
};

/** A server that has one definition, and nothing to say about it later. */
function observing(definition: Definition | undefined): Observer {
  return {
    async *pages() {
      if (definition === undefined) throw new ApiError({ code: 'Forbidden', action: 'list definitions', said: 'no' });
      yield { items: [definition as never], resourceVersion: '1' };
    },
    async *watchBatches(_resource, from, _where, { signal } = {}) {
      if (definition === undefined) throw new ApiError({ code: 'Forbidden', action: 'watch definitions', said: 'no' });
      if (from.initialEvents === true)
        throw new ApiError({ code: 'Invalid', action: 'watch definitions', said: 'no streamed lists here' });
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      yield* [];
    },
  };
}

const log = () => {
  const lines: string[] = [];
  const say = (_fields: object, line: string): void => void lines.push(line);
  return { lines, info: say, warn: say };
};

const stored: BootImage = { metadata: { name: 'ms-a', namespace: 'n', uid: 'u', resourceVersion: '1' } };

async function write(
  definition: Definition | undefined,
  done: (lines: readonly string[]) => boolean,
  status: BootImageStatus = { phase: 'Ready', message: 'all is well' },
): Promise<{ readonly sent: unknown; readonly lines: readonly string[] }> {
  const told = log();
  const { projections, watches } = watchDefinitions(observing(definition), told as never);
  let sent: unknown;
  const client = {
    get: () => Promise.resolve(stored),
    replaceStatus: (_resource: unknown, object: BootImage) => {
      sent = object.status;
      return Promise.resolve(object);
    },
  };
  const writer = statusWriter<BootImage>({
    client: client as never,
    resource: BootImage,
    ...hooksOf(projections.bootImages),
  });
  await until('the definition is known', async () => {
    await writer.write({ name: 'ms-a', namespace: 'n' }, () => status);
    return done(told.lines);
  });
  await watches[Symbol.asyncDispose]();
  return { sent, lines: told.lines };
}

const file = new URL('../../../../api/crds/drydock.dev_bootimages.yaml', import.meta.url);

test('a BootImage whose live definition lacks a field is written without it, and the log says so once', async () => {
  const older = parse(readFileSync(file, 'utf8')) as Definition;
  for (const { schema } of older.spec.versions) delete schema.openAPIV3Schema.properties.status.properties['message'];
  const { sent, lines } = await write(older, (so) => so.some((line) => line.includes('cannot hold')));
  assert.deepEqual(sent, { phase: 'Ready' });
  assert.equal(lines.filter((line) => line.includes('cannot hold')).length, 1);
});

test('under a definition of before there was a history, everything else is written', async () => {
  const older = parse(readFileSync(file, 'utf8')) as Definition;
  for (const { schema } of older.spec.versions) delete schema.openAPIV3Schema.properties.status.properties['history'];
  const history = [{ id: '01', release: 'R', by: 'release', outcome: 'InUse' }];
  const status = { phase: 'Current', current: 'R', history };
  const { sent } = await write(older, (so) => so.some((line) => line.includes('cannot hold')), status);
  assert.deepEqual(sent, { phase: 'Current', current: 'R' });
});

test('without the right to watch definitions a status is written as it is meant, and the log says why', async () => {
  const { sent } = await write(undefined, (so) => so.some((line) => line.includes('cannot be watched')));
  assert.deepEqual(sent, { phase: 'Ready', message: 'all is well' });
});
