import { join, relative } from 'node:path';
import { build as esbuild, type Plugin } from 'esbuild';
import { root } from './command.ts';

/** Programs that are bundled, each with its main module. */
const PROGRAMS = ['apps/drydock', 'apps/node'] as const;
/** What stays a package: koffi has native code, and openpgp (LGPL) is to be replaceable. */
export const UNBUNDLED: readonly string[] = ['koffi', 'openpgp'];
/** What `release rehearse` looks for when it is asked for; only a checkout has it. */
const BESIDE = '@drydock/sandbox';

/** How programs are bundled. */
export interface BundleOptions {
  /** Below the folder of each program, two names deep: from there it finds beside it what it finds in a checkout. */
  readonly folder: string;
  /** Whether the demo is that of the checkout, or says that it is there; the sandbox that it plays on is in no bundle. */
  readonly demo: 'checkout' | 'elsewhere';
}

/**
 * Bundles the programs, each into a few modules below `to`. A start loads ten modules instead of four hundred, and takes half the CPU. Resolves with the files that went into the bundles, from
 * the root.
 */
export async function bundle(to: string, { folder, demo }: BundleOptions): Promise<readonly string[]> {
  const inputs = new Set<string>();
  for (const program of PROGRAMS) {
    const { metafile } = await esbuild({
      ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node24', logLevel: 'warning' },
      absWorkingDir: root,
      entryPoints: [join(root, program, 'src', 'main.ts')],
      outdir: join(to, program, folder),
      external: [...UNBUNDLED, BESIDE],
      plugins: [demo === 'checkout' ? demoOfCheckout(folder) : demoElsewhere],
      // For packages that are CommonJS and ask for modules of Node.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
      legalComments: 'none',
      metafile: true,
    });
    for (const input of Object.keys(metafile.inputs)) inputs.add(input);
  }
  return [...inputs];
}

const DEMO = /^\.\/demo\/command\.ts$/;

function demoOfCheckout(folder: string): Plugin {
  return {
    name: 'demo-of-checkout',
    setup: (build) => {
      build.onResolve({ filter: DEMO }, ({ path }) => ({ path: relative(folder, join('src', path)), external: true }));
    },
  };
}

const demoElsewhere: Plugin = {
  name: 'demo-elsewhere',
  setup: (build) => {
    build.onResolve({ filter: DEMO }, ({ resolveDir }) => ({ path: join(resolveDir, 'demo', 'elsewhere.ts') }));
  },
};
