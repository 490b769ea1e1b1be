import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

const HELP = { help: { type: 'boolean', short: 'h', default: false } } as const;

type Parsed<T extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ allowPositionals: true; options: T }>>;

/** Reads the arguments of `command`, such as `npm test`. `--help` prints `usage` and exits with 0, a mistake exits with 2. `--changed` alone means `--changed=HEAD`. */
export function scriptArguments<T extends ParseArgsOptionsConfig>(
  command: string,
  usage: string,
  options: T,
): Parsed<T> {
  // `parseArgs` has no option whose value may be left out.
  const args = process.argv.slice(2).map((word) => (word === '--changed' ? '--changed=HEAD' : word));
  return orRefuse(command, () => {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { ...options, ...HELP } });
    if ((values as { readonly help?: boolean }).help === true) {
      console.log(usage);
      process.exit(0);
    }
    return { values, positionals } as Parsed<T>;
  });
}

/** The value of `read`; where it throws, prints why and how to get help, and exits with 2. */
export function orRefuse<T>(command: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    console.error(`${command}: ${error instanceof Error ? error.message : String(error)}\nnext: ${command} -- --help`);
    process.exit(2);
  }
}
