import { readFileSync, writeFileSync } from 'node:fs';

// Merges logs of `request-recorder.ts` into the classes of requests that the differential test has to cover:
// `node packages/sandbox/src/recording/merge-recorded-requests.ts OUT LOG…`.

const [out = '', ...logs] = process.argv.slice(2);
/** Groups that tests make up count as one. */
function place(kind: string): string {
  const [group = '', , ...sub] = kind.split('/');
  const upstream = !group.includes('.') || /(?:k8s|openshift)\.io$/.test(group);
  return upstream ? kind : ['custom.example', 'things', ...sub].join('/');
}

const lines = logs.flatMap((file) => readFileSync(file, 'utf8').split('\n')).filter((line) => line !== '');
const classes = lines.map((line) => {
  const [verb, patch, kind] = JSON.parse(line) as [string, string, string];
  return JSON.stringify([verb, patch, place(kind)]);
});
writeFileSync(out, `${[...new Set(classes)].toSorted().join('\n')}\n`);
