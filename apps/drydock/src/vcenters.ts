import { readFile } from 'node:fs/promises';
import { Secret } from '@drydock/api';
import type { Client } from '@drydock/kube';
import { connectVCenter, type VCenter, type VimLog } from '@drydock/vsphere';
import { UsageError } from './exit.ts';

/** How the operator reaches vCenters; the values are flags. */
export interface VCenterFlags {
  /** `server=url`: where a vCenter is reached under another address than its name. */
  readonly vcenterUrl?: readonly string[];
  /** PEM file that is trusted besides the roots of the system. */
  readonly vcenterCa?: string;
  /** SHA-256 of the server's certificate instead of an authority. */
  readonly vcenterPin?: string;
  readonly vcenterInsecure?: boolean;
}

/** The vCenters of a cluster by the names that Infrastructure gives them. Disposal logs out of all of them. */
export interface VCenters extends AsyncDisposable {
  readonly of: (server: string) => Promise<VCenter>;
}

/**
 * One connection for each vCenter, made at the first use, with the credentials of kube-system/vsphere-creds
 * (`<server>.username`, `<server>.password`), which are read again at each login.
 */
export async function vcenters(client: Client, flags: VCenterFlags, log: VimLog): Promise<VCenters> {
  const urls = new Map(
    (flags.vcenterUrl ?? []).map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`--vcenter-url ${pair}: expected <server>=<url>`);
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    }),
  );
  const ca = flags.vcenterCa === undefined ? undefined : await readFile(flags.vcenterCa, 'utf8');
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(flags.vcenterPin === undefined ? {} : { sha256Pin: flags.vcenterPin }),
    ...(flags.vcenterInsecure === true ? { insecure: true } : {}),
  };
  const open = new Map<string, VCenter>();
  return {
    of: async (server) => {
      const known = open.get(server);
      if (known !== undefined) return known;
      const made = connectVCenter({
        url: urls.get(server) ?? `https://${server}/sdk`,
        credentials: () => credentialsOf(client, server),
        tls,
        log,
      });
      open.set(server, made);
      return made;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled([...open.values()].map((vcenter) => vcenter[Symbol.asyncDispose]()));
      open.clear();
    },
  };
}

async function credentialsOf(
  client: Client,
  server: string,
): Promise<{ readonly user: string; readonly password: string }> {
  const secret = await client.get(Secret, { namespace: 'kube-system', name: 'vsphere-creds' });
  const read = (key: string): string => {
    const value = secret.data?.[key];
    if (value === undefined) {
      throw new Error(`secret kube-system/vsphere-creds has no key ${key}: add it, the next attempt reads it again`);
    }
    return Buffer.from(value, 'base64').toString('utf8');
  };
  return { user: read(`${server}.username`), password: read(`${server}.password`) };
}
