import { readFileSync, writeFileSync } from 'node:fs';

// Merges logs of `request-recorder.ts` into the classes of requests that the differential test has to cover:
// `node packages/sandbox/src/recording/merge-recorded-requests.ts OUT LOG…`.

const [out = '', ...logs] = process.argv.slice(2);
const lines = logs.flatMap((file) => readFileSync(file, 'utf8').split('\n')).filter((line) => line !== '');
writeFileSync(out, `${[...new Set(lines)].toSorted().join('\n')}\n`);
