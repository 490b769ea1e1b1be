import type { Infrastructure } from '@drydock/api';
import { shownText } from '@drydock/api/text';

/** Where one of Azure's clouds is spoken to. */
export interface AzureCloud {
  /** Of Infrastructure. */
  readonly name: string;
  /** Host of the tokens (Entra ID). */
  readonly login: string;
  /** Origin of the Resource Manager. */
  readonly resourceManager: string;
  /** For what a token is asked. */
  readonly scope: string;
}

const cloud = (name: string, login: string, host: string): AzureCloud => ({
  ...{ name, login, resourceManager: `https://${host}`, scope: `https://${host}/.default` },
});

/** By `Infrastructure.status.platformStatus.azure.cloudName` (learn.microsoft.com/entra/identity-platform/authentication-national-cloud). */
const CLOUDS: Readonly<Record<string, AzureCloud>> = {
  AzurePublicCloud: cloud('AzurePublicCloud', 'login.microsoftonline.com', 'management.azure.com'),
  AzureUSGovernmentCloud: cloud('AzureUSGovernmentCloud', 'login.microsoftonline.us', 'management.usgovcloudapi.net'),
  AzureChinaCloud: cloud('AzureChinaCloud', 'login.chinacloudapi.cn', 'management.chinacloudapi.cn'),
};

/** The cloud in which the cluster is; a text says why none is known. */
export function azureCloud({ status }: Infrastructure): AzureCloud | string {
  const { cloudName = '', armEndpoint = '' } = status?.platformStatus?.azure ?? {};
  const name = cloudName === '' ? 'AzurePublicCloud' : cloudName;
  const found = Object.hasOwn(CLOUDS, name) ? CLOUDS[name] : undefined;
  if (found === undefined) return `no addresses of ${shownText(name)} are known`;
  if (armEndpoint === '') return found;
  const endpoint = URL.parse(armEndpoint);
  if (endpoint?.protocol !== 'https:' || endpoint.username !== '' || endpoint.password !== '')
    return 'armEndpoint of Infrastructure cluster is no https:// address';
  return { ...found, resourceManager: endpoint.origin };
}
