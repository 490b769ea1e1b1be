import type { MoRef } from '../../vcenter.ts';

/** The folder that all datacenters are in. */
export const ROOT: MoRef = { type: 'Folder', value: 'group-d1' };
