import type { Command } from 'commander';

/** How vCenters are reached; the values are flags. */
export interface VCenterFlags {
  /** `server=url`: where a vCenter is reached under another address than its name. */
  readonly vcenterUrl?: readonly string[];
  /** PEM file that is trusted besides the roots of the system. */
  readonly vcenterCa?: string;
  /** SHA-256 of the server's certificate instead of an authority. */
  readonly vcenterPin?: string;
  readonly vcenterInsecure?: boolean;
}

/** Adds the flags that say how vCenters are reached. */
export function vcenterFlags(command: Command): Command {
  return command
    .option('--vcenter-url <server=url...>', 'reach a vCenter under another address than its name')
    .option('--vcenter-ca <file>', 'certificate authority of the vCenters (PEM)')
    .option('--vcenter-pin <sha256>', 'SHA-256 fingerprint of the vCenter certificate')
    .option('--vcenter-insecure', 'do not verify vCenter certificates (unsafe)');
}
