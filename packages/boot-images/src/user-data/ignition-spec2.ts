import { shownText } from '@drydock/api/text';
import { object } from '../observe/json.ts';

/** A JSON object of an Ignition config. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Translates an Ignition config of spec 2.0–2.2 to spec 3 (boot-images.md §5.3). Stubs use only `ignition.*`; hand-made additions
 * are carried where both specs can say the same, and refused by name where they cannot. Sources stay byte-identical.
 */
export function translateSpec2(config: Json, version: string): Json {
  const ignition = object(config['ignition']);
  refuseNetworkd(config);
  const storage = translateStorage(object(config['storage']));
  const systemd = translateUnits(list(object(config['systemd'])['units']));
  const passwd = translateUsers(object(config['passwd']));
  const configs = object(ignition['config']);
  const merge = list(configs['append']);
  const replace = configs['replace'];
  return {
    ignition: {
      config: {
        ...(merge.length === 0 ? {} : { merge }),
        ...(replace === undefined || replace === null ? {} : { replace }),
      },
      ...part('security', ignition['security']),
      ...part('timeouts', ignition['timeouts']),
      version,
    },
    ...part('passwd', passwd),
    ...part('storage', storage),
    ...part('systemd', systemd),
  };
}

function refuseNetworkd(config: Json): void {
  if (list(object(config['networkd'])['units']).length > 0) {
    throw new Error('networkd units cannot be expressed in spec 3; move them into files');
  }
}

function translateStorage(storage: Json): Json {
  for (const kind of ['disks', 'raid', 'filesystems']) {
    if (list(storage[kind]).length > 0)
      throw new Error(`storage.${kind} of spec 2 is not converted; convert this config by hand`);
  }
  const files = new Map<string, Json>();
  for (const file of list(storage['files'])) {
    const { filesystem, append, overwrite, contents, path, ...rest } = file;
    if (typeof path !== 'string') throw new Error('a file without path');
    if (filesystem !== undefined && filesystem !== 'root')
      throw new Error(`file ${shownText(path)} lies outside the root filesystem`);
    files.delete(path);
    files.set(path, {
      path,
      ...rest,
      ...(append === true ? { append: [contents ?? {}] } : { overwrite: overwrite ?? true, contents: contents ?? {} }),
    });
  }
  const nodes = (kind: string): readonly Json[] =>
    list(storage[kind]).map(({ filesystem, ...rest }) => {
      if (filesystem !== undefined && filesystem !== 'root') throw new Error(`${kind} outside the root filesystem`);
      return rest;
    });
  const directories = nodes('directories');
  const links = nodes('links');
  const paths = [...files.keys(), ...[...directories, ...links].map((node) => String(node['path']))];
  const seen = new Set<string>();
  const twice = paths.find((path) => seen.size === seen.add(path).size);
  if (twice !== undefined) throw new Error(`path ${shownText(twice)} is declared as two kinds of node`);
  return {
    ...(files.size === 0 ? {} : { files: [...files.values()] }),
    ...(directories.length === 0 ? {} : { directories }),
    ...(links.length === 0 ? {} : { links }),
  };
}

function translateUnits(units: readonly Json[]): Json {
  const byName = new Map<string, { readonly fields: Record<string, unknown>; readonly dropins: Map<string, Json> }>();
  for (const { enable, ...unit } of units) {
    const name = String(unit['name']);
    const known = byName.getOrInsertComputed(name, () => ({ fields: {}, dropins: new Map() }));
    Object.assign(known.fields, enable === true ? { enabled: true } : {}, unit);
    for (const dropin of list(unit['dropins'])) known.dropins.set(String(dropin['name']), dropin);
  }
  const merged = [...byName.values()].map(({ fields, dropins }) =>
    dropins.size === 0 ? fields : { ...fields, dropins: [...dropins.values()] },
  );
  return merged.length === 0 ? {} : { units: merged };
}

function translateUsers(passwd: Json): Json {
  const users = list(passwd['users']);
  if (users.length === 0) return {};
  const keys = new Set<unknown>();
  const core: Record<string, unknown> = {};
  for (const [at, { create, sshAuthorizedKeys, ...user }] of users.entries()) {
    if (user['name'] !== 'core') throw new Error(`passwd.users[${at}] has another name: only core is supported`);
    if (create !== undefined && create !== null)
      throw new Error('passwd.users.create is deprecated and cannot be expressed');
    Object.assign(core, user);
    if (Array.isArray(sshAuthorizedKeys)) for (const key of sshAuthorizedKeys as readonly unknown[]) keys.add(key);
  }
  return { users: [{ ...core, ...(keys.size === 0 ? {} : { sshAuthorizedKeys: [...keys] }) }] };
}

function part(key: string, value: unknown): Json {
  return Object.keys(object(value)).length === 0 ? {} : { [key]: value };
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}
