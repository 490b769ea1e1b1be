import { join } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';
import { root } from './command.ts';

/** Programs that are bundled, each with its main module. */
const PROGRAMS = ['apps/drydock', 'apps/node'] as const;

/**
 * Bundles the programs: each into a few modules in `folder` (two names deep) of its own folder below `to`, from where they find beside them what they find in a checkout. A start loads ten
 * modules instead of four hundred, and takes half the CPU.
 *
 * What stays a package is koffi, which has native code, and openpgp, which is to be replaceable (LGPL). The demo stays in the checkout, as the sandbox that it plays on.
 */
export async function bundle(to: string, folder: string): Promise<void> {
  for (const program of PROGRAMS)
    await esbuild({
      ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node24', logLevel: 'warning' },
      entryPoints: [join(root, program, 'src', 'main.ts')],
      outdir: join(to, program, folder),
      external: ['koffi', 'openpgp'],
      plugins: [demoOutside],
      // For packages that are CommonJS and ask for modules of Node.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
      legalComments: 'none',
    });
}

const demoOutside: Plugin = {
  name: 'demo-outside',
  setup: (build) => {
    build.onResolve({ filter: /^\.\/demo\/command\.ts$/ }, ({ path }) => ({
      path: join('../../src', path),
      external: true,
    }));
  },
};
