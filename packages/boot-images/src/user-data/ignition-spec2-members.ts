import { isObject, type JsonObject } from '../observe/json.ts';

/** What a part of a config may hold: a leaf, whose value is not looked at, a list, or these members. */
type Shape = 'leaf' | readonly [Shape] | { readonly [member: string]: Shape };

const leaf = 'leaf';
const SOURCE: Shape = { source: leaf, verification: { hash: leaf } };
const OWNER: Shape = { id: leaf, name: leaf };
const NODE = { filesystem: leaf, path: leaf, overwrite: leaf, user: OWNER, group: OWNER } as const;

/** The members of Ignition 2.2 (https://coreos.github.io/ignition/configuration-v2_2/). */
const CONFIG: Shape = {
  ignition: {
    version: leaf,
    config: { append: [SOURCE], replace: SOURCE },
    timeouts: { httpResponseHeaders: leaf, httpTotal: leaf },
    security: { tls: { certificateAuthorities: [SOURCE] } },
  },
  networkd: { units: [leaf] },
  passwd: {
    users: [
      {
        ...{
          name: leaf,
          passwordHash: leaf,
          sshAuthorizedKeys: [leaf],
          create: leaf,
          uid: leaf,
          gecos: leaf,
          homeDir: leaf,
        },
        ...{ noCreateHome: leaf, primaryGroup: leaf, groups: [leaf], noUserGroup: leaf, noLogInit: leaf, shell: leaf },
        system: leaf,
      },
    ],
    groups: [{ name: leaf, gid: leaf, passwordHash: leaf, system: leaf }],
  },
  storage: {
    disks: [leaf],
    raid: [{ name: leaf, level: leaf, devices: [leaf], spares: leaf, options: [leaf] }],
    filesystems: [leaf],
    files: [{ ...NODE, append: leaf, mode: leaf, contents: { ...SOURCE, compression: leaf } }],
    directories: [{ ...NODE, mode: leaf }],
    links: [{ ...NODE, hard: leaf, target: leaf }],
  },
  systemd: {
    units: [
      {
        name: leaf,
        enable: leaf,
        enabled: leaf,
        mask: leaf,
        contents: leaf,
        dropins: [{ name: leaf, contents: leaf }],
      },
    ],
  },
};

/** Where a config of Ignition 2.2 has a member that this specification does not know, or something other than the list or the object that belongs there. `null` means absent. */
export interface SpecFaults {
  readonly unknown: readonly string[];
  readonly misshapen: readonly string[];
}

/** So many places are collected. */
const MOST = 100;

/** See {@link SpecFaults}. */
export function spec2Faults(config: JsonObject): SpecFaults {
  const unknown: string[] = [];
  const misshapen: string[] = [];
  const look = (value: unknown, shape: Shape, path: string): void => {
    if (shape === leaf || value === undefined || value === null || unknown.length + misshapen.length >= MOST) return;
    if (isList(shape)) {
      if (!Array.isArray(value)) misshapen.push(path);
      else
        for (const [at, item] of (value as readonly unknown[]).entries()) look(item ?? 0, shape[0], `${path}[${at}]`);
      return;
    }
    if (!isObject(value)) {
      misshapen.push(path);
      return;
    }
    for (const [member, inner] of Object.entries(value)) {
      const place = path === '' ? member : `${path}.${member}`;
      const known = Object.hasOwn(shape, member) ? shape[member] : undefined;
      if (known !== undefined) look(inner, known, place);
      else if (inner !== null && unknown.length < MOST) unknown.push(place);
    }
  };
  look(config, CONFIG, '');
  return { unknown, misshapen };
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}
