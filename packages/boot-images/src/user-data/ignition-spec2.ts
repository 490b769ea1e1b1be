import { shortText, shownText } from '@drydock/api/text';
import { isObject, list, object } from '../observe/json.ts';
import { spec2Faults } from './ignition-spec2-members.ts';

/** A JSON object of an Ignition config. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Translates an Ignition config of spec 2.0–2.2 to spec 3 (boot-images.md §5.3). What both specs can express is carried over; anything
 * else is refused by its name, so that nothing of a hand-made stub is ever lost. Sources stay byte-identical.
 */
export function translateSpec2(config: Json, version: string): Json {
  refuseUnknown(config);
  refuseNetworkd(config);
  const ignition = object(config['ignition']);
  const storage = translateStorage(object(config['storage']));
  const systemd = translateUnits(objects(object(config['systemd'])['units']));
  const passwd = translatePasswd(object(config['passwd']));
  const configs = object(ignition['config']);
  const merge = objects(configs['append']);
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

function refuseUnknown(config: Json): void {
  const { unknown, misshapen } = spec2Faults(config);
  if (unknown.length > 0)
    throw new Error(`Ignition 2.2 has no ${named(unknown)}, so nobody can tell what Ignition 3 should do in its place`);
  if (misshapen.length > 0) throw new Error(`${named(misshapen)}: another kind of value belongs there`);
}

/** So many names are shown, and so much of each (UTF-16 units): a Secret may have a megabyte of them. */
const SHOWN = 5;
const LONGEST = 80;

function named(paths: readonly string[]): string {
  const shown = paths.slice(0, SHOWN).map((path) => shownText(shortText(path, LONGEST)));
  return `${shown.join(', ')}${paths.length > SHOWN ? ' and others' : ''}`;
}

function refuseNetworkd(config: Json): void {
  if (list(object(config['networkd'])['units']).length > 0) {
    throw new Error('networkd units cannot be expressed in spec 3; move them into files');
  }
}

function translateStorage(storage: Json): Json {
  for (const kind of ['disks', 'filesystems']) {
    if (list(storage[kind]).length > 0)
      throw new Error(`storage.${kind} of spec 2 is not converted; convert this config by hand`);
  }
  const files = new Map<string, Json>();
  for (const file of objects(storage['files'])) {
    const { filesystem, append, overwrite, contents, path, ...rest } = file;
    if (typeof path !== 'string') throw new Error('a file without path');
    if (!onRoot(filesystem)) throw new Error(`file ${shownText(path)} lies outside the root filesystem`);
    files.delete(path);
    files.set(path, {
      path,
      ...rest,
      ...(append === true ? { append: [contents ?? {}] } : { overwrite: overwrite ?? true, contents: contents ?? {} }),
    });
  }
  const nodes = (kind: string): readonly Json[] =>
    objects(storage[kind]).map(({ filesystem, ...rest }) => {
      if (!onRoot(filesystem)) throw new Error(`${kind} outside the root filesystem`);
      return rest;
    });
  const directories = nodes('directories');
  const links = nodes('links');
  const raid = objects(storage['raid']);
  const paths = [...files.keys(), ...[...directories, ...links].map((node) => String(node['path']))];
  const twice = repeated(paths);
  if (twice !== undefined) throw new Error(`path ${shownText(twice)} is declared as two kinds of node`);
  return {
    ...(raid.length === 0 ? {} : { raid }),
    ...(files.size === 0 ? {} : { files: [...files.values()] }),
    ...(directories.length === 0 ? {} : { directories }),
    ...(links.length === 0 ? {} : { links }),
  };
}

function onRoot(filesystem: unknown): boolean {
  return filesystem === undefined || filesystem === null || filesystem === '' || filesystem === 'root';
}

function translateUnits(units: readonly Json[]): Json {
  const byName = new Map<string, { readonly fields: Record<string, unknown>; readonly dropins: Map<string, Json> }>();
  for (const { enable, ...unit } of units) {
    const known = byName.getOrInsertComputed(nameOf(unit, 'a unit'), () => ({ fields: {}, dropins: new Map() }));
    Object.assign(known.fields, enable === true ? { enabled: true } : {}, unit);
    for (const dropin of objects(unit['dropins'])) known.dropins.set(nameOf(dropin, 'a drop-in'), dropin);
  }
  const merged = [...byName.values()].map(({ fields, dropins }) =>
    dropins.size === 0 ? fields : { ...fields, dropins: [...dropins.values()] },
  );
  return merged.length === 0 ? {} : { units: merged };
}

function translatePasswd(passwd: Json): Json {
  const groups = objects(passwd['groups']);
  const twice = repeated(groups.map((group) => nameOf(group, 'a group')));
  if (twice !== undefined) throw new Error(`passwd.groups has ${shownText(twice)} twice`);
  return { ...translateUsers(objects(passwd['users'])), ...(groups.length === 0 ? {} : { groups }) };
}

/** Lists of a user, which several entries of it add to. */
const USER_LISTS = ['groups', 'sshAuthorizedKeys'];

function translateUsers(users: readonly Json[]): Json {
  if (users.length === 0) return {};
  const lists = new Map(USER_LISTS.map((key) => [key, new Set<unknown>()]));
  const core: Record<string, unknown> = {};
  for (const [at, { create, ...user }] of users.entries()) {
    if (user['name'] !== 'core') throw new Error(`passwd.users[${at}] has another name: only core is supported`);
    if (create !== undefined && create !== null)
      throw new Error('passwd.users.create is deprecated and cannot be expressed');
    Object.assign(core, user);
    for (const [key, all] of lists) for (const one of list(user[key])) all.add(one);
  }
  for (const [key, all] of lists) {
    if (all.size > 0) core[key] = [...all];
    else delete core[key];
  }
  return { users: [core] };
}

function nameOf(of: Json, what: string): string {
  const name = of['name'];
  if (typeof name !== 'string' || name === '') throw new Error(`${what} without name`);
  return name;
}

function repeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

function part(key: string, value: unknown): Json {
  return Object.keys(object(value)).length === 0 ? {} : { [key]: value };
}

function objects(value: unknown): readonly Json[] {
  return list(value).filter(isObject);
}
