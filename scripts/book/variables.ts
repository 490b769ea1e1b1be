import { EXCEPTIONS } from '../../apps/drydock/src/config/exceptions.ts';
import {
  flagsOfSetting,
  formerNames,
  isList,
  type Kind,
  keyOf,
  SETTINGS,
  variableOf,
} from '../../apps/drydock/src/config/settings.ts';

const VALUES: Readonly<Record<Kind, string>> = {
  text: 'a text',
  switch: '`1` or `0`; in a context `true` or `false`',
  list: 'several, apart by commas; in a context a list',
  file: 'a file or folder; in a context relative to the config file',
};

/** The page of all variables and keys of contexts, as Markdown. */
export function variablesPage(): string {
  const rows = [...SETTINGS.values()].map((setting) => {
    const flags = flagsOfSetting(setting).map(({ flag, of }) => `\`--${flag}\`${of === '' ? '' : ` of ${of}`}`);
    const former = formerNames(setting);
    const before =
      former === undefined ? '' : `; also read: \`${former.variable}\` and \`${former.key}\` of earlier versions`;
    const value = `${VALUES[isList(setting) ? 'list' : setting.kind]}${before}`;
    return `| ${flags.join(', ')} | \`${variableOf(setting)}\` | \`${keyOf(setting)}\` | ${value} |`;
  });
  const without = [...EXCEPTIONS].map(
    ([name, why]) => `| \`${name.startsWith('--') ? '' : 'drydock '}${name}\` | ${why} |`,
  );
  return `<!-- Written by npm run generate from apps/drydock/src/config. Do not edit. -->

# Variables and keys of contexts

How they go together is told in [the command line](command-line.md#config-file). The help of each verb names the variable of each of its flags, and \`drydock config view --sources VERB\` where each has its value from.

| flag | variable | key of a context | value |
| --- | --- | --- | --- |
${rows.join('\n')}

Besides: \`DRYDOCK_CONFIG\` names the config file, \`DRYDOCK_CONTEXT\` the context; \`DRYDOCK_MARK_KEY\` and \`DRYDOCK_IMAGE_MIRRORS\` hold what \`--mark-key\` and \`--image-mirrors-file\` have in files; \`DRYDOCK_DEBUG=1\` shows where an error comes from.

## Flags without a variable

| flag or verb | why |
| --- | --- |
${without.join('\n')}
`;
}
